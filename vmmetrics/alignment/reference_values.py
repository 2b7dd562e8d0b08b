"""Reference values to read metrics against: the model's name, the prompt, a single rater, less motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from vmmetrics.alignment.combination import pairs_of
from vmmetrics.alignment.levels import overall_spearman, within_model, within_prompt
from vmmetrics.alignment.pair_alignments import LESS_MOTION
from vmmetrics.alignment.preference import HALF_RULE, accuracy_estimates, decided_share, differences, half_credits
from vmmetrics.alignment.results import NameBaseline, PreferenceAccuracy, PromptBaseline
from vmmetrics.alignment.study import Sample, Study, snapped
from vmmetrics.types import FloatArray, IntArray
from vmmetrics.utils.statistics.bootstrap import Estimate, finite, mean_of_defined, prompt_codes
from vmmetrics.utils.statistics.correlation import correlation_estimate, resampled_spearman
from vmmetrics.utils.statistics.preferences import Preferences
from vmmetrics.utils.statistics.ranks import code, weighted_spearman

# What the name of the model is worth, and the prompt: each clip is given a mean rating of other clips of its model, or
# of its prompt.
#
# No rating may predict itself, nor may its absence. Were each clip given the mean of all its model's others, then
# inside a model the best clips would have the lowest predictions, and ranks would make much of that little: with four
# models of no difference, 17 clips each, pooled Spearman would come out at −0.28 (simulated), and that of the mean of
# all clips at 0.16. So over all clips the prompts are split into halves and each half is given the means of the other,
# which clips of one model share; that comes out at 0.00. Among the clips of one prompt, where each model is there once,
# the means can be of all other prompts.

SPLITS = 20
"""Random splits of the prompts into halves; their choice changes the mean by 0.01 to 0.02 (17 prompts)."""
_NAME = "name of the model"


def name_baseline(study: Study, dimension: str, resamples: int, seed: int) -> NameBaseline:
    """Measure how well the model's name predicts ratings on one dimension; the intervals hold the predictions fixed."""
    ratings = study.mean_rating(dimension)
    if len(models := {model for model in study.models if model}) < 2:
        none = Estimate(None, note="there is a single model" if models else "the models of the clips are not known")
        return NameBaseline(dimension, none, none)
    predicted = other_prompts(ratings, study.prompts, study.models)
    everything = Sample(dimension, (_NAME,), predicted[None], ratings, study.prompts, study.models)
    inside = within_prompt(everything.keep(np.isfinite(predicted) & np.isfinite(ratings)), resamples, seed)[0].mean
    overall = _over_halves(everything.keep(np.isfinite(ratings)).with_named_models(), resamples, seed)
    return NameBaseline(dimension, overall, inside)


def prompt_baseline(study: Study, dimension: str, resamples: int, seed: int) -> PromptBaseline:
    """Measure how well other models' ratings of a prompt predict ratings; the intervals hold the predictions fixed.

    Ratings are taken less their model's mean: the means of the others would be lowest for the best model.
    """
    ratings = study.mean_rating(dimension)
    everything = Sample(dimension, ("prompt",), ratings[None], ratings, study.prompts, study.models)
    sample = everything.keep(np.isfinite(ratings)).with_named_models()
    if len(names := set(sample.models)) < 2:
        none = Estimate(None, note="there is a single model" if names else "the models of the clips are not known")
        return PromptBaseline(dimension, none, none)
    predicted = other_models(sample.ratings, sample.prompts, sample.models)
    sample = replace(sample, scores=predicted[None]).keep(np.isfinite(predicted))
    overall, inside = overall_spearman(sample, resamples, seed), within_model(sample, resamples, seed)
    return PromptBaseline(dimension, overall[0], inside[0].mean)


