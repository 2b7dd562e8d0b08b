"""Human agreement: how well one rater, or half of them, predicts the others; the scale to read correlations on.

Leave-one-rater-out: each rater's Spearman with the mean of the others, which is what a metric would have to reach to be
as good as one more rater. Split-half: the means of two halves of the raters against each other, stepped up to the
reliability of the mean of all (Spearman and Brown, both British Journal of Psychology 1910; for halves of unlike size
Horst, Educational and Psychological Measurement 1951). A metric that knew the truth exactly would correlate with the
mean rating at the root of that reliability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, compress

import numpy as np

from vmmetrics.alignment.levels import NO_AMPLITUDE, NOT_AT_AMPLITUDE
from vmmetrics.alignment.results import Agreement, DisputedClip, HumanAgreement, OutlyingRater
from vmmetrics.alignment.study import Study, clips_with_both, samples_of, with_recovered_quality
from vmmetrics.types import BoolArray, FloatArray, IntArray
from vmmetrics.utils.statistics import agreement, bootstrap, correlation
from vmmetrics.utils.statistics.bootstrap import (
    RESAMPLES,
    SEED,
    Estimate,
    Statistic,
    estimate,
    mean_of_defined,
    sampled,
)
from vmmetrics.utils.statistics.correlation import spearman, spearman_statistic, why_undefined
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


# Inter-rater agreement: Krippendorff's α, ICC, κ, outlying raters and disputed clips.

# Raters who part from the others, and clips that people disagree on.

MIN_RATERS = 3
"""Minimum raters to call one of them outlying."""
MIN_CLIPS = 10
"""Minimum clips shared with the other raters; a correlation of ten clips has a standard error of 1/3."""
LESS_CORRELATED = 0.2
"""Distance of an outlying rater's correlation below the median: that between raters of reliability 0.6 and 0.36."""
BIASED = 0.5
"""Bias of an outlying rater in standard deviations of the ratings: a medium effect (Cohen 1988)."""
DISPUTED = 10
"""Maximum disputed clips listed."""
_RISK = 0.05  # of calling any rater of a faultless panel outlying, shared among raters and both ends


def outlying_raters(
    ratings: FloatArray, raters: Sequence[str], prompts: Sequence[str], resamples: int, seed: int
) -> tuple[OutlyingRater, ...]:
    """Return the outlying raters: by what they prefer, by level, or by giving nearly constant ratings.

    Of three raters or more, one is outlying whose correlation with the mean of the others is at least 0.2 below the
    median rater's, or whose mean difference from the panel is at least half a standard deviation of the ratings from
    the median rater's, where a bootstrap interval over prompts leaves 0 out; the risk of 5 % is shared among the
    raters. The median keeps one odd rater from making the others look odd. A rater with ten clips or more who gave all
    the same value is outlying in any panel.

    Args:
        ratings: (N, R), NaN where a rater said nothing.
        raters: R names.
        prompts: (N,) prompt of each clip.
        resamples: Bootstrap samples.
        seed: Of the samples.
    """
    others = [bootstrap.mean_of_defined(np.delete(ratings, number, axis=1)) for number in range(len(raters))]
    apart = ratings - np.stack(others, axis=1)
    common = ~np.isnan(apart)
    judged = [number for number in range(len(raters)) if common[:, number].sum() >= MIN_CLIPS]
    constant = [number for number in judged if np.unique(ratings[common[:, number], number]).size == 1]
    varied = [number for number in judged if number not in constant]
    reasons: dict[int, list[str]] = {number: ["gave every clip the same rating"] for number in constant}
    correlations: dict[int, float] = {}
    if len(judged) >= MIN_RATERS and len(varied) >= 2:
        values, samples = sampled(_rater_statistic(ratings, others, varied), prompts, resamples, seed)
        spread = float(np.nanstd(ratings))
        for index, number in enumerate(varied):
            correlations[number] = float(values[index])
            reasons[number] = _reasons(index, values, samples, spread)
    bias = {number: float(apart[common[:, number], number].mean()) for number in judged}
    outlying = ((number, "; ".join(parts)) for number, parts in sorted(reasons.items()) if parts)
    return tuple(OutlyingRater(raters[n], correlations.get(n), bias[n], why) for n, why in outlying)


