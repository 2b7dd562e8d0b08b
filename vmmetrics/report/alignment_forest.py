"""Forest plots: a row per metric, its figure with the interval, between what people reach and what chance does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vmmetrics.alignment.bootstrap import Estimate
from vmmetrics.alignment.results import StudyReport
from vmmetrics.report.alignment_canvas import FAINT, INK, METRIC, NAME, NULL, PEOPLE, RULE, WIDTH, label
from vmmetrics.report.alignment_cells import NONE, number
from vmmetrics.report.alignment_tables import ranked

_ROW = 0.33  # inches of a row
_NAME_LENGTH = 26
_NOTE_LENGTH = 34
_LEADER = {"arrowstyle": "-", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0}


class _Mark(NamedTuple):
    """A vertical line to read the rows against."""

    estimate: Estimate
    name: str
    colour: str
    dashes: str


def intervals_chart(report: StudyReport, dimension: str) -> Figure:
    """Pooled and within-model ρ of each metric: the picture of a study.

    Args:
        report: The report.
        dimension: What people judged.
    """
    pairs = ranked(report, dimension)
    names = [pair.metric for pair in pairs]
    people = next((ceiling for ceiling in report.ceilings if ceiling.dimension == dimension), None)
    baseline = next((known for known in report.baselines if known.dimension == dimension), None)
    pooled, within = [pair.spearman for pair in pairs], [pair.within_model.mean for pair in pairs]
    shuffled = [pair.shuffled for pair in pairs]
    marks_left = [_Mark(people.overall, "single rater", PEOPLE, "-")] if people else []
    marks_left += [_Mark(baseline.overall, "model's name", NAME, "--")] if baseline else []
    marks_right = [_Mark(people.within_model, "single rater", PEOPLE, "-")] if people else []

    figure, (left, right) = _two_panels(len(pairs))
    shown = [*pooled, *within, *shuffled, *(mark.estimate for mark in (*marks_left, *marks_right))]
    limits = _limits(shown)
    for axes, estimates, marks in ((left, pooled, marks_left), (right, within, marks_right)):
        axes.set_xlim(*limits)
        axes.axvline(0, color=FAINT, linewidth=0.8, zorder=1)
        _marks(axes, marks)
        _rows(axes, estimates)
    for row, null in enumerate(shuffled):
        if null.low is not None and null.high is not None:
            left.plot([null.low, null.high], [row, row], color=NULL, linewidth=7, solid_capstyle="butt", zorder=1.5)
    left.set_yticks(range(len(names)), [label(name, _NAME_LENGTH) for name in names])
    left.set_title("over all clips", pad=32, fontweight="bold")
    right.set_title("within model (mean over models)", pad=32, fontweight="bold")
    for axes in (left, right):
        axes.set_xlabel(f"Spearman's ρ with {label(dimension, 22)}")
    handles = [Line2D([], [], color=METRIC, marker="o", linewidth=2, label="metric, 95 % over prompts")]
    if any(null.low is not None for null in shuffled):
        handles.append(Line2D([], [], color=NULL, linewidth=7, label="ratings shuffled inside models"))
    if people and people.overall.value is not None:
        handles.append(Line2D([], [], color=PEOPLE, linewidth=1.5, label="single rater against the others"))
    if baseline and baseline.overall.value is not None:
        handles.append(Line2D([], [], color=NAME, linewidth=1.5, linestyle="--", label="model's name alone"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8)
    return figure


def accuracy_chart(report: StudyReport, dimension: str) -> Figure:
    """Preference accuracy of each metric and combination, against chance.

    Args:
        report: The report.
        dimension: What people preferred by.
    """
    here = [accuracy for accuracy in report.preferences if accuracy.dimension == dimension]
    here.sort(key=lambda a: (a.accuracy.value is None, -(a.accuracy.value or 0.0), a.name))
    figure = Figure(figsize=(WIDTH * 0.7, _ROW * len(here) + 1.1), layout="constrained")
    axes = figure.subplots()
    _frame(axes, len(here))
    estimates = [accuracy.accuracy for accuracy in here]
    ends = [end for e in estimates for end in (e.value, e.low, e.high) if end is not None]
    axes.set_xlim(min([0.4, *ends]) - 0.02, max([0.8, *ends]) + 0.02)
    axes.axvline(0.5, color=FAINT, linewidth=0.8, zorder=1)
    _rows(axes, estimates)
    axes.set_yticks(range(len(here)), [label(accuracy.name, _NAME_LENGTH) for accuracy in here])
    axes.set_xlabel(f"share of pairs preferred as people do: {label(dimension, 30)} (0.5 is chance)")
    return figure


def _two_panels(rows: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(WIDTH, _ROW * max(rows, 2) + 1.7), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True).tolist()
    for panel in axes:
        _frame(panel, rows)
    return figure, axes


def _frame(axes: Axes, rows: int) -> None:
    axes.set_ylim(rows - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=RULE, linewidth=0.8)
    axes.set_axisbelow(True)


def _limits(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """From the lowest end shown, at most −0.1, to just beyond 1 or the highest."""
    ends = [end for e in estimates for end in (e.value, e.low, e.high) if end is not None]
    return max(-1.05, min(-0.1, *ends, 0.0) - 0.05), min(1.05, max(0.8, *ends, 0.0) + 0.05)


def _marks(axes: Axes, marks: Sequence[_Mark]) -> None:
    for height, mark in enumerate(marks):
        estimate = mark.estimate
        if estimate.value is None:
            continue
        if estimate.low is not None and estimate.high is not None:
            axes.axvspan(estimate.low, estimate.high, color=mark.colour, alpha=0.13, linewidth=0, zorder=0)
        axes.axvline(estimate.value, color=mark.colour, linestyle=mark.dashes, linewidth=1.5, zorder=1.2)
        axes.annotate(
            f"{mark.name} {number(estimate.value)}", (estimate.value, 1), (0, 3 + 12 * height),
            xycoords=("data", "axes fraction"), textcoords="offset points", ha="center", fontsize=8, color=mark.colour,
            arrowprops=_LEADER | {"color": mark.colour} if height else None,
        )  # fmt: skip


def _rows(axes: Axes, estimates: Sequence[Estimate]) -> None:
    edge = axes.get_yaxis_transform()
    for row, estimate in enumerate(estimates):
        if estimate.value is None:
            why = label(estimate.note or "", _NOTE_LENGTH)
            axes.text(0.02, row, f"{NONE}  {why}", transform=edge, va="center_baseline", fontsize=8, color=FAINT)
            continue
        if estimate.low is not None and estimate.high is not None:
            axes.plot([estimate.low, estimate.high], [row, row], color=METRIC, linewidth=2, zorder=3)
        axes.plot([estimate.value], [row], "o", color=METRIC, markersize=6, zorder=4)
        axes.text(1.01, row, number(estimate.value), transform=edge, va="center_baseline", fontsize=8.5, color=INK)
