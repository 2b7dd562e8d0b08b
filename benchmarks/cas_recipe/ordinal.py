"""Training the classifier of the ladder: levels by likelihood, and order within groups by ranking.

    loss = mean over levels of −log P(level)  +  RANKING · mean over pairs of log(1 + exp(−(z_worse − z_better)))
           + DECAY · |w|²,   w ≥ 0

The pairs are of one group, so that they differ in what was done to the motion and in nothing else: what a scene looks
like cannot be learnt from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.cas_recipe.groups import Table
from benchmarks.cas_recipe.ladder import CLEAN
from vmmetrics.perception.embedded.plausibility.plausibility import (
    CONDITIONS,
    LEVEL_COUNT,
    NAMES,
    OrdinalModel,
    ramped,
    sigmoid,
    standardised,
)
from vmmetrics.types import FloatArray

ROUNDS = 400
_FIRST_WEIGHT = 0.02
_LEAST_CHANCE = 1e-9  # of a level, in its logarithm
_HARMLESS_WEIGHT = 0.12  # of a pair with a harmlessly changed clip: there are about eight of them to one untouched
_NEIGHBOUR_WEIGHT = 0.5  # of a pair of neighbouring rungs, the least certain
_SPREADS = 2.5  # spreads of a normal distribution between its tenths


@dataclass(frozen=True, slots=True)
class Settings:
    """How it is trained.

    Attributes:
        ranking: Weight of the order within groups.
        decay: Weight of the squared weights.
        by_conditions: Whether numbers are compared with what is usual at the speed, texture and rate of the content.
        clean_share: Share of clean clips among those to judge, a prior: most motion is as it should be.
    """

    ranking: float = 1.0
    decay: float = 1e-3
    by_conditions: bool = True
    clean_share: float = 0.75


@dataclass(frozen=True, slots=True)
class _Pairs:
    worse: NDArray[np.int64]
    better: NDArray[np.int64]
    weights: FloatArray


def fit(table: Table, settings: Settings | None = None, chosen: NDArray[np.bool_] | None = None) -> OrdinalModel:
    """Train on a table.

    Args:
        table: Measured clips.
        settings: How.
        chosen: (F,) numbers that may be used; the others get no weight. None: all.
    """
    settings = settings or Settings()
    numbers, clean = table.numbers, table.rungs == 0
    centre, slope = _usual(numbers[clean])
    if not settings.by_conditions:
        slope = np.zeros_like(slope)
    beyond = standardised(numbers, centre, slope, np.ones_like(centre))
    low, high = np.nanquantile(beyond, (0.1, 0.9), axis=0)
    scale = np.nan_to_num((high - low) / _SPREADS) + 1e-6
    used = np.arange(len(NAMES)) < len(NAMES) - len(CONDITIONS) if chosen is None else chosen
    ramps = ramped(beyond / scale)[:, :, used]
    design = np.moveaxis(ramps, 0, 1).reshape(len(numbers), -1)
    loss = _Loss(design, table.rungs, pairs_of(table), settings)
    start = np.concatenate([np.full(design.shape[1], _FIRST_WEIGHT), np.zeros(LEVEL_COUNT - 1)])
    bounds = [(0.0, None)] * design.shape[1] + [(None, None)] * (LEVEL_COUNT - 1)
    solution = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": ROUNDS})
    weights = np.zeros((len(ramps), len(centre)))
    weights[:, used] = solution.x[: design.shape[1]].reshape(len(ramps), -1)
    return OrdinalModel(centre, slope, scale, weights, _thresholds(solution.x[design.shape[1] :]))


def _usual(clean: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (F,) medians of clean clips, and (C, F) their growth with the conditions (least squares)."""
    centre = np.nan_to_num(np.nanmedian(clean, axis=0))
    conditions = np.nan_to_num(clean[:, -len(CONDITIONS) :] - centre[-len(CONDITIONS) :])
    slope = np.linalg.lstsq(conditions, np.nan_to_num(clean - centre), rcond=None)[0]
    slope[:, -len(CONDITIONS) :] = 0.0
    return centre, np.asarray(slope)


