"""What is held against what: the metrics and dimensions of a study that there are, averages added."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from vmmetrics.alignment.averages import with_averages
from vmmetrics.alignment.sample import known_clips
from vmmetrics.alignment.study import Study
from vmmetrics.types import BoolArray


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
