"""One number for the motion of a clip, from the five: how plausible and smooth it is, less what is plainly wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping

from vmmetrics.types import MetricResult

VERSION = "1"
"""Of the formula and its constants; goes with every index that is stored."""
SMOOTHNESS_SHARE = 1 / 3
"""Weight of MSS beside CAS in the geometric mean: CAS weighs many kinds of evidence, MSS two."""
LEAST_SMOOTHNESS = 0.7
"""MSS of the least smooth clips (the 5 % quantile of generated clips): the scale that CAS uses in full starts here."""
DEDUCTIONS: Mapping[str, float] = {"ois": 0.2, "tcs": 0.2, "pas": 0.05}
"""What a score of 0 takes off, as a share. Few objects and people are found in most clips, and one false loss decides
their score, so they may not outweigh what every clip has; that a clip hardly moves is no fault of how it moves."""
PARTS = tuple(sorted(("cas", "mss", *DEDUCTIONS)))
"""Keys of the scores that the index is made of."""
PLAIN_MOTION = 0.1
"""PAS from which motion is plain and costs nothing; more is not better motion."""


def motion_index(scores: Mapping[str, float]) -> MetricResult:
    """Overall index of motion quality, version 1.

    index = CAS^(2/3) · m^(1/3) · Π_k (1 − d_k (1 − s_k)), with m = (MSS − 0.7) / 0.3 held within 0..1 and a floor, over
    the k of OIS, TCS and min(PAS / 0.1, 1) that have a score: what cannot be judged takes nothing off. It never falls
    when any score rises. Weights are round numbers; docs/alignment.md has what the index is worth.

    Args:
        scores: The scores there are, by metric key, each in 0..1.

    Returns:
        Index in 0..1, 1 best; missing without CAS or MSS.

    Raises:
        ValueError: If a key is no metric or a score is not in 0..1.

    Example:
        >>> round(motion_index({"cas": 0.512, "mss": 1.0}).score, 4)
        0.64
        >>> round(motion_index({"cas": 0.512, "mss": 1.0, "tcs": 0.5}).score, 4)
        0.576
        >>> motion_index({"mss": 1.0}).missing
        'no score for cas'
    """
    for key, value in scores.items():
        if key not in PARTS:
            raise ValueError(f"Expected metrics among {PARTS} but got {key!r}")
        if not 0 <= value <= 1:  # NaN too
            raise ValueError(f"Expected {key} in 0..1 but got {value}")
    absent = [key for key in ("cas", "mss") if key not in scores]
    if absent:
        return MetricResult(None, f"no score for {', '.join(absent)}")
    smooth = max((scores["mss"] - LEAST_SMOOTHNESS) / (1 - LEAST_SMOOTHNESS), _FLOOR)
    index = scores["cas"] ** (1 - SMOOTHNESS_SHARE) * smooth**SMOOTHNESS_SHARE
    parts = {key: scores[key] for key in DEDUCTIONS if key in scores}
    if "pas" in parts:
        parts["pas"] = min(parts["pas"] / PLAIN_MOTION, 1.0)
    return MetricResult(index * math.prod(1 - DEDUCTIONS[key] * (1 - score) for key, score in parts.items()))


_FLOOR = 0.01  # of the smoothness in the mean: one bad score must not hide all the others
