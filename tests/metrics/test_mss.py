from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from vmmetrics.metrics import mss
from vmmetrics.types import AmplitudeResult

STEADY = [0.8] * 10


class Frames:
    fps = 10.0

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count


def scene_of(quality: list[float], unsteadiness: list[float] | None = None, speed: float = 0.0) -> SimpleNamespace:
    models = SimpleNamespace(released=None)
    count = len(quality)
    flow = SimpleNamespace(images=np.zeros((count, 30, 40)), forward=np.full((count - 1, 30, 40, 2), [speed, 0.0]))
    values = None if unsteadiness is None else np.array(unsteadiness)
    return SimpleNamespace(clip=Frames(count), quality=np.array(quality), models=models, unsteadiness=values, flow=flow)


def test_a_drop_costs_one_frame():
    threshold = mss.DROP * 0.8
    quality = [*STEADY, 0.8 - threshold - 0.01, *STEADY[:9]]
    result = mss.measure(scene_of(quality), "vmmetrics", None)
    assert result.score == pytest.approx(0.95)
    assert [event.frames for event in result.events] == [(10,)]
    assert result.events[0].threshold == pytest.approx(threshold)


def test_a_glitch_of_three_frames_costs_one_and_names_them_all():
    quality = [*STEADY, 0.3, 0.35, 0.3, *STEADY[:7]]
    result = mss.measure(scene_of(quality), "vmmetrics", None)
    assert result.score == pytest.approx(0.95)
    assert [event.frames for event in result.events] == [(10, 11, 12)]


def test_a_lasting_loss_names_the_frame_it_begins_in():
    result = mss.measure(scene_of([*STEADY, *[0.3] * 10]), "vmmetrics", None)
    assert [event.frames for event in result.events] == [(10,)]


def test_a_drop_within_the_threshold_costs_nothing():
    quality = [*STEADY, 0.8 - mss.DROP * 0.8 + 0.01]
    assert mss.measure(scene_of(quality), "vmmetrics", None).score == 1.0


def test_vmbench_keeps_an_absolute_threshold():
    kept, flagged = ([*STEADY, 0.8 - drop] for drop in (0.149, 0.151))
    assert mss.measure(scene_of(kept), "vmbench", None).events == ()
    assert len(mss.measure(scene_of(flagged), "vmbench", AmplitudeResult(0.5, amplitude=5.0)).events) == 2


def test_vmbench_flags_both_frames_of_a_jump():
    result = mss.measure(scene_of([*STEADY, 0.3, *STEADY]), "vmbench", AmplitudeResult(0.5, amplitude=5.0))
    assert [event.frames[0] for event in result.events] == [9, 10, 11]


def test_one_frame_has_no_smoothness():
    result = mss.measure(scene_of([0.8]), "vmbench", None)
    assert result.score is None
    assert "one frame" in result.missing


def test_unsteadiness_counts_beyond_that_of_clean_footage_at_the_same_pace():
    # 5 pixels a frame at 10 frames per second in frames of 50 pixels' diagonal: 1 diagonal per second
    for speed, pace in ((0.0, 0.0), (5.0, 1.0)):
        expected = mss.EXPECTED[0] + mss.EXPECTED[1] * np.log(0.1 + pace)
        usual = mss.measure(scene_of(STEADY, [expected] * 10, speed), "vmmetrics", None)
        beyond = mss.measure(scene_of(STEADY, [expected + 0.1] * 10, speed), "vmmetrics", None)
        assert usual.score == pytest.approx(1.0)
        assert beyond.score == pytest.approx(1 - (0.1 / mss.FULLY_UNSTEADY) ** 2)
        assert beyond.events == ()


def test_the_same_unsteadiness_costs_less_where_more_moves():
    slow, fast = (mss.measure(scene_of(STEADY, [0.4] * 10, speed), "vmmetrics", None) for speed in (0.5, 2.0))
    assert slow.score < fast.score < 1


def test_the_released_rule_knows_no_unsteadiness():
    assert mss.measure(scene_of(STEADY, [0.4] * 10), "vmbench", None).score == 1.0