def _rater_statistic(ratings: FloatArray, others: list[FloatArray], judged: list[int]) -> Statistic:
    """Return (B, 2 J) from (B, N) weights: each rater's correlation with, then difference from, the others' mean."""
    correlations = [spearman_statistic(ratings[:, number], others[number]) for number in judged]
    counts = np.maximum((~np.isnan(ratings)).sum(axis=1), 1)
    # from the mean of all, the rater's own included, differences are as large as those between raters
    apart = np.column_stack([(ratings[:, number] - others[number]) * (counts - 1) / counts for number in judged])
    there = (~np.isnan(apart)).astype(np.float64)
    apart = np.nan_to_num(apart)

    def statistic(weights: FloatArray) -> FloatArray:
        clips = weights @ there
        bias = np.divide(weights @ apart, clips, out=np.full(clips.shape, np.nan), where=clips > 0)
        return np.column_stack([*(correlation(weights) for correlation in correlations), bias])

    return statistic


def _reasons(index: int, values: FloatArray, samples: FloatArray, spread: float) -> list[str]:
    """Return the reasons why the judged rater ``index`` is outlying; empty if it is not."""
    half = values.size // 2
    reasons = []
    gap, _, gap_high = _from_median(index, values[:half], samples[:, :half])
    if gap <= -LESS_CORRELATED and gap_high < 0:
        surely_negative = np.nanquantile(samples[:, index], 1 - _RISK / 2) < 0
        least = "rates against the others" if surely_negative else "rates unlike the others"
        reasons.append(f"{least}: correlates at {values[index]:.2f} with their mean, {-gap:.2f} below the middle rater")
    shift, low, high = _from_median(index, values[half:], samples[:, half:])
    if abs(shift) >= BIASED * spread and (low > 0 or high < 0):
        side = "higher" if shift > 0 else "lower"
        reasons.append(f"rates {abs(shift):.2f} {side} than the middle rater")
    return reasons


def _from_median(index: int, values: FloatArray, samples: FloatArray) -> tuple[float, float, float]:
    """Return the distance of one value from the median of all and its interval; (0, 0) where that is undefined."""
    gaps = samples[:, index] - np.median(samples, axis=1)
    low, high = bootstrap.percentile_interval(gaps, _RISK / values.size / 2)
    return float(values[index] - np.median(values)), low or 0.0, high or 0.0


def disputed_clips(ratings: FloatArray, clips: Sequence[str]) -> tuple[DisputedClip, ...]:
    """Return the ten clips whose ratings spread most, worst first, ties by name; without clips on which all agree.

    Args:
        ratings: (N, R), NaN where a rater said nothing.
        clips: (N,) names.
    """
    disputed = []
    for clip, row in zip(clips, ratings, strict=True):
        present = row[~np.isnan(row)]
        if present.size >= 2 and np.ptp(present) > 0:
            disputed.append(DisputedClip(clip, float(present.std(ddof=1)), tuple(float(value) for value in present)))
    return tuple(sorted(disputed, key=lambda clip: (-round(clip.spread, 9), clip.clip))[:DISPUTED])


_CONTINUOUS = (
    f"the ratings are continuous (over {agreement.MAX_CATEGORIES} values, or hardly one used twice), not categories"
)
_SAME = "all raters gave every clip the same value, so chance would agree as well"
_NO_VARIANCE = "not defined: the ratings are all the same, or no two raters share two clips"


