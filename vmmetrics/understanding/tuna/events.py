"""What a judge makes of a caption, checked: events that are the caption, matches that keep the order of time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from vmmetrics.understanding.tuna.reading import text_of
from vmmetrics.understanding.tuna.scoring import LACK, Event, label_of

Pair = tuple[int, int | None]
"""Numbers, from 1, of a candidate event and of its reference event; None where it has none."""

_STATEMENT: Final = re.compile(r"[^.!?;:,\n]+[.!?;:,\n]*")
_SENTENCE: Final = re.compile(r"\S.*?(?:[.!?]+[\"'\u2019\u201d)]*(?=\s|$)|$)", re.DOTALL)
_WORD: Final = re.compile(r"\w+")


def is_caption(caption: str, events: Sequence[str]) -> bool:
    """Whether events, joined, are the caption; statements that repeat earlier ones word by word may be missing.

    Case and punctuation do not matter.

    >>> is_caption("It falls. It rolls. It falls.", ["It falls.", "It rolls."]), is_caption("It falls.", ["It fell."])
    (True, False)
    """
    said = _words(" ".join(events))
    places: dict[str, int] = {}  # of each word in `said`, a bit each
    for place, word in enumerate(said):
        places[word] = places.get(word, 0) | 1 << place
    reached = 1  # bit n: the caption so far can be the first n words of `said`
    seen: set[tuple[str, ...]] = set()
    for statement in map(_words, _STATEMENT.findall(caption)):
        further = reached
        for word in statement:
            further = (further & places.get(word, 0)) << 1
        reached = further | reached if tuple(statement) in seen else further
        seen.add(tuple(statement))
    return bool(said) and reached >> len(said) & 1 == 1


def sentences(caption: str) -> list[str]:
    """Sentences of a caption, each that repeats an earlier one left out: events, where a judge makes none."""
    distinct = {tuple(_words(sentence)): sentence.strip() for sentence in reversed(_SENTENCE.findall(caption))}
    order = dict.fromkeys(tuple(_words(sentence)) for sentence in _SENTENCE.findall(caption))
    return [distinct[words] for words in order if words]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def pairs_problem(pairs: Sequence[Pair], candidates: int, references: int) -> str | None:
    """What is wrong with matches but for their order, in words for who made them; None where nothing is."""
    if [candidate for candidate, _ in pairs] != list(range(1, candidates + 1)):
        return f"expected one pair for each candidate event, 1 to {candidates}, in order"
    far = [reference for _, reference in pairs if reference is not None and not 1 <= reference <= references]
    return f"expected reference events from 1 to {references} or null but got {far[0]}" if far else None


def order_problem(pairs: Sequence[Pair]) -> str | None:
    """Where matches run backwards in time, in words; None where they do not."""
    matched = [(candidate, reference) for candidate, reference in pairs if reference is not None]
    for (_, before), (candidate, reference) in pairwise(matched):
        if reference < before:
            return (
                f"candidate event {candidate} has reference event {reference}, "
                f"but an earlier one has {before}: time runs backwards"
            )
    return None


def in_order(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """The most matches that keep the order of time; the candidates of the others have no match.

    Of several largest choices it is the one whose references come earliest, decided from the end.

    >>> in_order([(1, 3), (2, 1), (3, 1), (4, None), (5, 2)])
    ((1, None), (2, 1), (3, 1), (4, None), (5, 2))
    """
    chains: dict[int, tuple[int, int]] = {}  # the longest that ends in each reference: its length, and its last place
    before: dict[int, int | None] = {}
    for place, (_, reference) in enumerate(pairs):
        if reference is not None:
            length, before[place] = _longest(chains, reference)
            chains[reference] = (length + 1, place)
    kept = set()
    last = _longest(chains, max(chains, default=0))[1]
    while last is not None:
        kept.add(last)
        last = before[last]
    return tuple((candidate, reference if i in kept else None) for i, (candidate, reference) in enumerate(pairs))


def _longest(chains: Mapping[int, tuple[int, int]], most: int) -> tuple[int, int | None]:
    """Length and last place of the longest chain that ends in a reference up to ``most``; of several, the earliest."""
    ends = ((length, -reference, place) for reference, (length, place) in chains.items() if reference <= most)
    length, _, place = max(ends, default=(0, 0, None))
    return length, place


def texts_of_references(pairs: Sequence[Pair], candidates: Sequence[str], references: int) -> list[str]:
    """What the candidate says of each reference event: its matched events, joined with spaces; empty for none."""
    said: list[list[str]] = [[] for _ in range(references)]
    for candidate, reference in pairs:
        if reference is not None:
            said[reference - 1].append(candidates[candidate - 1])
    return [" ".join(texts) for texts in said]


def labels_of(relationship: Sequence[object], events: Sequence[Event]) -> tuple[list[list[str]], int]:
    """A label for each element, from the released form, and how many there were not or were none of the three.

    Those count as lacking: they are in the whole weight.
    """
    found, unread = [], 0
    for place, event in enumerate(events):
        judged = relationship[place] if place < len(relationship) else None
        elements = judged.get("visual_elements") if isinstance(judged, Mapping) else None
        read = [label_of(label) for label in _given(event, elements if isinstance(elements, list) else [])]
        unread += read.count(None)
        found.append([label or LACK for label in read])
    return found, unread


def _given(event: Event, judged: Sequence[object]) -> list[object]:
    """What was said of each element: by its words where every judgement repeats an element's, else by its place."""
    rows = [row if isinstance(row, Mapping) else {} for row in judged]
    wanted = [tuple(_words(element.content)) for element in event.elements]
    named = {tuple(_words(text_of(row.get("content")))): row for row in rows}
    if len(named) == len(rows) and set(named) <= set(wanted) and len(set(wanted)) == len(wanted):
        rows = [named.get(words, {}) for words in wanted]
    rows = rows[: len(wanted)] + [{}] * (len(wanted) - len(rows))
    return [row.get("relationship") for row in rows]
