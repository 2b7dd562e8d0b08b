"""Human agreement: how well one rater, or half of them, predicts the others; the scale to read correlations on.

Leave-one-rater-out: each rater's Spearman with the mean of the others, which is what a metric would have to reach to be
as good as one more rater. Split-half: the means of two halves of the raters against each other, stepped up to the
reliability of the mean of all (Spearman and Brown, both British Journal of Psychology 1910; for halves of unlike size
Horst, Educational and Psychological Measurement 1951). A metric that knew the truth exactly would correlate with the
mean rating at the root of that reliability.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, compress

import numpy as np

from vmmetrics.alignment import power
from vmmetrics.alignment.levels import NO_AMPLITUDE, NOT_AT_AMPLITUDE
from vmmetrics.alignment.results import HumanAgreement
from vmmetrics.alignment.study import Study
from vmmetrics.types import BoolArray, FloatArray, IntArray
from vmmetrics.utils.statistics import bootstrap, correlation
from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, Estimate, Statistic, mean_of_defined
from vmmetrics.utils.statistics.correlation import spearman_statistic
from vmmetrics.utils.statistics.partial import partial_statistic, partial_within

MAX_SPLITS = 126
"""Maximum splits of raters: all distinct ones of ten raters; of more raters, as many random ones."""


def measure_human_agreement(
    study: Study, dimension: str, resamples: int = RESAMPLES, seed: int = SEED
) -> HumanAgreement:
    """Measure human agreement on a dimension; intervals over prompts.

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
    ratings = bootstrap.finite(study.ratings[dimension])
    twice = (~np.isnan(ratings)).sum(axis=1) >= 2
    names = study.rater_names(dimension)
    if not twice.any():
        none = Estimate(None, note="no clip was rated by two people: there is no one to compare a rater with")
        return HumanAgreement(dimension, {}, none, none, none, none, none, none, none, none)
    ratings, halves = ratings[twice], splits(len(names), seed)
    prompts, models = tuple(compress(study.prompts, twice)), tuple(compress(study.models, twice))
    sides = [(ratings[:, rater], mean_of_defined(np.delete(ratings, rater, axis=1))) for rater in range(len(names))]
    of_halves = [(mean_of_defined(ratings[:, one]), mean_of_defined(ratings[:, other])) for one, other in halves]
    motion = study.amount_of_motion()
    held = np.full(len(twice), np.nan) if motion is None else motion
    levels = [
        [spearman_statistic(*side) for side in sides],
        [_amplitude_constant(*side, held[twice], models) for side in sides],
        [correlation.within_prompt_statistic(*side, prompts) for side in sides],
        [correlation.within_statistic(*side, models) for side in sides],
        [partial_statistic(*side, prompts, models) for side in sides],
        [spearman_statistic(*means) for means in of_halves],
        [correlation.within_statistic(*means, models) for means in of_halves],
    ]

    def statistic(weights: FloatArray) -> FloatArray:
        """Return each rater's own correlation, then the means of the levels."""
        each = [np.column_stack([of_weights(weights) for of_weights in level]) for level in levels]
        return np.column_stack([each[0], *map(mean_of_defined, each)])

    estimates, samples = bootstrap.sampled(statistic, prompts, resamples, seed)

    def figure(index: int, undefined: str = _UNDEFINED, n: int | None = None) -> Estimate:
        return correlation.estimate_of(estimates[index], samples[:, index], prompts, undefined, n)

    sizes = _sizes(~np.isnan(ratings), halves)

    def reliability(index: int, undefined: str, n: int | None = None) -> Estimate:
        """Return the halves' correlation stepped up to all raters."""
        stepped = (step_up(values[..., index], *sizes) for values in (estimates, samples))
        full = bootstrap.estimate(float(next(stepped)), next(stepped), prompts, undefined, n)
        return replace(full, p=None, note="the halves do not agree at all") if estimates[index] <= 0 else full

    clips = [int((~np.isnan(own - others)).sum()) for own, others in sides]
    raters = {name: figure(r, n=clips[r]) for r, name in enumerate(names)}
    of_models = (_NO_GROUP.format("model"), correlation.group_count(models))
    return HumanAgreement(
        dimension=dimension,
        raters=raters,
        overall=figure(-7),
        within_prompt=figure(-5, _NO_GROUP.format("prompt"), correlation.group_count(prompts)),
        within_model=figure(-4, *of_models),
        amplitude_constant=figure(-6, NO_AMPLITUDE if motion is None else NOT_AT_AMPLITUDE, of_models[1]),
        without_both=figure(-3, "model and prompt explain one side entirely"),
        split_half=figure(-2),
        split_half_full=reliability(-2, _UNDEFINED),
        within_model_full=reliability(-1, *of_models),
    )


