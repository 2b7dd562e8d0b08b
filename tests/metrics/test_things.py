"""OIS of things, from rendered frames to score: textured squares that keep their surface or do not."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from vmmetrics.clip import Clip, Subject
from vmmetrics.metrics import ois
from vmmetrics.metrics.ois import measure_things
from vmmetrics.perception.embedded.flow import DISFlow
from vmmetrics.perception.scene import Models, Objects, Poses, Scene, SceneObject
from vmmetrics.perception.surfaces import follow_surfaces

FRAMES, WIDTH, HEIGHT, SIDE, FPS = 14, 192, 144, 64, 8.0
Drawing = Callable[[int], tuple[NDArray[np.uint8], NDArray[np.float64]]]
"""The picture (SIDE, SIDE) of the square in a frame, and the affine map (2, 3) that puts it there."""


def texture(seed: int, height: int, width: int) -> NDArray[np.uint8]:
    rng = np.random.default_rng(seed)
    picture = sum(
        strength * cv2.resize(rng.normal(size=(height // cell + 2, width // cell + 2)), (width, height))
        for cell, strength in ((4, 25.0), (10, 35.0))
    )
    return np.clip(128 + np.asarray(picture), 0, 255).astype(np.uint8)


def placed(x: float, y: float, degrees: float = 0.0, scale: float = 1.0) -> NDArray[np.float64]:
    """The map that turns and scales the square about its middle, which comes to (x, y)."""
    matrix = cv2.getRotationMatrix2D((SIDE / 2, SIDE / 2), degrees, scale)
    return np.asarray(matrix + np.array([[0, 0, x - SIDE / 2], [0, 0, y - SIDE / 2]]))


SAME = texture(1, SIDE, SIDE)
BACKGROUND = texture(9, 2 * HEIGHT, 2 * WIDTH)


class Rendered:
    """Says what is known of the clip: where the square is, and that nobody is there."""

    def __init__(self, labels: NDArray[np.uint8], named: bool) -> None:
        present = np.ones(len(labels), np.bool_)
        things = (SceneObject(1, "object", present, ~present),) if named else ()
        self.objects = Objects(labels if named else np.zeros_like(labels), things, (1.0, 1.0))

    def segment(self, _scene: Scene) -> Objects:
        return self.objects

    def estimate(self, scene: Scene) -> Poses:
        count = len(scene.clip)
        return Poses(np.zeros((count, 0, 17, 2)), np.zeros((count, 0, 17)), np.zeros((count, 0, 4)))


def rendered(
    square: Drawing, pan: float = 0.0, named: bool = True, backwards: bool = False, subject: str | None = None
) -> Scene:
    frames, labels = [], []
    for t in range(FRAMES):
        shift = np.array([[1, 0, -pan * t - WIDTH / 2], [0, 1, -HEIGHT / 2]])
        frame = cv2.warpAffine(BACKGROUND, shift, (WIDTH, HEIGHT))
        picture, there = square(t)
        mask = cv2.warpAffine(np.full((SIDE, SIDE), 255, np.uint8), there, (WIDTH, HEIGHT)) > 127
        frames.append(np.where(mask, cv2.warpAffine(picture, there, (WIDTH, HEIGHT)), frame))
        labels.append(mask.astype(np.uint8))
    order = slice(None, None, -1 if backwards else 1)
    shown = np.repeat(np.stack(frames)[order, ..., None], 3, axis=-1)
    known = None if subject is None else Subject(subject, subject, "list")
    clip = Clip(np.ascontiguousarray(shown), np.arange(FRAMES) / FPS, FPS, subject=known)
    truth = Rendered(np.stack(labels)[order], named)
    models = Models(DISFlow(), None, truth, None, truth, None)  # type: ignore[arg-type]
    return Scene(clip, models)


def score(scene: Scene) -> float:
    result = measure_things(scene)
    assert result.score is not None
    return result.score


INNOCENT: dict[str, Drawing] = {
    "stands": lambda t: (SAME, placed(90, 70)),
    "moves": lambda t: (SAME, placed(50 + 6 * t, 70)),
    "turns": lambda t: (SAME, placed(90, 70, degrees=8 * t)),
    "grows": lambda t: (SAME, placed(90, 70, scale=0.6 + 0.04 * t)),
    "sways": lambda t: (
        cv2.remap(
            SAME,
            (np.arange(SIDE) + 4 * np.sin(np.arange(SIDE)[:, None] / 12 + t)).astype(np.float32),
            np.repeat(np.arange(SIDE, dtype=np.float32)[:, None], SIDE, axis=1),
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REFLECT,
        ),
        placed(90, 70),
    ),
}


def repainted(t: int) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The square with another surface in every frame."""
    return texture(100 + t, SIDE, SIDE), placed(90, 70)


