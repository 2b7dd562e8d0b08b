"""Model-level results: win ratios by people and by metrics, and strengths from people's pairs.

Win ratio (VBench, CVPR 2024): of the pairs that a model's clips are in, the share they win, ties half; by people, and
on the same pairs by a metric, then correlated over models. Strengths: Bradley-Terry with ties on people's pairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from vmmetrics.alignment.combination import pairs_of, share_statistic
from vmmetrics.alignment.preference import differences
from vmmetrics.alignment.study import Study
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics.bootstrap import (
    RESAMPLES,
    SEED,
    Estimate,
    bootstrapped,
    estimate,
    finite,
    quotient,
    ratio,
    sampled,
    with_note,
)
from vmmetrics.utils.statistics.bradley_terry import DEFAULT_PRIOR_SD, Strengths, fit_strengths
from vmmetrics.utils.statistics.permutation import soft_pairwise_accuracy
from vmmetrics.utils.statistics.preferences import Preference, Preferences


@dataclass(frozen=True, slots=True)
class ModelWins:
    """Win ratios of one model.

    Attributes:
        pairs: Pairs of it with another model that people judged.
        people: Share that people let it win, ties half; interval over prompts.
        metrics: Metric to the share it wins by that metric's scores, over the pairs with both scores.
    """

    model: str
    pairs: int
    people: Estimate
    metrics: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class WinRatioAgreement:
    """Correlation over models of the win ratios by a metric and by people, on the pairs with both scores.

    Attributes:
        spearman: Spearman's ρ; n counts models, the interval draws prompts, keeps the models and holds the value.
        pearson: Pearson's r over models.
    """

    metric: str
    spearman: Estimate
    pearson: Estimate


@dataclass(frozen=True, slots=True)
class WinRatios:
    """Win ratios of all models on one dimension.

    Attributes:
        source: Where the pairs come from.
        models: One per model with a pair, by win ratio, best first.
        agreements: One per metric, in the order given.
    """

    dimension: str
    source: str
    models: tuple[ModelWins, ...]
    agreements: tuple[WinRatioAgreement, ...]


@dataclass(frozen=True, slots=True)
class ModelStrength:
    """Strength of one model.

    Attributes:
        strength: Log odds of beating a model of mean strength; times 400 / ln 10 it is on Elo's scale. The interval
            draws prompts.
        pairs: Pairs of it with another model that people judged.
    """

    model: str
    strength: Estimate
    pairs: int


@dataclass(frozen=True, slots=True)
class ModelStrengths:
    """Strengths of all models on one dimension.

    Attributes:
        source: Where the pairs come from.
        models: One per model with a pair, strongest first.
        note: What limits them, or why there are none; "" where there is nothing to say.
    """

    dimension: str
    source: str
    models: tuple[ModelStrength, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """Results per model on one dimension, by people and by metrics.

    Attributes:
        wins: Win ratios (VBench) and their correlation over models.
        strengths: Bradley-Terry strengths from people's pairs.
        soft_pairwise: Metric to soft pairwise accuracy (WMT 2024), 0..1, about 1/2 for a metric that knows nothing.
    """

    dimension: str
    wins: WinRatios
    strengths: ModelStrengths
    soft_pairwise: Mapping[str, Estimate]


LEAST_MODELS = 3
"""Minimum models for a correlation over models."""
_FEW_MODELS = 5  # up to which the chance that an order is right by luck is stated
_EQUAL = 1e-12  # scores that differ by less are a tie
_TAIL = 0.025  # of the samples beyond each end of an interval
_DIGITS = 12  # of win ratios that are equal but for rounding
_NO_PAIR = "no pair of two models was judged"


def win_ratios(
    study: Study, dimension: str, metrics: Sequence[str], resamples: int = RESAMPLES, seed: int = SEED
) -> WinRatios:
    """Return win ratios of models by people and by metrics, and their correlation over models.

    Pairs are those that people judged; where there are none, all pairs of clips of one prompt, preferred by mean
    rating. Pairs of clips of one model, or of an unknown one, are left out.

    Args:
        study: The study.
        dimension: One of its dimensions.
        metrics: Metrics to compare.
        resamples: Bootstrap samples.
        seed: Of the samples.
    """
    names, pairs, ends, source = _model_pairs(study, dimension, seed)
    by_people = pairs.outcome.astype(np.float64)
    counts = np.bincount(ends.ravel(), minlength=len(names))
    people, _ = _compared(study, pairs, ends, len(names), [by_people], resamples, seed)
    of_metrics: dict[str, list[Estimate]] = {}
    agreements = []
    for metric in metrics:
        margins = differences(finite(study.scores[metric]), pairs)
        sides = np.where(np.abs(margins) <= _EQUAL, 0.0, np.sign(margins))
        shared = np.where(np.isnan(sides), np.nan, by_people)
        ratios, correlations = _compared(study, pairs, ends, len(names), [shared, sides], resamples, seed)
        of_metrics[metric] = ratios[len(names) :]
        agreements.append(WinRatioAgreement(metric, *correlations))
    models = [
        ModelWins(name, int(counts[k]), people[k], {metric: each[k] for metric, each in of_metrics.items()})
        for k, name in enumerate(names)
    ]
    models.sort(key=lambda each: -(each.people.value or 0.0))
    return WinRatios(dimension, source, tuple(models), tuple(agreements))


def _model_pairs(study: Study, dimension: str, seed: int) -> tuple[list[str], Preferences, IntArray, str]:
    """Return models with a pair, the pairs of two of them, (2, M) model numbers of both sides, and their source."""
    pairs, source = pairs_of(study, dimension, seed)
    models = np.asarray(study.models, dtype=object).astype(str)
    left, right = models[pairs.left], models[pairs.right]
    mask = (left != right) & (left != "") & (right != "")
    pairs = Preferences(pairs.left[mask], pairs.right[mask], pairs.outcome[mask])
    names, ends = np.unique(np.stack([left[mask], right[mask]]), return_inverse=True)
    return names.tolist(), pairs, ends.reshape(2, -1).astype(np.int64), source


def _compared(
    study: Study,
    pairs: Preferences,
    ends: IntArray,
    models: int,
    judges: Sequence[FloatArray],
    resamples: int,
    seed: int,
) -> tuple[list[Estimate], list[Estimate]]:
    """Return win ratios by each judge in turn, and Spearman and Pearson between the first judge and the last.

    Args:
        study: The study.
        pairs: M pairs of two models.
        ends: (2, M) numbers of their models.
        models: How many models there are.
        judges: (M,) each: 1 where the left clip wins, −1 the right, 0 for a tie, NaN where the judge lacks a score; all
            lack the same.
        resamples: Bootstrap samples.
        seed: Of the samples.
    """
    scored = np.flatnonzero(~np.isnan(judges[-1]))
    pairs_n = np.bincount(ends[:, scored].ravel(), minlength=models)
    if not scored.size:
        return [Estimate(None, note=_NO_PAIR)] * (models * len(judges)), [Estimate(None, note=_NO_PAIR)] * 2
    credits_ = np.full((len(judges), models, pairs.outcome.size), np.nan)
    for judge, sides in enumerate(judges):
        credits_[judge, ends[0, scored], scored] = (1 + sides[scored]) / 2
        credits_[judge, ends[1, scored], scored] = (1 - sides[scored]) / 2
    shares, prompts = share_statistic(pairs, credits_.reshape(-1, pairs.outcome.size).T, study.prompts)
    there = pairs_n > 0

    def statistic(weights: FloatArray) -> FloatArray:
        ratios = np.round(shares(weights), _DIGITS)
        first, last = ratios[:, :models][:, there], ratios[:, -models:][:, there]
        ranks = [rankdata(side, axis=1, nan_policy="propagate") for side in (first, last)]
        return np.column_stack([ratios, _correlation(*ranks), _correlation(first, last)])

    values, samples = sampled(statistic, prompts, resamples, seed)
    counts = np.tile(pairs_n, len(judges))
    ratios = [
        estimate(value, drawn, prompts, _NO_PAIR, int(n))
        for value, drawn, n in zip(values[:-2], samples.T[:-2], counts, strict=True)
    ]
    count = int(there.sum())
    if count < LEAST_MODELS:
        why = f"a correlation over models needs {LEAST_MODELS} models, and there are {count}"
        return ratios, [Estimate(None, n=count, note=why)] * 2
    correlations = []
    chance = f"{count} models are in the right order by chance in 1 of {math.factorial(count)} cases (one-sided)"
    for column in (-2, -1):
        each = estimate(values[column], samples[:, column], prompts, "all models have the same win ratio", count)
        each = with_note(each, chance if count <= _FEW_MODELS else None)
        if each.value is not None and each.low is not None and each.high is not None:
            # bootstrap samples, which are noisier, may all fall short of the value
            each = replace(each, low=min(each.low, each.value), high=max(each.high, each.value))
        correlations.append(each)
    return ratios, correlations


def _correlation(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return (B,) Pearson's r of the rows of two (B, M); NaN where one has a NaN or does not vary."""
    first = first - first.mean(axis=1, keepdims=True)
    second = second - second.mean(axis=1, keepdims=True)
    scale = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    return np.clip(ratio((first * second).sum(axis=1), scale), -1, 1)


