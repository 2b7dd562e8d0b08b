"""A study: clips with scores on one side and people's judgements on the other, matched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from vmmetrics.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Preferences:
    """Judgements of pairs of clips.

    Attributes:
        left: (M,) index of the clip shown on the left.
        right: (M,) index of the clip shown on the right.
        outcome: (M,) 1 where the left one was preferred, −1 the right one, 0 for a tie.
        raters: (M,) who judged; "" where that is not known.
    """

    left: IntArray
    right: IntArray
    outcome: IntArray
    raters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Matching:
    """What happened to clips that only one side knows.

    Attributes:
        matched: Clips with a score and a judgement.
        scores_only: Names of clips with a score and no judgement.
        ratings_only: Names of clips with a judgement and no score.
        notes: What was assumed: by which part of the name clips were matched, rows left out, duplicates.
    """

    matched: int
    scores_only: tuple[str, ...] = ()
    ratings_only: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Study:
    """The matched data; everything in this package is computed from it.

    Attributes:
        clips: (N,) names.
        prompts: (N,) key of each clip's prompt, the unit that is resampled; a clip without one is its own prompt.
        models: (N,) key of each clip's generator; "" where that is not known.
        scores: Metric to (N,) float64, NaN where missing. Higher is meant to be better.
        ratings: Dimension to (N, R) float64, NaN where a rater said nothing; R = 1 for averaged ratings.
        raters: Dimension to the names of its R raters, () where the ratings came averaged.
        preferences: Dimension to judgements of pairs.
        facing: Metric to the dimensions it is held against.
        matching: How the two sides were joined.
    """

    clips: tuple[str, ...]
    prompts: tuple[str, ...]
    models: tuple[str, ...]
    scores: Mapping[str, FloatArray]
    ratings: Mapping[str, FloatArray]
    raters: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    preferences: Mapping[str, Preferences] = field(default_factory=lambda: MappingProxyType({}))
    facing: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    matching: Matching = field(default_factory=lambda: Matching(0))

    @property
    def has_models(self) -> bool:
        """Whether at least two generators are known."""
        return len({model for model in self.models if model}) > 1

    @property
    def has_prompts(self) -> bool:
        """Whether any prompt has more than one clip."""
        return len(set(self.prompts)) < len(self.clips)

    def mean_rating(self, dimension: str) -> FloatArray:
        """(N,) mean over the raters who rated a clip, NaN where none did."""
        ratings = self.ratings[dimension]
        there = ~np.isnan(ratings)
        counts = there.sum(axis=1)
        sums = np.where(there, ratings, 0.0).sum(axis=1)
        means: FloatArray = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return means


# What one set of clips has in common: metrics, one judgement, prompts and models; nothing missing.


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
