"""Lexicon of nouns, verbs and places from metadata: class, attributes, motion pattern, setting."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vmmetrics.prompts import plausibility
from vmmetrics.prompts.entry import Metadata, Place, SubjectEntry
from vmmetrics.prompts.extract.words import BODY

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to (N, D) unit vectors."""

GENERAL: Mapping[str, str] = {
    "person": "adult", "man": "adult", "woman": "adult", "adult": "adult", "guy": "adult", "lady": "adult",
    "gentleman": "adult", "someone": "adult", "couple": "adult", "friend": "adult", "girl": "child", "boy": "child",
    "kid": "child", "child": "child", "baby": "child", "toddler": "child", "teenager": "child", "bird": "songbird",
    "puppy": "dog", "kitten": "cat", "vehicle": "car",
}  # fmt: skip
"""Classes of general words that metadata written for prompts seldom has."""

BODIES: Mapping[str, tuple[str, str]] = dict.fromkeys(("group", "pair", "line"), ("crowd", "herd"))
"""Classes of collectives by their members: of people first, of animals second."""

NEIGHBOURS = 5
LEAST_COSINE = 0.5
LEAST_CLASS_SHARE = 0.6
LEAST_ATTRIBUTE_SHARE = 0.6
"""An unknown noun takes over what its five nearest known nouns agree on, each weighted by its cosine, where the nearest
is at 0.5 or more. Measured by leaving out each of 1,226 nouns in turn (``benchmarks/prompts_extract.py``): a class that
has 0.6 of the weight is right three times in four, and an attribute seven times in eight. Without the bounds all nouns
would have a class, less than half of them the right one."""

LEAST_PATTERN_SHARE = 0.9
"""Of what is known of a class, the share that must show one pattern before all of the class is taken to show it. With
each of 1,473 actions left out in turn the class tells 333 of them, 0.96 rightly; at a share of 0.8 it tells 415, 0.87
rightly. Attributes, asked after that, are right for half: the library's actions are spread evenly over the patterns."""

LEAST_PATTERN_VOTES = 3
"""Subjects and actions of a class that must show the pattern: one or two may be the exception."""

_SHOWN: Mapping[str, str] = {
    "animate": "biological motion", "plant": "biological motion", "liquid": "fluid dynamics",
    "powered": "mechanical motion", "wheeled": "mechanical motion", "articulated": "mechanical motion",
}  # fmt: skip
_HANDLED = {attribute: pattern for attribute, pattern in _SHOWN.items() if attribute not in ("animate", "plant")}
"""Patterns by a physical attribute of the doer, and of what a person handles; the first that holds decides."""


@dataclass(frozen=True, slots=True)
class Vote:
    """Weighted vote of a noun's nearest neighbours in the lexicon.

    Attributes:
        near: The :data:`NEIGHBOURS` nearest, each with its cosine, the nearest first.
        classes: Share of their weight that each class has.
        attributes: And each physical attribute.
    """

    near: tuple[tuple[str, float], ...]
    classes: defaultdict[str, float]
    attributes: defaultdict[str, float]


