"""Charts of a probe: responses to every defect, dose-response curves, and minFPS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from vmmetrics.alignment.perturbations.library import DEFECTS
from vmmetrics.alignment.probe.results import ProbeReport, Specificity
from vmmetrics.metrics.registry import METRICS, colour_of, label
from vmmetrics.utils.display import canvas, style
from vmmetrics.utils.display.canvas import INK, MODEL_COLOURS, MUTED, RULE, WIDTH, grid_of, hexadecimal

FULL_COLOUR = 10.0
"""Change with full colour, in multiples of the noise."""
COLUMNS = 5
"""Panels per row of curves."""
_CELL = 0.3  # inches, height of a row
Dashes = Literal["-", "--", ":"]


def draw_charts(report: ProbeReport) -> dict[str, Figure]:
    """Draw what there is data for: ``heatmap``, ``curves``, ``minfps``."""
    charts: dict[str, Figure] = {}
    with canvas.chart_style():
        if any(effect.effects for effect in report.specificity):
            charts["heatmap"] = heatmap(report)
        if any(curve.fitted for curve in report.curves):
            charts["curves"] = curves(report)
        if report.rates:
            charts["minfps"] = minfps(report)
    return charts


def heatmap(report: ProbeReport) -> Figure:
    """Draw defect × metric: mean change at the greatest strength in units of the metric's noise, owners framed."""
    rows = _by_owner(report)
    names = [m.name for m in report.metrics]
    figure = Figure(figsize=(WIDTH, _CELL * len(rows) + 1.7), layout="constrained")
    axes = figure.subplots()
    values = np.array([[row.effects.get(name, np.nan) for name in names] for row in rows])
    # Compressed, so that small changes stay visible beside large ones.
    shade = np.sign(values) * np.log1p(np.abs(values)) / np.log1p(FULL_COLOUR)
    mesh = axes.imshow(np.ma.masked_invalid(shade), cmap=canvas.DIVERGING, vmin=-1, vmax=1, aspect="auto")
    noticed = {(c.metric, c.defect) for c in report.curves if c.noticed is not None}
    for y, row in enumerate(rows):
        for x, name in enumerate(names):
            weight = "bold" if (name, row.defect) in noticed else "normal"
            _cell(axes, x, y, values[y, x], weight, owner=name == row.owner)
    heads = [f"{label(m.name)} ({m.clips})" for m in report.metrics]
    axes.set_xticks(range(len(names)), heads, rotation=40, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(rows)), [row.defect for row in rows])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    owners = [row.owner for row in rows]
    for y in range(1, len(rows)):
        if owners[y] != owners[y - 1]:
            axes.axhline(y - 0.5, color="white", linewidth=3)
    ours = sum(name in METRICS for name in names)
    if 0 < ours < len(names):
        axes.axvline(ours - 0.5, color="white", linewidth=5)
    bar = figure.colorbar(mesh, ax=axes, shrink=0.5, aspect=24, pad=0.01)
    marks = (-10, -3, -1, 0, 1, 3, 10)
    bar.set_ticks(list(np.sign(marks) * np.log1p(np.abs(marks)) / np.log1p(FULL_COLOUR)),
                  labels=[f"{m:+d}".replace("-", "−") if m else "0" for m in marks])  # fmt: skip
    bar.set_label("mean change, in units of the metric's own noise")
    bar.outline.set_visible(False)
    at = max(report.strengths)
    axes.set_xlabel(f"{len(report.clips)} clips, strength {at:g}. Framed: the metric that should respond. "
                    "Bold: detected,\n"
                    "at this or a lower strength. Grey: no score. In brackets: clips scored.",
                    color=MUTED, loc="left")  # fmt: skip
    return figure


def _cell(axes: Axes, x: int, y: int, value: float, weight: str, *, owner: bool) -> None:
    if owner:
        axes.add_patch(Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, fill=False, edgecolor=INK, linewidth=1.4, zorder=3))
    if np.isfinite(value):
        text = f"{value:+.0f}" if abs(value) >= 9.95 else f"{value:+.1f}"
        colour = "white" if abs(value) > 0.7 * FULL_COLOUR else "black"
        axes.text(x, y, "0" if text in ("+0.0", "-0.0") else text.replace("-", "−"), ha="center", va="center",
                  fontsize=7.5, color=colour, fontweight=weight)  # fmt: skip


def _by_owner(report: ProbeReport) -> list[Specificity]:
    """Return what each defect did, those of one owner together, in the order of the library."""
    owners = list(dict.fromkeys(defect.owner for defect in DEFECTS.values()))
    return sorted(report.specificity, key=lambda s: owners.index(s.owner))


