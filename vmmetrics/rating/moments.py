"""Moments that raters marked in clips: agreement among raters, consensus, and agreement with events of scores.

Temporal intersection over union (tIoU) is that of the THUMOS and ActivityNet challenges. Two things hit each other if
they share time. Chance is that of the same events shifted in time: all events of a clip by one random part of it, what
leaves at its end coming back at its beginning. If both marks and events are rarer at the ends of clips, it is too low.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, Estimate, estimate, quotient, sampled

KINDS = ("shape", "vanish", "jump", "physics", "other")
"""What may be wrong; marks have their number from 1."""
MOST_MARKS = 20
"""Marks of a rater on a clip."""
LEAST_RATERS, LEAST_SHARE = 2, 0.5
"""Raters, and share of those who saw the clip, who mark the time of a consensus moment."""
SHIFTS = 200
"""Random shifts of a clip's events that stand for chance."""
_SIDES = ("", ", chance", ", above chance")
_NO_MARKS, _NO_EVENTS = "no two raters saw a clip that one of them marked", "there is none"
Span = tuple[float, float]
"""Begin and end in seconds."""
Area = tuple[float, float, float, float]
"""Left, top, right and bottom as shares of the frame."""
Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Mark:
    """When and where a rater saw that something is wrong.

    Attributes:
        kind: What is wrong: its number in :data:`KINDS`, from 1.
        begin: Seconds from the beginning of the clip.
        end: Seconds, after ``begin``.
        box: (left, top, right, bottom) as shares of the frame, 0 to 1.

    Raises:
        ValueError: There is no such kind, or the span or the box is empty, or not within the clip.
    """

    kind: int
    begin: float
    end: float
    box: Area

    def __post_init__(self) -> None:
        left, top, right, bottom = self.box
        if not 1 <= self.kind <= len(KINDS):
            raise ValueError(f"marks: expected a kind from 1 to {len(KINDS)} but got {self.kind}")
        if not 0 <= self.begin < self.end:
            raise ValueError(f"marks: expected a begin before the end but got {self.begin:g} to {self.end:g}")
        if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
            raise ValueError(f"marks: expected a box within 0 to 1 but got {self.box}")


@dataclass(frozen=True, slots=True)
class ClipMarks:
    """What the raters of a clip marked.

    Attributes:
        clip: Its name.
        prompt: Its prompt.
        seconds: Its duration.
        marks: Marks by rater; none where nothing is wrong.
    """

    clip: str
    prompt: str
    seconds: float
    marks: dict[str, Sequence[Mark]]

    @property
    def flat(self) -> list[tuple[str, Mark]]:
        """Every mark with its rater."""
        return [(rater, mark) for rater, marks in self.marks.items() for mark in marks]


@dataclass(frozen=True, slots=True)
class Moment:
    """A time of a clip that most raters marked.

    Attributes:
        begin: Seconds from the beginning of the clip.
        end: Seconds.
        raters: Raters with a mark that shares time with it.
        box: Medians of the sides of these marks' boxes.
    """

    begin: float
    end: float
    raters: int
    box: Area


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """An event of a score.

    Attributes:
        metric: Key of the metric.
        reason: Text of the defect.
        spans: Its times in seconds, apart and ascending, one at least.
        target: What it concerns, or None.
        box: (left, top, right, bottom) as shares of the frame, or None.
    """

    metric: str
    reason: str
    spans: tuple[Span, ...]
    target: str | None = None
    box: Area | None = None


@dataclass(frozen=True, slots=True)
class EventHits:
    """Marks that hit an event.

    Attributes:
        raters: Raters with a mark that shares time with it.
        tiou: Largest tIoU with a mark.
        box_iou: IoU with the box of that mark; None without a box or a mark.
    """

    raters: int
    tiou: float
    box_iou: float | None


def joined(spans: Sequence[Span]) -> list[Span]:
    """Return the union of spans as spans that are apart, ascending.

    >>> joined([(2.0, 3.0), (0.0, 1.0), (0.5, 1.5)])
    [(0.0, 1.5), (2.0, 3.0)]
    """
    union: list[Span] = []
    for begin, end in sorted(spans):
        if union and begin <= union[-1][1]:
            union[-1] = union[-1][0], max(end, union[-1][1])
        else:
            union.append((begin, end))
    return union


def span_iou(one: Sequence[Span], other: Sequence[Span]) -> float:
    """Return the tIoU of two unions of spans; 1 where both are empty.

    >>> span_iou([(0.0, 2.0)], [(1.0, 3.0)]), span_iou([], [])
    (0.3333333333333333, 1.0)
    """
    first, second = _array(joined(one)), _array(joined(other))
    shared = _shared(first, second).sum()
    total = np.diff(first).sum() + np.diff(second).sum() - shared
    return float(shared / total) if total else 1.0


