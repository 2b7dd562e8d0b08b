"""What every question is made with: options in their places, and times with pauses between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import numpy as np

from vmmetrics.understanding.synthetic.drawing import MARKERS
from vmmetrics.understanding.synthetic.scenes import Dwell

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
