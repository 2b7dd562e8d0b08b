"""Rules for drawing combinations, stricter than the plausibility checks of written prompts.

:mod:`vmmetrics.prompts.plausibility` excludes the impossible. The rules here keep combinations likely: an action that
names its agent has that agent, a place has the ground that the words name, and subjects are in their usual habitat.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from vmmetrics.prompts import plausibility
from vmmetrics.prompts.entry import Action, Place, SubjectClass, SubjectEntry
from vmmetrics.utils.text.inflection import ing_form, third_person
from vmmetrics.utils.text.words import VERBS, words_of

# The verbs inside an action's words: "gallops to a fence and clears it" has two, and both take the subject's form.

Form = Literal["third", "base", "ing"]

_CHAINED = re.compile(r"(,|\b(?:and|then|or|as))( \w+ly)? (\w+)\b(?= (\w+))?")
_OBJECTS = frozenset(
    {"it", "its", "a", "an", "the", "them", "their", "back", "off", "away", "down", "up", "out", "again", "both",
     "each", "one", "two", "three", "upright", "apart", "aside", "home", "free", "open", "shut", "still", "together"}
)  # fmt: skip
"""Words that follow a verb and hardly ever a noun, so that the word before them is a verb."""


def base_of(third: str, certain: bool = False) -> str | None:
    """Return the base form of a verb in the third person, or None.

    Args:
        third: A word that ends in s.
        certain: True if the word is known to be a verb; otherwise it must be listed.

    >>> [base_of(word) for word in ("races", "scurries", "dashes", "freezes", "spoons")]
    ['race', 'scurry', 'dash', 'freeze', None]
    """
    guesses = [guess for guess in (third[:-1], third[:-2], third[:-3] + "y") if third_person(guess) == third]
    base = next((guess for guess in guesses if guess in VERBS), None)
    if base is None and certain:  # by spelling: -ies from -y, -ches and -sses without e, all else one letter less
        return next((g for g in guesses if g.endswith(("y", "ch", "sh", "ss", "x", "zz"))), min(guesses, default=None))
    return base


def conform(complement: str, form: Form) -> str | None:
    """Return the complement with its further verbs in the same form as the first.

    Args:
        complement: As metadata have it, for a subject in the third person singular.
        form: Form of the first verb.

    Returns:
        The words; None where it cannot be told whether one of them is a verb (never for the third person).

    >>> conform("to the fence and clears it", "ing"), conform("with forks and spoons", "base")
    ('to the fence and clearing it', None)
    """
    unknown = False

    def change(match: re.Match[str]) -> str:
        nonlocal unknown
        link, adverb, word, following = match.groups()
        certain = following in _OBJECTS
        if certain and word in VERBS:  # "and turn away", where metadata forgot the s
            base: str | None = word
        else:
            base = base_of(word, certain) if word.endswith("s") else None
        if base is None or link == "as":
            unknown = unknown or word.endswith("s")
            return match[0]
        return f"{link}{adverb or ''} {_FORMS[form](base)}"

    changed = _CHAINED.sub(change, complement)
    return None if unknown and form != "third" else changed


_FORMS: Mapping[Form, Callable[[str], str]] = {"third": third_person, "ing": ing_form, "base": lambda base: base}


_BOUND_TO = {"boat or ship": "water", "train or tram": "rails"}
_OF_THE_WEATHER = frozenset(
    {"cloud", "rain", "snow", "hail", "storm", "lightning", "wind", "fog or mist", "celestial body", "ocean wave"}
)
_AT_HOME_INDOORS = frozenset(
    {"dog", "cat", "parrot", "songbird", "small mammal", "insect", "butterfly or moth", "beetle", "larva", "arachnid",
     "worm", "snail or slug", "amphibian", "turtle", "reptile", "snake", "fish", "swarm", "colony", "microorganism"}
)  # fmt: skip
_NOT_DEEP = frozenset({"mud", "farm", "street", "home", "kitchen", "laboratory"})
_WAYS = words_of("road street track ground sand snow grass slope farm factory workshop rails")
_NO_GROUND = frozenset({"air", "open sky", "dark", "wind", "rain"})
_BORNE_UP_KINDS = frozenset(
    {"aircraft", "rocket", "drone", "balloon", "kite or parachute", "firework", "lightning", "rain", "snow", "hail",
     "seed or leaf", "dust or sand", "group of lights", "fleet", "projectile", "ball", "ice or frost", "sunlight"}
)  # fmt: skip
_FOOTHOLDS = frozenset({"ground", "shore", "floor", "stage", "air", "open sky"})


def can_do(subject: SubjectEntry, subject_class: SubjectClass | None, action: Action) -> bool:
    """Return True if a subject does an action: its class is listed or, without classes, a corpus shows it."""
    seen = subject.subject_class in action.classes or (
        not action.classes and set(subject.examples) & set(action.examples)
    )
    return bool(seen) and plausibility.can_do(subject, subject_class, action) is None


def doers(action: Action, able: Sequence[SubjectEntry]) -> list[SubjectEntry]:
    """Return the subjects that the action names ("the pelican floats", "over three hurdles"); all if it names none.

    >>> row = Action("row", "across the lake", classes=("athlete",))
    >>> [s.noun for s in doers(row, [SubjectEntry("rower", "athlete"), SubjectEntry("fencer", "athlete")])]
    ['rower']
    """
    stems = _stems(f"{action.lemma} {action.complement} {action.outcome}")
    named = [subject for subject in able if _stems(subject.noun) & stems]
    return named or list(able)


def can_be_there(subject: SubjectEntry, subject_class: SubjectClass | None, place: Place) -> bool:
    """Return True if the subject occurs at a place and can move there: medium, way of moving, size."""
    if plausibility.suits(subject, subject_class, place) is not None:
        return False
    attributes = plausibility.attributes_of(subject, subject_class)
    affords, kind, indoor = frozenset(place.affords), subject.subject_class, place.setting == "indoor"
    if kind in _BOUND_TO:
        return _BOUND_TO[kind] in affords
    borne_up = kind in _BORNE_UP_KINDS or not attributes.isdisjoint(("flies", "gas", "celestial"))
    if affords and affords <= _NO_GROUND and not borne_up:
        return False
    if kind in ("aircraft", "rocket"):
        return not indoor and bool(affords & {"air", "open sky"})
    if attributes >= {"wheeled", "powered"}:
        return bool(affords & ({"road", "street", "factory", "workshop"} if indoor else _WAYS))
    if kind in ("marine mammal", "shark or ray") and affords & _NOT_DEEP:
        return False
    if "human" in attributes and "swims" not in attributes and "underwater" in affords and not affords & _FOOTHOLDS:
        return False
    if indoor and "animate" in attributes and "human" not in attributes:
        return kind in _AT_HOME_INDOORS or bool(affords & {"stage", "track", "farm", "ice", "underwater"})
    return not (indoor and kind in _OF_THE_WEATHER)


def suits(action: Action, place: Place) -> bool:
    """Return True if a place has at least half of an action's needs and each ground its words name."""
    affords = set(place.affords)
    if 2 * len(affords & set(action.needs)) < len(action.needs):
        return False
    if any(not affords & ground for ground in _grounds_named(action.complement)):
        return False
    head = place.name.rpartition(" ")[2]
    return head not in action.complement.split()


