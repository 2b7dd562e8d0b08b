"""Paired statistics of models scored on the same prompts, with the prompt as the unit.

Bootstrap: Efron, Annals of Statistics 1979, percentile intervals, the same prompts drawn for every model. Sign flips:
Fisher's randomisation test of paired differences. Holm: Scandinavian Journal of Statistics 1979.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics.bootstrap import (
    CONFIDENCE,
    LEAST_PROMPTS,
    MEAN_RESAMPLES,
    SEED,
    percentile_interval,
    prompt_blocks,
)

Tested = TypeVar("Tested", bound=Any)
"""A dataclass with ``p`` and ``p_holm``."""

# The mean of scores and how far it can be trusted.


class Mean(NamedTuple):
    """A mean with its bootstrap interval.

    Attributes:
        mean: Mean of the scores.
        low: Lower end of the 95 % interval, None for fewer than three scores (prompts).
        high: Upper end, or None.
        clips: Number of scores; clips without a score are not in it.
    """

    mean: float
    low: float | None
    high: float | None
    clips: int


def mean_with_interval(
    scores: Sequence[float] | FloatArray, many: int | None = None, prompts: Sequence[Hashable] | IntArray | None = None
) -> Mean | None:
    """Return mean and 95 % percentile bootstrap interval (Efron, Annals of Statistics 1979), or None without scores.

    Args:
        scores: (N,) of clips; the mean is over them.
        many: Prompts from which on nothing is drawn; None for :data:`MANY`.
        prompts: (N,) prompt of each clip, drawn with all its clips (Field and Welsh, JRSS B 2007): neither their names
            nor the order of the clips matter. None draws clips.

    From ``many`` scores on (default :data:`MANY`), the ends are those of the bootstrap distribution in closed form, its
    skewness included (Cornish and Fisher; Hall, The Bootstrap and Edgeworth Expansion, 1992): closer to it than any
    sample of it.

    >>> mean_with_interval([0.5, 0.5, 0.5])
    Mean(mean=0.5, low=0.5, high=0.5, clips=3)
    """
    values = np.asarray(scores, np.float64)
    if values.size == 0:
        return None
    sums, counts = (values, np.ones(len(values))) if prompts is None else _by_prompt(values, prompts)
    clips, units = int(values.size), int(sums.size)
    mean = float(sums.sum() / clips)
    if units < LEAST_PROMPTS:
        return Mean(mean, None, None, clips)
    if units >= (MANY if many is None else many):
        return Mean(mean, *_ends_of_many((sums - mean * counts) * (units / clips), mean), clips)
    rng = np.random.default_rng(SEED)
    drawn = (rng.integers(units, size=(rows, units)) for rows in _rows(MEAN_RESAMPLES, units))
    means = np.concatenate([sums[sample].sum(axis=1) / counts[sample].sum(axis=1) for sample in drawn])
    return Mean(mean, *percentile_interval(means), clips)


def _by_prompt(values: FloatArray, prompts: Sequence[Hashable] | IntArray) -> tuple[FloatArray, FloatArray]:
    """Return sum and number of the values of each prompt, in an order that depends on them alone."""
    numbers: dict[Hashable, int] = {}
    codes = np.fromiter((numbers.setdefault(prompt, len(numbers)) for prompt in prompts), np.int64, len(values))
    order = np.argsort(values, kind="stable")  # or sums would depend on the order of the clips in the last digit
    sums = np.bincount(codes[order], values[order]).astype(np.float64)
    counts = np.bincount(codes)
    ordered = np.lexsort((sums, counts))
    return sums[ordered], counts[ordered].astype(np.float64)


MANY = 10_000
"""Scores from which on nothing is drawn: the ends are off by some 1 / 10,000 of a standard error, those of 10,000
samples by 0.04."""


def _ends_of_many(centred: FloatArray, mean: float) -> tuple[float, float]:
    """Return the quantiles of the bootstrap distribution of a mean, to the order of 1 / n.

    Args:
        centred: (N,) values less their mean; of prompts with several clips, what each adds to it (the linear part).
        mean: The mean.
    """
    spread = float(np.sqrt(np.mean(centred**2)))
    if not spread:
        return mean, mean
    skew = float(np.mean((centred / spread) ** 3)) / math.sqrt(centred.size)
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    low, high = ((end + skew * (z**2 - 1) / 6) * spread / math.sqrt(centred.size) for end in (-z, z))
    return mean + low, mean + high


FLIPS = 10_000
"""Random sign patterns; the smallest p is then 1e-4."""
_ALL_PATTERNS = 13  # prompts up to which every pattern is tried: 2**13 < FLIPS
_CHUNK = 4_000_000  # numbers drawn at a time, 32 MB
_ENOUGH = 1000  # scores of a metric from which on its mean is normal
_PAIRS = 512  # of models that are drawn at a time, 82 MB of means
_TIE = 1e-12  # of the sum of all magnitudes: sums that differ by less differ by rounding alone


def resampled_means(scores: FloatArray, clips: FloatArray | None = None) -> FloatArray:
    """Return the means in samples of prompts drawn with replacement.

    Args:
        scores: (M, P, K) models, prompts, metrics; NaN where there is no score.
        clips: (M, P, K) number of clips whose mean each score is, by which it is weighted; None weights prompts alike.

    Returns:
        (MEAN_RESAMPLES, M, K) means of the scores there are; NaN where a sample holds none. Of :data:`MANY` prompts the
        samples are those of the normal distribution that the means then have.
    """
    models, prompts, metrics = scores.shape
    flat = scores.transpose(1, 0, 2).reshape(prompts, models * metrics)
    present = (~np.isnan(flat)).astype(np.float64)
    if clips is not None:
        present *= clips.transpose(1, 0, 2).reshape(prompts, models * metrics)
    filled = np.nan_to_num(flat) * present
    if prompts >= MANY and present.sum(axis=0).min() >= _ENOUGH:
        return _normal_means(filled, present).reshape(MEAN_RESAMPLES, models, metrics)
    means = []
    for drawn in prompt_blocks(prompts, MEAN_RESAMPLES, SEED):
        with np.errstate(invalid="ignore"):
            means.append((drawn @ filled) / (drawn @ present))
    return np.concatenate(means).reshape(MEAN_RESAMPLES, models, metrics)


def _normal_means(filled: FloatArray, present: FloatArray) -> FloatArray:
    """Return (MEAN_RESAMPLES, C) normal samples of the means of (P, C) columns, with their bootstrap covariance."""
    counts = present.sum(axis=0)
    means = filled.sum(axis=0) / counts
    influences = (filled - means * present) / counts  # of each prompt on each mean
    values, vectors = np.linalg.eigh(influences.T @ influences)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T  # the symmetric one, which is unique
    samples: FloatArray = means + np.random.default_rng(SEED).standard_normal((MEAN_RESAMPLES, len(means))) @ root
    return samples


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference of the means over clips of two models, on the prompts that both have.

    Attributes:
        difference: Of the first mean, less the second; None without a common prompt.
        low: Lower end of its 95 % bootstrap interval over prompts; None for fewer than three.
        high: Upper end.
        p: Two-sided, of a sign-flip test over prompts; None without a common prompt.
        p_holm: The same after :func:`corrected`, None before.
        prompts: Common prompts.
    """

    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    prompts: int


