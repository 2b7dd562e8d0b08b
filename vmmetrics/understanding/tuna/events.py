"""What a judge makes of a caption, checked: events that are the caption, matches that keep the order of time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

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
    reached = {0}  # how many words of `said` the caption so far can be
    seen: set[tuple[str, ...]] = set()
    for statement in map(_words, _STATEMENT.findall(caption)):
        width = len(statement)
        further = {place + width for place in reached if said[place : place + width] == statement}
        if tuple(statement) in seen:
            further |= reached
        reached = further
        seen.add(tuple(statement))
    return bool(said) and len(said) in reached


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
    matched = [(place, reference) for place, (_, reference) in enumerate(pairs) if reference is not None]
    longest: list[tuple[int, int]] = []  # length of the best chain that ends in each, and where it comes from
    for number, (_, reference) in enumerate(matched):
        before = [(longest[i][0], -matched[i][1], -i) for i in range(number) if matched[i][1] <= reference]
        length, _, last = max(before, default=(0, 0, 1))
        longest.append((length + 1, -last))
    kept = set()
    ends = [(length, -matched[i][1], -i) for i, (length, _) in enumerate(longest)]
    place = -max(ends, default=(0, 0, 1))[2]
    while place >= 0:
        kept.add(matched[place][0])
        place = longest[place][1]
    return tuple((candidate, reference if i in kept else None) for i, (candidate, reference) in enumerate(pairs))


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
        elements = judged.get("visual_elements") if isinstance(judged, dict) else None
        given = (
            [one.get("relationship") for one in elements if isinstance(one, dict)] if isinstance(elements, list) else []
        )
        read = [label_of(given[i]) if i < len(given) else None for i in range(len(event.elements))]
        unread += read.count(None)
        found.append([label or LACK for label in read])
    return found, unread
