"""Correlation over all clips, among the clips of one prompt, among those of one model, and without one model.

All intervals draw prompts. A mean over prompts draws those that have a correlation; a mean over models holds the models
fixed, so it speaks of these models and of any prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vmmetrics.alignment.results import Grouped, Matrix
from vmmetrics.alignment.study import Sample, Study
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import Estimate, bootstrapped, prompt_blocks, prompt_codes
from vmmetrics.utils.statistics.correlation import (
    LEAST_CLIPS,
    clustered_p,
    correlation_estimate,
    pearson,
    resampled_pearson,
    resampled_spearman,
    spearman,
    why_undefined,
)
from vmmetrics.utils.statistics.ranks import code, weighted_spearman

LISTED_PROMPTS = 500
"""Prompts up to which each one's correlation is handed back beside their mean."""
_CELLS = 16_000_000  # correlations held at a time, 128 MB


def overall_spearman(sample: Sample, resamples: int, seed: int) -> list[Estimate]:
    """Spearman over all clips, one per metric."""
    if len(sample.ratings) < LEAST_CLIPS:
        return _too_few(sample)
    drawn = resampled_spearman(list(sample.scores), sample.ratings, sample.prompts, resamples, seed)
    return _estimates(sample, spearman, drawn[:, :, 0])


def overall_pearson(sample: Sample, resamples: int, seed: int) -> list[Estimate]:
    """Pearson over all clips, one per metric."""
    if len(sample.ratings) < LEAST_CLIPS:
        return _too_few(sample)
    drawn = resampled_pearson(list(sample.scores), sample.ratings, sample.prompts, resamples, seed)
    return _estimates(sample, pearson, drawn)


def without_model(sample: Sample, resamples: int, seed: int) -> list[dict[str, Estimate]]:
    """Spearman over the clips of all models but one, by the model left out; per metric. Empty for under two models."""
    found: list[dict[str, Estimate]] = [{} for _ in sample.metrics]
    names = sorted({model for model in sample.models if model})
    for name in names if len(names) > 1 else ():
        rest = sample.keep(np.array([model != name for model in sample.models], bool))
        for by_model, estimate in zip(found, overall_spearman(rest, resamples, seed), strict=True):
            by_model[name] = estimate
    return found


def within_prompt(sample: Sample, resamples: int, seed: int) -> list[Grouped]:
    """Spearman among the clips of one prompt and its mean over prompts, per metric.

    A prompt counts where it has three clips at least and both sides vary. The few clips of one prompt carry neither an
    interval nor a p value of their own.
    """
    none = Estimate(None, note=f"no prompt has {LEAST_CLIPS} clips whose scores and judgements vary")
    if not sample.prompts:
        return [Grouped(none) for _ in sample.metrics]
    codes, count = prompt_codes(sample.prompts)
    clips = np.bincount(codes, minlength=count)
    names = sorted(set(sample.prompts))
    once = np.ones((1, len(codes)), np.int64)
    coded = [code(row, codes) for row in sample.scores]
    found = []
    for values in weighted_spearman(coded, code(sample.ratings, codes), once)[:, 0]:
        there = np.flatnonzero((clips >= LEAST_CLIPS) & ~np.isnan(values))
        if there.size == 0:
            found.append(Grouped(none))
            continue
        known = values[there]
        means = np.concatenate([drawn @ known for drawn in prompt_blocks(there.size, resamples, seed)]) / there.size
        listed = there if there.size <= LISTED_PROMPTS else ()
        groups = {names[k]: Estimate(float(values[k]), n=int(clips[k])) for k in listed}
        found.append(Grouped(_mean(float(known.mean()), means, there.size, there.size), groups))
    return found


def within_model(sample: Sample, resamples: int, seed: int) -> list[Grouped]:
    """Spearman among the clips of one model and its mean over models, per metric.

    A model counts where it has three clips at least and both sides vary; in a bootstrap sample, where they do there.
    """
    sample = sample.of_known_models()
    none = Estimate(None, note="the models of the clips are not known")
    if not sample.models:
        return [Grouped(none) for _ in sample.metrics]
    drawn = resampled_within_model(sample, resamples, seed)
    codes, names = sample.model_codes()
    parts = [sample.keep(codes == number) for number in range(len(names))]
    prompts = len(set(sample.prompts))
    found = []
    for number, by_model in enumerate(drawn):
        groups = {}
        for name, part, values in zip(names, parts, by_model.T, strict=True):
            groups[name] = _estimate(part.scores[number], part, spearman, values)
        there = np.array([groups[name].value is not None for name in names])
        known = [estimate.value for estimate in groups.values() if estimate.value is not None]
        if known:
            means = mean_there(by_model[:, there])
            mean = _mean(float(np.mean(known)), means, len(known), prompts)
        else:
            mean = Estimate(None, note=f"no model has {LEAST_CLIPS} clips whose scores and judgements vary")
        found.append(Grouped(mean, groups))
    return found


def resampled_within_model(sample: Sample, resamples: int, seed: int) -> FloatArray:
    """(K, R, S) Spearman within each of the S models, in the order of their names, in bootstrap samples of prompts."""
    codes, names = sample.model_codes()
    at_once = max(1, _CELLS // (resamples * len(names))) if resamples else len(sample.scores)
    parts = [
        resampled_spearman(
            list(sample.scores[start : start + at_once]), sample.ratings, sample.prompts, resamples, seed, codes
        )
        for start in range(0, len(sample.scores), at_once)
    ]
    return np.concatenate(parts)


def mean_there(values: FloatArray) -> FloatArray:
    """(R,) means of the numbers in each row of (R, S); NaN for a row that has none."""
    there = ~np.isnan(values)
    counts = there.sum(axis=1)
    sums = np.where(there, values, 0.0).sum(axis=1)
    means: FloatArray = np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0)
    return means


def _mean(value: float, values: FloatArray, groups: int, prompts: int) -> Estimate:
    return bootstrapped(value, values, n=groups, prompts=prompts, p=clustered_p(value, values, prompts))


def _too_few(sample: Sample) -> list[Estimate]:
    n = len(sample.ratings)
    return [Estimate(None, n=n, note=why_undefined(row, sample.ratings)) for row in sample.scores]


def _estimates(
    sample: Sample, point: Callable[[FloatArray, FloatArray], tuple[float, float]], drawn: FloatArray
) -> list[Estimate]:
    return [_estimate(row, sample, point, values) for row, values in zip(sample.scores, drawn, strict=True)]


def _estimate(
    scores: FloatArray,
    sample: Sample,
    point: Callable[[FloatArray, FloatArray], tuple[float, float]],
    values: FloatArray,
) -> Estimate:
    reason = why_undefined(scores, sample.ratings)
    if reason is not None:
        return Estimate(None, n=len(scores), note=reason)
    return correlation_estimate(*point(scores, sample.ratings), values, sample.prompts)


# Which metrics and judgements say the same: Spearman of each with each, on the clips that both have.


def correlation_matrix(study: Study, metrics: Sequence[str], dimensions: Sequence[str]) -> Matrix:
    """Spearman of metrics and mean ratings with each other.

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
    for i in range(size):
        for j in range(i + 1):
            both = np.isfinite(columns[i]) & np.isfinite(columns[j])
            counts[i, j] = counts[j, i] = both.sum()
            x, y = columns[i][both], columns[j][both]
            if why_undefined(x, y) is None:
                values[i, j] = values[j, i] = 1.0 if i == j else spearman(x, y)[0]
    return Matrix((*metrics, *dimensions), len(metrics), values, counts)
