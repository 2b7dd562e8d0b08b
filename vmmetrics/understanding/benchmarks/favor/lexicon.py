"""Small word lists of our own: verbs of what can be seen, and words that say nothing by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vmmetrics.understanding.benchmarks import data_file
from vmmetrics.utils.text.inflection import verb_forms


def word_set(text: str) -> frozenset[str]:
    """The words of a text.

    >>> sorted(word_set("to and fro"))
    ['and', 'fro', 'to']
    """
    return frozenset(text.split())


_WORDS: Final = data_file("favor")["words"]
FUNCTION_WORDS: Final = word_set(_WORDS["function"])
"""Words that do not count when words are compared."""
VERBS: Final = word_set(_WORDS["verbs"])
"""Base forms of what can be seen to be done. States (be, have, wear, seem) are no actions."""

STATES: Final = word_set(
    """
    be have wear seem appear feature contain belong need want like show display depict include
    """
)
"""Verbs that say how things are; with them a clause is no action, unless a participle follows."""

_NOUN_LIKE: Final = word_set("left saw ground found wound felt lit rose bit lay fell stuck shot set")
"""Forms that are more often something else than the verb's past."""

FORMS: Final[Mapping[str, str]] = (
    {
        form: lemma
        for lemma in sorted(VERBS | STATES)
        for form in sorted(verb_forms(lemma), key=lambda form, lemma=lemma: form != lemma)  # type: ignore[misc]
        if form == lemma or form not in _NOUN_LIKE
    }
    | {lemma: lemma for lemma in sorted(VERBS)}
    | dict.fromkeys(("am", "are", "were", "been"), "be")
)
"""Every form to its base; a form that is a base itself is its own."""


def verb_lemma(word: str) -> str | None:
    """Base form of a known verb, of any of its forms; None for other words.

    >>> verb_lemma("Running"), verb_lemma("table")
    ('run', None)
    """
    return FORMS.get(word.lower())
