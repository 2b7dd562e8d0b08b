"""A sentence of a description taken apart: clauses, and in each who, the verb, and the rest. One pass, by rule."""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from vmmetrics.understanding.benchmarks.favor.lexicon import (
    ADVERBS,
    BODY,
    DETERMINERS,
    DONE,
    FINITE,
    FORMS,
    GARMENTS,
    ING,
    NOUNS_IN_S,
    PAST,
    PAST_OR_NOUN,
    PLURALS,
    PREPOSITIONS,
    PRONOUNS,
    STATES,
    SUBJECTS,
    VERBS,
    word_set,
)

BREAKS: Final = frozenset(
    ("and", "then", "while", "as", "before", "after", "when", "but", "until", "where", "which", "who")
)
"""Words that can begin a clause; they do where a verb follows."""
CAMERA_NOUNS: Final = word_set("camera lens camerawork cameraperson videographer")
SCENE_NOUNS: Final = word_set(
    """
    video scene clip footage shot frame image view screen perspective film sequence angle
    """
)
SHOWING: Final = word_set(
    """
    show begin start open depict feature capture reveal focus present display include
    """
)
"""Verbs after which a scene's noun is followed by what is to be seen."""

_SENTENCE: Final = re.compile(r"[.!?;\n]+(?=\s|$)|\n+")
_TOKEN: Final = re.compile(r"[\w]+(?:['’-][\w]+)*['’]?|,")
_BE_NOW: Final = frozenset(("is", "are", "am"))
_BE_PAST: Final = frozenset(("was", "were"))
_BE: Final = _BE_NOW | _BE_PAST | {"be", "been", "being"}
_SEEM: Final = frozenset(("seem", "seems", "seemed", "appear", "appears", "appeared"))
_MODALS: Final = frozenset(("can", "could", "may", "might", "will", "would"))
_SEEN: Final = frozenset(("seen", "shown", "visible", "captured", "depicted", "observed", "filmed"))
_BEFORE_NOUN: Final = DETERMINERS - frozenset(("that", "this", "those", "these", "each", "first", "second")) | {
    "of", "with", "in", "on", "at", "from", "to", "by", "for", "into",
}  # fmt: skip
_SKIPPED: Final = ADVERBS - {"both", "each", "all"} | {"followed", "by"}
_AFTER_VERB: Final = (
    DETERMINERS | PREPOSITIONS | ADVERBS | word_set("it them him something himself herself themselves itself")
)
_SEVERAL: Final = PLURALS | {"i", "you", "we", "they"}
_MOST_BEFORE_VERB: Final = 24
"""Words of a subject and what describes it, at most: beyond, there is no verb of its own."""


@dataclass(frozen=True, slots=True)
class CaptionClause:
    """A clause.

    Attributes:
        link: The word or comma before it, "" at the beginning of a sentence.
        subject: Words of its subject; empty where it has none.
        action: Words from the verb on; empty where it has no verb.
        verb: Base form of the verb, or None.
        words: All its words.
    """

    link: str
    subject: tuple[str, ...]
    action: tuple[str, ...]
    verb: str | None
    words: tuple[str, ...]


def sentences(text: str) -> Iterator[list[str]]:
    """Words and commas of each sentence."""
    for sentence in _SENTENCE.split(text):
        tokens = _TOKEN.findall(sentence)
        if tokens:
            yield tokens


def finite_forms(told: Iterable[Sequence[str]]) -> frozenset[str]:
    """What stands for a verb in a description: forms of the present, of the past too where it is told in the past.

    "A man dressed ..." begins what describes him, "A man opened ..." a story: it goes by what there is more of.
    """
    present = past = 0
    for tokens in told:
        words = ["", *(word.lower() for word in tokens)]
        for before, word in itertools.pairwise(words):
            present += word in FINITE or word in _BE_NOW
            past += word in _BE_PAST or (word in PAST and (before in SUBJECTS or before in PRONOUNS or before == "and"))
    return FINITE | PAST | PAST_OR_NOUN if past > present else FINITE


def clauses(tokens: Sequence[str], finite: Container[str] = FINITE) -> list[CaptionClause]:
    """Clauses of a sentence: parts between commas and linking words, each read by itself.

    Args:
        tokens: Of the sentence.
        finite: What stands for a verb; see :func:`finite_forms`.
    """
    found: list[CaptionClause] = []
    link, part = "", list[str]()
    for word in [*tokens, ","]:
        if word == "," or word.lower() in BREAKS:
            if part:
                found.append(read_clause(link, part, finite))
                link, part = "", []
            link = link or "," if word == "," else word.lower()
        else:
            part.append(word)
    return found