def marked_share(marks: Sequence[Mark], seconds: float) -> float:
    """Return the share of a clip's time that marks cover, 0 to 1."""
    return min(1.0, sum(end - begin for begin, end in joined(_spans(marks))) / seconds)


def coverage(spans: Sequence[Span], parts: int) -> Numbers:
    """Return the share of each of so many equal parts of 0 to 1 that spans, which are apart, cover: (parts,)."""
    cuts = np.linspace(0, 1, parts + 1)
    covered: Numbers = _shared(_array(spans), np.column_stack([cuts[:-1], cuts[1:]])).sum(axis=0) * parts
    return covered


def box_iou(one: ArrayLike, other: ArrayLike) -> Numbers:
    """Return the IoU of boxes (..., 4) of left, top, right and bottom, by pairs as numpy broadcasts them."""
    first, second = np.asarray(one, float), np.asarray(other, float)
    sides = np.minimum(first[..., 2:], second[..., 2:]) - np.maximum(first[..., :2], second[..., :2])
    shared = sides.clip(0).prod(axis=-1)
    first_area, second_area = ((boxes[..., 2:] - boxes[..., :2]).prod(axis=-1) for boxes in (first, second))
    return quotient(shared, first_area + second_area - shared)


def consensus(marked: ClipMarks) -> list[Moment]:
    """Return the moments of a clip that half of its raters mark, two at least."""
    flat = marked.flat
    spans = [_array(joined(_spans(marks))) for marks in marked.marks.values()]
    cuts = np.unique(np.concatenate([np.empty(0), *(one.ravel() for one in spans)]))
    pieces = np.column_stack([cuts[:-1], cuts[1:]])
    covering = sum(((_shared(one, pieces) > 0).any(axis=0).astype(int) for one in spans), np.zeros(len(pieces), int))
    least = max(LEAST_RATERS, LEAST_SHARE * len(spans))
    moments = []
    for agreed, group in groupby(zip(covering >= least, pieces.tolist(), strict=True), key=lambda piece: piece[0]):
        if agreed:
            (_, (begin, end)), *more = group
            end = more[-1][1][1] if more else end
            own = [(rater, mark) for rater, mark in flat if mark.begin < end and mark.end > begin]
            left, top, right, bottom = np.median([mark.box for _, mark in own], axis=0).tolist()
            moments.append(Moment(begin, end, len({rater for rater, _ in own}), (left, top, right, bottom)))
    return moments


def rater_agreement(clips: Sequence[ClipMarks], resamples: int = RESAMPLES) -> dict[str, Estimate]:
    """Return the agreement of raters, with 95 % intervals over prompts.

    Args:
        clips: The clips.
        resamples: Bootstrap samples.

    Returns:
        ``"same moment"``: share, over the marks and the other raters of the clip, of those with a mark that shares
        time with it; ``"tIoU"`` and ``"box IoU"`` of the mark that fits best in time, where there is one.
    """
    over, under = np.zeros((len(clips), 3)), np.zeros((len(clips), 3))
    for row, marked in enumerate(clips):
        marks = [mark for _, mark in marked.flat]
        if not marks:
            continue
        spans, boxes = _array(_spans(marks)), np.array([mark.box for mark in marks])
        counts = np.array([len(own) for own in marked.marks.values() if own])
        first, rater = np.cumsum(counts) - counts, np.repeat(np.arange(len(counts)), counts)
        fits = _ious(_shared(spans, spans), np.diff(spans)[:, 0], spans)
        best = np.maximum.reduceat(fits, first, axis=1)  # of each mark with each rater who marks anything
        best[np.arange(len(marks)), rater] = 0
        alike = np.where((fits > 0) & (fits == best[:, rater]), box_iou(boxes[:, None], boxes), 0)
        hit = (best > 0).sum()
        over[row] = hit, best.sum(), np.maximum.reduceat(alike, first, axis=1).sum()
        under[row] = len(marks) * (len(marked.marks) - 1), hit, hit
    names = ("same moment", "tIoU", "box IoU")
    return _estimates(names, over, under, [one.prompt for one in clips], resamples, _NO_MARKS)


def event_hits(marked: ClipMarks, events: Sequence[TimedEvent]) -> list[EventHits]:
    """Return which marks hit each event of a clip."""
    flat = marked.flat
    others = _array(_spans([mark for _, mark in flat]))
    shared, lengths = _shifted(events, marked.seconds, np.zeros(1), others)
    fits = _ious(shared[0], lengths, others)
    hits = []
    for number, event in enumerate(events):
        raters = {rater for (rater, _), seconds in zip(flat, shared[0, number], strict=True) if seconds > 0}
        best = int(np.argmax(fits[number])) if raters else None
        box = None if best is None or event.box is None else float(box_iou(event.box, flat[best][1].box))
        hits.append(EventHits(len(raters), 0.0 if best is None else float(fits[number, best]), box))
    return hits