def _amplitude_constant(first: FloatArray, second: FloatArray, held: FloatArray, models: Sequence[str]) -> Statistic:
    """Return the mean over models of the partial Spearman of two sides given what is held constant."""
    inside = partial_within(first[:, None], second, held, models)
    return lambda weights: mean_of_defined(inside(weights))


_UNDEFINED = "fewer than three clips were rated by both sides, or one side gave all of them the same rating"
_NO_GROUP = "no {} has three clips on which both sides vary"


def splits(raters: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return splits of raters into halves, the smaller first: all distinct ones for up to ten raters, else random ones.

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


def step_up(between: FloatArray, smaller: float, larger: float, full: float) -> FloatArray:
    """Return the reliability of ``full`` ratings from the correlation of the means of ``smaller`` and ``larger``.

    With r the reliability of one rating, a mean of m has m r / (1 + (m − 1) r), and two means correlate at the root of
    the product of theirs: a quadratic equation in r. For halves of equal size this is 2ρ / (1 + ρ).

    Args:
        between: ρ, any shape; at 0 and below the reliability is 0.
        smaller: Ratings in the smaller half.
        larger: In the larger.
        full: In all.

    >>> round(float(step_up(np.array(0.5), 1, 1, 2)), 4)
    0.6667
    """
    squared = np.maximum(between, 0.0) ** 2
    # r² (a b − ρ² (a − 1)(b − 1)) − r ρ² (a + b − 2) − ρ² = 0, whose other root is below 0
    second = smaller * larger - squared * (smaller - 1) * (larger - 1)
    first = squared * (smaller + larger - 2)
    single = (first + np.sqrt(first**2 + 4 * second * squared)) / (2 * second)
    stepped: FloatArray = full * single / (1 + (full - 1) * single)
    return stepped


def _sizes(there: BoolArray, halves: Sequence[tuple[IntArray, IntArray]]) -> tuple[float, float, float]:
    """Return the mean number of ratings of a clip in the smaller half, in the larger, and in all."""
    in_halves = []
    for both in halves:
        counts = np.stack([there[:, half].sum(axis=1) for half in both])
        shared = (counts > 0).all(axis=0)
        if shared.any():
            in_halves.append(counts[:, shared].mean(axis=1))
    smaller, larger = np.mean(in_halves, axis=0)
    return float(smaller), float(larger), float(there.sum(axis=1).mean())


# What a study that there is can tell apart: its size, prompts and raters put into the closed form.

FIRST, SECOND = 0.6, 0.7
"""The two correlations that a study should tell apart."""
RATERS = (1, 2, 3, 5, 10)
"""Numbers of raters for which the required clips are computed, besides the actual number."""


def measure_power(study: Study, dimension: str, metrics: Sequence[str], seed: int = SEED) -> power.Power:
    """Return which differences a study of this size detects, and the size it would need.

    The two correlations are meant with the mean of the raters there are; with other numbers of raters both grow or
    shrink with the reliability of the mean. The variance between prompts is estimated from ratings and scores, the
    correlation of two metrics with each other from those that are there.

    Args:
        study: The study.
        dimension: One of its dimensions, with ratings.
        metrics: Metrics compared with it.
        seed: Of the splits of raters where there are over ten.
    """
    ratings = bootstrap.finite(study.ratings[dimension])
    mean = study.mean_rating(dimension)
    rated = np.flatnonzero(np.isfinite(mean))
    prompts, models = ([names[clip] for clip in rated] for names in (study.prompts, study.models))
    scores = [bootstrap.finite(study.scores[metric])[rated] for metric in metrics]
    between, how = _between([column for column in scores if _follows(column, mean[rated])])
    each = Counter(prompts).values()
    clustered = sum(count**2 for count in each) / max(1, rated.size)
    design = power.design_effect(clustered, _shared_variance(mean[rated], scores, prompts)) if rated.size else 1.0
    needed = power.clips_needed(FIRST, SECOND, between, design)
    whole = measure_human_agreement(study, dimension, resamples=0, seed=seed).split_half_full.value
    notes = [
        f"{rated.size} clips of {len(each)} prompts, design effect {design:.2f}",
        f"two metrics that correlate at {between:.2f} ({how})",
        f"two-sided test at {power.LEVEL:.0%}, {power.POWER:.0%} power for the clips needed",
    ]
    by_raters: dict[int, int] = {}
    if whole is None or whole <= 0:
        notes.append("the gain from more raters is unknown: it takes two ratings of a clip that agree")
    else:
        counts = (~np.isnan(ratings)).sum(axis=1)
        raters, there = float(counts[counts >= 2].mean()), float(counts[rated].mean())
        single = whole / (raters - (raters - 1) * whole)
        notes.append(f"reliability of one rating {single:.2f}, {there:.3g} ratings a clip")
        by_raters = _by_raters(between, design, single, there)
    inside, named = _less_model_means(mean[rated], scores, models)
    share = _shared_variance(inside[0], inside[1:], prompts) if rated.size else 0.0
    now = power.power_of(FIRST, SECOND, between, rated.size, design)
    prompts_needed = math.ceil(needed * len(each) / rated.size) if rated.size else None
    smallest = power.smallest_within_model(list(named.values()), share)
    return power.Power(
        dimension=dimension,
        first=FIRST,
        second=SECOND,
        power=now,
        clips=needed,
        prompts=prompts_needed,
        raters=by_raters,
        smallest=smallest,
        note="; ".join(notes),
    )


def prompt_share(values: FloatArray, prompts: Sequence[str]) -> float | None:
    """Return the share of variance between prompts: ICC(1) of Shrout and Fleiss, with Donner's mean size.

    Args:
        values: (N,), NaN where missing.
        prompts: (N,) prompt of each clip.

    Returns:
        0 to 1 (0 where prompts differ by less than chance); None where no prompt has two clips or nothing varies.
    """
    finite = np.flatnonzero(~np.isnan(values))
    if not finite.size:
        return None
    prompt = np.unique(np.asarray(prompts, dtype=object)[finite].astype(str), return_inverse=True)[1]
    sizes = np.bincount(prompt)
    spare = finite.size - sizes.size
    if spare < 1 or sizes.size < 2:
        return None
    centred = values[finite] - values[finite].mean()
    means = np.bincount(prompt, weights=centred) / sizes
    between = (sizes * means**2).sum() / (sizes.size - 1)
    within = ((centred - means[prompt]) ** 2).sum() / spare
    size = (finite.size - (sizes**2).sum() / finite.size) / (sizes.size - 1)
    whole = between + (size - 1) * within
    return float(min(max((between - within) / whole, 0.0), 1.0)) if whole > 0 else None


def _shared_variance(ratings: FloatArray, scores: Sequence[FloatArray], prompts: Sequence[str]) -> float:
    """Return the between-prompt share of the ratings times the mean share of the scores; squared without a score."""
    of_ratings = prompt_share(ratings, prompts) or 0.0
    of_scores = [share for share in (prompt_share(score, prompts) for score in scores) if share is not None]
    return of_ratings * (float(np.mean(of_scores)) if of_scores else of_ratings)


def _follows(scores: FloatArray, ratings: FloatArray) -> bool:
    """Return True if scores rise with the ratings; only such metrics are compared with one another."""
    once = np.ones((1, len(ratings)))
    return bool(spearman_statistic(scores, ratings)(once)[0, 0] > 0)


def _between(scores: Sequence[FloatArray]) -> tuple[float, str]:
    """Return the correlation of two metrics with each other, and its source as text."""
    once = np.ones((1, len(scores[0]))) if scores else np.ones((1, 0))
    correlations = [float(spearman_statistic(one, other)(once)[0, 0]) for one, other in combinations(scores, 2)]
    correlations = [value for value in correlations if not np.isnan(value)]
    if not correlations:
        return FIRST * SECOND, "assumed: correlated only through the ratings"
    mean = float(np.mean(correlations))
    possible = power.feasible(mean, FIRST, SECOND)
    how = (
        f"the mean over {len(correlations)} pairs of metrics that rise with the ratings"
        if len(correlations) > 1
        else "as the two metrics do"
    )
    return possible, how if possible == mean else f"{how}, moved to the nearest possible correlation"


def _by_raters(between: float, design: float, single: float, there: float) -> dict[int, int]:
    """Return clips needed by number of raters; numbers that would lift a correlation to 1 are left out."""
    clips, of_those_there = {}, power.mean_reliability(single, there)
    for raters in sorted({*RATERS, round(there)}):
        # the number there is on average stands for itself, so that it gives the clips needed
        gain = 1.0 if raters == round(there) else math.sqrt(power.mean_reliability(single, raters) / of_those_there)
        one, other = FIRST * gain, SECOND * gain
        if max(abs(one), abs(other)) < 1:
            clips[raters] = power.clips_needed(one, other, power.feasible(between, one, other), design)
    return clips


def _less_model_means(
    ratings: FloatArray, scores: Sequence[FloatArray], models: Sequence[str]
) -> tuple[list[FloatArray], Counter[str]]:
    """Return ratings and scores less their mean over the model, NaN for clips without a model; and clips per model."""
    names, model = np.unique(np.asarray(models, dtype=object).astype(str), return_inverse=True)
    centred = []
    for values in (ratings, *scores):
        finite = np.isfinite(values)
        counts = np.bincount(model[finite], minlength=names.size)
        means = np.bincount(model[finite], weights=values[finite], minlength=names.size) / np.maximum(counts, 1)
        centred.append(np.where(finite & (names[model] != ""), values - means[model], np.nan))
    return centred, Counter(name for name in models if name)
