"""Alignment of every metric with every dimension it is paired with, at every level."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
from scipy import stats

from vmmetrics.alignment import levels
from vmmetrics.alignment.results import MetricDifference, PairAlignment
from vmmetrics.alignment.study import Sample, Study, clips_with_both, sample_of, samples_of, snapped
from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics import bootstrap
from vmmetrics.utils.statistics.bootstrap import Estimate, bootstrapped, mean_of_defined
from vmmetrics.utils.statistics.correlation import (
    LEAST_CLIPS,
    difference_estimate,
    kendall,
    resampled_spearman,
    spearman,
    why_undefined,
)
from vmmetrics.utils.statistics.logistic_fit import fit_logistic
from vmmetrics.utils.statistics.paired import holm
from vmmetrics.utils.statistics.permutation import prompt_shuffles
from vmmetrics.utils.statistics.ranks import unit_ranks

# What telling the models apart is worth: the rank of models, and ratings shuffled inside them.

EXACT_MODELS = 8
"""Maximum models for an exact permutation p value at model level: 8! = 40,320 orders."""
_TIE = 1e-12  # correlations that differ by less differ by rounding alone
MetricPair = tuple[str, str]
_UNKNOWN = "the models of the clips are not known"


def model_level(sample: Sample, resamples: int, seed: int) -> list[Estimate]:
    """Return Spearman of the models' mean scores with their mean ratings, per metric.

    The interval draws prompts and holds the models fixed; p tries every order of up to eight models (scipy's t above),
    so it speaks of models. With three or four models it cannot fall below 0.33 or 0.08.
    """
    sample = sample.with_named_models()
    codes, names = sample.model_codes()
    if len(names) < LEAST_CLIPS:
        note = f"an order of models needs {LEAST_CLIPS} of them, and there are {len(names)}" if names else _UNKNOWN
        return [Estimate(None, n=len(names), note=note) for _ in sample.metrics]
    prompts = len(set(sample.prompts))
    ratings = _model_means(sample.ratings, codes, sample.prompts, resamples, seed)
    estimates = []
    for row in sample.scores:
        scores = _model_means(row, codes, sample.prompts, resamples, seed)
        if (reason := why_undefined(scores[0], ratings[0])) is not None:
            estimates.append(Estimate(None, n=len(names), note=f"{reason} on the mean over each model"))
            continue
        value, p = map(float, stats.spearmanr(scores[0], ratings[0]))
        p = permutation_p(scores[0], ratings[0]) if len(names) <= EXACT_MODELS else p
        varied = (np.ptp(scores[1:], axis=1) > 0) & (np.ptp(ratings[1:], axis=1) > 0)  # neither is where one is NaN
        products = (unit_ranks(scores[1:]) * unit_ranks(ratings[1:])).sum(axis=1)
        drawn = np.where(varied, np.clip(products, -1, 1), np.nan)
        estimates.append(bootstrapped(value, drawn, n=len(names), prompts=prompts, p=p))
    return estimates


def permutation_p(scores: FloatArray, ratings: FloatArray) -> float:
    """Return the share of the orders of (M,) ratings, M ≤ 8, in which Spearman is as far from 0 as in the one found.

    >>> permutation_p(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 9.0]))  # 2 of 6
    0.3333333333333333
    """
    x, y = (stats.rankdata(values) - (len(values) + 1) / 2 for values in (scores, ratings))
    orders = np.array(list(itertools.permutations(range(len(y)))))
    scale = np.sqrt((x @ x) * (y @ y))
    return float(np.mean(np.abs(y[orders] @ x) / scale >= abs(x @ y) / scale - _TIE))


def shuffled(sample: Sample, seed: int) -> list[Estimate]:
    """Return pooled Spearman of each metric with ratings shuffled inside each model: what the models alone bring.

    A shuffle permutes the prompts, for all models alike: what a prompt does to the clips of every model then stays
    together, as it is in the data, and chance reaches as far as it does among clustered clips. ``value`` is the mean
    over all possible shuffles, worked out; ``low`` and ``high`` bound 95 % of 1,000 of them.
    """
    sample = sample.with_named_models()
    codes, names = sample.model_codes()
    if len(names) < 2:
        note = "there is a single model" if names else _UNKNOWN
        return [Estimate(None, n=len(codes), note=note) for _ in sample.metrics]
    by_model = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    ranks, rated = unit_ranks(sample.scores), unit_ranks(sample.ratings[None])[0]
    starts = np.cumsum(sizes) - sizes
    of_models = np.add.reduceat(ranks[:, by_model], starts, axis=1) * np.add.reduceat(rated[by_model], starts)
    expected = (of_models / sizes).sum(axis=1)
    correlations = np.stack([ranks @ rated[order] for order in prompt_shuffles(sample.prompts, sample.models, seed)])
    return [
        Estimate(float(value), *bootstrap.percentile_interval(values), n=len(codes))
        if (reason := why_undefined(scores, sample.ratings)) is None
        else Estimate(None, n=len(codes), note=reason)
        for scores, value, values in zip(sample.scores, expected, correlations.T, strict=True)
    ]


def _model_means(values: FloatArray, codes: IntArray, prompts: Sequence[str], resamples: int, seed: int) -> FloatArray:
    """Return (1 + R, M) mean per model, of the sample and of its bootstrap samples; NaN where one lacks the model."""
    prompt, count = bootstrap.prompt_codes(prompts)
    models = int(codes.max()) + 1
    cell = prompt * models + codes
    parts = [np.bincount(cell, weights=part, minlength=count * models) for part in (values, np.ones(len(values)))]
    sums, clips = (part.reshape(count, models) for part in parts)
    blocks = itertools.chain([np.ones((1, count))], bootstrap.prompt_blocks(count, resamples, seed))
    total, drawn = (np.concatenate(rows) for rows in zip(*((w @ sums, w @ clips) for w in blocks), strict=True))
    return snapped(np.divide(total, drawn, out=np.full(total.shape, np.nan), where=drawn > 0))


# In the order of a pair's figures, between Kendall's and those of shuffled ratings.
_MEASURES: tuple[Callable[[Sample, int, int], Sequence[Any]], ...] = (
    *(levels.overall_pearson, levels.within_prompt, levels.within_model, levels.amplitude_constant),
    *(levels.without_both, levels.without_model, model_level),
)
_WITHIN_MODEL = 2

LESS_MOTION = "less motion"
"""Name of the baseline that prefers the clip of smaller amplitude."""


def measure_less_motion(study: Study, dimensions: Sequence[str], resamples: int, seed: int) -> Iterator[PairAlignment]:
    """Yield what preferring the calmer clip would reach on each dimension; nothing where no amplitude is known."""
    amplitude = study.amount_of_motion()
    if amplitude is not None:
        calm = replace(
            study, scores={LESS_MOTION: -amplitude}, amplitude=amplitude, pairing={LESS_MOTION: tuple(dimensions)}
        )
        yield from measure_alignments(calm, dimensions, resamples, seed)


def measure_alignments(study: Study, dimensions: Sequence[str], resamples: int, seed: int) -> Iterator[PairAlignment]:
    """Yield alignments in the order of the metrics and, for each, of the rated dimensions it is paired with."""
    alignments: dict[MetricPair, PairAlignment] = {}
    drawn = (resamples, seed)
    for dimension in dimensions:
        judged = int(np.isfinite(study.mean_rating(dimension)).sum())
        for sample in samples_of(study, dimension, study.metrics_for(dimension)):
            pooled = levels.overall_spearman(sample, *drawn)
            others: list[Any] = [measure(sample, *drawn) for measure in _MEASURES]
            others.append(shuffled(sample, seed))
            for k, (metric, scores) in enumerate(zip(sample.metrics, sample.scores, strict=True)):
                reason = why_undefined(scores, sample.ratings)
                none = Estimate(None, n=len(scores), note=reason)
                taus = kendall(scores, sample.ratings, sample.prompts) if reason is None else (none, none)
                each: list[Any] = [pooled[k], *taus, *(of_metrics[k] for of_metrics in others)]
                sides = (_off_mode(scores), "score"), (_off_mode(sample.ratings), "rating")
                off_mode, rarest = min(sides, key=itemgetter(0))
                each += [off_mode, _smallest(others[_WITHIN_MODEL][k].mean)]
                fit = fit_logistic(scores, sample.ratings)
                each += [judged - len(scores), fit.plcc, fit.rmse, rarest]
                alignments[metric, dimension] = PairAlignment(metric, dimension, *each)
    for metric, paired in study.pairing.items():
        yield from (alignments[metric, dimension] for dimension in paired if dimension in study.ratings)


def _smallest(inside: Estimate) -> float | None:
    """Return the smallest correlation whose interval leaves out 0, from the width of this one on Fisher's scale."""
    if inside.low is None or inside.high is None or max(-inside.low, inside.high) >= 1:
        return None
    return float(np.tanh((np.arctanh(inside.high) - np.arctanh(inside.low)) / 2))


