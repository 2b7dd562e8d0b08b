"""Who is who in a description: mentions of a subject brought together, pronouns resolved, by simple rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from vmmetrics.understanding.benchmarks.favor.lexicon import (
    COLOURS,
    DETERMINERS,
    FUNCTION_WORDS,
    PEOPLE,
    PLURALS,
    PRONOUNS,
    SUBJECTS,
    word_set,
)

_NEW: Final = frozenset(("another", "second", "third"))
_INDEFINITE: Final = frozenset(("a", "an", "another", "two", "three", "four", "five", "several", "some", "many"))
_POSSESSIVES: Final = frozenset(("his", "her", "their", "its"))
_ORDINALS: Final = _NEW | {"first"}
_APART: Final = (COLOURS, *(frozenset(pair.split()) for pair in (
    "first second third", "left right", "front back", "tall taller short shorter", "young younger old older",
    "big bigger small smaller",
)))  # fmt: skip
"""Looks and places: who has another one of a row is somebody else."""
_ARTICLES: Final = frozenset(("a", "an", "the", "another"))
_HALF_OPEN: Final = frozenset(("person", "child"))
"""Kinds that can turn out to be of another kind: a person a man, a child a girl."""
_REMEMBERED: Final = 24
"""Actors that a mention can still mean; bounds the work for each."""
_LINKS: Final = word_set(
    """
    in on at of with wearing holding carrying from near behind by beside to dressed sitting standing who that
    under next inside
    """
)
"""Where a noun phrase's head ends and what describes it begins."""


@dataclass(slots=True)
class Actor:
    """Somebody who was mentioned.

    Attributes:
        number: From 1, in order of first mention.
        description: The first mention, without its article.
        head: Its noun, singular.
        kind: Kind of person, or the noun itself.
        words: Everything said of its looks.
        group: Whether it is several.
        actions: What it does.
    """

    number: int
    description: str
    head: str
    kind: str
    words: set[str] = field(default_factory=set)
    group: bool = False
    actions: list[str] = field(default_factory=list)

    @property
    def person(self) -> bool:
        """Whether it is a person or people."""
        return self.head in PEOPLE


