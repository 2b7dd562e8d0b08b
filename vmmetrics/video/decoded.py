"""What each reader hands to :func:`vmmetrics.video.reader.read_clip`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmmetrics.types import FloatArray
from vmmetrics.video.timing import Timing


@dataclass(frozen=True, slots=True)
class Decoded:
    """Frames out of one source, before they are named.

    Attributes:
        frames: (T, H, W, 3) uint8 RGB.
        timing: Their times.
        size: (width, height) as stored in the source.
        notes: What was assumed or changed, times apart.
    """

    frames: NDArray[np.uint8]
    timing: Timing
    size: tuple[int, int]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which frames are wanted, and how large.

    Attributes:
        choose: From the times of all frames, (T,) seconds from the first, and the time at which the last one ends, to
            the indices of those that are wanted: at least one.
        side: Longer side that frames are made smaller to; None keeps them as they are.
    """

    choose: Callable[[FloatArray, float], Sequence[int]]
    side: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What the caller allows and assumes.

    Attributes:
        max_memory: Bytes a clip may take while it is scored.
        assume_fps: Frame rate where the source states none.
        fps: Frame rate that overrides what the source states, or None.
        sampling: Which frames are wanted; None for all.
    """

    max_memory: int
    assume_fps: float
    fps: float | None = None
    sampling: Sampling | None = None