class Lexicon:
    """Lookup of nouns, verbs and places in metadata.

    Args:
        metadata: The metadata.
        embed: Sentence embedding, for nouns that are not in it; None leaves those unknown.

    Attributes:
        nouns: Of what is known to move.
        places: Names of the places that are known.
        verbs: Of the actions that are known.
    """

    def __init__(self, metadata: Metadata, embed: Embed | None = None) -> None:
        self.classes = {item.name: item for item in metadata.classes}
        self._subjects = _subjects_of(metadata)
        self._places = {item.name: item for item in metadata.places}
        self._place_heads: defaultdict[str, list[Place]] = defaultdict(list)
        for place in metadata.places:
            self._place_heads[place.name.split(" ")[-1]].append(place)
        self._embed = embed
        self._nouns = [noun for noun, subject in self._subjects.items() if subject.subject_class in self.classes]
        self.nouns, self.places = frozenset(self._subjects), frozenset(self._places)
        self.verbs = frozenset(action.lemma for action in metadata.actions)
        self._votes: defaultdict[str, Counter[str]] = defaultdict(Counter)  # class to patterns
        for action in metadata.actions:
            for name in action.classes if action.pattern else ():
                self._votes[name][action.pattern] += 1
        for subject in self._subjects.values():
            self._votes[subject.subject_class].update(subject.patterns)

    def attributes_of(self, subject: SubjectEntry) -> frozenset[str]:
        """Return all physical attributes of a subject."""
        return plausibility.attributes_of(subject, self.classes.get(subject.subject_class))

    def look_up(self, noun: str, members: Sequence[str] = ()) -> SubjectEntry:
        """Return the entry of a noun, or of the head of a compound ("truck" of "toy truck")."""
        if members and noun in BODIES:
            inner = self.attributes_of(self.look_up(members[0]))
            kind = BODIES[noun][0] if "human" in inner else BODIES[noun][1] if "animate" in inner else ""
            if kind in self.classes:
                return self._with_patterns(SubjectEntry(noun, kind, source=f"lexicon: {members[0]}"))
        if noun in self._subjects:
            return self._with_patterns(self._subjects[noun])
        if noun in BODY:
            return SubjectEntry(noun, patterns=("biological motion",), source="lexicon: body part")
        parts = noun.split(" ")
        for start in range(1, len(parts)):
            head = " ".join(parts[start:])
            if head in self._subjects:
                return self._with_patterns(replace(self._subjects[head], plural="", source=f"lexicon: {head}"))
        return SubjectEntry(noun)

    def infer(self, nouns: Sequence[str]) -> list[SubjectEntry]:
        """Infer entries of nouns missing from the lexicon by a vote of their nearest neighbours."""
        if self._embed is None or not self._nouns:
            return list(map(SubjectEntry, nouns))
        return [self._with_patterns(_judge(noun, vote)) for noun, vote in zip(nouns, self.votes(nouns), strict=True)]

    def votes(self, nouns: Sequence[str]) -> list[Vote]:
        """Return the vote of the nearest neighbours of each noun, the noun itself excluded.

        Raises:
            ValueError: There is no embedding.
        """
        if self._embed is None:
            raise ValueError("Expected a lexicon with a sentence embedding")
        if not nouns:
            return []
        vectors, others = (self._embed([f"a {noun}" for noun in names]) for names in (nouns, self._nouns))
        return [self._vote(noun, row) for noun, row in zip(nouns, vectors @ others.T, strict=True)]

    def _vote(self, noun: str, cosines: NDArray[np.float32]) -> Vote:
        order = np.argsort(-cosines, kind="stable")[: NEIGHBOURS + 1]
        near = [(self._nouns[index], float(cosines[index])) for index in order if self._nouns[index] != noun]
        vote = Vote(tuple(near[:NEIGHBOURS]), defaultdict(float), defaultdict(float))
        total = sum(max(cosine, 0.0) for _, cosine in vote.near) or 1.0
        for neighbour, cosine in vote.near:
            subject, weight = self._subjects[neighbour], max(cosine, 0.0) / total
            vote.classes[subject.subject_class] += weight
            for attribute in self.attributes_of(subject):
                vote.attributes[attribute] += weight
        return vote

    def pattern(self, doer: SubjectEntry, thing: SubjectEntry | None = None) -> tuple[str, str]:
        """Return the motion pattern of an action and its source; empty if unknown.

        The class tells it where nearly all that is known of the class shows one pattern, else physical attributes:
        those of the thing for what people do to it, else those of the doer.

        Args:
            doer: Entry of its agent.
            thing: Entry of its object.
        """
        votes = self._votes.get(doer.subject_class)
        if doer.subject_class and votes:
            pattern, number = votes.most_common(1)[0]
            if number >= max(LEAST_PATTERN_VOTES, LEAST_PATTERN_SHARE * votes.total()):
                return pattern, "class"
        own = self.attributes_of(doer)
        if "collective" in own:
            return "collective behaviour", "attributes"
        if "human" in own and thing is not None:  # what a person handles decides
            handled = self.attributes_of(thing)
            for attribute, pattern in _HANDLED.items():
                if attribute in handled:
                    return pattern, "object"
        return next(((_SHOWN[a], "attributes") for a in _SHOWN if a in own), ("", ""))

    def place(self, name: str) -> tuple[Place, str]:
        """Return a place with setting and affordances, and their source: its own entry, or all with the same head."""
        if name in self._places:
            return self._places[name], "lexicon"
        head = name.split(" ")[-1]
        same_head = self._place_heads.get(head, [])
        if not same_head:
            return Place(name), ""
        settings = {item.setting for item in same_head}
        affords = tuple(sorted(set.intersection(*(set(item.affords) for item in same_head))))
        source = f"lexicon: {', '.join(item.name for item in same_head[:3])}"
        return Place(name, "", settings.pop() if len(settings) == 1 else "either", affords), source

    def preposition(self, name: str) -> str:
        """Return the most common preposition of places with the same head noun; "in" if there is none."""
        same_head = [self._places[name]] if name in self._places else self._place_heads.get(name.split(" ")[-1], [])
        prepositions = Counter(item.phrase.split(" ")[0] for item in same_head if item.phrase)
        return prepositions.most_common(1)[0][0] if prepositions else "in"

    def _with_patterns(self, subject: SubjectEntry) -> SubjectEntry:
        """Return the subject with the pattern of its class or attributes first, then those it was used in."""
        own = self.pattern(subject)[0]
        return replace(subject, patterns=tuple(dict.fromkeys(name for name in (own, *subject.patterns) if name)))


def _judge(noun: str, vote: Vote) -> SubjectEntry:
    """Return the entry that a vote supports: the class if clear, else attributes, else nothing."""
    if not vote.near or vote.near[0][1] < LEAST_COSINE:
        return SubjectEntry(noun)
    source = "inferred: " + ", ".join(f"{noun} {cosine:.2f}" for noun, cosine in vote.near[:3])
    name, share = max(vote.classes.items(), key=lambda item: item[1])
    if share >= LEAST_CLASS_SHARE:
        return SubjectEntry(noun, name, source=source)
    agreed = tuple(sorted(a for a, weight in vote.attributes.items() if weight >= LEAST_ATTRIBUTE_SHARE))
    return SubjectEntry(noun, attributes=agreed, source=source if agreed else "")


def _subjects_of(metadata: Metadata) -> dict[str, SubjectEntry]:
    """Return the lexicon's nouns: subjects, then general words, then class names."""
    names = {item.name for item in metadata.classes}
    subjects = {item.noun: replace(item, source="lexicon") for item in metadata.subjects}
    for noun, name in GENERAL.items():
        if name in names:
            subjects.setdefault(noun, SubjectEntry(noun, name, source="lexicon"))
    for name in sorted(names):
        for noun in name.split(" or "):  # "shark or ray"
            subjects.setdefault(noun, SubjectEntry(noun, name, source="lexicon"))
    return subjects
