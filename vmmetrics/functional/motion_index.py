"""Averages of the five scores: their mean, and the motion index (plausibility and smoothness, minus defects)."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence

from vmmetrics.types import MetricResult

VERSION = "1"
"""Version of the formula and its constants; stored with every index."""
SMOOTHNESS_SHARE = 1 / 3
"""Weight of MSS in the geometric mean with CAS: CAS combines many kinds of evidence, MSS two."""
LEAST_SMOOTHNESS = 0.7
"""MSS that counts as 0 smoothness: the 5 % quantile of generated clips."""
DEDUCTIONS: Mapping[str, float] = {"ois": 0.2, "tcs": 0.2, "pas": 0.05}
"""Largest deduction per metric, as a share of the index, at a score of 0. Most clips have few objects and people, and
one false loss decides their score; little motion is no defect."""
PARTS = tuple(sorted(("cas", "mss", *DEDUCTIONS)))
"""Keys of the scores in the index."""
PLAIN_MOTION = 0.1
"""PAS from which nothing is deducted: more motion is not better motion."""


def average(scores: Mapping[str, MetricResult | float | None], *, over: Sequence[str] = PARTS) -> MetricResult:
    """Average the five scores of a clip or of a model.

    An average over fewer metrics is another quantity, so a missing score is never skipped silently: the result is
    missing and names it, unless ``over`` selects the metrics to average.

    Args:
        scores: By metric key (``cas``, ``mss``, ``ois``, ``pas``, ``tcs``): a result, a number, or None where
            missing. A key that is not there counts as missing.
        over: Keys to average, each once.

    Returns:
        The mean, in the unit of the scores; or missing, naming the metrics without a score.

    Raises:
        ValueError: If a key is unknown, ``over`` is empty or repeats itself, or a score is not a finite number.

    Example:
        >>> average({"cas": 0.5, "mss": 0.9, "ois": 0.7, "pas": 0.1, "tcs": 0.8}).score
        0.6
        >>> average({"mss": 0.9, "ois": None, "pas": 0.1, "tcs": 0.8}).missing
        'no score for cas, ois'
        >>> average({"mss": 1.0, "pas": 0.5}, over=("mss", "pas")).score
        0.75
    """
    for key in (*scores, *over):
        if key not in PARTS:
            near = difflib.get_close_matches(str(key).lower(), PARTS, n=1, cutoff=0.0)
            raise ValueError(f"Expected a metric of {', '.join(PARTS)} but got {key!r}; did you mean {near[0]!r}?")
    if not over or len(set(over)) != len(over):
        raise ValueError(f"Expected over to name at least one metric, each once, but got {tuple(over)}")
    values = {key: _value(key, scores.get(key)) for key in over}
    absent = [key for key, value in values.items() if value is None]
    if absent:
        return MetricResult(score=None, missing=f"no score for {', '.join(absent)}")
    present = [value for value in values.values() if value is not None]
    return MetricResult(score=math.fsum(present) / len(present))


def _value(key: str, score: MetricResult | float | None) -> float | None:
    value = score.score if isinstance(score, MetricResult) else score
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Expected the score of {key} to be a number but got {value!r}") from error
    if not math.isfinite(number):
        raise ValueError(f"Expected the score of {key} to be finite but got {number}")
    return number


def motion_index(scores: Mapping[str, float]) -> MetricResult:
    """Compute the overall index of motion quality, version 1.

    index = CAS^(2/3) · m^(1/3) · Π_k (1 − d_k (1 − s_k)), with m = (MSS − 0.7) / 0.3 clipped to 0..1 with a floor, over
    the k of OIS, TCS and min(PAS / 0.1, 1) that have a score: a missing one deducts nothing. It never falls when any
    score rises. Weights are round numbers; docs/alignment.md evaluates the index.

    Args:
        scores: Available scores by metric key, each in 0..1.

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


_FLOOR = 0.01  # least smoothness in the mean: one bad score must not outweigh all the others
