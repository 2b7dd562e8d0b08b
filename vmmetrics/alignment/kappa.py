"""Cohen's and Fleiss' κ from weighted clips, for ratings that are categories.

Cohen, Educational and Psychological Measurement 1960 (κ) and Psychological Bulletin 1968 (weights); Fleiss,
Psychological Bulletin 1971. Quadratic weights are squared differences of the ratings themselves, which for a scale of
whole numbers is what statsmodels does with a table that has every step of the scale.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from vmmetrics.alignment.resampling import Statistic
from vmmetrics.types import FloatArray

MAX_CATEGORIES = 11
"""Scales of 0 to 10 are the longest that are rated as steps; more distinct values than that are a continuous scale."""
_ROUNDING = 1e-12  # of shares that sum to 1


def are_categories(ratings: FloatArray) -> bool:
    """Whether ratings are steps of a scale: at most 11 distinct values, whole or each used twice on average."""
    given = ratings[~np.isnan(ratings)]
    steps = np.unique(given)
    whole = bool(np.all(steps == np.round(steps)))
    return steps.size <= MAX_CATEGORIES and (whole or given.size >= 2 * steps.size)


def cohen_statistic(ratings: FloatArray) -> Statistic:
    """Cohen's κ, plain and with quadratic weights, each as the mean over the pairs of raters that have one.

    Args:
        ratings: (N, R) categories, NaN where a rater said nothing.

    Returns:
        (B, N) weights to (B, 2); NaN where no two raters rated the same clips, or all gave one value throughout.
    """
    values = np.unique(ratings[~np.isnan(ratings)])
    pairs = []
    for first, second in combinations(ratings.T, 2):
        both = ~np.isnan(first) & ~np.isnan(second)
        if both.any():
            pairs.append((both, _pair_columns(first[both], second[both], values)))

    def statistic(weights: FloatArray) -> FloatArray:
        found = np.full((len(weights), len(pairs), 2), np.nan)
        for number, (both, columns) in enumerate(pairs):
            found[:, number] = _pair_kappas(weights[:, both] @ columns, values)
        there = ~np.isnan(found)
        means: FloatArray = np.divide(
            np.where(there, found, 0).sum(axis=1),
            there.sum(axis=1),
            out=np.full((len(weights), 2), np.nan),
            where=there.any(axis=1),
        )
        return means

    return statistic


def _pair_columns(first: FloatArray, second: FloatArray, values: FloatArray) -> FloatArray:
    """(n, 2V + 3) what κ sums over clips: each rater's values, agreement, squared difference and 1."""
    given = [first[:, None] == values, second[:, None] == values]
    return np.column_stack([*given, first == second, (first - second) ** 2, np.ones(first.size)]).astype(np.float64)


def _pair_kappas(sums: FloatArray, values: FloatArray) -> FloatArray:
    """(B, 2) plain and weighted κ from (B, 2V + 3) sums, NaN where the pair has no clip."""
    clips = sums[:, -1:]
    shares = np.divide(sums, clips, out=np.full(sums.shape, np.nan), where=clips > 0)  # none in common: no κ
    first, second = shares[:, : values.size], shares[:, values.size : -3]
    agree, apart = shares[:, -3], shares[:, -2]
    apart_by_chance = first @ values**2 + second @ values**2 - 2 * (first @ values) * (second @ values)
    return np.column_stack(
        [_beyond_chance(1 - agree, 1 - (first * second).sum(axis=1)), _beyond_chance(apart, apart_by_chance)]
    )


def fleiss_statistic(ratings: FloatArray) -> Statistic:
    """Fleiss' κ of clips that all have the same number of ratings, at least two, no matter whose.

    Args:
        ratings: (N, R) categories, the same number of them in every row.

    Returns:
        (B, N) weights to (B, 1); NaN where all ratings are one and the same.
    """
    values = np.unique(ratings[~np.isnan(ratings)])
    counts = (ratings[:, :, None] == values).sum(axis=1).astype(np.float64)  # (N, V)
    size = counts.sum(axis=1)
    unlike = 1 - (counts * (counts - 1)).sum(axis=1) / (size * (size - 1))

    def statistic(weights: FloatArray) -> FloatArray:
        marginal = weights @ counts
        marginal /= np.maximum(marginal.sum(axis=1, keepdims=True), 1)
        mean_unlike = weights @ unlike / np.maximum(weights.sum(axis=1), 1)
        return _beyond_chance(mean_unlike, 1 - (marginal**2).sum(axis=1))[:, None]

    return statistic


def _beyond_chance(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """1 − observed / expected disagreement, NaN where chance would leave none."""
    share: FloatArray = np.divide(observed, expected, out=np.full(expected.shape, np.nan), where=expected > _ROUNDING)
    return 1 - share