@lru_cache(maxsize=4096)
def _grounds_named(complement: str) -> tuple[frozenset[str], ...]:
    """Return, for each ground the words name, the affordances of which a place needs one."""
    return tuple(_GROUNDS[word] for word in _ON_GROUND.findall(complement))


_GROUNDS: Mapping[str, frozenset[str]] = {
    word: words_of(affording)
    for words, affording in {
        "sand": "sand", "mud": "mud", "snow": "snow", "ice": "ice", "rails": "rails", "floor": "floor",
        "table": "table", "stage": "stage", "rocks": "rock", "runway": "road", "scrub": "grass plants",
        "grass lawn meadow": "grass", "steps stairs": "stairs", "road street": "road street",
        "seagrass reef": "underwater", "shallows sea waves": "water", "stones": "rock ground water shore",
        "branch branches treetops trunk": "trees", "water": "water underwater kitchen home workshop laboratory",
    }.items()
    for word in words.split()
}  # fmt: skip
"""Grounds and media that an action's words may name."""
_ON_GROUND = re.compile(
    r"\b(?:across|over|through|on|onto|along|down|up|out of|in|into|from|off|beneath) (?:(?:the|a|an|its|loose|deep"
    rf"|shallow|fresh|wet|dry|thin|thick|bare|open) )*({'|'.join(_GROUNDS)})\b"
)


def fitting_modifiers(subject: SubjectEntry, action: Action) -> list[str]:
    """Return the subject's modifiers that fit the action: none names another motion or repeats a word."""
    stems = _stems(f"{action.lemma} {action.complement} {subject.noun}")  # words that the action and the noun have
    return [m for m in subject.modifiers if not m.endswith("ing") and not _stems(m) & stems and m not in _STATES]


def can_be_several(action: Action) -> bool:
    """Return True if the action's words fit several subjects: no single body is named, verbs are known."""
    return not _OF_ONE.search(action.complement) and conform(action.complement, "base") is not None


_OF_ONE = re.compile(r"\b(?:its|itself|his|her|himself|herself|both|own|a partner)\b")

_STATES = words_of("still motionless parked asleep seated resting frozen dead poised idle")
"""Modifiers for a subject at rest."""

_ENDINGS = re.compile(r"(?:ers?|ors?|ists?|ing|es|s|e)$")
_STEM = 3  # letters that a word must keep for its stem to mean it


def _stems(text: str) -> frozenset[str]:
    """Return the stems that words of a family share: hurdle, hurdles and hurdler have one."""
    long = (word for word in re.findall(r"[a-z]+", text.lower()) if len(word) >= _STEM and word not in _COMMON)
    return frozenset(stem for word in long if len(stem := _ENDINGS.sub("", word)) >= _STEM)


_COMMON = words_of(
    "the and one two out off its his her him has are for but not all top way "
    "with from into onto over under until their them that this then through across along around between behind beside "
    "each both stands water white black back front half high full open other while another without against"
)
