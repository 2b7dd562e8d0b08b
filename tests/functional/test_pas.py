"""PAS against naive second implementations, invariances, and the camera estimated from the background."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.functional import perceptible_amplitude_score
from vmmetrics.functional.pas import estimate_camera, frame_amplitude_score, project

SIZE = (640, 480)


def _reference_path_length(tracks, size):
    """Sum of step lengths of each point, in diagonals, averaged over points; NaN without one."""
    paths = []
    for n in range(tracks.shape[1]):
        steps = [math.dist(tracks[t + 1, n], tracks[t, n]) for t in range(len(tracks) - 1)]
        paths.append(sum(steps) / math.hypot(*size))
    return sum(paths) / len(paths) if paths else math.nan


def _reference_vmbench(subject, background, size):
    of_background = math.nan if background is None else _reference_path_length(background, size)
    of_subject = math.nan if subject is None else _reference_path_length(subject, size)
    if of_subject > of_background:
        return of_subject - of_background
    return of_background if math.isnan(of_subject) else of_subject


def _reference_amplitude(tracks, visible, camera, fps, size):
    """Per step the mean over points visible at both ends of |x' − H x| · fps / diagonal; NaN where there is none."""
    amplitude = []
    for t in range(len(tracks) - 1):
        lengths = []
        for n in range(tracks.shape[1]):
            if visible[t, n] and visible[t + 1, n]:
                u, v, w = camera[t] @ [*tracks[t, n], 1.0]
                lengths.append(math.dist(tracks[t + 1, n], (u / w, v / w)) * fps / math.hypot(*size))
        amplitude.append(sum(lengths) / len(lengths) if lengths else math.nan)
    return np.array(amplitude)


@st.composite
def _track_set(draw, num_frames):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.sampled_from([0, 1, 3, 20]))
    step = draw(st.sampled_from([0.0, 1.0, 30.0]))
    moves = rng.normal(0, step, (num_frames, count, 2)).cumsum(axis=0)
    return (rng.uniform(0, 480, (1, count, 2)) + moves).astype(np.float32)


@st.composite
def _clip(draw):
    num_frames = draw(st.integers(1, 20))
    return [draw(st.one_of(st.none(), _track_set(num_frames))) for _ in range(2)]


@settings(max_examples=100)
@given(_clip())
def test_vmbench_equals_reference(sets):
    subject, background = sets
    expected = _reference_vmbench(subject, background, SIZE)
    if math.isnan(expected):
        with pytest.raises(ValueError, match=r"Expected .* but got"):
            perceptible_amplitude_score(subject, background, SIZE, protocol="vmbench")
        return
    score = perceptible_amplitude_score(subject, background, SIZE, protocol="vmbench").score
    # float32 carries 6e-8 of each amplitude into their difference
    scale = max(_reference_path_length(s, SIZE) for s in sets if s is not None and s.shape[1])
    assert score == pytest.approx(expected, rel=1e-6, abs=5e-7 * scale)


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.integers(2, 12), st.integers(1, 10))
def test_default_equals_reference(seed, num_frames, count):
    rng = np.random.default_rng(seed)
    tracks = rng.uniform(0, 480, (num_frames, count, 2))
    visible = rng.random((num_frames, count)) < 0.6
    camera = np.eye(3) + rng.normal(0, 1, (num_frames - 1, 3, 3)) * [[0.01, 0.01, 5], [0.01, 0.01, 5], [1e-5, 1e-5, 0]]
    expected = _reference_amplitude(tracks, visible, camera, 12.0, SIZE)
    result = perceptible_amplitude_score(tracks, None, SIZE, subject_visibility=visible, camera=camera, fps=12.0)
    if np.isnan(expected).all():
        assert result.missing and result.amplitude is None
        return
    np.testing.assert_allclose(result.series["amplitude"][:-1], expected, rtol=1e-9)
    assert result.amplitude == pytest.approx(np.nanmean(expected), rel=1e-9)
    ratio = np.minimum(expected / result.series["threshold"][:-1], 1)
    assert result.score == pytest.approx(np.nanmean(ratio), rel=1e-9)