def paired_differences(scores: FloatArray, clips: FloatArray) -> list[Difference]:
    """Compare models in pairs.

    Args:
        scores: (2, C, P) first and second model of C pairs, means over the clips of each prompt; NaN where missing.
        clips: (2, C, P) how many clips they are of: a prompt counts by its clips, as in the mean of a model.
    """
    if scores.shape[1] > _PAIRS:
        halves = zip(*(np.array_split(of_pairs, 2, axis=1) for of_pairs in (scores, clips)), strict=True)
        return [difference for half in halves for difference in paired_differences(*half)]
    common = ~np.isnan(scores).any(axis=0)
    masked = np.where(common, scores, np.nan)
    parts = contributions(masked, clips).T
    samples = resampled_means(masked.reshape(-1, common.shape[1], 1), clips.reshape(-1, common.shape[1], 1))
    drawn = samples.reshape(len(samples), 2, -1)
    compared = []
    for pair, (prompts, p) in enumerate(zip(common.sum(axis=1).tolist(), sign_flip_ps(parts), strict=True)):
        low, high = (
            percentile_interval(drawn[:, 0, pair] - drawn[:, 1, pair]) if prompts >= LEAST_PROMPTS else (None, None)
        )
        value, tested = (float(parts[:, pair].sum()), p) if prompts else (None, None)
        compared.append(Difference(value, low, high, tested, None, prompts))
    return compared


