"""Which words are verbs to FAVOR-Bench's released first step: its lists, inflected by its rules."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

_RUN: Final = re.compile(r"\w+")
_VOWELS: Final = frozenset("aeiou")
_HISSING: Final = ("s", "x", "z", "ch", "sh")


class ReleasedVerbs:
    """Finds verbs in texts.

    Args:
        common: ``COMMON_VERBS``.
        phrasal: ``PHRASAL_VERBS``.
        irregular: ``IRREGULAR_VERB_FORMS``.
    """

    def __init__(self, common: Iterable[str], phrasal: Iterable[str], irregular: Mapping[str, Sequence[str]]) -> None:
        self._common = frozenset(common)
        self._base: dict[str, str] = {}
        for base, inflected in irregular.items():
            for form in inflected:
                self._base.setdefault(form, base)
        forms = {form for verb in self._common for form in _forms(verb)} | self._base.keys() | set(phrasal)
        self._forms: dict[str, list[str]] = defaultdict(list)  # by their first word
        for form in forms:
            first = _RUN.match(form)
            if first:
                self._forms[first[0].lower()].append(form.lower())

    def first(self, text: str) -> int | None:
        """Where the first verb of a text begins; in the released code, that of whichever form comes first in a set."""
        lower = text.lower()
        for run in _RUN.finditer(lower):
            for form in self._forms.get(run[0], ()):
                end = run.start() + len(form)
                whole = end >= len(lower) or not (lower[end].isalnum() or lower[end] == "_")
                if whole and lower.startswith(form, run.start()):
                    return run.start()
        return None

    def there(self, text: str) -> bool:
        """Whether a text has a verb."""
        return self.first(text) is not None

    def could_be(self, word: str) -> bool:
        """Whether a single word looks like a verb."""
        word = word.lower()
        inflected = word.endswith(("s", "ed", "ing")) and self._base_of(word) in self._common
        return word in self._common or inflected or word in self._base

    def _base_of(self, verb: str) -> str:
        if verb in self._base:
            return self._base[verb]
        if verb.endswith("ing"):
            if len(verb) > 4 and verb[-4] == verb[-5] and verb[-4] not in _VOWELS:
                return verb[:-4]
            return verb[:-3] + "e" if len(verb) > 5 and verb[:-3] + "e" in self._common else verb[:-3]
        if verb.endswith("ed"):
            if len(verb) > 3 and verb[-3] == verb[-4] and verb[-3] not in _VOWELS:
                return verb[:-3]
            if verb.endswith("ied") and len(verb) > 3:
                return verb[:-3] + "y"
            return verb[:-2] + "e" if verb[:-2] + "e" in self._common else verb[:-2]
        if verb.endswith("s") and not verb.endswith("ss"):
            if verb.endswith("ies"):
                return verb[:-3] + "y"
            return verb[:-2] if verb.endswith(("ches", "shes", "sses", "xes", "zes")) else verb[:-1]
        return verb


def _forms(verb: str) -> tuple[str, str, str, str]:
    """Base, -s, -ed and -ing, as the released code spells them."""
    hard_y = verb.endswith("y") and verb[-2] not in _VOWELS
    closed = len(verb) > 2 and verb[-1] not in _VOWELS and verb[-2] in _VOWELS and verb[-3] not in _VOWELS
    doubled = verb + verb[-1] if closed else verb
    third = verb + "es" if verb.endswith(_HISSING) else verb[:-1] + "ies" if hard_y else verb + "s"
    past = verb + "d" if verb.endswith("e") else verb[:-1] + "ied" if hard_y else doubled + "ed"
    ing = verb[:-1] + "ing" if verb.endswith("e") and not verb.endswith("ee") else doubled + "ing"
    return verb, third, past, ing