def model_strengths(study: Study, dimension: str, resamples: int = RESAMPLES, seed: int = SEED) -> ModelStrengths:
    """Return Bradley-Terry strengths of models from people's pairs, ties by Davidson's model.

    Where some model always won or lost, here or in more bootstrap samples than lie beyond an end of the interval, the
    likelihood has no maximum; then a normal prior holds all strengths, those of the samples too. Samples that lack a
    model, or leave models without a comparison between them, count as undefined.

    Args:
        study: The study; its pairs are chosen as for :func:`win_ratios`.
        dimension: One of its dimensions.
        resamples: Bootstrap samples; 1,000 take 4 to 8 s of processor for 4 models.
        seed: Of the samples.
    """
    names, pairs, ends, source = _model_pairs(study, dimension, seed)
    if not names:
        return ModelStrengths(dimension, source, (), _NO_PAIR)
    # pairs of the same two models with the same outcome are alike: a sample is how often each kind is in it
    first, outcome = ends.min(axis=0), np.where(ends[0] < ends[1], pairs.outcome, -pairs.outcome)
    kinds, kind = np.unique(np.stack([first, ends.max(axis=0), outcome]), axis=1, return_inverse=True)
    shares, prompts = share_statistic(pairs, np.eye(kinds.shape[1])[kind.ravel()], study.prompts)

    def comparisons(row: FloatArray) -> list[Preference]:
        weighed = zip(kinds.T.tolist(), row * pairs.outcome.size, strict=True)
        return [Preference(names[a], names[b], o, float(n)) for (a, b, o), n in weighed if n > 0]

    try:
        fit = fit_strengths(comparisons(shares(np.ones((1, len(prompts))))[0]), names)
    except SetupError as error:
        return ModelStrengths(dimension, source, (), str(error))

    def statistic(weights: FloatArray) -> FloatArray:
        rows = [_strengths(comparisons(row), names, fit) for row in shares(weights)]
        return np.array(rows).reshape(-1, len(names))

    _, samples = sampled(statistic, prompts, resamples, seed)
    if fit.prior_sd is None and np.isinf(samples).any(axis=1).sum() > _TAIL * len(samples):
        fit = fit_strengths(comparisons(shares(np.ones((1, len(prompts))))[0]), names, prior_sd=DEFAULT_PRIOR_SD)
        _, samples = sampled(statistic, prompts, resamples, seed)
    samples[np.isinf(samples)] = np.nan
    counts = np.bincount(ends.ravel(), minlength=len(names))
    models = [
        ModelStrength(name, bootstrapped(float(value), drawn, n=int(n), prompts=len(prompts)), int(n))
        for name, value, drawn, n in zip(names, fit.strength, samples.T, counts, strict=True)
    ]
    models.sort(key=lambda each: -(each.strength.value or 0.0))
    notes = []
    if fit.prior_sd is not None:
        notes.append(
            f"some models always won or lost, or nearly: a normal prior of {fit.prior_sd:g} keeps the strengths finite"
        )
    if fit.graph.components > 1:
        notes.append(f"{fit.graph.components} groups of models were never compared: strengths hold within a group")
    return ModelStrengths(dimension, source, tuple(models), "; ".join(notes))


