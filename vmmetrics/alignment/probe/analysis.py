"""Analysis of a probe: every figure, from the scores alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from vmmetrics.alignment.perturbations.library import DEFECTS, INVARIANCES
from vmmetrics.alignment.perturbations.traps import TRAPS
from vmmetrics.alignment.probe import results
from vmmetrics.alignment.probe.cases import CLEAN, RATE
from vmmetrics.alignment.probe.results import Curve, DosePoint, MetricFacts, ProbeReport, Specificity, Tolerance
from vmmetrics.metrics import METRICS
from vmmetrics.metrics.registry import in_order
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.paired import Mean, mean_with_interval

# The lines of a probe, looked up by metric, case and clip.

CaseLine = Mapping[str, Any]


class ProbeScores:
    """The lines of a probe, by metric and case.

    Attributes:
        lines: As they are.
        metrics: Every metric that gave or owed a score.
        clips: Names, in the order of the lines.
    """

    def __init__(self, lines: Sequence[CaseLine]) -> None:
        self.lines = lines
        self.clips = tuple(dict.fromkeys(line["clip"] for line in lines))
        named = {n for line in lines for part in ("scores", "missing") for n in line.get(part, ())}
        failed = {n for line in lines for n in line.get("errors", ())}
        self.metrics = in_order(named | failed)
        self._by_case: dict[tuple[str, float], dict[str, CaseLine]] = defaultdict(dict)
        for line in lines:
            if "scores" in line:
                self._by_case[line["kind"], line["strength"]][line["clip"]] = line
        self.clean = self._by_case[CLEAN, 0.0]

    def strengths(self, kind: str) -> list[float]:
        """Return strengths at which ``kind`` was asked for, ascending."""
        return sorted({line["strength"] for line in self.lines if line["kind"] == kind})

    def changes(self, metric: str, kind: str, strength: float) -> tuple[dict[str, float], int]:
        """Return the change of the score by clip, and how many clips lost theirs."""
        changes, gone = {}, 0
        for clip, line in self._by_case[kind, strength].items():
            before = self.clean[clip]["scores"].get(metric) if clip in self.clean else None
            if before is None:
                continue
            if (after := line["scores"].get(metric)) is None:
                gone += metric in line["missing"]
            else:
                changes[clip] = after - before
        return changes, gone


# Dose and response: how a metric answers a defect of growing strength, and which metric answers it most.

LEAST_CLIPS = 4
"""Minimum clips for an interval: with three, all resamples share a sign in 1/4 of cases by chance."""


def curve(scores: ProbeScores, facts: MetricFacts, defect: str) -> Curve:
    """Return the dose-response curve of a metric to a defect."""
    points = []
    for strength in scores.strengths(defect):
        changes, gone = scores.changes(facts.name, defect, strength)
        mean = mean_with_interval(list(changes.values()))
        if mean is not None and mean.clips < LEAST_CLIPS:
            mean = Mean(mean.mean, None, None, mean.clips)
        points.append(DosePoint(strength, mean, gone))
    means = [(p.change.mean, p.change.clips) for p in points if p.change is not None]
    fitted = monotone_fit([m for m, _ in means], [n for _, n in means])
    step_back = float(np.abs(fitted - [m for m, _ in means]).max()) if means else None
    monotone = None if step_back is None or facts.noise is None else step_back <= facts.noise
    noticed = next((p.strength for p in points if _is_noticed(p, facts.noise)), None)
    clips = max((p.change.clips for p in points if p.change is not None), default=0)
    reason: str | None = "no change beyond chance and the metric's noise"
    if noticed is not None:
        reason = None
    elif clips == 0:
        reason = "no clip has a score before and after"
    elif facts.noise is None:
        reason = "the metric's noise is not known: nothing harmless was probed"
    elif clips < LEAST_CLIPS:
        reason = f"{clips} clips have a score before and after; an interval needs {LEAST_CLIPS}"
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


def _is_noticed(point: DosePoint, noise: float | None) -> bool:
    mean = point.change
    if mean is None or noise is None or mean.low is None or mean.high is None:
        return False
    return (mean.low > 0 or mean.high < 0) and abs(mean.mean) > noise


def specificity(curves: Sequence[Curve], facts: Mapping[str, MetricFacts], defect: str) -> Specificity:
    """Return what a defect moves at its greatest strength, in units of each metric's noise."""
    effects = {}
    for curve in (curve for curve in curves if curve.defect == defect):
        noise, change = facts[curve.metric].noise, curve.points[-1].change
        if change is not None and noise:
            effects[curve.metric] = change.mean / noise
    ranked = dict(sorted(effects.items(), key=lambda item: -abs(item[1])))
    owner = DEFECTS[defect].owner
    ours = [name for name in ranked if name in METRICS]
    first = None if owner is None or owner not in ranked else ours[0] == owner
    return Specificity(defect, owner, ranked, first)


NOISE_FLOOR = 0.01
"""Minimum noise assumed, as a share of the metric's scale, so that effects can be divided by it."""


