"""Tripwires: plain measures of a clip that betray a policy which games a reward; none of them is a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vmmetrics.types import FloatArray, UInt8Array

TRIPWIRES = "tripwires"
"""What they are called among the events of a clip."""
STILL_LEVELS = 0.05
"""Mean change of block brightness in grey levels up to which a step between frames shows the same picture: copies of a
frame in H.264 at crf 23 differ by up to 0.022. Of 17 real clips of training, people at rest have a tenth of such steps
at most. Grain that no codec removed counts as motion."""
_BLOCKS = 32  # rows and columns of blocks at most
_PART = 64  # frames whose blocks are in memory at a time
_END = 0.2  # share of the clip that its beginning and its end are
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)

UNITS: Mapping[str, str] = {
    "frozen_share": "share of the steps between frames, 0..1",
    "onset": "seconds before the first motion",
    "loop": "0..1; 1 where the last frame is the first one again",
    "exposure_drift": "change of the mean brightness from beginning to end, -1..1 of its range",
    "saturation_drift": "change of the mean saturation from beginning to end, -1..1",
    "flicker": "mean change of the mean brightness against its trend, 0..1 of its range",
}
"""Unit of every tripwire."""


@dataclass(frozen=True, slots=True)
class Tripwires:
    """Tripwires of a clip; :data:`UNITS` has their units.

    Attributes:
        frozen_share: Steps in which nothing moves.
        onset: Time until something moves; the length of the clip where nothing does.
        loop: How far the clip ends where it began, against how far it went.
        exposure_drift: Brightness of its end less that of its beginning.
        saturation_drift: Saturation of its end less that of its beginning.
        flicker: Jumps of the brightness of the whole frame.
    """

    frozen_share: float
    onset: float
    loop: float
    exposure_drift: float
    saturation_drift: float
    flicker: float


def tripwires(frames: UInt8Array, fps: float) -> Tripwires:
    """Measure the tripwires of a clip.

    Brightness is compared over blocks, less the mean of the frame, so that neither grain nor a change of exposure
    counts as motion.

    Args:
        frames: (T, H, W, 3) uint8 RGB, T of 2 or more.
        fps: Frames per second.

    Raises:
        ValueError: There is one frame.

    Example:
        >>> still = np.full((9, 64, 64, 3), 80, np.uint8)
        >>> tripwires(still, fps=8).onset, tripwires(still, fps=8).frozen_share
        (1.125, 1.0)
    """
    meter = TripwireMeter()
    for first in range(0, len(frames), _PART):
        meter.add(frames[first : first + _PART])
    return meter.tripwires(fps)


class TripwireMeter:
    """What tripwires need of the frames of a clip, which come in parts: a few numbers of each are kept."""

    def __init__(self) -> None:
        self._ends: list[FloatArray] = []  # shapes of the first frame of all, and of the last one so far
        self._numbers: list[FloatArray] = []

    def add(self, frames: UInt8Array) -> None:
        """Take the next frames in, (T, H, W, 3) uint8 RGB."""
        colours = np.stack([_block_means(frame) for frame in frames])
        luma = colours @ _LUMA
        means = luma.mean((1, 2))
        shapes = luma - means[:, None, None]
        first, last = self._ends or (shapes[0], shapes[0])
        steps = np.abs(np.diff(shapes, axis=0, prepend=last[None])).mean((1, 2))
        away = np.abs(shapes - first).mean((1, 2))
        most = colours.max(-1)
        saturation = ((most - colours.min(-1)) / np.maximum(most, 1)).mean((1, 2))
        self._numbers.append(np.stack([means, steps, away, saturation]))
        self._ends = [first.copy(), shapes[-1].copy()]

    def tripwires(self, fps: float) -> Tripwires:
        """Return the tripwires of the clip; errors as for :func:`tripwires`."""
        means, steps, away, saturation = np.concatenate(self._numbers, axis=1)
        if len(means) < 2:
            raise ValueError("Expected two frames or more but got one")
        moving = steps[1:] > STILL_LEVELS
        onset = int(np.argmax(moving)) if moving.any() else len(means)
        jumps = np.abs(np.diff(means, 2)) / 2 if len(means) > 2 else np.zeros(1)
        return Tripwires(
            frozen_share=float(1 - moving.mean()),
            onset=onset / fps,
            loop=float(1 - away[-1] / away.max()) if away.max() > STILL_LEVELS else 0.0,
            exposure_drift=_drift(means / 255),
            saturation_drift=_drift(saturation),
            flicker=float(jumps.mean() / 255),
        )


def _block_means(frame: UInt8Array) -> FloatArray:
    """Return the mean colour of blocks, (rows, columns, 3) float32; what is left over at the edges is left out."""
    high, wide = (max(1, side // _BLOCKS) for side in frame.shape[:2])
    rows, columns = frame.shape[0] // high, frame.shape[1] // wide
    lines = frame[: rows * high, : columns * wide].reshape(rows, high, -1).sum(1, dtype=np.uint32)  # by lines: faster
    sums = lines.reshape(rows, columns, wide, 3).sum(2)
    means: FloatArray = (sums / (high * wide)).astype(np.float32)
    return means


def _drift(values: FloatArray) -> float:
    """Return the mean of the last values less that of the first."""
    count = max(1, round(_END * len(values)))
    return float(values[-count:].mean() - values[:count].mean())
