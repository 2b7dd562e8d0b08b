"""Correlation over all clips, among the clips of one prompt, among those of one model, and without one model.

All intervals draw prompts. A mean over prompts draws those that have a correlation; a mean over models holds the models
fixed, so it speaks of these models and of any prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement

import numpy as np

from vmmetrics.alignment.results import Grouped, Matrix
from vmmetrics.alignment.study import AVERAGE, Sample, Study
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics import correlation, permutation
from vmmetrics.utils.statistics.bootstrap import (
    LEAST_PROMPTS,
    Estimate,
    mean_of_defined,
    prompt_blocks,
    prompt_codes,
    sampled,
)
from vmmetrics.utils.statistics.correlation import (
    LEAST_CLIPS,
    correlation_estimate,
    resampled_spearman,
    spearman,
    why_undefined,
)
from vmmetrics.utils.statistics.partial import LEAST_PARTIAL, partial_statistic, partial_within
from vmmetrics.utils.statistics.permutation import (
    permutation_estimate,
    shuffled_within_model,
    shuffled_without_both,
)
from vmmetrics.utils.statistics.ranks import code, weighted_spearman

LISTED_PROMPTS = 500
"""Maximum prompts whose correlations are returned beside their mean."""
_CELLS = 16_000_000  # correlations held at a time, 128 MB


Correlation = Callable[[FloatArray, FloatArray], float]
"""Function from two variables to their correlation."""


def overall_spearman(sample: Sample, resamples: int, seed: int) -> list[Estimate]:
    """Return Spearman over all clips, one per metric."""
    return _overall(sample, spearman, resampled_spearman, resamples, seed)


def overall_pearson(sample: Sample, resamples: int, seed: int) -> list[Estimate]:
    """Return Pearson over all clips, one per metric."""
    return _overall(sample, correlation.pearson, correlation.resampled_pearson, resamples, seed)


def _overall(
    sample: Sample, point: Correlation, resampled: Callable[..., FloatArray], resamples: int, seed: int
) -> list[Estimate]:
    drawn: FloatArray = np.empty((len(sample.scores), 0))
    if len(sample.ratings) >= LEAST_CLIPS:
        drawn = resampled(list(sample.scores), sample.ratings, sample.prompts, resamples, seed).reshape(len(drawn), -1)
    return [_estimate(row, sample, point, values) for row, values in zip(sample.scores, drawn, strict=True)]


def without_model(sample: Sample, resamples: int, seed: int) -> list[dict[str, Estimate]]:
    """Return Spearman without each model, by the model left out, per metric; empty for under two models."""
    names, models = sorted({model for model in sample.models if model}), np.array(sample.models)
    left_out = names if len(names) > 1 else ()
    by_model = {name: overall_spearman(sample.keep(models != name), resamples, seed) for name in left_out}
    return [{name: estimates[k] for name, estimates in by_model.items()} for k in range(len(sample.metrics))]


def within_prompt(sample: Sample, resamples: int, seed: int) -> list[Grouped]:
    """Return Spearman among the clips of one prompt and its mean over prompts, per metric.

    A prompt counts where it has three clips at least and both sides vary. The few clips of one prompt carry neither an
    interval nor a p value of their own.
    """
    none = Estimate(None, note=f"no prompt has {LEAST_CLIPS} clips whose scores and judgements vary")
    if not sample.prompts:
        return [Grouped(none) for _ in sample.metrics]
    codes, names = prompt_codes(sample.prompts)[0], sorted(set(sample.prompts))
    clips, once = np.bincount(codes), np.ones((1, len(codes)), np.int64)
    coded = [code(row, codes) for row in sample.scores]
    results = []
    for values in weighted_spearman(coded, code(sample.ratings, codes), once)[:, 0]:
        there = np.flatnonzero((clips >= LEAST_CLIPS) & ~np.isnan(values))
        if there.size == 0:
            results.append(Grouped(none))
            continue
        finite = values[there]
        means = [drawn @ finite / there.size for drawn in prompt_blocks(there.size, resamples, seed)]
        drawn_means = np.concatenate(means) if means else np.empty(0)
        mean = correlation_estimate(float(finite.mean()), drawn_means, n=there.size, prompts=there.size)
        listed = there if there.size <= LISTED_PROMPTS else ()
        results.append(Grouped(mean, {names[k]: Estimate(float(values[k]), n=int(clips[k])) for k in listed}))
    return results


def within_model(sample: Sample, resamples: int, seed: int) -> list[Grouped]:
    """Return Spearman among the clips of one model and its mean over models, per metric.

    A model counts where it has three clips at least and both sides vary; in a bootstrap sample, where they do there.
    Intervals and p of fewer than twelve prompts are by permutation (:mod:`vmmetrics.utils.statistics.permutation`).
    """
    sample = sample.with_named_models()
    none = Estimate(None, note="the models of the clips are not known")
    if not sample.models:
        return [Grouped(none) for _ in sample.metrics]
    permuted = _has_few_prompts(sample)
    estimated = permutation_estimate if permuted else correlation_estimate
    drawn = (
        shuffled_within_model(sample.scores, sample.ratings, sample.prompts, sample.models, seed)
        if permuted
        else resampled_within_model(sample, resamples, seed)
    )
    codes, names = sample.model_codes()
    parts = [sample.keep(codes == number) for number in range(len(names))]
    prompts = len(set(sample.prompts))
    results = []
    for number, by_model in enumerate(drawn):
        groups = {
            name: _estimate(part.scores[number], part, spearman, values, estimated)
            for name, part, values in zip(names, parts, by_model.T, strict=True)
        }
        defined = [estimate.value for estimate in groups.values() if estimate.value is not None]
        mean = Estimate(None, note=f"no model has {LEAST_CLIPS} clips whose scores and judgements vary")
        if defined:
            there = np.array([estimate.value is not None for estimate in groups.values()])
            means = mean_of_defined(by_model[:, there])
            mean = estimated(float(np.mean(defined)), means, n=len(defined), prompts=prompts)
        results.append(Grouped(mean, groups))
    return results


def resampled_within_model(sample: Sample, resamples: int, seed: int) -> FloatArray:
    """Return (K, R, S) Spearman within each of the S models, sorted by name, in bootstrap samples of prompts."""
    codes, names = sample.model_codes()
    at_once = max(1, _CELLS // (resamples * len(names))) if resamples else len(sample.scores)
    parts = [
        resampled_spearman(
            list(sample.scores[start : start + at_once]), sample.ratings, sample.prompts, resamples, seed, codes
        )
        for start in range(0, len(sample.scores), at_once)
    ]
    return np.concatenate(parts)


def without_both(sample: Sample, resamples: int, seed: int) -> list[Estimate]:
    """Return the correlation of ranks with model and prompt both taken out, one per metric.

    What is left when it is known which model made each clip and from which prompt: neither good models nor easy prompts
    can win it. Intervals and p as of :func:`within_model`.
    """
    sample = sample.with_named_models()
    counts = (len(set(sample.models)), len(set(sample.prompts)), len(sample.ratings))
    if counts[0] < 2 or counts[2] < counts[0] + counts[1] + 1:
        note = "it takes two models, and more clips than models and prompts together"
        return [Estimate(None, n=counts[2], note=note) for _ in sample.metrics]
    sides = (sample.ratings, sample.prompts, sample.models)
    permuted = _has_few_prompts(sample)
    values, drawn = sampled(
        partial_statistic(sample.scores.T, *sides), sample.prompts, 0 if permuted else resamples, seed
    )
    undefined = "model and prompt explain one side entirely"
    if permuted:
        return [
            Estimate(None, n=counts[2], note=undefined)
            if np.isnan(value)
            else permutation_estimate(float(value), of_metric, n=counts[2], prompts=counts[1])
            for value, of_metric in zip(values, shuffled_without_both(sample.scores, *sides, seed), strict=True)
        ]
    return [
        correlation.estimate_of(value, of_metric, sample.prompts, undefined)
        for value, of_metric in zip(values, drawn.T, strict=True)
    ]


NO_AMPLITUDE = "the scores have neither a column amplitude nor PAS"
NOT_AT_AMPLITUDE = f"no model has {LEAST_PARTIAL} clips on which both sides vary apart from the amplitude"


def amplitude_constant(sample: Sample, resamples: int, seed: int) -> list[Estimate]:
    """Return the mean over models of the partial Spearman given the amplitude inside each, one per metric.

    Calm clips show fewer faults: a score that only prefers them agrees with people within models, and not here.
    """
    sample = sample.with_named_models()
    if sample.amplitude is None or not sample.models:
        note = NO_AMPLITUDE if sample.amplitude is None else "the models of the clips are not known"
        return [Estimate(None, note=note) for _ in sample.metrics]
    inside = partial_within(sample.scores.T, sample.ratings, sample.amplitude, sample.models)

    def statistic(weights: FloatArray) -> FloatArray:
        return inside(weights).reshape(len(weights), -1)

    observed, drawn = sampled(statistic, sample.prompts, resamples, seed)
    of_metrics = observed.reshape(len(sample.metrics), -1)
    samples = drawn.reshape(len(drawn), *of_metrics.shape)
    prompts, estimates = len(set(sample.prompts)), []
    for number, values in enumerate(of_metrics):
        there = ~np.isnan(values)
        if not there.any():
            estimates.append(Estimate(None, note=NOT_AT_AMPLITUDE))
            continue
        means = mean_of_defined(samples[:, number, there])
        estimates.append(correlation_estimate(float(values[there].mean()), means, n=int(there.sum()), prompts=prompts))
    return estimates


def _has_few_prompts(sample: Sample) -> bool:
    return LEAST_PROMPTS <= len(set(sample.prompts)) < permutation.BELOW


def _estimate(
    scores: FloatArray,
    sample: Sample,
    point: Correlation,
    values: FloatArray,
    estimated: Callable[..., Estimate] = correlation_estimate,
) -> Estimate:
    if (reason := why_undefined(scores, sample.ratings)) is not None:
        return Estimate(None, n=len(scores), note=reason)
    prompts = len(set(sample.prompts))
    return estimated(point(scores, sample.ratings), values, n=len(scores), prompts=prompts)


# Which metrics and judgements say the same: Spearman of each with each, on the clips that both have.


def correlation_matrix(study: Study, metrics: Sequence[str], dimensions: Sequence[str]) -> Matrix:
    """Return Spearman of metrics and mean ratings with each other.

    Args:
        study: The study.
        metrics: Names of metrics.
        dimensions: Names of rated dimensions.

    Returns:
        Metrics, then dimensions; 1 on the diagonal of what varies, NaN where there is no correlation.
    """
    columns = [*(study.scores[metric] for metric in metrics), *(study.mean_rating(d) for d in dimensions)]
    size = len(columns)
    values, counts = np.full((size, size), np.nan), np.zeros((size, size))
    for i, j in combinations_with_replacement(range(size), 2):
        both = np.isfinite(columns[i]) & np.isfinite(columns[j])
        counts[i, j] = counts[j, i] = both.sum()
        x, y = columns[j][both], columns[i][both]
        if why_undefined(x, y) is None:
            values[i, j] = values[j, i] = 1.0 if i == j else spearman(x, y)
    return Matrix((*metrics, *dimensions), len(metrics), values, counts)


SAME_ORDER = 0.98
"""Minimum |ρ| of two metrics that count as repeats of one another."""
_MIXTURES = (AVERAGE, "motion_index")  # made of other metrics
LEAST_SHARED = 10
"""Minimum clips of a correlation of two metrics to call them repeats, or to draw it."""


def repeats_of(matrix: Matrix) -> dict[str, str]:
    """Return metrics that repeat an earlier one (|ρ| of 0.98 or more) or are mixtures of others, with the reason."""
    repeats: dict[str, str] = {}
    names = matrix.names[: matrix.metrics]
    for i, name in enumerate(names):
        if name in _MIXTURES and len(names) > 2:
            repeats[name] = "made of the others"
        for j, earlier in enumerate(names[:i]):
            alike = abs(matrix.values[i, j]) >= SAME_ORDER and matrix.counts[i, j] >= LEAST_SHARED
            if alike and earlier not in repeats and name not in repeats:
                repeats[name] = f"in the order of {earlier}"
    return repeats
