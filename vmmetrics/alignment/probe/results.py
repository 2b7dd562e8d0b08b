"""Results of a probe per metric: detection thresholds, specificity and invariance."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from vmmetrics.alignment.perturbations.library import DEFECTS, INVARIANCES
from vmmetrics.metrics.registry import label
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.display.tables import MINUS, NONE, DisplayTable, heads
from vmmetrics.utils.schema import plain
from vmmetrics.utils.statistics.paired import Mean


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Largest change of a score that counts as none, in shares of the metric's scale.

    Attributes:
        mean: Of the absolute change, over clips.
        single: For one clip.
    """

    mean: float = 0.03
    single: float = 0.10


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """Scale, noise and direction of a metric.

    Attributes:
        name: The metric.
        scale: What its changes are read against: 1 for ours, which run from 0 to 1; for others the range of all
            scores they gave in this probe.
        noise: Root mean square of its changes under harmless changes, at least 1 % of ``scale``; None where nothing
            harmless was probed.
        clips: Clips whose untouched version has a score.
        lost: Why the others have none, by clip.
    """

    name: str
    scale: float
    noise: float | None
    clips: int
    lost: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DosePoint:
    """Response to one strength.

    Attributes:
        strength: Of the defect.
        change: Mean change of the score over clips, with its 95 % bootstrap interval (from four clips on); None where
            no clip has a score before and after.
        gone: Clips that lost their score by it.
    """

    strength: float
    change: Mean | None
    gone: int


@dataclass(frozen=True, slots=True)
class Curve:
    """Dose-response curve of a metric to a defect.

    Attributes:
        points: Ascending in strength.
        fitted: The monotone curve through 0 at strength 0 that fits the means best, one value per point that has one.
        step_back: Largest distance of a mean from it, in the metric's unit; None without a point.
        monotone: Whether that is within the metric's noise; None where either is not known.
        noticed: Smallest probed strength at which the interval of the change excludes 0 and the mean change exceeds
            the metric's noise.
        unnoticed: Why there is no such strength.
    """

    metric: str
    defect: str
    points: tuple[DosePoint, ...]
    fitted: tuple[float, ...]
    step_back: float | None
    monotone: bool | None
    noticed: float | None
    unnoticed: str | None = None


@dataclass(frozen=True, slots=True)
class Specificity:
    """Effects of a defect on all metrics, at the greatest strength probed.

    Attributes:
        owner: Metric that should respond.
        effects: Metric to mean change in units of its noise, the largest first; metrics without a value are left out.
        owner_first: Whether the owner is moved most of the five, each of which should respond something else; None
            where the owner was not probed or has no value.
    """

    defect: str
    owner: str | None
    effects: Mapping[str, float]
    owner_first: bool | None


