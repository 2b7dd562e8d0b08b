"""Agreement of raters, and mean opinion scores with each one's bias and inconsistency taken out.

Intraclass correlation of ratings from weighted clips, ratings missing at will (Shrout and Fleiss, Psychological
Bulletin 1979): clips and raters both random, agreement absolute, ICC(2,1) for one rating and ICC(2,k) for the mean of
k. The variances of clips, raters and rest are Henderson's (Biometrics 1953, method 1): four sums of squares equated
with their expectations. With every rating there these are the mean squares of the analysis of variance, and both
figures are exactly Shrout and Fleiss's; with some missing they use all there are.

Mean opinion scores: the model of ITU-T P.910 (2023) and P.913 clause 12.6 (Li, Bampis et al., "A Simple Model for
Subject Behavior in Subjective Experiments", HVEI 2020): rating of clip j by rater i = quality_j + bias_i +
inconsistency_i · noise. Their solver, alternating projection (SUREAL), repeats: inconsistency = standard deviation of a
rater's residuals, quality = mean of the ratings less bias weighted by 1 / inconsistency², bias = mean of a rater's
ratings less quality.

A rater's residuals are too small by the rater's own share of the quality, so a rater who leads is weighted up further:
with few raters the published solver ends with one of them as the truth. Here the squared residuals are therefore
divided by what the shares leave, 1 − share. Simulated with whole ratings of 1 to 5, inconsistencies of 0.3 to 1, 50
clips and 100 tables each (error: root mean square, that of the plain mean being 1; collapsed: one rater is the truth):

    raters                     3     5     8     15    24
    published: error          1.40  1.55  1.17  0.93  0.92
               collapsed       98    93    31     0     0
               95 % interval  61 %  67 %  82 %  92 %  93 %
    corrected: error          0.98  0.96  0.93  0.92  0.92
               collapsed        0     0     0     0     0
               95 % interval  91 %  91 %  92 %  92 %  92 %

From 15 raters on the two differ by 0.02 of a step at most (median of the tables). 20 clips of 3 raters are too few for
either: corrected 1.06, with 9 tables collapsed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics.bootstrap import Statistic, mean_of_defined, quotient, ratio

# Krippendorff's α from weighted clips, ratings missing at will.
#
# Krippendorff, Content Analysis, 4th edition 2019, chapter 12: α = 1 − observed / expected disagreement, both over the
# ratings that can be paired, those of clips with two ratings or more. With m ratings in a clip each of its ordered
# pairs counts 1 / (m − 1). The ordinal difference of two values is the difference of their mid-ranks among all pairable
# ratings, so ordinal α is interval α of the ranks; and interval α needs no table of pairs, only sums and sums of
# squares.


def alpha_statistic(ratings: FloatArray) -> Statistic:
    """Return α as a statistic of weighted clips.

    Args:
        ratings: (N, R), NaN where a rater said nothing.

    Returns:
        (B, N) weights to (B, 3): nominal, ordinal, interval; NaN where no two pairable ratings differ.
    """
    pairable = (~np.isnan(ratings)).sum(axis=1) >= 2
    rated = ratings[pairable]
    clip, rater = np.nonzero(~np.isnan(rated))
    values, index = np.unique(rated[clip, rater], return_inverse=True)
    # how often each value was given to each clip
    counts = csr_array((np.ones(clip.size), (clip, index)), shape=(len(rated), values.size))
    counts.sum_duplicates()
    sizes = np.bincount(clip, minlength=len(rated)).astype(np.float64)
    # ordered pairs of unlike ratings in a clip, each counted 1 / (m − 1)
    unlike = (sizes**2 - counts.power(2).sum(axis=1)) / (sizes - 1)
    centred = values - values.mean() if values.size else values

    def statistic(weights: FloatArray) -> FloatArray:
        taken = weights[:, pairable]
        if not values.size:
            return np.full((len(weights), 3), np.nan)
        marginal = (counts.T @ taken.T).T  # (B, V): ratings of each value
        total = marginal.sum(axis=1)
        nominal = 1 - (total - 1) * ratio(taken @ unlike, total**2 - (marginal**2).sum(axis=1))
        ranks = np.cumsum(marginal, axis=1) - marginal / 2
        ordinal = _of_squares(counts, sizes, taken, marginal, ranks - total[:, None] / 2)
        interval = _of_squares(counts, sizes, taken, marginal, np.broadcast_to(centred, marginal.shape))
        return np.column_stack([nominal, ordinal, interval])

    return statistic


def _of_squares(
    counts: csr_array, sizes: FloatArray, weights: FloatArray, marginal: FloatArray, positions: FloatArray
) -> FloatArray:
    """Return α with squared differences of the values' positions.

    Args:
        counts: (N, V) times each value was given to each clip.
        sizes: (N,) ratings of each clip.
        weights: (B, N).
        marginal: (B, V) weighted number of ratings of each value.
        positions: (B, V) position of each value in each weighting.
    """
    sums, squares = (counts @ positions.T).T, (counts @ (positions**2).T).T  # (B, N)
    observed = (weights * 2 * (sizes * squares - sums**2) / (sizes - 1)).sum(axis=1)
    total = marginal.sum(axis=1)
    spread = total * (marginal * positions**2).sum(axis=1) - (marginal * positions).sum(axis=1) ** 2
    alphas: FloatArray = 1 - (total - 1) * ratio(observed, 2 * spread)
    return alphas


# Cohen's and Fleiss' κ from weighted clips, for ratings that are categories.
#
# Cohen, Educational and Psychological Measurement 1960 (κ) and Psychological Bulletin 1968 (weights); Fleiss,
# Psychological Bulletin 1971. Quadratic weights are squared differences of the ratings themselves, which for a scale of
# whole numbers is what statsmodels does with a table that has every step of the scale.

MAX_CATEGORIES = 11
"""Scales of 0 to 10 are the longest that are rated as steps; more distinct values than that are a continuous scale."""
_SHARE_ROUNDING = 1e-12  # of shares that sum to 1


def are_categories(ratings: FloatArray) -> bool:
    """Return True if ratings are steps of a scale: at most 11 distinct values, whole or each used twice on average."""
    rated = ratings[~np.isnan(ratings)]
    steps = np.unique(rated)
    integral = bool(np.all(steps == np.round(steps)))
    return steps.size <= MAX_CATEGORIES and (integral or rated.size >= 2 * steps.size)


def cohen_statistic(ratings: FloatArray) -> Statistic:
    """Return Cohen's κ, plain and with quadratic weights, each as the mean over the pairs of raters that have one.

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
            one, other = first[both], second[both]
            indicators = [one[:, None] == values, other[:, None] == values]
            # (n, 2V + 3) what κ sums over clips: each rater's values, agreement, squared difference and 1
            columns = np.column_stack([*indicators, one == other, (one - other) ** 2, np.ones(one.size)])
            pairs.append((both, columns.astype(np.float64)))

    def statistic(weights: FloatArray) -> FloatArray:
        kappas = np.full((len(weights), len(pairs), 2), np.nan)
        for number, (both, columns) in enumerate(pairs):
            kappas[:, number] = _pair_kappas(weights[:, both] @ columns, values)
        return mean_of_defined(kappas, axis=1)

    return statistic


