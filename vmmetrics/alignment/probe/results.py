"""What a probe finds, per metric: what it notices from which strength on, what else moves it, and what should not."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from vmmetrics.alignment.perturbations.library import DEFECTS, INVARIANCES
from vmmetrics.metrics.registry import label
from vmmetrics.utils.display.markup import csv_text, markdown
from vmmetrics.utils.display.tables import NONE, pipe_table
from vmmetrics.utils.schema import plain
from vmmetrics.utils.statistics.paired import Mean


@dataclass(frozen=True, slots=True)
class Tolerance:
    """By how much a score may change where nothing that matters did, in shares of the metric's scale.

    Attributes:
        mean: Of the absolute change, over clips.
        single: For one clip.
    """

    mean: float = 0.03
    single: float = 0.10


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """A metric's own measure.

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
    """The answer to one strength.

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
    """How a metric answers a defect of growing strength.

    Attributes:
        metric: The metric.
        defect: The defect.
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
    """What a defect moves, at the greatest strength probed.

    Attributes:
        defect: The defect.
        owner: Metric that ought to notice.
        effects: Metric to mean change in units of its noise, the largest first; metrics without a value are left out.
        owner_first: Whether the owner is moved most of the five, each of which ought to notice something else; None
            where the owner was not probed or has no value.
    """

    defect: str
    owner: str | None
    effects: Mapping[str, float]
    owner_first: bool | None


@dataclass(frozen=True, slots=True)
class Invariance:
    """What a harmless change does to a metric.

    Attributes:
        metric: The metric.
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
        metric: The metric.
        clip: The clip.
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
    """All of it.

    Attributes:
        metrics: Facts on each metric.
        clips: Clips probed.
        defects: In the order of the tables.
        strengths: At which they were injected.
        tolerance: That invariances and frame rates are held against.
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


# What a probe found as tables of text, for the terminal, Markdown and CSV alike.

_ROUNDING = 1e-9  # smaller changes are those of the last digits


