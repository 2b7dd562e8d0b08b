"""Pearson, Spearman and Kendall correlations with bootstrap intervals and p values.

Interval and p value come from one standard error, so that they never contradict each other: the standard deviation
that Fisher's transform of the correlation has in bootstrap samples of prompts, with Student's t with P − 2
degrees of freedom, P prompts. Share of simulated studies (400 each; four models, three raters, half of the variance the
prompt's, true ρ of 0.1 to 0.2 and of 0.5 to 0.6) whose interval holds the truth, per cent, with that of percentiles:

    prompts           9                   17                  50
    all clips         96 to 97 (92, 94)   94 to 96 (93, 95)   96 (95, 96)
    within models     97 to 98 (93, 95)   95 to 96 (93, 94)   95 to 96 (95)
    within prompts    94 to 96 (84, 87)   94 to 95 (91, 93)   93 to 94 (93)

scipy's p takes clips for independent: with nothing to find, it is below 0.05 in 17 % of studies of 17 prompts of 5
clips.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy import stats

from vmmetrics.types import BoolArray, FloatArray, IntArray
from vmmetrics.utils.statistics import bootstrap
from vmmetrics.utils.statistics.bootstrap import LEAST_PROMPTS, Estimate, Statistic, interval_note, mean_of_defined
from vmmetrics.utils.statistics.ranks import code, weighted_spearman

LEAST_CLIPS = 3
"""Fewest clips of a correlation, as two always lie on a line."""
_NEAR_ONE = 1 - 1e-6  # Fisher's transform of ±1 is infinite; samples in perfect order count as this
_ROUNDING = 1e-13  # a variance below this part of the mean square is what rounding leaves of a constant
_SAME = 1e-12  # correlations that differ by less differ by rounding alone
_THREADED = 20_000  # clips from which a second thread earns more than it costs


def why_undefined(scores: FloatArray, ratings: FloatArray) -> str | None:
    """Return the reason why two variables without NaN have no correlation; None if they have one.

    >>> why_undefined(np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0]))
    'the scores are all the same'
    """
    if len(scores) < LEAST_CLIPS:
        return f"a correlation needs {LEAST_CLIPS} clips with a score and a judgement, and there are {len(scores)}"
    if (ratings == ratings[0]).all():
        return "the judgements are all the same"
    if (scores == scores[0]).all():
        return "the scores are all the same"
    return None


def spearman(scores: FloatArray, ratings: FloatArray) -> float:
    """Return Spearman's ρ of two (N,) variables that have one."""
    return float(stats.spearmanr(scores, ratings).statistic)


def pearson(scores: FloatArray, ratings: FloatArray) -> float:
    """Return Pearson's r of two (N,) variables that have one."""
    return float(stats.pearsonr(scores, ratings).statistic)


def resampled_spearman(
    columns: Sequence[FloatArray],
    target: FloatArray,
    prompts: Sequence[str],
    resamples: int,
    seed: int,
    segments: IntArray | None = None,
) -> FloatArray:
    """Return Spearman's ρ of each column with the target in bootstrap samples of prompts.

    Args:
        columns: K variables (N,) without NaN.
        target: (N,) variable they are correlated with, without NaN.
        prompts: (N,) prompt of each clip.
        resamples: Samples, R.
        seed: Of the random numbers; the same for two calls pairs their samples.
        segments: (N,) number of each clip's segment, 0 to S − 1 with none empty; one segment where None.

    Returns:
        (K, R, S), NaN where a sample does not define it.
    """
    coded, against = [code(column, segments) for column in columns], code(target, segments)

    def ranked(part: slice) -> FloatArray:
        blocks = bootstrap.draw_blocks(prompts, resamples, seed)
        return np.concatenate([weighted_spearman(coded[part], against, weights) for weights in blocks], axis=1)

    threads = min(len(columns), os.cpu_count() or 1) if len(target) >= _THREADED else 1
    parts = [slice(start, None, threads) for start in range(threads)]
    correlations = np.empty((len(columns), resamples, len(against.starts)))
    with ThreadPoolExecutor(threads) as pool:
        for part, values in zip(parts, pool.map(ranked, parts), strict=True):
            correlations[part] = values
    return correlations


