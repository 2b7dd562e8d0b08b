"""Textured patches of rendered scenes in which nothing moves by itself: which stay, and why the others do not."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.perception.conftest import draw, views_of
from vmmetrics.clip import Clip
from vmmetrics.metrics import tcs
from vmmetrics.perception.embedded.camera import GlobalMotion
from vmmetrics.perception.embedded.flow import DISFlow
from vmmetrics.perception.embedded.tracker import GridTracker
from vmmetrics.perception.scene import Models, Objects, Scene
from vmmetrics.types import MetricResult

STILL = np.eye(3)
PAN = np.array([[1, 0, 5.0], [0, 1, -2.0], [0, 0, 1.0]])
ZOOM = np.array([[1.03, 0, -4.8], [0, 1.03, -3.6], [0, 0, 1.0]])
FRAMES = 20


class Blind:
    """Segments nothing."""

    def segment(self, scene: Scene) -> Objects:
        return Objects(np.zeros((len(scene.clip), 24, 32), np.uint8), (), (10.0, 10.0))


def judged(frames: np.ndarray, fps: float = 8.0) -> MetricResult:
    clip = Clip(frames, np.arange(len(frames)) / fps, fps)
    models = Models(DISFlow(), GlobalMotion(), Blind(), GridTracker(), None, None)  # type: ignore[arg-type]
    return tcs.measure(Scene(clip, models), "vmmetrics")


@pytest.mark.parametrize("step", [STILL, PAN, ZOOM, np.linalg.inv(ZOOM)])
def test_a_scene_that_stays_is_whole_whatever_the_camera_does(step) -> None:
    assert judged(draw(views_of(step, FRAMES)).frames).score == 1.0


@pytest.mark.parametrize("step", [STILL, PAN])
@pytest.mark.parametrize("kind", ["vanished", "appeared"])
def test_a_thing_that_never_moves_is_missed_when_it_goes_and_noticed_when_it_comes(step, kind) -> None:
    change = 9
    frames = draw(views_of(step, FRAMES), lambda t: (130.0, 140.0) if (t < change) == (kind == "vanished") else None)
    result = judged(frames.frames)
    assert result.score is not None and 0.8 < result.score < 1
    faults = [event for event in result.events if event.excuse is None]
    assert faults
    assert f"{kind} without cause" in {event.reason for event in faults}  # and the other of what is behind it
    for event in faults:
        last = change - event.reason.startswith("vanished")
        centre = np.linalg.matrix_power(step, last) @ [130.0, 140.0, 1.0]
        assert event.frames == (change,)
        assert event.box is not None and event.target is not None and event.target.startswith("patch ")
        x0, y0, x1, y1 = event.box
        assert np.hypot((x0 + x1) / 2 - centre[0], (y0 + y1) / 2 - centre[1]) < 36 + (x1 - x0) / 2


@pytest.mark.slow
def test_the_more_of_the_scene_goes_the_lower_the_score() -> None:
    scores = []
    for radius in (30, 60, 90):
        clip = draw(views_of(STILL, FRAMES), lambda t: (160.0, 120.0) if t < 9 else None, radius=radius)
        scores.append(judged(clip.frames).score)
    assert scores[0] > scores[1] > scores[2]


@pytest.mark.slow
def test_light_and_blur_that_change_gradually_are_no_vanishing() -> None:
    frames = draw(views_of(STILL, FRAMES)).frames
    faded = np.stack([frame * 0.95**t for t, frame in enumerate(frames)]).astype(np.uint8)
    assert judged(faded).score == 1.0
    blurred = np.stack([cv2.GaussianBlur(frame, (0, 0), 0.3 + 0.2 * t) for t, frame in enumerate(frames)])
    assert judged(blurred).score == 1.0


def test_what_passes_in_front_hides() -> None:
    clip = draw(views_of(STILL, FRAMES), lambda t: (-40.0 + 14.0 * t, 120.0), radius=40)
    result = judged(clip.frames)
    assert result.score is not None and result.score > 0.95


@pytest.mark.slow
def test_a_cut_between_two_shots_is_no_vanishing_and_one_in_every_frame_is() -> None:
    one, other = (draw(views_of(PAN, FRAMES), seed=seed).frames for seed in (0, 1))
    assert judged(np.concatenate([one[:10], other[10:]])).score == 1.0
    # Every frame a scene of its own but for a strip, so that something can be followed.
    jumbled = np.stack([draw([STILL], seed=seed).frames[0] for seed in range(FRAMES)])
    jumbled[:, 150:] = one[0, 150:]
    result = judged(jumbled)
    assert result.score is not None and result.score < 0.7


def test_noise_and_plain_frames_are_missing_with_a_reason() -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (9, 15, 20, 3)).astype(np.uint8).repeat(16, 1).repeat(16, 2)
    assert "too few points can be tracked" in (judged(noise).missing or "")
    plain = np.full((9, 240, 320, 3), 90, np.uint8) + rng.integers(0, 3, (9, 240, 320, 3)).astype(np.uint8)
    assert "too little texture" in (judged(plain).missing or "")
