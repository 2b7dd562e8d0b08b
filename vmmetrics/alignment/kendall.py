"""Kendall's τ b and c with an interval that needs no resampling.

τ compares every clip with every other, so 1,000 samples of 100,000 clips are out of reach. Both are ratios of sums over
pairs in which each clip has a weight of 1,

    τ_b = Σ w_i w_j a_ij / √(Σ w_i w_j b_ij · Σ w_i w_j c_ij)       τ_c = m / (m − 1) · Σ w_i w_j a_ij / (Σ w_i)²

with a_ij = 1 where the pair is in the same order on both sides, −1 where in the opposite one and 0 where tied, b_ij and
c_ij = 1 where the scores (the judgements) differ, m the smaller number of distinct values. Their derivatives in w_i are
the influence of clip i. Summed within prompts and squared they estimate the variance over prompts (infinitesimal
jackknife: Jaeckel 1972; for sums over pairs it is the variance of Hoeffding 1948), as the bootstrap over prompts does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from vmmetrics.alignment.bootstrap import CONFIDENCE, Estimate, interval_note, prompt_codes
from vmmetrics.alignment.correlation import LEAST_CLIPS
from vmmetrics.types import FloatArray, IntArray

_SAME = 1e-12  # correlations that differ by less differ by rounding alone


class Kendall(NamedTuple):
    """Both variants."""

    b: Estimate
    c: Estimate


def kendall(scores: FloatArray, ratings: FloatArray, prompts: Sequence[str]) -> Kendall:
    """τ_b and τ_c with intervals over prompts.

    The interval is symmetric on Fisher's scale, by Student's t with P − 1 degrees of freedom, P prompts. p is scipy's
    where every clip has its own prompt; else from the same standard error, by Student's t with P − 2.

    Args:
        scores: (N,) scores.
        ratings: (N,) judgements; both vary, without NaN, N ≥ 3.
        prompts: (N,) prompt of each clip.
    """
    x = np.unique(scores, return_inverse=True)[1]
    y = np.unique(ratings, return_inverse=True)[1]
    clusters, count = prompt_codes(prompts)
    estimates = []
    for variant, influence in zip("bc", influences(x, y), strict=True):
        found = stats.kendalltau(x, y, variant=variant)
        estimates.append(_estimate(float(found.statistic), float(found.pvalue), influence, clusters, count))
    return Kendall(*estimates)


def influences(x: IntArray, y: IntArray) -> tuple[FloatArray, FloatArray]:
    """How τ_b and τ_c change with the weight of each clip.

    Args:
        x: (N,) numbers in the order of the scores, equal where these are.
        y: (N,) likewise for the judgements; both vary.

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
    """How many others lie strictly below each clip on both sides, in O(N log N).

    With the clips in order of x, a clip's count is a sum over blocks of 1, 2, 4, ... places: wherever it lies in the
    right half of such a block, those of the left half with a smaller y. The clips are kept in order of y inside every
    block, from one block of all places down to single places, so each step is a running count.

    Args:
        x: (N,) whole numbers.
        y: (N,) whole numbers.

    Returns:
        (N,) int64 counts.

    >>> below(np.array([1, 2, 2, 3]), np.array([1, 2, 1, 3]))
    array([0, 1, 0, 3])
    """
    n = len(x)
    place = np.empty(n, np.int64)
    place[np.lexsort((-y, x))] = np.arange(n)  # equal x: the smaller y later, so that it never counts as before
    clips = np.lexsort((-place, y))  # equal y: the earlier place later, likewise
    places = place[clips]
    counts = np.zeros(n, np.int64)  # by place
    for bit in reversed(range(max(n - 1, 1).bit_length())):
        left = (places >> bit) & 1 == 0
        start = (places >> (bit + 1)) << (bit + 1)  # of the block; as many places lie before it
        seen = np.cumsum(left)
        seen -= (seen - left)[start]  # of the left half, so far in the block
        counts[places] += np.where(left, 0, seen)
        moved = np.empty(n, np.int64)
        moved[np.where(left, start + seen - 1, np.arange(n) + (1 << bit) - seen)] = places
        places = moved
    return counts[place]


def _estimate(value: float, p: float, influence: FloatArray, clusters: IntArray, count: int) -> Estimate:
    n, note = len(influence), interval_note(count)
    chance = p if count == n else None
    if count <= 1:
        return Estimate(value, p=chance, n=n, note=note)
    sums = np.bincount(clusters, weights=influence, minlength=count)
    error = float(np.sqrt(count / (count - 1) * (sums @ sums)))
    if abs(value) > 1 - _SAME or error < _SAME:  # perfect order, whatever is left out: no width
        return Estimate(value, value, value, chance, n, note)
    centre, error = float(np.arctanh(value)), error / (1 - value**2)
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1)) * error
    if LEAST_CLIPS <= count < n:
        chance = float(2 * stats.t.sf(abs(centre) / error, count - 2))
    return Estimate(value, float(np.tanh(centre - reach)), float(np.tanh(centre + reach)), chance, n, note)
