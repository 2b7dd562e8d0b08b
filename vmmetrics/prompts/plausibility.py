"""Plausibility of a subject, an action and a place: predicates that return a reason against it, or None.

Explicit metadata (the classes of an action, its needs, what a subject lacks) decide first. Without them, as after an
extraction from a corpus, a few rules on bodies, media and sizes apply. The rules are lenient: a reason is given only
where hardly any such clip could be filmed, so None does not prove plausibility.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from vmmetrics.prompts.checks import missing_noun
from vmmetrics.prompts.entry import Action, Metadata, Place, PromptEntry, SubjectClass, SubjectEntry

_WALKS: Final = "walk run sprint trot gallop canter jog stroll march stride prance hike tiptoe"
BODY_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("fly", "soar", "swoop", "flit", "flutter", "hover"), ("flies",)),
    **dict.fromkeys(("swim",), ("swims",)),
    **dict.fromkeys(_WALKS.split(), ("walks",)),
    **dict.fromkeys(("climb", "clamber"), ("climbs", "hands")),
    **dict.fromkeys(("juggle", "knit", "sew", "type", "strum", "whittle", "sculpt", "embroider", "chop"), ("hands",)),
}
"""Attributes of which a living body needs one for a verb; verbs with other common senses are left out."""

LIFE_NEEDED: Final = frozenset({"eat", "drink", "chew", "graze", "yawn", "sip", "nibble", "lick", "sneeze", "gallop"})
"""Verbs of living things, and of machines or puppets with joints."""

_OUT_OF_DOORS: Final = frozenset(
    {"rain", "snow", "hail", "storm", "lightning", "cloud", "celestial body", "glacier or iceberg", "rocket"}
)
_WEATHER_INDOORS: Final = frozenset({"open sky", "rain", "snow", "ice", "wind", "laboratory", "stage", "dark"})
"""Affordances of indoor places with weather: open roofs, cold halls, wind tunnels, laboratory discharges."""

_HEAVY: Final = frozenset(
    {"car", "truck or bus", "train or tram", "construction machine", "farm machine", "aircraft", "fleet", "convoy"}
)
_HALLS: Final = frozenset({"road", "rails", "street", "track", "ground", "factory", "workshop", "farm", "stage"})
"""Affordances of rooms that a vehicle can enter; a bare floor (a warehouse) counts except in homes and kitchens."""

_LARGE_ANIMALS: Final = frozenset(
    {"horse", "grazing animal", "large mammal", "herd", "pack", "big cat", "bear", "wild canine"}
)
_STABLES: Final = frozenset(
    {"farm", "stage", "track", "ground", "grass", "sand", "snow", "water", "underwater", "rock", "street", "trees"}
)

_BOUND_TO: Final[Mapping[str, frozenset[str]]] = {
    "train or tram": frozenset({"rails", "street"}),
    "boat or ship": frozenset({"water", "shore", "ice", "workshop", "factory"}),
    "ocean wave": frozenset({"water", "shore"}),
}
"""Affordances of which a class needs one to occur at a place."""

_SURFACES: Final = frozenset(
    {"ground", "road", "rails", "grass", "snow", "ice", "floor", "table", "shore", "air", "open sky", "stairs",
     "street", "stage", "track", "kitchen", "workshop", "factory", "farm", "home", "trees", "wind", "rain"}
)  # fmt: skip
"""Affordances that no place fully under water has."""

_AT_HOME_UNDER_WATER: Final = frozenset({"crustacean", "snail or slug", "larva"})
"""Classes that walk under water without an attribute for it."""

_NEVER_UNDER_WATER: Final = frozenset(
    {"flame", "rain", "snow", "hail", "cloud", "fog or mist", "wind", "storm", "lightning", "kite or parachute",
     "celestial body", "firework"}
)  # fmt: skip


def attributes_of(subject: SubjectEntry, subject_class: SubjectClass | None) -> frozenset[str]:
    """Return the attributes of a subject: its class's and its own, without those it lacks."""
    inherited = subject_class.attributes if subject_class is not None else ()
    return frozenset((*inherited, *subject.attributes)).difference(subject.lacks)


