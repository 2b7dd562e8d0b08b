"""Shares of wins with intervals: of pairs, and of all comparisons of two groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta, norm

from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import CONFIDENCE, MEAN_RESAMPLES, SEED, percentile_interval, prompt_draws

_BELOW_ONE = 1 - 1e-12  # below the root at 1 that Newcombe's equation has besides the interval's end


def binomial_interval(wins: float, count: int, tests: int = 1) -> tuple[float, float]:
    """Return the exact interval (Clopper and Pearson 1934) of a share, at 95 % for all of ``tests`` lines together.

    >>> [round(end, 3) for end in binomial_interval(8, 10)]
    [0.444, 0.975]
    """
    tail = (1 - CONFIDENCE) / tests / 2
    low = float(beta.ppf(tail, wins, count - wins + 1)) if wins > 0 else 0.0
    return low, float(beta.ppf(1 - tail, wins + 1, count - wins)) if wins < count else 1.0


def winning_share(first: Sequence[float], second: Sequence[float], tests: int = 1) -> tuple[float, float, float]:
    """Return the share of pairs in which the value of the first group is higher, ties as half, and its interval.

    The interval is of bootstrap samples of both groups, or Newcombe's (Statistics in Medicine 2006, method 5) where
    that reaches farther: groups of few clips that do not overlap have no width in samples.

    >>> winning_share([3.0, 4.0], [1.0, 3.0])[0]
    0.875
    """
    one, other = np.asarray(first, np.float64)[:, None], np.asarray(second, np.float64)
    wins: FloatArray = (one > other) + 0.5 * (one == other)
    rows, columns = wins.shape
    value, tail = float(wins.mean()), (1 - CONFIDENCE) / tests / 2
    drawn = zip(prompt_draws(rows, MEAN_RESAMPLES, SEED), prompt_draws(columns, MEAN_RESAMPLES, SEED + 1), strict=True)
    low, high = percentile_interval(np.array([a @ wins @ b for a, b in drawn]) / wins.size, tail)
    assert low is not None and high is not None  # noqa: S101  (every sample defines a share)
    squared = float(norm.isf(tail)) ** 2

    def lower(share: float) -> float:
        def beyond(true: float) -> float:
            spread = 1 + ((rows + columns) / 2 - 1) * ((1 - true) / (2 - true) + true / (1 + true))
            return float((share - true) ** 2 - squared * true * (1 - true) * spread / wins.size)

        return float(brentq(beyond, 0.0, min(share, _BELOW_ONE))) if share > 0 else 0.0

    return value, min(low, lower(value)), max(high, 1 - lower(1 - value))