def resampled_pearson(
    columns: Sequence[FloatArray], target: FloatArray, prompts: Sequence[str], resamples: int, seed: int
) -> FloatArray:
    """Return Pearson's r of each column with the target in the same samples: (K, R), NaN where one does not define it.

    A sample's sums are sums over prompts, each times how often it was drawn, so no clip is looked at twice.
    """
    codes, count = bootstrap.prompt_codes(prompts)
    x, y = np.stack(columns), target - target.mean()
    x = x - x.mean(axis=1, keepdims=True)  # or the sums of squares would lose what they are to tell
    parts = [np.ones((1, len(y))), y[None], y[None] ** 2, x, x**2, x * y]
    sums = np.stack([np.bincount(codes, weights=row, minlength=count) for row in np.concatenate(parts)], axis=1)
    blocks = []
    for weights in bootstrap.prompt_blocks(count, resamples, seed):
        n, mean_y, mean_yy, *rest = (weights @ sums).T
        mean_x, mean_xx, mean_xy = np.stack(rest).reshape(3, len(x), -1) / n
        mean_y, mean_yy = mean_y / n, mean_yy / n
        variance_x, variance_y = mean_xx - mean_x**2, mean_yy - mean_y**2
        varies = (variance_x > _ROUNDING * mean_xx) & (variance_y > _ROUNDING * mean_yy)
        scale = np.sqrt(np.maximum(variance_x, 0) * np.maximum(variance_y, 0))
        blocks.append(np.divide(mean_xy - mean_x * mean_y, scale, out=np.full(scale.shape, np.nan), where=varies))
    together: FloatArray = np.clip(np.concatenate(blocks, axis=1), -1, 1)
    return together


def correlation_estimate(value: float, values: FloatArray, *, n: int, prompts: int) -> Estimate:
    """Return a correlation, or a mean of several, with interval and p value from one standard error (see above).

    Args:
        value: The figure.
        values: (R,) of the bootstrap samples. A sample that does not define it (NaN) counts as 0: no association.
        n: How many clips (groups) it rests on.
        prompts: How many prompts were resampled.

    Returns:
        The figure; without an interval for under three prompts or where under half of the samples define it.
    """
    note = interval_note(prompts)
    if prompts < LEAST_PROMPTS:
        return Estimate(value, n=n, note=note)
    if 2 * np.isnan(values).sum() > values.size or not values.size:
        return Estimate(value, n=n, note="no interval: under half of the bootstrap samples define it")
    counted = np.nan_to_num(values)
    if np.ptp(counted) < _SAME:  # every sample says the same: as small as so many samples can tell
        return Estimate(value, value, value, bootstrap.two_sided_p(counted), n, note)
    centre = float(np.arctanh(np.clip(value, -_NEAR_ONE, _NEAR_ONE)))
    error = float(np.arctanh(np.clip(counted, -_NEAR_ONE, _NEAR_ONE)).std(ddof=1))
    reach = float(stats.t.ppf((1 + bootstrap.CONFIDENCE) / 2, prompts - 2)) * error
    p = float(2 * stats.t.sf(abs(centre) / error, prompts - 2))
    return Estimate(value, float(np.tanh(centre - reach)), float(np.tanh(centre + reach)), p, n, note)


def difference_estimate(value: float, values: FloatArray, *, n: int, prompts: int, undefined: str) -> Estimate:
    """Return a difference of two correlations with interval and p value from its standard error in bootstrap samples.

    Student's t with P − 2 degrees of freedom, as for correlations, without the transform: p has no floor that the
    number of samples sets, so it can be raised for many pairs.

    Args:
        value: The difference; NaN where it is not defined.
        values: (R,) of the bootstrap samples. A sample that does not define it counts as no difference.
        n: How many clips (groups) it rests on.
        prompts: P, how many prompts were resampled.
        undefined: Note where there is no value.
    """
    if np.isnan(value):
        return Estimate(None, n=n, note=undefined)
    defined = int((~np.isnan(values)).sum())
    if prompts < LEAST_PROMPTS or 2 * defined < values.size or not defined:
        few = prompts < LEAST_PROMPTS
        note = interval_note(prompts) if few else "no interval: under half of the samples define it"
        return Estimate(value, n=n, note=note)
    error = float(np.nan_to_num(values).std(ddof=1))
    if error < _SAME:
        p = 1.0 if abs(value) < _SAME else bootstrap.two_sided_p(np.nan_to_num(values))
        return Estimate(value, value, value, p, n, interval_note(prompts))
    reach = float(stats.t.ppf((1 + bootstrap.CONFIDENCE) / 2, prompts - 2)) * error
    p = float(2 * stats.t.sf(abs(value) / error, prompts - 2))
    return Estimate(value, max(value - reach, -2.0), min(value + reach, 2.0), p, n, interval_note(prompts))


def estimate_of(
    observed: float, values: FloatArray, prompts: Sequence[str], undefined: str, n: int | None = None
) -> Estimate:
    """Return a correlation of :func:`bootstrap.sampled` as an estimate; arguments as in :func:`bootstrap.estimate`."""
    n = len(prompts) if n is None else n
    if np.isnan(observed):
        return Estimate(None, n=n, note=undefined)
    return correlation_estimate(float(observed), values, n=n, prompts=len(set(prompts)))


