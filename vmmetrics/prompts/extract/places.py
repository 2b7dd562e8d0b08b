"""Which prepositional phrases say where something happens, and what the place is called."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from vmmetrics.prompts.extract import words
from vmmetrics.prompts.extract.grammar import NounPhrase, NounReader, Token, following_conjuncts, lemma_of, of_what

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
