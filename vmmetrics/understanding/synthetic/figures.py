"""Drawn figures and objects: functions from a pose to shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.types import FloatArray

# Shapes on a canvas: one description of a moment gives both its picture and where its markers are.

SIDE: Final = 448
"""Width and height of the canvas in drawing units."""
PIXELS: Final = 336
"""Width and height of every clip, pixels: 12 patches of 28, 24 of 14, so that models need not resize it."""
Colour = tuple[int, int, int]
Point = tuple[float, float]
Picture = NDArray[np.uint8]

# Far apart in hue, and in what is left of hue after video coding: the frame reader tells them by colour alone.
MARKERS: Final[Mapping[str, Colour]] = {
    "red": (216, 38, 44),
    "blue": (28, 92, 214),
    "green": (24, 150, 62),
    "orange": (246, 160, 0),
    "purple": (146, 44, 176),
}
"""Marker colours, by the name that questions use."""
INK: Final[Colour] = (58, 64, 76)
SOFT: Final[Colour] = (176, 182, 192)
WALL: Final[Colour] = (244, 242, 236)
GROUND: Final[Colour] = (222, 216, 204)
_SHIFT: Final = 4  # bits of a pixel's fraction that OpenCV is given
IDENTITY: Final[FloatArray] = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


@dataclass(frozen=True, slots=True)
class Line:
    """A stroke with round ends through some points."""

    points: tuple[Point, ...]
    width: float
    colour: Colour = INK


@dataclass(frozen=True, slots=True)
class Disc:
    """A filled circle; with ``marker`` in the colour of that name."""

    centre: Point
    radius: float
    colour: Colour = INK
    marker: str | None = None


@dataclass(frozen=True, slots=True)
class Polygon:
    """A filled outline; with ``marker`` in the colour of that name."""

    points: tuple[Point, ...]
    colour: Colour = INK
    marker: str | None = None


Shape = Line | Disc | Polygon


def paint(canvas: Picture, shapes: Iterable[Shape], camera: FloatArray = IDENTITY, cloth: Cloth | None = None) -> None:
    """Paint shapes onto a canvas, in their order.

    Args:
        canvas: (H, W, 3) uint8 RGB, changed in place.
        shapes: Shapes in world coordinates.
        camera: (2, 3) similarity from the world to the canvas.
        cloth: Texture of what is painted, which goes along with it; None for flat colours.
    """
    (a, b, c), (d, e, f) = camera.tolist()
    zoom, unit = math.sqrt(abs(a * e - b * d)), 2**_SHIFT
    for shape in shapes:
        colour = shape.colour
        if cloth is not None and colour == INK:
            colour = cloth.ink
        corners = (shape.centre,) if isinstance(shape, Disc) else shape.points
        at = [(a * x + b * y + c, d * x + e * y + f) for x, y in corners]
        fixed = np.array([(round(x * unit), round(y * unit)) for x, y in at], np.int32)
        if isinstance(shape, Line):
            width = max(1, round(shape.width * zoom))
            cv2.polylines(canvas, [fixed], False, colour, width, cv2.LINE_AA, _SHIFT)
            if cloth is not None and width > 2:  # lit from the front
                cv2.polylines(canvas, [fixed], False, cloth.light, width // 3, cv2.LINE_AA, _SHIFT)
            continue
        colour = colour if shape.marker is None else MARKERS[shape.marker]
        radius = 0.0
        if isinstance(shape, Disc):
            radius = shape.radius * zoom
            cv2.circle(canvas, fixed[0].tolist(), round(radius * unit), colour, cv2.FILLED, cv2.LINE_AA, _SHIFT)
        else:
            cv2.fillPoly(canvas, [fixed], colour, cv2.LINE_AA, _SHIFT)
        if cloth is not None:
            _weave(canvas, cloth.grain, at, radius)


class Cloth(Protocol):
    """Textures of the figures in a textured clip."""

    @property
    def ink(self) -> Colour:
        """Colour of figures."""

    @property
    def light(self) -> Colour:
        """Colour of lit limbs."""

    @property
    def grain(self) -> Picture:
        """(N, N, 3) darkening in steps of 255; N is at least the width of any shape."""


def _weave(canvas: Picture, grain: Picture, at: Sequence[Point], radius: float) -> None:
    """Darken a disc or polygon by the grain, which is fixed to its centre."""
    side = len(canvas)
    low, high = ([pick(axis) for axis in zip(*at, strict=True)] for pick in (min, max))
    left, top = (max(0, math.floor(value - radius)) for value in low)
    right, bottom = (min(side, math.ceil(value + radius) + 1) for value in high)
    if left >= right or top >= bottom:
        return
    mask = np.zeros((bottom - top, right - left), np.uint8)
    within = [(round(x - left), round(y - top)) for x, y in at]
    if radius:
        cv2.circle(mask, within[0], int(radius), 255, cv2.FILLED)
    else:
        cv2.fillPoly(mask, [np.array(within, np.int32)], 255)
    x, y = (len(grain) // 2 - round((a + b) / 2) + begin for a, b, begin in zip(low, high, (left, top), strict=True))
    part = canvas[top:bottom, left:right]
    cv2.subtract(part, grain[y : y + len(mask), x : x + mask.shape[1]], part, mask)


def marks(shapes: Iterable[Shape], camera: FloatArray = IDENTITY) -> dict[str, Point]:
    """Return the centre of each marker's shapes on the canvas by name, averaged over shapes."""
    by_marker: dict[str, list[FloatArray]] = {}
    for shape in shapes:
        if isinstance(shape, Line) or shape.marker is None:
            continue
        centre = shape.centre if isinstance(shape, Disc) else _centroid(shape.points)
        by_marker.setdefault(shape.marker, []).append((np.array([centre]) @ camera[:, :2].T + camera[:, 2])[0])
    return {
        name: (float(at[0]), float(at[1])) for name, all_of in by_marker.items() for at in [np.mean(all_of, axis=0)]
    }


