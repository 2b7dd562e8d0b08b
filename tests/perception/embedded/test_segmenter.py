"""Objects of clips drawn here: a textured disc over a textured background, with the truth known by construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np
import pytest

from vmmetrics.clip import Clip
from vmmetrics.metrics import pas
from vmmetrics.metrics.tcs import measure
from vmmetrics.perception.embedded.camera import GlobalMotion
from vmmetrics.perception.embedded.flow import DISFlow
from vmmetrics.perception.embedded.objects.breaks import find_breaks
from vmmetrics.perception.embedded.objects.evidence import gather_evidence
from vmmetrics.perception.embedded.objects.segmenter import MotionSegmenter
from vmmetrics.perception.embedded.tracker import GridTracker
from vmmetrics.perception.scene import Models, Scene

WIDTH, HEIGHT, FRAMES, FPS = 240, 160, 24, 16.0
RADIUS = 22
Place = Callable[[int], tuple[float, float] | None]


def texture(seed: int, height: int, width: int) -> np.ndarray:
    """Smooth coloured noise at two scales."""
    rng = np.random.default_rng(seed)
    coarse = cv2.resize(
        rng.uniform(0, 255, (height // 16, width // 16, 3)), (width, height), interpolation=cv2.INTER_CUBIC
    )
    fine = cv2.resize(
        rng.uniform(-60, 60, (height // 4, width // 4, 3)), (width, height), interpolation=cv2.INTER_CUBIC
    )
    return np.clip(coarse + fine, 0, 255).astype(np.uint8)


def draw(place: Place | None, *, pan: float = 0.0, noise: float = 0.0, pillar: bool = False, spin: float = 0.0) -> Clip:
    """Disc centred at ``place(t)`` (None: not there) in the world, seen by a camera that pans ``pan`` px a frame.

    It turns by ``spin`` degrees a frame.
    """
    rng = np.random.default_rng(5)
    world, skin, post = texture(1, 256, 512), texture(2, 64, 64), texture(3, 256, 64)
    rows, columns = np.mgrid[:256, :512]
    frames = []
    for t in range(FRAMES):
        picture = world.copy()
        centre = place(t) if place else None
        if centre:
            x, y = centre
            shift = cv2.getRotationMatrix2D((32, 32), spin * t, 1.0)
            shift[:, 2] += x + 60 - 32, y + 40 - 32
            moved = cv2.warpAffine(skin, shift, (512, 256))
            inside = np.hypot(columns - x - 60, rows - y - 40) <= RADIUS
            picture[inside] = moved[inside]
        if pillar:
            picture[:, 160:200] = post[:, :40]
        view = np.array([[1, 0, -60 - pan * t], [0, 1, -40]], np.float64)
        frame = cv2.warpAffine(picture, view, (WIDTH, HEIGHT)).astype(np.float64)
        frames.append(np.clip(frame + rng.normal(0, noise, frame.shape) if noise else frame, 0, 255).astype(np.uint8))
    return Clip(np.stack(frames), np.arange(FRAMES) / FPS, FPS)


def scene_of(clip: Clip) -> Scene:
    models = Models(DISFlow(), GlobalMotion(), MotionSegmenter(), GridTracker(), None, None)  # type: ignore[arg-type]
    return Scene(clip, models)


def moving(t: int) -> tuple[float, float]:
    return 60.0 + 3.0 * t, 80.0


def overlap(scene: Scene, place: Place, t: int, pan: float = 0.0) -> float:
    """IoU of the largest object's mask with the disc at frame ``t``."""
    objects = scene.objects
    sx, sy = objects.scale
    rows, columns = np.mgrid[: objects.labels.shape[1], : objects.labels.shape[2]]
    centre = place(t)
    assert centre is not None
    disc = np.hypot((columns + 0.5) * sx - 0.5 - centre[0] + pan * t, (rows + 0.5) * sy - 0.5 - centre[1]) <= RADIUS
    masks = [objects.labels[t] == item.id for item in objects.objects]
    return max((float((m & disc).sum() / (m | disc).sum()) for m in masks), default=0.0)


def test_a_moving_disc_is_one_object_throughout() -> None:
    pan = 2.0
    scene = scene_of(draw(moving, pan=pan, noise=2.0))
    (item,) = scene.objects.objects
    assert item.present.all()
    assert np.mean([overlap(scene, moving, t, pan) for t in range(2, FRAMES - 2)]) > 0.7
    assert measure(scene, "vmmetrics").score == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("pan", "noise"), [(0.0, 5.0), (2.5, 3.0)])