def can_do(subject: SubjectEntry, subject_class: SubjectClass | None, action: Action) -> str | None:
    """Check that a subject can do an action.

    Args:
        subject: The subject.
        subject_class: Its class; None if unknown, which allows fewer checks.
        action: The action.

    Returns:
        A reason, or None where nothing speaks against it.
    """
    name = subject.subject_class
    if action.classes and name and name not in action.classes:
        return f"{subject.noun} ({name}) is of none of the classes that {_words(action)}: {', '.join(action.classes)}"
    needed = BODY_NEEDS.get(action.lemma, ())
    attributes = attributes_of(subject, subject_class)
    by_body = attributes and not action.classes
    unable = by_body and "animate" in attributes and attributes.isdisjoint(needed)
    if needed and (unable or set(needed) <= set(subject.lacks)):
        return f"{subject.noun} lacks what it takes to {action.lemma}: {' or '.join(needed)}"
    if by_body and action.lemma in LIFE_NEEDED and attributes.isdisjoint(("animate", "articulated")):
        return f"{subject.noun} is not alive, and only living things can {action.lemma}"
    return None


def fits(place: Place, action: Action) -> str | None:
    """Return the reason an action cannot be done at a place, or None."""
    if action.needs and set(action.needs).isdisjoint(place.affords):
        return f"{place.name} offers nothing that is needed to {_words(action)}: {' or '.join(action.needs)}"
    return None


def suits(subject: SubjectEntry, subject_class: SubjectClass | None, place: Place) -> str | None:
    """Return the reason a subject does not occur at a place, whatever it does there, or None."""
    if not place.affords:
        return None
    name, affords = subject.subject_class, frozenset(place.affords)
    attributes = attributes_of(subject, subject_class)
    bound = _BOUND_TO.get(name)
    if bound is None and "swims" in attributes and attributes.isdisjoint(("walks", "flies", "human")):
        bound = frozenset({"water", "underwater", "shore"})
    if bound is not None and affords.isdisjoint(bound):
        return f"{subject.noun} needs {' or '.join(sorted(bound))}, and {place.name} has none"
    if "underwater" in affords and affords.isdisjoint(_SURFACES) and _cannot_dive(name, attributes, affords):
        return f"{place.name} is under water, where {subject.noun} does not occur"
    halls = _HALLS if affords & {"home", "kitchen"} else _HALLS | {"floor"}
    for classes, admitted in ((_OUT_OF_DOORS, _WEATHER_INDOORS), (_HEAVY, halls), (_LARGE_ANIMALS, _STABLES)):
        if place.setting == "indoor" and name in classes and affords.isdisjoint(admitted):
            return f"{subject.noun} ({name}) does not occur in {place.name}, which is indoors"
    return None


def _cannot_dive(name: str, attributes: frozenset[str], affords: frozenset[str]) -> bool:
    if name in _NEVER_UNDER_WATER or "wheeled" in attributes:
        return True
    if "animate" not in attributes or "human" in attributes or "swims" in attributes or name in _AT_HOME_UNDER_WATER:
        return False
    return "walks" in attributes or ("flies" in attributes and "water" not in affords)  # what flies may be above it


def _words(action: Action) -> str:
    return f"{action.lemma} {action.complement}".strip()


# Which entries of a list contradict the metadata, and what the metadata cannot say about them.

CHECKS: Final[Mapping[str, str]] = {
    "noun": "the subject's noun is not in the prompt",
    "class": "the metadata list the noun in another class",
    "ability": "the subject cannot do the action",
    "needs": "the place does not offer what the action needs",
    "habitat": "the subject does not occur at the place",
}
"""Checks against the metadata, each with its fault."""

