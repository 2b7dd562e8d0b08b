"""TUNA-CAP's scores: weighted precision, recall and F1 from a judge's labels of visual elements.

With E the weight of what is entailed, C of what is contradicted and W of everything: P = E / (E + C), R = E / W, F1
their harmonic mean; over all elements and over each type that a video has. Kong et al., "TUNA", section 3.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import Any, Final

from vmmetrics.understanding.benchmarks import f1_of
from vmmetrics.understanding.benchmarks.files import fields_of, text_of
from vmmetrics.understanding.benchmarks.tuna import DATA

# What a judge makes of a caption, checked: events that are the caption, matches that keep the order of time.

Pair = tuple[int, int | None]
"""Numbers, from 1, of a candidate event and of its reference event; None where it has none."""

_STATEMENT: Final = re.compile(r"[^.!?;:,\n]+[.!?;:,\n]*")
_SENTENCE: Final = re.compile(r"\S.*?(?:[.!?]+[\"'\u2019\u201d)]*(?=\s|$)|$)", re.DOTALL)
_WORD: Final = re.compile(r"\w+")


def is_caption(caption: str, events: Sequence[str]) -> bool:
    """Return True if the joined events equal the caption; verbatim repeats may be missing.

    Case and punctuation do not matter.

    >>> is_caption("It falls. It rolls. It falls.", ["It falls.", "It rolls."]), is_caption("It falls.", ["It fell."])
    (True, False)
    """
    tokens = _words(" ".join(events))
    positions: dict[str, int] = {}  # of each word in `said`, a bit each
    for position, word in enumerate(tokens):
        positions[word] = positions.get(word, 0) | 1 << position
    reached = 1  # bit n: the caption so far can be the first n words of `said`
    seen: set[tuple[str, ...]] = set()
    for statement in map(_words, _STATEMENT.findall(caption)):
        further = reached
        for word in statement:
            further = (further & positions.get(word, 0)) << 1
        reached = further | reached if tuple(statement) in seen else further
        seen.add(tuple(statement))
    return bool(tokens) and reached >> len(tokens) & 1 == 1


def sentences(caption: str) -> list[str]:
    """Return the sentences of a caption without repeats, as events."""
    distinct = {tuple(_words(sentence)): sentence.strip() for sentence in reversed(_SENTENCE.findall(caption))}
    order = dict.fromkeys(tuple(_words(sentence)) for sentence in _SENTENCE.findall(caption))
    return [distinct[words] for words in order if words]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def pairs_problem(pairs: Sequence[Pair], candidates: int, references: int) -> str | None:
    """Return the fault of some matches, order aside, as text for the judge; None if there is none."""
    if [candidate for candidate, _ in pairs] != list(range(1, candidates + 1)):
        return f"expected one pair for each candidate event, 1 to {candidates}, in order"
    outside = [reference for _, reference in pairs if reference is not None and not 1 <= reference <= references]
    return f"expected reference events from 1 to {references} or null but got {outside[0]}" if outside else None


def order_problem(pairs: Sequence[Pair]) -> str | None:
    """Return where matches run backwards in time, as text for the judge; None if they do not."""
    matched = [(candidate, reference) for candidate, reference in pairs if reference is not None]
    for (_, before), (candidate, reference) in pairwise(matched):
        if reference < before:
            return (
                f"candidate event {candidate} has reference event {reference}, "
                f"but an earlier one has {before}: time runs backwards"
            )
    return None


def in_order(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Return the longest temporally ordered subset of the matches; other candidates are unmatched.

    Of several largest choices it is the one whose references come earliest, decided from the end.

    >>> in_order([(1, 3), (2, 1), (3, 1), (4, None), (5, 2)])
    ((1, None), (2, 1), (3, 1), (4, None), (5, 2))
    """
    chains: dict[int, tuple[int, ...]] = {}  # indices of the longest that ends in each reference
    for index, (_, reference) in enumerate(pairs):
        if reference is not None:
            chains[reference] = (*_longest(chains, reference), index)
    ordered = _longest(chains, max(chains, default=0))
    return tuple((candidate, reference if i in ordered else None) for i, (candidate, reference) in enumerate(pairs))


def _longest(chains: Mapping[int, tuple[int, ...]], most: int) -> tuple[int, ...]:
    """Return the longest chain that ends at or before ``most``, ties to the earliest end."""
    ends = ((len(chain), -reference, chain) for reference, chain in chains.items() if reference <= most)
    return max(ends, default=(0, 0, ()))[2]


def texts_of_references(pairs: Sequence[Pair], candidates: Sequence[str], references: int) -> list[str]:
    """Return the candidate's text for each reference event: its matched events joined; empty for none."""
    matched: list[list[str]] = [[] for _ in range(references)]
    for candidate, reference in pairs:
        if reference is not None:
            matched[reference - 1].append(candidates[candidate - 1])
    return [" ".join(texts) for texts in matched]


def labels_of(relationship: Sequence[object], events: Sequence[AnnotatedEvent]) -> tuple[list[list[str]], int]:
    """Return a label for each element, from the released form, and the number of missing or invalid labels.

    Those count as lacking: they are in the whole weight.
    """
    labels, unread = [], 0
    for event, judged in zip(events, relationship, strict=True):
        read = [label_of(label) for label in _by_element(event, _elements(judged))]
        unread += read.count(None)
        labels.append([label or LACK for label in read])
    return labels, unread


