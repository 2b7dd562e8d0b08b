"""Spearman's ρ of weighted clips: sorted once, ranked anew by the weights of each bootstrap sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmmetrics.alignment.resampling import Statistic
from vmmetrics.types import FloatArray

MIN_CLIPS = 3
"""Two clips correlate at −1 or 1, whatever they are."""
_ROUNDING = 1e-9  # of a variance of ranks, which is at least about 1 / N² of the square of their range


def weighted_ranks(values: FloatArray) -> Statistic:
    """Mid-ranks of (N,) values among weighted clips, as shares of the total weight.

    Returns:
        (B, N) weights to (B, N) ranks between 0 and 1. Ranks of clips of weight 0 are where they would stand.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    tie = np.empty(values.size, np.int64)  # which distinct value each clip has
    tie[order] = np.repeat(np.arange(starts.size), np.diff(np.append(starts, values.size)))

    def statistic(weights: FloatArray) -> FloatArray:
        sums = np.add.reduceat(weights[:, order], starts, axis=1)
        upto = np.cumsum(sums, axis=1)
        ranks: FloatArray = ((upto - sums / 2) / np.maximum(upto[:, -1:], 1))[:, tie]
        return ranks

    return statistic


def spearman_statistic(first: FloatArray, second: FloatArray) -> Statistic:
    """Spearman's ρ as a statistic of weighted clips.

    Args:
        first: (N,), NaN where missing; clips that either lacks are left out.
        second: Likewise.

    Returns:
        (B, N) weights to (B, 1); NaN where fewer than three clips have both or one of the two is constant.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    if both.sum() < MIN_CLIPS:
        return lambda weights: np.full((len(weights), 1), np.nan)
    rank_first, rank_second = weighted_ranks(first[both]), weighted_ranks(second[both])

    def statistic(weights: FloatArray) -> FloatArray:
        taken = weights[:, both]
        shares = taken / np.maximum(taken.sum(axis=1, keepdims=True), 1)
        x, y = rank_first(taken) - 0.5, rank_second(taken) - 0.5  # mid-ranks average one half
        return _correlation(shares, x, y)[:, None]

    return statistic


def _correlation(shares: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    covariance, of_x, of_y = ((shares * a * b).sum(axis=1) for a, b in ((x, y), (x, x), (y, y)))
    defined = (of_x > _ROUNDING) & (of_y > _ROUNDING)
    product = np.sqrt(np.where(defined, of_x * of_y, 1))
    return np.where(defined, np.clip(covariance / product, -1, 1), np.nan)


def within_statistic(first: FloatArray, second: FloatArray, groups: Sequence[str]) -> Statistic:
    """Mean over groups of Spearman's ρ inside each.

    Args:
        first: (N,), NaN where missing.
        second: Likewise.
        groups: (N,) group of each clip; clips of group "" are in none.

    Returns:
        (B, N) weights to (B, 1); groups without a ρ are left out of the mean, NaN where none has one.
    """
    of_group = []
    for group in sorted({name for name in groups if name}):
        members = np.flatnonzero([name == group for name in groups])
        of_group.append((members, spearman_statistic(first[members], second[members])))

    def statistic(weights: FloatArray) -> FloatArray:
        if not of_group:
            return np.full((len(weights), 1), np.nan)
        found = np.column_stack([inside(weights[:, members]) for members, inside in of_group])
        return mean_of_defined(found)[:, None]

    return statistic


def within_prompt_statistic(first: FloatArray, second: FloatArray, prompts: Sequence[str]) -> Statistic:
    """Mean over prompts of Spearman's ρ inside each, for weights that are equal within a prompt.

    A prompt drawn twice counts twice; its ρ is the same however often it is drawn, and is computed once.

    Args:
        first: (N,), NaN where missing.
        second: Likewise.
        prompts: (N,) prompt of each clip.

    Returns:
        (B, N) weights to (B, 1); NaN where no prompt in the sample has a ρ.
    """
    names, start, prompt = np.unique(np.asarray(prompts), return_index=True, return_inverse=True)
    order = np.argsort(prompt, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(prompt, minlength=names.size))[:-1])
    found = np.array([spearman_statistic(first[m], second[m])(np.ones((1, m.size)))[0, 0] for m in members])
    defined = ~np.isnan(found)

    def statistic(weights: FloatArray) -> FloatArray:
        drawn = weights[:, start[defined]]
        total = drawn.sum(axis=1)
        mean: FloatArray = np.divide(drawn @ found[defined], total, out=np.full(len(weights), np.nan), where=total > 0)
        return mean[:, None]

    return statistic


def mean_of_defined(values: FloatArray) -> FloatArray:
    """(B,) means of the rows of (B, G) without their NaN; NaN for rows of nothing else."""
    there = ~np.isnan(values)
    counts = there.sum(axis=1)
    means: FloatArray = np.where(counts > 0, np.where(there, values, 0).sum(axis=1) / np.maximum(counts, 1), np.nan)
    return means