class Cast:
    """All who were mentioned, the latest last."""

    def __init__(self) -> None:
        self.actors: list[Actor] = []
        self._recent: list[Actor] = []  # the latest mentioned last

    def mention(self, phrase: Sequence[str]) -> list[Actor]:
        """Whom a noun phrase or pronoun stands for; who is new joins the cast.

        Args:
            phrase: Its words; "his hand" and "the man's hand" stand for their owner.
        """
        words = [word.lower() for word in phrase]
        head, at = head_of(words)
        owned = at > 0 and words[at] in SUBJECTS  # her dog, the boy's sister: somebody of their own
        if words[0] in PRONOUNS or words[0] == "both" or (words[0] in _POSSESSIVES and not owned):
            return self._pronoun(words[0], words)
        for place, word in enumerate(words):
            if word.endswith(("'s", "’s", "s'")) and not (owned and at > place):
                return self.mention([*phrase[:place], phrase[place].rstrip("s").rstrip("'’")])
        told = {part for word in words[:at] + words[at + 1 :] for part in word.split("-")}
        told -= FUNCTION_WORDS | (DETERMINERS - _ORDINALS)
        kind = PEOPLE.get(head, head)
        group = words[at] in PLURALS
        known = self._known(words, head, told, group)
        if known is None:
            start = 1 if words[0] in DETERMINERS and not group else 0
            known = Actor(len(self.actors) + 1, " ".join(phrase[start:] or phrase), head, kind, group=group)
            self.actors.append(known)
        known.words |= told
        if known.kind in _HALF_OPEN and kind in PEOPLE:
            known.kind = kind
        self._seen([known])
        return [known]

    def overhear(self, action: Sequence[str], acting: Sequence[Actor]) -> list[Actor]:
        """Take in people that an action is about, who may act later; whoever acts stays the latest mentioned.

        Returns:
            The last of them.
        """
        last: list[Actor] = []
        words = [word.lower() for word in action]
        place = 1
        while place < len(words):
            begun = next((p for p in range(place, max(0, place - 4), -1) if words[p] in _ARTICLES), None)
            if SUBJECTS.get(words[place]) in PEOPLE and begun is not None:
                end = place + 1
                if words[end : end + 1] and words[end] in ("in", "wearing", "with"):
                    end = min(len(words), end + 4)
                last = self.mention(action[begun:end])
                place = end
            place += 1
        self._seen(acting)
        return last

    def anybody(self) -> list[Actor]:
        """Who does what is said of nobody: the latest, or a person that nobody mentioned."""
        return self._recent[-1:] or self.mention(["person"])

    def _seen(self, actors: Sequence[Actor]) -> None:
        for actor in actors:
            if actor in self._recent:
                self._recent.remove(actor)
            self._recent.append(actor)
        del self._recent[:-_REMEMBERED]

    def _pronoun(self, word: str, words: Sequence[str]) -> list[Actor]:
        word = {"his": "he", "her": "she", "their": "they", "its": "it"}.get(word, word)
        latest = self._recent[::-1]
        if word in ("they", "both"):
            if word == "both" and len(words) > 1 and words[1] in SUBJECTS:
                kind = PEOPLE.get(SUBJECTS[words[1]], SUBJECTS[words[1]])
                latest = [actor for actor in latest if actor.kind == kind] or latest
            found = [latest[0]] if latest and latest[0].group else latest[:2][::-1]
        elif word in ("who", "i"):
            found = latest[:1]
        elif word == "it":
            found = [actor for actor in latest if not actor.person][:1] or latest[:1]
        else:
            kinds = PRONOUNS[word]
            alone = [actor for actor in latest if actor.kind in kinds and not actor.group]
            found = (alone or [actor for actor in latest if not actor.person])[:1]
        if not found:
            return self.mention([{"he": "man", "she": "woman", "it": "object", "i": "person"}.get(word, "people")])
        self._seen(found)
        return found

    def _known(self, words: Sequence[str], head: str, told: set[str], group: bool) -> Actor | None:
        kind = PEOPLE.get(head, head)
        numbered = [actor for actor in self._recent if _numbers(told) & actor.words]
        if numbered:
            return numbered[-1]
        if _NEW & set(words):
            same = [a for a in self._recent if a.kind == kind and _NEW & a.words]
            return same[0] if same and words[0] == "the" else None
        found = [
            actor
            for actor in self._recent[::-1]
            if actor.group == group and _can_be(actor.kind, kind) and not _conflict(actor.words, told)
        ]
        best = max(found, key=lambda actor: (len(actor.words & told), actor.head == head), default=None)
        if best is not None and words[0] in _INDEFINITE and not best.words & told:
            return None
        return best


def head_of(words: Sequence[str]) -> tuple[str, int]:
    """The noun that a phrase is about, singular, and its place: before what describes it, the last that can act."""
    end = next((place for place, word in enumerate(words) if word in _LINKS and place), len(words))
    acting = [place for place in range(end) if words[place] in SUBJECTS]
    at = acting[-1] if acting else end - 1
    return SUBJECTS.get(words[at], words[at]), at


def _can_be(kind: str, other: str) -> bool:
    if kind == other:
        return True
    young = {kind, other} <= {"child", "boy", "girl"} and "child" in (kind, other)
    return young or ("person" in (kind, other) and kind in PEOPLE and other in PEOPLE)


def _conflict(words: set[str], others: set[str]) -> bool:
    rows = ((words & row, others & row) for row in _APART)
    pairs = (*rows, (_numbers(words), _numbers(others)))
    return any(first and second and not first & second for first, second in pairs)


def _numbers(words: set[str]) -> set[str]:
    """What somebody goes by in "subject 2" and "player 10"."""
    return {word for word in words if word.isdigit()}
