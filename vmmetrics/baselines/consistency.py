"""VBench's consistency of frames: the rule behind its subject (DINO) and background (CLIP) consistency.

Huang et al., "VBench", CVPR 2024, and its released code: every frame but the first is held against the one before it
and against the first one.
"""

from __future__ import annotations

import numpy as np

from vmmetrics.baselines.frames import need_two
from vmmetrics.types import FloatArray


def consistency(features: FloatArray) -> float:
    """Return how alike the frames are, the mean over t > 0 of (c(t−1, t) + c(0, t)) / 2: 0..1, higher is steadier.

    c(s, t) is the cosine of the vectors of frames s and t, or 0 where that is negative.

    Args:
        features: (T, D) one vector per frame, T at least 2, none of length 0.

    Raises:
        ValueError: Too few frames, or a vector of length 0.
    """
    need_two(features)
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    if not lengths.all():
        raise ValueError("Expected vectors that have a direction but got one of length 0")
    unit = features / lengths
    before = np.maximum(0, np.sum(unit[:-1] * unit[1:], axis=1))
    first = np.maximum(0, unit[1:] @ unit[0])
    return float(np.mean((before + first) / 2))
