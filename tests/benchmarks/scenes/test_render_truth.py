"""The renderer's truth, checked against the rendered pixels and against figures worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from benchmarks.scenes import (
    CameraSpec,
    MotionSpec,
    ObjectSpec,
    SceneSpec,
    SyntheticClip,
    render,
)
from benchmarks.scenes.textures import TextureBank

BANK = TextureBank((), held_out=False)  # procedural: the same with and without footage beside the checkout
SIZE = (240, 160)
MIXED = CameraSpec(pan=(0.12, -0.05), zoom=1.15, rotation=6.0, tilt=(0.08, -0.05), shake=0.004)
PLAIN = SceneSpec("test", SIZE, 9, 8.0, noise=0.0)
MOVER = ObjectSpec("superellipse", 0.2, MotionSpec("oscillating", (0.2, 0.1), 0.1, 4.0, (0.5, 0.5)))


def clip_of(spec: SceneSpec, seed: int = 5) -> SyntheticClip:
    return render(spec, seed, BANK)


@pytest.mark.parametrize("camera", [CameraSpec(), CameraSpec(pan=(0.2, 0.1)), CameraSpec(zoom=0.8), MIXED])
def test_object_is_where_its_trajectory_says(camera: CameraSpec) -> None:
    with_object = clip_of(replace(PLAIN, camera=camera, objects=(MOVER,)))
    without = clip_of(replace(PLAIN, camera=camera))
    thing = with_object.objects[0]
    for t in range(PLAIN.num_frames):
        change = np.abs(with_object.frames[t].astype(int) - without.frames[t]).max(axis=-1) > 24
        change = cv2.morphologyEx(change.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((7, 7))) > 0
        rows, columns = np.nonzero(change)
        # A superellipse is symmetric: the centroid of what changed is its centre, up to texture that matches by chance.
        np.testing.assert_allclose((columns.mean(), rows.mean()), thing.centre[t], atol=1.5)
        mask = with_object.mask(1)[t]
        assert (mask & change).sum() / (mask | change).sum() > 0.9
        np.testing.assert_allclose(thing.points[t].mean(axis=0), thing.centre[t], atol=0.7)
        assert thing.area[t] == mask.sum()
        assert mask.sum() == pytest.approx(thing.whole[t], rel=0.03)


@pytest.mark.parametrize("camera", [CameraSpec(pan=(0.2, 0.1)), CameraSpec(zoom=1.3), CameraSpec(rotation=10), MIXED])
def test_homographies_carry_one_background_into_the_next(camera: CameraSpec) -> None:
    clip = clip_of(replace(PLAIN, camera=camera))
    inner = (slice(30, -30), slice(30, -30))
    shifts = []
    for t, matrix in enumerate(clip.homographies):
        before, after = (cv2.cvtColor(clip.frames[i], cv2.COLOR_RGB2GRAY).astype(np.float32) for i in (t, t + 1))
        carried = cv2.warpPerspective(before, matrix, SIZE, flags=cv2.INTER_CUBIC)
        error = np.abs(carried - after)[inner].mean()
        assert error < 0.2 * np.abs(before - after)[inner].mean()
        # What shift is left, by least squares on carried + gradient · shift = after.
        slope_y, slope_x = np.gradient(carried)
        slopes = np.stack([slope_x[inner].ravel(), slope_y[inner].ravel()], axis=-1)
        shifts.append(np.linalg.lstsq(slopes, (after - carried)[inner].ravel(), rcond=None)[0])
    # OpenCV warps in steps of 1/32 pixel, here and in the renderer, and its cubic kernel is not exact.
    assert np.linalg.norm(shifts, axis=1).max() < 0.1
    assert np.linalg.norm(np.mean(shifts, axis=0)) < 0.04


def test_amplitude_of_straight_motion_is_its_speed_whatever_the_pan() -> None:
    motion = MotionSpec("linear", (0.12, -0.05), 0.1, 4.0, (0.5, 0.5))
    for camera in (CameraSpec(), CameraSpec(pan=(0.15, 0.1), shake=0.0)):
        clip = clip_of(replace(PLAIN, camera=camera, objects=(replace(MOVER, motion=motion),)))
        assert clip.amplitude == pytest.approx(0.13, rel=1e-6)  # 5-12-13


def test_amplitude_under_zoom_is_scaled_by_it() -> None:
    # Speed v in the world is v · z(t+1) on the screen; z = 2^(t/8) from 1 to 2.
    motion = MotionSpec("linear", (0.1, 0.0), 0.1, 4.0, (0.5, 0.5))
    clip = clip_of(replace(PLAIN, camera=CameraSpec(zoom=2.0), objects=(replace(MOVER, radius=0.1, motion=motion),)))
    expected = 0.1 * np.mean(2 ** (np.arange(1, 9) / 8))
    assert clip.amplitude == pytest.approx(expected, rel=1e-6)


def test_amplitude_of_a_spin_follows_from_the_mask() -> None:
    # A point at distance r from the axis moves 2 r sin(ω/2) a frame; the mean of r is taken over the mask's pixels.
    clip = clip_of(replace(PLAIN, objects=(replace(MOVER, motion=MotionSpec(anchor=(0.5, 0.5), spin=80.0)),)))
    rows, columns = np.nonzero(clip.mask(1)[0])
    radius = np.hypot(columns - clip.objects[0].centre[0, 0], rows - clip.objects[0].centre[0, 1]).mean()
    step = 2 * radius * np.sin(np.deg2rad(80.0 / 8) / 2)
    assert clip.amplitude == pytest.approx(step * 8.0 / np.hypot(*SIZE), rel=0.02)


def test_points_follow_the_texture_of_bending_and_jointed_objects() -> None:
    for thing in (replace(MOVER, deform=0.07), ObjectSpec("figure", 0.4, MOVER.motion, swing=25.0)):
        clip = clip_of(replace(PLAIN, size=(480, 320), camera=MIXED, objects=(thing,)))
        grey = [cv2.cvtColor(f, cv2.COLOR_RGB2GRAY) for f in clip.frames[3:5]]
        truth = clip.objects[0]
        seen = truth.visible[3] & truth.visible[4]
        start, end = truth.points[3][seen].astype(np.float32), truth.points[4][seen]
        found = end[:, None].astype(np.float32)
        flags = cv2.OPTFLOW_USE_INITIAL_FLOW
        found, _, _ = cv2.calcOpticalFlowPyrLK(*grey, start[:, None], found, winSize=(13, 13), maxLevel=0, flags=flags)
        error = found[:, 0] - end
        # Half the windows see bending or an edge; a wrong truth would shift or spread all of them.
        assert np.abs(np.median(error, axis=0)).max() < 0.05
        assert np.median(np.linalg.norm(error, axis=1)) < 0.35


def test_a_layer_that_drifts_by_fractions_of_a_pixel_keeps_its_sharpness() -> None:
    drift = 8 * 0.25 / np.hypot(*SIZE)  # a quarter of a pixel a frame
    clip = clip_of(replace(PLAIN, camera=CameraSpec(pan=(drift, drift))))
    inner = clip.frames[:, 10:-10, 10:-10].astype(float).mean(axis=-1)
    energy = (np.diff(inner, axis=2) ** 2).mean(axis=(1, 2))
    assert energy.std() / energy.mean() < 0.02


def test_frame_rate_and_size_leave_the_amplitude_alone() -> None:
    base = replace(PLAIN, num_frames=17, objects=(MOVER,))
    slow = clip_of(base).amplitude
    fine = replace(MOVER, motion=replace(MOVER.motion, anchor_frame=8.0))
    fast = clip_of(replace(base, num_frames=33, fps=16.0, objects=(fine,))).amplitude
    large = clip_of(replace(base, size=(480, 320))).amplitude
    assert fast == pytest.approx(slow, rel=0.03)
    assert large == pytest.approx(slow, rel=0.005)
