"""An index of one's own: exponents of the parts of the index, fitted to people's ratings and cross-validated.

Least squares of ratings on the logarithms of the parts, inside models and with the amount of motion held constant, as
the figure is that decides (partial ρ given the amplitude, :func:`vmmetrics.alignment.levels.amplitude_constant`).
Exponents are 0 or more (Lawson and Hanson 1974), with a ridge towards the default's. Its strength is chosen by inner
folds among :data:`STRENGTHS`; outer folds score every clip with what was fitted without its prompt and its model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from vmmetrics.alignment.combination import FOLDS, MODEL_FOLDS
from vmmetrics.alignment.study import AVERAGE, Study, with_averages
from vmmetrics.errors import SetupError
from vmmetrics.scoring.own_index import DEFAULT_EXPONENTS, default_parts
from vmmetrics.types import INDEX_NEEDS, BoolArray, FloatArray, IntArray
from vmmetrics.utils.statistics.bootstrap import mean_of_defined, prompt_codes
from vmmetrics.utils.statistics.bradley_terry import fit_strengths
from vmmetrics.utils.statistics.partial import partial_within
from vmmetrics.utils.statistics.preferences import Outcome, Preference
from vmmetrics.utils.statistics.ranks import code

PARTS = tuple(DEFAULT_EXPONENTS)
"""Parts of the index, in the order of their exponents."""
DEFAULT: FloatArray = np.array([*DEFAULT_EXPONENTS.values()])
"""Exponents of the default index."""
STRENGTHS = (np.inf, 3.0, 1.0, 0.3, 0.1)
"""Strengths of the ridge, in units of the variance of a part; infinite is the default index itself."""
INNER_FOLDS = 5
"""Inner folds over prompts."""
_LEAST_SLOPE = 0.1  # of the default: the ridge keeps a direction where the default runs against the ratings
_LEAST_PART = 0.01  # of a part whose logarithm is taken
_CONSTANT = 1e-6  # share of its norm below which what is left of a part is rounding


def rated_dimension(study: Study) -> tuple[Study, str]:
    """Return the study and the dimension to calibrate on: the only one, or the average of those that metrics face.

    Preferences without ratings become ratings: Bradley-Terry strengths of the clips.

    Raises:
        SetupError: There is nothing to calibrate on.
    """
    ratings = dict(study.ratings)
    for dimension, pairs in study.preferences.items() if not ratings else ():
        clips = [str(number) for number in range(len(study.clips))]
        outcomes: list[Outcome] = np.sign(pairs.outcome).tolist()
        sides = zip(pairs.left.tolist(), pairs.right.tolist(), outcomes, strict=True)
        votes = [Preference(clips[left], clips[right], outcome) for left, right, outcome in sides]
        ratings[dimension] = fit_strengths(votes, clips).strength[:, None]
    if not ratings:
        raise SetupError("There are no ratings and no preferences to calibrate on")
    study, _ = with_averages(replace(study, ratings=ratings))
    return study, AVERAGE if AVERAGE in study.ratings else next(iter(ratings))


@dataclass(frozen=True)
class RatedParts:
    """Clips with an index, a rating, a model and an amount of motion.

    Attributes:
        logs: (N, 5) natural logarithm of each part (:data:`PARTS`), 0 where it deducts nothing.
        factor: (N,) logarithm of the factor of the index that no exponent changes.
        ratings: (N,) mean ratings.
        amplitude: (N,) amount of motion.
        prompts: (N,) prompt of each clip.
        models: (N,) model of each clip.
    """

    logs: FloatArray
    factor: FloatArray
    ratings: FloatArray
    amplitude: FloatArray
    prompts: tuple[str, ...]
    models: tuple[str, ...]

    @classmethod
    def of(cls, study: Study, dimension: str) -> RatedParts:
        """Return the clips of a study that have all of it.

        Raises:
            SetupError: No clip has, or no amount of motion is known.
        """
        if absent := [key for key in (*INDEX_NEEDS, "motion_index") if key not in study.scores]:
            raise SetupError(f"The scores have no {', '.join(absent)}: an index needs CAS, MSS, protocol vmmetrics")
        amplitude, ratings = study.amount_of_motion(), study.mean_rating(dimension)
        if amplitude is None:
            raise SetupError("The scores have no amount of motion to hold constant: score PAS as well")
        named = np.array([model != "" for model in study.models], bool)
        there = np.flatnonzero(np.isfinite(study.scores["motion_index"] + ratings + amplitude) & named)
        if not there.size:
            raise SetupError("No clip has an index, a rating, a model and an amount of motion")
        logs, factor = np.zeros((there.size, len(PARTS))), np.zeros(there.size)
        for row, clip in enumerate(there):
            scores = {key: float(column[clip]) for key in PARTS if (column := study.scores.get(key)) is not None}
            scores = {key: score for key, score in scores.items() if np.isfinite(score)}
            parts, whole = default_parts(scores)
            for key, part in parts.items():
                logs[row, PARTS.index(key)] = np.log(max(part, _LEAST_PART))
            if whole:
                factor[row] = np.log(study.scores["motion_index"][clip] / whole)
        prompts, models = (tuple(names[clip] for clip in there) for names in (study.prompts, study.models))
        return cls(logs, factor, ratings[there], amplitude[there], prompts, models)

    def index(self, exponents: FloatArray) -> FloatArray:
        """Return (N,) logarithm of the index by (5,) exponents, or (N, K) by (5, K)."""
        factor = self.factor if exponents.ndim == 1 else self.factor[:, None]
        return self.logs @ exponents + factor

    def amplitude_constant(self, scores: FloatArray, clips: BoolArray) -> FloatArray:
        """Return (K,) mean over models of the partial ρ of (N, K) scores with ratings given the amplitude."""
        models = np.asarray(self.models, object)[clips].tolist()
        inside = partial_within(scores[clips], self.ratings[clips], self.amplitude[clips], models)
        return mean_of_defined(inside(np.ones((1, len(models))))[0])

    @cached_property
    def prompt_code(self) -> IntArray:
        """(N,) number of each clip's prompt."""
        return prompt_codes(self.prompts)[0]

    @cached_property
    def model_code(self) -> IntArray:
        """(N,) number of each clip's model."""
        return prompt_codes(self.models)[0]

    @cached_property
    def _products(self) -> FloatArray:
        """(N, 8, 8) products of 1, the rank of the amplitude in its model, the logarithms and the rating."""
        ranks = code(self.amplitude, self.model_code).codes
        columns = np.column_stack([np.ones(len(ranks)), ranks, self.logs, self.ratings])
        return columns[:, :, None] * columns[:, None, :]

    @cached_property
    def _members(self) -> FloatArray:
        """(M, N) 1 where a clip is of a model."""
        return np.eye(int(self.model_code.max()) + 1)[:, self.model_code]

    def fits(self, clips: BoolArray) -> FloatArray:
        """Return (5, L) exponents fitted to some clips, one column for each of :data:`STRENGTHS`.

        They are scaled so that the mean logarithm of the index over these clips is the default's.
        """
        sums = np.tensordot(self._members * clips, self._products, 1)
        held = sums[:, 2:, :2] @ np.linalg.pinv(sums[:, :2, :2], hermitian=True) @ sums[:, :2, 2:]
        moments = (sums[:, 2:, 2:] - held).sum(axis=0)
        spread = np.sqrt(np.maximum(np.diagonal(moments), 0))
        varied = spread > _CONSTANT * (1 + np.sqrt(np.diagonal(sums[:, 2:, 2:].sum(axis=0))))
        fitted = np.tile(DEFAULT[:, None], len(STRENGTHS))
        there = np.flatnonzero(varied[:-1])
        if not varied[-1] or not there.size:
            return fitted
        correlations = moments / np.where(varied, spread, 1)[:, None] / np.where(varied, spread, 1)
        among, towards = correlations[np.ix_(there, there)], correlations[there, -1]
        default = DEFAULT[there] * spread[there]
        default /= np.sqrt(default @ among @ default)
        centre = max(default @ towards, _LEAST_SLOPE) * default
        level = sums[:, 0, 2:-1].sum(axis=0)[there]
        for column, strength in enumerate(STRENGTHS[1:], 1):
            root = np.linalg.cholesky(among + strength * np.eye(there.size))
            slopes = nnls(root.T, np.linalg.solve(root, towards + strength * centre))[0] / spread[there]
            if level @ slopes < 0:
                fitted[there, column] = slopes * (level @ DEFAULT[there]) / (level @ slopes)
        return fitted

    def splits(self, clips: BoolArray, folds: int, seed: int) -> Iterator[tuple[BoolArray, BoolArray]]:
        """Yield the clips of a fold of prompts and models, and those of other prompts and other models."""
        rng = np.random.default_rng(seed)
        sides = []
        for codes, count in ((self.prompt_code, folds), (self.model_code, MODEL_FOLDS)):
            there = np.unique(codes[clips])
            fold = np.full(int(codes.max()) + 1, -1)
            fold[rng.permutation(there)] = np.arange(there.size) % count
            masks = [clips & (fold[codes] == one) for one in range(min(count, there.size))]
            sides.append([(mask, clips & ~mask if len(masks) > 1 else clips) for mask in masks])  # a single model stays
        for (prompts, other_prompts), (models, other_models) in product(*sides):
            if (prompts & models).any():
                yield prompts & models, other_prompts & other_models

    def choose(self, clips: BoolArray, seed: int) -> int:
        """Return the number of the strength whose held-out index agrees best; the default's where none does better."""
        predicted = np.zeros((len(clips), len(STRENGTHS)))
        for held_out, others in self.splits(clips, INNER_FOLDS, seed):
            predicted[held_out] = self.index(self.fits(others))[held_out]
        return int(np.argmax(np.nan_to_num(self.amplitude_constant(predicted, clips), nan=-1.0)))


class Calibration(NamedTuple):
    """A fit.

    Attributes:
        exponents: (5,) exponents of :data:`PARTS`, fitted to all clips.
        strength: Strength of the ridge, of :data:`STRENGTHS`.
        held_out: (N,) logarithm of the index of each clip, fitted without its prompt and its model.
    """

    exponents: FloatArray
    strength: float
    held_out: FloatArray


def calibrate(data: RatedParts, seed: int) -> Calibration:
    """Fit the exponents, with nested cross-validation; random folds come from the seed."""
    everything = np.ones(len(data.ratings), bool)
    held_out = np.empty(len(everything))
    for clips, others in data.splits(everything, FOLDS, seed):
        exponents = data.fits(others)[:, data.choose(others, seed)]
        held_out[clips] = data.index(exponents)[clips]
    chosen = data.choose(everything, seed)
    return Calibration(data.fits(everything)[:, chosen], STRENGTHS[chosen], held_out)
