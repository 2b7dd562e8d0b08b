"""The mean of scores and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95
"""Coverage of the interval."""
RESAMPLES = 10_000  # its Monte Carlo error is then below 2 % of the interval's width
SEED = 20_2411  # any fixed number: the same scores give the same interval everywhere
_CHUNK = 4_000_000  # indices drawn at a time, 32 MB


class Mean(NamedTuple):
    """A mean with its bootstrap interval.

    Attributes:
        mean: Mean of the scores.
        low: Lower end of the 95 % interval, None for fewer than two scores.
        high: Upper end, likewise.
        clips: Number of scores; clips without a score are not in it.
    """

    mean: float
    low: float | None
    high: float | None
    clips: int


def mean_with_interval(scores: Sequence[float]) -> Mean | None:
    """Mean and 95 % percentile bootstrap interval over clips (Efron, Annals of Statistics 1979); None for no scores.

    >>> mean_with_interval([0.5, 0.5, 0.5])
    Mean(mean=0.5, low=0.5, high=0.5, clips=3)
    """
    values = np.asarray(scores, np.float64)
    if values.size == 0:
        return None
    mean = float(values.mean())
    if values.size == 1:
        return Mean(mean, None, None, 1)
    rng = np.random.default_rng(SEED)
    rows = max(1, _CHUNK // values.size)
    means = np.concatenate(
        [
            values[rng.integers(values.size, size=(min(rows, RESAMPLES - start), values.size))].mean(axis=1)
            for start in range(0, RESAMPLES, rows)
        ]
    )
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Mean(mean, float(low), float(high), int(values.size))
