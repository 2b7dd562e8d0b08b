"""Rendered clips with known motion, for the tests of flow, camera and tracker."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from vmmetrics.clip import Clip
from vmmetrics.perception.embedded.camera import GlobalMotion
from vmmetrics.perception.embedded.flow import DISFlow
from vmmetrics.perception.embedded.tracker import GridTracker
from vmmetrics.perception.scene import Models, Scene

Array = NDArray[np.float64]
Place = Callable[[int], tuple[float, float] | None]


def texture(seed: int, height: int, width: int) -> NDArray[np.uint8]:
    """Grey noise of several sizes, as a picture of gravel has, in three similar channels."""
    rng = np.random.default_rng(seed)
    total = np.zeros((height, width), np.float32)
    for cell, strength in ((3, 18.0), (8, 30.0), (24, 40.0)):
        coarse = rng.normal(size=(height // cell + 2, width // cell + 2)).astype(np.float32)
        total += strength * cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    grey = np.clip(128 + total, 0, 255).astype(np.uint8)
    return np.repeat(grey[..., None], 3, -1)


def draw(
    views: list[Array],
    place: Place = lambda t: None,
    *,
    size: tuple[int, int] = (320, 240),
    radius: float = 36,
    wall: tuple[int, int] | None = None,
    noise: float = 1.0,
    fps: float = 8.0,
    seed: int = 0,
) -> Clip:
    """A textured world seen through ``views`` (world to frame), a textured disc at ``place(t)`` of the world, and a
    textured wall over the frame columns ``wall``, in front of it.
    """
    width, height = size
    rng = np.random.default_rng(seed)
    world, thing = texture(seed, 3 * height, 3 * width), texture(seed + 100, 3 * height, 3 * width)
    front = texture(seed + 200, height, width)
    y, x = np.mgrid[:height, :width].astype(np.float64)
    frames = []
    for t, view in enumerate(views):
        shift = np.array([[1, 0, -width], [0, 1, -height], [0, 0, 1.0]])
        image = cv2.warpPerspective(world, view @ shift, size, flags=cv2.INTER_LINEAR).astype(np.float64)
        at = place(t)
        if at is not None:
            move = view @ np.array([[1, 0, at[0]], [0, 1, at[1]], [0, 0, 1.0]])
            centre = np.array([-1.5 * width, -1.5 * height])
            local = np.array([[1, 0, centre[0]], [0, 1, centre[1]], [0, 0, 1.0]])
            picture = cv2.warpPerspective(thing, move @ local, size, flags=cv2.INTER_LINEAR)
            away = np.hypot(x - move[0, 2] / move[2, 2], y - move[1, 2] / move[2, 2])
            cover = np.clip(radius - away + 0.5, 0, 1)[..., None]
            image = image * (1 - cover) + picture * cover
        if wall is not None:
            image[:, slice(*wall)] = front[:, slice(*wall)]
        image = image + rng.normal(size=image.shape) * noise
        frames.append(np.clip(image + 0.5, 0, 255).astype(np.uint8))
    return Clip(np.stack(frames), np.arange(len(frames)) / fps, fps)


def views_of(step: Array, count: int) -> list[Array]:
    """``count`` views of a camera that moves by ``step`` from frame to frame."""
    views = [np.eye(3)]
    for _ in range(count - 1):
        views.append(step @ views[-1])
    return views


@pytest.fixture
def drawn() -> Callable[..., Clip]:
    return draw


@pytest.fixture
def moving_views() -> Callable[[Array, int], list[Array]]:
    return views_of


@pytest.fixture
def scene_of() -> Callable[[Clip], Scene]:
    """The motion abilities alone; the others must not be asked."""

    def build(clip: Clip) -> Scene:
        nobody = None
        return Scene(clip, Models(DISFlow(), GlobalMotion(), nobody, GridTracker(), nobody, nobody))  # type: ignore[arg-type]

    return build