@dataclass(frozen=True, slots=True)
class ProbeTable:
    """A table.

    Attributes:
        title: What it shows.
        heads: Of the columns; the first holds names.
        rows: As many cells each.
        notes: Below it.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def grids(report: ProbeReport) -> list[ProbeTable]:
    """Return the tables of a report that have rows."""
    made = [_facts(report), _effects(report), _noticed(report), _harmless(report), _rates(report), _left(report)]
    return [grid for grid in made if grid.rows]


def _facts(report: ProbeReport) -> ProbeTable:
    rows = tuple(
        (label(m.name), str(m.clips), str(len(m.lost)), f"{m.scale:.3g}", NONE if m.noise is None else f"{m.noise:.3g}")
        for m in report.metrics
    )
    notes = ("noise: root mean square of the changes under harmless changes, at least 1 % of the scale",)
    return ProbeTable("Metrics", ("metric", "clips scored", "without a score", "scale", "noise"), rows, notes)


def _effects(report: ProbeReport) -> ProbeTable:
    names = [m.name for m in report.metrics]

    def cell(found: Specificity, name: str) -> str:
        value = found.effects.get(name)
        return NONE if value is None else f"{value:+.1f}{'*' if name == found.owner else ''}"

    rows = []
    for found in report.specificity:
        cells = [cell(found, name) for name in names]
        first = {True: "yes", False: "no", None: NONE}[found.owner_first]
        rows.append((found.defect, label(found.owner or NONE), *cells, first))
    strongest = f"{max(report.strengths):g}" if report.strengths else NONE
    notes = ("*: the metric that ought to notice; the last column says whether it moves most of the five",)
    title = f"Mean change at strength {strongest}, in units of each metric's noise"
    return ProbeTable(title, ("defect", "owner", *map(label, names), "owner first"), tuple(rows), notes)


def _noticed(report: ProbeReport) -> ProbeTable:
    def cell(found: Curve) -> str:
        if found.noticed is not None:
            return f"{found.noticed:g}{'~' if found.monotone is False else ''}"
        return "no" if any(p.change is not None and p.change.low is not None for p in found.points) else "?"

    rows = [(d, *(cell(report.curve(m.name, d)) for m in report.metrics)) for d in report.defects]
    notes = (
        "the smallest strength probed at which the 95 % interval of the mean change excludes 0 and the mean change "
        "exceeds the metric's noise; ~ where the curve turns back by more than the noise",
        "?: fewer clips have a score before and after than an interval needs",
    )
    heads = ("defect", *(label(m.name) for m in report.metrics))
    return ProbeTable("Smallest strength noticed", heads, tuple(rows), notes)


def _harmless(report: ProbeReport) -> ProbeTable:
    cases: dict[tuple[str, float], dict[str, str]] = {}
    for found in sorted(report.invariances, key=lambda i: (list(INVARIANCES).index(i.change), i.strength)):
        mean, largest = ("0" if size < _ROUNDING else f"{size:.2g}" for size in (found.mean, found.largest))
        cell = f"{mean}, {largest}{'' if found.within else ' !'}"
        cases.setdefault((found.change, found.strength), {})[found.metric] = cell
    rows = tuple(
        (f"{name} {strength:.2g}", *(cells.get(m.name, NONE) for m in report.metrics))
        for (name, strength), cells in cases.items()
    )
    t = report.tolerance
    notes = (f"!: beyond the tolerance of {t.mean:g} in the mean or {t.single:g} for one clip, of the metric's scale",)
    heads = ("change", *(label(m.name) for m in report.metrics))
    return ProbeTable("Absolute change under harmless changes: mean, largest", heads, rows, notes)


def _rates(report: ProbeReport) -> ProbeTable:
    rows = []
    for metric in report.metrics:
        found = sorted((r for r in report.rates if r.metric == metric.name), key=lambda r: r.lowest)
        if not found:
            continue
        lowest = [r.lowest for r in found]
        kept = sum(r.lowest < r.native for r in found)
        rates = (f"{fps:.3g}" for fps in (lowest[0], statistics.median(lowest), lowest[-1]))
        unbounded = sum(not r.bounded for r in found)
        rows.append((label(metric.name), str(len(found)), *rates, str(kept), str(unbounded)))
    heads = ("metric", "clips", "lowest", "median", "highest", "below their own rate", "open below")
    notes = (
        f"the lowest rate, frames a second, down to which the score stays within {report.tolerance.single:g} of the "
        "scale of that at the clip's own rate; open below: no lower rate left enough frames",
    )
    return ProbeTable("minFPS", heads, tuple(rows), notes)


def _left(report: ProbeReport) -> ProbeTable:
    rows = [(clip, what, why) for clip, what, why in report.inapplicable]
    rows += [(clip, f"{case}{f', {metric}' if metric else ''}", why) for clip, case, metric, why in report.failures]
    return ProbeTable("Not done", ("clip", "what", "why"), tuple(rows))


def to_markdown(report: ProbeReport) -> str:
    """Return all tables in GitHub's dialect."""
    parts = []
    for grid in grids(report):
        rows = [list(map(markdown, row)) for row in grid.rows]
        lines = [f"### {markdown(grid.title)}", "", pipe_table(grid.heads, ["---"] * len(grid.heads), rows)]
        lines += ["", *(f"{markdown(note)}  " for note in grid.notes)]
        parts.append("\n".join(lines).rstrip())
    return "\n\n".join(parts) + "\n"


def curves_csv(report: ProbeReport) -> str:
    """Return a row per metric, defect and strength: everything the curves hold."""
    heads = ("metric", "defect", "owner", "strength", "clips", "mean_change", "low", "high", "in_noise", "fitted",
             "gone", "monotone", "noticed_from")  # fmt: skip
    rows: list[Sequence[object]] = []
    noise = {m.name: m.noise for m in report.metrics}
    for found in report.curves:
        fitted = iter(found.fitted)
        unit = noise[found.metric]
        for point in found.points:
            numbers: list[float | None] = [None] * 6
            if (m := point.change) is not None:
                numbers = [m.clips, m.mean, m.low, m.high, m.mean / unit if unit else None, next(fitted)]
            case = (found.metric, found.defect, DEFECTS[found.defect].owner, point.strength)
            rows.append((*case, *numbers, point.gone, found.monotone, found.noticed))
    return csv_text([heads, *rows])


def invariances_csv(report: ProbeReport) -> str:
    """Return a row per metric, harmless change and strength."""
    heads = ("metric", "change", "strength", "clips", "mean", "largest", "clip", "gone", "within")
    return csv_text([heads, *map(attrgetter(*heads), report.invariances)])


def rates_csv(report: ProbeReport) -> str:
    """Return a row per metric, clip and frame rate tried."""
    heads = ("metric", "clip", "native", "lowest", "bounded")
    rows = ((*attrgetter(*heads)(limit), *case) for limit in report.rates for case in limit.tried)
    return csv_text([(*heads, "fps", "change"), *rows])
