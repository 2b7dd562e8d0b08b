"""VBench's temporal flickering.

Huang et al., "VBench: Comprehensive Benchmark Suite for Video Generative Models", CVPR 2024, and its released code: the
frames as stored, in colour, neither resized nor sampled. VBench means it for static scenes alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vmmetrics.baselines.frame_difference import frame_difference


def temporal_flickering(frames: NDArray[np.uint8]) -> float:
    """Return (255 − D) / 255 with D the mean absolute difference of consecutive frames: 0..1, higher is steadier.

    Args:
        frames: (T, H, W, 3) uint8, T at least 2; the order of the channels plays no part.

    Raises:
        ValueError: Too few frames.
    """
    return (255 - frame_difference(frames)) / 255