def _strengths(comparisons: list[Preference], names: Sequence[str], fit: Strengths) -> FloatArray:
    """Return (M,) strengths of a bootstrap sample: infinite without a maximum, NaN where undefined."""
    try:
        sample = fit_strengths(comparisons, names, prior_sd=fit.prior_sd)
    except SetupError:
        return np.full(len(names), np.nan)
    if sample.graph.components != fit.graph.components:
        return np.full(len(names), np.nan)
    return np.full(len(names), np.inf) if sample.prior_sd != fit.prior_sd else sample.strength


def cells_of(study: Study, values: FloatArray) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...]]:
    """Return the mean of (N,) values per model and prompt, as soft pairwise accuracy takes them.

    Returns:
        (M, P) means of the clips that have a value, NaN without one; the models and the prompts, in order of name.
        Clips of an unknown model are left out.
    """
    scored = np.flatnonzero(np.isfinite(values) & np.array([model != "" for model in study.models], bool))
    models = sorted({model for model in study.models if model})
    prompts = sorted(set(study.prompts))
    rows, columns = {name: k for k, name in enumerate(models)}, {name: k for k, name in enumerate(prompts)}
    sums, counts = np.zeros((2, len(models), len(prompts)))
    at = [rows[study.models[clip]] for clip in scored], [columns[study.prompts[clip]] for clip in scored]
    np.add.at(sums, at, values[scored])
    np.add.at(counts, at, 1.0)
    return quotient(sums, counts), tuple(models), tuple(prompts)


