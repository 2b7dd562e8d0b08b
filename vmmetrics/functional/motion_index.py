"""Averages of the five scores: their mean, and the motion index (plausibility and smoothness, minus defects)."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence

from vmmetrics.types import INDEX_NEEDS, Event, MetricResult

VERSION = "2"
"""Version of the formula and its constants; stored with every index."""
SMOOTHNESS_SHARE = 1 / 3
"""Weight of MSS in the geometric mean with CAS: CAS combines many kinds of evidence, MSS two."""
LEAST_SMOOTHNESS, FULL_SMOOTHNESS = 0.7, 0.95
"""MSS that counts as 0 and as 1 smoothness: the 5 % quantile of generated clips; five of six clean windows
are above the other."""
DEDUCTIONS: Mapping[str, float] = {"ois": 0.2, "tcs": 0.2, "pas": 0.05}
"""Largest deduction per metric, as a share of the index, at a score of 0. Most clips have few objects and people, and
one false loss decides their score; little motion is no defect."""
INDEX_METRICS = tuple(sorted((*INDEX_NEEDS, *DEDUCTIONS)))
"""Keys of the scores in the index."""
EXPONENTS: Mapping[str, float] = {
    "cas": 1 - SMOOTHNESS_SHARE, "mss": SMOOTHNESS_SHARE, **dict.fromkeys(DEDUCTIONS, 1.0)
}  # fmt: skip
"""Exponents of the parts of the index; an index of one's own has others."""
PLAIN_MOTION = 0.1
"""PAS from which nothing is deducted: more motion is not better motion."""


STILL_FACTOR = 0.5
"""Factor of the index of one picture moved as a whole."""
NO_OWN_CHANGE, PLAIN_OWN_CHANGE = 0.002, 0.005
"""Own change (:mod:`vmmetrics.perception.own_change`) up to which the factor is least, and from which it is 1."""
STILL_REASON = "one picture moved as a whole"
"""Reason of a factor below 1."""


def average(scores: Mapping[str, MetricResult | float | None], *, over: Sequence[str] = INDEX_METRICS) -> MetricResult:
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
        if key not in INDEX_METRICS:
            near = difflib.get_close_matches(str(key).lower(), INDEX_METRICS, n=1, cutoff=0.0)
            raise ValueError(
                f"Expected a metric of {', '.join(INDEX_METRICS)} but got {key!r}; did you mean {near[0]!r}?"
            )
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


def still_factor(own_change: float | None) -> float:
    """Return the factor of the index, 0.5..1, for a share of the frame that no camera explains; 1 where unknown.

    >>> still_factor(0.001), round(still_factor(0.0035), 9), still_factor(0.3), still_factor(None)
    (0.5, 0.75, 1.0, 1.0)
    """
    if own_change is None:
        return 1.0
    if not 0 <= own_change <= 1:  # NaN too
        raise ValueError(f"Expected own_change in 0..1 but got {own_change}")
    share = (own_change - NO_OWN_CHANGE) / (PLAIN_OWN_CHANGE - NO_OWN_CHANGE)
    return STILL_FACTOR + (1 - STILL_FACTOR) * min(max(share, 0.0), 1.0)


def still_remark(own_change: float | None) -> str | None:
    """Return the remark on a factor below 1 as shown, to two digits; None for others.

    >>> still_remark(0.0), still_remark(0.0044), still_remark(0.00499), still_remark(0.3)
    ('×0.5: one picture moved as a whole', '×0.9: one picture moved as a whole', None, None)
    """
    factor = f"{still_factor(own_change):.2g}"
    return None if factor == "1" else f"×{factor}: {STILL_REASON}"


def index_parts(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the parts of the index, 0..1 each, of the scores there are: CAS, m, and the deductions as factors.

    Raises:
        ValueError: If a key is no metric, or a score is not in 0..1.

    >>> index_parts({"cas": 0.5, "mss": 0.825, "pas": 0.3})
    {'cas': 0.5, 'mss': 0.5, 'pas': 1.0}
    """
    for key, value in scores.items():
        if key not in INDEX_METRICS:
            raise ValueError(f"Expected metrics among {INDEX_METRICS} but got {key!r}")
        if not 0 <= value <= 1:  # NaN too
            raise ValueError(f"Expected {key} in 0..1 but got {value}")
    parts = {}
    for key in (key for key in EXPONENTS if key in scores):
        score = scores[key]
        if key == "mss":
            score = (score - LEAST_SMOOTHNESS) / (FULL_SMOOTHNESS - LEAST_SMOOTHNESS)
            score = min(max(score, _FLOOR), 1.0)
        elif key == "pas":
            score = min(score / PLAIN_MOTION, 1.0)
        parts[key] = 1 - DEDUCTIONS[key] * (1 - score) if key in DEDUCTIONS else score
    return parts


def motion_index(
    scores: Mapping[str, float], own_change: float | None = None, exponents: Mapping[str, float] = EXPONENTS
) -> MetricResult:
    """Compute the overall index of motion quality, version 2.

    index = CAS^(2/3) · m^(1/3) · Π_k (1 − d_k (1 − s_k)) · f, with m = (MSS − 0.7) / 0.25 clipped to 0..1 with a floor,
    over the k of OIS, TCS and min(PAS / 0.1, 1) that have a score: a missing one deducts nothing; f is
    :func:`still_factor`. It never falls when any score or the own change rises. Weights are round numbers;
    docs/alignment.md evaluates the index.

    Args:
        scores: Available scores by metric key, each in 0..1.
        own_change: Share of the frame, 0..1, that changes as no picture moved as a whole would; None where unknown,
            as in version 1: the factor is 1.
        exponents: Exponent of each part (:func:`index_parts`), 0 or more, by metric key.

    Returns:
        Index in 0..1, 1 best; missing without CAS or MSS. A factor that is shown below 1 is an event with its reason.

    Raises:
        ValueError: If a key is no metric, or a score or ``own_change`` is not in 0..1.

    Example:
        >>> round(motion_index({"cas": 0.512, "mss": 1.0}).score, 4)
        0.64
        >>> round(motion_index({"cas": 0.512, "mss": 1.0, "tcs": 0.5}).score, 4)
        0.576
        >>> round(motion_index({"cas": 0.512, "mss": 1.0}, own_change=0.001).score, 4)
        0.32
        >>> motion_index({"mss": 1.0}).missing
        'no score for cas'
    """
    parts = index_parts(scores)
    absent = [key for key in INDEX_NEEDS if key not in scores]
    if absent:
        return MetricResult(None, f"no score for {', '.join(absent)}")
    powers = {key: part ** exponents[key] for key, part in parts.items()}
    index = math.prod(powers.pop(key) for key in INDEX_NEEDS)
    index *= math.prod(powers.values()) * still_factor(own_change)  # in this order: published to the last digit
    remark = still_remark(own_change)
    if remark is None:
        return MetricResult(index)
    event = Event("motion_index", (), remark, magnitude=own_change, threshold=PLAIN_OWN_CHANGE)
    return MetricResult(index, events=(event,))


_FLOOR = 0.01  # least smoothness in the mean: one bad score must not outweigh all the others