def _pair_kappas(sums: FloatArray, values: FloatArray) -> FloatArray:
    """Return (B, 2) plain and weighted κ from (B, 2V + 3) sums, NaN where the pair has no clip."""
    clips = sums[:, -1:]
    shares = quotient(sums, clips)  # none in common: no κ
    first, second = shares[:, : values.size], shares[:, values.size : -3]
    agree, apart = shares[:, -3], shares[:, -2]
    apart_by_chance = first @ values**2 + second @ values**2 - 2 * (first @ values) * (second @ values)
    unweighted = _beyond_chance(1 - agree, 1 - (first * second).sum(axis=1))
    return np.column_stack([unweighted, _beyond_chance(apart, apart_by_chance)])


def fleiss_statistic(ratings: FloatArray) -> Statistic:
    """Return Fleiss' κ of clips that all have the same number of ratings, at least two, no matter whose.

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
    """Return 1 − observed / expected disagreement, NaN where chance would leave none."""
    return 1 - quotient(observed, expected, _SHARE_ROUNDING)


_COUNT_ROUNDING = 1e-9  # counts differ by 1 or not at all


def icc_statistic(ratings: FloatArray) -> Statistic:
    """Return ICC(2,1) and ICC(2,k) as statistics of weighted clips; k is the harmonic mean of ratings per clip.

    Args:
        ratings: (N, R), NaN where a rater said nothing.

    Returns:
        (B, N) weights to (B, 2); NaN where clips and raters cannot be told apart: one rater, one clip, every clip rated
        once or by raters of its own, or no rating that differs.
    """
    present = ~np.isnan(ratings)
    rated = present.any(axis=1)
    present = present[rated].astype(np.float64)
    filled = np.nan_to_num(ratings[rated])
    if present.sum():
        filled = (filled - filled.sum() / present.sum()) * present  # about their mean: no digits lost in the squares
    sizes = present.sum(axis=1)
    sums = filled.sum(axis=1)
    of_rater = [csr_array(table.T) for table in (present, filled)]  # of many raters each rates few clips

    def statistic(weights: FloatArray) -> FloatArray:
        taken = weights[:, rated]
        by_rater, rater_sums = ((table @ taken.T).T for table in of_rater)
        clips, total = taken.sum(axis=1), taken @ sizes
        raters = (by_rater > 0).sum(axis=1)
        of_all = taken @ (filled**2).sum(axis=1)
        of_clips = taken @ (sums**2 / sizes)
        of_raters = np.divide(rater_sums**2, by_rater, out=np.zeros_like(by_rater), where=by_rater > 0).sum(axis=1)
        of_mean = _over((taken @ sums) ** 2, total)
        # expectations: within clips lie raters + rest, within raters clips + rest, about the mean all three
        beside_clip = _over(of_all - of_clips, total - clips)
        beside_rater = _over(of_all - of_raters, total - raters)
        clip_share = total - _over(taken @ sizes**2, total)
        rater_share = total - _over((by_rater**2).sum(axis=1), total)
        crossing = clip_share + rater_share - (total - 1)
        rest = _over(clip_share * beside_rater + rater_share * beside_clip - (of_all - of_mean), crossing)
        clip = beside_rater - rest
        ratings_each = _over(clips, taken @ (1 / sizes))
        single = _share(clip, clip + beside_clip)
        return np.column_stack([single, _share(clip, clip + _over(beside_clip, ratings_each))])

    return statistic


def _over(over: FloatArray, under: FloatArray) -> FloatArray:
    """Return ``over / under`` where the count ``under`` is above 0, else NaN."""
    return quotient(over, under, _COUNT_ROUNDING)


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return ``part / whole``, NaN where ``whole`` is not above 0."""
    return np.where(np.isnan(part), np.nan, ratio(part, np.nan_to_num(whole)))


