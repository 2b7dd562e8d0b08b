"""Shapes on a canvas: one description of a moment gives both its picture and where its markers are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.types import FloatArray

SIDE: Final = 448
"""Width and height of every clip, pixels: what InternVL-class models see of a tile, so nothing is made smaller."""
Colour = tuple[int, int, int]
Point = tuple[float, float]
Picture = NDArray[np.uint8]

# Far apart in hue, and in what is left of hue after video coding: the oracle tells them by colour alone.
MARKERS: Final[Mapping[str, Colour]] = {
    "red": (216, 38, 44),
    "blue": (28, 92, 214),
    "green": (24, 150, 62),
    "orange": (246, 160, 0),
    "purple": (146, 44, 176),
}
"""Colours of what questions are about, by the word that the questions use."""
INK: Final[Colour] = (58, 64, 76)
SOFT: Final[Colour] = (176, 182, 192)
WALL: Final[Colour] = (244, 242, 236)
GROUND: Final[Colour] = (222, 216, 204)
_SHIFT: Final = 4  # bits of a pixel's fraction that OpenCV is given
IDENTITY: Final[FloatArray] = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


@dataclass(frozen=True, slots=True)
class Line:
    """A stroke with round ends through some points, in pixels."""

    points: tuple[Point, ...]
    width: float
    colour: Colour = INK


@dataclass(frozen=True, slots=True)
class Disc:
    """A filled circle; with ``marker`` it has the colour of that name."""

    centre: Point
    radius: float
    colour: Colour = INK
    marker: str | None = None


@dataclass(frozen=True, slots=True)
class Polygon:
    """A filled outline; with ``marker`` it has the colour of that name."""

    points: tuple[Point, ...]
    colour: Colour = INK
    marker: str | None = None


Shape = Line | Disc | Polygon


def paint(canvas: Picture, shapes: Iterable[Shape], camera: FloatArray = IDENTITY) -> None:
    """Paint shapes onto a canvas, in their order.

    Args:
        canvas: (H, W, 3) uint8 RGB, changed in place.
        shapes: What to paint, in the coordinates of the world.
        camera: (2, 3) similarity from the world to the canvas.
    """
    zoom = float(np.sqrt(abs(np.linalg.det(camera[:, :2]))))
    for shape in shapes:
        if isinstance(shape, Line):
            points = _fixed(_through(shape.points, camera))
            cv2.polylines(canvas, [points], False, shape.colour, max(1, round(shape.width * zoom)), cv2.LINE_AA, _SHIFT)
            continue
        colour = shape.colour if shape.marker is None else MARKERS[shape.marker]
        if isinstance(shape, Disc):
            centre = _fixed(_through((shape.centre,), camera))[0]
            radius = round(shape.radius * zoom * 2**_SHIFT)
            cv2.circle(canvas, centre.tolist(), radius, colour, cv2.FILLED, cv2.LINE_AA, _SHIFT)
        else:
            cv2.fillPoly(canvas, [_fixed(_through(shape.points, camera))], colour, cv2.LINE_AA, _SHIFT)


def marks(shapes: Iterable[Shape], camera: FloatArray = IDENTITY) -> dict[str, Point]:
    """Centre of each marker's shapes on the canvas, by its name; of several with one name, the mean."""
    found: dict[str, list[FloatArray]] = {}
    for shape in shapes:
        if isinstance(shape, Line) or shape.marker is None:
            continue
        centre = shape.centre if isinstance(shape, Disc) else _centroid(shape.points)
        found.setdefault(shape.marker, []).append(_through((centre,), camera)[0])
    return {name: (float(at[0]), float(at[1])) for name, all_of in found.items() for at in [np.mean(all_of, axis=0)]}


def box(left: float, top: float, right: float, bottom: float) -> tuple[Point, ...]:
    """Corners of an upright rectangle."""
    return ((left, top), (right, top), (right, bottom), (left, bottom))


def regular(centre: Point, radius: float, corners: int, inner: float = 1.0) -> tuple[Point, ...]:
    """Corners of a regular polygon standing on its point's opposite side; with ``inner`` below 1 a star."""
    count = corners if inner == 1.0 else 2 * corners
    angles = -np.pi / 2 + 2 * np.pi * np.arange(count) / count
    radii = np.where(np.arange(count) % 2 == 0, radius, radius * inner) if inner != 1.0 else np.full(count, radius)
    return tuple((centre[0] + float(r * np.cos(a)), centre[1] + float(r * np.sin(a)))
                 for r, a in zip(radii, angles, strict=True))  # fmt: skip


def room(floor: float = 372.0) -> Picture:
    """An empty canvas: a wall, and a floor from some height down."""
    canvas = np.empty((SIDE, SIDE, 3), np.uint8)
    canvas[:] = WALL
    canvas[round(floor) :] = GROUND
    return canvas


def _through(points: Iterable[Point], camera: FloatArray) -> FloatArray:
    at: FloatArray = np.asarray(tuple(points), np.float64) @ camera[:, :2].T + camera[:, 2]
    return at


def _fixed(points: FloatArray) -> NDArray[np.int32]:
    return np.round(points * 2**_SHIFT).astype(np.int32)


def _centroid(points: tuple[Point, ...]) -> Point:
    """Of the area, by the shoelace formula."""
    x, y = np.asarray(points, np.float64).T
    cross = x * np.roll(y, -1) - np.roll(x, -1) * y
    return (float(((x + np.roll(x, -1)) * cross).sum() / (3 * cross.sum())),
            float(((y + np.roll(y, -1)) * cross).sum() / (3 * cross.sum())))  # fmt: skip
