"""Which entries of a list contradict the metadata, and what the metadata cannot say about them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.metadata import Action, Metadata, Place, Subject
from vmmetrics.prompts.plausibility import can_do, fits, suits

CHECKS: Final[Mapping[str, str]] = {
    "noun": "the subject's noun is not in the prompt",
    "class": "the metadata have the noun in another class",
    "ability": "the subject cannot do the action",
    "needs": "the place does not afford what the action needs",
    "habitat": "the subject is not met in the place",
}
"""What is held against the metadata, and what is wrong where it fails."""

UNKNOWN: Final = ("noun", "class", "action", "place")
"""What the metadata may not have at all."""

_PLURALS: Final = {
    "goose": "geese",
    "person": "people",
    "mouse": "mice",
    "foot": "feet",
    "tooth": "teeth",
    "ox": "oxen",
}
"""Plurals that do not begin like the noun, for nouns that the metadata have not; "man" is treated as an ending."""
_SHORTEST_STEM = 3  # letters that must agree where an irregular plural is not given

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Flag:
    """Something that speaks against an entry.

    Attributes:
        index: Of the entry.
        check: Key of :data:`CHECKS`.
        reason: In words.
    """

    index: str
    check: str
    reason: str


@dataclass(frozen=True, slots=True)
class Plausibility:
    """What the metadata say about a list.

    Attributes:
        prompts: Entries of the list.
        judged: Check to the number of entries that it could be made for.
        flags: What it found.
        unknown: What the metadata lack (of :data:`UNKNOWN`) to the values they lack and how often each is used.
        strict: Entries that name their subject's class. Only those are held to the classes and needs that the metadata
            give an action; the others may well come from elsewhere, and for them only bodies and habitats count.
    """

    prompts: int
    judged: Mapping[str, int]
    flags: tuple[Flag, ...]
    unknown: Mapping[str, Mapping[str, int]]
    strict: int

    def flagged(self, check: str) -> int:
        """Entries that fail a check."""
        return sum(flag.check == check for flag in self.flags)


def judge(entries: Sequence[PromptEntry], metadata: Metadata, lemmas: Sequence[str] | None = None) -> Plausibility:
    """Hold a list against metadata.

    Args:
        entries: The list.
        metadata: What is known.
        lemmas: (N,) base form of each entry's action where the list has none itself.
    """
    books = _Books(metadata)
    judged = dict.fromkeys(CHECKS, 0)
    unknown: dict[str, dict[str, int]] = {what: defaultdict(int) for what in UNKNOWN}
    flags: list[Flag] = []
    for number, entry in enumerate(entries):
        lemma = entry.action_lemma or (lemmas[number] if lemmas is not None else "")
        for check, reason in books.checks(entry, lemma, lambda what, value: _count(unknown[what], value)):
            judged[check] += 1
            if reason is not None:
                flags.append(Flag(entry.index, check, reason))
    strict = sum(bool(entry.subject_class) for entry in entries)
    counted = {what: dict(sorted(values.items(), key=lambda item: -item[1])) for what, values in unknown.items()}
    return Plausibility(len(entries), judged, tuple(flags), counted, strict)


def _count(counts: dict[str, int], value: str) -> None:
    counts[value] += 1


def plain_place(name: str) -> str:
    """A place's name without the marks of Places365.

    >>> plain_place("ice_skating_rink/outdoor")
    'ice skating rink'
    """
    return name.split("/")[0].replace("_", " ").strip().lower()


class _Books:
    """Metadata by name; a name may stand for several things, and an entry is well if any of them makes it so."""

    def __init__(self, metadata: Metadata) -> None:
        self._classes = {item.name: item for item in metadata.classes}
        self._subjects = _by(metadata.subjects, lambda item: item.noun)
        self._places = _by(metadata.places, lambda item: plain_place(item.name))
        self._actions = _by(metadata.actions, lambda item: item.lemma)

    def checks(
        self, entry: PromptEntry, lemma: str, lacking: Callable[[str, str], None]
    ) -> Iterable[tuple[str, str | None]]:
        """Each check that can be made, with the reason why it fails or None; what is unknown goes to ``lacking``."""
        known = self._subjects.get(entry.subject_noun.lower(), [])
        places = self._places.get(plain_place(entry.place), [])
        self._look_up(entry, lemma, known, places, lacking)
        if entry.subject_noun:
            yield "noun", _noun_reason(entry, known)
        if entry.subject_class and known:
            yield "class", _class_reason(entry, known)
        subjects = self._subjects_of(entry, known)
        actions = self._actions_of(entry, lemma)
        if not subjects:
            return
        if actions:
            yield "ability", _first(self._can(subject, action) for action in actions for subject in subjects)
        able = [a for a in actions if any(self._can(subject, a) is None for subject in subjects)]
        if places and any(action.needs for action in able):
            yield "needs", _first(fits(place, action) for action in able for place in places)
        if places:
            found = (suits(s, self._classes.get(s.subject_class), place) for s in subjects for place in places)
            yield "habitat", _first(found)

    def _can(self, subject: Subject, action: Action) -> str | None:
        return can_do(subject, self._classes.get(subject.subject_class), action)

    def _look_up(
        self,
        entry: PromptEntry,
        lemma: str,
        known: Sequence[Subject],
        places: Sequence[Place],
        lacking: Callable[[str, str], None],
    ) -> None:
        if entry.subject_noun and not known:
            lacking("noun", entry.subject_noun)
        if entry.place and not places:
            lacking("place", entry.place)
        if entry.subject_class and entry.subject_class not in self._classes:
            lacking("class", entry.subject_class)
        if lemma and lemma not in self._actions:
            lacking("action", lemma)

    def _subjects_of(self, entry: PromptEntry, known: Sequence[Subject]) -> list[Subject]:
        if not entry.subject_class:
            return [subject for subject in known if subject.subject_class in self._classes]
        same = [subject for subject in known if subject.subject_class == entry.subject_class]
        if same or entry.subject_class not in self._classes:
            return same
        return [Subject(entry.subject_noun or entry.subject_class, entry.subject_class)]

    def _actions_of(self, entry: PromptEntry, lemma: str) -> list[Action]:
        if not lemma:
            return []
        if not entry.subject_class:
            return [Action(lemma)]
        known = self._actions.get(lemma, [])
        same = [action for action in known if action.pattern == entry.pattern] or known
        told = [action for action in same if action.complement and action.complement in entry.action]
        return told or same or [Action(lemma)]


def _by(items: Iterable[T], name: Callable[[T], str]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = defaultdict(list)
    for item in items:
        found[name(item).lower()].append(item)
    return dict(found)


def _first(reasons: Iterable[str | None]) -> str | None:
    """None if any is None, else the first."""
    listed = list(reasons)
    return None if None in listed else listed[0]


def _noun_reason(entry: PromptEntry, known: Sequence[Subject]) -> str | None:
    head = entry.subject_noun.lower().split()[-1]
    plurals = [subject.plural.lower().split()[-1] for subject in known if subject.plural not in ("", "-")]
    plurals.append(_PLURALS.get(head, f"{head.removesuffix('man')}men" if head.endswith("man") else head))
    text = entry.prompt.lower()
    stem = head[: max(_SHORTEST_STEM, len(head) - 1)]  # pony, ponies; leaf, leaves
    if any(re.search(rf"\b{re.escape(word)}", text) for word in (*plurals, stem)):
        return None
    return f"{entry.subject_noun!r} does not occur in the prompt"


def _class_reason(entry: PromptEntry, known: Sequence[Subject]) -> str | None:
    classes = list(dict.fromkeys(subject.subject_class for subject in known if subject.subject_class))
    if not classes or entry.subject_class in classes:
        return None
    return f"{entry.subject_noun} is of class {' or '.join(classes)} in the metadata, of {entry.subject_class} here"
