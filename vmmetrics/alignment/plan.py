"""What is held against what: the metrics and dimensions of a study that there are, averages added."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vmmetrics.alignment.study import Study, known_clips, snapped
from vmmetrics.metrics import METRICS
from vmmetrics.types import BoolArray, FloatArray

# The average judgement and the average metric, held against each other like any others.

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


@dataclass(frozen=True, slots=True)
class Plan:
    """A study made ready.

    Attributes:
        study: The study with averages and with what faces what.
        given: The same without averages.
        averages: What was averaged, in words.
        unknown: What was to be faced and is not there, in words.
        resamples: Bootstrap samples.
        seed: Of all random numbers.
    """

    study: Study
    given: Study
    averages: tuple[str, ...]
    unknown: tuple[str, ...]
    resamples: int
    seed: int

    @property
    def rated(self) -> list[str]:
        """Dimensions with ratings that a metric faces, in the order of the study."""
        return [dimension for dimension in self.study.ratings if self.metrics(dimension)]

    @property
    def judged(self) -> list[str]:
        """Those and the dimensions judged by pairs alone."""
        pairs = [dimension for dimension in self.study.preferences if dimension not in self.study.ratings]
        return [*self.rated, *(dimension for dimension in pairs if self.metrics(dimension))]

    @property
    def several_raters(self) -> list[str]:
        """Dimensions with the ratings of several people."""
        return [dimension for dimension in self.rated if self.study.ratings[dimension].shape[1] > 1]

    def asked(self, dimensions: Collection[str]) -> list[str]:
        """Those of the dimensions that people were asked about: an average is no answer on a scale."""
        return [dimension for dimension in dimensions if dimension in self.given.ratings]

    def metrics(self, dimension: str) -> list[str]:
        """Metrics that face a dimension, their average with them."""
        return [metric for metric, faced in self.study.facing.items() if dimension in faced]

    def single(self, dimension: str) -> list[str]:
        """The same without the average, for what combines metrics itself."""
        return [metric for metric in self.metrics(dimension) if metric in self.given.scores]

    def judged_clips(self) -> BoolArray:
        """(N,) whether a clip has a score and, on a dimension which that metric faces, a rating or a pair."""
        study = self.study
        found = np.zeros(len(study.clips), bool)
        for dimension in self.judged:
            for metric in self.metrics(dimension):
                if dimension in study.ratings:
                    found |= known_clips(study, metric, dimension)
                if dimension in study.preferences:
                    pairs, shown = study.preferences[dimension], np.zeros(len(found), bool)
                    shown[pairs.left] = shown[pairs.right] = True
                    found |= shown & np.isfinite(study.scores[metric])
        return found


def plan_of(study: Study, resamples: int, seed: int) -> Plan:
    """Make a study ready; where it does not say which metric faces which dimension, each faces all."""
    judged = dict.fromkeys([*study.ratings, *study.preferences])
    facing = study.facing or {metric: tuple(judged) for metric in study.scores}
    sides = {"scores": study.scores, "judgements": judged}
    unknown = [f"there are no {side}, so there is nothing to compare" for side, names in sides.items() if not names]
    unknown += [f"{metric}: there are no scores of this name" for metric in facing if metric not in study.scores]
    unknown += [
        f"{metric} × {dimension}: there are no judgements of this name"
        for metric, faced in facing.items()
        for dimension in faced
        if dimension not in judged
    ]
    there = {m: tuple(d for d in faced if d in judged) for m, faced in facing.items() if m in study.scores}
    given = replace(study, facing=there)
    augmented, averages = with_averages(given)
    return Plan(augmented, given, averages, tuple(unknown), resamples, seed)