def _moving_disc(num_frames, fps, size, speed):
    """A cluster circling at ``speed`` diagonals per second, over a background seen by a panning, zooming camera."""
    rng = np.random.default_rng(3)
    seconds = np.arange(num_frames) / fps
    diagonal = math.hypot(*size)
    radius = 0.1 * diagonal
    angle = speed * diagonal / radius * seconds
    centre = np.asarray(size) / 2 + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    disc = centre[:, None] + rng.normal(0, 0.02 * diagonal, (1, 40, 2))
    ground = np.tile(rng.uniform(0, 1, (1, 300, 2)) * size, (num_frames, 1, 1))
    pan, zoom = np.array([0.05, 0.02]) * diagonal * seconds[:, None], np.exp(0.05 * seconds)
    view = lambda xy: (xy - np.asarray(size) / 2) * zoom[:, None, None] + np.asarray(size) / 2 + pan[:, None]  # noqa: E731
    return view(disc), view(ground)


@pytest.mark.parametrize("speed", [0.02, 0.1, 0.3])
def test_camera_is_taken_out(speed):
    subject, background = _moving_disc(49, 24.0, SIZE, speed)
    result = perceptible_amplitude_score(subject, background, SIZE, fps=24.0)
    # the zoom, up to e^0.1, enlarges the disc's own motion with the picture
    assert result.amplitude == pytest.approx(speed, rel=0.1)


def test_no_dependence_on_length_rate_or_resolution():
    base = perceptible_amplitude_score(*_moving_disc(49, 24.0, SIZE, 0.1), SIZE, fps=24.0).score
    longer = perceptible_amplitude_score(*_moving_disc(97, 24.0, SIZE, 0.1), SIZE, fps=24.0).score
    halved = perceptible_amplitude_score(*_moving_disc(25, 12.0, SIZE, 0.1), SIZE, fps=12.0).score
    large = perceptible_amplitude_score(*_moving_disc(49, 24.0, (1280, 960), 0.1), (1280, 960), fps=24.0).score
    assert longer == pytest.approx(base, rel=0.1)
    assert halved == pytest.approx(base, rel=0.02)
    assert large == pytest.approx(base, rel=1e-3)


def test_subject_of_the_background_does_not_move():
    _, background = _moving_disc(49, 24.0, SIZE, 0.1)
    noise = np.random.default_rng(0).normal(0, 0.03, (49, 30, 2))
    assert perceptible_amplitude_score(background[:, :30] + noise, background, SIZE, fps=24.0).score < 0.02


def test_camera_estimate_withstands_outliers():
    rng = np.random.default_rng(1)
    homography = np.array([[1.02, -0.03, 6.0], [0.03, 1.02, -4.0], [1e-5, -2e-5, 1.0]])
    points = rng.uniform(0, 1, (200, 2)) * SIZE
    moved = project(homography, points) + rng.normal(0, 0.1, (200, 2))
    moved[:60] += [25.0, 10.0]  # 30 % on a moving object
    found, known = estimate_camera(np.stack([points, moved]), np.ones((2, 200), bool))
    assert known.all()
    assert np.abs(project(found[0], points) - project(homography, points)).max() < 0.3


def test_few_background_points_give_a_translation():
    tracks = np.array([[[0.0, 0.0], [10.0, 0.0]], [[3.0, 1.0], [13.0, 1.0]]])
    found, _ = estimate_camera(tracks, np.ones((2, 2), bool))
    np.testing.assert_allclose(found[0], [[1, 0, 3], [0, 1, 1], [0, 0, 1]], atol=1e-12)


def test_missing_is_not_zero():
    tracks = np.zeros((3, 2, 2))
    nothing = perceptible_amplitude_score(None, tracks, SIZE, fps=8)
    assert nothing.score == 0.0 and nothing.amplitude == 0.0 and nothing.events[0].reason == "nothing moves"
    assert perceptible_amplitude_score(np.zeros((3, 0, 2)), tracks, SIZE, fps=8).score == 0.0
    still = perceptible_amplitude_score(tracks, tracks, SIZE, fps=8)
    assert still.score == 0.0 and still.events
    assert perceptible_amplitude_score(tracks[:1], tracks[:1], SIZE, fps=8).missing
    unseen = np.array([[True, False], [False, True], [True, False]])
    assert perceptible_amplitude_score(tracks, None, SIZE, subject_visibility=unseen, fps=8).missing


T3 = np.zeros((3, 2, 2))


