"""Spearman's ρ as a statistic of weighted clips: over all, inside models, inside prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from vmmetrics.alignment.correlation import LEAST_CLIPS
from vmmetrics.alignment.ranks import code, weighted_spearman
from vmmetrics.alignment.resampling import Statistic
from vmmetrics.types import BoolArray, FloatArray, IntArray


def spearman_statistic(first: FloatArray, second: FloatArray) -> Statistic:
    """Spearman's ρ over all clips.

    Args:
        first: (N,) or (N, K), NaN where missing; clips that either side lacks are left out, of K columns if any does.
        second: (N,) likewise.

    Returns:
        (B, N) weights to (B, K), (B, 1) for one column; NaN where fewer than three clips have both or one of the two is
        constant.
    """
    return within_statistic(first, second, ("all",) * len(first))


def within_statistic(first: FloatArray, second: FloatArray, groups: Sequence[str]) -> Statistic:
    """Mean over groups of Spearman's ρ inside each.

    Args:
        first: (N,) or (N, K), NaN where missing; clips that either side lacks are left out, of K columns if any does.
        second: (N,) likewise.
        groups: (N,) group of each clip; clips of group "" are in none.

    Returns:
        (B, N) weights to (B, K); groups of under three clips, also in a sample, or without a ρ are left out of the
        mean, NaN where none has one.
    """
    columns = first[:, None] if first.ndim == 1 else first
    kept, segments = _segments(~np.isnan(columns).any(axis=1) & ~np.isnan(second), groups)
    if not kept.size:
        return lambda weights: np.full((len(weights), columns.shape[1]), np.nan)
    coded, target = [code(column[kept], segments) for column in columns.T], code(second[kept], segments)

    by_segment = np.argsort(segments, kind="stable")
    starts = np.searchsorted(segments[by_segment], np.arange(segments.max() + 1))

    def statistic(weights: FloatArray) -> FloatArray:
        drawn = weights[:, kept].astype(np.int64)
        inside = weighted_spearman(coded, target, drawn)
        inside[:, np.add.reduceat(drawn[:, by_segment], starts, axis=1) < LEAST_CLIPS] = np.nan
        return mean_of_defined(inside).T

    return statistic


def within_prompt_statistic(first: FloatArray, second: FloatArray, prompts: Sequence[str]) -> Statistic:
    """Mean over prompts of Spearman's ρ inside each, for weights that are equal within a prompt.

    A prompt drawn twice counts twice; its ρ is the same however often it is drawn, and is computed once.

    Args:
        first: (N,), NaN where missing; clips that either lacks are left out.
        second: Likewise.
        prompts: (N,) prompt of each clip.

    Returns:
        (B, N) weights to (B, 1); NaN where no prompt in the sample has a ρ.
    """
    kept, segments = _segments(~np.isnan(first) & ~np.isnan(second), prompts)
    if not kept.size:
        return lambda weights: np.full((len(weights), 1), np.nan)
    once = np.ones((1, kept.size), np.int64)
    found = weighted_spearman([code(first[kept], segments)], code(second[kept], segments), once)[0, 0]
    some_clip = kept[np.unique(segments, return_index=True)[1]]  # of each prompt, to see how often it was drawn
    defined = ~np.isnan(found)

    def statistic(weights: FloatArray) -> FloatArray:
        drawn = weights[:, some_clip[defined]]
        total = drawn.sum(axis=1)
        mean: FloatArray = np.divide(drawn @ found[defined], total, out=np.full(len(weights), np.nan), where=total > 0)
        return mean[:, None]

    return statistic


def _segments(known: BoolArray, groups: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Indices of the clips that are known and in a group of three or more such, and the number of their group."""
    names, group = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)
    known = known & (names[group] != "")
    large = np.bincount(group[known], minlength=names.size) >= LEAST_CLIPS
    kept = np.flatnonzero(known & large[group])
    return kept, np.unique(group[kept], return_inverse=True)[1].astype(np.int64)


def mean_of_defined(values: FloatArray) -> FloatArray:
    """(..., G) to the means over the last axis without their NaN; NaN where there is nothing else."""
    there = ~np.isnan(values)
    counts = there.sum(axis=-1)
    means: FloatArray = np.where(counts > 0, np.where(there, values, 0).sum(axis=-1) / np.maximum(counts, 1), np.nan)
    return means


def group_count(groups: Sequence[str]) -> int:
    """How many groups have the three clips that a correlation inside them needs; "" is no group."""
    return sum(1 for name, clips in Counter(groups).items() if name and clips >= LEAST_CLIPS)
