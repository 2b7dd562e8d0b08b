"""What one set of clips has in common: metrics, one judgement, prompts and models; nothing missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from vmmetrics.alignment.study import Study
from vmmetrics.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Sample:
    """Metrics and a dimension on the clips that have all of them.

    Attributes:
        dimension: The dimension.
        metrics: (K,) names.
        scores: (K, N) without NaN.
        ratings: (N,) mean ratings without NaN.
        prompts: (N,) prompt of each clip.
        models: (N,) model of each clip, "" where it is not known.
    """

    dimension: str
    metrics: tuple[str, ...]
    scores: FloatArray
    ratings: FloatArray
    prompts: tuple[str, ...]
    models: tuple[str, ...]

    def keep(self, clips: BoolArray) -> Sample:
        """The part in which (N,) ``clips`` is true."""
        places = np.flatnonzero(clips)
        return Sample(
            self.dimension,
            self.metrics,
            self.scores[:, places],
            self.ratings[places],
            tuple(self.prompts[place] for place in places),
            tuple(self.models[place] for place in places),
        )

    def of_known_models(self) -> Sample:
        """The clips whose model is known."""
        return self.keep(np.array([model != "" for model in self.models], bool))

    def model_codes(self) -> tuple[IntArray, list[str]]:
        """(N,) number of each clip's model, and the models in the order of their names."""
        names = sorted(set(self.models))
        numbers = {name: number for number, name in enumerate(names)}
        return np.fromiter((numbers[model] for model in self.models), np.int64, len(self.models)), names


def known_clips(study: Study, metric: str, dimension: str) -> BoolArray:
    """(N,) whether a clip has this score and this judgement."""
    known: BoolArray = np.isfinite(study.scores[metric]) & np.isfinite(study.mean_rating(dimension))
    return known


def sample_of(study: Study, dimension: str, metrics: Iterable[str], clips: BoolArray) -> Sample:
    """These metrics against this dimension on the clips for which (N,) ``clips`` is true; all must be known there."""
    names = tuple(metrics)
    scores = np.stack([np.asarray(study.scores[name], np.float64) for name in names])
    whole = Sample(dimension, names, scores, study.mean_rating(dimension), study.prompts, study.models)
    return whole.keep(clips)


def samples_of(study: Study, dimension: str, metrics: Iterable[str]) -> list[Sample]:
    """One sample per set of clips: metrics known on the same clips share theirs, and with it the bootstrap samples."""
    alike: dict[bytes, list[str]] = {}
    for metric in metrics:
        alike.setdefault(known_clips(study, metric, dimension).tobytes(), []).append(metric)
    return [sample_of(study, dimension, names, np.frombuffer(clips, bool)) for clips, names in alike.items()]


def snapped(means: FloatArray) -> FloatArray:
    """Means rounded to 12 digits of the largest: what is equal but for the order of its sums has equal ranks.

    >>> snapped(np.array([13 / 3 + 11 / 3, 7 / 3 + 17 / 3, np.nan]) / 2)
    array([ 4.,  4., nan])
    """
    known = np.abs(means[np.isfinite(means)])
    scale = float(known.max()) if known.size else 0.0
    return np.round(means / scale, 12) * scale if scale > 0 else means