@pytest.mark.parametrize("protocol", ["vmmetrics", "vmbench"])
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((np.zeros((3, 2)), None, SIZE), {}),
        ((np.full((3, 2, 2), np.nan), None, SIZE), {}),
        ((np.zeros((0, 2, 2)), None, SIZE), {}),
        ((T3, np.zeros((4, 2, 2)), SIZE), {}),
        ((T3, None, (0, 5)), {}),
        ((T3, None, SIZE), {"subject_visibility": np.ones((3, 3), bool)}),
        ((T3, None, SIZE), {"subject_visibility": np.ones((3, 2))}),
        ((T3, None, SIZE), {"background_visibility": np.ones((3, 2), bool)}),
        ((T3, None, SIZE), {"camera": np.zeros((2, 3, 3))}),
        ((T3, None, SIZE), {"camera": np.tile(np.eye(3), (3, 1, 1))}),
        ((T3, None, SIZE), {"fps": 0.0}),
    ],
)
def test_refuses(args, kwargs, protocol):
    with pytest.raises(ValueError, match=r"Expected .* but got"):
        perceptible_amplitude_score(*args, **{"fps": 8.0, **kwargs}, protocol=protocol)


def test_asks_for_fps():
    with pytest.raises(ValueError, match=r"Expected fps"):
        perceptible_amplitude_score(T3, None, SIZE)
    with pytest.raises(ValueError, match=r"Expected protocol"):
        perceptible_amplitude_score(T3, None, SIZE, fps=8, protocol="paper")


STILL = np.tile(np.eye(3), (6, 1, 1))


@pytest.mark.parametrize("share", [0.01, 0.025, 0.05, 0.4, 1.0])
def test_motion_of_the_frame_counts_in_full_from_a_twentieth_of_it_on(share):
    own = np.zeros((6, 200))
    own[:, : round(200 * share)] = 8.0
    result = frame_amplitude_score(own, np.zeros((6, 200), bool), STILL, SIZE, fps=12)
    speed = 8 * 12 / 800
    assert result.amplitude == pytest.approx(speed * min(1, share / 0.05))
    assert result.score == pytest.approx(result.amplitude / 0.15)
    np.testing.assert_allclose(result.series["amplitude"][:-1], result.amplitude)


def test_plain_points_are_not_asked_and_lost_ones_count_as_moving_without_a_speed():
    own = np.full((6, 200), np.nan)
    own[:, :50] = 0.0
    own[:, :4] = 8.0
    lost = np.zeros((6, 200), bool)
    alone = frame_amplitude_score(own, lost, STILL, SIZE, fps=12)
    assert alone.amplitude == pytest.approx(8 * 12 / 800 * 4 / 200 / 0.05)
    lost[:, 100:120] = True
    assert frame_amplitude_score(own, lost, STILL, SIZE, fps=12).amplitude == pytest.approx(8 * 12 / 800)


def test_a_step_that_is_not_followed_is_not_measured_and_a_clip_of_them_is_missing():
    own, lost = np.full((6, 200), 8.0), np.zeros((6, 200), bool)
    own[2], lost[2] = np.nan, True
    result = frame_amplitude_score(own, lost, STILL, SIZE, fps=12)
    assert np.flatnonzero(np.isnan(result.series["amplitude"])).tolist() == [2, 6]
    own[:, 10:], lost[:, 10:] = np.nan, True
    assert frame_amplitude_score(own, lost, STILL, SIZE, fps=12).score is None


def test_a_plain_frame_has_no_motion():
    result = frame_amplitude_score(np.full((6, 200), np.nan), np.zeros((6, 200), bool), STILL, SIZE, fps=12)
    assert (result.score, result.events[0].reason) == (0.0, "nothing moves")


@pytest.mark.parametrize(
    ("own", "lost", "fps"),
    [(np.zeros(6), np.zeros(6, bool), 8), (np.zeros((6, 4)), np.zeros((6, 3), bool), 8), (np.zeros((6, 4)), None, 0)],
)
def test_bad_frame_motion_is_refused(own, lost, fps):
    with pytest.raises(ValueError, match="Expected"):
        frame_amplitude_score(own, np.zeros((6, 4), bool) if lost is None else lost, STILL, SIZE, fps=fps)