def box(left: float, top: float, right: float, bottom: float) -> tuple[Point, ...]:
    """Return the corners of an upright rectangle."""
    return ((left, top), (right, top), (right, bottom), (left, bottom))


def regular(centre: Point, radius: float, corners: int, inner: float = 1.0) -> tuple[Point, ...]:
    """Return the corners of a regular polygon, point up; with ``inner`` below 1 a star."""
    count = corners if inner == 1.0 else 2 * corners
    return tuple(reach(centre, radius * (inner if k % 2 else 1.0), 360.0 * k / count - 90) for k in range(count))


def room(floor: float = 372.0) -> Picture:
    """Return an empty canvas: a wall, and a floor below some height."""
    canvas = np.full((SIDE, SIDE, 3), WALL, np.uint8)
    canvas[round(floor) :] = GROUND
    return canvas


def _centroid(points: tuple[Point, ...]) -> Point:
    """Return the centroid of a polygon's area, by the shoelace formula."""
    across = down = area = 0.0
    for (x, y), (right, below) in zip(points, (*points[1:], points[0]), strict=True):
        cross = x * below - right * y
        area += cross
        across += (x + right) * cross
        down += (y + below) * cross
    return across / (3 * area), down / (3 * area)


FORMS: Final = ("circle", "square", "triangle", "star", "hexagon")
_TURN: Final = 2 * math.pi


def reach(origin: Point, length: float, degrees: float) -> Point:
    """Return the point at a distance and angle from another; 0 degrees is right, 90 is down, as on screen."""
    angle = math.radians(degrees)
    return origin[0] + length * math.cos(angle), origin[1] + length * math.sin(angle)


def form(kind: str, centre: Point, radius: float, marker: str) -> Shape:
    """Return one of FORMS in a marker's colour."""
    if kind == "circle":
        return Disc(centre, radius, marker=marker)
    if kind == "square":
        x, y = centre
        side = 0.88 * radius
        return Polygon(box(x - side, y - side, x + side, y + side), marker=marker)
    corners, inner = {"triangle": (3, 1.0), "star": (5, 0.48), "hexagon": (6, 1.0)}[kind]
    return Polygon(regular(centre, 1.12 * radius, corners, inner), marker=marker)


