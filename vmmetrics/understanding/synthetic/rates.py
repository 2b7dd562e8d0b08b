"""The rates at which a question must not be answerable, and where in a clip they show nothing."""

from __future__ import annotations

from typing import Final

import numpy as np

from vmmetrics.understanding.synthetic.scenes import Dwell, sampled

TOLERANCE: Final = 0.2
"""No question can be answered at a rate this share below its minFPS. Just below, one more than needed of N moments may
happen to be seen: counting N needs N frames, which N - 1 dwells and a frame can hold, so 1 / 5 for the fewest (5)."""
_TRIED: Final = (30.0, 24.0, 20.0, 16.0, 15.0, 12.0, 10.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.5, 0.25)
"""Rates that models are commonly shown, and those that the procedure for minFPS begins with. Of all whole rates up to
24 some show a single frame wherever it is."""


def too_low(min_fps: float) -> list[float]:
    """Rates that a question must not be answerable at where frames are taken from the beginning of its clip.

    >>> too_low(4.0)
    [3.0, 2.0, 1.0, 0.5, 0.25]
    """
    return [rate for rate in _TRIED if rate <= (1 - TOLERANCE) * min_fps]


def unseen(frames: int, dwell: Dwell, first: int, last: int) -> list[int]:
    """Frames with which something that lasts the dwell can begin so that no rate that is too low shows it.

    Args:
        frames: Length of the clip.
        dwell: How long it lasts.
        first: Earliest beginning.
        last: Latest.

    Returns:
        Such beginnings; all of them where there is none.
    """
    shown = np.zeros(frames + dwell.frames, bool)
    for rate in too_low(dwell.min_fps):
        shown[sampled(frames, dwell.fps, rate)] = True
    every = range(first, last + 1)
    return [start for start in every if not shown[start : start + dwell.frames].any()] or list(every)
