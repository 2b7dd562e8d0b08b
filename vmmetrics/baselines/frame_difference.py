"""Mean absolute difference of consecutive frames."""

from __future__ import annotations

import itertools

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.baselines.frames import need_two


def frame_difference(frames: NDArray[np.uint8]) -> float:
    """Return the mean of |I(t+1) − I(t)| over pixels, channels and pairs: levels in 0..255, lower is steadier.

    Args:
        frames: (T, H, W, 3) or (T, H, W) uint8, T at least 2.

    Raises:
        ValueError: Too few frames.
    """
    need_two(frames)
    total = sum(int(cv2.absdiff(a, b).sum(dtype=np.int64)) for a, b in itertools.pairwise(frames))
    return float(total / (frames.size - frames[0].size))
