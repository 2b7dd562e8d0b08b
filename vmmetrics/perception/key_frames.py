"""The frames in which the released code looks for objects: about one a second."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RATE_TOLERANCE = 0.01
"""Frames per second. A mean rate taken from rounded times may lie this little below the whole number that a file states
(times in whole milliseconds over two seconds: 0.006 at 24); 23.976 and its like lie further."""


def released_step(fps: float) -> int:
    """Return the released code's frames between key frames, int(fps) − 1; it fails where that is below 1."""
    return int(fps + RATE_TOLERANCE) - 1


def released_key_frames(num_frames: int, fps: float) -> NDArray[np.int64]:
    """Return the (C,) indices of the key frames of a clip of ``num_frames`` at ``fps``.

    Raises:
        ValueError: Below 2 frames a second.

    Example:
        >>> released_key_frames(49, 8.0).tolist()
        [0, 7, 14, 21, 28, 35, 42]
    """
    step = released_step(fps)
    if step < 1:
        raise ValueError(f"Expected fps of at least 2 but got {fps} (where the released code fails)")
    return np.arange(0, num_frames, step, dtype=np.int64)