def person(feet: Point, size: float, arms: tuple[float, float], legs: tuple[float, float]) -> tuple[list[Shape], Point]:
    """Return a figure seen from the front.

    Args:
        feet: Where it stands.
        size: Its height, pixels.
        arms: Directions of the left and right arm as on the screen, degrees.
        legs: Directions of the legs.

    Returns:
        Its shapes without hands, and its shoulders.
    """
    x, y = feet
    leg = 0.42 * size
    drop = leg * max(math.sin(math.radians(a)) for a in legs)
    hip, shoulder = (x, y - drop), (x, y - drop - 0.32 * size)
    wide = max(4.0, 0.055 * size)
    shapes: list[Shape] = [Line((hip, reach(hip, leg, direction)), wide) for direction in legs]
    shapes += [Line((hip, shoulder), 1.5 * wide), Disc((x, shoulder[1] - 0.15 * size), 0.105 * size)]
    shapes += [Line((shoulder, reach(shoulder, ARM * size, direction)), wide) for direction in arms]
    return shapes, shoulder


ARM: Final = 0.36
"""Length of an arm, relative to the figure's height."""


def jumping_jack(feet: Point, size: float, height: float, marker: str) -> list[Shape]:
    """Return a figure with arms down and legs closed at 0, up and apart at 1; gloves in a marker's colour."""
    lift = 68.0 - 130.0 * height
    spread = 6.0 + 22.0 * height
    hop = 0.06 * size * height
    shapes, shoulder = person((feet[0], feet[1] - hop), size, (180 - lift, lift), (90 - spread, 90 + spread))
    gloves = [Disc(reach(shoulder, ARM * size, d), 0.07 * size, marker=marker) for d in (180 - lift, lift)]
    return [*shapes, *gloves]


def flag_bearer(feet: Point, size: float, height: float, marker: str) -> list[Shape]:
    """Return a figure with its flag down at 0 and straight up at 1."""
    direction = 55.0 - 135.0 * height
    shapes, shoulder = person(feet, size, (112.0, direction), (82.0, 98.0))
    hand = reach(shoulder, ARM * size, direction)
    pole = reach(hand, 0.34 * size, direction)
    corner = reach(reach(hand, 0.12 * size, direction), 0.2 * size, direction + 90)
    flag = Polygon(
        (reach(hand, 0.08 * size, direction), pole, reach(pole, 0.2 * size, direction + 90), corner), marker=marker
    )
    return [*shapes, Line((hand, pole), 3.0), flag]


def hammerer(feet: Point, size: float, height: float, marker: str) -> list[Shape]:
    """Return a figure whose hammer rests on an anvil at 0 and is over its head at 1."""
    direction = 20.0 - 95.0 * height
    shapes, shoulder = person(feet, size, (115.0, direction), (80.0, 100.0))
    hand = reach(shoulder, ARM * size, direction)
    handle = reach(hand, 0.2 * size, direction - 15)
    across = direction + 75
    ends = [reach(handle, 0.1 * size, across), reach(handle, 0.1 * size, across + 180)]
    edges = ((ends[0], 0), (ends[0], 180), (ends[1], 180), (ends[1], 0))
    head = [reach(end, 0.055 * size, direction - 15 + turn) for end, turn in edges]
    low = reach(reach(shoulder, ARM * size, 20.0), 0.2 * size, 5.0)
    top = low[1] + 0.11 * size
    anvil = Polygon(((low[0] - 0.18 * size, top), (low[0] + 0.2 * size, top), (low[0] + 0.1 * size, feet[1]),
                     (low[0] - 0.1 * size, feet[1])), SOFT)  # fmt: skip
    return [anvil, *shapes, Line((hand, handle), 5.0), Polygon(tuple(head), marker=marker)]


