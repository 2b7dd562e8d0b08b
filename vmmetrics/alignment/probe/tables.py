"""What a probe found as tables of text, for the terminal, Markdown and CSV alike."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vmmetrics.alignment.perturbations import DEFECTS, INVARIANCES
from vmmetrics.alignment.probe.results import Curve, Invariance, ProbeReport
from vmmetrics.metrics.registry import label
from vmmetrics.utils.display.markup import csv_text, markdown

NONE = "–"
"""Where there is no number."""
_ROUNDING = 1e-9  # smaller changes are those of the last digits


@dataclass(frozen=True, slots=True)
class Grid:
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


def grids(report: ProbeReport) -> list[Grid]:
    """Return the tables of a report that have rows."""
    made = [_facts(report), _effects(report), _noticed(report), _harmless(report), _rates(report), _left(report)]
    return [grid for grid in made if grid.rows]


def _facts(report: ProbeReport) -> Grid:
    rows = tuple(
        (label(m.name), str(m.clips), str(len(m.lost)), f"{m.scale:.3g}", NONE if m.noise is None else f"{m.noise:.3g}")
        for m in report.metrics
    )
    notes = ("noise: root mean square of the changes under harmless changes, at least 1 % of the scale",)
    return Grid("Metrics", ("metric", "clips scored", "without a score", "scale", "noise"), rows, notes)


def _effects(report: ProbeReport) -> Grid:
    names = [m.name for m in report.metrics]
    rows = []
    for found in report.specificity:
        cells = [_effect(found.effects.get(name), name == found.owner) for name in names]
        first = {True: "yes", False: "no", None: NONE}[found.owner_first]
        rows.append((found.defect, label(found.owner or NONE), *cells, first))
    strongest = f"{max(report.strengths):g}" if report.strengths else NONE
    notes = ("*: the metric that ought to notice; the last column says whether it moves most of the five",)
    heads = ("defect", "owner", *map(label, names), "owner first")
    return Grid(f"Mean change at strength {strongest}, in units of each metric's noise", heads, tuple(rows), notes)


def _effect(value: float | None, owner: bool) -> str:
    return NONE if value is None else f"{value:+.1f}{'*' if owner else ''}"


def _noticed(report: ProbeReport) -> Grid:
    rows = []
    for defect in report.defects:
        found = [report.curve(m.name, defect) for m in report.metrics]
        rows.append((defect, *map(_noticed_cell, found)))
    notes = (
        "the smallest strength probed at which the 95 % interval of the mean change excludes 0 and the mean change "
        "exceeds the metric's noise; ~ where the curve turns back by more than the noise",
        "?: fewer clips have a score before and after than an interval needs",
    )
    heads = ("defect", *(label(m.name) for m in report.metrics))
    return Grid("Smallest strength noticed", heads, tuple(rows), notes)


def _noticed_cell(found: Curve) -> str:
    if found.noticed is not None:
        return f"{found.noticed:g}{'~' if found.monotone is False else ''}"
    known = any(p.change is not None and p.change.low is not None for p in found.points)
    return "no" if known else "?"


def _harmless(report: ProbeReport) -> Grid:
    def cell(found: Invariance | None) -> str:
        if found is None:
            return NONE
        return f"{_amount(found.mean)}, {_amount(found.largest)}{'' if found.within else ' !'}"

    by_case = {(i.change, i.strength, i.metric): i for i in report.invariances}
    cases = sorted(
        {(i.change, i.strength) for i in report.invariances}, key=lambda c: (list(INVARIANCES).index(c[0]), c)
    )
    rows = tuple(
        (f"{name} {strength:.2g}", *(cell(by_case.get((name, strength, m.name))) for m in report.metrics))
        for name, strength in cases
    )
    t = report.tolerance
    notes = (f"!: beyond the tolerance of {t.mean:g} in the mean or {t.single:g} for one clip, of the metric's scale",)
    heads = ("change", *(label(m.name) for m in report.metrics))
    return Grid("Absolute change under harmless changes: mean, largest", heads, rows, notes)


def _amount(size: float) -> str:
    return "0" if size < _ROUNDING else f"{size:.2g}"


def _rates(report: ProbeReport) -> Grid:
    rows = []
    for metric in report.metrics:
        found = sorted((r for r in report.rates if r.metric == metric.name), key=lambda r: r.lowest)
        if not found:
            continue
        lowest = [r.lowest for r in found]
        kept = sum(r.lowest < r.native for r in found)
        rows.append(
            (label(metric.name), str(len(found)), f"{lowest[0]:.3g}", f"{statistics.median(lowest):.3g}",
             f"{lowest[-1]:.3g}", f"{kept}", str(sum(not r.bounded for r in found)))
        )  # fmt: skip
    heads = ("metric", "clips", "lowest", "median", "highest", "below their own rate", "open below")
    notes = (
        f"the lowest rate, frames a second, down to which the score stays within {report.tolerance.single:g} of the "
        "scale of that at the clip's own rate; open below: no lower rate left enough frames",
    )
    return Grid("minFPS", heads, tuple(rows), notes)


def _left(report: ProbeReport) -> Grid:
    rows = [(clip, what, why) for clip, what, why in report.inapplicable]
    rows += [(clip, f"{case}{f', {metric}' if metric else ''}", why) for clip, case, metric, why in report.failures]
    return Grid("Not done", ("clip", "what", "why"), tuple(rows))


def to_markdown(report: ProbeReport) -> str:
    """Return all tables in GitHub's dialect."""
    parts = []
    for grid in grids(report):
        lines = [f"### {markdown(grid.title)}", "", _row(grid.heads), _row(["---"] * len(grid.heads))]
        lines += [_row(map(markdown, row)) for row in grid.rows]
        lines += ["", *(f"{markdown(note)}  " for note in grid.notes)]
        parts.append("\n".join(lines).rstrip())
    return "\n\n".join(parts) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def curves_csv(report: ProbeReport) -> str:
    """Return a row per metric, defect and strength: everything the curves hold."""
    heads = ("metric", "defect", "owner", "strength", "clips", "mean_change", "low", "high", "in_noise", "fitted",
             "gone", "monotone", "noticed_from")  # fmt: skip
    rows: list[Sequence[object]] = []
    noise = {m.name: m.noise for m in report.metrics}
    for found in report.curves:
        fitted = iter(found.fitted)
        for point in found.points:
            mean = point.change
            unit = noise[found.metric]
            numbers = [None] * 6 if mean is None else [
                mean.clips, mean.mean, mean.low, mean.high, mean.mean / unit if unit else None, next(fitted),
            ]  # fmt: skip
            rows.append((found.metric, found.defect, DEFECTS[found.defect].owner, point.strength, *numbers, point.gone,
                         found.monotone, found.noticed))  # fmt: skip
    return csv_text([heads, *rows])


def invariances_csv(report: ProbeReport) -> str:
    """Return a row per metric, harmless change and strength."""
    heads = ("metric", "change", "strength", "clips", "mean", "largest", "clip", "gone", "within")
    return csv_text([heads, *((i.metric, i.change, i.strength, i.clips, i.mean, i.largest, i.clip, i.gone, i.within)
                        for i in report.invariances)])  # fmt: skip


def rates_csv(report: ProbeReport) -> str:
    """Return a row per metric, clip and frame rate tried."""
    heads = ("metric", "clip", "native", "lowest", "bounded", "fps", "change")
    return csv_text([heads, *((r.metric, r.clip, r.native, r.lowest, r.bounded, fps, change)
                        for r in report.rates for fps, change in r.tried)])  # fmt: skip
