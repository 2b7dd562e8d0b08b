"""Whom a description mentions, as FAVOR-Bench's released first step finds and groups it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from vmmetrics.understanding.benchmarks.favor.dictionaries import Dictionaries
from vmmetrics.understanding.benchmarks.favor.lexicon import word_set
from vmmetrics.understanding.favor import released_patterns as patterns
from vmmetrics.understanding.favor.released_verbs import ReleasedVerbs

_I: Final = re.IGNORECASE
_GARMENTS: Final = "(?:clothing|clothes|outfit|shirt|dress|suit|jacket|pants|top)"
_BEFORE_BARE: Final = " \t\n.,;:?!()[]{}\"'"
_ARTICLES: Final = ("the ", "a ", "an ")
_NO_LOOKS: Final = frozenset(("the", "a", "an", "this", "that", "these", "those", "and", "or"))
_NO_WORDS: Final = word_set("in with a an the and of on at by to for who")
_AGES: Final = word_set("young old older elderly middle-aged teenage adult")
_HAIR: Final = word_set("black-haired blonde white-haired gray-haired red-haired bald")
_PREFIXES: Final = ("with ", "in ", "having ", "featuring ", "displaying ")
_PRONOUNS: Final = (
    ("man", ("he", "him", "his")),
    ("woman", ("she", "her", "hers")),
    ("people", ("they", "them", "their")),
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of somebody.

    Attributes:
        noun: The noun, as the lists have it.
        looks: What is said of them, parts separated by commas.
        start: Where it begins in its sentence.
        end: Where it ends, what describes it included.
        sentence: Number of the sentence.
    """

    noun: str
    looks: str
    start: int
    end: int
    sentence: int


class ReleasedMentions:
    """Finds mentions.

    The released code goes through nouns of one length in the order of a set, and cuts what describes somebody at
    whichever verb comes first in a set: both change from run to run. Here nouns go by the alphabet, and the first verb
    of the text counts; its authors' six examples come out as they published them.

    Args:
        lists: The released word lists.
        verbs: Made of them.
    """

    def __init__(self, lists: Dictionaries, verbs: ReleasedVerbs) -> None:
        self._verbs = verbs
        self._colours, self._clothes = lists.words["COLOR_TERMS"], lists.words["CLOTHING_TERMS"]
        self._synonyms = lists.forms["SUBJECT_SYNONYMS"]
        plurals = {noun: "".join(forms) for noun, forms in lists.forms["PLURAL_FORMS"].items()}
        named = {*lists.words["ANIMATE_NOUNS"], *(s for synonyms in self._synonyms.values() for s in synonyms)}
        self.nouns = sorted(named | {plural for noun in named if (plural := _plural(noun, plurals))}, key=_by_length)
        self._categories = (frozenset(self._colours), _AGES, _HAIR, frozenset(self._clothes))

    def find(self, text: str, sentence: int) -> list[Mention]:
        """Mentions in a text, by where they begin."""
        lower = text.lower()
        nouns = [noun for noun in self.nouns if noun.lower() in lower]
        found: list[Mention] = []
        for noun, match in (*self._coloured(text, lower, nouns), *self._plain(text, nouns)):
            if not any(mention.start <= match.start() < mention.end for mention in found):
                phrase, end = self._whole(text, match.start(), noun)
                found.append(Mention(noun, self._looks(phrase, noun), match.start(), end, sentence))
        return sorted(found, key=lambda mention: mention.start)

    def _coloured(self, text: str, lower: str, nouns: Sequence[str]) -> Iterator[tuple[str, re.Match[str]]]:
        """``man in red clothing`` and ``red-clothed man``."""
        colours = [colour for colour in self._colours if colour in lower]
        for noun in nouns:
            for colour in colours:
                for pattern in _colour_patterns(noun, colour):
                    for match in pattern.finditer(text):
                        yield noun, match

    def _plain(self, text: str, nouns: Sequence[str]) -> Iterator[tuple[str, re.Match[str]]]:
        """With an article, with a demonstrative, after other words, or bare."""
        for noun in nouns:
            *phrases, bare = _noun_patterns(noun)
            for pattern in phrases:
                for match in pattern.finditer(text):
                    yield noun, match
            for match in bare.finditer(text):
                if not match.start() or text[match.start() - 1] in _BEFORE_BARE:
                    yield noun, match

    def _whole(self, text: str, start: int, noun: str) -> tuple[str, int]:
        """A mention with what describes it, and where it ends: up to a mark, a verb or a linking word."""
        at = text[start:].lower().find(noun.lower())
        if at < 0:
            return text[start : start + len(noun)].strip(), start + len(noun)
        end = start + at + len(noun)
        phrase, rest = text[start:end], text[end:].lstrip()
        for marker in patterns.MARKERS:
            if marker.search(rest):
                cut = self._boundary(rest)
                mark = re.search(r"[.,;:]", rest)
                if cut > 0 or mark:
                    part = rest[: cut if cut > 0 or mark is None else mark.start()].strip()
                    phrase += " " + part
                    end += len(part) + 1
                if cut > 0:
                    rest = rest[cut:].lstrip()
        return phrase.strip(), end

    def _boundary(self, text: str) -> int:
        mark = re.search(r"[.,;:]", text)
        verb = self._verbs.first(text)
        link = next((match.start() for pattern in patterns.CONNECTORS if (match := pattern.search(text))), len(text))
        return min(mark.start() if mark else len(text), len(text) if verb is None else verb, link)

    def _looks(self, phrase: str, noun: str) -> str:
        text = phrase.lower().strip()
        text = next((text[len(article) :] for article in _ARTICLES if text.startswith(article)), text)
        for said in patterns.SCENE_PHRASES:
            if said in text:
                text = text.replace(said, "").strip()
        found = []
        before = re.search(rf"(.*?)\b{re.escape(noun.lower())}\b", text)
        if before:
            found.append(" ".join(word for word in before[1].split()[-3:] if word not in _NO_LOOKS))
        for pattern, lead in patterns.ATTRIBUTES:
            parts = (lead + match[1].strip() for match in pattern.finditer(text))
            found += [part for part in parts if not _acts(part)]
        return _distinct(", ".join(filter(None, found)))

    def groups(self, mentions: Sequence[Mention]) -> list[list[Mention]]:
        """Mentions of one subject together, each with the first that is not in a group yet."""
        found: list[list[Mention]] = []
        waiting = list(mentions)
        while waiting:
            first = waiting[0]
            same = [first, *(mention for mention in waiting[1:] if self._same(first, mention))]
            found.append(same)
            waiting = [mention for mention in waiting if mention not in same]
        return found

    def _same(self, one: Mention, other: Mention) -> bool:
        if one.noun != other.noun and not self._means_the_same(one.noun, other.noun):
            return False
        first, second = one.looks.lower(), other.looks.lower()
        colours, other_colours = ({c for c in self._colours if f" {c} " in f" {text} "} for text in (first, second))
        if colours and other_colours and not colours & other_colours:
            return False
        clothes, other_clothes = ({c for c in self._clothes if f" {c} " in f" {text} "} for text in (first, second))
        if colours and clothes and other_colours and other_clothes:
            return colours == other_colours
        dressed = ("in" in first and colours and clothes) or ("in" in second and other_colours and other_clothes)
        if dressed and colours != other_colours:
            return False
        words, other_words = _words(first), _words(second)
        return all(
            not (words & terms and other_words & terms) or words & other_words & terms for terms in self._categories
        )

    def _means_the_same(self, noun: str, other: str) -> bool:
        for base, synonyms in self._synonyms.items():
            if all(word == base or word in synonyms for word in (noun, other)):
                return True
        return other.endswith(noun) or noun.endswith(other)

    def generic(self, sentences: Sequence[str], cleaned: Sequence[str]) -> list[tuple[str, Mention]]:
        """Subjects where none was found: by clothes, else by pronouns, else a person; and a mention of each."""
        found: list[tuple[str, Mention]] = []
        for number, sentence in enumerate(sentences):
            lower = sentence.lower()
            for noun in (noun for noun in self.nouns if noun.lower() in lower):
                for colour in (colour for colour in self._colours if colour.lower() in lower):
                    for garment in (garment for garment in self._clothes if garment.lower() in lower):
                        pattern = rf"\b(?:a|an|the)\s+{noun}\s+in\s+{colour}\s+{garment}\b"
                        looks = f"in {colour} {garment}"
                        found += [
                            (noun, Mention(noun, looks, match.start(), match.end(), number))
                            for match in re.finditer(pattern, sentence, _I)
                        ]
        if found:
            return found
        counts = [
            (noun, sum(len(re.findall(rf"\b{word}\b", text, _I)) for text in cleaned for word in words))
            for noun, words in _PRONOUNS
        ]
        named = [noun for noun, count in sorted(counts, key=lambda pair: pair[1], reverse=True) if count]
        return [(noun, Mention(noun, "", 0, len(noun), 0)) for noun in named or ["person"]]


