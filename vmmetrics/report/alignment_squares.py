"""Two overviews of a study: who correlates with whom, and how scores and ratings spread over the models."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import boxplot_stats
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from vmmetrics.alignment.results import Matrix, StudyReport
from vmmetrics.alignment.study import Study
from vmmetrics.report.alignment_canvas import (
    INK,
    MANY_POINTS,
    RULE,
    WIDTH,
    grid_of,
    label,
    model_looks,
    nothing_to_draw,
)
from vmmetrics.report.alignment_cells import MINUS, NONE
from vmmetrics.report.alignment_tables import ranked
from vmmetrics.types import FloatArray

_COLUMNS = 3
_NAME_LENGTH = 20
# vermilion, white, blue of Okabe and Ito: told apart by colour-blind readers, and by lightness from the middle out
_DIVERGING = LinearSegmentedColormap.from_list("people", ["#d55e00", "#ffffff", "#0072b2"])
_MISSING_CELL = "#eceef2"
_LETTER = 0.078  # inches of a letter
_DARK_CELL = 0.6  # |ρ| above which letters are white


def matrix_chart(matrix: Matrix) -> Figure:
    """Spearman of every metric with every other and with people, the numbers in the cells.

    Args:
        matrix: The correlations.
    """
    size = len(matrix.names)
    cell = min(0.62, (WIDTH - 2.0) / max(size, 1))
    names = [label(name, _NAME_LENGTH) for name in matrix.names[: matrix.metrics]]
    names += [f"people: {label(name, _NAME_LENGTH - 8)}" for name in matrix.names[matrix.metrics :]]
    longest = _LETTER * max(map(len, names))
    side = cell * max(size, 3)
    figure = Figure(figsize=(side + longest + 1.2, side + 0.75 * longest + 0.3), layout="compressed")
    axes = figure.subplots()
    values = np.ma.masked_invalid(np.asarray(matrix.values, np.float64))
    edges = np.arange(size + 1) - 0.5
    colours = _DIVERGING.with_extremes(bad=_MISSING_CELL)
    mesh = axes.pcolormesh(
        edges,
        edges,
        values,
        cmap=colours,
        vmin=-1,
        vmax=1,
        edgecolors="white",
        linewidth=1,
    )
    axes.set_aspect("equal")
    axes.set_ylim(size - 0.5, -0.5)
    axes.set_xticks(range(size), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(size), names)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    letters = float(np.clip(cell * 17, 4.5, 9))
    for row in range(size):
        for column in range(size):
            value = float(matrix.values[row, column])
            colour = "white" if abs(value) > _DARK_CELL else "black"
            axes.text(column, row, _short(value), ha="center", va="center", fontsize=letters, color=colour)
    if 0 < matrix.metrics < size:
        for line in (axes.axhline, axes.axvline):
            line(matrix.metrics - 0.5, color=INK, linewidth=1.5)
    bar = figure.colorbar(mesh, ax=axes, shrink=0.5, aspect=18, label="Spearman's ρ")
    bar.outline.set_visible(False)
    return figure


def _short(value: float) -> str:
    """Two decimals, without the nought in front."""
    if np.isnan(value):
        return NONE
    text = f"{abs(value):.2f}"
    text = text[1:] if text.startswith("0") else text
    return f"{MINUS}{text}" if value < -0.005 else text


def models_chart(study: Study, report: StudyReport, dimension: str) -> Figure:
    """Box plots over each model's clips: ratings first, then the scores that face them.

    Args:
        study: Scores and ratings; at least one model is known.
        report: Which metrics, in which order.
        dimension: What people judged; the study has ratings of it.
    """
    rating = study.mean_rating(dimension)
    pairs = ranked(report, dimension)
    titles = [f"people: {label(dimension, 14)}", *(label(pair.metric, _NAME_LENGTH) for pair in pairs)]
    columns = [rating, *(study.scores[pair.metric] for pair in pairs)]
    order = _best_first(study, rating)
    looks = model_looks(sorted(order))
    figure, grid = grid_of(len(titles), _COLUMNS, 0.7 + 0.27 * len(order), share_y=True)
    for axes, title, values in zip(grid, titles, columns, strict=True):
        axes.set_title(title, fontweight="bold")
        _boxes(axes, study, values, order, looks)
    return figure


def _best_first(study: Study, rating: FloatArray) -> list[str]:
    """Models by their mean rating, those without last."""
    models = np.array(study.models)
    means = {}
    for model in sorted({model for model in study.models if model}):
        known = rating[(models == model) & np.isfinite(rating)]
        means[model] = float(known.mean()) if known.size else -np.inf
    return sorted(means, key=lambda model: -means[model])


def _boxes(axes: Axes, study: Study, values: FloatArray, order: list[str], looks: dict[str, tuple[str, str]]) -> None:
    axes.use_sticky_edges = False
    axes.grid(axis="x", color=RULE, linewidth=0.8)
    axes.set_axisbelow(True)
    models = np.array(study.models)
    known = {model: values[(models == model) & np.isfinite(values)] for model in order}
    if not any(found.size for found in known.values()):
        nothing_to_draw(axes, "no values")
    for place, (model, found) in enumerate(known.items()):
        if found.size:
            _box(axes, place, found, looks[model][0])
    axes.set_yticks(range(len(order)), [label(model, _NAME_LENGTH) for model in order])
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def _box(axes: Axes, row: int, values: FloatArray, colour: str) -> None:
    """Quartiles, whiskers to the last value within 1.5 times their distance (Tukey), and what lies beyond."""
    found = boxplot_stats(values)[0]
    axes.barh(row, found["q3"] - found["q1"], 0.6, found["q1"], color=colour, alpha=0.55)
    axes.plot([found["med"]] * 2, [row - 0.3, row + 0.3], color=INK, linewidth=1.5)
    for box_end, whisker in ((found["q1"], found["whislo"]), (found["q3"], found["whishi"])):
        axes.plot([box_end, whisker], [row, row], color=colour, linewidth=1.2)
    beyond = found["fliers"]
    axes.plot(beyond, [row] * len(beyond), ".", color=colour, markersize=4, rasterized=len(beyond) > MANY_POINTS)