@dataclass(frozen=True, slots=True)
class Invariance:
    """Effect of a harmless change on a metric.

    Attributes:
        change: What was done.
        strength: How much of it.
        mean: Mean absolute change of the score.
        largest: Largest.
        clip: Where that is.
        clips: How many have a score before and after.
        gone: How many lost it.
        within: Whether mean and largest are within the tolerance.
    """

    metric: str
    change: str
    strength: float
    mean: float
    largest: float
    clip: str
    clips: int
    gone: int
    within: bool


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The lowest frame rate at which a metric's score of a clip is what it is at the clip's own rate.

    Attributes:
        native: Its own rate.
        lowest: Lowest rate tried down to which every score stays within the tolerance; the clip's own where the first
            one does not.
        bounded: Whether a lower rate was tried and failed; else the clip is too short for more, and the truth may be
            lower.
        tried: Rate to change of the score, from the highest; None where the score was lost.
    """

    metric: str
    clip: str
    native: float
    lowest: float
    bounded: bool
    tried: tuple[tuple[float, float | None], ...]


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """All results of a probe.

    Attributes:
        metrics: Facts on each metric.
        clips: Clips probed.
        defects: In the order of the tables.
        strengths: At which they were injected.
        tolerance: Largest change of a mean and of one clip that counts as none.
        curves: One per metric and defect.
        specificity: One per defect.
        invariances: One per metric, harmless change and strength.
        rates: One per metric and clip.
        inapplicable: (clip, defect, why): what could not be done.
        failures: (clip, case, metric or None, why): what went wrong.
        seconds: Of work.
        settings: What every score depends on.
    """

    metrics: tuple[MetricFacts, ...]
    clips: tuple[str, ...]
    defects: tuple[str, ...]
    strengths: tuple[float, ...]
    tolerance: Tolerance
    curves: tuple[Curve, ...]
    specificity: tuple[Specificity, ...]
    invariances: tuple[Invariance, ...]
    rates: tuple[RateLimit, ...]
    inapplicable: tuple[tuple[str, str, str], ...]
    failures: tuple[tuple[str, str, str | None, str], ...]
    seconds: float
    settings: Mapping[str, Any]

    def curve(self, metric: str, defect: str) -> Curve:
        """Return one curve.

        Raises:
            KeyError: It was not probed.
        """
        for curve in self.curves:
            if (curve.metric, curve.defect) == (metric, defect):
                return curve
        raise KeyError(f"{defect} was not probed for {metric}")

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return dict(plain(self))


# What a probe found as tables, for the terminal and Markdown alike.

_ROUNDING = 1e-9  # smaller changes are those of the last digits


def probe_tables(report: ProbeReport) -> list[DisplayTable]:
    """Return the tables of a report that have rows."""
    made = [_facts(report), _effects(report), _noticed(report), _harmless(report), _rates(report), _left(report)]
    return [table for table in made if table.rows]


def _facts(report: ProbeReport) -> DisplayTable:
    caption = "noise: root mean square of the changes under harmless changes, at least 1 % of the scale"
    columns = heads("metric", "clips scored", "without a score", "scale", "noise")
    table = DisplayTable("metrics", "Metrics", caption, columns)
    for m in report.metrics:
        noise = NONE if m.noise is None else f"{m.noise:.3g}"
        table.add(label(m.name), str(m.clips), str(len(m.lost)), f"{m.scale:.3g}", noise)
    return table


def _effects(report: ProbeReport) -> DisplayTable:
    strongest = f"{max(report.strengths):g}" if report.strengths else NONE
    title = f"Mean change at strength {strongest}, in units of each metric's noise"
    caption = "*: the metric that should respond; last column: whether it changes most of the five"
    names = [m.name for m in report.metrics]
    columns = heads("defect", "owner", *map(label, names), "owner first", texts=2)
    table = DisplayTable("effects", title, caption, columns)
    for effect in report.specificity:
        effects = [
            f"{effect.effects[n]:+.1f}".replace("-", MINUS) + "*" * (n == effect.owner) if n in effect.effects else NONE
            for n in names
        ]
        first = {True: "yes", False: "no", None: NONE}[effect.owner_first]
        table.add(effect.defect, label(effect.owner or NONE), *effects, first)
    return table


def _noticed(report: ProbeReport) -> DisplayTable:
    def cell(curve: Curve) -> str:
        if curve.noticed is not None:
            return f"{curve.noticed:g}{'~' if curve.monotone is False else ''}"
        return "no" if any(p.change is not None and p.change.low is not None for p in curve.points) else "?"

    caption = (
        "smallest strength at which the 95 % interval of the mean change excludes 0 and the mean change exceeds the "
        "metric's noise; ~: the curve reverses by more than the noise; ?: too few clips with a score before and after"
    )
    columns = heads("defect", *(label(m.name) for m in report.metrics))
    table = DisplayTable("noticed", "Smallest strength detected", caption, columns)
    for defect in report.defects:
        table.add(defect, *(cell(report.curve(m.name, defect)) for m in report.metrics))
    return table


def _harmless(report: ProbeReport) -> DisplayTable:
    cases: dict[tuple[str, float], dict[str, str]] = {}
    for change in sorted(report.invariances, key=lambda i: (list(INVARIANCES).index(i.change), i.strength)):
        mean, largest = ("0" if size < _ROUNDING else f"{size:.2g}" for size in (change.mean, change.largest))
        cell = f"{mean}, {largest}{'' if change.within else ' !'}"
        cases.setdefault((change.change, change.strength), {})[change.metric] = cell
    t = report.tolerance
    caption = f"!: beyond the tolerance of {t.mean:g} in the mean or {t.single:g} for one clip, of the metric's scale"
    columns = heads("change", *(label(m.name) for m in report.metrics))
    table = DisplayTable("harmless", "Absolute change under harmless changes: mean, largest", caption, columns)
    for (name, strength), cells in cases.items():
        table.add(f"{name} {strength:.2g}", *(cells.get(m.name, NONE) for m in report.metrics))
    return table


def _rates(report: ProbeReport) -> DisplayTable:
    caption = (
        f"lowest frame rate in fps down to which the score stays within {report.tolerance.single:g} of the scale from "
        "the score at the clip's own rate; open below: no lower rate left enough frames"
    )
    columns = heads("metric", "clips", "lowest", "median", "highest", "below their own rate", "open below")
    table = DisplayTable("minfps", "minFPS", caption, columns)
    for metric in report.metrics:
        if limits := [r for r in report.rates if r.metric == metric.name]:
            lowest = [r.lowest for r in limits]
            rates = (f"{fps:.3g}" for fps in (min(lowest), statistics.median(lowest), max(lowest)))
            counts = (sum(r.lowest < r.native for r in limits), sum(not r.bounded for r in limits))
            table.add(label(metric.name), str(len(limits)), *rates, *map(str, counts))
    return table


def _left(report: ProbeReport) -> DisplayTable:
    table = DisplayTable("left", "Not done", "", heads("clip", "what", "why", texts=3))
    for case in report.inapplicable:
        table.add(*case)
    for clip, what, metric, why in report.failures:
        table.add(clip, f"{what}, {metric}" if metric else what, why)
    return table


def curves_csv(report: ProbeReport) -> str:
    """Return a row per metric, defect and strength: everything the curves hold."""
    names = ("metric", "defect", "owner", "strength", "clips", "mean_change", "low", "high", "in_noise", "fitted",
             "gone", "monotone", "noticed_from")  # fmt: skip
    rows: list[Sequence[object]] = []
    noise = {m.name: m.noise for m in report.metrics}
    for curve in report.curves:
        fitted = iter(curve.fitted)
        unit = noise[curve.metric]
        for point in curve.points:
            numbers: list[float | None] = [None] * 6
            if (m := point.change) is not None:
                numbers = [m.clips, m.mean, m.low, m.high, m.mean / unit if unit else None, next(fitted)]
            case = (curve.metric, curve.defect, DEFECTS[curve.defect].owner, point.strength)
            rows.append((*case, *numbers, point.gone, curve.monotone, curve.noticed))
    return csv_text([names, *rows])


def invariances_csv(report: ProbeReport) -> str:
    """Return a row per metric, harmless change and strength."""
    names = ("metric", "change", "strength", "clips", "mean", "largest", "clip", "gone", "within")
    return csv_text([names, *map(attrgetter(*names), report.invariances)])


def rates_csv(report: ProbeReport) -> str:
    """Return a row per metric, clip and frame rate tried."""
    names = ("metric", "clip", "native", "lowest", "bounded")
    rows = ((*attrgetter(*names)(limit), *case) for limit in report.rates for case in limit.tried)
    return csv_text([(*names, "fps", "change"), *rows])
