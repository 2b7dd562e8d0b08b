"""Which prepositional phrases say where something happens, and what the place is called."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from vmmetrics.errors import cannot
from vmmetrics.prompts.extract import words
from vmmetrics.prompts.extract.corpora import LARGEST_OBJECT
from vmmetrics.prompts.extract.grammar import NounPhrase, NounReader, Token, following_conjuncts, lemma_of, of_what
from vmmetrics.utils.tables import read_text

_WAYS = ("up", "down", "through", "across", "along", "over", "past", "around")
"""Prepositions that parsers take for particles before the way something goes."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place that a caption names.

    Attributes:
        name: Its name, without article ("ice rink").
        phrase: How the caption said it, without modifiers ("on the ice rink").
        modifiers: What goes before the name.
    """

    name: str
    phrase: str
    modifiers: tuple[str, ...] = ()


class PlaceReader:
    """Finds places.

    Args:
        nouns: Reader of noun phrases.
        known: Names of places, beyond the words of ours.
        movers: Nouns of what moves; none of them is a place unless it is known as one.
    """

    def __init__(self, nouns: NounReader, known: Collection[str] = (), movers: Collection[str] = ()) -> None:
        self._nouns = nouns
        self._known = frozenset(known)
        self._heads = words.PLACES | self._known
        self._movers = frozenset(movers) - self._heads

    def read(self, preposition: Token) -> list[Spot]:
        """Places that the phrase of a preposition names: none, one, or several that are joined by "and"."""
        spots = []
        for head in self._objects(preposition):
            phrase = self._nouns.read(head)
            name = phrase.plural if phrase.plural.split(" ")[-1] in words.PLURAL_PLACES else phrase.noun
            if self._is_place(preposition.lower_, head, name):
                spots.append(Spot(name, _said(preposition, head, phrase, name), phrase.modifiers))
        return spots

    def _objects(self, preposition: Token) -> Iterator[Token]:
        """Heads of what a preposition governs, past "the edge of", "front of"."""
        if preposition.dep_ == "prt" and preposition.lower_ in _WAYS:
            after = [head for head in preposition.head.rights if head.dep_ == "dobj" and head.i > preposition.i]
            yield from (head for head in after[:1] if lemma_of(head) in self._heads)
        for head in preposition.children:
            inner = head.dep_ == "prep" and head.lower_ != "of"
            if inner and preposition.lower_ in ("out", "from", "up", "down"):
                yield from self._objects(head)
            if head.dep_ not in ("pobj", "pcomp") or head.pos_ not in ("NOUN", "PROPN", "ADV", "ADJ", "VERB"):
                continue
            if lemma_of(head) in words.PARTS:
                head = of_what(head) or head
            yield head
            yield from following_conjuncts(head)

    def _is_place(self, preposition: str, head: Token, name: str) -> bool:
        lemma, last = lemma_of(head), name.split(" ")[-1]
        if preposition not in words.SPATIAL or name in self._known:
            return preposition in words.SPATIAL
        if lemma in words.NO_PLACES or head.like_num or (preposition == "by" and head.head.dep_ == "agent"):
            return False
        if lemma in self._heads or last in self._heads or last in words.PLURAL_PLACES:
            return True
        if name in self._movers or lemma in self._movers:
            return False
        if len(lemma) > 6 and lemma.endswith(words.PLACE_ENDINGS):
            return True
        if head.pos_ == "PROPN" and preposition in ("in", "at", "near", "outside", "through", "around"):
            return bool(head.text[:1].isupper() and head.head.i < head.i)
        return bool(preposition in words.WITHIN and head.pos_ == "NOUN")


def _said(preposition: Token, head: Token, phrase: NounPhrase, name: str) -> str:
    """Preposition, article and name; "the" stays, other determiners become what a place met first has."""
    article = next((child.lower_ for child in head.children if child.dep_ in ("det", "poss")), "")
    if article in ("a", "an"):
        article = "an" if name[:1] in "aeiou" else "a"
    elif article:
        article = "the"
    return " ".join(part for part in (preposition.lower_, article, phrase.plural or name) if part)


# Lists of place categories such as Places365's: ``/b/balcony/interior 21`` or ``ice_skating_rink/outdoor`` a line.

_LINE = re.compile(
    r"(?:/?[a-z]/)?(?P<name>[a-z0-9][a-z0-9_'.-]*(?:/[a-z0-9][a-z0-9_'.-]*)*)(?:[\s,;]+-?\d+)?", re.IGNORECASE
)
_LEAST_MARKED = 0.3
"""Share of a list's lines with a slash or underscore; in Places365's list it is 0.56."""
_LOOKED_AT = 200

_SETTINGS = {"interior": "indoor", "indoor": "indoor", "exterior": "outdoor", "outdoor": "outdoor"}
_AFTER = ("platform", "room", "hall", "entrance", "cabin")
"""Parts of a place that its name ends in ("train station platform"); other kinds go before ("broadleaf forest")."""


@dataclass(frozen=True, slots=True)
class PlaceCategory:
    """A category of a list of places.

    Attributes:
        name: In words ("ice skating rink").
        setting: "indoor", "outdoor" or "either".
    """

    name: str
    setting: str


def is_place_list(path: Path) -> bool:
    """Whether a text file lists place categories rather than captions: each line one name, many with / or _."""
    if path.suffix.lower() != ".txt":
        return False
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as stream:
            lines = [line.strip() for line in islice(stream, _LOOKED_AT) if line.strip()]
    except OSError as error:
        raise cannot("read", path, error) from error
    marked = sum("/" in line or "_" in line for line in lines)
    return bool(lines) and all(map(_LINE.fullmatch, lines)) and marked >= _LEAST_MARKED * len(lines)


def read_place_list(path: Path) -> list[PlaceCategory]:
    """Read a list of place categories, each once, in order.

    Raises:
        SetupError: The file is too large.
    """
    text = read_text(path, LARGEST_OBJECT, "a list of places is expected", errors="replace")
    found = map(place_category, text.splitlines())
    return list(dict.fromkeys(item for item in found if item is not None))


def place_category(line: str) -> PlaceCategory | None:
    """Read a line; None where it is none of a place.

    >>> place_category("/b/balcony/interior 21")
    PlaceCategory(name='balcony', setting='indoor')
    >>> place_category("forest/broadleaf").name, place_category("train_station/platform").name
    ('broadleaf forest', 'train station platform')
    """
    match = _LINE.fullmatch(line.strip())
    if match is None:
        return None
    first, *parts = (part.lower().replace("_", " ").strip() for part in match["name"].split("/"))
    setting = next((_SETTINGS[part] for part in reversed(parts) if part in _SETTINGS), "either")
    kinds = [part for part in parts if part and part not in _SETTINGS]
    after = [kind for kind in kinds if kind.split(" ")[-1] in _AFTER]
    name = " ".join([*(kind for kind in kinds if kind not in after), first, *after]).strip()
    return PlaceCategory(name, setting) if any(c.isalpha() for c in name) else None
