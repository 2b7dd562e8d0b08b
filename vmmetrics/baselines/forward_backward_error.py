"""How far forward and backward flow are from undoing each other (Sundaram et al., ECCV 2010, as a number)."""

from __future__ import annotations

import numpy as np

from vmmetrics.perception.embedded.flow import look_up, pixel_grid
from vmmetrics.types import FloatArray


def forward_backward_error(forward: FloatArray, backward: FloatArray) -> float | None:
    """Return the mean of |f(x) + b(x + f(x))| in thousandths of the frame's diagonal: lower is more consistent.

    The mean is taken over the pixels of a pair that stay in the picture, then over pairs.

    Args:
        forward: (T-1, h, w, 2) pixels, from each frame to the next.
        backward: (T-1, h, w, 2) pixels, from each next frame back.

    Returns:
        The error, or None where every pixel of every pair leaves the picture.
    """
    height, width = forward.shape[1:3]
    grid = pixel_grid(width, height)
    errors = []
    for there, back in zip(forward, backward, strict=True):
        target = grid + there
        x, y = target[..., 0], target[..., 1]
        inside = (x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1)
        if inside.any():
            gap = there + look_up(back, target)
            errors.append(float(np.hypot(gap[..., 0], gap[..., 1])[inside].mean(dtype=np.float64)))
    return 1000 * float(np.mean(errors)) / float(np.hypot(width, height)) if errors else None
