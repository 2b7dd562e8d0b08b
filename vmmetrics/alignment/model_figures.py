"""Models ranked by people and by metrics: win ratios, strengths, soft pairwise accuracy, PERM-BOTH."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from vmmetrics.alignment.model_results import ModelFigures
from vmmetrics.alignment.of_models import cells_of, model_strengths, win_ratios
from vmmetrics.alignment.study import Study
from vmmetrics.utils.statistics.bootstrap import Estimate, finite
from vmmetrics.utils.statistics.soft_pairwise import perm_both, pooled_spearman, soft_pairwise_accuracy

STRENGTH_DRAWS = 200
"""Maximum bootstrap samples of the strengths: each takes a fit."""
PERMUTED = 4
"""Maximum metrics compared with the reference by PERM-BOTH, the best first: 0.25 s each."""


def measure_models(
    study: Study, dimension: str, metrics: Sequence[str], against: str | None, resamples: int, seed: int
) -> ModelFigures | None:
    """Return figures of models on a dimension; None where under two models have a pair.

    Args:
        study: The study.
        dimension: One of its dimensions.
        metrics: Metrics compared with it, the best first.
        against: The reference of PERM-BOTH; None takes the best metric.
        resamples: Bootstrap samples, swaps.
        seed: Of all random numbers.
    """
    strengths = model_strengths(study, dimension, min(resamples, STRENGTH_DRAWS), seed)
    if len(strengths.models) < 2:
        return None
    wins = win_ratios(study, dimension, metrics, resamples, seed)
    reference = against if against is not None and against in metrics else next(iter(metrics), "")
    soft_accuracy: dict[str, Estimate] = {}
    permuted: dict[str, float] = {}
    if dimension in study.ratings and metrics:
        people, models, _ = cells_of(study, finite(study.mean_rating(dimension)))
        cells = {metric: cells_of(study, finite(study.scores[metric]))[0] for metric in metrics}
        accuracies = soft_pairwise_accuracy(people, np.stack(list(cells.values())), resamples, seed)
        none = Estimate(None, note="no two models share a prompt")
        soft_accuracy = {
            metric: none if np.isnan(value) else Estimate(float(value), n=len(models))
            for metric, value in zip(cells, accuracies, strict=True)
        }
        figure = partial(pooled_spearman, people)
        for metric in [name for name in metrics if name != reference][:PERMUTED]:
            p = perm_both(cells[metric], cells[reference], figure, resamples, seed).p
            if not np.isnan(p):
                permuted[metric] = float(p)
    return ModelFigures(dimension, wins, strengths, soft_accuracy, reference, permuted)
