"""Studies with known make-up for the tests of alignment."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vmmetrics.alignment.study import Preferences, Study
from vmmetrics.types import FloatArray


def study_of(
    ratings: FloatArray,
    scores: Mapping[str, FloatArray] | None = None,
    *,
    prompts: tuple[str, ...] | None = None,
    models: tuple[str, ...] | None = None,
    preferences: Preferences | None = None,
) -> Study:
    """A study of one dimension, "motion"; each clip has its own prompt and no model unless they are given."""
    count, raters = ratings.shape
    return Study(
        clips=tuple(f"clip{number:04}" for number in range(count)),
        prompts=prompts or tuple(f"prompt{number:04}" for number in range(count)),
        models=models or ("",) * count,
        scores=scores or {},
        ratings={"motion": ratings},
        raters={"motion": tuple(f"rater{number}" for number in range(raters))} if raters > 1 else {},
        preferences={} if preferences is None else {"motion": preferences},
    )


def crossed_study(
    prompts: int,
    models: int = 4,
    raters: int = 3,
    *,
    seed: int = 0,
    rater_noise: float = 0.7,
    model_spread: float = 0.5,
    metric_noise: Mapping[str, float] | None = None,
) -> Study:
    """Every model made one clip of every prompt; raters see true quality with noise, on a scale of 1 to 5.

    Args:
        prompts: How many.
        models: How many.
        raters: How many.
        seed: Of the random numbers.
        rater_noise: Standard deviation of a rater's noise, that of the true quality within a model being 1.
        model_spread: Standard deviation of the models' mean quality.
        metric_noise: Metric to its noise; infinite for a metric that knows nothing.
    """
    rng = np.random.default_rng(seed)
    truth = (rng.normal(size=(prompts, models)) + model_spread * rng.normal(size=models)).ravel()
    ratings = np.clip(np.round(3 + truth[:, None] + rater_noise * rng.normal(size=(truth.size, raters))), 1, 5)
    scores = {}
    for metric, noise in (metric_noise or {}).items():
        random = rng.normal(size=truth.size)
        scores[metric] = random if np.isinf(noise) else truth + noise * random
    return study_of(
        ratings,
        scores,
        prompts=tuple(f"prompt{number // models:04}" for number in range(truth.size)),
        models=tuple(f"model{number % models}" for number in range(truth.size)),
    )