# Mean opinion scores with each rater's bias and inconsistency taken out: see the top.

MIN_RATINGS = 5
"""Ratings below which a rater is left out: residuals near 0 by luck would give that rater all the weight."""
COLLAPSED = 0.02
"""Part of the standard deviation of all ratings below which an inconsistency means that the rater was copied."""
_FLOOR = 1e-8  # added to variances and the change at which to stop: both as published
_MAX_STEPS = 1000


@dataclass(frozen=True, slots=True)
class RecoveredMos:
    """Qualities and raters, in the unit of the ratings.

    Attributes:
        quality: (N,) recovered quality of each clip, NaN without a rating by a rater who counts.
        bias: (R,) bias of each rater, summing to 0; NaN for raters who are left out.
        inconsistency: (R,) standard deviation of each rater's noise; NaN for raters who are left out.
        note: Limits of the result, or "".
        collapsed: Raters that the solver collapsed onto: the plain mean is better then.
    """

    quality: FloatArray
    bias: FloatArray
    inconsistency: FloatArray
    note: str = ""
    collapsed: int = 0


def recover_mos(ratings: FloatArray) -> RecoveredMos:
    """Recover qualities of clips from the ratings of biased and inconsistent raters.

    Args:
        ratings: (R, N) rating of each rater for each clip, NaN where there is none.

    Raises:
        ValueError: The ratings are no table, or infinite.
    """
    ratings = np.asarray(ratings, np.float64)
    if ratings.ndim != 2 or np.isinf(ratings).any():
        raise ValueError(f"Expected finite ratings (raters, clips) but got shape {ratings.shape}")
    used = (~np.isnan(ratings)).sum(axis=1) >= MIN_RATINGS
    rated = ~np.isnan(ratings[used]).all(axis=0)
    notes = [f"{np.sum(~used)} of {used.size} raters have under {MIN_RATINGS} ratings and are left out"]
    notes = [] if used.all() else notes
    quality = np.full(ratings.shape[1], np.nan)
    bias, inconsistency = np.full((2, used.size), np.nan)
    if not rated.any():
        notes.append("no rater is left")
        return RecoveredMos(quality, bias, inconsistency, "; ".join(notes))
    table = ratings[used][:, rated]
    rater, clip = np.nonzero(~np.isnan(table))
    quality[rated], bias[used], inconsistency[used], steps = _alternate(table[rater, clip], rater, clip)
    spread = float(np.nanstd(table))
    collapsed = int(np.sum(inconsistency[used] < COLLAPSED * spread)) if len(table) > 2 and spread > 0 else 0
    shared = csr_array((np.ones(clip.size), (rater, clip + len(table))), shape=(sum(table.shape),) * 2)
    groups = connected_components(shared, directed=False)[0]
    note = "; ".join([*notes, *_limits(len(table), groups, collapsed, steps)])
    return RecoveredMos(quality, bias, inconsistency, note, collapsed)


