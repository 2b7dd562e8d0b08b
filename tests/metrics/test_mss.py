from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from vmmetrics.metrics import mss
from vmmetrics.types import AmplitudeResult

STEADY = [0.8] * 10


def scene_of(quality: list[float], unsteadiness: list[float] | None = None) -> SimpleNamespace:
    models = SimpleNamespace(released=None)
    return SimpleNamespace(clip=quality, quality=np.array(quality), models=models, unsteadiness=unsteadiness)


def test_a_drop_costs_one_frame():
    threshold = mss.EMBEDDED_THRESHOLDS.unknown_amplitude
    quality = [*STEADY, 0.8 - threshold - 0.01, *STEADY[:9]]
    result = mss.measure(scene_of(quality), "vmmetrics", None)
    assert result.score == pytest.approx(0.95)
    assert [event.frames for event in result.events] == [(10,)]
    assert result.events[0].threshold == threshold


def test_a_glitch_of_three_frames_costs_one_and_names_them_all():
    quality = [*STEADY, 0.3, 0.35, 0.3, *STEADY[:7]]
    result = mss.measure(scene_of(quality), "vmmetrics", None)
    assert result.score == pytest.approx(0.95)
    assert [event.frames for event in result.events] == [(10, 11, 12)]


def test_a_lasting_loss_names_the_frame_it_begins_in():
    result = mss.measure(scene_of([*STEADY, *[0.3] * 10]), "vmmetrics", None)
    assert [event.frames for event in result.events] == [(10,)]


def test_a_drop_within_the_threshold_costs_nothing():
    quality = [*STEADY, 0.8 - mss.EMBEDDED_THRESHOLDS.unknown_amplitude + 0.01]
    assert mss.measure(scene_of(quality), "vmmetrics", None).score == 1.0


@pytest.mark.parametrize("row", range(len(mss.EMBEDDED_THRESHOLDS.thresholds)))
def test_the_amplitude_chooses_the_threshold(row):
    table = mss.EMBEDDED_THRESHOLDS
    amplitude = (0.0, *table.amplitude_bounds)[row]
    quality = [*STEADY, 0.8 - table.thresholds[row] - 0.01]
    events = mss.measure(scene_of(quality), "vmmetrics", AmplitudeResult(0.5, amplitude=amplitude)).events
    assert [event.threshold for event in events] == [table.thresholds[row]]


def test_vmbench_flags_both_frames_of_a_jump():
    result = mss.measure(scene_of([*STEADY, 0.3, *STEADY]), "vmbench", AmplitudeResult(0.5, amplitude=5.0))
    assert [event.frames[0] for event in result.events] == [9, 10, 11]


def test_one_frame_has_no_smoothness():
    result = mss.measure(scene_of([0.8]), "vmbench", None)
    assert result.score is None
    assert "one frame" in result.missing


def test_what_is_unsteady_throughout_is_not_smooth():
    steady = mss.measure(scene_of(STEADY, [0.0] * 10), "vmmetrics", None)
    unsteady = mss.measure(scene_of(STEADY, [0.4] * 10), "vmmetrics", None)
    assert steady.score == 1.0
    assert unsteady.score == pytest.approx(1 - 0.4**2)
    assert unsteady.events == ()
    assert unsteady.series["unsteadiness"].tolist() == [0.4] * 10


def test_the_released_rule_knows_no_unsteadiness():
    assert mss.measure(scene_of(STEADY, [0.4] * 10), "vmbench", None).score == 1.0
