"""Every metric against every dimension it faces, at every level."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import stats

from vmmetrics.alignment.levels import overall_pearson, overall_spearman, within_model, within_prompt, without_model
from vmmetrics.alignment.plan import Plan
from vmmetrics.alignment.results import PairAlignment
from vmmetrics.alignment.study import Sample, samples_of, snapped
from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics.bootstrap import CONFIDENCE, Estimate, bootstrapped, prompt_blocks, prompt_codes
from vmmetrics.utils.statistics.correlation import LEAST_CLIPS, Kendall, kendall, spearman, why_undefined

# What telling the models apart is worth: the rank of models, and ratings shuffled inside them.

SHUFFLES = 1000
"""Shuffles of the ratings inside each model."""
EXACT_MODELS = 8
"""Models up to which every order is tried for the p value at model level: 8! = 40,320."""
_TIE = 1e-12  # correlations that differ by less differ by rounding alone
_UNKNOWN = "the models of the clips are not known"


def model_level(sample: Sample, resamples: int, seed: int) -> list[Estimate]:
    """Spearman of the models' mean scores with their mean ratings, per metric.

    The interval draws prompts and holds the models fixed; p tries every order of up to eight models (scipy's t above),
    so it speaks of models. With three or four models it cannot fall below 0.33 or 0.08.
    """
    sample = sample.of_known_models()
    codes, names = sample.model_codes()
    if len(names) < LEAST_CLIPS:
        note = f"an order of models needs {LEAST_CLIPS} of them, and there are {len(names)}" if names else _UNKNOWN
        return [Estimate(None, n=len(names), note=note) for _ in sample.metrics]
    prompts = len(set(sample.prompts))
    ratings = _model_means(sample.ratings, codes, sample.prompts, resamples, seed)
    found = []
    for row in sample.scores:
        scores = _model_means(row, codes, sample.prompts, resamples, seed)
        reason = why_undefined(scores[0], ratings[0])
        if reason is not None:
            found.append(Estimate(None, n=len(names), note=f"{reason} on the mean over each model"))
            continue
        value, p = spearman(scores[0], ratings[0])
        if len(names) <= EXACT_MODELS:
            p = permutation_p(scores[0], ratings[0])
        found.append(bootstrapped(value, _row_spearman(scores[1:], ratings[1:]), n=len(names), prompts=prompts, p=p))
    return found


def permutation_p(scores: FloatArray, ratings: FloatArray) -> float:
    """Share of the orders of (M,) ratings, M ≤ 8, in which Spearman is as far from 0 as in the one found.

    >>> permutation_p(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 9.0]))  # 2 of 6
    0.3333333333333333
    """
    x, y = (stats.rankdata(values) - (len(values) + 1) / 2 for values in (scores, ratings))
    orders = np.array(list(itertools.permutations(range(len(y)))))
    scale = np.sqrt((x @ x) * (y @ y))
    return float(np.mean(np.abs(y[orders] @ x) / scale >= abs(x @ y) / scale - _TIE))


def shuffled(sample: Sample, seed: int) -> list[Estimate]:
    """Pooled Spearman of each metric with ratings shuffled inside each model: what the models alone bring.

    ``value`` is the mean over all possible shuffles, worked out; ``low`` and ``high`` bound 95 % of 1,000 of them.
    """
    sample = sample.of_known_models()
    codes, names = sample.model_codes()
    if len(names) < 2:
        note = "there is a single model" if names else _UNKNOWN
        return [Estimate(None, n=len(codes), note=note) for _ in sample.metrics]
    by_model = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    ranks = _unit_ranks(sample.scores[:, by_model])
    rated = _unit_ranks(sample.ratings[None, by_model])[0]
    ends = np.cumsum(sizes)
    starts = ends - sizes
    expected = (np.add.reduceat(ranks, starts, axis=1) * np.add.reduceat(rated, starts) / sizes).sum(axis=1)
    rng = np.random.default_rng(seed)
    found = np.empty((SHUFFLES, len(ranks)))
    for row in found:
        row[:] = ranks @ np.concatenate([rng.permutation(rated[a:b]) for a, b in zip(starts, ends, strict=True)])
    tail = (1 - CONFIDENCE) / 2
    estimates = []
    for scores, value, values in zip(sample.scores, expected, found.T, strict=True):
        reason = why_undefined(scores, sample.ratings)
        if reason is not None:
            estimates.append(Estimate(None, n=len(codes), note=reason))
            continue
        low, high = np.quantile(values, [tail, 1 - tail])
        estimates.append(Estimate(float(value), float(low), float(high), n=len(codes)))
    return estimates


def _model_means(values: FloatArray, codes: IntArray, prompts: Sequence[str], resamples: int, seed: int) -> FloatArray:
    """(1 + R, M) mean per model, of the sample and of its bootstrap samples; NaN where one lacks the model."""
    prompt, count = prompt_codes(prompts)
    models = int(codes.max()) + 1
    cell = prompt * models + codes
    parts = [np.bincount(cell, weights=part, minlength=count * models) for part in (values, np.ones(len(values)))]
    sums, clips = (part.reshape(count, models) for part in parts)
    blocks = itertools.chain([np.ones((1, count))], prompt_blocks(count, resamples, seed))
    total, drawn = (np.concatenate(rows) for rows in zip(*((w @ sums, w @ clips) for w in blocks), strict=True))
    return snapped(np.divide(total, drawn, out=np.full(total.shape, np.nan), where=drawn > 0))


def _row_spearman(x: FloatArray, y: FloatArray) -> FloatArray:
    """(R,) Spearman of the rows of two (R, M); NaN where one does not vary or has a NaN."""
    found: FloatArray = (_unit_ranks(x) * _unit_ranks(y)).sum(axis=1)
    undefined = np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1)
    undefined |= (np.ptp(x, axis=1) == 0) | (np.ptp(y, axis=1) == 0)
    return np.where(undefined, np.nan, np.clip(found, -1, 1))


def _unit_ranks(values: FloatArray) -> FloatArray:
    """(R, N) ranks of each row, less their mean and with length 1: their products sum to Spearman. Constant: 0."""
    ranks = stats.rankdata(values, axis=1, nan_policy="omit") - (values.shape[1] + 1) / 2
    length = np.sqrt((ranks**2).sum(axis=1, keepdims=True))
    unit: FloatArray = np.divide(ranks, length, out=np.zeros_like(ranks), where=length > 0)
    return unit


def measure_alignments(plan: Plan) -> Iterator[PairAlignment]:
    """In the order of the study's metrics, for each in the order of the dimensions it faces."""
    found = {}
    for dimension in plan.rated:
        judged = np.isfinite(plan.study.mean_rating(dimension))
        for sample in samples_of(plan.study, dimension, plan.metrics(dimension)):
            missing = int(judged.sum()) - len(sample.ratings)
            found.update({(p.metric, dimension): p for p in _of_sample(sample, missing, plan.resamples, plan.seed)})
    for metric, faced in plan.study.facing.items():
        yield from (found[metric, dimension] for dimension in faced if dimension in plan.study.ratings)


def _of_sample(sample: Sample, missing: int, resamples: int, seed: int) -> list[PairAlignment]:
    tau = [_kendall(sample, number) for number in range(len(sample.metrics))]
    columns = zip(
        overall_spearman(sample, resamples, seed),
        overall_pearson(sample, resamples, seed),
        within_prompt(sample, resamples, seed),
        within_model(sample, resamples, seed),
        without_model(sample, resamples, seed),
        model_level(sample, resamples, seed),
        shuffled(sample, seed),
        strict=True,
    )
    return [
        PairAlignment(
            sample.metrics[k],
            sample.dimension,
            rho,
            tau[k].b,
            tau[k].c,
            r,
            prompt,
            model,
            others,
            ranks,
            names,
            missing,
        )
        for k, (rho, r, prompt, model, others, ranks, names) in enumerate(columns)
    ]


def _kendall(sample: Sample, number: int) -> Kendall:
    scores = sample.scores[number]
    reason = why_undefined(scores, sample.ratings)
    if reason is None:
        return kendall(scores, sample.ratings, sample.prompts)
    none = Estimate(None, n=len(scores), note=reason)
    return Kendall(none, none)
