"""Questions whose answer is counted: repetitions, instances, and the ratio of two speeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from vmmetrics.understanding.synthetic import figures
from vmmetrics.understanding.synthetic.ask import colours, counts, placed, rest
from vmmetrics.understanding.synthetic.drawing import SIDE, Point, Shape, paint, room
from vmmetrics.understanding.synthetic.motion import lifts, swings
from vmmetrics.understanding.synthetic.scenes import Draft, Dwell, Reading, Scene

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
    scene = Scene(dwell.fps, frames, lambda i: actor(float(height[i]), colour), room(_FLOOR - 12))
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
    return Draft(Scene(dwell.fps, frames, shapes, background), text, options, place, reading, dwell.min_fps, "pop up")


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
    scene = Scene(dwell.fps, frames, shapes, room(_FLOOR - 12))
    return Draft(scene, _PAIRS[name], options, place, reading, dwell.min_fps, name)
