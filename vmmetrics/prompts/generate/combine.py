"""Combinations of subject, action and place for prompts: plausible, balanced, reproducible by seed."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import CHOICES, PATTERNS, Action, Metadata, Place, SubjectClass, SubjectEntry, Tags
from vmmetrics.prompts.generate import rules
from vmmetrics.prompts.plausibility import attributes_of
from vmmetrics.utils.text.inflection import article, plural

SEVERAL_SHARE = 0.15
"""Share of combinations with two or three of their subject, where that fits; collectives count as several."""
PLAIN_SHARE = 0.3
"""Share of subjects with modifiers that get none."""
TOGETHER = "collective behaviour"
"""The pattern in which a subject that is not a collective occurs several times."""
T = TypeVar("T")

ASKED_CAMERAS = tuple(camera for camera in CHOICES["camera"] if camera != "unspecified")


@dataclass(frozen=True)
class Combination:
    """The subject, action and place of one prompt to write.

    Attributes:
        number: Position in the sequence, from 0.
        action: The action.
        subject: The subject.
        place: The place.
        pattern: The motion pattern.
        skeleton: Kind of body whose joints are visible ("person", "animal", "none").
        collective: True if the subject is a collective (a flock).
        modifier: Word before the noun; may be empty.
        quantity: "one", "two", "three" or "several".
        camera: Camera motion that is asked for, or "unspecified".
    """

    number: int
    action: Action
    subject: SubjectEntry
    place: Place
    pattern: str
    skeleton: str = "none"
    collective: bool = False
    modifier: str = ""
    quantity: str = "one"
    camera: str = "unspecified"

    @property
    def noun_phrase(self) -> str:
        """The subject with its article or number ("a grey heron", "two grey herons", "thick smoke")."""
        noun = self.plural if self.quantity != "one" else self.subject.noun
        phrase = f"{self.modifier} {noun}".strip()
        if self.quantity != "one":
            return f"{self.quantity} {phrase}"
        return phrase if self.subject.plural == "-" else f"{article(phrase)} {phrase}"

    @property
    def plural(self) -> str:
        """Plural of the noun."""
        return self.subject.plural or plural(self.subject.noun)

    @property
    def tags(self) -> Tags:
        """Tags of the motion."""
        subjects = "several" if self.collective or self.quantity != "one" else "one"
        of_action = {name: getattr(self.action, name) for name in ("interaction", "speed", "amplitude", "seconds")}
        return Tags(subjects=subjects, camera=self.camera, skeleton=self.skeleton, **of_action)

    @cached_property
    def key(self) -> str:
        """Key of the combination: a hash of its content, independent of its position."""
        return hashlib.sha256(json.dumps(self.described(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of a prompt entry that the combination sets; some may be empty."""
        return {
            "subject_noun": self.subject.noun,
            "place": self.place.name,
            "pattern": self.pattern,
            "action_lemma": self.action.lemma,
            "subject_class": self.subject.subject_class,
        }

    def described(self) -> dict[str, Any]:
        """The combination as JSON values."""
        return {
            "subject": self.noun_phrase,
            "noun": self.subject.noun,
            "class": self.subject.subject_class,
            **{name: getattr(self.action, name) for name in ("lemma", "complement", "outcome")},
            "place": self.place.name,
            "pattern": self.pattern,
            "camera": self.camera,
        }


_Category = list[tuple[Action, list[SubjectEntry]]]
"""Actions with one lemma and one subject class, each with its possible subjects."""


