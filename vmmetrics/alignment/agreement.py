"""Inter-rater agreement: Krippendorff's α, ICC, κ, outlying raters and disputed clips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress

import numpy as np

from vmmetrics.alignment.results import Agreement, DisputedClip, OutlyingRater
from vmmetrics.alignment.study import Study, clips_with_both, samples_of, with_recovered_quality
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics import agreement, bootstrap
from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, Estimate, Statistic, estimate, sampled
from vmmetrics.utils.statistics.correlation import spearman, spearman_statistic, why_undefined

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


def measure_agreement(study: Study, dimension: str, resamples: int = RESAMPLES, seed: int = SEED) -> Agreement:
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