def test_nothing_moves_by_itself(pan: float, noise: float) -> None:
    assert scene_of(draw(None, pan=pan, noise=noise)).objects.objects == ()


@pytest.mark.slow
@pytest.mark.parametrize(("spin", "pan"), [(-3.0, 1.0), (1.5, 0.0)])
def test_a_disc_that_spins_in_place_is_an_object(spin: float, pan: float) -> None:
    scene = scene_of(draw(lambda t: (110, 80), pan=pan, spin=spin))
    assert len(scene.objects.objects) == 1
    assert scene.objects.objects[0].present.mean() > 0.9
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    disc = np.hypot(columns - 110 + pan * 12, rows - 80) <= RADIUS
    found = cv2.resize(scene.objects.labels[12], (WIDTH, HEIGHT), interpolation=cv2.INTER_NEAREST) > 0
    assert (found & disc).sum() / (found | disc).sum() > 0.6
    # The mean distance of its points from its centre is two thirds of its radius.
    amplitude = np.radians(abs(spin)) * RADIUS * 2 / 3 * FPS / np.hypot(WIDTH, HEIGHT)
    assert pas.measure(scene, "vmmetrics").amplitude == pytest.approx(amplitude, rel=0.2)


def test_a_disc_that_rests_has_not_vanished() -> None:
    def stops(t: int) -> tuple[float, float]:
        return moving(min(t, 12))

    scene = scene_of(draw(stops, noise=2.0))
    (item,) = scene.objects.objects
    assert item.present.all()
    assert overlap(scene, stops, FRAMES - 1) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("still", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
def test_vanishing_and_popping_in_are_seen_where_they_happen(still: bool, backwards: bool) -> None:
    def place(t: int) -> tuple[float, float] | None:
        t = FRAMES - 1 - t if backwards else t
        if t >= 14:
            return None
        return (110.0, 80.0) if still else moving(t)

    result = measure(scene_of(draw(place, pan=1.0, noise=2.0)), "vmmetrics")
    (event,) = [e for e in result.events if e.excuse is None]
    assert event.reason.startswith("appear" if backwards else "vanish")
    assert abs(event.frames[0] - (FRAMES - 14 if backwards else 14)) <= 2
    assert result.score == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("pan", [0.0, 1.5])
def test_an_object_replaced_while_it_moves_fast_ends_in_that_frame(pan: float) -> None:
    scene = scene_of(draw(lambda t: (30.0 + 6 * t, 80.0) if t < 14 else None, pan=pan))
    found = find_breaks(gather_evidence(scene))
    assert [(one.frame, one.came) for one in found] == [(13, False)]
    assert [e.frames for e in measure(scene, "vmmetrics").events if e.excuse is None] == [(14,)]


def test_no_break_where_something_moves_fast_all_the_time() -> None:
    """Each step is too far for the flow: at both ends nothing corresponds, in every frame."""
    clip = draw(lambda t: (60.0 + 100 * (t % 2), 80.0))
    assert find_breaks(gather_evidence(scene_of(clip))) == []


def test_no_break_where_a_thing_turns_between_two_frames() -> None:
    """Another side of it has other details in its colours."""
    before, after = draw(moving), draw(moving, spin=10.0)
    clip = replace(before, frames=np.concatenate([before.frames[:14], after.frames[14:]]))
    assert find_breaks(gather_evidence(scene_of(clip))) == []


@pytest.mark.slow
@pytest.mark.parametrize(("speed", "backwards"), [(1.0, False), (3.0, False), (3.0, True)])
def test_a_fade_leaves_no_mask_on_the_bare_background(speed: float, backwards: bool) -> None:
    thing = draw(lambda t: (80.0 + speed * t, 80.0), noise=2.0)
    bare = draw(None, noise=2.0)
    share = np.clip((np.arange(FRAMES) - 10) / 5, 0, 1)[:, None, None, None]
    frames = ((1 - share) * thing.frames + share * bare.frames).round().astype(np.uint8)
    scene = scene_of(Clip(frames[::-1] if backwards else frames, thing.timestamps, FPS))
    gone = slice(None, 7) if backwards else slice(17, None)
    assert not scene.objects.labels[gone].any()
    (event,) = [e for e in measure(scene, "vmmetrics").events if e.excuse is None]
    assert 10 <= (FRAMES - event.frames[0] if backwards else event.frames[0]) <= 15


def test_two_blurred_frames_are_no_vanishing() -> None:
    clip = draw(moving, noise=2.0)
    frames = clip.frames.copy()
    for t in (11, 12):
        frames[t] = cv2.GaussianBlur(frames[t], (0, 0), 5)
    assert measure(scene_of(Clip(frames, clip.timestamps, clip.fps)), "vmmetrics").score == 1.0


def test_what_was_hardly_seen_is_not_missed() -> None:
    def place(t: int) -> tuple[float, float] | None:
        return moving(t) if t < 6 else None  # 0.4 s

    assert [e for e in measure(scene_of(draw(place, noise=2.0)), "vmmetrics").events if e.excuse is None] == []


@pytest.mark.slow
def test_passing_behind_a_pillar_is_no_vanishing() -> None:
    def passes(t: int) -> tuple[float, float]:
        return 40.0 + 5.0 * t, 80.0

    scene = scene_of(draw(passes, pillar=True))
    result = measure(scene, "vmmetrics")
    assert result.score == 1.0


def test_leaving_through_the_edge_is_excused() -> None:
    def leaves(t: int) -> tuple[float, float]:
        return 150.0 + 6.0 * t, 80.0

    scene = scene_of(draw(leaves))
    assert any(not item.present[-1] for item in scene.objects.objects)
    assert measure(scene, "vmmetrics").score == 1.0


@pytest.mark.slow
def test_mirrored_clip_has_the_same_objects_and_runs_alike() -> None:
    clip = draw(moving, noise=2.0)
    mirrored = Clip(np.ascontiguousarray(clip.frames[:, :, ::-1]), clip.timestamps, clip.fps)
    scene = scene_of(clip)
    one, again, other = (s.objects for s in (scene, scene_of(clip), scene_of(mirrored)))
    assert np.array_equal(one.labels, again.labels)
    assert len(one.objects) == len(other.objects) == 1
    assert np.mean([overlap(scene, moving, t) for t in range(2, FRAMES - 2)]) > 0.7
    agree = ((one.labels > 0) & (other.labels[..., ::-1] > 0)).sum() / (
        (one.labels > 0) | (other.labels[..., ::-1] > 0)
    ).sum()
    assert agree > 0.8


def test_one_frame_and_two_frames_have_no_objects() -> None:
    clip = draw(moving)
    for count in (1, 2):
        short = Clip(clip.frames[:count], clip.timestamps[:count], clip.fps)
        assert scene_of(short).objects.labels.shape[0] == count


def _changed_later(change: Callable[[np.ndarray], np.ndarray]) -> Clip:
    """The disc moves; from the middle on ``change`` is made to every frame."""
    clip = draw(lambda t: (40.0 + t, 80.0))
    frames = clip.frames.copy()
    frames[FRAMES // 2 :] = np.stack([change(frame) for frame in frames[FRAMES // 2 :]])
    return Clip(frames, clip.timestamps, clip.fps)


def _soft_lamp(frame: np.ndarray) -> np.ndarray:
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    glow = 1.2 * np.exp(-((y - 50) ** 2 + (x - 180) ** 2) / (2 * 30**2))
    return np.clip(frame * (1 + glow[..., None]), 0, 255).astype(np.uint8)


def _spot(frame: np.ndarray) -> np.ndarray:
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    lit = np.hypot(y - 60, x - 180) < 28
    return np.clip(frame * np.where(lit, 1.6, 1.0)[..., None], 0, 255).astype(np.uint8)


def _caption(frame: np.ndarray) -> np.ndarray:
    shown = np.ascontiguousarray(frame)
    shown[125:150, 20:220] = 20
    cv2.putText(shown, "HELLO WORLD", (30, 144), cv2.FONT_HERSHEY_SIMPLEX, 0.7, (250, 250, 250), 2)
    return shown


def _screen(frame: np.ndarray) -> np.ndarray:
    shown = frame.copy()
    shown[30:80, 150:220] = texture(11, 50, 70)
    return shown


@pytest.mark.parametrize("change", [_soft_lamp, _spot, _caption, _screen])
def test_light_captions_and_screens_are_no_objects_that_appear(change: Callable[[np.ndarray], np.ndarray]) -> None:
    result = measure(scene_of(_changed_later(change)), "vmmetrics")
    assert [event.reason for event in result.events if event.excuse is None] == []


def test_an_object_that_is_away_for_some_frames_is_missed() -> None:
    result = measure(scene_of(draw(lambda t: None if 9 <= t < 14 else (20.0 + 3 * t, 80.0))), "vmmetrics")
    assert {event.reason for event in result.events if event.excuse is None} & {
        "vanished without cause", "appeared without cause",
    }  # fmt: skip