def _off_mode(values: FloatArray) -> int:
    """Return how many of (N,) values differ from the commonest one."""
    return len(values) - int(np.unique(values, return_counts=True)[1].max(initial=0))


# Is one metric better than another? On the clips that both have, drawing the same prompts for both.

ALL_PAIRS = 12
"""Maximum metrics for which all pairs are compared; of more, each with the best and with ``against``."""


def measure_differences(
    study: Study, dimension: str, metrics: Sequence[str], against: str | None, resamples: int, seed: int
) -> tuple[MetricDifference, ...]:
    """Compare the metrics on a dimension.

    Interval and p come from the standard error of the difference over bootstrap samples of prompts. Holm's p and that
    of Benjamini and Hochberg are raised for all pairs here.

    Args:
        study: The study.
        dimension: The dimension.
        metrics: Names of metrics compared with it.
        against: One that each is compared with even where not every pair is.
        resamples: Bootstrap samples.
        seed: Of the random numbers.
    """
    mask = {metric: clips_with_both(study, metric, dimension) for metric in metrics}
    by_clips: defaultdict[bytes, list[MetricPair]] = defaultdict(list)
    for first, second in compared(study, dimension, metrics, against):
        by_clips[(mask[first] & mask[second]).tobytes()].append((first, second))
    differences: dict[MetricPair, MetricDifference] = {}
    for clips, pairs in by_clips.items():
        names = dict.fromkeys(itertools.chain.from_iterable(pairs))
        sample = sample_of(study, dimension, names, np.frombuffer(clips, bool))
        differences.update(zip(pairs, _differences(sample, pairs, resamples, seed), strict=True))
    in_order = [
        differences[pair] for pair in sorted(differences, key=lambda pair: [metrics.index(name) for name in pair])
    ]
    for level in ("pooled", "within_model"):
        at = [k for k, difference in enumerate(in_order) if getattr(difference, level).p is not None]
        p = [getattr(in_order[k], level).p for k in at]
        controlled = stats.false_discovery_control(p).tolist() if p else []
        for k, raised, share in zip(at, holm(p), controlled, strict=True):
            in_order[k] = replace(in_order[k], **{f"{level}_holm": raised, f"{level}_bh": share})
    return tuple(in_order)


