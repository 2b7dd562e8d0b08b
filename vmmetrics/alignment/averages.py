"""The average judgement and the average metric, held against each other like any others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from vmmetrics.alignment.sample import snapped
from vmmetrics.alignment.study import Study
from vmmetrics.types import METRICS, FloatArray

AVERAGE = "average"
"""Name of the average metric and of the average dimension."""


def with_averages(study: Study) -> tuple[Study, tuple[str, ...]]:
    """Add the average of the dimensions that metrics face, and of the metrics that face them, where there are several.

    - The average judgement of a clip is the mean over dimensions of its mean ratings, of clips that have all. Where the
      same people rated the same clips on every dimension, each one's average is kept, so that they too can be compared.
    - The average score is the mean over metrics (over VMBench's five, where any of them is there, so that baselines
      beside them change nothing), of clips that have all: of the scores themselves where all lie in 0 to
      1, else of the scores less their mean and over their standard deviation. It faces the average judgement, or the
      only one.

    Every metric then also faces the average judgement. What already bears the name is left as it is.

    Returns:
        The study with these, and what was averaged, in words.
    """
    metrics = [metric for metric, faced in study.facing.items() if any(d in study.ratings for d in faced)]
    dimensions = [d for d in study.ratings if any(d in study.facing[metric] for metric in metrics)]
    facing, notes = dict(study.facing), []
    target = dimensions[0] if dimensions else ""
    if len(dimensions) > 1 and AVERAGE not in study.ratings:
        target = AVERAGE
        ratings, raters = _average_judgement(study, dimensions)
        study = replace(study, ratings={**study.ratings, AVERAGE: ratings}, raters={**study.raters, AVERAGE: raters})
        facing |= {metric: (*facing[metric], AVERAGE) for metric in metrics}
        notes.append(f"average judgement: mean of {_listed(dimensions)}, on clips that have all")
    ours = [metric for metric in metrics if metric in METRICS]
    metrics = ours or metrics
    if len(metrics) > 1 and AVERAGE not in study.scores and (target == AVERAGE or len(dimensions) == 1):
        average, how = _average_score(study.scores, metrics)
        study = replace(study, scores={**study.scores, AVERAGE: average})
        facing[AVERAGE] = (target,)
        notes.append(f"average metric: mean of {how} {_listed(metrics)}, on clips that have all")
    return replace(study, facing=facing), tuple(notes)


def _average_judgement(study: Study, dimensions: Sequence[str]) -> tuple[FloatArray, tuple[str, ...]]:
    """(N, R) per rater where the same ones rated the same clips throughout, else (N, 1); and the raters' names."""
    raters = study.raters.get(dimensions[0], ())
    first = np.isfinite(study.ratings[dimensions[0]])
    alike = all(
        study.raters.get(d, ()) == raters and np.array_equal(np.isfinite(study.ratings[d]), first) for d in dimensions
    )
    if raters and alike:
        return snapped(np.mean([study.ratings[d] for d in dimensions], axis=0)), raters
    return snapped(np.mean([study.mean_rating(d) for d in dimensions], axis=0))[:, None], ()


def _average_score(scores: Mapping[str, FloatArray], metrics: Sequence[str]) -> tuple[FloatArray, str]:
    """(N,) average, NaN where a metric is missing, and of what it is one."""
    table = np.stack([np.asarray(scores[metric], np.float64) for metric in metrics])
    there = np.isfinite(table).all(axis=0)
    known, average = table[:, there], np.full(table.shape[1], np.nan)
    within = bool(((known >= 0) & (known <= 1)).all())
    if not within:
        spread = known.std(axis=1, keepdims=True)
        known = (known - known.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
    average[there] = known.mean(axis=0)
    return snapped(average), "the scores of" if within else "the standardised scores of"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
