"""Questions decided by short events: order, a blink, and who moves together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final, TypeVar

import numpy as np

from vmmetrics.types import FloatArray
from vmmetrics.understanding.synthetic import figures
from vmmetrics.understanding.synthetic.figures import MARKERS, SIDE, Point, Shape, paint, room
from vmmetrics.understanding.synthetic.scenes import Draft, DrawnScene, Dwell, Reading, lifts, swings, unseen

# What every question is made with: options in their places, and times with pauses between.

T = TypeVar("T")
REST: Final = 0.6
"""Seconds at least in which nothing happens at either end of a clip."""
PAUSE: Final = 0.25
"""Seconds at least between two events."""


def colours(rng: np.random.Generator, count: int) -> tuple[str, ...]:
    """Some markers, in any order."""
    return tuple(str(name) for name in rng.permutation(list(MARKERS))[:count])


def placed(rng: np.random.Generator, right: T, others: Sequence[T], place: int) -> tuple[T, ...]:
    """Options with the right one at its place and the others in any order."""
    rest = [others[i] for i in rng.permutation(len(others))]
    return (*rest[:place], right, *rest[place:])


def counts(chosen: np.random.Generator, fewest: int, most: int) -> tuple[int, ...]:
    """Five numbers in a row, within limits: whoever knows the limits cannot tell which of them is right either."""
    first = int(chosen.integers(fewest, most - 4 + 1))
    return tuple(range(first, first + 5))


def rest(rng: np.random.Generator, dwell: Dwell) -> int:
    """Frames without an event: no fewer than the dwell, so that sampling may begin anywhere in it."""
    return max(dwell.seconds(REST), dwell.frames) + int(rng.integers(0, dwell.seconds(0.5)))


def moments(rng: np.random.Generator, dwell: Dwell, count: int) -> tuple[list[int], int]:
    """First frames of events that last the dwell, with pauses that tell nothing of how many there were.

    Returns:
        The first frames, and the length of the clip.
    """
    pause = max(dwell.seconds(PAUSE), dwell.frames)
    starts = [rest(rng, dwell)]
    for _ in range(count - 1):
        starts.append(starts[-1] + dwell.frames + pause + int(rng.integers(0, 2 * pause)))
    return starts, starts[-1] + dwell.frames + rest(rng, dwell)


# Questions whose answer is counted: repetitions, instances, and the ratio of two speeds.

LONGEST: Final = 6.5
"""Seconds of movement at most, unless so few repetitions fit in that the options would tell the right one."""
FEWEST, MOST = 5, 12
"""Repetitions and instances; of fewer, one missed would be a larger share, but the ends of the clip would tell more."""
_FLOOR: Final = 396.0
Actor = Callable[[float, str], Sequence[Shape]]
"""From the height of a swing, 0..1, and a colour to shapes."""


def _alone(name: str) -> Actor:
    """An actor by itself in the middle of the canvas."""
    middle = SIDE / 2
    actors: dict[str, Actor] = {
        "hammer": lambda h, c: figures.hammerer((middle - 70, _FLOOR), 240, h, c),
        "jumping jacks": lambda h, c: figures.jumping_jack((middle, _FLOOR), 250, h, c),
        "pendulum": lambda h, c: figures.pendulum((middle, 90), 210, h, c),
        "flag": lambda h, c: figures.flag_bearer((middle - 30, _FLOOR), 220, h, c),
    }
    return actors[name]


_REPEATED: Final = {
    "hammer": "How many times does the figure raise its {colour} hammer?",
    "jumping jacks": "How many times does the figure with {colour} gloves do a jumping jack?",
    "pendulum": "How many times does the {colour} pendulum swing over to the right side?",
    "flag": "How many times does the figure raise its {colour} flag?",
}


def repetitions(chosen: np.random.Generator, rng: np.random.Generator, dwell: Dwell, place: int) -> Draft:
    """How often something is repeated."""
    name = str(rng.choice(list(_REPEATED)))
    (colour,) = colours(rng, 1)
    values = counts(chosen, FEWEST, max(FEWEST + 4, min(MOST, int(LONGEST * dwell.min_fps / 2))))
    count = values[place]
    start = rest(rng, dwell)
    frames = start + 2 * dwell.frames * count + rest(rng, dwell)
    height = swings(frames, start, dwell.frames, count)
    actor = _alone(name)
    scene = DrawnScene(dwell.fps, frames, lambda i: actor(float(height[i]), colour), room(_FLOOR - 12))
    options = tuple(f"{v} times" for v in values)
    reading = Reading("cycles", (colour,), values)
    return Draft(scene, _REPEATED[name].format(colour=colour), options, place, reading, dwell.min_fps, name)


def instances(chosen: np.random.Generator, rng: np.random.Generator, dwell: Dwell, place: int) -> Draft:
    """How many balls pop up, one after the other, at no place twice in a row."""
    (colour,) = colours(rng, 1)
    values = counts(chosen, FEWEST + 1, min(MOST, int(LONGEST * dwell.min_fps)))
    count = values[place]
    start = rest(rng, dwell)
    frames = start + dwell.frames * count + rest(rng, dwell)
    holes: list[Point] = [(96.0 + 128 * column, 150.0 + 118 * row) for row in range(3) for column in range(3)]
    at = [int(rng.integers(len(holes)))]
    while len(at) < count:
        at.append((at[-1] + int(rng.integers(1, len(holes)))) % len(holes))
    rise = lifts(dwell.frames, (0,), dwell.frames)

    def shapes(frame: int) -> Sequence[Shape]:
        turn, step = divmod(frame - start, dwell.frames)
        if not 0 <= turn < count:
            return ()
        x, y = holes[at[turn]]
        return (figures.form("circle", (x, y - 8 - 22 * float(rise[step])), 30, colour),)

    background = room(70)
    paint(background, [figures.hole(hole) for hole in holes])
    text = f"{colour.capitalize()} balls pop out of the holes, one after the other. How often does one pop out?"
    reading = Reading("places", (colour,), values)
    options = tuple(f"{v} times" for v in values)
    return Draft(
        DrawnScene(dwell.fps, frames, shapes, background), text, options, place, reading, dwell.min_fps, "pop up"
    )


_PAIRS: Final = {
    "pendulums": "Two pendulums swing. Which one swings faster, and by how much?",
    "hammers": "Two figures raise their hammers again and again. Whose hammer is faster, and by how much?",
    "gloves": "Two figures do jumping jacks. Whose gloves go up and down faster, and by how much?",
}


def _pair(name: str, side: int) -> Actor:
    x = SIDE * (0.27 if side == 0 else 0.73)
    actors: dict[str, Actor] = {
        "pendulums": lambda h, c: figures.pendulum((x, 110), 150, h, c),
        "hammers": lambda h, c: figures.hammerer((x - 40, _FLOOR), 175, h, c),
        "gloves": lambda h, c: figures.jumping_jack((x, _FLOOR), 215, h, c),
    }
    return actors[name]


def speed(chosen: np.random.Generator, rng: np.random.Generator, dwell: Dwell, place: int) -> Draft:
    """Which of two moves faster, and how many times as fast; never alike, which no rate is too low to show."""
    name = str(rng.choice(list(_PAIRS)))
    first, second = colours(rng, 2)
    ratios = {f"the {first} one, 2 times as fast": 2.0, f"the {first} one, 3 times as fast": 3.0,
              f"the {second} one, 2 times as fast": 0.5, f"the {second} one, 3 times as fast": 1 / 3}  # fmt: skip
    words = list(ratios)
    right = words[int(chosen.integers(len(words)))]
    times = max(round(ratios[right]), round(1 / ratios[right]))
    slow = int(rng.integers(3, min(5, int(LONGEST * dwell.min_fps / 2 / times)) + 1))  # swings of the slower
    start = rest(rng, dwell)
    frames = start + 2 * dwell.frames * slow * times + rest(rng, dwell)
    quick, unhurried = (swings(frames, start, dwell.frames * n, slow * times // n) for n in (1, times))
    heights = (quick, unhurried) if ratios[right] > 1 else (unhurried, quick)
    actors = [_pair(name, side) for side in (0, 1)]

    def shapes(frame: int) -> Sequence[Shape]:
        return [*actors[0](float(heights[0][frame]), first), *actors[1](float(heights[1][frame]), second)]

    options = placed(rng, right, [word for word in words if word != right], place)
    reading = Reading("ratio", (first, second), tuple(ratios[option] for option in options))
    scene = DrawnScene(dwell.fps, frames, shapes, room(_FLOOR - 12))
    return Draft(scene, _PAIRS[name], options, place, reading, dwell.min_fps, name)


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


def _scene(dwell: Dwell, row: Row, names: Sequence[str], heights: Sequence[FloatArray]) -> DrawnScene:
    def shapes(frame: int) -> Sequence[Shape]:
        return [s for p, (c, h) in enumerate(zip(names, heights, strict=True)) for s in row(p, float(h[frame]), c)]

    return DrawnScene(dwell.fps, len(heights[0]), shapes, room(_FLOOR - 12))


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
    scene = DrawnScene(dwell.fps, frames, shapes, room(SIDE))
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
