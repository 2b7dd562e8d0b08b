"""Who can do what, and where: pure predicates that give a reason against a combination, or None.

What the metadata say outright (the classes of an action, its needs, what a subject lacks) decides first. Where they are
silent, as after an extraction from a corpus, a few rules about bodies, media and sizes speak. The rules are lenient: a
reason is given only where hardly any clip of the kind could be filmed, so that no reason is no proof of plausibility.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from vmmetrics.prompts.metadata import Action, Place, Subject, SubjectClass

BODY_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("fly", "soar", "swoop", "flit", "flutter", "hover"), ("flies",)),
    **dict.fromkeys(("swim",), ("swims",)),
    **dict.fromkeys(
        (
            "walk",
            "run",
            "sprint",
            "trot",
            "gallop",
            "canter",
            "jog",
            "stroll",
            "march",
            "stride",
            "prance",
            "hike",
            "tiptoe",
        ),
        ("walks",),
    ),
    **dict.fromkeys(("climb", "clamber"), ("climbs", "hands")),
    **dict.fromkeys(("juggle", "knit", "sew", "type", "strum", "whittle", "sculpt", "embroider", "chop"), ("hands",)),
}
"""What a living body needs for a verb, any one of the attributes. Verbs with other common senses are left out."""

LIFE_NEEDED: Final = frozenset({"eat", "drink", "chew", "graze", "yawn", "sip", "nibble", "lick", "sneeze", "gallop"})
"""What only the living do, and machines or puppets that have joints."""

_OUT_OF_DOORS: Final = frozenset(
    {"rain", "snow", "hail", "storm", "lightning", "cloud", "celestial body", "glacier or iceberg", "rocket"}
)
_WEATHER_INDOORS: Final = frozenset({"open sky", "rain", "snow", "ice", "wind", "laboratory", "stage", "dark"})
"""Where the weather comes in after all: open roofs, cold halls, wind tunnels, a discharge in a laboratory."""

_HEAVY: Final = frozenset(
    {"car", "truck or bus", "train or tram", "construction machine", "farm machine", "aircraft", "fleet", "convoy"}
)
_HALLS: Final = frozenset({"road", "rails", "street", "track", "ground", "factory", "workshop", "farm", "stage"})
"""Rooms that a vehicle gets into; a bare floor will do (a warehouse) where nobody lives or cooks."""
_ROOMS: Final = frozenset({"home", "kitchen"})

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
"""What a place must have of for a class to be there at all."""

_WATER: Final = frozenset({"water", "underwater", "shore"})
_SURFACES: Final = frozenset(
    {"ground", "road", "rails", "grass", "snow", "ice", "floor", "table", "shore", "air", "open sky", "stairs",
     "street", "stage", "track", "kitchen", "workshop", "factory", "farm", "home", "trees", "wind", "rain"}
)  # fmt: skip
"""What no place has that lies wholly under water."""

_AT_HOME_UNDER_WATER: Final = frozenset({"crustacean", "snail or slug", "larva"})
"""Classes that walk and have no attribute for breathing water."""

_NEVER_UNDER_WATER: Final = frozenset(
    {"flame", "rain", "snow", "hail", "cloud", "fog or mist", "wind", "storm", "lightning", "kite or parachute",
     "celestial body", "firework"}
)  # fmt: skip


def attributes_of(subject: Subject, subject_class: SubjectClass | None) -> frozenset[str]:
    """Everything that holds for a subject: its class's attributes and its own, without what it lacks."""
    inherited = subject_class.attributes if subject_class is not None else ()
    return frozenset((*inherited, *subject.attributes)).difference(subject.lacks)


def can_do(subject: Subject, subject_class: SubjectClass | None, action: Action) -> str | None:
    """Why a subject cannot do something.

    Args:
        subject: Who.
        subject_class: Its class; None where that is not known, and then less can be said.
        action: What.

    Returns:
        A reason, or None where nothing speaks against it.
    """
    name = subject.subject_class
    if action.classes and name and name not in action.classes:
        return f"{subject.noun} ({name}) is of none of the classes that {_words(action)}: {', '.join(action.classes)}"
    needed = BODY_NEEDS.get(action.lemma, ())
    if needed and set(needed) <= set(subject.lacks):
        return f"{subject.noun} lacks what it takes to {action.lemma}: {' or '.join(needed)}"
    attributes = attributes_of(subject, subject_class)
    if action.classes or not attributes:
        return None
    if "animate" in attributes and needed and attributes.isdisjoint(needed):
        return f"{subject.noun} has not what it takes to {action.lemma}: {' or '.join(needed)}"
    if action.lemma in LIFE_NEEDED and attributes.isdisjoint(("animate", "articulated")):
        return f"{subject.noun} does not live, and only what lives can {action.lemma}"
    return None


def fits(place: Place, action: Action) -> str | None:
    """Why an action cannot be done somewhere, or None where nothing speaks against it."""
    if action.needs and set(action.needs).isdisjoint(place.affords):
        return f"{place.name} offers nothing that one needs to {_words(action)}: {' or '.join(action.needs)}"
    return None


def suits(subject: Subject, subject_class: SubjectClass | None, place: Place) -> str | None:
    """Why a subject is not to be met in a place, whatever it does there, or None where nothing speaks against it."""
    if not place.affords:
        return None
    name, affords = subject.subject_class, frozenset(place.affords)
    attributes = attributes_of(subject, subject_class)
    bound = _BOUND_TO.get(name)
    if bound is None and "swims" in attributes and attributes.isdisjoint(("walks", "flies", "human")):
        bound = _WATER
    if bound is not None and affords.isdisjoint(bound):
        return f"{subject.noun} needs {' or '.join(sorted(bound))}, and {place.name} has none"
    if "underwater" in affords and affords.isdisjoint(_SURFACES) and _cannot_dive(name, attributes, affords):
        return f"{place.name} lies under water, and {subject.noun} is not met there"
    if place.setting == "indoor":
        return _indoors(subject, place, affords)
    return None


def implausible(
    subject: Subject, subject_class: SubjectClass | None, action: Action, place: Place | None
) -> str | None:
    """The first reason against a combination, or None; ``place`` None leaves the place out of it."""
    reason = can_do(subject, subject_class, action)
    if reason is None and place is not None:
        reason = fits(place, action) or suits(subject, subject_class, place)
    return reason


def _cannot_dive(name: str, attributes: Collection[str], affords: Collection[str]) -> bool:
    if name in _NEVER_UNDER_WATER or "wheeled" in attributes:
        return True
    if "animate" not in attributes or "human" in attributes or "swims" in attributes or name in _AT_HOME_UNDER_WATER:
        return False
    return "walks" in attributes or ("flies" in attributes and "water" not in affords)  # what flies may be above it


def _indoors(subject: Subject, place: Place, affords: frozenset[str]) -> str | None:
    halls = _HALLS if affords & _ROOMS else _HALLS | {"floor"}
    for classes, admitted in ((_OUT_OF_DOORS, _WEATHER_INDOORS), (_HEAVY, halls), (_LARGE_ANIMALS, _STABLES)):
        if subject.subject_class in classes and affords.isdisjoint(admitted):
            return f"{subject.noun} ({subject.subject_class}) does not get into {place.name}, which is indoors"
    return None


def _words(action: Action) -> str:
    return f"{action.lemma} {action.complement}".strip()
