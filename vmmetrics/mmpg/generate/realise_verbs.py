"""The verbs inside an action's words: "gallops to a fence and clears it" has two, and both take the subject's form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from vmmetrics.mmpg.inflection import ing_form, third_person
from vmmetrics.video.words import VERBS

Form = Literal["third", "base", "ing"]

_CHAINED = re.compile(r"(,|\b(?:and|then|or|as))( \w+ly)? (\w+)\b(?= (\w+))?")
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
    """The words after the verb, with the verbs that follow in them in the same form.

    Args:
        complement: As metadata have it, for a subject in the third person singular.
        form: What the first verb's form is.

    Returns:
        The words; None where it cannot be told whether one of them is a verb (never for the third person).

    >>> conform("to the fence and clears it", "ing"), conform("with forks and spoons", "base")
    ('to the fence and clearing it', None)
    """
    unknown = False

    def change(found: re.Match[str]) -> str:
        nonlocal unknown
        link, adverb, word, following = found.groups()
        base = _chained_base(word, following)
        if base is None or link == "as":
            unknown = unknown or word.endswith("s")
            return found[0]
        return f"{link}{adverb or ''} {_FORMS[form](base)}"

    changed = _CHAINED.sub(change, complement)
    return None if unknown and form != "third" else changed


_FORMS: Mapping[Form, Callable[[str], str]] = {"third": third_person, "ing": ing_form, "base": lambda base: base}


def _chained_base(word: str, following: str | None) -> str | None:
    """Base form of a word that follows "and", where it is a verb in the third person or in its base form."""
    certain = following in _OBJECTS
    if certain and word in VERBS:  # "and turn away", where metadata forgot the s
        return word
    return base_of(word, certain) if word.endswith("s") else None