def pendulum(pivot: Point, length: float, height: float, marker: str) -> list[Shape]:
    """Return a pendulum, to the left at 0 and to the right at 1."""
    bob = reach(pivot, length, 90.0 + 42.0 * (1 - 2 * height))
    beam = Polygon(box(pivot[0] - 34, pivot[1] - 10, pivot[0] + 34, pivot[1]), SOFT)
    return [beam, Line((pivot, bob), 4.0), Disc(pivot, 5.0), Disc(bob, 24.0, marker=marker)]


def spinner(hub: Point, radius: float, turns: float, dot: str, centre: str) -> list[Shape]:
    """Return a wheel with one coloured dot near its rim, and a hub in another colour."""
    spokes: list[Shape] = [Line((hub, reach(hub, radius, 360.0 * (turns + k / 8))), 3.0, SOFT) for k in range(8)]
    rim = tuple(reach(hub, radius, angle) for angle in range(0, 361, 6))
    at = reach(hub, 0.74 * radius, 360.0 * turns)
    return [*spokes, Line(rim, 9.0), Line((hub, at), 7.0), Disc(at, 25.0, marker=dot), Disc(hub, 17.0, marker=centre)]


def whirler(feet: Point, size: float, turns: float, dot: str, centre: str) -> list[Shape]:
    """Return a figure that whirls a ball on a rope around its raised hand."""
    shapes, shoulder = person(feet, size, (-90.0, 68.0), (80.0, 100.0))
    hand = reach(shoulder, ARM * size, -90.0)
    ball = reach(hand, 0.44 * size, 360.0 * turns)
    return [*shapes, Line((hand, ball), 3.0), Disc(ball, 22.0, marker=dot), Disc(hand, 14.0, marker=centre)]


def walker(feet: Point, size: float, stride: float, heading: int) -> list[Shape]:
    """Return a walking figure seen from the side; knees and elbows bend.

    Args:
        feet: Under its hips, on the ground.
        size: Its height.
        stride: Where in the cycle of two steps, turns.
        heading: 1 for right, -1 for left.
    """
    wide = 0.055 * size
    thigh, arm = 0.22 * size, 0.18 * size
    hip = (feet[0], feet[1] - 0.42 * size - 0.015 * size * math.cos(2 * _TURN * stride))
    shoulder = (hip[0] + heading * 0.02 * size, hip[1] - 0.32 * size)
    shapes: list[Shape] = []
    for side in (0.0, 0.5):
        swing = math.sin(_TURN * (stride + side))
        bend = max(0.0, math.cos(_TURN * (stride + side)))
        knee = reach(hip, thigh, 90.0 - heading * 28.0 * swing)
        foot = reach(knee, thigh, 90.0 - heading * (28.0 * swing - 48.0 * bend))
        shapes.append(Line((hip, knee, foot, (foot[0] + heading * 0.06 * size, foot[1])), wide))
        elbow = reach(shoulder, arm, 90.0 + heading * 30.0 * swing)
        shapes.append(Line((shoulder, elbow, reach(elbow, arm, 90.0 + heading * (30.0 * swing - 35.0))), 0.8 * wide))
    return [*shapes, Line((hip, shoulder), 1.5 * wide), Disc((shoulder[0], shoulder[1] - 0.15 * size), 0.105 * size)]


def hopper(kind: str, feet: Point, size: float, height: float, marker: str) -> list[Shape]:
    """Return one of FORMS that hops: on the ground at 0, highest at 1."""
    return [form(kind, (feet[0], feet[1] - 40 - 150.0 * height), size, marker)]


def hole(centre: Point) -> Shape:
    """Return the shape of a hole that something pops out of."""
    x, y = centre
    points = tuple((x + 36 * math.cos(a * _TURN / 40), y + 11 * math.sin(a * _TURN / 40)) for a in range(40))
    return Polygon(points, INK)


def house(base: Point, size: float, marker: str) -> list[Shape]:
    """Return a house whose front has a marker's colour."""
    x, y = base
    wall = Polygon(box(x - size / 2, y - 0.8 * size, x + size / 2, y), marker=marker)
    roof = Polygon(((x - 0.62 * size, y - 0.8 * size), (x + 0.62 * size, y - 0.8 * size), (x, y - 1.25 * size)), INK)
    return [wall, roof]
