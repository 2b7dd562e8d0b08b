"""Questions decided by short events: order, a blink, and who moves together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from vmmetrics.types import FloatArray
from vmmetrics.understanding.synthetic import figures
from vmmetrics.understanding.synthetic.ask import colours, moments, placed, rest
from vmmetrics.understanding.synthetic.drawing import SIDE, Shape, room
from vmmetrics.understanding.synthetic.motion import lifts
from vmmetrics.understanding.synthetic.rates import unseen
from vmmetrics.understanding.synthetic.scenes import Draft, Dwell, Reading, Scene

_FLOOR: Final = 396.0
_HOP: Final = 150.0
Row = Callable[[int, float, str], Sequence[Shape]]
"""From a place in a row, a height 0..1 and a colour to shapes."""


def _row(name: str, rng: np.random.Generator, of: int) -> Row:
    forms = [figures.FORMS[i] for i in rng.permutation(len(figures.FORMS))]

    def x(place: int) -> float:
        return SIDE * (place + 0.5) / of

    rows: dict[str, Row] = {
        "flags": lambda p, h, c: figures.flag_bearer((x(p) - 20, _FLOOR), 132, h, c),
        "gloves": lambda p, h, c: figures.jumping_jack((x(p), _FLOOR), 124, h, c),
        "shapes": lambda p, h, c: (figures.form(forms[p], (x(p), _FLOOR - 40 - _HOP * h), 36, c),),
    }
    return rows[name]


def _scene(dwell: Dwell, row: Row, names: Sequence[str], heights: Sequence[FloatArray]) -> Scene:
    def shapes(frame: int) -> Sequence[Shape]:
        return [s for p, (c, h) in enumerate(zip(names, heights, strict=True)) for s in row(p, float(h[frame]), c)]

    return Scene(dwell.fps, len(heights[0]), shapes, room(_FLOOR - 12))


_ORDERED: Final = {
    "flags": "Each figure raises its flag once. In which order are the flags raised?",
    "gloves": "Each figure does one jumping jack. In which order do the gloves go up?",
    "shapes": "Each of the four shapes hops once. In which order do they hop?",
}


def order(_: np.random.Generator, rng: np.random.Generator, dwell: Dwell, place: int) -> Draft:
    """In which order four of them move. The wrong orders swap the first two, the last two, or both.

    Who misses one of the four cannot tell two options apart. Any of the options could be the one that the others were
    made from, so words alone do not tell either.
    """
    name = str(rng.choice(list(_ORDERED)))
    names = colours(rng, 4)
    right = tuple(names[i] for i in rng.permutation(4))
    starts, frames = moments(rng, dwell, 4)
    heights = [lifts(frames, (starts[right.index(c)],), dwell.frames) for c in names]
    a, b, c, d = right
    values = placed(rng, right, [(b, a, c, d), (a, b, d, c), (b, a, d, c)], place)
    reading = Reading("order", names, values)
    scene = _scene(dwell, _row(name, rng, 4), names, heights)
    options = tuple(", ".join(value) for value in values)
    return Draft(scene, _ORDERED[name], options, place, reading, dwell.min_fps, name)


def flash(_: np.random.Generator, rng: np.random.Generator, dwell: Dwell, place: int) -> Draft:
    """Which of five shapes that bob about is not there for a moment."""
    names = colours(rng, 5)
    gone = int(rng.integers(5))
    frames = 2 * rest(rng, dwell) + dwell.seconds(float(rng.uniform(1.5, 3.0)))
    edge = max(dwell.seconds(0.5), dwell.frames)
    start = int(rng.choice(unseen(frames, dwell, edge, frames - edge - dwell.frames)))
    forms = [figures.FORMS[i] for i in rng.permutation(5)]
    angles = 2 * np.pi * (np.arange(5) / 5 + rng.random())
    beats, phases = rng.uniform(0.2, 0.4, 5), rng.random(5)

    def shapes(frame: int) -> Sequence[Shape]:
        bob = 16 * np.sin(2 * np.pi * (beats * frame / dwell.fps + phases))
        hidden = gone if start <= frame < start + dwell.frames else None
        return [
            figures.form(forms[k], (SIDE / 2 + 142 * float(np.cos(angles[k])),
                                    SIDE / 2 + 142 * float(np.sin(angles[k])) + float(bob[k])), 40, names[k])
            for k in range(5) if k != hidden
        ]  # fmt: skip

    right = names[gone]
    values = placed(rng, right, [c for c in names if c != right], place)
    options = tuple(f"the {c} {forms[names.index(c)]}" for c in values)
    reading = Reading("gone", names, values)
    scene = Scene(dwell.fps, frames, shapes, room(SIDE))
    text = "One of the shapes vanishes for a moment and comes back. Which one is it?"
    return Draft(scene, text, options, place, reading, dwell.min_fps, "shapes")


_TOGETHER: Final = {
    "flags": "Which two figures always raise their flags together?",
    "gloves": "Which two figures do all their jumping jacks together? Tell them by their gloves.",
    "shapes": "Which two shapes always hop together?",
}


def synchrony(_: np.random.Generator, rng: np.random.Generator, dwell: Dwell, place: int) -> Draft:
    """Which two of four move together: one moment gives each of the two others away."""
    name = str(rng.choice(list(_TOGETHER)))
    names = colours(rng, 4)
    a, b, c, d = (names[i] for i in rng.permutation(4))
    count = int(rng.integers(4, 6))
    starts, frames = moments(rng, dwell, count)
    lone = rng.permutation(count)[:2]
    still = {int(lone[0]): d, int(lone[1]): c}  # who stays at rest in which event
    heights = [
        lifts(frames, [s for k, s in enumerate(starts) if still.get(k) != colour], dwell.frames) for colour in names
    ]
    pairs = [pair for pair in combinations(names, 2) if set(pair) != {a, b}]
    right = tuple(colour for colour in names if colour in (a, b))
    values = placed(rng, right, [pairs[i] for i in rng.permutation(len(pairs))[:4]], place)
    reading = Reading("together", names, values)
    scene = _scene(dwell, _row(name, rng, 4), names, heights)
    options = tuple(f"{first} and {second}" for first, second in values)
    return Draft(scene, _TOGETHER[name], options, place, reading, dwell.min_fps, name)
