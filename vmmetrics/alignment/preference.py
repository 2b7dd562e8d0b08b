"""Preference accuracy of metrics and of combinations: how often they prefer the clip that people prefer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from vmmetrics.alignment import combination
from vmmetrics.alignment.combination import FOLDS, MIN_FIT_PAIRS, FittedCombination, folds_of, pairs_of
from vmmetrics.alignment.results import Ablation, CombinationFigure, PreferenceAccuracy
from vmmetrics.alignment.study import Study
from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics import bootstrap
from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, Estimate, finite, sampled
from vmmetrics.utils.statistics.correlation import (
    estimate_of,
    group_count,
    spearman_statistic,
    why_undefined,
    within_statistic,
)
from vmmetrics.utils.statistics.preferences import Preferences

Ties = Literal["half", "calibrated"]
EQUAL_WEIGHTS = "equal weights"
FITTED = "fitted"
FITTED_UNSEEN = "fitted, generator unseen"
HALF_RULE = "pairs that people tie are left out; a pair that the metric ties counts half"
CALIBRATED_RULE = (
    "pairs that people tie count too; a metric ties a pair if its scores differ by at most a threshold, fitted on "
    "other prompts to agree with people most often"
)
_IMPUTED = "missing scores are imputed with the metric's mean"
_UNSEEN = "weights fitted on other prompts"
_UNSEEN_MODELS = "weights fitted on other prompts and without the pair's models"
NO_PAIRS = "no pair has a clip that people prefer"
NOT_FITTED = f"a clip has no score, or under {MIN_FIT_PAIRS} pairs of other prompts are left to fit weights on"
_NO_SCORE = "a clip has no score"
_LEAST_MODELS = 3  # with two, leaving out those of a pair leaves nothing
_EQUAL = 1e-12  # scores of combinations are sums, equal up to rounding
_CHANCE = _TIED = 0.5


def measure_preferences(
    study: Study,
    dimension: str,
    metrics: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = SEED,
    ties: Ties = "half",
    combined: Sequence[str] | None = None,
) -> tuple[PreferenceAccuracy, ...]:
    """Measure the preference accuracy of each metric and of combinations of them.

    Pairs are those that people judged; where there are none, all pairs of clips of one prompt, preferred by mean
    rating. The combinations are equal weights on standardised scores, weights fitted on other prompts, and, for three
    models or more, weights fitted on other prompts without the models of the pair.

    Args:
        study: The study.
        dimension: One of its dimensions.
        metrics: Metrics compared with it.
        resamples: Bootstrap samples.
        seed: Of the samples and the folds.
        ties: ``"half"``: pairs that people call equal are left out, and a tie of the metric counts half, as a coin
            toss does. ``"calibrated"``: the accuracy with calibrated ties of Deutsch, Foster and Freitag ("Ties
            Matter", EMNLP 2023), in which a tie that people call must be called; the metric's threshold is chosen on
            other prompts. It has no p, since chance is not one half.
        combined: Metrics that are combined; None for all.

    Returns:
        One per metric in the order given, then the combinations. Each states how ties were counted, the thresholds and
        how many pairs lacked a score.
    """
    (pairs, source), folds = pairs_of(study, dimension, seed), folds_of(study.prompts, FOLDS, seed)
    decidable = int(np.count_nonzero(pairs.outcome)) if ties == "half" else pairs.outcome.size
    ends = folds[np.stack([pairs.left, pairs.right])]

    def judged(
        name: str, margins: FloatArray, lacking: str, note: str = "", combination: bool = False
    ) -> PreferenceAccuracy:
        """Return the accuracy of (M,) margins; ``lacking`` says why a pair may have none."""
        if ties == "half":
            thresholds, rule = np.where(np.isnan(margins), np.nan, _EQUAL), [source, HALF_RULE, note]
            credits_ = half_credits(margins, pairs.outcome)
        else:
            thresholds = calibrated_thresholds(margins, pairs.outcome, ends)
            rule = [source, CALIBRATED_RULE, threshold_range(thresholds), note]
            credits_ = tie_credits(margins, pairs.outcome, thresholds)
        counted = ~np.isnan(credits_)
        if 0 < counted.sum() < decidable:
            rule.append(f"{decidable - counted.sum()} of {decidable} pairs are left out: {lacking}")
        undefined = f"no pair counts: {lacking}" if decidable else NO_PAIRS
        (accuracy,) = accuracy_estimates(credits_[:, None], pairs, study.prompts, resamples, seed, undefined)
        if ties == "calibrated":
            accuracy = replace(accuracy, p=None)  # which tests against one half
        human_ties = int((pairs.outcome == 0).sum())
        metric_ties = int((np.abs(margins) <= thresholds)[counted].sum())
        text = "; ".join(filter(None, rule))
        return PreferenceAccuracy(
            name, dimension, accuracy, int(counted.sum()), human_ties, metric_ties, text, combination=combination,
            decided=decided_share(credits_) if ties == "half" else None,
        )  # fmt: skip

    accuracies = [judged(metric, differences(finite(study.scores[metric]), pairs), _NO_SCORE) for metric in metrics]
    together = metrics if combined is None else combined
    if len(together) < 2:
        return tuple(accuracies)
    z = combination.standardised([finite(study.scores[metric]) for metric in together])
    accuracies.append(judged(EQUAL_WEIGHTS, differences(z.mean(axis=1), pairs), _NO_SCORE, _IMPUTED, True))
    fitted = FittedCombination(z, pairs, folds, seed=seed)
    accuracies.append(judged(FITTED, fitted.margins(pairs), NOT_FITTED, f"{_UNSEEN}; {_IMPUTED}", True))
    models = len({model for model in study.models if model})
    if models >= _LEAST_MODELS:
        unseen = FittedCombination(z, pairs, folds, folds_of(study.models, combination.MODEL_FOLDS, seed), seed=seed)
        why = f"{NOT_FITTED} without the two models of a pair (there are {models})"
        accuracies.append(judged(FITTED_UNSEEN, unseen.margins(pairs), why, f"{_UNSEEN_MODELS}; {_IMPUTED}", True))
    return tuple(accuracies)


def half_credits(margins: FloatArray, outcome: IntArray) -> FloatArray:
    """Return (M,) 1 where the margin prefers what people prefer, ½ where it is 0; NaN without margin or preference."""
    sides = np.where(np.abs(margins) <= _EQUAL, 0, np.sign(margins))
    return np.where(np.isnan(margins) | (outcome == 0), np.nan, (1 + sides * outcome) / 2)


def decided_share(credits_: FloatArray) -> float | None:
    """Return the share of the pairs that a judge decides, of (M,) half credits; None where it decides none."""
    decided = credits_[~np.isnan(credits_) & (credits_ != _TIED)]
    return float(decided.mean()) if decided.size else None


def tie_credits(margins: FloatArray, outcome: IntArray, thresholds: FloatArray) -> FloatArray:
    """Return (M,) 1 where the margin (a tie up to its threshold) agrees with people, else 0; NaN without a margin."""
    called = np.where(np.abs(margins) <= thresholds, 0, np.sign(margins))
    return np.where(np.isnan(margins), np.nan, called == outcome)


def calibrated_thresholds(margins: FloatArray, outcome: IntArray, folds: IntArray) -> FloatArray:
    """Return (M,) thresholds of |margin| up to which pairs are ties, fitted on other prompts; NaN without a margin.

    Args:
        margins: (M,) score of the left clip less the right one's.
        outcome: (M,) 1, −1, or 0 for a tie.
        folds: (2, M) fold of each side's prompt: the threshold of a pair is chosen on pairs with neither. Where none
            is left only equal scores are a tie.
    """
    defined = ~np.isnan(margins)
    thresholds = np.full(margins.size, np.nan)
    low, high = np.sort(folds, axis=0)
    for one, other in np.unique(np.stack([low, high])[:, defined], axis=1).T:
        elsewhere = defined & ~np.isin(folds, [one, other]).any(axis=0)
        thresholds[defined & (low == one) & (high == other)] = best_threshold(margins[elsewhere], outcome[elsewhere])
    return thresholds


def best_threshold(margins: FloatArray, outcome: IntArray) -> float:
    """Return the smallest threshold on |margin| that, called ties up to it, agrees with people most often.

    >>> best_threshold(np.array([0.1, -0.2, 0.5, -0.9]), np.array([0, 0, 1, -1]))
    0.2
    """
    thresholds, kind = np.unique(np.append(np.maximum(np.abs(margins), _EQUAL), _EQUAL), return_inverse=True)
    # raising the threshold past a pair wins it if people call it equal, and loses it if the margin had it right
    gains = (outcome == 0).astype(np.int64) - (np.sign(margins) == outcome) * (outcome != 0)
    total = np.cumsum(np.bincount(kind[:-1], weights=gains, minlength=thresholds.size))
    return float(thresholds[np.argmax(total)])


def threshold_range(thresholds: FloatArray) -> str:
    """Return the thresholds of (M,) pairs as text, NaN left out; "" for none.

    >>> threshold_range(np.array([0.25, np.nan, 0.125]))
    'thresholds 0.125 to 0.25'
    """
    defined = thresholds[~np.isnan(thresholds)]
    if not defined.size:
        return ""
    low, high = (f"{0.0 if end <= _EQUAL else end:.3g}" for end in (defined.min(), defined.max()))
    return f"threshold {low}" if low == high else f"thresholds {low} to {high}"


def accuracy_estimates(
    credits_: FloatArray, pairs: Preferences, prompts: Sequence[str], resamples: int, seed: int, undefined: str
) -> list[Estimate]:
    """Return the mean of each column of (M, S) credits with its interval over prompts; p against ½ (chance)."""
    estimates = [Estimate(None, note=undefined)] * credits_.shape[1]
    for columns in bootstrap.alike(credits_):
        counted = int((~np.isnan(credits_[:, columns[0]])).sum())
        if not counted:
            continue
        statistic, names = combination.share_statistic(pairs, credits_[:, columns], prompts)
        values, samples = sampled(statistic, names, resamples, seed)
        for column, value, drawn in zip(columns, values, samples.T, strict=True):
            if len(names) < bootstrap.LEAST_PROMPTS:
                estimates[column] = Estimate(float(value), n=counted, note=bootstrap.interval_note(len(names)))
                continue
            p = bootstrap.two_sided_p(drawn - _CHANCE)
            estimates[column] = bootstrap.bootstrapped(float(value), drawn, n=counted, prompts=len(names), p=p)
    return estimates


def differences(scores: FloatArray, pairs: Preferences) -> FloatArray:
    """Return (M,) score of the left clip less the right one's, from (N,) scores."""
    return np.asarray(scores[pairs.left] - scores[pairs.right])


# What each metric adds to the combination of all: left out one at a time.

LEAST_RESAMPLES = 200
"""Minimum bootstrap samples in large studies: an interval's end is then off by 7 % of its width."""
_DRAWN = 20_000_000  # clips times samples: 1,000 samples of 20,000 clips
_NONE = Estimate(None)
_NO_JUDGEMENT = "there is no rating, only preferences"
_NO_MODEL = "no model has three clips with differing scores and judgements"


@dataclass(frozen=True, slots=True)
class Combined:
    """Scores of a combination.

    Attributes:
        margins: (M,) score of each pair's left clip less the right one's, NaN where there is none.
        scores: (N,) score of each clip, NaN where there is none.
        weights: (K,) weight of each metric, NaN where none could be fitted.
    """

    margins: FloatArray
    scores: FloatArray
    weights: FloatArray


def measure_ablations(
    study: Study, dimension: str, metrics: Sequence[str], resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[Ablation, ...]:
    """Measure ablations of the combination by equal weights and of the fitted one.

    The fitted combination's weights for a clip are fitted on other prompts. Its scores of different folds come from
    different weights, which pairs of one prompt never see and Spearman does: a metric without use, whose weight changes
    sign between folds, then comes out below 0. Over 20,000 clips there are fewer bootstrap samples, down to 200, since
    each of them is worked out for two combinations per metric.

    Args:
        study: The study.
        dimension: One of its dimensions.
        metrics: Metrics compared with it.
        resamples: Bootstrap samples.
        seed: Of the samples and the folds.

    Returns:
        Equal weights, then fitted; nothing for fewer than two metrics.
    """
    if len(metrics) < 2:
        return ()
    pairs, _ = pairs_of(study, dimension, seed)
    z = combination.standardised([finite(study.scores[metric]) for metric in metrics])
    folds = folds_of(study.prompts, FOLDS, seed)
    resamples = min(resamples, max(LEAST_RESAMPLES, _DRAWN // max(1, len(study.clips))))

    def equal(columns: Sequence[int]) -> Combined:
        scores = z[:, list(columns)].mean(axis=1)
        return Combined(differences(scores, pairs), scores, np.full(len(columns), 1 / len(columns)))

    def fitted(columns: Sequence[int]) -> Combined:
        refitted = FittedCombination(z[:, list(columns)], pairs, folds, seed=seed)
        return Combined(refitted.margins(pairs), refitted.scores(), refitted.mean_weights())

    everything = range(len(metrics))
    ablations = []
    for name, combine in ((EQUAL_WEIGHTS, equal), (FITTED, fitted)):
        full = combine(everything)
        without = [combine([other for other in everything if other != k]) for k in everything]
        all_, *left_out = _figures(study, dimension, pairs, [full, *without], resamples, seed)
        weights = {metric: float(w) for metric, w in zip(metrics, full.weights, strict=True) if not np.isnan(w)}
        ablations.append(Ablation(dimension, name, all_, dict(zip(metrics, left_out, strict=True)), weights))
    return tuple(ablations)


def _figures(
    study: Study, dimension: str, pairs: Preferences, combinations: Sequence[Combined], resamples: int, seed: int
) -> list[CombinationFigure]:
    """Return the figures of each combination; those that score the same clips share bootstrap samples."""
    credits_ = np.column_stack([half_credits(each.margins, pairs.outcome) for each in combinations])
    undefined = f"no pair counts: {NOT_FITTED}" if pairs.outcome.any() else NO_PAIRS
    accuracies = accuracy_estimates(credits_, pairs, study.prompts, resamples, seed, undefined)
    none = np.full(len(study.clips), np.nan)
    judgements = finite(study.mean_rating(dimension)) if dimension in study.ratings else none
    scores = np.column_stack([each.scores for each in combinations])
    figures = [CombinationFigure(accuracy, _NONE, _NONE) for accuracy in accuracies]
    for columns in bootstrap.alike(scores):
        pooled, inside = _correlations(study, judgements, scores[:, columns], resamples, seed)
        for column, spearman, within in zip(columns, pooled, inside, strict=True):
            figures[column] = CombinationFigure(accuracies[column], spearman, within)
    return figures


def _correlations(
    study: Study, judgements: FloatArray, scores: FloatArray, resamples: int, seed: int
) -> tuple[list[Estimate], list[Estimate]]:
    """Return pooled Spearman and mean within-model Spearman of the columns of (N, K), NaN in the same rows."""
    both = np.flatnonzero(~np.isnan(scores[:, 0]) & ~np.isnan(judgements))
    unjudged = bool(np.isnan(judgements).all())
    scores, judgements = scores[both], judgements[both]
    reasons = [_NO_JUDGEMENT if unjudged else why_undefined(column, judgements) for column in scores.T]
    pooled = [Estimate(None, n=both.size, note=reason) for reason in reasons]
    inside, defined = list(pooled), np.flatnonzero([reason is None for reason in reasons])
    if not defined.size:
        return pooled, inside
    prompts, models = ([names[clip] for clip in both] for names in (study.prompts, study.models))
    for statistic, into, undefined, n in (
        (spearman_statistic(scores[:, defined], judgements), pooled, "", both.size),
        (within_statistic(scores[:, defined], judgements, models), inside, _NO_MODEL, group_count(models)),
    ):
        values, samples = sampled(statistic, prompts, resamples, seed)
        for column, value, drawn in zip(defined, values, samples.T, strict=True):
            into[column] = estimate_of(value, drawn, prompts, undefined, n)
    return pooled, inside