UNKNOWN: Final = ("noun", "class", "action", "place")
"""Values that the metadata may lack."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A fault of an entry by the metadata.

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
    """Plausibility of a list by the metadata.

    Attributes:
        prompts: Entries of the list.
        judged: Check to the number of entries that it could be made for.
        flags: Faults.
        unknown: Values missing from the metadata, by field of :data:`UNKNOWN`, with counts.
        strict: Entries that name their subject's class. Only those are held to the classes and needs that the metadata
            give an action; the others may well come from elsewhere, and for them only bodies and habitats count.
    """

    prompts: int
    judged: Mapping[str, int]
    flags: tuple[Flag, ...]
    unknown: Mapping[str, Mapping[str, int]]
    strict: int

    def flagged(self, check: str) -> int:
        """Return the number of entries that fail a check."""
        return sum(flag.check == check for flag in self.flags)


def judge(entries: Sequence[PromptEntry], metadata: Metadata, lemmas: Sequence[str] | None = None) -> Plausibility:
    """Check a list against metadata.

    Args:
        entries: The list.
        metadata: The metadata.
        lemmas: (N,) base form of each entry's action where the list has none itself.
    """
    index = _MetadataIndex(metadata)
    judged = dict.fromkeys(CHECKS, 0)
    unknown: dict[str, Counter[str]] = {what: Counter() for what in UNKNOWN}
    flags: list[Flag] = []
    for number, entry in enumerate(entries):
        lemma = entry.action_lemma or (lemmas[number] if lemmas is not None else "")
        for what, value, known in (
            ("noun", entry.subject_noun, entry.subject_noun.lower() in index.subjects),
            ("place", entry.place, plain_place(entry.place) in index.places),
            ("class", entry.subject_class, entry.subject_class in index.classes),
            ("action", lemma, lemma in index.actions),
        ):
            unknown[what][value] += bool(value and not known)
        for check, reason in index.checks(entry, lemma):
            judged[check] += 1
            if reason is not None:
                flags.append(Flag(entry.index, check, reason))
    strict = sum(bool(entry.subject_class) for entry in entries)
    counted = {what: dict((+values).most_common()) for what, values in unknown.items()}
    return Plausibility(len(entries), judged, tuple(flags), counted, strict)


def plain_place(name: str) -> str:
    """Return a place's name without the marks of Places365.

    >>> plain_place("ice_skating_rink/outdoor")
    'ice skating rink'
    """
    return name.split("/")[0].replace("_", " ").strip().lower()


class _MetadataIndex:
    """Metadata by name; a name may have several entries, and a check passes if it does for any of them."""

    def __init__(self, metadata: Metadata) -> None:
        self.classes = {item.name: item for item in metadata.classes}
        self.subjects: defaultdict[str, list[SubjectEntry]] = defaultdict(list)
        self.places: defaultdict[str, list[Place]] = defaultdict(list)
        self.actions: defaultdict[str, list[Action]] = defaultdict(list)
        for subject in metadata.subjects:
            self.subjects[subject.noun.lower()].append(subject)
        for place in metadata.places:
            self.places[plain_place(place.name)].append(place)
        for action in metadata.actions:
            self.actions[action.lemma.lower()].append(action)

    def checks(self, entry: PromptEntry, lemma: str) -> Iterable[tuple[str, str | None]]:
        """Yield each applicable check with its fault or None."""
        matches = self.subjects.get(entry.subject_noun.lower(), [])
        places = self.places.get(plain_place(entry.place), [])
        if entry.subject_noun:
            plurals = [subject.plural for subject in matches] or [""]
            yield "noun", _first(missing_noun(entry.prompt, entry.subject_noun, plural) for plural in plurals)
        if entry.subject_class and matches:
            classes = dict.fromkeys(subject.subject_class for subject in matches if subject.subject_class)
            stated = f"{entry.subject_noun} is of class {' or '.join(classes)} in the metadata"
            agrees = not classes or entry.subject_class in classes
            yield "class", None if agrees else f"{stated}, of {entry.subject_class} here"
        subjects = self._subjects_of(entry, matches)
        actions = self._actions_of(entry, lemma)
        if not subjects:
            return
        whole = [(subject, self.classes.get(subject.subject_class)) for subject in subjects]
        against = [[can_do(*subject, action) for subject in whole] for action in actions]
        if actions:
            yield "ability", _first(chain.from_iterable(against))
        able = [action for action, reasons in zip(actions, against, strict=True) if None in reasons]
        if places and any(action.needs for action in able):
            yield "needs", _first(fits(place, action) for action in able for place in places)
        if places:
            yield "habitat", _first(suits(*subject, place) for subject in whole for place in places)

    def _subjects_of(self, entry: PromptEntry, matches: Sequence[SubjectEntry]) -> list[SubjectEntry]:
        if not entry.subject_class:
            return [subject for subject in matches if subject.subject_class in self.classes]
        same = [subject for subject in matches if subject.subject_class == entry.subject_class]
        if same or entry.subject_class not in self.classes:
            return same
        return [SubjectEntry(entry.subject_noun or entry.subject_class, entry.subject_class)]

    def _actions_of(self, entry: PromptEntry, lemma: str) -> list[Action]:
        if not lemma or not entry.subject_class:
            return [Action(lemma)] if lemma else []
        matches = self.actions.get(lemma, [])
        same = [action for action in matches if action.pattern == entry.pattern] or matches
        named = [action for action in same if action.complement and action.complement in entry.action]
        return named or same or [Action(lemma)]


def _first(reasons: Iterable[str | None]) -> str | None:
    """Return None if any reason is None, else the first."""
    listed = list(reasons)
    return None if None in listed else listed[0]
