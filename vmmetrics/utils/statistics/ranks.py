"""Spearman's ρ of bootstrap samples from clip multiplicities, without sorting each sample.

A bootstrap sample of clips only changes how often each value occurs, not their order. So every variable is sorted once
and each clip is given the number of its value; in a sample the ranks follow from counting and adding up:

    counts     W_g = Σ weights of the clips with value g
    midrank    r_g = (sum of counts up to and with g) − W_g / 2 + ½
    Spearman     ρ = Σ_g r_g Σ_{i in g} w_i s_i / √(Σ W_g r_g² · Σ V_h s_h²)        r, s less their means

which is Pearson's correlation of the ranks with ties at their mean, of the sample written out clip by clip. Everything
but the last line is counted in whole numbers. Segments (models, prompts) are ranked each by itself in the same pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics.bootstrap import quotient


def unit_ranks(values: FloatArray) -> FloatArray:
    """Return (R, N) centred ranks of each row with norm 1 (their products sum to Spearman); 0 for a constant row."""
    ranks = stats.rankdata(values, axis=1, nan_policy="omit") - (values.shape[1] + 1) / 2
    length = np.sqrt((ranks**2).sum(axis=1, keepdims=True))
    unit: FloatArray = np.divide(ranks, length, out=np.zeros_like(ranks), where=length > 0)
    return unit


class Coded(NamedTuple):
    """A variable sorted once.

    Attributes:
        codes: (N,) number of each clip's value among the distinct values of its segment, segments one after another.
        starts: (S,) first number of each segment.
        values: How many numbers there are.
    """

    codes: IntArray
    starts: IntArray
    values: int


class _Ranks(NamedTuple):
    """Ranks of one variable in B samples; numbers run through the values of the first sample, then the second, ..."""

    flat: IntArray  # (B·N,) number of each clip's value
    starts: IntArray  # (B·S,) where each segment of each sample starts
    doubled: FloatArray  # (B·G,) twice the midrank less its mean in the segment: whole numbers
    squares: FloatArray  # (B·S,) sum of squares of that over the clips


def code(values: FloatArray, segments: IntArray | None = None) -> Coded:
    """Sort a variable.

    Args:
        values: (N,) without NaN, N ≥ 1.
        segments: (N,) number of each clip's segment, 0 to S − 1 with none empty; one segment where None.

    >>> code(np.array([0.3, 0.1, 0.3])).codes
    array([1, 0, 1])
    """
    segments = np.zeros(len(values), np.int64) if segments is None else segments
    order = np.lexsort((values, segments))
    value, segment = values[order], segments[order]
    new_segment = np.concatenate(([True], segment[1:] != segment[:-1]))
    new_value = new_segment | np.concatenate(([True], value[1:] != value[:-1]))
    numbers = np.cumsum(new_value) - 1
    codes = np.empty(len(values), np.int64)
    codes[order] = numbers
    return Coded(codes, numbers[new_segment], int(numbers[-1]) + 1)


def weighted_spearman(columns: Sequence[Coded], target: Coded, weights: IntArray) -> FloatArray:
    """Spearman of each column with the target, per sample and segment.

    Args:
        columns: K variables, all in the segments of the target.
        target: The variable they are correlated with.
        weights: (B, N) how often each clip is in each sample.

    Returns:
        (K, B, S) correlations, NaN where a column or the target does not vary in the sample's segment.
    """
    samples = len(weights)
    flat_weights = weights.ravel().astype(np.float64)
    against = _ranks(target, samples, flat_weights)
    weighted = against.doubled.take(against.flat) * flat_weights
    correlations = np.empty((len(columns), samples * len(target.starts)))
    for row, column in zip(correlations, columns, strict=True):
        ranks = _ranks(column, samples, flat_weights)
        sums = np.bincount(ranks.flat, weights=weighted, minlength=len(ranks.doubled))
        products = np.add.reduceat(sums * ranks.doubled, ranks.starts)
        row[:] = quotient(products, np.sqrt(ranks.squares * against.squares))
    return np.clip(correlations, -1, 1, out=correlations).reshape(len(columns), samples, -1)


def _ranks(coded: Coded, samples: int, flat_weights: FloatArray) -> _Ranks:
    shifts = np.arange(samples)[:, None] * coded.values
    flat = (coded.codes + shifts).ravel() if samples > 1 else coded.codes
    starts = (coded.starts + shifts).ravel()
    counts = np.bincount(flat, weights=flat_weights, minlength=samples * coded.values).astype(np.int64)
    upto = np.cumsum(counts)
    before = upto[starts] - counts[starts]
    total = np.add.reduceat(counts, starts)
    lengths = np.diff(starts, append=len(counts))
    doubled = (2 * upto - counts - np.repeat(2 * before + total, lengths)).astype(np.float64)
    return _Ranks(flat, starts, doubled, np.add.reduceat(doubled * doubled * counts, starts))
