"""Warping error: what is left of the difference of two frames once motion is taken out.

Lai et al., "Learning Blind Video Temporal Consistency", ECCV 2018, equation 10. Its first frame is subtracted from the
second one brought back along the flow, where forward and backward flow agree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.flow import look_up, pixel_grid
from vmmetrics.types import BoolArray, FloatArray


def warping_error(frames: NDArray[np.uint8], forward: FloatArray, valid: BoolArray) -> float | None:
    """Return the mean of (I(t)[x] − I(t+1)[x + f(x)])² with intensities in 0..1: lower is steadier.

    The mean is taken over channels and valid pixels of a pair, then over pairs; a pair without a valid pixel, where
    the formula has no value, is left out.

    Args:
        frames: (T, h, w, 3) uint8 at the resolution of the flow.
        forward: (T-1, h, w, 2) pixels, from each frame to the next.
        valid: (T-1, h, w) bool, where the flow is to be trusted and its target lies in the picture.

    Returns:
        The error, or None where no pair has a valid pixel.
    """
    height, width = frames.shape[1:3]
    grid = pixel_grid(width, height)
    errors = []
    for t, trusted in enumerate(valid):
        if trusted.any():
            brought = look_up(frames[t + 1].astype(np.float32), grid + forward[t])
            gap = (brought - frames[t])[trusted] / 255
            errors.append(float(np.mean(gap * gap, dtype=np.float64)))
    return float(np.mean(errors)) if errors else None
