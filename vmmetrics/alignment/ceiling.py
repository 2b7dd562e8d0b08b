"""What a person reaches against other people: the scale that a metric's correlation is read against.

Leave-one-rater-out: each rater's Spearman with the mean of the others, which is what a metric would have to reach to be
as good as one more rater. Split-half: the means of two halves of the raters against each other, stepped up to the
reliability of the mean of all (Spearman and Brown, both British Journal of Psychology 1910; for halves of unlike size
Horst, Educational and Psychological Measurement 1951). A metric that knew the truth exactly would correlate with the
mean rating at the root of that reliability.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from vmmetrics.alignment.bootstrap import RESAMPLES, SEED, Estimate
from vmmetrics.alignment.resampling import Statistic, estimate, finite, sampled
from vmmetrics.alignment.results import Ceiling
from vmmetrics.alignment.spearman_statistics import (
    group_count,
    mean_of_defined,
    spearman_statistic,
    within_prompt_statistic,
    within_statistic,
)
from vmmetrics.alignment.study import Study
from vmmetrics.types import FloatArray, IntArray

MAX_SPLITS = 126
"""All distinct splits of ten raters; of more raters as many random ones. Splits share raters: more would add little."""


def measure_ceiling(study: Study, dimension: str, resamples: int = RESAMPLES, seed: int = SEED) -> Ceiling:
    """What people reach on a dimension; intervals over prompts.

    Ratings may be missing: each comparison uses the clips that both of its sides rated. Where the columns of a released
    set are "first, second, third rating" rather than people, each figure is that of a mixed person: raters who use the
    scale differently are then mixed into one column, and the figures are lower than those of real people.

    Args:
        study: The study.
        dimension: One of its dimensions.
        resamples: Bootstrap samples.
        seed: Of the samples, and of the splits where there are over ten raters.

    Returns:
        The figures; those that cannot be computed have a note instead of a value.
    """
    ratings = finite(study.ratings[dimension])
    twice = np.flatnonzero((~np.isnan(ratings)).sum(axis=1) >= 2)
    names = study.raters.get(dimension) or tuple(f"rater {number + 1}" for number in range(ratings.shape[1]))
    if not twice.size:
        none = Estimate(None, note="no clip was rated by two people: there is no one to hold a rater against")
        return Ceiling(dimension, {}, none, none, none, none, none)
    ratings = ratings[twice]
    prompts = tuple(study.prompts[clip] for clip in twice)
    models = tuple(study.models[clip] for clip in twice)
    sides = [(ratings[:, rater], rated_mean(np.delete(ratings, rater, axis=1))) for rater in range(len(names))]
    halves = [(rated_mean(ratings[:, one]), rated_mean(ratings[:, other])) for one, other in splits(len(names), seed)]

    raters, rater_samples = sampled(_each([spearman_statistic(*side) for side in sides]), prompts, resamples, seed)
    levels = _each(
        [
            _mean([spearman_statistic(*side) for side in sides]),
            _mean([within_prompt_statistic(*side, prompts) for side in sides]),
            _mean([within_statistic(*side, models) for side in sides]),
            _mean([spearman_statistic(*half) for half in halves]),
        ]
    )
    found, samples = sampled(levels, prompts, resamples, seed)
    clips = [int((~np.isnan(own) & ~np.isnan(others)).sum()) for own, others in sides]
    return Ceiling(
        dimension=dimension,
        raters={
            name: estimate(raters[r], rater_samples[:, r], prompts, _UNDEFINED, clips[r])
            for r, name in enumerate(names)
        },
        overall=estimate(found[0], samples[:, 0], prompts, _UNDEFINED),
        within_prompt=estimate(found[1], samples[:, 1], prompts, _NO_GROUP.format("prompt"), group_count(prompts)),
        within_model=estimate(found[2], samples[:, 2], prompts, _NO_GROUP.format("model"), group_count(models)),
        split_half=estimate(found[3], samples[:, 3], prompts, _UNDEFINED),
        split_half_full=_stepped_up(found[3], samples[:, 3], _sizes(ratings, seed), prompts),
    )


_UNDEFINED = "fewer than three clips were rated by both sides, or one side gave all of them the same rating"
_NO_GROUP = "no {} has three clips on which both sides vary"


def rated_mean(ratings: FloatArray) -> FloatArray:
    """(N,) mean of the ratings there are of (N, R), NaN where there is none."""
    there = ~np.isnan(ratings)
    counts = there.sum(axis=1)
    means: FloatArray = np.where(counts > 0, np.nansum(ratings, axis=1) / np.maximum(counts, 1), np.nan)
    return means


def splits(raters: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Splits of raters into halves, the smaller first: every distinct one for ten raters or fewer, else random ones.

    >>> [(one.tolist(), other.tolist()) for one, other in splits(3, seed=0)]
    [([0], [1, 2]), ([1], [0, 2]), ([2], [0, 1])]
    """
    everyone = np.arange(raters)
    half = raters // 2
    if raters <= 10:
        # of an even number each split would come twice, from either side: keep the side with the first rater
        chosen = [np.array(c) for c in combinations(range(raters), half) if raters % 2 or 0 in c]
    else:
        rng = np.random.default_rng(seed)
        chosen = [np.sort(rng.permutation(raters)[:half]) for _ in range(MAX_SPLITS)]
    return [(one, np.setdiff1d(everyone, one)) for one in chosen]