def _alternate(ratings: FloatArray, rater: IntArray, clip: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """Return (N,) quality, (R,) bias and inconsistency, and steps of the solver.

    Args:
        ratings: (V,) ratings.
        rater: (V,) rater of each, 0 to R − 1, none without a rating.
        clip: (V,) clip of each, 0 to N − 1, likewise.
    """
    per_rater, rater_sums = np.bincount(rater).astype(np.float64), np.bincount(rater, ratings)
    quality = np.bincount(clip, ratings) / np.bincount(clip)
    bias = (rater_sums - np.bincount(rater, quality[clip])) / per_rater
    weights = np.ones(per_rater.size)
    steps, change = 0, np.inf
    while change >= _FLOOR and steps < _MAX_STEPS:
        squares = np.bincount(rater, (ratings - quality[clip] - bias[rater]) ** 2)
        total = np.bincount(clip, weights[rater])
        left = per_rater - weights * np.bincount(rater, 1 / total[clip])  # Σ 1 − share
        alone = left < _FLOOR * per_rater  # on every clip: nothing to compare with
        variance = np.divide(squares, left, out=np.full_like(left, np.nan), where=~alone)
        weights = 1 / (np.maximum(np.nan_to_num(variance, nan=1.0), 0) + _FLOOR)
        weighted = weights[rater] * (ratings - bias[rater])
        before, quality = quality, np.bincount(clip, weighted) / np.bincount(clip, weights[rater])
        bias = (rater_sums - np.bincount(rater, quality[clip])) / per_rater
        steps, change = steps + 1, float(np.linalg.norm(quality - before))
    return quality + bias.mean(), bias - bias.mean(), np.sqrt(np.maximum(variance, 0)), steps


def _limits(raters: int, groups: int, collapsed: int, steps: int) -> list[str]:
    """Return notes on what limits the result."""
    notes = []
    if groups > 1:
        notes.append(
            f"the raters form {groups} groups without a clip in common: biases are relative to the group's mean"
        )
    if raters < 3:
        notes.append("with fewer than 3 raters their consistency cannot be estimated: this is the mean without bias")
    if collapsed:
        onto = "one rater" if collapsed == 1 else f"{collapsed} raters"
        notes.append(f"the solver collapsed onto {onto}, as happens with few raters or clips: use the plain mean")
    if steps >= _MAX_STEPS:
        notes.append(f"the solver did not converge in {_MAX_STEPS} steps")
    return notes
