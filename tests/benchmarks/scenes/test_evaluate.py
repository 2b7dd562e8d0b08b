"""The comparisons with truth, worked by hand on made-up events."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.evaluate import (
    Counts,
    amplitude_error,
    burst_counts,
    coherence_counts,
    excused_alarms,
    in_deviations,
    runs_of,
    smoothness_counts,
)
from benchmarks.scenes import EventTruth, SceneSpec, SyntheticClip
from vmmetrics.types import Box, Event

FRAMES = np.zeros((30, 8, 8, 3), np.uint8)
CLEAN = SyntheticClip(FRAMES, 8.0, SceneSpec("t"), 0, np.zeros((29, 3, 3)), FRAMES[..., 0], (), (), (), ())
BOX = (10.0, 10.0, 30.0, 30.0)


def truth(kind: str, first: int, last: int, cause: str = "pop") -> EventTruth:
    return EventTruth(kind, 1, (first, last), cause, BOX)


def alarm(kind: str, frame: int, box: Box | None = BOX, excuse: str | None = None) -> Event:
    word = {"vanish": "vanished", "appear": "appeared"}[kind]
    return Event("tcs", (frame,), f"{word} without cause", "object 1", box, excuse=excuse)


def test_a_change_is_answered_once_within_two_frames_where_it_happened() -> None:
    clip = replace(CLEAN, events=(truth("vanish", 10, 13),))
    assert coherence_counts(clip, [alarm("vanish", 8)]) == Counts(hits=1, right=1)
    assert coherence_counts(clip, [alarm("vanish", 15)]) == Counts(hits=1, right=1)
    assert coherence_counts(clip, [alarm("vanish", 16)]) == Counts(misses=1, false=1)
    assert coherence_counts(clip, [alarm("appear", 10)]) == Counts(misses=1, false=1)
    assert coherence_counts(clip, [alarm("vanish", 10, (40.0, 40.0, 50.0, 50.0))]) == Counts(misses=1, false=1)
    assert coherence_counts(clip, [alarm("vanish", 10, None)]) == Counts(hits=1, right=1)
    assert coherence_counts(clip, [alarm("vanish", 10), alarm("vanish", 11)]) == Counts(hits=1, right=1, false=1)
    assert coherence_counts(clip, [alarm("vanish", 10, excuse="edge")]) == Counts(misses=1)


def test_explained_changes_must_not_be_held_against_a_clip() -> None:
    clip = replace(CLEAN, events=(truth("vanish", 10, 10, "edge"), truth("appear", 20, 20, "occlusion")))
    quiet = [alarm("vanish", 10, excuse="left through the edge")]
    assert coherence_counts(clip, quiet) == Counts() and excused_alarms(clip, quiet) == 0
    loud = [alarm("vanish", 10), alarm("appear", 21)]
    assert coherence_counts(clip, loud) == Counts(false=2) and excused_alarms(clip, loud) == 2


def flags(*frames: int) -> list[Event]:
    return [Event("mss", (t,), "quality drops") for t in frames]


def test_glitch_frames_count_within_one_frame() -> None:
    clip = replace(CLEAN, glitch_frames=(10, 11, 12, 20))
    # 9 finds 10; 20 finds 20; 25 finds nothing; 11 and 12 are missed.
    assert smoothness_counts(clip, flags(9, 20, 25)) == Counts(hits=2, misses=2, false=1, right=2)
    assert burst_counts(clip, flags(9, 20, 25)) == Counts(hits=2, false=1, right=2)
    assert burst_counts(clip, flags(14)) == Counts(misses=2, false=1)
    assert smoothness_counts(CLEAN, flags(3, 4)) == Counts(false=2) == burst_counts(CLEAN, flags(3, 4))


def test_the_jump_after_a_freeze_belongs_to_it() -> None:
    clip = replace(CLEAN, repeated_frames=(5, 6, 7))
    assert smoothness_counts(clip, flags(8)) == Counts(hits=2, misses=2, right=1)  # 7 and the jump at 8
    assert burst_counts(clip, flags(8)) == Counts(hits=1, right=1)


def test_precision_recall_and_f1() -> None:
    counts = Counts(hits=3, misses=1, false=2, right=4)
    assert counts.precision == pytest.approx(4 / 6) and counts.recall == pytest.approx(3 / 4)
    assert counts.f1 == pytest.approx(2 * (4 / 6) * (3 / 4) / (4 / 6 + 3 / 4))
    assert Counts(misses=2).f1 == 0.0 and np.isnan(Counts().f1)


def test_small_helpers() -> None:
    assert runs_of([1, 2, 5, 7, 8, 9]) == [[1, 2], [5], [7, 8, 9]]
    assert in_deviations([1.0, 0.8], [0.7, 0.5], floor=0.01) == pytest.approx(3.0)  # falls 0.3, SD 0.1
    assert in_deviations([1.0, 1.0], [0.9, 0.9], floor=0.05) == pytest.approx(2.0)
    moving = type("Clip", (), {"amplitude": 0.2})()
    assert amplitude_error(moving, 0.17) == pytest.approx(-0.15)