def step_up(correlation: FloatArray, smaller: float, larger: float, full: float) -> FloatArray:
    """Reliability of the mean of ``full`` ratings from the correlation of means of ``smaller`` and ``larger`` ones.

    With r the reliability of one rating, a mean of m has m r / (1 + (m − 1) r), and two means correlate at the root of
    the product of theirs: a quadratic equation in r. For halves of equal size this is 2ρ / (1 + ρ).

    Args:
        correlation: ρ, any shape; at 0 and below the reliability is 0.
        smaller: Ratings in the smaller half.
        larger: In the larger.
        full: In all.

    >>> round(float(step_up(np.array(0.5), 1, 1, 2)), 4)
    0.6667
    """
    squared = np.maximum(correlation, 0.0) ** 2
    # r² (a b − ρ² (a − 1)(b − 1)) − r ρ² (a + b − 2) − ρ² = 0, whose other root is below 0
    second = smaller * larger - squared * (smaller - 1) * (larger - 1)
    first = squared * (smaller + larger - 2)
    single = (first + np.sqrt(first**2 + 4 * second * squared)) / (2 * second)
    stepped: FloatArray = full * single / (1 + (full - 1) * single)
    return stepped


def _stepped_up(
    found: float, samples: FloatArray, sizes: tuple[float, float, float], prompts: Sequence[str]
) -> Estimate:
    note = "the halves do not agree at all" if found <= 0 else None
    figure = estimate(float(step_up(np.array(found), *sizes)), step_up(samples, *sizes), prompts, _UNDEFINED)
    return figure if note is None else Estimate(figure.value, figure.low, figure.high, n=figure.n, note=note)


def _sizes(ratings: FloatArray, seed: int) -> tuple[float, float, float]:
    """Mean number of ratings of a clip in the smaller half, in the larger, and in all."""
    there = ~np.isnan(ratings)
    in_halves = []
    for one, other in splits(ratings.shape[1], seed):
        counts = np.stack([there[:, one].sum(axis=1), there[:, other].sum(axis=1)])
        both = (counts > 0).all(axis=0)
        if both.any():
            in_halves.append(counts[:, both].mean(axis=1))
    smaller, larger = np.mean(in_halves, axis=0)
    return float(smaller), float(larger), float(there.sum(axis=1).mean())


def _each(statistics: Sequence[Statistic]) -> Statistic:
    return lambda weights: np.column_stack([statistic(weights) for statistic in statistics])


def _mean(statistics: Sequence[Statistic]) -> Statistic:
    each = _each(statistics)
    return lambda weights: mean_of_defined(each(weights))[:, None]
