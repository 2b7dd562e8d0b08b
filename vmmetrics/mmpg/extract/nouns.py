"""What a parsed noun phrase names: its noun, what goes before it, and the members of a collective."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from vmmetrics.mmpg.extract import words

Token = Any
"""spaCy's token; its class is not named here, so that the module can be read and checked without spaCy."""

_LONGEST_NAME = 3
"""Words of a name; longer runs of nouns are titles or parsing errors."""


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun phrase, reduced to what it names.

    Attributes:
        noun: Head noun in the singular, with the nouns that make one name with it ("fire truck").
        modifiers: Adjectives and the like before it, in lower case and order.
        members: Of a collective, the singular of what it is a body of ("bird"); else empty.
        plural: How the noun stood there where it was in the plural; else empty.
    """

    noun: str
    modifiers: tuple[str, ...] = ()
    members: str = ""
    plural: str = ""


class NounReader:
    """Reads noun phrases.

    Args:
        names: Names of several words that are known ("polar bear"): an adjective in one of them is no modifier.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = words.NAMES | {name for name in names if " " in name}

    def read(self, head: Token) -> NounPhrase:
        """Read the phrase around its head noun."""
        head = without_quantity(head)
        before = _before(head)
        start = self._start(head, before)
        parts = [word.lower_ for word in before[start:]]
        noun = " ".join([*parts, lemma_of(head)])
        told = [_said(word) for word in before[:start] if _describes(word)]
        member = member_of(head)
        plural = (
            " ".join([*parts, head.lower_]) if head.tag_ in ("NNS", "NNPS") and head.lower_ != lemma_of(head) else ""
        )
        return NounPhrase(noun, tuple(dict.fromkeys(told)), lemma_of(member) if member is not None else "", plural)

    def _start(self, head: Token, before: list[Token]) -> int:
        """Where among the words before the head its name begins."""
        for start in range(max(0, len(before) - _LONGEST_NAME), len(before)):
            if " ".join([*(word.lower_ for word in before[start:]), lemma_of(head)]) in self._names:
                return start
        start = len(before)
        while start > 0 and len(before) - start < _LONGEST_NAME - 1 and _belongs_to_name(before[start - 1]):
            start -= 1
        return start


def lemma_of(token: Token) -> str:
    """Singular of a noun, base form of a verb, in lower case.

    The models leave capitalised and rare plurals as they are, and take some singulars for plurals; both are mended.
    """
    lemma = token.lemma_.lower().strip("-'") or token.lower_
    lemma = words.PERSON_WORDS.get(lemma, lemma)
    if token.pos_ == "VERB":
        return str(words.LEMMAS.get(lemma, lemma))
    if token.tag_ in ("NNS", "NNPS") and lemma == token.lower_ and lemma.endswith("s"):
        return singular(lemma)
    return str(lemma)


def singular(plural: str) -> str:
    """Regular singular of a noun that ends in s.

    >>> singular("ponies"), singular("foxes"), singular("drones"), singular("glass")
    ('pony', 'fox', 'drone', 'glass')
    """
    if plural.endswith("ies") and len(plural) > 4:
        return plural[:-3] + "y"
    if plural.endswith(("ches", "shes", "sses", "xes", "zes")):
        return plural[:-2]
    return plural if plural.endswith(("ss", "us", "is")) or len(plural) < 4 else plural.removesuffix("s")


def member_of(head: Token) -> Token | None:
    """Head of what a collective is made of ("birds" in "a flock of birds"); None for other nouns."""
    if lemma_of(head) not in words.COLLECTIVES:
        return None
    inner = of_what(head)
    return None if inner is None or inner.pos_ not in ("NOUN", "PROPN") else inner


def of_what(head: Token) -> Token | None:
    """Head of what follows "of" after a noun."""
    for child in head.children:
        if child.dep_ == "prep" and child.lower_ == "of":
            return next((inner for inner in child.children if inner.dep_ in ("pobj", "pcomp")), None)
    return None


def without_quantity(head: Token) -> Token:
    """The noun itself: past "a couple of", "dozens of", "two of", "a video of", "a view of"."""
    passed = words.QUANTITIES | words.FRAMES
    for _ in range(4):
        inner = of_what(head)
        if inner is None or inner.pos_ not in ("NOUN", "PROPN", "NUM", "ADJ", "DET"):
            return head
        if lemma_of(head) not in passed and head.pos_ not in ("NUM", "DET", "PRON"):
            return head
        head = inner
    return head


def whole_of(head: Token) -> Token:
    """The collective or quantity that a noun belongs to ("flock" of "birds"), or the noun itself."""
    while head.dep_ == "pobj" and head.head.lower_ == "of":
        outer = head.head.head
        if lemma_of(outer) not in words.COLLECTIVES | words.QUANTITIES or outer.pos_ not in ("NOUN", "PROPN"):
            break
        head = outer
    return head


def _before(head: Token) -> list[Token]:
    """Words of the phrase that stand before the head and describe it, without its article and numbers."""
    left = [child for child in head.lefts if child.dep_ in ("compound", "amod", "nmod", "npadvmod", "poss")]
    found: list[Token] = []
    for child in left:
        if child.dep_ == "compound":
            found += [word for word in child.subtree if word.i < child.i and word.dep_ in ("compound", "amod")]
        if child.dep_ != "poss":
            found.append(child)
        found += [word for word in child.children if word.dep_ == "conj" and word.i < head.i]
    return sorted((word for word in found if word.is_alpha or "-" in word.text), key=lambda word: word.i)


def _belongs_to_name(word: Token) -> bool:
    return word.dep_ == "compound" and word.pos_ in ("NOUN", "PROPN") and word.lower_ not in words.MODIFIER_NOUNS


def _describes(word: Token) -> bool:
    """Whether a word before a noun says what it is like, rather than how many there are or what it does."""
    if word.like_num or word.lower_ in words.QUANTITIES or (word.is_stop and word.pos_ in ("DET", "PRON")):
        return False
    return not (word.tag_ == "VBG" and word.lower_ not in words.ADJECTIVES_IN_ING)


def _said(word: Token) -> str:
    """A modifier with the words that hang together with it by hyphens ("snow-covered")."""
    parts = [word.lower_]
    place = word.i
    while place >= 2 and word.doc[place - 1].text == "-" and not word.doc[place - 1].whitespace_:
        parts.insert(0, word.doc[place - 2].lower_)
        place -= 2
    return "-".join(parts)
