from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.alignment.baselines.formulas import (
    HOME,
    flow_magnitude,
    forward_backward_error,
    track_survival,
    warping_error,
)
from vmmetrics.alignment.baselines.suite import BaselineSuite

SIZE = (60, 80)  # height and width of a diagonal of 100


def uniform(x: float, y: float, pairs: int = 2) -> np.ndarray:
    return np.tile(np.array([x, y], np.float32), (pairs, *SIZE, 1))


def test_magnitude_by_hand():
    assert flow_magnitude(uniform(3, 4), np.array([0, 0.1, 0.2])) == pytest.approx(0.5)  # 5 % of the diagonal, 10 fps
    uneven = np.concatenate([uniform(3, 4, 1), uniform(0, 0, 1)])
    assert flow_magnitude(uneven, np.array([0, 0.1, 0.5])) == pytest.approx(0.05 / 0.5)


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6), st.floats(0.1, 3.0))
def test_magnitude_of_steady_motion_does_not_depend_on_when_frames_were_taken(gaps, speed):
    """Speed in diagonals per second stays what it is under any frame rate, even an uneven one."""
    times = np.append(0, np.cumsum(gaps))
    flows = np.concatenate([uniform(100 * speed * gap, 0, 1) for gap in gaps])
    assert flow_magnitude(flows, times) == pytest.approx(speed, rel=1e-5)


def test_magnitude_needs_a_flow():
    with pytest.raises(ValueError, match="one time more"):
        flow_magnitude(uniform(1, 1, 0), np.array([0.0]))


def test_warping_error_by_hand():
    rng = np.random.default_rng(1)
    first = rng.integers(0, 200, (*SIZE, 3)).astype(np.uint8)
    second = np.roll(first, (2, 3), (0, 1)) + np.uint8(51)  # moved by x 3, y 2, and a fifth of the range brighter
    frames = np.stack([first, second])
    valid = np.zeros((1, *SIZE), np.bool_)
    valid[0, :-2, :-3] = True
    assert warping_error(frames, uniform(3, 2, 1), valid) == pytest.approx(0.04)
    assert warping_error(frames - np.array([0, 51], np.uint8)[:, None, None, None], uniform(3, 2, 1), valid) == 0


def test_warping_error_counts_valid_pixels_only():
    frames = np.zeros((3, *SIZE, 3), np.uint8)
    frames[1, 0, 0] = (255, 0, 0)
    valid = np.ones((2, *SIZE), np.bool_)
    valid[1] = False  # a pair that the flow cannot follow is left out
    assert warping_error(frames, uniform(0, 0), valid) == pytest.approx(1 / 3 / (60 * 80))
    valid[0, 0, 0] = False
    assert warping_error(frames, uniform(0, 0), valid) == 0
    assert warping_error(frames, uniform(0, 0), np.zeros_like(valid)) is None


def test_forward_backward_error_by_hand():
    assert forward_backward_error(uniform(2, 1), uniform(-2, -1)) == 0
    assert forward_backward_error(uniform(2, 1), uniform(-2, -0.5)) == pytest.approx(1000 * 0.5 / 100)
    assert forward_backward_error(uniform(200, 0), uniform(-200, 0)) is None


def test_survival_by_hand():
    everywhere = np.ones((3, *SIZE), np.bool_)
    assert track_survival(uniform(1, 0, 3), uniform(-1, 0, 3), everywhere, everywhere) == 1
    half = everywhere.copy()
    half[1, :, :40] = False  # points grid columns 4..36 are there in frame 0, 5..37 in frame 1: half of them
    assert track_survival(uniform(1, 0, 3), uniform(-1, 0, 3), half, everywhere) == 0.5
    assert track_survival(uniform(1, 0, 3), uniform(-1, 0, 3), everywhere, half) == 0.5
    drift = HOME * 100 / 3  # what each way back may miss by in three steps
    assert track_survival(uniform(1, 0, 3), uniform(-1 + 0.9 * drift, 0, 3), everywhere, everywhere) == 1
    assert track_survival(uniform(1, 0, 3), uniform(-1 + 1.1 * drift, 0, 3), everywhere, everywhere) == 0


@pytest.mark.parametrize("step", [(3, -2), (1, 0), (-4, 3)])
def test_known_motion_is_found(translated, step):
    """A texture that moves by whole pixels at 8 frames per second."""
    scores = BaselineSuite().score_clip(translated(5, step), fps=8, layout="THWC").scores
    speed = np.hypot(*step) / np.hypot(192, 144) * 8
    assert scores["flow_magnitude"] == pytest.approx(speed, rel=0.1)
    assert scores["warping_error"] < 2e-4
    assert scores["forward_backward_error"] < 1
    left = (1 - 4 * abs(step[0]) / 192) * (1 - 4 * abs(step[1]) / 144)  # what stays in the picture
    assert scores["track_survival"] == pytest.approx(left, abs=0.08)


def test_a_wobbling_clip_is_worse_in_every_respect(translated):
    """All but the magnitude of motion, and the statistics of natural scenes, which the texture is none of."""
    smooth = translated(6, (1, 0))
    rng = np.random.default_rng(3)
    wobble = np.stack([np.roll(f, rng.integers(-6, 7, 2), (0, 1)) for f in smooth])
    wobble = np.clip(wobble + rng.normal(0, 20, wobble.shape), 0, 255).astype(np.uint8)
    suite = BaselineSuite()
    good, bad = (suite.score_clip(clip, fps=8, layout="THWC").scores for clip in (smooth, wobble))
    for name, part in suite.parts.items():
        if name not in ("flow_magnitude", "brisque", "niqe"):
            assert (bad[name] > good[name]) == part["lower_is_better"], name