def measure_rater_agreement(study: Study, dimension: str, resamples: int = RESAMPLES, seed: int = SEED) -> Agreement:
    """Measure the agreement between the raters of a dimension; intervals over prompts.

    Ratings may be missing. α and both ICC then use every clip rated twice or more (ICC(2,k) with k the harmonic mean
    number of ratings of a clip), Cohen's κ the clips each pair of raters shares, and Fleiss' κ, which wants the same
    number of ratings for each clip, the clips with the commonest number. Released sets often give "first, second,
    third rating" rather than people: the columns are then no raters, and only α and Fleiss' κ, to which it does not
    matter who rated, mean what they say.

    Args:
        study: The study.
        dimension: One of its dimensions.
        resamples: Bootstrap samples.
        seed: Of the samples.

    Returns:
        The figures; those that cannot be computed have a note instead of a value.
    """
    everything = bootstrap.finite(study.ratings[dimension])
    counts = (~np.isnan(everything)).sum(axis=1)
    twice = counts >= 2
    if twice.sum() < 2:
        none = Estimate(None, note=_why_nothing(everything))
        return Agreement(dimension, none, none, none, none, none, none, none, none)
    prompts = tuple(compress(study.prompts, twice))
    ratings, counts = everything[twice], counts[twice]

    def estimates(statistic: Statistic, undefined: str, of: Sequence[str] = prompts) -> list[Estimate]:
        values, samples = sampled(statistic, of, resamples, seed)
        return [estimate(value, drawn, of, undefined) for value, drawn in zip(values, samples.T, strict=True)]

    nominal, ordinal, interval = estimates(agreement.alpha_statistic(ratings), _SAME)
    lacking = int(np.isnan(ratings).any(axis=1).sum())
    coverage = f"{lacking} of {len(ratings)} clips lack some rater; variances from all available ratings"
    note = coverage if lacking else None
    single, mean = (bootstrap.with_note(icc, note) for icc in estimates(agreement.icc_statistic(ratings), _NO_VARIANCE))
    if agreement.are_categories(ratings):
        cohen, weighted = estimates(agreement.cohen_statistic(ratings), _SAME)
        commonest = int(np.bincount(counts).argmax())
        same = counts == commonest
        (fleiss,) = estimates(agreement.fleiss_statistic(ratings[same]), _SAME, tuple(compress(prompts, same)))
        if not same.all():
            fleiss = bootstrap.with_note(fleiss, f"over the {same.sum()} clips of {len(same)} with {commonest} ratings")
    else:  # all of these count equal ratings
        nominal = cohen = weighted = fleiss = Estimate(None, n=len(prompts), note=_CONTINUOUS)
    outlying = outlying_raters(ratings, study.rater_names(dimension), prompts, resamples, seed)
    return Agreement(
        dimension,
        *(nominal, ordinal, interval, single, mean, cohen, weighted, fleiss),
        outlying=outlying,
        disputed=disputed_clips(ratings, tuple(compress(study.clips, twice))),
        recovered=_with_recovered(study, dimension) if outlying and dimension not in study.recovered else {},
    )


def _with_recovered(study: Study, dimension: str) -> dict[str, tuple[float, float]]:
    """Return pooled Spearman of each metric with the mean rating, and with the quality recovered from the raters."""
    quality = with_recovered_quality(replace(study, ratings={dimension: study.ratings[dimension]})).recovered[dimension]
    correlations = {}
    for sample in samples_of(study, dimension, study.metrics_for(dimension)):
        rated = clips_with_both(study, sample.metrics[0], dimension)
        for metric, scores in zip(sample.metrics, sample.scores, strict=True):
            if why_undefined(scores, sample.ratings) is None and why_undefined(scores, quality[rated]) is None:
                correlations[metric] = (spearman(scores, sample.ratings), spearman(scores, quality[rated]))
    return correlations


def _why_nothing(ratings: FloatArray) -> str:
    if not (~np.isnan(ratings)).any():
        return "there is no rating"
    if ratings.shape[1] == 1:
        return "there is one rating per clip: a single rater, or an average of unnamed raters"
    return "fewer than two clips were rated by two people"