def compared(study: Study, dimension: str, metrics: Sequence[str], against: str | None) -> list[MetricPair]:
    """Return the pairs of metrics to compare: all of up to 12, else each with the best (pooled ρ) and ``against``."""
    if len(metrics) <= ALL_PAIRS:
        return list(itertools.combinations(metrics, 2))
    rating, strength = study.mean_rating(dimension), {}
    for metric in metrics:
        clips = clips_with_both(study, metric, dimension)
        strength[metric] = _spearman_or(-np.inf, study.scores[metric][clips], rating[clips])
    best = max(metrics, key=strength.__getitem__)
    rivals = [best] if against is None or against not in metrics or against == best else [best, against]
    pairs = ((rival, metric) for rival in rivals for metric in metrics if metric != rival)
    return list({frozenset(pair): pair for pair in pairs}.values())


def _differences(sample: Sample, pairs: Sequence[MetricPair], resamples: int, seed: int) -> list[MetricDifference]:
    n = len(sample.ratings)
    if n < LEAST_CLIPS:
        note = f"a difference needs {LEAST_CLIPS} clips that both metrics have, and there are {n}"
        none = Estimate(None, n=n, note=note)
        return [MetricDifference(first, second, sample.dimension, none, none) for first, second in pairs]
    reasons = [why_undefined(row, sample.ratings) for row in sample.scores]
    point = np.array([_spearman_or(np.nan, row, sample.ratings) for row in sample.scores])
    drawn = resampled_spearman(list(sample.scores), sample.ratings, sample.prompts, resamples, seed)[:, :, 0]
    pooled = np.concatenate([point[:, None], drawn], axis=1)
    of_models = sample.with_named_models()
    within = _within(of_models, resamples, seed) if of_models.models else None
    prompts = len(set(sample.prompts))
    differences = []
    for pair in pairs:
        one, other = map(sample.metrics.index, pair)
        why = "; ".join(f"{sample.metrics[k]}: {reasons[k]}" for k in (one, other) if reasons[k])
        apart = pooled[one] - pooled[other]
        overall = difference_estimate(float(apart[0]), apart[1:], n=n, prompts=prompts, undefined=why)
        if within is None:
            inside = Estimate(None, note=_UNKNOWN)
        else:
            apart = within[one] - within[other]
            apart = apart[:, ~np.isnan(apart[0])]  # the models in which both have a correlation
            note = f"no model has {LEAST_CLIPS} clips on which both metrics and the judgements vary"
            means, many = mean_of_defined(apart), len(set(of_models.prompts))
            inside = difference_estimate(float(means[0]), means[1:], n=apart.shape[1], prompts=many, undefined=note)
        differences.append(MetricDifference(*pair, sample.dimension, overall, inside))
    return differences


def _within(sample: Sample, resamples: int, seed: int) -> FloatArray:
    """Return (K, 1 + R, S) Spearman within each model, of the sample first; NaN where it has none there."""
    codes, names = sample.model_codes()
    parts = [sample.keep(codes == number) for number in range(len(names))]
    point = np.array([[_spearman_or(np.nan, row, part.ratings) for row in part.scores] for part in parts]).T
    return np.concatenate([point[:, None], levels.resampled_within_model(sample, resamples, seed)], axis=1)


def _spearman_or(undefined: float, x: FloatArray, y: FloatArray) -> float:
    return spearman(x, y) if why_undefined(x, y) is None else undefined
