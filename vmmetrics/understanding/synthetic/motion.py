"""How things move: every change that decides an answer lasts exactly as many frames as it was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from vmmetrics.types import FloatArray

_FLATNESS: Final = 0.4
"""Power of the sine that swings follow: below 1 they linger at their ends. 0.4 keeps every frame of a raised half above
0.70 and of a lowered one below 0.30 where a half has up to 15 frames: even if each is seen in its least telling frame,
half of the height seen tells them apart. Slower ones (0.63 and 0.37 at LONGEST) are seen in several frames."""
LONGEST: Final = 45
"""Frames of half a swing, at most: three times 15, of the slower of two."""


def swings(frames: int, start: int, half: int, count: int) -> FloatArray:
    """Go up and down again some times.

    Args:
        frames: Length of the clip.
        start: Frame with which the first raised half begins.
        half: Frames that each raised half, and each lowered one between two, lasts.
        count: How many times it is raised.

    Returns:
        (frames,) height in 0..1: above 1/2 in the raised halves and below 1/2 in all other frames; 0 at rest.
    """
    steps = np.arange(frames) - start + 0.5
    wave = np.sin(np.pi * steps / half)
    height = 0.5 + 0.5 * np.sign(wave) * np.abs(wave) ** _FLATNESS
    # the first and last lowered half is moved through for half its length: from rest at the very bottom, and back to it
    moving = (steps > -half / 2) & (steps < (2 * count - 0.5) * half)
    return np.where(moving, height, 0.0)


def lifts(frames: int, starts: Sequence[int], length: int) -> FloatArray:
    """Go up and come back at some times, at rest in all other frames.

    Args:
        frames: Length of the clip.
        starts: First frame of each lift.
        length: Frames that each takes.

    Returns:
        (frames,) height in 0..1; 0 exactly outside of the lifts.
    """
    height = np.zeros(frames)
    for start in starts:
        arc = np.sin(np.pi * (np.arange(length) + 0.5) / length) ** _FLATNESS
        height[start : start + length] = arc[: frames - start]
    return height


def turning(frames: int, dwell: int, signs: tuple[int, int], waves: float, phase: float) -> FloatArray:
    """Turn at a speed that swells and ebbs, one way and then perhaps the other.

    The largest step over ``dwell`` frames is MOST_OF_A_TURN, so frames no further apart than that show which way it
    goes; frames further apart show now one way, now the other.

    Args:
        frames: Length of the clip.
        dwell: Frames over which it never turns by half a turn.
        signs: +1 (clockwise on the screen) or -1, in the first and second half of the clip.
        waves: Times that the speed swells in each half; it is full in half of each.
        phase: In 0..1, where in a wave each half begins.

    Returns:
        (frames,) angle in turns.
    """
    half = frames // 2
    places = np.arange(frames - 1)
    share = np.where(places < half, places / half, (places - half) / (frames - half))
    swell = np.minimum(1.0, SLOWEST + 2 * (1 - SLOWEST) * np.sin(np.pi * (waves * share + phase)) ** 2)
    sign = np.where(places < half, signs[0], signs[1])
    return np.concatenate([[0.0], np.cumsum(sign * swell * MOST_OF_A_TURN / dwell)])


MOST_OF_A_TURN: Final = 0.45
"""Turned over the dwell at full speed; from half a turn on the way cannot be told."""
SLOWEST: Final = 0.3
"""Of the full speed: steps seen at too low a rate then differ so much that they cannot all look like one way."""