def melting(t: int) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The square that runs into another blob in every frame, from the fifth on."""
    rng = np.random.default_rng(t)
    grid = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE)), -1).astype(np.float32)
    push = cv2.resize(rng.normal(size=(6, 6, 2)).astype(np.float32), (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
    at = grid + (14.0 if t > 4 else 0.0) * push
    return cv2.remap(SAME, at[..., 0], at[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT), placed(90, 70)


@pytest.mark.parametrize("kind", INNOCENT)
@pytest.mark.parametrize("pan", [0.0, 5.0])
def test_a_square_that_moves_turns_grows_or_sways_keeps_its_shape(kind: str, pan: float) -> None:
    assert score(rendered(INNOCENT[kind], pan)) > 0.985
    assert score(rendered(INNOCENT[kind], pan, backwards=True)) > 0.985


@pytest.mark.parametrize("pan", [0.0, 5.0])
def test_a_square_painted_anew_in_every_frame_loses_and_is_named(pan: float) -> None:
    result = measure_things(rendered(repainted, pan))
    assert result.score is not None
    assert result.score < 0.4
    (event,) = result.events
    assert event.target == "object 1"
    x0, y0, x1, y1 = event.box or (0, 0, 0, 0)
    assert 45 <= x0 < x1 <= 135
    assert 25 <= y0 < y1 <= 115


def test_a_square_that_melts_loses_from_then_on() -> None:
    melted = measure_things(rendered(melting))
    assert melted.score is not None
    assert melted.score < 0.8
    assert min(melted.events[0].frames) >= 4
    assert score(rendered(melting, backwards=True)) == pytest.approx(melted.score, abs=0.06)


def test_a_scene_painted_anew_needs_no_object() -> None:
    scene = rendered(INNOCENT["stands"], named=False)
    assert score(scene) == 1
    painted = np.stack([np.repeat(texture(50 + t, HEIGHT, WIDTH)[..., None], 3, axis=-1) for t in range(FRAMES)])
    broken = Scene(Clip(painted, scene.clip.timestamps, FPS), scene.models)
    assert score(broken) < 0.6
    assert measure_things(broken).events[0].target == "scene"


def test_what_is_covered_was_seen_before() -> None:
    """A square goes across another surface: what it covers and uncovers is lost one way in time only."""
    surfaces = follow_surfaces(rendered(INNOCENT["moves"]).flow, FPS)
    lost = surfaces.lost[0][1:-1][surfaces.textured[1:-1] > 0.25]
    assert (lost > 0.6).mean() < 0.02


def test_fire_and_water_have_no_shape_to_judge() -> None:
    missing = measure_things(rendered(repainted, subject="flames")).missing
    assert missing is not None
    assert "flames" in missing
    assert measure_things(rendered(repainted, subject="horse")).score is not None


def test_ois_judges_things_where_nobody_is_and_says_both_reasons_where_it_cannot() -> None:
    assert ois.measure(rendered(INNOCENT["moves"]), "vmmetrics").score == 1
    assert ois.measure(rendered(INNOCENT["moves"]), "vmbench").missing == "no person"
    burning = ois.measure(rendered(repainted, subject="fire"), "vmmetrics").missing or ""
    assert burning.startswith("no person; ")
    assert "fire" in burning
