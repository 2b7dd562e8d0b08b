"""PAS from pixels, given perfect masks: what remains is flow, camera, tracker and formula."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.perception.conftest import draw, views_of
from vmmetrics.clip import Clip
from vmmetrics.metrics import pas
from vmmetrics.perception.embedded.camera import GlobalMotion
from vmmetrics.perception.embedded.flow import DISFlow
from vmmetrics.perception.embedded.tracker import GridTracker
from vmmetrics.perception.scene import Models, Objects, Scene, SceneObject

DIAGONAL = 400.0  # of 320 x 240
STILL = np.eye(3)
PAN = np.array([[1, 0, 4.0], [0, 1, -1.0], [0, 0, 1.0]])
TURN = np.array([[np.cos(0.02), -np.sin(0.02), 3.2], [np.sin(0.02), np.cos(0.02), -3.1], [0, 0, 1.0]])
TURN_AND_ZOOM = TURN @ np.array([[1.01, 0, -1.6], [0, 1.01, -1.2], [0, 0, 1.0]])


class DiscSegmenter:
    """Says exactly where the disc is."""

    def __init__(self, views, place, radius=36.0):
        self.views, self.place, self.radius = views, place, radius

    def segment(self, scene):
        frames = len(scene.clip)
        y, x = np.mgrid[: scene.clip.height, : scene.clip.width]
        labels = np.zeros((frames, *y.shape), np.uint8)
        for t in range(frames):
            if (at := self.place(t)) is not None:
                centre = self.views[t] @ [*at, 1.0]
                labels[t][np.hypot(x - centre[0] / centre[2], y - centre[1] / centre[2]) < self.radius] = 1
        present = labels.any((1, 2))
        objects = (SceneObject(1, "object", present, np.zeros(frames, bool)),) if present.any() else ()
        return Objects(labels, objects, (1.0, 1.0))


def scene_of(views, place, every=1, **options) -> Scene:
    clip = draw(views, place, **options)
    clip = Clip(clip.frames[::every], clip.timestamps[::every], clip.fps / every)
    segmenter = DiscSegmenter(views[::every], lambda t: place(t * every))
    return Scene(clip, Models(DISFlow(), GlobalMotion(), segmenter, GridTracker(), None, None))  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [STILL, PAN, TURN])
@pytest.mark.parametrize("speed", [1.5, 6.0])
def test_amplitude_is_the_objects_own_motion_whatever_the_camera_does(step, speed):
    scene = scene_of(views_of(step, 9), lambda t: (110.0 + speed * t, 120.0))
    result = pas.measure(scene, "vmmetrics")
    assert result.amplitude == pytest.approx(speed * 8 / DIAGONAL, rel=0.05)


def test_halving_the_frame_rate_changes_little():
    views = views_of(PAN, 17)

    def place(t):
        return 110.0 + 3 * t, 120.0 + 10 * np.sin(t / 8)

    full, half = (pas.measure(scene_of(views, place, every), "vmmetrics") for every in (1, 2))
    assert half.amplitude == pytest.approx(full.amplitude, rel=0.1)
    assert half.score == pytest.approx(full.score, rel=0.1)


def test_camera_motion_alone_is_nothing():
    result = pas.measure(scene_of(views_of(TURN_AND_ZOOM, 5), lambda t: None), "vmmetrics")
    assert result.score == 0.0
    assert result.events


def test_a_still_object_under_a_moving_camera_has_next_to_no_amplitude():
    # Of nothing but noise the points that tremble most are kept: 0.02 where all points together give 0.01.
    result = pas.measure(scene_of(views_of(TURN_AND_ZOOM, 9), lambda t: (160.0, 120.0)), "vmmetrics")
    assert result.score < 0.03


def test_one_frame_is_missing():
    assert pas.measure(scene_of(views_of(STILL, 1), lambda t: (160.0, 120.0)), "vmmetrics").missing


def test_an_object_that_comes_back_another_way_round_is_measured_on():
    def place(t):
        return (100.0 + 5 * t, 120.0) if t < 6 or t > 9 else None

    views = views_of(STILL, 18)
    scene = scene_of(views, place)
    # Replaced while away by a disc of another texture: the first points are not seen again.
    other = draw(views, place, seed=7).frames
    background = draw(views, lambda t: None).frames
    frames = scene.clip.frames.copy()
    y, x = np.mgrid[:240, :320]
    for t in range(10, 18):
        disc = np.hypot(x - 100 - 5 * t, y - 120) < 36
        frames[t] = np.where(disc[..., None], other[t], background[t])
    changed = Scene(Clip(frames, scene.clip.timestamps, 8.0), scene.models)
    result = pas.measure(changed, "vmmetrics")
    assert result.amplitude == pytest.approx(5 * 8 / DIAGONAL, rel=0.05)
    assert np.isfinite(result.series["amplitude"][[2, 14]]).all()


class TwoDiscs(DiscSegmenter):
    """Says where the disc is, and takes a piece of the background for another object."""

    def segment(self, scene):
        found = super().segment(scene)
        found.labels[:, 180:230, 10:90] = 2
        always = np.ones(len(scene.clip), bool)
        return replace(found, objects=(*found.objects, SceneObject(2, "object", always, ~always)))


def test_a_piece_of_background_taken_for_an_object_changes_nothing():
    views = views_of(PAN, 11)
    scene = scene_of(views, lambda t: (110.0 + 5 * t, 120.0))
    alone = pas.measure(scene, "vmmetrics")
    segmenter = TwoDiscs(views, lambda t: (110.0 + 5 * t, 120.0))
    both = pas.measure(Scene(scene.clip, replace(scene.models, segmenter=segmenter)), "vmmetrics")
    assert both.amplitude == pytest.approx(alone.amplitude, rel=0.03)


def test_what_moves_without_having_become_an_object_counts_beside_one():
    def place(t):
        return 110.0 + 5 * t, 120.0

    views = views_of(STILL, 11)
    scene = scene_of(views, place)

    class FirstHalf(DiscSegmenter):
        def segment(self, scene):
            found = super().segment(scene)
            labels = found.labels.copy()
            labels[5:] = 0
            return replace(found, labels=labels, moving=found.labels > 0)

    lost = pas.measure(Scene(scene.clip, replace(scene.models, segmenter=FirstHalf(views, place))), "vmmetrics")
    whole = pas.measure(scene, "vmmetrics")
    assert lost.amplitude == pytest.approx(whole.amplitude, rel=1e-9)


def test_upstreams_definition_adds_up_over_the_clip():
    # Ten steps of 6 px on the disc and none behind it: upstream's amplitude is their sum in diagonals.
    result = pas.measure(scene_of(views_of(STILL, 11), lambda t: (120.0 + 6 * t, 120.0)), "vmbench")
    assert result.score == pytest.approx(10 * 6 / DIAGONAL, rel=0.1)


def test_a_picture_that_never_goes_on_is_not_a_still_one():
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (9, 15, 20, 3)).astype(np.uint8).repeat(16, 1).repeat(16, 2)
    nothing = DiscSegmenter([], lambda t: None)
    models = Models(DISFlow(), GlobalMotion(), nothing, GridTracker(), None, None)  # type: ignore[arg-type]
    result = pas.measure(Scene(Clip(frames, np.arange(9) / 8, 8.0), models), "vmmetrics")
    assert result.score is None and "too few points can be tracked" in (result.missing or "")
    still = pas.measure(Scene(Clip(frames[:1].repeat(9, 0), np.arange(9) / 8, 8.0), models), "vmmetrics")
    assert still.score == 0.0


def ripples(t: int, speed: float) -> np.ndarray:
    """(240, 320, 3) uint8: a texture that moves left in even rows of tiles and right in odd ones, as no camera does."""
    world = draw([STILL], size=(480, 240), noise=0.0).frames[0]
    frame = np.empty((240, 320, 3), np.uint8)
    for row in range(0, 240, 40):
        shift = round(80 + speed * t * (-1) ** (row // 40))
        frame[row : row + 40] = world[row : row + 40, shift : shift + 320]
    return frame


NOTHING = DiscSegmenter([], lambda t: None)
NO_OBJECT = Models(DISFlow(), GlobalMotion(), NOTHING, GridTracker(), None, None)  # type: ignore[arg-type]


def test_motion_all_over_the_frame_that_is_no_object_has_its_amplitude():
    # The camera is where half of the rows are: of the others the motion is twice the speed; else all have it once.
    frames = np.stack([ripples(t, 3.0) for t in range(9)])
    result = pas.measure(Scene(Clip(frames, np.arange(9) / 8, 8.0), NO_OBJECT), "vmmetrics")
    once = 3 * 8 / DIAGONAL
    assert 0.85 * once < (result.amplitude or 0) < 2.1 * once


@pytest.mark.parametrize("step", [STILL, PAN, TURN_AND_ZOOM])
@pytest.mark.parametrize("light", [1.0, 0.97])
def test_camera_and_light_alone_are_no_motion_of_the_frame(step, light):
    clip = draw(views_of(step, 9), noise=3.0)
    faded = np.stack([frame * light**t for t, frame in enumerate(clip.frames)]).astype(np.uint8)
    result = pas.measure(Scene(Clip(faded, clip.timestamps, 8.0), NO_OBJECT), "vmmetrics")
    assert result.score is not None and result.score < 0.005


@pytest.mark.parametrize("jump", [20.0, 40.0, 60.0])
def test_a_frame_that_jumps_as_a_whole_has_no_motion_of_its_own(jump):
    # Up to 40 px the camera is estimated; 60 are too many to follow a point.
    views = [np.array([[1, 0, jump * (t % 2)], [0, 1, 0], [0, 0, 1]]) for t in range(9)]
    result = pas.measure(Scene(draw(views), NO_OBJECT), "vmmetrics")
    assert result.score is None if jump == 60 else result.score < 0.005


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("frames", "height", "width", "fps"), [(2, 16, 16, 8.0), (5, 20, 200, 30.0), (3, 64, 64, 1.0)])
def test_short_small_and_narrow_clips_of_noise_have_a_score_or_a_reason(frames, height, width, fps):
    noise = np.random.default_rng(1).integers(0, 256, (frames, height, width, 3)).astype(np.uint8)
    result = pas.measure(Scene(Clip(noise, np.arange(frames) / fps, fps), NO_OBJECT), "vmmetrics")
    assert (result.score is None) == (result.missing is not None)
    assert result.score is None or 0 <= result.score <= 1
