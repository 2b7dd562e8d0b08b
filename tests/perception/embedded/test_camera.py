from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.clip import Clip
from vmmetrics.perception.embedded.camera import affine_through, apply, fit, fit_similarity, rescale

GRID = np.stack(np.meshgrid(np.linspace(0, 319, 7), np.linspace(0, 239, 6)), -1).reshape(-1, 2)


def about_centre(model: np.ndarray) -> np.ndarray:
    there = np.array([[1, 0, 159.5], [0, 1, 119.5], [0, 0, 1.0]])
    return there @ model @ np.linalg.inv(there)


def turn(degrees: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return about_centre(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]))


STEPS = {
    "slow pan": np.array([[1, 0, 1.5], [0, 1, 0.4], [0, 0, 1.0]]),
    "fast pan": np.array([[1, 0, 30.0], [0, 1, 0.0], [0, 0, 1.0]]),
    "zoom": about_centre(np.diag([1.02, 1.02, 1.0])),
    "rotation": turn(1.0),
    "tilting plane": about_centre(np.array([[1, 0, 1.0], [0, 1, 0.5], [1e-4, 5e-5, 1.0]])),
}


def worst_error(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.hypot(*(apply(found, GRID) - apply(true, GRID)).T).max())


@pytest.mark.parametrize("name", STEPS)
def test_camera_motion_is_found_under_a_moving_subject(name, drawn, moving_views, scene_of):
    views = moving_views(STEPS[name], 4)
    clip = drawn(views, lambda t: (130.0 + 7 * t, 120.0), radius=60)
    camera = scene_of(clip).camera
    for found in camera.homographies:
        assert worst_error(found, STEPS[name]) < 0.5
    assert camera.inliers.min() > 0.5
    assert "unknown" not in camera.kinds


def test_a_subject_over_half_of_the_frame_does_not_pass_for_the_camera(drawn, moving_views, scene_of):
    # A disc of radius 108 covers 48 % of the frame.
    clip = drawn(moving_views(STEPS["slow pan"], 6), lambda t: (150.0 - 3 * t, 120.0), radius=108)
    for found in scene_of(clip).camera.homographies:
        assert worst_error(found, STEPS["slow pan"]) < 0.5


def test_a_still_camera_is_exactly_still(drawn, moving_views, scene_of):
    clip = drawn(moving_views(np.eye(3), 5), lambda t: (100.0 + 8 * t, 120.0), noise=4.0)
    camera = scene_of(clip).camera
    assert camera.kinds == ("still",) * 4
    np.testing.assert_array_equal(camera.homographies, np.tile(np.eye(3), (4, 1, 1)))


def test_a_cut_is_unknown_and_the_rest_is_not(drawn, moving_views, scene_of):
    first, second = (drawn(moving_views(STEPS["slow pan"], 3), seed=seed).frames for seed in (0, 1))
    camera = scene_of(Clip(np.concatenate([first, second]), np.arange(6) / 8, 8.0)).camera
    assert [kind == "unknown" for kind in camera.kinds] == [False, False, True, False, False]
    np.testing.assert_array_equal(camera.homographies[2], np.eye(3))


def test_plain_frames_stand_still(scene_of):
    frames = np.full((4, 120, 160, 3), 90, np.uint8)
    camera = scene_of(Clip(frames, np.arange(4) / 8, 8.0)).camera
    assert camera.kinds == ("still",) * 3


def test_one_frame_has_no_camera_motion(drawn, moving_views, scene_of):
    camera = scene_of(drawn(moving_views(np.eye(3), 1))).camera
    assert camera.homographies.shape == (0, 3, 3)
    assert camera.kinds == ()


def test_a_shot_twice_the_size_moves_twice_as_far(drawn, moving_views, scene_of):
    small = scene_of(drawn(moving_views(STEPS["slow pan"], 3), size=(384, 256))).camera
    step = STEPS["slow pan"].copy()
    step[:2, 2] *= 2
    large = scene_of(drawn(moving_views(step, 3), size=(768, 512))).camera
    np.testing.assert_allclose(small.homographies[:, :2, 2], [[1.5, 0.4]] * 2, atol=0.2)
    np.testing.assert_allclose(large.homographies[:, :2, 2], [[3.0, 0.8]] * 2, atol=0.3)


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_fits_recover_exact_models(seed):
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 300, (40, 2))
    model = np.eye(3)
    model[:2] += rng.normal(size=(2, 3)) * [[0.02, 0.02, 5]] * 2
    weights = rng.uniform(0.1, 1, 40)
    np.testing.assert_allclose(fit("affine", points, apply(model, points), weights), model, atol=1e-3)
    model[2, :2] = rng.normal(size=2) * 1e-4
    gap = apply(fit("homography", points, apply(model, points), weights), points) - apply(model, points)
    assert np.abs(gap).max() < 0.02


def test_affine_through_three_points_and_not_through_a_line():
    triplets = np.array([[[0, 0], [10, 0], [0, 10]], [[0, 0], [5, 5], [10, 10]]], np.float64)
    targets = triplets * 2 + [1, 3]
    models = affine_through(triplets, targets)
    np.testing.assert_allclose(models, [[[2, 0, 1], [0, 2, 3], [0, 0, 1]]], atol=1e-9)


def test_similarity_ignores_a_third_of_wrong_points():
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 100, (30, 2))
    model = np.array([[1.02, -0.05, 3.0], [0.05, 1.02, -2.0], [0, 0, 1.0]])
    targets = apply(model, points)
    targets[:10] = points[:10]
    np.testing.assert_allclose(apply(fit_similarity(points, targets, 0.5), points), apply(model, points), atol=0.3)


def test_rescaling_keeps_pixel_centres():
    scale = (2.0, 1.5)
    model = np.array([[1.1, 0.02, 3.0], [-0.03, 0.95, 1.0], [1e-4, 2e-4, 1.0]])
    working = np.array([[0.0, 0.0], [10.0, 30.0], [99.0, 50.0]])
    clip = (working + 0.5) * scale - 0.5
    expected = (apply(model, working) + 0.5) * scale - 0.5
    np.testing.assert_allclose(apply(rescale(model, scale), clip), expected)
