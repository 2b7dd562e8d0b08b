"""The verbs inside an action's words: "gallops to a fence and clears it" has two, and both take the subject's form."""

from __future__ import annotations

import re
from typing import Literal

from vmmetrics.mmpg.inflection import ing_form, third_person
from vmmetrics.video.words import VERBS

Form = Literal["third", "base", "ing"]

_CHAINED = re.compile(r"(,|\b(?:and|then|or|as))( \w+ly)? (\w+s)\b(?= (\w+))?")
_OBJECTS = frozenset(
    {"it", "its", "a", "an", "the", "them", "their", "back", "off", "away", "down", "up", "out", "again", "both",
     "each", "one", "two", "three", "upright", "apart", "aside", "home", "free", "open", "shut", "still", "together"}
)  # fmt: skip
"""Words that follow a verb and hardly ever a noun: what stands before them is a verb, known or not."""


def base_of(third: str, certain: bool = False) -> str | None:
    """Base form of a verb in the third person.

    Args:
        third: A word that ends in s.
        certain: Whether it is known to be a verb; otherwise it must be one of those in the lists.

    >>> [base_of(word) for word in ("races", "scurries", "dashes", "freezes", "spoons")]
    ['race', 'scurry', 'dash', 'freeze', None]
    """
    guesses = [guess for guess in (third[:-1], third[:-2], third[:-3] + "y") if third_person(guess) == third]
    known = next((guess for guess in guesses if guess in VERBS), None)
    if known is None and certain:  # by spelling: -ies from -y, -ches and -sses without e, all else one letter less
        return next((g for g in guesses if g.endswith(("y", "ch", "sh", "ss", "x", "zz"))), min(guesses, default=None))
    return known


def conform(complement: str, form: Form) -> str | None:
    """The words after the verb, with the verbs that follow in them in another form; None where they cannot be told.

    Args:
        complement: As metadata have it, for a subject in the third person singular.
        form: What the first verb's form is.

    >>> conform("to the fence and clears it", "ing"), conform("with forks and spoons", "base")
    ('to the fence and clearing it', None)
    """
    if form == "third":
        return complement
    unknown = False

    def change(found: re.Match[str]) -> str:
        nonlocal unknown
        base = base_of(found[3], certain=found[4] in _OBJECTS)
        if base is None or found[1] == "as":
            unknown = True
            return found[0]
        return f"{found[1]}{found[2] or ''} {base if form == 'base' else ing_form(base)}"

    changed = _CHAINED.sub(change, complement)
    return None if unknown else changed
