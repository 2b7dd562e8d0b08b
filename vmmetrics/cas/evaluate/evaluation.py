"""How well probabilities of the five levels agree with labels: accuracy, error in levels, order, calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from vmmetrics.functional.cas import LEVELS
from vmmetrics.types import FloatArray

CALIBRATION_BINS = 10
"""Of equal width in confidence."""
FEWEST_FOR_ORDER = 3
"""Clips without which a rank correlation says nothing."""
BOOTSTRAP_DRAWS = 1000
INTERVAL = (2.5, 97.5)
"""Percentiles of the bootstrap that bound an interval."""

EXPECTED_DIGITS = 9
"""Decimals of the expected level that count: sums that differ by rounding alone are ties."""

Level = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Figure:
    """A statistic, or none where the clips do not allow it.

    Attributes:
        value: The statistic.
        low: Lower end of its 95 % bootstrap interval over clips.
        high: Upper end.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of the calibration plot.

    Attributes:
        clips: How many clips were judged with a confidence in this bin.
        confidence: Their mean probability of the likeliest level.
        accuracy: Share of them of which that level is right.
    """

    clips: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Agreement over one set of clips.

    Attributes:
        clips: How many.
        accuracy: Share of clips whose likeliest level is right.
        mae: Mean absolute difference between expected and true level, in levels (0..4).
        spearman: Rank correlation of the score with the level.
        calibration_error: Expected calibration error: mean distance of confidence and accuracy, weighted by clips.
        bins: The calibration behind it, from low confidence to high; empty bins are left out.
    """

    clips: int
    accuracy: Figure
    mae: Figure
    spearman: Figure
    calibration_error: Figure
    bins: tuple[Bin, ...]

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Report:
    """Agreement over all clips, and group by group.

    Attributes:
        overall: All clips.
        groups: Per group (model), sorted; clips without a group are under ``""``.
        within_groups: Mean over groups of their rank correlation: what is left when knowing the generator is worth
            nothing. None where no group has one.
        majority: Accuracy of always naming the commonest level.
    """

    overall: Evaluation
    groups: Mapping[str, Evaluation]
    within_groups: float | None
    majority: float

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "overall": self.overall.to_json(),
            "groups": {name: evaluation.to_json() for name, evaluation in self.groups.items()},
            "spearman_within_groups": self.within_groups,
            "accuracy_of_the_commonest_level": self.majority,
        }


def report(probabilities: FloatArray, levels: Level, groups: Sequence[str | None], seed: int = 0) -> Report:
    """Evaluate all clips and each group.

    Args:
        probabilities: (N, 5) rows that sum to 1, N at least 1.
        levels: (N,) true levels, 0..4.
        groups: (N,) which model made each, or None.
        seed: Of the bootstrap.
    """
    names = np.array([group or "" for group in groups])
    per_group = {
        str(name): evaluate(probabilities[names == name], levels[names == name], seed) for name in np.unique(names)
    }
    orders = [e.spearman.value for e in per_group.values() if e.spearman.value is not None]
    return Report(
        overall=evaluate(probabilities, levels, seed),
        groups=per_group,
        within_groups=float(np.mean(orders)) if orders else None,
        majority=float(np.bincount(levels).max() / len(levels)),
    )


def evaluate(probabilities: FloatArray, levels: Level, seed: int = 0) -> Evaluation:
    """Evaluate one set of clips; see :func:`report`."""
    expected = np.round(probabilities @ np.arange(len(LEVELS)), EXPECTED_DIGITS)
    right = (probabilities.argmax(axis=1) == levels).astype(np.float64)
    error = np.abs(expected - levels)
    bins = calibration_bins(probabilities, levels)
    count = len(levels)
    drawn = np.random.default_rng(seed).integers(0, count, (BOOTSTRAP_DRAWS, count))
    few = count < FEWEST_FOR_ORDER
    order = np.array([np.nan]) if few else rank_correlations(expected[None], levels[None])
    return Evaluation(
        clips=count,
        accuracy=Figure(float(right.mean())) if few else _figure(right.mean(), right[drawn].mean(axis=1)),
        mae=Figure(float(error.mean())) if few else _figure(error.mean(), error[drawn].mean(axis=1)),
        spearman=Figure(None)
        if np.isnan(order[0])
        else _figure(order[0], rank_correlations(expected[drawn], levels[drawn])),
        # No interval: resampling clips inflates a calibration error, and would mislead.
        calibration_error=Figure(sum(b.clips * abs(b.confidence - b.accuracy) for b in bins) / count),
        bins=bins,
    )


def rank_correlations(first: FloatArray, second: FloatArray | Level) -> FloatArray:
    """Spearman's correlation of each row of (D, N) with the same row of another; NaN where one does not vary."""
    ranks = [rankdata(values, axis=1) for values in (first, second)]
    ours, theirs = (values - values.mean(axis=1, keepdims=True) for values in ranks)
    scale = np.sqrt((ours**2).sum(axis=1) * (theirs**2).sum(axis=1))
    correlations = np.full(len(scale), np.nan)
    np.divide((ours * theirs).sum(axis=1), scale, out=correlations, where=scale > 0)
    return correlations


def calibration_bins(probabilities: FloatArray, levels: Level) -> tuple[Bin, ...]:
    """Bin clips by the probability of their likeliest level."""
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == levels
    place = np.minimum((confidence * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    return tuple(
        Bin(int((place == b).sum()), float(confidence[place == b].mean()), float(right[place == b].mean()))
        for b in np.unique(place)
    )


def _figure(value: float, drawn: FloatArray) -> Figure:
    low, high = np.nanpercentile(drawn, INTERVAL)
    return Figure(float(value), float(low), float(high))