# Kendall's τ b and c with an interval that needs no resampling.
#
# τ compares every clip with every other, so 1,000 samples of 100,000 clips are out of reach. Both are ratios of sums
# over pairs in which each clip has a weight of 1,
#
#     τ_b = Σ w_i w_j a_ij / √(Σ w_i w_j b_ij · Σ w_i w_j c_ij)       τ_c = m / (m − 1) · Σ w_i w_j a_ij / (Σ w_i)²
#
# with a_ij = 1 where the pair is in the same order on both sides, −1 where in the opposite one and 0 where tied, b_ij
# and c_ij = 1 where the scores (the judgements) differ, m the smaller number of distinct values. Their derivatives in
# w_i are the influence of clip i. Summed within prompts and squared they estimate the variance over prompts
# (infinitesimal jackknife: Jaeckel 1972; for sums over pairs it is the variance of Hoeffding 1948), as the bootstrap
# over prompts does.


class Kendall(NamedTuple):
    """Both variants."""

    b: Estimate
    c: Estimate


def kendall(scores: FloatArray, ratings: FloatArray, prompts: Sequence[str]) -> Kendall:
    """Return τ_b and τ_c with intervals over prompts.

    The interval is symmetric on Fisher's scale, by Student's t with P − 1 degrees of freedom, P prompts. p is scipy's
    where every clip has its own prompt; else from the same standard error, by Student's t with P − 2.

    Args:
        scores: (N,) scores.
        ratings: (N,) judgements; both vary, without NaN, N ≥ 3.
        prompts: (N,) prompt of each clip.
    """
    x = np.unique(scores, return_inverse=True)[1]
    y = np.unique(ratings, return_inverse=True)[1]
    clusters, count = bootstrap.prompt_codes(prompts)
    estimates = []
    for variant, influence in zip("bc", influences(x, y), strict=True):
        result = stats.kendalltau(x, y, variant=variant)
        estimates.append(_estimate(float(result.statistic), float(result.pvalue), influence, clusters, count))
    return Kendall(*estimates)