STRENGTH_DRAWS = 200
"""Maximum bootstrap samples of the strengths: each takes a fit."""


def measure_models(
    study: Study, dimension: str, metrics: Sequence[str], resamples: int, seed: int
) -> ModelFigures | None:
    """Return figures of models on a dimension; None where under two models have a pair.

    Args:
        study: The study.
        dimension: One of its dimensions.
        metrics: Metrics compared with it, the best first.
        resamples: Bootstrap samples, swaps.
        seed: Of all random numbers.
    """
    strengths = model_strengths(study, dimension, min(resamples, STRENGTH_DRAWS), seed)
    if len(strengths.models) < 2:
        return None
    wins = win_ratios(study, dimension, metrics, resamples, seed)
    soft_accuracy: dict[str, Estimate] = {}
    if dimension in study.ratings and metrics:
        people, models, _ = cells_of(study, finite(study.mean_rating(dimension)))
        cells = {metric: cells_of(study, finite(study.scores[metric]))[0] for metric in metrics}
        accuracies = soft_pairwise_accuracy(people, np.stack(list(cells.values())), resamples, seed)
        none = Estimate(None, note="no two models share a prompt")
        soft_accuracy = {
            metric: none if np.isnan(value) else Estimate(float(value), n=len(models))
            for metric, value in zip(cells, accuracies, strict=True)
        }
    return ModelFigures(dimension, wins, strengths, soft_accuracy)
