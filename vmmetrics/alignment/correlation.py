"""Pearson and Spearman of a sample, of its bootstrap samples, and what the pair of them says against chance.

The p value of a correlation:

- where every clip has a prompt of its own, scipy's, which takes clips for independent of one another;
- where prompts have several clips, that would count a prompt's luck once per clip. Then Fisher's transform of the
  correlation, over the standard deviation it has in the bootstrap samples of prompts, is held against Student's t with
  P − 2 degrees of freedom, P prompts. Simulated with nothing to find (17 prompts of 5 clips, half of the variance
  the prompt's) that p is below 0.05 in 7 % of the studies, scipy's in 17 %.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import stats

from vmmetrics.alignment.bootstrap import Estimate, bootstrapped, draw_blocks, prompt_blocks, prompt_codes, two_sided_p
from vmmetrics.alignment.ranks import code, weighted_spearman
from vmmetrics.types import FloatArray, IntArray

LEAST_CLIPS = 3
"""Two clips always lie on a line: below three a correlation says nothing."""
_NEAR_ONE = 1 - 1e-6  # Fisher's transform of ±1 is infinite; samples in perfect order count as this
_ROUNDING = 1e-13  # a variance below this part of the mean square is what rounding leaves of a constant
_SAME = 1e-12  # correlations that differ by less differ by rounding alone
_THREADED = 20_000  # clips from which a second thread earns more than it costs


def why_undefined(scores: FloatArray, ratings: FloatArray) -> str | None:
    """Why two variables without NaN have no correlation, in words; None where they have one.

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


def spearman(scores: FloatArray, ratings: FloatArray) -> tuple[float, float]:
    """Spearman's ρ and scipy's p of two (N,) variables that have one."""
    found = stats.spearmanr(scores, ratings)
    return float(found.statistic), float(found.pvalue)


def pearson(scores: FloatArray, ratings: FloatArray) -> tuple[float, float]:
    """Pearson's r and scipy's p of two (N,) variables that have one."""
    found = stats.pearsonr(scores, ratings)
    return float(found.statistic), float(found.pvalue)


def resampled_spearman(
    columns: Sequence[FloatArray],
    target: FloatArray,
    prompts: Sequence[str],
    resamples: int,
    seed: int,
    segments: IntArray | None = None,
) -> FloatArray:
    """Spearman's ρ of each column with the target in bootstrap samples of prompts.

    Args:
        columns: K variables (N,) without NaN.
        target: (N,) what they are held against, without NaN.
        prompts: (N,) prompt of each clip.
        resamples: Samples, R.
        seed: Of the random numbers; the same for two calls pairs their samples.
        segments: (N,) number of each clip's segment, 0 to S − 1 with none empty; one segment where None.

    Returns:
        (K, R, S), NaN where a sample does not define it.
    """
    coded, against = [code(column, segments) for column in columns], code(target, segments)

    def ranked(part: slice) -> FloatArray:
        blocks = draw_blocks(prompts, resamples, seed)
        return np.concatenate([weighted_spearman(coded[part], against, weights) for weights in blocks], axis=1)

    threads = min(len(columns), os.cpu_count() or 1) if len(target) >= _THREADED else 1
    parts = [slice(start, None, threads) for start in range(threads)]
    found = np.empty((len(columns), resamples, len(against.starts)))
    with ThreadPoolExecutor(threads) as pool:
        for part, values in zip(parts, pool.map(ranked, parts), strict=True):
            found[part] = values
    return found


def resampled_pearson(
    columns: Sequence[FloatArray], target: FloatArray, prompts: Sequence[str], resamples: int, seed: int
) -> FloatArray:
    """Pearson's r of each column with the target in the same samples: (K, R), NaN where one does not define it.

    A sample's sums are sums over prompts, each times how often it was drawn, so no clip is looked at twice.
    """
    codes, count = prompt_codes(prompts)
    x, y = np.stack(columns), target - target.mean()
    x = x - x.mean(axis=1, keepdims=True)  # or the sums of squares would lose what they are to tell
    parts = [np.ones((1, len(y))), y[None], y[None] ** 2, x, x**2, x * y]
    sums = np.stack([np.bincount(codes, weights=row, minlength=count) for row in np.concatenate(parts)], axis=1)
    found = []
    for weights in prompt_blocks(count, resamples, seed):
        n, mean_y, mean_yy, *rest = (weights @ sums).T
        mean_x, mean_xx, mean_xy = np.stack(rest).reshape(3, len(x), -1) / n
        mean_y, mean_yy = mean_y / n, mean_yy / n
        variance_x, variance_y = mean_xx - mean_x**2, mean_yy - mean_y**2
        varies = (variance_x > _ROUNDING * mean_xx) & (variance_y > _ROUNDING * mean_yy)
        scale = np.sqrt(np.maximum(variance_x, 0) * np.maximum(variance_y, 0))
        found.append(np.divide(mean_xy - mean_x * mean_y, scale, out=np.full(scale.shape, np.nan), where=varies))
    together: FloatArray = np.clip(np.concatenate(found, axis=1), -1, 1)
    return together


def clustered_p(value: float, values: FloatArray, prompts: int) -> float | None:
    """A p value of no association where prompts have several clips (see above).

    Args:
        value: The correlation, or a mean of correlations.
        values: (R,) of the bootstrap samples, NaN where one does not define it.
        prompts: How many prompts there are.

    Returns:
        p, or None for under three prompts or where under half of the samples define the correlation.
    """
    known = values[~np.isnan(values)]
    if prompts < LEAST_CLIPS or known.size == 0 or known.size < values.size / 2:
        return None
    if np.ptp(known) < _SAME:
        return two_sided_p(values)  # every sample says the same: as small as so many samples can tell
    error = float(np.arctanh(np.clip(known, -_NEAR_ONE, _NEAR_ONE)).std(ddof=1))
    t = abs(float(np.arctanh(np.clip(value, -_NEAR_ONE, _NEAR_ONE)))) / error
    return float(2 * stats.t.sf(t, prompts - 2))


def correlation_estimate(value: float, p: float, values: FloatArray, prompts: Sequence[str]) -> Estimate:
    """A correlation with its interval over prompts and the p value that its prompts call for.

    Args:
        value: The correlation.
        p: scipy's p.
        values: (R,) of the bootstrap samples.
        prompts: (N,) prompt of each clip.
    """
    count = len(set(prompts))
    chance = p if count == len(prompts) else clustered_p(value, values, count)
    return bootstrapped(value, values, n=len(prompts), prompts=count, p=chance)
