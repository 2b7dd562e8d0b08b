"""A study: clips with scores on one side and people's judgements on the other, matched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from vmmetrics.types import FloatArray, IntArray


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