@cache
def _colour_patterns(noun: str, colour: str) -> tuple[re.Pattern[str], ...]:
    article = r"\b(?:an?|the)?\s*"
    return (
        re.compile(rf"{article}{noun}\s+in\s+{colour}\s+{_GARMENTS}\b", _I),
        re.compile(rf"{article}{colour}(?:-clothed|-dressed)?\s+{noun}\b", _I),
    )


@cache
def _noun_patterns(noun: str) -> tuple[re.Pattern[str], ...]:
    before = (
        r"(?:an?|the)\s+(?:[a-z]+[-\s]+)*",
        r"(?:this|that|these|those)\s+(?:[a-z]+[-\s]+)*",
        r"(?:[a-z]{2,}\s+)+",
        "",
    )
    return tuple(re.compile(rf"\b{part}{noun}\b", _I) for part in before)


def _by_length(noun: str) -> tuple[int, str]:
    return -len(noun), noun


def _plural(noun: str, irregular: dict[str, str]) -> str | None:
    if noun in irregular:
        return irregular[noun]
    if noun.endswith("s"):
        return None
    return noun + ("es" if noun.endswith(("x", "z", "ch", "sh")) else "s")


def _acts(text: str) -> bool:
    """Whether what describes somebody says what they do."""
    if patterns.ATTRIBUTE_ACTIONS.search(text):
        return True
    for word in patterns.ATTRIBUTE_ING:
        match = re.search(rf"\b{word}\b", text)
        if match and not text[max(0, match.start() - 4) : match.start()].endswith(_ARTICLES):
            return True
    return False


def _distinct(looks: str) -> str:
    found: list[str] = []
    for part in (part.strip() for part in looks.split(",")):
        plain = _plain_look(part)
        if plain and all(_plain_look(other) != plain for other in found):
            found.append(part)
    return ", ".join(found)


def _plain_look(look: str) -> str:
    plain = look.lower().strip()
    plain = next((plain[len(prefix) :].strip() for prefix in _PREFIXES if plain.startswith(prefix)), plain)
    for phrase in ("dressed in a", "dressed in the", "clad in a", "clad in the"):
        if plain.startswith(phrase):
            plain = plain.replace(phrase, f"wearing {phrase.split()[-1]}", 1)
    return plain.strip()


def _words(looks: str) -> set[str]:
    return {plain for word in looks.split() if (plain := word.strip(" ,.;:")) not in _NO_WORDS}
