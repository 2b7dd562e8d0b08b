"""Which body parts are at fault in which frames: the reasoning of OIS under ``protocol="vmmetrics"``."""

from __future__ import annotations

import numpy as np

from vmmetrics.functional.skeleton import PARTS
from vmmetrics.types import FloatArray

CONFIDENT = 0.3
"""Keypoint score below which a keypoint is not judged; the released code's value."""
TOO_LONG = 1.45
"""A part may not be longer than this times its usual length; 1 + the released code's relative change."""


def part_deviations(keypoints: FloatArray, scores: FloatArray) -> FloatArray:
    """(T, 12) deviation of each part from its usual length, in units of the limit; NaN where it is not judged."""
    ends = np.array(list(PARTS.values()))
    usable = (scores > CONFIDENT) & np.isfinite(keypoints).all(axis=-1)
    lengths = np.linalg.norm(keypoints[:, ends[:, 0]] - keypoints[:, ends[:, 1]], axis=-1)
    lengths = np.where(usable[:, ends].all(axis=-1), lengths, np.nan)
    deviations = np.full_like(lengths, np.nan)
    for part in range(len(PARTS)):
        seen = np.isfinite(lengths[:, part])
        if seen.any():
            deviations[seen, part] = lengths[seen, part] / max(np.quantile(lengths[seen, part], 0.75), 1e-6) / TOO_LONG
    return deviations
