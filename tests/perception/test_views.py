"""Views against the numbers of the released code's test mode, worked by hand, and against a naive second way."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vmmetrics.perception.views import IMAGENET_MEAN, IMAGENET_STD, Viewer, ViewPlan

PLAN = ViewPlan()


def starts(num_frames: int) -> list[int]:
    return [view.frames[0] for view in PLAN.views(num_frames, 480, 720)[::3]]


def test_a_short_clip_repeats_its_last_sampled_frame():
    # 49 frames: 0, 4, ..., 48 are 13 samples; three more times 48
    frames = PLAN.views(49, 480, 720)[0].frames
    assert frames == (0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 48, 48, 48)
    assert starts(49) == [0] * 10
    assert PLAN.views(1, 480, 720)[0].frames == (0,) * 16


@pytest.mark.parametrize(("num_frames", "distinct"), [(49, 1), (64, 1), (65, 2), (81, 6), (93, 9), (97, 10), (200, 10)])
def test_distinct_stretches(num_frames: int, distinct: int):
    assert len(set(starts(num_frames))) == distinct


def test_starts_are_truncated_steps():
    # 81 frames give 21 samples, so 5 to move by: steps of 5/9, truncated; in frames four times that
    assert starts(81) == [0, 0, 4, 4, 8, 8, 12, 12, 16, 20]


@pytest.mark.parametrize(
    ("height", "width", "resized", "offsets"),
    [
        (480, 720, (224, 336), [0, 56, 112]),
        (720, 1280, (224, 398), [0, 87, 174]),
        (480, 848, (224, 395), [0, 85, 171]),
        (720, 480, (336, 224), [0, 56, 112]),
        (300, 300, (224, 224), [0, 0, 0]),
    ],
)
def test_crops_along_the_longer_side(height: int, width: int, resized: tuple[int, int], offsets: list[int]):
    assert PLAN.resized(height, width) == resized
    views = PLAN.views(49, height, width)[:3]
    assert [view.top if height >= width else view.left for view in views] == offsets
    assert all((view.left if height >= width else view.top) == 0 for view in views)


def test_order_is_segment_then_crop():
    views = PLAN.views(97, 480, 720)
    assert len(views) == 30
    assert [(v.frames[0], v.left) for v in views[:4]] == [(0, 0), (0, 56), (0, 112), (4, 0)]


def test_one_view_lies_in_the_middle():
    plan = ViewPlan(frames=4, rate=2, segments=1, crops=1, size=32)
    (view,) = plan.views(20, 32, 64)  # ten samples, six to move by; 32 pixels to move by
    assert view.frames == (6, 8, 10, 12)
    assert (view.top, view.left) == (0, 16)


def test_pixels_equal_a_naive_computation():
    frames = np.random.default_rng(3).integers(0, 256, (70, 40, 90, 3), dtype=np.uint8)
    plan = ViewPlan(frames=4, rate=4, segments=10, crops=3, size=32)
    viewer = Viewer(frames, plan)
    for view in plan.views(*frames.shape[:3])[::4]:
        expected = np.empty((3, 4, 32, 32))
        for t, index in enumerate(view.frames):
            small = cv2.resize(frames[index], (int(32 * 90 / 40), 32), interpolation=cv2.INTER_LINEAR)
            crop = small[view.top : view.top + 32, view.left : view.left + 32]
            for c in range(3):
                expected[c, t] = (crop[..., c] / 255 - IMAGENET_MEAN[c]) / IMAGENET_STD[c]
        np.testing.assert_allclose(viewer.cut(view), expected, atol=1e-6)


def test_a_clip_of_the_right_size_is_not_resampled():
    frames = np.random.default_rng(4).integers(0, 256, (3, 32, 48, 3), dtype=np.uint8)
    plan = ViewPlan(frames=2, rate=1, segments=1, crops=3, size=32)
    cut = Viewer(frames, plan).cut(plan.views(3, 32, 48)[0])
    pixels = cut.transpose(1, 2, 3, 0) * IMAGENET_STD + IMAGENET_MEAN
    np.testing.assert_allclose(pixels * 255, frames[:2, :, :32], atol=1e-3)


def test_each_frame_is_resized_once(monkeypatch: pytest.MonkeyPatch):
    from vmmetrics.perception import views as module

    count = []
    resize = module.resize
    monkeypatch.setattr(module, "resize", lambda frame, size: count.append(1) or resize(frame, size))
    frames = np.zeros((97, 40, 60, 3), np.uint8)
    plan = ViewPlan(size=32)
    viewer = Viewer(frames, plan)
    for view in plan.views(97, 40, 60):
        viewer.cut(view)
    assert len(count) == 25


def test_refuses_nothing_to_see():
    with pytest.raises(ValueError, match="positive"):
        ViewPlan(segments=0)
