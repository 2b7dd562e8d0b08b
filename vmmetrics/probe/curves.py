"""Dose and response: how a metric answers a defect of growing strength, and which metric answers it most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import isotonic_regression

from vmmetrics.perturbations import DEFECTS
from vmmetrics.probe.results import Curve, MetricFacts, Point, Specificity
from vmmetrics.probe.scores import Scores
from vmmetrics.run.statistics import Mean, mean_with_interval
from vmmetrics.types import METRICS, FloatArray

LEAST_CLIPS = 4
"""Clips below which no interval is given: of three, every resample has one sign a quarter of the time by chance."""


def curve(scores: Scores, facts: MetricFacts, defect: str) -> Curve:
    """Return the dose-response curve of a metric to a defect."""
    points = []
    for strength in scores.strengths(defect):
        changes, gone = scores.changes(facts.name, defect, strength)
        mean = mean_with_interval(list(changes.values()))
        if mean is not None and mean.clips < LEAST_CLIPS:
            mean = Mean(mean.mean, None, None, mean.clips)
        points.append(Point(strength, mean, gone))
    means = [(p.change.mean, p.change.clips) for p in points if p.change is not None]
    fitted = monotone_fit([m for m, _ in means], [n for _, n in means])
    step_back = float(np.abs(fitted - [m for m, _ in means]).max()) if means else None
    monotone = None if step_back is None or facts.noise is None else step_back <= facts.noise
    noticed = next((p.strength for p in points if _is_noticed(p, facts.noise)), None)
    reason = None if noticed is not None else _why_not(points, facts)
    return Curve(facts.name, defect, tuple(points), tuple(fitted.tolist()), step_back, monotone, noticed, reason)


def monotone_fit(means: Sequence[float], weights: Sequence[float]) -> FloatArray:
    """Return the rising or falling curve from 0 that fits ``means`` best by weighted squares.

    >>> monotone_fit([-0.1, -0.3, -0.2], [1, 1, 1]).tolist()
    [-0.1, -0.25, -0.25]
    """
    if not means:
        return np.zeros(0)
    values, heavy = np.asarray(means, np.float64), np.asarray(weights, np.float64)
    # Least squares under a bound: the unbounded monotone fit, cut off at the bound.
    rising = np.maximum(isotonic_regression(values, weights=heavy).x, 0)
    falling = np.minimum(isotonic_regression(values, weights=heavy, increasing=False).x, 0)
    errors = [float((heavy * (fit - values) ** 2).sum()) for fit in (rising, falling)]
    return np.asarray(rising if errors[0] <= errors[1] else falling)


def _is_noticed(point: Point, noise: float | None) -> bool:
    mean = point.change
    if mean is None or noise is None or mean.low is None or mean.high is None:
        return False
    return (mean.low > 0 or mean.high < 0) and abs(mean.mean) > noise


def _why_not(points: Sequence[Point], facts: MetricFacts) -> str:
    clips = max((p.change.clips for p in points if p.change is not None), default=0)
    if clips == 0:
        return "no clip has a score before and after"
    if facts.noise is None:
        return "the metric's noise is not known: nothing harmless was probed"
    if clips < LEAST_CLIPS:
        return f"{clips} clips have a score before and after; an interval needs {LEAST_CLIPS}"
    return "no change beyond chance and the metric's noise"


def specificity(curves: Sequence[Curve], facts: Mapping[str, MetricFacts], defect: str) -> Specificity:
    """Return what a defect moves at its greatest strength, in units of each metric's noise."""
    effects = {}
    for found in curves:
        last = found.points[-1].change if found.defect == defect and found.points else None
        noise = facts[found.metric].noise
        if last is not None and noise:
            effects[found.metric] = last.mean / noise
    ranked = dict(sorted(effects.items(), key=lambda item: -abs(item[1])))
    owner = DEFECTS[defect].owner
    ours = [name for name in ranked if name in METRICS]
    first = None if owner is None or owner not in ranked else ours[0] == owner
    return Specificity(defect, owner, ranked, first)
