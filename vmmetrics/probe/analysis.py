"""From lines to findings: every figure of a probe, from the scores alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vmmetrics.perturbations import DEFECTS, INVARIANCES
from vmmetrics.probe.curves import curve, specificity
from vmmetrics.probe.plan import CLEAN, RATE
from vmmetrics.probe.results import Invariance, MetricFacts, ProbeReport, RateLimit, Tolerance
from vmmetrics.probe.scores import Line, Scores
from vmmetrics.types import METRICS

NOISE_FLOOR = 0.01
"""Least noise assumed, of the metric's scale: one that never moves has none, and nothing could be divided by it."""


def analyse(lines: Sequence[Line], tolerance: Tolerance, settings: Mapping[str, Any]) -> ProbeReport:
    """Return everything a probe says.

    Args:
        lines: Of a :class:`~vmmetrics.probe.session.Session`.
        tolerance: What harmless changes are held against.
        settings: To stand in the report.
    """
    scores = Scores(lines)
    kinds = {line["kind"] for line in lines}
    defects = tuple(name for name in DEFECTS if name in kinds)
    facts = {metric: _facts(scores, metric) for metric in scores.metrics}
    curves = tuple(curve(scores, facts[metric], defect) for metric in scores.metrics for defect in defects)
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
        inapplicable=_inapplicable(lines),
        failures=tuple(_failures(lines)),
        seconds=float(sum(line.get("seconds", 0.0) for line in lines)),
        settings=settings,
    )


def _facts(scores: Scores, metric: str) -> MetricFacts:
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


def _invariances(scores: Scores, metrics: Iterable[MetricFacts], tolerance: Tolerance) -> Iterable[Invariance]:
    for facts in metrics:
        for name in INVARIANCES:
            for strength in scores.strengths(name):
                changes, gone = scores.changes(facts.name, name, strength)
                if not changes:
                    continue
                sizes = {clip: abs(change) for clip, change in changes.items()}
                worst = max(sizes, key=lambda clip: sizes[clip])
                mean, largest = float(np.mean(list(sizes.values()))), sizes[worst]
                within = mean <= tolerance.mean * facts.scale and largest <= tolerance.single * facts.scale
                yield Invariance(facts.name, name, strength, mean, largest, worst, len(sizes), gone, within)


def _rates(scores: Scores, metrics: Iterable[MetricFacts], tolerance: Tolerance) -> Iterable[RateLimit]:
    rates = [(line["clip"], line) for line in scores.lines if line["kind"] == RATE and "scores" in line]
    for facts in metrics:
        for clip in scores.clips:
            before = scores.clean[clip]["scores"].get(facts.name) if clip in scores.clean else None
            found = sorted((line for name, line in rates if name == clip), key=lambda line: line["strength"])
            if before is None or not found:
                continue
            after = [(float(line["fps"]), line["scores"].get(facts.name)) for line in found]
            tried = tuple((fps, None if score is None else score - before) for fps, score in after)
            yield rate_limit(facts, clip, float(scores.clean[clip]["fps"]), tried, tolerance)


def rate_limit(
    facts: MetricFacts,
    clip: str,
    native: float,
    tried: tuple[tuple[float, float | None], ...],
    tolerance: Tolerance,
) -> RateLimit:
    """Return the lowest of the rates down to which nothing changes by more than the tolerance for one clip."""
    lowest = native
    for fps, change in tried:
        if change is None or abs(change) > tolerance.single * facts.scale:
            return RateLimit(facts.name, clip, native, lowest, True, tried)
        lowest = fps
    return RateLimit(facts.name, clip, native, lowest, False, tried)


def _inapplicable(lines: Sequence[Line]) -> tuple[tuple[str, str, str], ...]:
    """What could not be done, once for all strengths; that a clip has too few frames for a rate is no news."""
    told = [(line["clip"], line["kind"], line["inapplicable"]) for line in lines if "inapplicable" in line]
    return tuple(dict.fromkeys(item for item in told if item[1] != RATE))


def _failures(lines: Sequence[Line]) -> Iterable[tuple[str, str, str | None, str]]:
    for line in lines:
        case = line["kind"] if line["kind"] == CLEAN else f"{line['kind']} {line['strength']:.3g}"
        if "error" in line:
            yield line["clip"], case, None, line["error"]
        for metric, why in line.get("errors", {}).items():
            yield line["clip"], case, metric, why
