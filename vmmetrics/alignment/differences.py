"""Is one metric better than another? On the clips that both have, drawing the same prompts for both."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from vmmetrics.alignment.levels import mean_there, resampled_within_model
from vmmetrics.alignment.results import Difference
from vmmetrics.alignment.study import Sample, Study, known_clips, sample_of
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import Estimate, bootstrapped, two_sided_p
from vmmetrics.utils.statistics.correlation import LEAST_CLIPS, resampled_spearman, spearman, why_undefined

ALL_PAIRS = 12
"""Metrics up to which every pair is compared; of more, each is compared with the best and with those named."""

Pair = tuple[str, str]


def measure_differences(
    study: Study, dimension: str, metrics: Sequence[str], against: str | None, resamples: int, seed: int
) -> tuple[Difference, ...]:
    """Compare the metrics that face a dimension.

    The interval is the percentile interval of the difference over bootstrap samples of prompts, p twice the smaller
    share of samples on either side of no difference.

    Args:
        study: The study.
        dimension: The dimension.
        metrics: Names of those that face it.
        against: One that each is compared with even where not every pair is.
        resamples: Bootstrap samples.
        seed: Of the random numbers.
    """
    known = {metric: known_clips(study, metric, dimension) for metric in metrics}
    by_clips: dict[bytes, list[Pair]] = {}
    for first, second in compared(study, dimension, metrics, against):
        by_clips.setdefault((known[first] & known[second]).tobytes(), []).append((first, second))
    found: dict[Pair, Difference] = {}
    for clips, pairs in by_clips.items():
        names = dict.fromkeys(itertools.chain.from_iterable(pairs))
        sample = sample_of(study, dimension, names, np.frombuffer(clips, bool))
        found.update(zip(pairs, _differences(sample, pairs, resamples, seed), strict=True))
    return tuple(found[pair] for pair in sorted(found, key=lambda pair: [metrics.index(name) for name in pair]))


def compared(study: Study, dimension: str, metrics: Sequence[str], against: str | None) -> list[Pair]:
    """Which metrics are compared: all pairs of up to 12, else each with the best (pooled Spearman) and ``against``."""
    if len(metrics) <= ALL_PAIRS:
        return list(itertools.combinations(metrics, 2))
    rating, strength = study.mean_rating(dimension), {}
    for metric in metrics:
        clips = known_clips(study, metric, dimension)
        x, y = study.scores[metric][clips], rating[clips]
        strength[metric] = spearman(x, y)[0] if why_undefined(x, y) is None else -np.inf
    best = max(metrics, key=strength.__getitem__)
    rivals = [best] if against is None or against not in metrics or against == best else [best, against]
    pairs = ((rival, metric) for rival in rivals for metric in metrics if metric != rival)
    return list({frozenset(pair): pair for pair in pairs}.values())


def _differences(sample: Sample, pairs: Sequence[Pair], resamples: int, seed: int) -> list[Difference]:
    n = len(sample.ratings)
    if n < LEAST_CLIPS:
        note = f"a difference needs {LEAST_CLIPS} clips that both metrics have, and there are {n}"
        none = Estimate(None, n=n, note=note)
        return [Difference(first, second, sample.dimension, none, none) for first, second in pairs]
    place = {name: number for number, name in enumerate(sample.metrics)}
    pooled = _point_and_drawn(sample, resamples, seed)
    of_models = sample.of_known_models()
    within = _within(of_models, resamples, seed) if of_models.models else None
    prompts = len(set(sample.prompts))
    found = []
    for pair in pairs:
        one, other = (place[name] for name in pair)
        overall = _estimate(pooled[one] - pooled[other], n, prompts, _constant(sample, one, other))
        if within is None:
            inside = Estimate(None, note="the models of the clips are not known")
        else:
            apart = within[one] - within[other]
            apart = apart[:, ~np.isnan(apart[0])]  # the models in which both have a correlation
            note = f"no model has {LEAST_CLIPS} clips on which both metrics and the judgements vary"
            inside = _estimate(mean_there(apart), apart.shape[1], len(set(of_models.prompts)), note)
        found.append(Difference(*pair, sample.dimension, overall, inside))
    return found


def _point_and_drawn(sample: Sample, resamples: int, seed: int) -> FloatArray:
    """(K, 1 + R) Spearman, of the sample first."""
    point = [_spearman_or_nan(row, sample.ratings) for row in sample.scores]
    drawn = resampled_spearman(list(sample.scores), sample.ratings, sample.prompts, resamples, seed)[:, :, 0]
    return np.concatenate([np.array(point)[:, None], drawn], axis=1)


def _within(sample: Sample, resamples: int, seed: int) -> FloatArray:
    """(K, 1 + R, S) Spearman within each model, of the sample first; NaN where it has none there."""
    codes, names = sample.model_codes()
    point = np.array(
        [
            [_spearman_or_nan(row[codes == m], sample.ratings[codes == m]) for m in range(len(names))]
            for row in sample.scores
        ]
    )
    return np.concatenate([point[:, None], resampled_within_model(sample, resamples, seed)], axis=1)


def _spearman_or_nan(x: FloatArray, y: FloatArray) -> float:
    return spearman(x, y)[0] if why_undefined(x, y) is None else np.nan


def _constant(sample: Sample, *numbers: int) -> str:
    reasons = ((sample.metrics[k], why_undefined(sample.scores[k], sample.ratings)) for k in numbers)
    return "; ".join(f"{name}: {reason}" for name, reason in reasons if reason)


def _estimate(values: FloatArray, n: int, prompts: int, why_none: str) -> Estimate:
    """From (1 + R,) differences, of the sample first."""
    if np.isnan(values[0]):
        return Estimate(None, n=n, note=why_none)
    p = two_sided_p(values[1:]) if prompts > 1 else None
    return bootstrapped(float(values[0]), values[1:], n=n, prompts=prompts, p=p)