def analyse(lines: Sequence[CaseLine], tolerance: Tolerance, settings: Mapping[str, Any]) -> ProbeReport:
    """Return everything a probe says; of traps only what failed and the seconds.

    Args:
        lines: Of a :class:`~vmmetrics.alignment.probe.session.Session`.
        tolerance: What harmless changes are compared with.
        settings: Printed in the report.
    """
    scores = ProbeScores([line for line in lines if line["kind"] not in TRAPS])
    kinds = {line["kind"] for line in scores.lines}
    defects = tuple(name for name in DEFECTS if name in kinds)
    facts = {metric: _facts(scores, metric) for metric in scores.metrics}
    curves = tuple(curve(scores, facts[metric], defect) for metric in scores.metrics for defect in defects)
    # once for all strengths; that a clip has too few frames for a rate is no news
    skipped = [line for line in scores.lines if "inapplicable" in line and line["kind"] != RATE]
    inapplicable = tuple(dict.fromkeys((line["clip"], line["kind"], line["inapplicable"]) for line in skipped))
    return ProbeReport(
        metrics=tuple(facts.values()),
        clips=scores.clips,
        defects=defects,
        strengths=tuple(sorted({s for defect in defects for s in scores.strengths(defect)})),
        tolerance=tolerance,
        curves=curves,
        specificity=tuple(specificity(curves, facts, defect) for defect in defects),
        invariances=tuple(_invariances(scores, facts.values(), tolerance)),
        rates=tuple(_rates(scores, facts.values(), tolerance)),
        inapplicable=inapplicable,
        failures=tuple(_failures(lines)),
        seconds=float(sum(line.get("seconds", 0.0) for line in lines)),
        settings=settings,
    )


def _facts(scores: ProbeScores, metric: str) -> MetricFacts:
    values = [line["scores"][metric] for line in scores.lines if metric in line.get("scores", ())]
    scale = 1.0 if metric in METRICS else float(np.ptp(values)) if values else 0.0
    moved = [
        change
        for name in INVARIANCES
        for strength in scores.strengths(name)
        for change in scores.changes(metric, name, strength)[0].values()
    ]
    noise = max(float(np.sqrt(np.mean(np.square(moved)))), NOISE_FLOOR * scale) if moved else None
    clean = {clip: line for clip, line in scores.clean.items() if metric in line["scores"]}
    reasons = {
        clip: {**line["errors"], **line["missing"]}.get(metric, "no score")
        for clip, line in scores.clean.items()
        if clip not in clean
    }
    return MetricFacts(metric, scale, noise, len(clean), reasons)


def _invariances(
    scores: ProbeScores, metrics: Iterable[MetricFacts], tolerance: Tolerance
) -> Iterable[results.Invariance]:
    for facts in metrics:
        for name in INVARIANCES:
            for strength in scores.strengths(name):
                changes, gone = scores.changes(facts.name, name, strength)
                if changes:
                    worst, largest = max(((c, abs(s)) for c, s in changes.items()), key=lambda case: case[1])
                    mean = float(np.mean(np.abs(list(changes.values()))))
                    within = mean <= tolerance.mean * facts.scale and largest <= tolerance.single * facts.scale
                    yield results.Invariance(
                        facts.name, name, strength, mean, largest, worst, len(changes), gone, within
                    )


def _rates(scores: ProbeScores, metrics: Iterable[MetricFacts], tolerance: Tolerance) -> Iterable[results.RateLimit]:
    rates: dict[str, list[CaseLine]] = defaultdict(list)
    for line in sorted(scores.lines, key=lambda line: float(line["strength"])):
        if line["kind"] == RATE and "scores" in line:
            rates[line["clip"]].append(line)
    for facts in metrics:
        for clip in (clip for clip in scores.clips if clip in scores.clean and clip in rates):
            before = scores.clean[clip]["scores"].get(facts.name)
            if before is not None:
                after = [(float(line["fps"]), line["scores"].get(facts.name)) for line in rates[clip]]
                tried = tuple((fps, None if score is None else score - before) for fps, score in after)
                yield rate_limit(facts, clip, float(scores.clean[clip]["fps"]), tried, tolerance)


def rate_limit(
    facts: MetricFacts, clip: str, native: float, tried: tuple[tuple[float, float | None], ...], tolerance: Tolerance
) -> results.RateLimit:
    """Return the lowest of the rates down to which nothing changes by more than the tolerance for one clip."""
    bound = tolerance.single * facts.scale
    within = list(takewhile(lambda case: case[1] is not None and abs(case[1]) <= bound, tried))
    return results.RateLimit(
        facts.name, clip, native, within[-1][0] if within else native, len(within) < len(tried), tried
    )


def _failures(lines: Sequence[CaseLine]) -> Iterable[tuple[str, str, str | None, str]]:
    for line in lines:
        case = line["kind"] if line["kind"] == CLEAN else f"{line['kind']} {line['strength']:.3g}"
        if "error" in line:
            yield line["clip"], case, None, line["error"]
        for metric, why in line.get("errors", {}).items():
            yield line["clip"], case, metric, why