def read_clause(link: str, part: Sequence[str], finite: Container[str] = FINITE) -> CaptionClause:
    """Find the verb of a clause and the subject before it."""
    words = [word.lower() for word in part]
    start = 0
    while start < len(words) and words[start] in _SKIPPED:
        start += 1
    two = words[start : start + 2]
    if two[:1] == ["there"] and two[1:] and two[1] in _BE:
        start += 2
    elif two[:1] == ["it"] and words[start + 2 : start + 3] in (["that"], ["like"]):  # it seems that, it looks like
        start += 3
    at = _verb_place(words, start, link, finite)
    if at is None:
        return CaptionClause(link, tuple(part[start:]), (), None, tuple(part))
    subject = tuple(part[start:at])
    while subject and (subject[-1].lower() in ADVERBS | _MODALS or subject[-1].lower().endswith("ly")):
        subject = subject[:-1]
    first = at
    if words[at] in _SEEM and words[at + 1 : at + 2] == ["to"] and at + 2 < len(words):  # seems to be running, to run
        first = at = at + 2
    if words[at] in _BE:
        first = _after_be(words, at)
    if subject and subject[0].lower() == "with":
        subject = subject[1:]
    verb = FORMS.get(words[first], words[first].removesuffix("s"))
    return CaptionClause(link, subject, tuple(part[first:]), verb, tuple(part))


def _verb_place(words: Sequence[str], start: int, link: str, finite: Container[str]) -> int | None:
    """Place of the verb: the first word, if it can be one, else the first finite form, else a participle."""
    if start >= len(words):
        return None
    first = words[start]
    if first in PRONOUNS or first not in DETERMINERS:
        alone = first not in PRONOUNS and first not in SUBJECTS and first not in BODY
        verbal = first in ING or first in _BE or _is_finite(words, start, finite) or _looks_finite(words, start)
        if alone and verbal:
            return start
        after = words[start + 1] if start + 1 < len(words) else None
        if alone and link and first in VERBS and after and (after not in FINITE or _is_part(after)):
            return start
        if alone and first == "to" and start + 1 < len(words) and words[start + 1] in VERBS:
            return start + 1
    last = min(len(words), start + _MOST_BEFORE_VERB)
    plural = any(word in PLURALS for word in words[start:last]) or first in ("i", "you", "we", "they", "both")
    participle = None
    for place in range(start + 1, last):
        word, before = words[place], words[place - 1]
        if word in _BE:
            return place
        if before in _BEFORE_NOUN:
            continue
        if _is_finite(words, place, finite) and not _is_noun_here(words, place):
            return place
        if word in VERBS and (before in _SEVERAL or _is_part(before) or (plural and before in ADVERBS)):
            return place
        if link == "and" and word in VERBS and before in SUBJECTS:  # a man and a woman dance
            return place
        if participle is None and word in ING and word != "wearing" and word != "holding":
            participle = place
        elif word in DONE and before in PRONOUNS:
            return place
    if participle is None:  # "a man blushes", "a man holding a cup"
        guessed = (p for p in range(start + 1, last) if words[p] == "holding" or _looks_finite(words, p))
        participle = next((p for p in guessed if words[p - 1] not in _BEFORE_NOUN), None)
    return participle


def _is_finite(words: Sequence[str], place: int, finite: Container[str]) -> bool:
    """Whether a word stands for a verb; "found" and "left" do where they begin, or follow who does it."""
    word = words[place]
    if word not in finite or (word in PAST and words[place + 1 : place + 2] == ["by"]):
        return False
    return word not in PAST_OR_NOUN or not place or words[place - 1] in SUBJECTS or words[place - 1] in PRONOUNS


def _is_part(word: str) -> bool:
    """Whether a word is the plural of a part of the body."""
    return word == "feet" or (word.endswith("s") and word.removesuffix("s") in BODY)


def _looks_finite(words: Sequence[str], place: int) -> bool:
    """Whether an unknown word in -s stands as a verb does: before an article or a preposition, or last after a noun."""
    word = words[place]
    if not word.endswith("s") or word.endswith(("ss", "'s", "us", "is")) or word in NOUNS_IN_S:
        return False
    if word in SUBJECTS or word in PRONOUNS or word in DETERMINERS or word in _BE or word.removesuffix("s") in BODY:
        return False
    after = words[place + 1] if place + 1 < len(words) else None
    return (
        words[place - 1] in SUBJECTS if after is None and place else after in _AFTER_VERB and after not in ("of", "and")
    )


def _is_noun_here(words: Sequence[str], place: int) -> bool:
    """Whether a form in -s is a plural: a garment; a part of the body or something that acts, if a verb is to come."""
    word = words[place]
    if word in GARMENTS:
        return True
    if word not in SUBJECTS and word not in BODY and word.removesuffix("s") not in BODY:
        return False
    return any(later in FINITE or later in _BE or later in VERBS for later in words[place + 1 :])


def _after_be(words: Sequence[str], at: int) -> int:
    """Where the action begins after a form of be: at a participle that follows, else at the form itself."""
    place = at + 1
    while place < len(words) and (words[place] in ADVERBS | _SEEN or words[place].endswith("ly")):
        place += 1
    return place if place < len(words) and (words[place] in ING or words[place] == "wearing") else at


def is_state(clause: CaptionClause) -> bool:
    """Whether a clause says how something is, not what it does."""
    if clause.verb is None or not clause.action:
        return True
    first = clause.action[0].lower()
    if first in _BE:
        return not any(word.lower() in DONE for word in clause.action[1:4])
    return clause.verb in STATES
