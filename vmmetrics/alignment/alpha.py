"""Krippendorff's α from weighted clips, ratings missing at will.

Krippendorff, Content Analysis, 4th edition 2019, chapter 12: α = 1 − observed / expected disagreement, both over the
ratings that can be paired, those of clips with two ratings or more. With m ratings in a clip each of its ordered pairs
counts 1 / (m − 1). The ordinal difference of two values is the difference of their mid-ranks among all pairable
ratings, so ordinal α is interval α of the ranks; and interval α needs no table of pairs, only sums and sums of squares.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from vmmetrics.alignment.resampling import Statistic, ratio
from vmmetrics.types import FloatArray


def alpha_statistic(ratings: FloatArray) -> Statistic:
    """α as a statistic of weighted clips.

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
        return np.column_stack(
            [
                nominal,
                _of_squares(counts, sizes, taken, marginal, ranks - total[:, None] / 2),
                _of_squares(counts, sizes, taken, marginal, np.broadcast_to(centred, marginal.shape)),
            ]
        )

    return statistic


def _of_squares(
    counts: csr_array, sizes: FloatArray, weights: FloatArray, marginal: FloatArray, positions: FloatArray
) -> FloatArray:
    """α with squared differences of the values' positions.

    Args:
        counts: (N, V) times each value was given to each clip.
        sizes: (N,) ratings of each clip.
        weights: (B, N).
        marginal: (B, V) weighted number of ratings of each value.
        positions: (B, V) where each value stands, in each weighting.
    """
    sums, squares = (counts @ positions.T).T, (counts @ (positions**2).T).T  # (B, N)
    observed = (weights * 2 * (sizes * squares - sums**2) / (sizes - 1)).sum(axis=1)
    total = marginal.sum(axis=1)
    spread = total * (marginal * positions**2).sum(axis=1) - (marginal * positions).sum(axis=1) ** 2
    alphas: FloatArray = 1 - (total - 1) * ratio(observed, 2 * spread)
    return alphas
