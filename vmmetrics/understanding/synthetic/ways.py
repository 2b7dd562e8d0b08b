"""Questions on directions: of rotation, and of the camera."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from vmmetrics.types import FloatArray
from vmmetrics.understanding.synthetic import figures
from vmmetrics.understanding.synthetic.figures import GROUND, SIDE, SOFT, WALL, Disc, Picture, Polygon, Shape, box
from vmmetrics.understanding.synthetic.questions import QuestionSlot, colours, placed, rest
from vmmetrics.understanding.synthetic.scenes import MARGIN, Draft, DrawnScene, Dwell, Reading, lifts, turning, unseen

_DIRECTIONS: Final = {
    "++": "clockwise all the time",
    "--": "anticlockwise all the time",
    "+-": "first clockwise, then anticlockwise",
    "-+": "first anticlockwise, then clockwise",
}
"""Options by the sign of rotation in the first and second half of the clip: "+" clockwise, "-" anticlockwise."""
_TURNING: Final = {
    "wheel": ("the wheel with the {colour} dot turn", figures.spinner, (SIDE / 2, SIDE / 2), 160),
    "ball": ("the figure whirl the {colour} ball, as seen in the video", figures.whirler, (SIDE / 2, 424), 230),
}


_HALF: Final = 2.2
"""Least seconds of rotation in one direction."""


def direction(rng: np.random.Generator, dwell: Dwell, turn: QuestionSlot) -> Draft:
    """Draw a question on which way something turns, at a speed that swells and ebbs."""
    name = str(rng.choice(list(_TURNING)))
    dot, hub = colours(rng, 2)
    right = list(_DIRECTIONS)[turn.answer]
    first, second = (1 if sign == "+" else -1 for sign in right)
    half = max(dwell.seconds(_HALF), 6 * dwell.frames)
    waves = float(rng.uniform(1.0, min(3.0, half / (6 * dwell.frames))))  # full speed lasts three dwells at a time
    turns = turning(2 * half, dwell.frames, (first, second), waves, float(rng.random()))
    turns = turns + rng.random()
    what, draw, at, size = _TURNING[name]
    scene = DrawnScene(dwell.fps, 2 * half, lambda frame: draw(at, size, float(turns[frame]), dot, hub))
    values = placed(rng, right, [signs for signs in _DIRECTIONS if signs != right], turn.position)
    options, reading = tuple(_DIRECTIONS[value] for value in values), Reading("turning", (dot, hub), values)
    text = f"Which way does {what.format(colour=dot)}?"
    return Draft(scene, text, options, turn.position, reading, dwell.min_fps, name)


_CAMERA: Final = {
    "left": ("it pans to the left", 78.0),
    "right": ("it pans to the right", -78.0),
    "in": ("it zooms in on the houses", 0.26),
    "out": ("it zooms out from the houses", -0.26),
    "roll": ("it rolls to one side", 13.0),
    "still": ("it does not move at all", 0.0),
}
"""Camera motions as text, and their extent: pixels, logarithm of scale, degrees; landmarks stay in the frame."""
_CAMERA_START: Final = (24.0, 0.12, 6.0)
"""Largest initial offset of the camera: pixels, logarithm of scale, degrees."""
_CENTRE: Final = (SIDE / 2, 232.0)
"""Centre of zoom and roll: midway between the landmarks, so that neither moves their midpoint."""
_SLOW: Final = 4.0
"""Seconds of a clip with lasting camera motion: two frames decide, and every phase has two at 2 / 4 fps."""


_JOLTED: Final = 2.0
"""Seconds of a clip, rests excluded, in which the camera may jolt."""


def camera(rng: np.random.Generator, dwell: Dwell, turn: QuestionSlot) -> Draft:
    """Draw a question on the camera's lasting motion while somebody walks by; six answers, one not offered."""
    kinds = list(_CAMERA)
    right = kinds.pop(turn.answer)
    kinds.pop((turn.answer + turn.number // len(_CAMERA)) % len(kinds))
    text = "Somebody walks past two houses. What does the camera do meanwhile?"
    moved = np.linspace(-0.5, 0.5, dwell.seconds(_SLOW))
    return _filmed(rng, dwell, text, right, placed(rng, right, kinds, turn.position), moved, 2 / _SLOW)


def jolt(rng: np.random.Generator, dwell: Dwell, turn: QuestionSlot) -> Draft:
    """Draw a question on the camera's brief motion while somebody walks by."""
    kinds = [kind for kind in _CAMERA if kind != "still"]
    right = kinds.pop(turn.answer)
    frames = 2 * rest(dwell) + dwell.seconds(_JOLTED)
    edge = max(dwell.seconds(0.5), dwell.frames)
    start = int(rng.choice(unseen(frames, dwell, edge, frames - edge - dwell.frames)))
    text = "Somebody walks past two houses. What does the camera do for a moment, before it comes back?"
    moved = lifts(frames, (start,), dwell.frames)
    return _filmed(rng, dwell, text, right, placed(rng, right, kinds, turn.position), moved, dwell.min_fps)


def _filmed(
    rng: np.random.Generator,
    dwell: Dwell,
    text: str,
    right: str,
    values: tuple[str, ...],
    moved: FloatArray,
    min_fps: float,
) -> Draft:
    """Return a question on somebody who walks by, filmed by a camera at a share of its motion in each frame, (T,)."""
    view = _view(rng)
    landmarks = colours(rng, 2)
    heading = int(rng.choice([-1, 1]))
    pace, phase = 0.9 * dwell.fps, float(rng.random())  # frames of a double step

    def shapes(frame: int) -> Sequence[Shape]:
        way = 250 * (frame / (len(moved) - 1) - 0.5)
        somebody = figures.walker((SIDE / 2 + heading * way, 404), 116, frame / pace + phase, heading)
        houses = [
            s for x, c in zip((-72, 72), landmarks, strict=True) for s in figures.house((SIDE / 2 + x, 264), 80, c)
        ]
        return [*houses, *somebody]

    def seen_from(frame: int) -> FloatArray:
        motion = _matrix(right, _CAMERA[right][1] * float(moved[frame]))
        return np.column_stack([view[:, :2] @ motion[:, :2], view[:, :2] @ motion[:, 2] + view[:, 2]])

    scene = DrawnScene(dwell.fps, len(moved), shapes, _landscape(rng), seen_from)
    options = tuple(_CAMERA[value][0] for value in values)
    index = values.index(right)
    return Draft(scene, text, options, index, Reading("camera", landmarks, values), min_fps, right)


def _matrix(kind: str, amount: float) -> FloatArray:
    """Return the affine matrix (2, 3) from world to canvas."""
    scale = float(np.exp(amount)) if kind in ("in", "out") else 1.0
    angle = np.radians(amount) if kind == "roll" else 0.0
    turned = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = np.array(_CENTRE) - turned @ _CENTRE + ((amount, 0.0) if kind in ("left", "right") else (0.0, 0.0))
    return np.column_stack([turned, moved])


def _view(rng: np.random.Generator) -> FloatArray:
    """Draw the camera's initial view, (2, 3) affine, slightly off level so that one frame reveals nothing."""
    x, zoom, roll = rng.uniform(-1, 1, 3) * _CAMERA_START
    view = _matrix("in", zoom)
    view[:, :2] = _matrix("roll", roll)[:, :2] @ view[:, :2]
    view[:, 2] = np.array(_CENTRE) - view[:, :2] @ _CENTRE + (x, 0.0)
    return view


def _landscape(rng: np.random.Generator) -> Picture:
    """Return hills, trees and a path that exceed the canvas on all sides."""
    side = SIDE + 2 * MARGIN
    world = np.full((side, side, 3), WALL, np.uint8)
    shift = np.array([[1.0, 0.0, MARGIN], [0.0, 1.0, MARGIN]])
    right, bottom = SIDE + MARGIN, SIDE + MARGIN
    hills: list[Shape] = [Polygon(box(-MARGIN, 262, right, bottom), (226, 228, 214))]
    hills += [Disc((float(x), 330.0 + float(rng.uniform(-20, 20))), float(rng.uniform(70, 120)), (226, 228, 214))
              for x in range(-MARGIN, right, 90)]  # fmt: skip
    ground: list[Shape] = [
        Polygon(box(-MARGIN, 300, right, bottom), GROUND),
        Polygon(box(-MARGIN, 392, right, 418), WALL),
    ]
    trees: list[Shape] = []
    for x in range(-MARGIN + 20, right, 74):
        if min(abs(x - SIDE / 2 - 72), abs(x - SIDE / 2 + 72)) > 52:  # not before a house
            foot = 300.0 + float(rng.uniform(0, 16))
            trees += [Polygon(box(x - 4, foot - 40, x + 4, foot), (128, 130, 136)), Disc((x, foot - 52), 22.0, SOFT)]
    figures.paint(world, [*hills, *ground, *trees], shift)
    return world
