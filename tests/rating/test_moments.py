"""Marks in time: tIoU by hand and by frames, consensus of planted moments, agreement with events and with chance."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.rating import moments
from vmmetrics.rating.moments import (
    ClipMarks,
    Mark,
    TimedEvent,
    box_iou,
    consensus,
    event_agreement,
    event_hits,
    joined,
    marked_share,
    rater_agreement,
    span_iou,
)

LEFT, RIGHT, WHOLE = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0), (0.0, 0.0, 1.0, 1.0)
TICKS = 200  # of two seconds
ticks = st.tuples(st.integers(0, TICKS - 1), st.integers(1, TICKS)).filter(lambda span: span[0] < span[1])
unions = st.lists(ticks.map(lambda span: (span[0] / 100, span[1] / 100)), max_size=6)


def mark(begin: float, end: float, box: Any = WHOLE) -> Mark:
    return Mark(1, begin, end, box)


def event(*spans: tuple[float, float], metric: str = "mss", box: Any = None) -> TimedEvent:
    return TimedEvent(metric, "jumps", spans, None, box)


def frames(spans: Any) -> Any:
    """Return which of the ticks lie in spans."""
    at = (np.arange(TICKS) + 0.5) / 100
    return np.any([(begin < at) & (at < end) for begin, end in spans] or [np.zeros(TICKS, bool)], axis=0)


@given(unions, unions)
def test_tiou_is_that_of_frames_counted_one_by_one(one: Any, other: Any) -> None:
    first, second = frames(one), frames(other)
    total = (first | second).sum()
    assert span_iou(one, other) == pytest.approx((first & second).sum() / total if total else 1.0)
    assert span_iou(one, other) == span_iou(other, one)
    assert span_iou(one, joined(one)) == 1.0
    apart = joined(one)
    assert all(end < begin for (_, end), (begin, _) in pairwise(apart))
    assert marked_share([mark(*span) for span in one], 2.0) == pytest.approx(first.mean())


def test_ious_by_hand() -> None:
    assert span_iou([(0, 1), (2, 3)], [(0.5, 2.5)]) == pytest.approx(1 / 3)
    assert span_iou([(0, 1)], [(1, 2)]) == span_iou([], [(1, 2)]) == 0.0
    assert box_iou(LEFT, WHOLE) == 0.5 and box_iou(LEFT, RIGHT) == 0.0
    assert box_iou((0, 0, 0.5, 0.5), (0.25, 0.25, 0.75, 0.75)) == pytest.approx(1 / 7)


@pytest.mark.parametrize(
    "wrong",
    [(1.0, 1.0, WHOLE), (2.0, 1.0, WHOLE), (-0.1, 1.0, WHOLE), (0.0, 1.0, (0.5, 0.0, 0.5, 1.0)),
     (0.0, 1.0, (0.0, 0.0, 1.0, 1.01)), (0.0, 1.0, (-0.1, 0.0, 1.0, 1.0)), (0.0, 1.0, (0.0, 0.8, 1.0, 0.2))],
)  # fmt: skip
def test_marks_that_cannot_be(wrong: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        mark(*wrong)


def test_consensus_and_agreement_by_hand() -> None:
    marked = ClipMarks("a", "p", 4.0, {
        "r1": [mark(0.0, 1.0, LEFT), mark(3.0, 3.5)], "r2": [mark(0.5, 1.5, LEFT)], "r3": [],
        "r4": [mark(0.6, 1.0, RIGHT)],
    })  # fmt: skip
    (moment,) = consensus(marked)
    assert (moment.begin, moment.end, moment.raters, moment.box) == (0.5, 1.0, 3, LEFT)
    found = rater_agreement([marked])
    # r1's first mark: r2 and r4 of three others; its second: none; r2's: r1 and r4; r4's: r1 and r2
    assert found["same moment"].value == pytest.approx(6 / 12) and found["same moment"].n == 12
    assert found["tIoU"].value == pytest.approx((1 / 3 + 0.4 + 1 / 3 + 0.4 + 0.4 + 0.4) / 6)
    assert found["box IoU"].value == pytest.approx(2 / 6)
    alone = ClipMarks("b", "p", 4.0, {"r1": [mark(0.0, 1.0)]})
    assert consensus(alone) == [] and rater_agreement([alone])["same moment"].value is None
    assert rater_agreement([])["tIoU"].note


def test_hits_of_events_by_hand() -> None:
    marked = ClipMarks("a", "p", 4.0, {"r1": [mark(0.0, 1.0, LEFT), mark(1.5, 2.0)], "r2": [mark(0.5, 1.0)], "r3": []})
    events = [event((0.0, 0.5), (1.5, 2.0), box=WHOLE), event((0.5, 1.0)), event((3, 4))]
    first, second, third = event_hits(marked, events)
    assert (first.raters, first.tiou, first.box_iou) == (1, 0.5, 1.0)
    assert (second.raters, second.tiou, second.box_iou) == (2, 1.0, None)
    assert (third.raters, third.tiou, third.box_iou) == (0, 0.0, None)
    assert event_hits(marked, []) == []
    assert event_hits(ClipMarks("a", "p", 4.0, {"r1": []}), [event((0, 1))])[0].raters == 0


@given(st.lists(ticks, min_size=1, max_size=4), st.lists(ticks, min_size=1, max_size=4))
def test_hits_are_those_of_frames_counted_one_by_one(spans: Any, others: Any) -> None:
    parts = joined([(begin / 100, end / 100) for begin, end in spans])
    marks = [mark(begin / 100, end / 100) for begin, end in others]
    (hit,) = event_hits(ClipMarks("a", "p", 2.0, {"r": marks}), [event(*parts)])
    own = frames(parts)
    best = max((own & one).sum() / (own | one).sum() for one in (frames([(m.begin, m.end)]) for m in marks))
    assert hit.tiou == pytest.approx(best) and hit.raters == int(best > 0)


def planted(rng: Any, raters: int, found: float = 0.8, wrong: float = 0.1) -> tuple[ClipMarks, Any]:
    """Return what raters mark who find a moment in so many cases, and now and then mark another; and the moment."""
    begin = float(rng.uniform(0.5, 2.5))
    true = [(begin, begin + float(rng.uniform(0.6, 1.0)))]
    marks: dict[str, list[Mark]] = {}
    for rater in range(raters):
        ends = [np.sort(np.array(span) + rng.normal(0, 0.12, 2)).clip(0, 4) for span in true if rng.random() < found]
        if rng.random() < wrong:
            ends.append(np.sort(rng.uniform(0, 4, 2)))
        marks[f"r{rater}"] = [mark(float(one), float(other)) for one, other in ends if other > one]
    return ClipMarks("", "", 4.0, marks), true


def test_planted_moments_are_recovered() -> None:
    rng = np.random.default_rng(0)
    fits, extra = [], 0
    for _ in range(200):
        marked, true = planted(rng, 9)
        moments = consensus(marked)
        fits.append(max((span_iou(true, [(one.begin, one.end)]) for one in moments), default=0.0))
        extra += len(moments) - (fits[-1] > 0)
    assert np.mean([fit > 0.5 for fit in fits]) > 0.95 and np.mean(fits) > 0.75
    assert extra < 10


def test_chance_is_that_of_a_span_dropped_at_random() -> None:
    rng = np.random.default_rng(1)
    clips, events = [], {}
    for number in range(150):
        begin, at = float(rng.uniform(0, 3)), float(rng.uniform(0, 3.5))
        marks: dict[str, Any] = {rater: [mark(begin, begin + 1.0)] for rater in "ab"}
        clips.append(ClipMarks(str(number), f"p{number % 15}", 4.0, marks))
        events[str(number)] = [event((at, at + 0.5), metric="mss"), event((begin, begin + 1.0), metric="tcs")]
    found = event_agreement(clips, events, resamples=200)
    # two spans on a circle meet with probability (1.0 + 0.5) / 4; events at random are no better than chance
    assert found["mss"]["moments hit, chance"].value == pytest.approx(1.5 / 4, abs=0.01)
    assert found["mss"]["events hit, chance"].value == pytest.approx(1.5 / 4, abs=0.01)
    for measure in ("moments hit", "events hit", "tIoU"):
        beyond = found["mss"][f"{measure}, above chance"]
        assert beyond.low is not None and beyond.high is not None and beyond.low < 0 < beyond.high
        sure = found["tcs"][f"{measure}, above chance"]
        assert found["tcs"][measure].value == pytest.approx(1.0) and sure.low is not None and sure.low > 0.4
    one = np.arange(800) < 200  # of 4.0 seconds, and the other span at every place
    others = [np.roll(np.arange(800) < 100, shift) for shift in range(800)]
    by_frames = np.mean([(one & other).sum() / (one | other).sum() for other in others])
    assert found["mss"]["tIoU, chance"].value == pytest.approx(by_frames, abs=0.01)
    assert found["all"]["events hit"].n == 300


def test_what_is_whole_is_hit_by_chance_as_well() -> None:
    clips = [ClipMarks(str(n), f"p{n}", 4.0, {rater: [mark(0.0, 4.0)] for rater in "ab"}) for n in range(4)]
    found = event_agreement(clips, {str(n): [event((1.0, 1.5))] for n in range(4)}, resamples=50)["all"]
    assert found["events hit"].value == found["events hit, chance"].value == 1.0
    assert found["events hit, above chance"].value == 0.0
    nothing = [ClipMarks("a", "p", 4.0, {"r": [], "s": []})]
    found = event_agreement(nothing, {"a": [event((1.0, 1.5))]}, resamples=50)["mss"]
    assert found["moments hit"].value is None and found["events hit"].value == 0.0
    assert event_agreement(nothing, {})["all"]["events hit"].note
    assert moments.SHIFTS >= 100