def event_agreement(
    clips: Sequence[ClipMarks],
    events: Mapping[str, Sequence[TimedEvent]],
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> dict[str, dict[str, Estimate]]:
    """Return the agreement of marks with events, by metric and of all, with 95 % intervals over prompts.

    Args:
        clips: The clips.
        events: Events by name of the clip.
        seed: Of the random shifts.
        resamples: Bootstrap samples.

    Returns:
        Metric, or ``"all"``, to ``"moments hit"`` (share of consensus moments that an event hits), ``"events hit"``
        (share of events that a mark hits) and ``"tIoU"`` (mean over consensus moments, of the event that fits best);
        each also with ``", chance"`` and ``", above chance"``.
    """
    measures = [f"{name}{of}" for name in ("moments hit", "events hit", "tIoU") for of in _SIDES]
    metrics = sorted({event.metric for listed in events.values() for event in listed})
    names, rng = [*metrics, "all"], np.random.default_rng(seed)
    over, under = np.zeros((len(clips), len(names), 3, 3)), np.zeros((len(clips), len(names), 3, 3))
    for row, marked in enumerate(clips):
        own = events.get(marked.clip, ())
        moments = _array([(one.begin, one.end) for one in consensus(marked)])
        marks = _array(joined(_spans([mark for _, mark in marked.flat])))
        shifts = np.concatenate([[0.0], rng.uniform(0, marked.seconds, SHIFTS)])
        shared, lengths = _shifted(own, marked.seconds, shifts, moments)
        fits = _ious(shared, lengths, moments)
        hit = np.any(_shifted(own, marked.seconds, shifts, marks)[0], axis=2)
        for number, name in enumerate(names):
            of = np.array([name in (event.metric, "all") for event in own], bool)
            sums = np.stack([shared[:, of].any(axis=1).sum(axis=1), hit[:, of].sum(axis=1),
                             fits[:, of].max(axis=1, initial=0).sum(axis=1)])  # fmt: skip
            found, chance = sums[:, 0], sums[:, 1:].mean(axis=1)
            over[row, number] = np.column_stack([found, chance, found - chance])
            under[row, number] = np.array([len(moments), of.sum(), len(moments)])[:, None]
    prompts, flat = [one.prompt for one in clips], (len(clips), len(names), 9)
    over, under = over.reshape(flat), under.reshape(flat)
    return {
        name: _estimates(measures, over[:, n], under[:, n], prompts, resamples, _NO_EVENTS)
        for n, name in enumerate(names)
    }


def _shifted(events: Sequence[TimedEvent], seconds: float, shifts: Numbers, others: Numbers) -> tuple[Numbers, Numbers]:
    """Return the seconds that events, shifted by (K,) seconds, share with (O, 2) spans, (K, E, O), and (E,) lengths."""
    spans = _array([span for event in events for span in event.spans]).clip(0, seconds)
    first = np.cumsum([0, *(len(event.spans) for event in events)])[:-1]
    lengths = np.diff(spans)
    begins = (spans[:, :1] + shifts[:, None, None]) % seconds  # (K, S, 1)
    shifted = np.concatenate([begins, begins + lengths], axis=2)
    shared = _shared(shifted, others) + _shared(shifted - seconds, others)
    if not events:
        return shared, lengths[:, 0]
    return np.add.reduceat(shared, first, axis=1), np.add.reduceat(lengths[:, 0], first)


def _shared(spans: Numbers, others: Numbers) -> Numbers:
    """Return the seconds that each of (..., S, 2) spans shares with each of (O, 2): (..., S, O)."""
    ends = np.minimum(spans[..., 1, None], others[:, 1])
    shared: Numbers = np.maximum(ends - np.maximum(spans[..., 0, None], others[:, 0]), 0)
    return shared


def _ious(shared: Numbers, lengths: Numbers, others: Numbers) -> Numbers:
    """Return tIoU of (..., S, O) shared seconds, (S,) lengths and (O, 2) other spans."""
    return quotient(shared, lengths[:, None] + np.diff(others)[:, 0] - shared)


def _spans(marks: Sequence[Mark]) -> list[Span]:
    return [(mark.begin, mark.end) for mark in marks]


def _array(spans: Sequence[Span]) -> Numbers:
    return np.array(spans, float).reshape(-1, 2)


def _estimates(
    names: Sequence[str], over: Numbers, under: Numbers, prompts: Sequence[str], resamples: int, undefined: str
) -> dict[str, Estimate]:
    """Return ratios of sums over clips, ``over`` and ``under`` (N, S), as estimates."""
    if not prompts:
        return dict.fromkeys(names, Estimate(None, note=undefined))
    observed, samples = sampled(lambda weights: quotient(weights @ over, weights @ under), prompts, resamples, SEED)
    return {
        name: estimate(float(observed[n]), samples[:, n], prompts, undefined, int(under[:, n].sum()))
        for n, name in enumerate(names)
    }