def curves(report: ProbeReport) -> Figure:
    """Draw a small panel per defect: mean change against strength, a line per metric, in units of its noise."""
    defects = [s.defect for s in _by_owner(report)]
    figure, panels = grid_of(len(defects), COLUMNS, 1.5, share_y=True)
    noise = {m.name: m.noise for m in report.metrics}
    looks = metric_looks([m.name for m in report.metrics])
    for axes, defect in zip(panels, defects, strict=True):
        for curve in report.curves:
            unit = noise[curve.metric]
            points = [(p.strength, p.change) for p in curve.points if p.change is not None]
            if curve.defect != defect or not unit or not points:
                continue
            strengths = np.array([0.0, *(s for s, _ in points)])
            means = np.array([0.0, *(c.mean / unit for _, c in points)])
            colour, dashes = looks[curve.metric]
            owner = curve.metric == DEFECTS[defect].owner
            axes.plot(strengths, means, color=colour, linestyle=dashes, marker="o", markersize=2.5 if owner else 1.5,
                      linewidth=2.2 if owner else 1.0, zorder=3 if owner else 2)  # fmt: skip
            bounded = [(s, c.low / unit, c.high / unit) for s, c in points if c.low is not None and c.high is not None]
            if owner and bounded:
                axes.fill_between(*np.array(bounded).T, color=colour, alpha=0.18, linewidth=0)
        owner_name = DEFECTS[defect].owner
        axes.set_title(f"{defect} ({label(owner_name or '')})", fontsize=8)
        axes.axhspan(-1, 1, color=RULE, alpha=0.6, linewidth=0, zorder=0)
        axes.set_yscale("symlog", linthresh=1)
        axes.set_xlim(0, 1.03)
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.tick_params(labelsize=7)
        axes.yaxis.set_major_formatter(lambda v, _: f"{v:g}".replace("-", "−"))
    handles = [Line2D([], [], color=c, linestyle=d, label=label(name)) for name, (c, d) in looks.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(7, len(handles)), fontsize=8)
    figure.supylabel("mean change, in units of the metric's noise, against strength", fontsize=9)
    return figure


def metric_looks(names: Sequence[str]) -> dict[str, tuple[str, Dashes]]:
    """Return colour and line style of each metric: ours in their own colours, others dashed."""
    others = [name for name in names if name not in METRICS]
    colours = {name: MODEL_COLOURS[index % len(MODEL_COLOURS)] for index, name in enumerate(others)}
    dashes: dict[str, Dashes] = {n: "--" if k // len(MODEL_COLOURS) % 2 else ":" for k, n in enumerate(others)}
    return {n: (colours[n], dashes[n]) if n in colours else (hexadecimal(colour_of(n)), "-") for n in names}


def minfps(report: ProbeReport) -> Figure:
    """Draw a row per metric: the lowest frame rate of each clip at which its score is what it is at its own."""
    names = [m.name for m in report.metrics if any(r.metric == m.name for r in report.rates)]
    figure = Figure(figsize=(WIDTH * 0.8, 0.34 * len(names) + 1.3), layout="constrained")
    axes = figure.subplots()
    for y, name in enumerate(names):
        limits = sorted((r for r in report.rates if r.metric == name), key=lambda r: r.lowest)
        axes.plot([0, 1], [y, y], transform=axes.get_yaxis_transform(), color=RULE, linewidth=0.8, zorder=0)
        spread = np.linspace(-0.22, 0.22, len(limits)) if len(limits) > 1 else [0.0]
        for limit, shift in zip(limits, spread, strict=True):
            failed = limit.lowest >= limit.native
            axes.plot(limit.lowest, y + shift, "o", markersize=5, markeredgewidth=1.2,
                      color=hexadecimal(style.FAULT) if failed else hexadecimal(style.OBJECTS[0]),
                      markerfacecolor="white" if not limit.bounded else None)  # fmt: skip
        middle = float(np.median([limit.lowest for limit in limits]))
        axes.plot([middle, middle], [y - 0.32, y + 0.32], color=INK, linewidth=1.5)
    axes.set_yticks(range(len(names)), [label(n) for n in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda v, _: f"{v:g}")
    axes.tick_params(axis="y", length=0)
    caption = "minFPS in frames per second: a dot per clip, bar: median\nopen: no lower rate was possible; "
    caption += "red: already the next lower rate exceeds the tolerance"
    axes.set_xlabel(caption, fontsize=8, color=MUTED, loc="left")
    return figure