def pairs_of(table: Table) -> _Pairs:
    """Return every pair of a group of which one is known to be worse."""
    pairs: list[tuple[int, int, float]] = []
    for group in np.unique(table.groups):
        rows: list[int] = np.flatnonzero(table.groups == group).tolist()
        clean = [i for i in rows if table.rungs[i] == 0]
        for kind in np.unique(table.kinds[rows]):
            severities = sorted(
                (i for i in rows if table.kinds[i] == kind and table.rungs[i]), key=lambda i: table.rungs[i]
            )
            for i in severities:
                pairs += [(i, c, 1.0 if table.kinds[c] == CLEAN else _HARMLESS_WEIGHT) for c in clean]
            for better, lower in combinations(severities, 2):
                near = table.rungs[lower] - table.rungs[better] == 1
                pairs.append((lower, better, _NEIGHBOUR_WEIGHT if near else 1.0))
    columns = [np.array(column) for column in zip(*pairs, strict=True)]
    worse, better_ones, weights = columns
    return _Pairs(worse, better_ones, weights / weights.sum())


class _Loss:
    """The loss and its gradient."""

    def __init__(self, design: FloatArray, severities: NDArray[np.int64], pairs: _Pairs, settings: Settings) -> None:
        self.design, self.rungs, self.pairs, self.settings = design, severities, pairs, settings
        share = np.bincount(severities, minlength=LEVEL_COUNT) / len(severities)
        share[0] *= (1 - settings.clean_share) / (settings.clean_share * max(np.count_nonzero(share) - 1, 1))
        self.level_weights = 1 / np.maximum(share, 1e-9)[severities]
        self.level_weights /= self.level_weights.sum()

    def __call__(self, values: FloatArray) -> tuple[float, FloatArray]:
        weights, free = values[: self.design.shape[1]], values[self.design.shape[1] :]
        badness = self.design @ weights
        levels, by_badness, by_threshold = self._levels(badness, _thresholds(free))
        gap = badness[self.pairs.worse] - badness[self.pairs.better]
        order = self.settings.ranking * float((self.pairs.weights * np.logaddexp(0, -gap)).sum())
        pull = self.settings.ranking * self.pairs.weights * sigmoid(-gap)
        np.add.at(by_badness, self.pairs.worse, -pull)
        np.add.at(by_badness, self.pairs.better, pull)
        decay = self.settings.decay
        gradient = self.design.T @ by_badness + 2 * decay * weights
        # θ_k = free_0 + Σ_{i ≤ k} exp(free_i): ascending whatever the free values are.
        later = np.cumsum(by_threshold[::-1])[::-1]
        by_free = np.concatenate([later[:1], later[1:] * np.exp(free[1:])])
        loss = levels + order + decay * float((weights**2).sum())
        return loss, np.concatenate([gradient, by_free])

    def _levels(self, badness: FloatArray, thresholds: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        below = sigmoid(badness[:, None] - thresholds)
        rows = np.arange(len(below))
        edge = np.ones((len(below), 1))
        steps = np.concatenate([edge, below, 0 * edge], axis=1)
        slopes = np.concatenate([0 * edge, below * (1 - below), 0 * edge], axis=1)
        chance = np.maximum(steps[rows, self.rungs] - steps[rows, self.rungs + 1], _LEAST_CHANCE)
        rate = self.level_weights / chance
        by_badness = -rate * (slopes[rows, self.rungs] - slopes[rows, self.rungs + 1])
        by_threshold = np.array(
            [
                (rate * slopes[:, k + 1] * ((self.rungs == k + 1) * 1.0 - (self.rungs == k))).sum()
                for k in range(len(thresholds))
            ]
        )
        return float(-(self.level_weights * np.log(chance)).sum()), by_badness, by_threshold


def _thresholds(free: FloatArray) -> FloatArray:
    return np.cumsum(np.concatenate([free[:1], np.exp(free[1:])]))
