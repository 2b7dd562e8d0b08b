"""Reference values for preference accuracy: the model's name alone, a single rater, less motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmmetrics.alignment.combination import pairs_of
from vmmetrics.alignment.levels import other_prompts
from vmmetrics.alignment.pair_alignments import LESS_MOTION
from vmmetrics.alignment.preference import HALF_RULE, accuracy_estimates, decided_share, differences, half_credits
from vmmetrics.alignment.results import PreferenceAccuracy
from vmmetrics.alignment.study import Study
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import finite, mean_of_defined, prompt_codes
from vmmetrics.utils.statistics.preferences import Preferences

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