def contributions(scores: FloatArray, clips: FloatArray) -> FloatArray:
    """Return the contribution of each prompt to the differences of pairs of means over clips.

    Scores are taken from the middle of the two means, which leaves their difference as it is: a prompt that holds a
    larger share of one model's clips would otherwise contribute by the level of all scores.

    Args:
        scores: (2, C, P) as of :func:`paired_differences`, NaN in both or neither.
        clips: (2, C, P) numbers of clips.

    Returns:
        (C, P) summing to the differences; 0 for prompts that are not common. For equal numbers of clips the difference
        of the two scores, over the number of prompts.
    """
    counts = np.where(np.isnan(scores), 0.0, clips)
    shares = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)
    filled = np.nan_to_num(scores)
    middle = (shares * filled).sum(axis=2, keepdims=True).mean(axis=0)
    first, second = shares * (filled - middle)
    parts: FloatArray = first - second
    return parts


def sign_flip_p(parts: FloatArray) -> float:
    """Return the two-sided p of a sign-flip test on the sum of (P,) paired differences.

    All sign patterns are tried for up to 13 prompts that differ, else 10,000 random ones and the observed one.

    >>> sign_flip_p(np.array([1.0, 1.0, 1.0]))
    0.25
    """
    return sign_flip_ps(parts[:, None])[0]


def sign_flip_ps(parts: FloatArray) -> list[float]:
    """Return :func:`sign_flip_p` of each column of (P, C) differences; they share the random patterns."""
    differ = (parts != 0).sum(axis=0)  # the sign of the others changes nothing
    values = [_exact_p(column[column != 0]) for column in parts[:, differ <= _ALL_PATTERNS].T]
    of_few = iter(values)
    many = parts[:, differ > _ALL_PATTERNS]
    observed = np.abs(many.sum(axis=0)) - _TIE * np.abs(many).sum(axis=0)
    extreme = np.ones(many.shape[1], np.int64)  # the one that was observed
    rng = np.random.default_rng(SEED)
    for rows in _rows(FLIPS, len(parts)) if many.size else ():
        signs = 1 - 2 * rng.integers(2, size=(rows, len(parts)), dtype=np.int8)
        extreme += (np.abs(signs @ many) >= observed).sum(axis=0)
    of_many = iter((extreme / (FLIPS + 1)).tolist())
    return [next(of_few if few else of_many) for few in differ <= _ALL_PATTERNS]


def _exact_p(parts: FloatArray) -> float:
    """Return p over all sign patterns of (P,) differences; 1 for none."""
    observed = abs(parts.sum()) - _TIE * np.abs(parts).sum()
    patterns = (np.arange(2**parts.size)[:, None] >> np.arange(parts.size)) & 1
    return float(np.mean(np.abs((1 - 2 * patterns) @ parts) >= observed))


def holm(values: Sequence[float]) -> list[float]:
    """Return Holm-corrected p values, which bound the family-wise error rate.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    raised = [0.0] * len(values)
    highest = 0.0
    for done, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - done) * values[index]))
        raised[index] = highest
    return raised


def corrected(rows: Iterable[Tested]) -> list[Tested]:
    """Return dataclasses with ``p_holm`` Holm-corrected over all of them that have a ``p``."""
    rows = list(rows)
    raised = iter(holm([row.p for row in rows if row.p is not None]))
    return [row if row.p is None else replace(row, p_holm=next(raised)) for row in rows]


def rank_shares(means: FloatArray) -> FloatArray:
    """Return the share of samples in which each model has each rank.

    Args:
        means: (R, M) means of each sample; samples with a NaN are left out.

    Returns:
        (M, M) shares, ranks in the second axis, best first; a row sums to 1. Equal means share the better rank.
    """
    complete = means[~np.isnan(means).any(axis=1)]
    models = means.shape[1]
    ranks: NDArray[np.intp] = (complete[:, None, :] > complete[:, :, None]).sum(axis=2)
    return np.stack([np.bincount(ranks[:, m], minlength=models) / max(len(complete), 1) for m in range(models)])


def _rows(total: int, width: int) -> Iterator[int]:
    """Rows of so many numbers, a chunk at a time."""
    step = max(1, _CHUNK // width)
    yield from (min(step, total - start) for start in range(0, total, step))
