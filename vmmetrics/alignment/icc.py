"""Intraclass correlation of ratings from weighted clips, ratings missing at will.

Shrout and Fleiss, Psychological Bulletin 1979: clips and raters both random, agreement absolute, ICC(2,1) for one
rating and ICC(2,k) for the mean of k. The variances of clips, raters and rest are Henderson's (Biometrics 1953, method
1): four sums of squares held against their expectations. With every rating there these are the mean squares of the
analysis of variance, and both figures are exactly Shrout and Fleiss's; with some missing they use all there are.
"""

from __future__ import annotations

import numpy as np

from vmmetrics.alignment.resampling import Statistic, ratio
from vmmetrics.types import FloatArray

_ROUNDING = 1e-9  # counts differ by 1 or not at all


def icc_statistic(ratings: FloatArray) -> Statistic:
    """ICC(2,1) and ICC(2,k) as statistics of weighted clips; k is the (harmonic) mean number of ratings of a clip.

    Args:
        ratings: (N, R), NaN where a rater said nothing.

    Returns:
        (B, N) weights to (B, 2); NaN where clips and raters cannot be told apart: one rater, one clip, every clip rated
        once or by raters of its own, or no rating that differs.
    """
    there = ~np.isnan(ratings)
    rated = there.any(axis=1)
    there = there[rated].astype(np.float64)
    filled = np.nan_to_num(ratings[rated])
    if there.sum():
        filled = (filled - filled.sum() / there.sum()) * there  # about their mean: no digits lost in the squares
    sizes = there.sum(axis=1)
    sums = filled.sum(axis=1)

    def statistic(weights: FloatArray) -> FloatArray:
        taken = weights[:, rated]
        by_rater, rater_sums = taken @ there, taken @ filled
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
    """``over / under`` where the count ``under`` is above 0, else NaN."""
    quotient: FloatArray = np.divide(over, under, out=np.full(under.shape, np.nan), where=under > _ROUNDING)
    return quotient


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """``part / whole``, NaN where ``whole`` is not above 0."""
    return np.where(np.isnan(part), np.nan, ratio(part, np.nan_to_num(whole)))
