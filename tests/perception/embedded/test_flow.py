from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.clip import Clip
from vmmetrics.perception.embedded.flow import working_size


def shift(x: float, y: float) -> np.ndarray:
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1.0]])


@pytest.mark.parametrize(("x", "y"), [(0.5, 0.25), (3.0, -2.0), (14.0, 6.0)])
def test_a_shift_is_found_both_ways(drawn, moving_views, scene_of, x, y):
    flow = scene_of(drawn(moving_views(shift(x, y), 2))).flow
    inner = (slice(30, -30), slice(30, -30))
    np.testing.assert_allclose(np.median(flow.forward[0][inner], (0, 1)), [x, y], atol=0.05)
    np.testing.assert_allclose(np.median(flow.backward[0][inner], (0, 1)), [-x, -y], atol=0.05)
    assert flow.forward_valid[0][inner].mean() > 0.97


def test_flow_is_invalid_where_the_background_gets_covered(drawn, moving_views, scene_of):
    clip = drawn(moving_views(np.eye(3), 2), lambda t: (120.0 + 12 * t, 120.0))
    flow = scene_of(clip).flow
    # Columns right of the disc (edge at 156) are covered in the next frame, those right of x = 175 stay.
    assert flow.forward_valid[0, 115:125, 158:164].mean() < 0.5
    assert flow.forward_valid[0, 100:140, 190:280].mean() > 0.97


def test_points_that_leave_the_frame_are_invalid(drawn, moving_views, scene_of):
    flow = scene_of(drawn(moving_views(shift(10.0, 0.0), 2))).flow
    assert not flow.forward_valid[0, :, -9:].any()
    assert not flow.backward_valid[0, :, :9].any()


def test_larger_clips_are_matched_at_the_working_size(drawn, moving_views, scene_of):
    clip = drawn(moving_views(shift(6.0, 0.0), 2), size=(768, 512))
    flow = scene_of(clip).flow
    assert flow.images.shape == (2, 256, 384)
    assert flow.scale == (2.0, 2.0)
    assert np.median(flow.forward[0, 40:-40, 40:-40, 0]) == pytest.approx(3.0, abs=0.05)


def test_one_frame_has_no_flow(drawn, moving_views, scene_of):
    flow = scene_of(drawn(moving_views(np.eye(3), 1))).flow
    assert flow.forward.shape == (0, 240, 320, 2)
    assert flow.backward_valid.shape == (0, 240, 320)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (16, 16), (64, 48), (37, 91), (1500, 20)])
def test_tiny_and_odd_sizes_work(scene_of, width, height):
    frames = np.random.default_rng(0).integers(0, 256, (3, height, width, 3), np.uint8)
    flow = scene_of(Clip(frames, np.arange(3) / 8, 8.0)).flow
    assert np.isfinite(flow.forward).all()
    assert flow.images.shape[1] * flow.scale[1] == pytest.approx(height)


def test_a_repeated_frame_has_no_motion_at_all(scene_of):
    frames = np.random.default_rng(0).integers(0, 256, (1, 90, 120, 3), np.uint8).repeat(2, 0)
    flow = scene_of(Clip(frames, np.arange(2) / 8, 8.0)).flow
    assert not flow.forward.any()
    assert flow.forward_valid.all()


def test_the_answer_does_not_depend_on_threads(drawn, moving_views, scene_of):
    clip = drawn(moving_views(shift(3.3, -1.2), 3), lambda t: (100.0 + 5 * t, 90.0))
    before = cv2.getNumThreads()
    answers = []
    for threads in (1, 2, 5):
        cv2.setNumThreads(threads)
        answers.append(scene_of(clip).flow)
    cv2.setNumThreads(before)
    for other in answers[1:]:
        np.testing.assert_array_equal(answers[0].forward, other.forward)
        np.testing.assert_array_equal(answers[0].backward_valid, other.backward_valid)


@given(st.integers(1, 8000), st.integers(1, 8000))
def test_working_size_keeps_to_its_bounds(width, height):
    w, h = working_size(width, height)
    assert 48 <= min(w, h) <= 256
    assert max(w, h) <= 1024
    if min(width, height) >= 48 and max(width, height) <= 4 * min(width, height):
        assert w / h == pytest.approx(width / height, rel=0.03)