class Combiner:
    """Draws combinations: patterns in turn, new categories first, least used items first.

    Args:
        metadata: The metadata to combine.
        seed: Of the order and of all that is drawn.
        patterns: Requested patterns, of :data:`vmmetrics.prompts.entry.PATTERNS`.
        camera_share: Share of the combinations that ask for a camera motion.

    Raises:
        SetupError: Nothing can be combined in any of the patterns.
    """

    def __init__(
        self, metadata: Metadata, seed: int = 0, patterns: Sequence[str] = PATTERNS, camera_share: float = 0.0
    ) -> None:
        self._classes: Mapping[str, SubjectClass] = {
            subject_class.name: subject_class for subject_class in metadata.classes
        }
        self._of_class: defaultdict[str, list[SubjectEntry]] = defaultdict(list)
        for subject in metadata.subjects:
            self._of_class[subject.subject_class].append(subject)
        self._metadata = metadata
        self._camera_share = camera_share
        self._seed = seed
        self._met_at: dict[tuple[str, frozenset[str]], list[Place]] = {}
        self._suited_by: dict[int, set[int]] = {}
        self._categories = {pattern: self._categories_of(pattern) for pattern in patterns}
        if not any(self._categories.values()):
            raise SetupError(f"The metadata allow no combination in {', '.join(patterns)}")

    def __iter__(self) -> Iterator[Combination]:
        """Yield the combinations, each once, until none are left; every iteration yields the same."""
        self._used: Counter[Hashable] = Counter()  # nouns of subjects, names of places, complements of a category
        self._taken: set[tuple[int, int, int]] = set()
        draw = self._chance = random.Random(self._seed)  # noqa: S311  (chance, not secrets)
        queues = {
            p: draw.sample(categories, len(categories)) for p, categories in self._categories.items() if categories
        }
        sources = {pattern: self._pattern(categories) for pattern, categories in queues.items()}
        keys: set[str] = set()
        while sources:
            for pattern in list(sources):
                drawn = next(sources[pattern], None)
                if drawn is None:
                    del sources[pattern]
                    continue
                combination = self._combination(len(keys), pattern, *drawn)
                if combination.key not in keys:  # metadata may have the same twice
                    keys.add(combination.key)
                    yield combination

    def _categories_of(self, pattern: str) -> list[_Category]:
        """Return every (lemma, class) of a pattern with a plausible subject and place."""
        categories: defaultdict[tuple[str, str], _Category] = defaultdict(list)
        for action in self._metadata.actions:
            if action.pattern != pattern:
                continue
            candidates = [s for kind in dict.fromkeys(action.classes) for s in self._of_class.get(kind, ())]
            able = [
                subject
                for subject in candidates or self._metadata.subjects
                if (pattern != TOGETHER or self._collective(subject) or _can_be_many(subject, action))
                and rules.can_do(subject, self._class(subject), action)
            ]
            at_home = [subject for subject in able if pattern in subject.patterns] or able
            of_class: defaultdict[str, list[SubjectEntry]] = defaultdict(list)
            for subject in rules.doers(action, at_home):
                of_class[subject.subject_class].append(subject)
            for kind, subjects in of_class.items():
                categories[action.lemma, kind].append((action, subjects))
        return list(categories.values())

    def _class(self, subject: SubjectEntry) -> SubjectClass | None:
        return self._classes.get(subject.subject_class)

    def _collective(self, subject: SubjectEntry) -> bool:
        return "collective" in attributes_of(subject, self._class(subject))

    def _pattern(self, categories: list[_Category]) -> Iterator[tuple[Action, SubjectEntry, Place]]:
        """Yield rounds through the categories; a category with nothing new is dropped."""
        while categories:
            lasting = []
            for category in categories:
                drawn = self._draw(category)
                if drawn is not None:
                    lasting.append(category)
                    yield drawn
            categories = lasting

    def _draw(self, category: _Category) -> tuple[Action, SubjectEntry, Place] | None:
        """Draw the least used new combination of a category, or None."""
        for action, doers in self._least(category, lambda part: (id(category), part[0].complement)):
            for subject in self._least(doers, lambda s: ("subject", s.noun)):
                fits = self._new_places(action, subject)
                if fits:
                    place = self._least(fits, lambda p: ("place", p.name))[0]
                    self._taken.add((id(action), id(subject), id(place)))
                    used = ((id(category), action.complement), ("subject", subject.noun), ("place", place.name))
                    self._used.update(used)
                    return action, subject, place
        return None

    def _new_places(self, action: Action, subject: SubjectEntry) -> list[Place]:
        """Return the places where the subject can do the action, those already used left out."""
        subject_class, places = self._class(subject), self._metadata.places
        kind = (subject.subject_class, attributes_of(subject, subject_class))  # the same places for all of a kind
        if kind not in self._met_at:
            self._met_at[kind] = [place for place in places if rules.can_be_there(subject, subject_class, place)]
        if id(action) not in self._suited_by:
            self._suited_by[id(action)] = {id(place) for place in places if rules.suits(action, place)}
        suiting = self._suited_by[id(action)]
        done = (id(action), id(subject))
        return [p for p in self._met_at[kind] if id(p) in suiting and (*done, id(p)) not in self._taken]

    def _least(self, items: Sequence[T], key: Callable[[T], Hashable]) -> list[T]:
        """Sort the items by use, least used first, ties at random."""
        return sorted(self._chance.sample(items, len(items)), key=lambda item: self._used[key(item)])

    def _combination(
        self, number: int, pattern: str, action: Action, subject: SubjectEntry, place: Place
    ) -> Combination:
        subject_class, collective, draw = self._class(subject), self._collective(subject), self._chance
        modifiers = rules.fitting_modifiers(subject, action)
        modifier = draw.choice(modifiers) if modifiers and draw.random() >= PLAIN_SHARE else ""
        quantity = draw.choice(("two", "three")) if draw.random() < SEVERAL_SHARE else "one"
        if collective or not _can_be_many(subject, action):
            quantity = "one"
        elif pattern == TOGETHER:
            quantity = "several"
        camera = draw.choice(ASKED_CAMERAS) if draw.random() < self._camera_share else "unspecified"
        skeleton = "none" if subject_class is None else subject_class.skeleton
        return Combination(number, action, subject, place, pattern, skeleton, collective, modifier, quantity, camera)


def _can_be_many(subject: SubjectEntry, action: Action) -> bool:
    return subject.plural != "-" and rules.can_be_several(action)