def influences(x: IntArray, y: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the influence of each clip on τ_b and τ_c.

    Args:
        x: (N,) numbers in the order of the scores, equal where these are.
        y: (N,) numbers in the order of the ratings; both vary.

    Returns:
        Two (N,) that sum to 0.
    """
    n = len(x)
    agree = (below(x, y) + below(-x, -y) - below(x, -y) - below(-x, y)).astype(np.float64)
    differ_x, differ_y = (n - np.bincount(v)[v].astype(np.float64) for v in (x, y))
    total, total_x, total_y = agree.sum(), differ_x.sum(), differ_y.sum()
    scale = np.sqrt(total_x) * np.sqrt(total_y)
    b = 2 * agree / scale - total / scale * (differ_x / total_x + differ_y / total_y)
    classes = min(np.unique(x).size, np.unique(y).size)
    c = classes / (classes - 1) * 2 / n**2 * (agree - total / n)
    return b, c


def below(x: IntArray, y: IntArray) -> IntArray:
    """Count for each clip the others that lie strictly below it in both variables, in O(N log N).

    With the clips in order of x, a clip's count is a sum over blocks of 1, 2, 4, ... positions: wherever it lies in the
    right half of such a block, those of the left half with a smaller y. The clips are kept in order of y inside every
    block, from one block of all positions down to single ones, so each step is a running count.

    Args:
        x: (N,) whole numbers.
        y: (N,) whole numbers.

    Returns:
        (N,) int64 counts.

    >>> below(np.array([1, 2, 2, 3]), np.array([1, 2, 1, 3]))
    array([0, 1, 0, 3])
    """
    n = len(x)
    position = np.empty(n, np.int64)
    position[np.lexsort((-y, x))] = np.arange(n)  # equal x: the smaller y later, so that it never counts as before
    clips = np.lexsort((-position, y))  # equal y: the earlier position later, for the same reason
    positions = position[clips]
    counts = np.zeros(n, np.int64)  # by place
    for bit in reversed(range(max(n - 1, 1).bit_length())):
        left = (positions >> bit) & 1 == 0
        start = (positions >> (bit + 1)) << (bit + 1)  # of the block; as many places lie before it
        seen = np.cumsum(left)
        seen -= (seen - left)[start]  # of the left half, so far in the block
        counts[positions] += np.where(left, 0, seen)
        moved = np.empty(n, np.int64)
        moved[np.where(left, start + seen - 1, np.arange(n) + (1 << bit) - seen)] = positions
        positions = moved
    return counts[position]


def _estimate(value: float, p: float, influence: FloatArray, clusters: IntArray, count: int) -> Estimate:
    n, note = len(influence), interval_note(count)
    chance = p if count == n else None
    if count < LEAST_PROMPTS:
        return Estimate(value, p=chance, n=n, note=note)
    sums = np.bincount(clusters, weights=influence, minlength=count)
    error = float(np.sqrt(count / (count - 1) * (sums @ sums)))
    if abs(value) > 1 - _SAME or error < _SAME:  # perfect order, whatever is left out: no width
        return Estimate(value, value, value, chance, n, note)
    centre, error = float(np.arctanh(value)), error / (1 - value**2)
    reach = float(stats.t.ppf((1 + bootstrap.CONFIDENCE) / 2, count - 1)) * error
    if count < n:
        chance = float(2 * stats.t.sf(abs(centre) / error, count - 2))
    return Estimate(value, float(np.tanh(centre - reach)), float(np.tanh(centre + reach)), chance, n, note)


# Spearman's ρ as a statistic of weighted clips: over all, inside models, inside prompts.


def spearman_statistic(first: FloatArray, second: FloatArray) -> Statistic:
    """Return Spearman's ρ over all clips.

    Args:
        first: (N,) or (N, K), NaN where missing; clips that either side lacks are left out, of K columns if any does.
        second: (N,) likewise.

    Returns:
        (B, N) weights to (B, K), (B, 1) for one column; NaN where fewer than three clips have both or one of the two is
        constant.
    """
    return within_statistic(first, second, ("all",) * len(first))


def within_statistic(first: FloatArray, second: FloatArray, groups: Sequence[str]) -> Statistic:
    """Return the mean over groups of Spearman's ρ inside each.

    Args:
        first: (N,) or (N, K), NaN where missing; clips that either side lacks are left out, of K columns if any does.
        second: (N,) likewise.
        groups: (N,) group of each clip; clips of group "" are in none.

    Returns:
        (B, N) weights to (B, K); groups of under three clips, also in a sample, or without a ρ are left out of the
        mean, NaN where none has one.
    """
    columns = first[:, None] if first.ndim == 1 else first
    selected, segments = segments_of(~np.isnan(columns).any(axis=1) & ~np.isnan(second), groups)
    if not selected.size:
        return lambda weights: np.full((len(weights), columns.shape[1]), np.nan)
    coded, target = [code(column[selected], segments) for column in columns.T], code(second[selected], segments)

    by_segment = np.argsort(segments, kind="stable")
    starts = np.searchsorted(segments[by_segment], np.arange(segments.max() + 1))

    def statistic(weights: FloatArray) -> FloatArray:
        drawn = weights[:, selected].astype(np.int64)
        inside = weighted_spearman(coded, target, drawn)
        inside[:, np.add.reduceat(drawn[:, by_segment], starts, axis=1) < LEAST_CLIPS] = np.nan
        return mean_of_defined(inside).T

    return statistic


def within_prompt_statistic(first: FloatArray, second: FloatArray, prompts: Sequence[str]) -> Statistic:
    """Return the mean over prompts of Spearman's ρ inside each, for weights that are equal within a prompt.

    A prompt drawn twice counts twice; its ρ is the same however often it is drawn, and is computed once.

    Args:
        first: (N,), NaN where missing; clips that either lacks are left out.
        second: (N,), NaN where missing.
        prompts: (N,) prompt of each clip.

    Returns:
        (B, N) weights to (B, 1); NaN where no prompt in the sample has a ρ.
    """
    selected, segments = segments_of(~np.isnan(first) & ~np.isnan(second), prompts)
    if not selected.size:
        return lambda weights: np.full((len(weights), 1), np.nan)
    once = np.ones((1, selected.size), np.int64)
    per_prompt = weighted_spearman([code(first[selected], segments)], code(second[selected], segments), once)[0, 0]
    some_clip = selected[np.unique(segments, return_index=True)[1]]  # of each prompt, to see how often it was drawn
    defined = ~np.isnan(per_prompt)

    def statistic(weights: FloatArray) -> FloatArray:
        drawn = weights[:, some_clip[defined]]
        return bootstrap.quotient(drawn @ per_prompt[defined], drawn.sum(axis=1))[:, None]

    return statistic


def segments_of(complete: BoolArray, groups: Sequence[str], least: int = LEAST_CLIPS) -> tuple[IntArray, IntArray]:
    """Return the indices of the complete clips in groups of ``least`` or more, and their group numbers."""
    names, group = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)
    complete = complete & (names[group] != "")
    large = np.bincount(group[complete], minlength=names.size) >= least
    selected = np.flatnonzero(complete & large[group])
    return selected, np.unique(group[selected], return_inverse=True)[1].astype(np.int64)


def group_count(groups: Sequence[str]) -> int:
    """Count the groups with the three clips that a correlation inside them needs; "" is no group."""
    return sum(1 for name, clips in Counter(groups).items() if name and clips >= LEAST_CLIPS)