def other_prompts(ratings: FloatArray, prompts: Sequence[str], models: Sequence[str]) -> FloatArray:
    """Return the mean rating of the clips of the same model and other prompts.

    Args:
        ratings: (N,) mean ratings, NaN where there is none.
        prompts: (N,) prompts.
        models: (N,) models, "" where not known.

    Returns:
        (N,) means, NaN where the model is not known or has no rated clip of another prompt.
    """
    model, prompt = prompt_codes(models)[0], prompt_codes(prompts)[0]
    there = np.isfinite(ratings)
    both = np.unique(np.stack([model, prompt]), axis=1, return_inverse=True)[1].ravel()
    counts, sums = there.astype(np.float64), np.where(there, ratings, 0.0)
    others = np.bincount(model, weights=counts)[model] - np.bincount(both, weights=counts)[both]
    total = np.bincount(model, weights=sums)[model] - np.bincount(both, weights=sums)[both]
    defined = (others > 0) & np.array([name != "" for name in models], bool)
    means = np.divide(total, others, out=np.full(len(ratings), np.nan), where=defined)
    return snapped(means)


def other_models(ratings: FloatArray, prompts: Sequence[str], models: Sequence[str]) -> FloatArray:
    """Return the mean rating of other models' clips of the same prompt, ratings less their model's mean.

    Args:
        ratings: (N,) mean ratings without NaN.
        prompts: (N,) prompts.
        models: (N,) models, all of them known.

    Returns:
        (N,) means, NaN where no other model has a clip of the prompt.
    """
    codes = prompt_codes(models)[0]
    above_mean = ratings - (np.bincount(codes, ratings) / np.bincount(codes))[codes]
    return other_prompts(above_mean, models, prompts)


