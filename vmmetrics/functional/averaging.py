"""The mean of the five metrics, and why there sometimes is none."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence

from vmmetrics.functional.motion_index import PARTS
from vmmetrics.types import MetricResult


def average(scores: Mapping[str, MetricResult | float | None], *, over: Sequence[str] = PARTS) -> MetricResult:
    """Mean of the five scores of a clip or of a model.

    An average over fewer metrics is another quantity, so a missing score is never skipped in silence: the result
    is missing and says which, unless ``over`` names the metrics that are to be averaged.

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


def _value(key: str, given: MetricResult | float | None) -> float | None:
    value = given.score if isinstance(given, MetricResult) else given
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Expected the score of {key} to be a number but got {value!r}") from error
    if not math.isfinite(number):
        raise ValueError(f"Expected the score of {key} to be finite but got {number}")
    return number
