"""Defects of time alone: which frame of the clip is shown when.

Each takes the number of frames, a strength in (0, 1], frames per second and a generator, and returns the order: for
each displayed frame the index of the one it shows. The same generator state gives the same moments at every strength.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

# What a strength in (0, 1] means: a table of amounts, a quarter of the scale apart, and what lies between them.

RUNGS = 4
"""Steps of the ladder that the tables come from: rung r, of which 1 is just visible in play and 4 glaring, is strength
r / RUNGS."""


def graded(strength: float, amounts: Sequence[float], none: float = 0.0) -> float:
    """Return the amount at ``strength``, between the tabulated ones along straight lines.

    Args:
        strength: In [0, 1].
        amounts: At strengths 1/n, 2/n, ..., 1.
        none: At strength 0.

    >>> graded(0.5, (1.0, 3.0)), graded(1.0, (0.5,)), graded(0.25, (1.0, 3.0))
    (1.0, 0.5, 0.5)
    """
    places = np.arange(len(amounts) + 1) / len(amounts)
    return float(np.interp(strength, places, (none, *amounts)))


def events(strength: float, counts: Sequence[int]) -> int:
    """Return how often something happens at ``strength``: as :func:`graded`, rounded half up; 0 near strength 0.

    >>> events(0.1, (1, 2, 3, 5)), events(0.125, (1, 2, 3, 5)), events(1.0, (1, 2, 3, 5))
    (0, 1, 5)
    """
    return int(graded(strength, counts) + 0.5)


Rng = np.random.Generator
Order = NDArray[np.int64]
Timing = Callable[[int, float, float, Rng], Order]


def moments(rng: Rng, count: int, number: int, gap: int) -> list[int]:
    """Return up to ``number`` frames in random order, not within ``gap`` of one another nor of the ends."""
    chosen: list[int] = []
    for t in rng.permutation(np.arange(2, max(3, count - 2))):
        if all(abs(int(t) - other) > gap for other in chosen):
            chosen.append(int(t))
        if len(chosen) == number:
            break
    return chosen


def reversal(count: int, strength: float, fps: float, rng: Rng) -> Order:
    """Time turns round: once, twice, three, five times."""
    turns = set(moments(rng, count, 5, gap=round(0.2 * fps))[: events(strength, (1, 2, 3, 5))])
    place, step, order = 0, 1, []
    for t in range(count):
        order.append(place)
        step = -step if t in turns else step
        if not 0 <= place + step < count:
            step = -step
        place += step
    return np.array(order)


def loop(count: int, strength: float, fps: float, rng: Rng) -> Order:
    """The clip jumps back by half a second and shows the same again, once to four times."""
    back = round(0.5 * fps)
    jumps = moments(rng, count, RUNGS, gap=round(0.25 * fps))[: events(strength, (1, 2, 3, 4))]
    order, place = [], 0
    for t in range(count):
        place = max(0, place - back) if t in jumps else place
        order.append(min(place, count - 1))
        place += 1
    return np.array(order)


def freeze_jump(count: int, strength: float, fps: float, rng: Rng) -> Order:
    """The clip stands still and then jumps to where it should be."""
    length = max(2, round(graded(strength, (0.4, 0.6, 0.8, 1.0)) * fps))
    order = np.arange(count)
    for start in sorted(moments(rng, count, 2, gap=round(0.9 * fps)))[: events(strength, (1, 2, 2, 2))]:
        order[start : start + length] = start
    return order


def shuffle(count: int, strength: float, fps: float, rng: Rng) -> Order:
    """Frames stand out of their order, by little or by much."""
    spread = graded(strength, (0.06, 0.12, 0.25, 0.5)) * fps
    noise = rng.normal(size=count)
    return np.round(np.arange(count) + spread * noise).clip(0, count - 1).astype(np.int64)


def stutter(count: int, strength: float, _fps: float, rng: Rng) -> Order:
    """Single frames are shown twice, each in place of the one after it."""
    spots = rng.permutation(np.arange(2, max(3, count - 1), 3))
    order = np.arange(count)
    for t in spots[: round(strength * len(spots))]:
        order[t] -= 1
    return order


def drop(count: int, strength: float, fps: float, rng: Rng) -> Order:
    """Frames are missing: the clip jumps ahead, twice, and is shorter."""
    length = round(graded(strength, (0.5,)) * fps)
    gone = {t + i for t in moments(rng, max(count - length, 0), 2, gap=length) for i in range(length)}
    return np.array([t for t in range(count) if t not in gone])


def standstill(count: int, strength: float, _fps: float, _rng: Rng) -> Order:
    """All motion ends before the clip does."""
    last = max(0, round((1 - 0.9 * strength) * count) - 1)
    return np.minimum(np.arange(count), last)


TIMINGS: dict[str, Timing] = {
    f.__name__: f for f in (reversal, loop, freeze_jump, shuffle, stutter, drop, standstill)
}  # fmt: skip


def breaks_of(order: Order) -> tuple[int, ...]:
    """Return the displayed frames that do not show what follows the one before."""
    return tuple((np.flatnonzero(np.diff(order) != 1) + 1).tolist())