def halves(prompts: Sequence[str], seed: int) -> Iterator[IntArray]:
    """Yield (N,) 0 or 1, the half of each clip's prompt, for :data:`SPLITS` random splits of two prompts or more."""
    prompt, count = prompt_codes(prompts)
    rng = np.random.default_rng(seed)
    for _ in range(SPLITS):
        yield (rng.permutation(count) < count // 2).astype(np.int64)[prompt]


def other_half(ratings: FloatArray, half: IntArray, model: IntArray) -> FloatArray:
    """Return the mean rating of the clips of the same model in the other half; of all clips there where it has none.

    Args:
        ratings: (N,) mean ratings without NaN.
        half: (N,) 0 or 1, both of them there.
        model: (N,) numbers of the models.
    """
    cell, other = 2 * model + half, 2 * model + 1 - half
    size = 2 * (int(model.max()) + 1)
    counts, sums = np.bincount(cell, minlength=size), np.bincount(cell, weights=ratings, minlength=size)
    means = np.array([ratings[half == 1].mean(), ratings[half == 0].mean()])[half]
    np.divide(sums[other], counts[other], out=means, where=counts[other] > 0)
    return snapped(means)


def _over_halves(sample: Sample, resamples: int, seed: int) -> Estimate:
    count, n = len(set(sample.prompts)), len(sample.prompts)
    if count < 2:
        return Estimate(None, n=n, note=f"the means are of other prompts, and of rated clips there are {count}")
    model, once = sample.model_codes()[0], np.ones((1, n), np.int64)
    point, drawn = [], []
    for half in halves(sample.prompts, seed):
        predicted = other_half(sample.ratings, half, model)
        point.append(weighted_spearman([code(predicted, half)], code(sample.ratings, half), once)[0])
        drawn.append(resampled_spearman([predicted], sample.ratings, sample.prompts, resamples, seed, half)[0])
    value = float(mean_of_defined(np.concatenate(point, axis=1))[0])
    if np.isnan(value):
        return Estimate(None, n=n, note="in no half of the prompts do both the models' means and the judgements vary")
    values = mean_of_defined(np.concatenate(drawn, axis=1))
    return correlation_estimate(value, values, n=n, prompts=count)


# For preference accuracy: the model's name alone, a single rater, less motion.

MODEL_NAME = "model's name"
SINGLE_RATER = "single rater"
_NAME_RULE = "prefers the model that does better on the other prompts"
_CALM_RULE = "prefers the clip of smaller amplitude"
_RATER_RULE = "each rater's own ratings against the mean of the others, counted once for each rater"


def measure_preference_baselines(
    study: Study, dimension: str, resamples: int, seed: int
) -> tuple[PreferenceAccuracy, ...]:
    """Measure the preference accuracy of the model's name, of a single rater against the others, and of less motion.

    Pairs of one prompt are of two models, so what a metric's share exceeds the name's by is all that it says of clips.

    Args:
        study: The study.
        dimension: One of its dimensions.
        resamples: Bootstrap samples.
        seed: Of the samples.

    Returns:
        The name's, where two models are known; one person's, where two rated a clip; that of less motion, where the
        amplitude is known.
    """
    pairs, _ = pairs_of(study, dimension, seed)
    accuracies = []
    if len({model for model in study.models if model}) > 1:
        rated = dimension in study.ratings and dimension not in study.preferences
        strength = (
            other_prompts(study.mean_rating(dimension), study.prompts, study.models)
            if rated
            else _shares_of_other_prompts(study, pairs)
        )
        accuracies.append(_judged(study, dimension, MODEL_NAME, [(pairs, strength)], _NAME_RULE, resamples, seed))
    if dimension in study.ratings and study.ratings[dimension].shape[1] > 1:
        ratings = finite(study.ratings[dimension])
        sides = []
        for rater in range(ratings.shape[1]):
            apart = differences(mean_of_defined(np.delete(ratings, rater, axis=1)), pairs)
            outcome = np.where(np.isnan(apart), 0, np.sign(np.nan_to_num(apart))).astype(np.int64)
            sides.append((Preferences(pairs.left, pairs.right, outcome), ratings[:, rater]))
        accuracies.append(_judged(study, dimension, SINGLE_RATER, sides, _RATER_RULE, resamples, seed))
    motion = study.amount_of_motion()
    if motion is not None:
        accuracies.append(_judged(study, dimension, LESS_MOTION, [(pairs, -motion)], _CALM_RULE, resamples, seed))
    return tuple(accuracies)


def _judged(
    study: Study,
    dimension: str,
    name: str,
    sides: Sequence[tuple[Preferences, FloatArray]],
    rule: str,
    resamples: int,
    seed: int,
) -> PreferenceAccuracy:
    """Return the accuracy of (N,) values on pairs, over all sides together."""
    left, right, outcome = (
        np.concatenate([getattr(pairs, field) for pairs, _ in sides]) for field in ("left", "right", "outcome")
    )
    margins = np.concatenate([differences(values, pairs) for pairs, values in sides])
    pairs, credit = Preferences(left, right, outcome), half_credits(margins, outcome)
    counted = ~np.isnan(credit)
    undefined = "no pair counts: people prefer neither clip, or it says nothing of them"
    (accuracy,) = accuracy_estimates(credit[:, None], pairs, study.prompts, resamples, seed, undefined)
    return PreferenceAccuracy(
        name=name,
        dimension=dimension,
        accuracy=accuracy,
        pairs=int(counted.sum()),
        human_ties=int((outcome == 0).sum()),
        metric_ties=int((credit[counted] == 0.5).sum()),
        rule=f"{HALF_RULE}; {rule}",
        baseline=True,
        decided=decided_share(credit),
    )


def _shares_of_other_prompts(study: Study, pairs: Preferences) -> FloatArray:
    """Return (N,) share of the model's pairs on other prompts that people decide for it, ties half; NaN without any."""
    model, models = prompt_codes(study.models)
    prompt, count = prompt_codes(study.prompts)
    wins, seen = np.zeros((models, count)), np.zeros((models, count))
    for clips, sign in ((pairs.left, 1), (pairs.right, -1)):
        np.add.at(wins, (model[clips], prompt[clips]), (1 + sign * pairs.outcome) / 2)
        np.add.at(seen, (model[clips], prompt[clips]), 1.0)
    others, of = (part.sum(axis=1)[model] - part[model, prompt] for part in (wins, seen))
    defined = (of > 0) & np.array([name != "" for name in study.models], bool)
    shares: FloatArray = np.divide(others, of, out=np.full(len(model), np.nan), where=defined)
    return shares