def _by_element(event: AnnotatedEvent, judged: Sequence[object]) -> list[object]:
    """Return the judgement of each element: matched by content if every one repeats it, else by position."""
    rows = [fields_of(row) for row in judged]
    contents = [tuple(_words(element.content)) for element in event.elements]
    named = {tuple(_words(text_of(row.get("content")))): row for row in rows}
    if len(named) == len(rows) and set(named) <= set(contents) and len(set(contents)) == len(contents):
        rows = [named.get(words, {}) for words in contents]
    rows = rows[: len(contents)] + [{}] * (len(contents) - len(rows))
    return [row.get("relationship") for row in rows]


def _elements(event: object) -> list[Any]:
    """Return the elements of an annotated or judged event."""
    elements = fields_of(event).get("visual_elements")
    return elements if isinstance(elements, list) else []


TYPES: Final[tuple[str, ...]] = tuple(DATA["cap"]["element_types"])
MEASURES: Final = ("precision", "recall", "f1")
ENTAILMENT: Final = "entailment"
CONTRADICTION: Final = "contradiction"
LACK: Final = "lack"
LABELS: Final = (ENTAILMENT, LACK, CONTRADICTION)

_WEIGHTS: Final[Sequence[int]] = DATA["cap"]["weights"]
_STEMS: Final = {"entail": ENTAILMENT, "contradict": CONTRADICTION, "lack": LACK, "missing": LACK, "neutral": LACK}
"""Stems of label spellings, each with its label."""


@dataclass(frozen=True, slots=True)
class Element:
    """A visual element of a video.

    Attributes:
        content: Description.
        type: One of :data:`TYPES`; None where the file has another, it then counts in all elements only.
        weight: How much it counts; 0 where the file says nothing that can be used.
    """

    content: str
    type: str | None
    weight: float


@dataclass(frozen=True, slots=True)
class AnnotatedEvent:
    """An annotated event of a video."""

    text: str
    elements: tuple[Element, ...]


def events_of(value: Any, problems: Counter[str] | None = None) -> tuple[AnnotatedEvent, ...]:
    """Parse annotated events from the released form.

    Args:
        value: ``[{"event": "...", "visual_elements": [{"content": "...", "type": "action", "weight": 3}]}]``.
        problems: Receives counts of problems.
    """
    counted: Counter[str] = Counter() if problems is None else problems
    events = []
    for event in value if isinstance(value, list) else []:
        if not isinstance(event, Mapping):
            counted["annotated events that are not objects"] += 1
        read = tuple(_element(fields_of(one), counted) for one in _elements(event))
        events.append(AnnotatedEvent(text_of(fields_of(event).get("event")), read))
    return tuple(events)


def _element(fields: Mapping[str, Any], problems: Counter[str]) -> Element:
    kind, weight = text_of(fields.get("type")).lower(), fields.get("weight")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < float("inf"):
        problems["visual elements without a weight, which count for nothing"] += 1
        weight = 0  # it keeps its place: judgements are paired by that
    elif weight not in _WEIGHTS:
        problems[f"visual elements with a weight other than {', '.join(map(str, _WEIGHTS))}"] += 1
    if kind not in TYPES:
        problems["visual elements of an unknown type, counted in the total only"] += 1
    return Element(text_of(fields.get("content")), kind if kind in TYPES else None, weight)


def label_of(value: Any) -> str | None:
    """Return the label of :data:`LABELS` in any spelling; None for others.

    >>> label_of(" Entailed."), label_of("maybe")
    ('entailment', None)
    """
    text = text_of(value).casefold().strip(" .\"'*`") if isinstance(value, str) else ""
    return next((label for stem, label in _STEMS.items() if text.startswith(stem)), None)


def scores(events: Sequence[AnnotatedEvent], labels: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return precision, recall and F1 over all elements (``"f1"``) and over each element type (``"camera f1"``).

    Args:
        events: The annotated events.
        labels: A label for each element of each event; an element without one is lacking, and counts.
    """
    tally: defaultdict[tuple[str, str], float] = defaultdict(float)
    for event, row in zip(events, chain(labels, repeat(())), strict=False):
        for element, label in zip(event.elements, chain(row, repeat(LACK)), strict=False):
            for scope in ("", *([f"{element.type} "] if element.type else [])):
                tally[scope, label] += element.weight
                tally[scope, "all"] += element.weight
    figures: dict[str, float] = {}
    for scope in ("", *(f"{kind} " for kind in TYPES)):
        if tally[scope, "all"]:
            entailed = tally[scope, ENTAILMENT]
            claimed = entailed + tally[scope, CONTRADICTION]
            precision, recall = entailed / claimed if claimed else 0.0, entailed / tally[scope, "all"]
            values = (precision, recall, f1_of(precision, recall))
            figures |= {f"{scope}{name}": value for name, value in zip(MEASURES, values, strict=True)}
    return figures


def released_scores(events: Any, relationship: Any) -> dict[str, float] | None:
    """Return the released scorer's figures of a video, to three decimals; None where it drops the video.

    It pairs events and elements by position and leaves out of the whole weight what has no partner, and any event
    whose judgement has no list of elements; a label counts only as it is spelled in :data:`LABELS`.

    Args:
        events: As they are in the annotations' file.
        relationship: As it is in the intermediate file.
    """
    if not isinstance(relationship, Sequence | Mapping) or len(relationship) != len(events):
        return None
    annotated, labels = [], []
    for event, judged in zip(events, relationship, strict=True):
        judged_labels = [fields_of(one).get("relationship", LACK) for one in _elements(judged)]
        both = zip(_elements(event), judged_labels, strict=False)
        pairs = [(one, label) for one, label in both if isinstance(one.get("weight"), int | float)]
        annotated.append(AnnotatedEvent("", tuple(Element("", one.get("type"), one["weight"]) for one, _ in pairs)))
        labels.append([label if label in (ENTAILMENT, CONTRADICTION) else LACK for _, label in pairs])
    return {name: round(value, 3) for name, value in scores(annotated, labels).items()}
