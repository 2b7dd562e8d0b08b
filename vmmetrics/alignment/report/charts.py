"""The charts of an alignment study."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import boxplot_stats
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.optimize import isotonic_regression

from vmmetrics.alignment.claims import hardly_varies
from vmmetrics.alignment.levels import LEAST_SHARED
from vmmetrics.alignment.report.comparisons import accuracies_of
from vmmetrics.alignment.report.tables import dimensions_of, study_of
from vmmetrics.alignment.results import Matrix, PairAlignment
from vmmetrics.alignment.study import Study
from vmmetrics.alignment.study_results import StudyReport
from vmmetrics.types import FloatArray
from vmmetrics.utils.display import canvas
from vmmetrics.utils.display.canvas import (
    FOREST_NAME,
    FOREST_ROW,
    INK,
    METRIC,
    MUTED,
    ForestMark,
    axis_range,
    forest,
    label,
    save_charts,
    to_svg,
)
from vmmetrics.utils.display.tables import MINUS, NONE, number

# Forest plots: a row per metric, its figure with the interval, between what people reach and what chance does.

_REFERENCE_LABELS = {"single rater": "single rater against the others", "model's name": "model's name alone"}


def intervals_chart(report: StudyReport, dimension: str) -> Figure:
    """Draw pooled and within-model ρ of each metric with intervals.

    Args:
        report: The report.
        dimension: What people judged.
    """
    pairs = [pair for pair in report.ranked(dimension) if not hardly_varies(pair)]
    people = next((agreement for agreement in report.ceilings if agreement.dimension == dimension), None)
    baseline = next((candidate for candidate in report.baselines if candidate.dimension == dimension), None)
    shuffled = [pair.shuffled for pair in pairs]
    marks_left: list[ForestMark] = [(people.overall, "single rater", canvas.PEOPLE, "-")] if people else []
    marks_left += [(baseline.overall, "model's name", canvas.NAME, "--")] if baseline else []
    marks_right: list[ForestMark] = [(people.within_model, "single rater", canvas.PEOPLE, "-")] if people else []
    panels = (
        ("over all clips", [pair.spearman for pair in pairs], marks_left),
        ("within model (mean over models)", [pair.within_model.mean for pair in pairs], marks_right),
    )
    figure = Figure(figsize=(canvas.WIDTH, FOREST_ROW * max(len(pairs), 2) + 1.7), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True).tolist()
    shown = [*shuffled, *(e for _, estimates, marks in panels for e in (*estimates, *(mark[0] for mark in marks)))]
    low, high = axis_range(shown, -0.1, 0.8)
    for axes, (title, estimates, marks) in zip((left, right), panels, strict=True):
        forest(axes, estimates, (max(-1.05, min(low, 0.0) - 0.05), min(1.05, max(high, 0.0) + 0.05)), 0, marks)
        axes.set_title(title, pad=32, fontweight="bold")
        axes.set_xlabel(f"Spearman's ρ with {label(dimension, 22)}")
    for row, null in enumerate(shuffled):
        if null.low is not None and null.high is not None:
            ends = [null.low, null.high]
            left.plot(ends, [row, row], color=canvas.NULL, linewidth=7, solid_capstyle="butt", zorder=1.5)
    left.set_yticks(range(len(pairs)), [label(pair.metric, FOREST_NAME) for pair in pairs])
    handles = [Line2D([], [], color=METRIC, marker="o", linewidth=2, label="metric, 95 % over prompts")]
    if any(null.low is not None for null in shuffled):
        handles.append(Line2D([], [], color=canvas.NULL, linewidth=7, label="ratings shuffled inside models"))
    for estimate, name, colour, dashes in marks_left:
        if estimate.value is not None:
            handles.append(Line2D([], [], color=colour, linewidth=1.5, linestyle=dashes, label=_REFERENCE_LABELS[name]))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def accuracy_chart(report: StudyReport, dimension: str) -> Figure:
    """Draw the preference accuracy of each metric and combination, with chance level.

    Args:
        report: The report.
        dimension: What people preferred by.
    """
    here = accuracies_of(report, dimension)
    figure = Figure(figsize=(canvas.WIDTH * 0.7, FOREST_ROW * len(here) + 1.1), layout="constrained")
    axes = figure.subplots()
    estimates = [accuracy.accuracy for accuracy in here]
    low, high = axis_range(estimates, 0.4, 0.8)
    forest(axes, estimates, (low - 0.02, high + 0.02), 0.5)
    axes.set_yticks(range(len(here)), [label(accuracy.name, FOREST_NAME) for accuracy in here])
    axes.set_xlabel(f"share of pairs preferred as people do: {label(dimension, 30)} (0.5 is chance)")
    return figure


# Two overviews of a study: correlations between metrics, and how scores and ratings spread over the models.

_COLUMNS = 3
_SQUARES_NAME = 20
_LETTER = 0.078  # inches of a letter
_DARK_CELL = 0.6  # |ρ| above which letters are white


def matrix_chart(matrix: Matrix) -> Figure:
    """Draw Spearman of every metric with every other and with people; without numbers for under ten clips.

    Args:
        matrix: The correlations.
    """
    size = len(matrix.names)
    cell = min(0.62, (canvas.WIDTH - 2.0) / max(size, 1))
    names = [label(name, _SQUARES_NAME) for name in matrix.names[: matrix.metrics]]
    names += [f"people: {label(name, _SQUARES_NAME - 8)}" for name in matrix.names[matrix.metrics :]]
    longest = _LETTER * max(map(len, names))
    side = cell * max(size, 3)
    figure = Figure(figsize=(side + longest + 1.2, side + 0.75 * longest + 0.3), layout="compressed")
    axes = figure.subplots()
    values = np.ma.masked_invalid(np.where(matrix.counts < LEAST_SHARED, np.nan, matrix.values))
    edges = np.arange(size + 1) - 0.5
    mesh = axes.pcolormesh(
        edges, edges, values, cmap=canvas.DIVERGING, vmin=-1, vmax=1, edgecolors="white", linewidth=1
    )
    axes.set_aspect("equal")
    axes.set_ylim(size - 0.5, -0.5)
    axes.set_xticks(range(size), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(size), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    letters = float(np.clip(cell * 17, 4.5, 9))
    for (row, column), value in np.ndenumerate(values.filled(np.nan)):
        colour = "white" if abs(value) > _DARK_CELL else "black"
        axes.text(column, row, _short(float(value)), ha="center", va="center", fontsize=letters, color=colour)
    if 0 < matrix.metrics < size:
        for line in (axes.axhline, axes.axvline):
            line(matrix.metrics - 0.5, color=INK, linewidth=1.5)
    bar = figure.colorbar(mesh, ax=axes, shrink=0.5, aspect=18, label="Spearman's ρ")
    bar.outline.set_visible(False)
    return figure


def _short(value: float) -> str:
    """Return two decimals, without the nought in front."""
    if np.isnan(value):
        return NONE
    text = f"{abs(value):.2f}"
    text = text[1:] if text.startswith("0") else text
    return f"{MINUS}{text}" if value < -0.005 else text


def models_chart(study: Study, report: StudyReport, dimension: str) -> Figure:
    """Draw box plots over each model's clips: ratings first, then the paired scores.

    Args:
        study: Scores and ratings; at least one model is known.
        report: Which metrics, in which order.
        dimension: What people judged; the study has ratings of it.
    """
    rating = study.mean_rating(dimension)
    pairs = report.ranked(dimension)
    titles = [f"people: {label(dimension, 14)}", *(label(pair.metric, _SQUARES_NAME) for pair in pairs)]
    columns = [rating, *(study.scores[pair.metric] for pair in pairs)]
    models = np.array(study.models)
    means = {
        model: float(rating[rated].mean()) if (rated := (models == model) & np.isfinite(rating)).any() else -np.inf
        for model in sorted({model for model in study.models if model})
    }
    order = sorted(means, key=lambda model: -means[model])  # those without last
    looks = canvas.model_looks(sorted(order))
    figure, grid = canvas.grid_of(len(titles), _COLUMNS, 0.7 + 0.27 * len(order), share_y=True)
    for axes, title, values in zip(grid, titles, columns, strict=True):
        axes.set_title(title, fontweight="bold")
        axes.use_sticky_edges = False
        axes.grid(axis="x")
        boxes = [values[(models == model) & np.isfinite(values)] for model in order]
        if not any(box.size for box in boxes):
            canvas.nothing_to_draw(axes, "no values")
        for row, (model, box) in enumerate(zip(order, boxes, strict=True)):
            if box.size:
                _box(axes, row, box, looks[model][0])
        axes.set_yticks(range(len(order)), [label(model, _SQUARES_NAME) for model in order])
        axes.set_ylim(len(order) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
    return figure


def _box(axes: Axes, row: int, values: FloatArray, colour: str) -> None:
    """Draw quartiles, whiskers to the last value within 1.5 times their distance (Tukey), and outliers."""
    stats = boxplot_stats(values)[0]
    axes.barh(row, stats["q3"] - stats["q1"], 0.6, stats["q1"], color=colour, alpha=0.55)
    axes.plot([stats["med"]] * 2, [row - 0.3, row + 0.3], color=INK, linewidth=1.5)
    for box_end, whisker in ((stats["q1"], stats["whislo"]), (stats["q3"], stats["whishi"])):
        axes.plot([box_end, whisker], [row, row], color=colour, linewidth=1.2)
    beyond = stats["fliers"]
    axes.plot(beyond, [row] * len(beyond), ".", color=colour, markersize=4, rasterized=len(beyond) > canvas.MANY_POINTS)


# Scatter plots, a panel per metric: score against rating.

_HEIGHT = 2.35
_NAME_LENGTH = 22
_LEGEND_LETTER = 0.075  # inches of a letter of the legend
_MOST_BARS = 400  # more rater bars than this are a grey field
_MOST_STEPS, _SPREAD = 60, 0.8  # unlike ratings that show as lines, and how much of a step clips are spread over
_MOST_MODELS = 24  # more colours than this tell nothing


def scatter_chart(study: Study, report: StudyReport, dimension: str) -> Figure:
    """Draw score against mean rating: a colour per model, a bar from lowest to highest rater, and the best rising fit.

    Args:
        study: Scores and ratings.
        report: The correlations in the titles.
        dimension: What people judged; the study has ratings of it.
    """
    pairs = report.ranked(dimension)
    figure, panels = canvas.grid_of(len(pairs), _COLUMNS, _HEIGHT, share_y=True)
    models = sorted({model for model in study.models if model})
    looks = canvas.model_looks(models) if len(models) <= _MOST_MODELS else {}
    for position, (axes, pair) in enumerate(zip(panels, pairs, strict=True)):
        axes.grid()
        if position % _COLUMNS == 0:
            axes.set_ylabel(f"people: {label(dimension, 18)}")
        axes.margins(0.06)
        pooled, within = number(pair.spearman.value), number(pair.within_model.mean.value)
        axes.set_title(f"{label(pair.metric, _NAME_LENGTH)}\n", fontweight="bold")
        axes.text(0, 1.03, f"ρ {pooled}, within model {within}", transform=axes.transAxes, fontsize=8)
        _cloud(axes, study, pair, looks)
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="", label=label(model, _NAME_LENGTH))
        for model, (colour, marker) in looks.items()
    ]
    handles.append(Line2D([], [], color=INK, linewidth=1.5, label="best rising fit"))
    longest = max(len(str(handle.get_label())) for handle in handles)
    fitting = int(float(figure.get_size_inches()[0]) / (0.45 + _LEGEND_LETTER * longest))
    columns = max(1, min(len(handles), fitting))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    return figure


def _cloud(axes: Axes, study: Study, pair: PairAlignment, looks: dict[str, tuple[str, str]]) -> None:
    score, rating = study.scores[pair.metric], study.mean_rating(pair.dimension)
    both = canvas.both_finite(score, rating)
    if not both.any():
        canvas.nothing_to_draw(axes, "no clip has a score and a rating")
        return
    ratings = study.ratings[pair.dimension][both]
    if ratings.shape[1] > 1 and both.sum() <= _MOST_BARS:
        low, high = np.nanmin(ratings, axis=1), np.nanmax(ratings, axis=1)
        # one path for all, broken by NaN: a path each would make the page twice as large
        ends = np.stack([low, high, np.full(len(low), np.nan)], axis=1).ravel()
        axes.plot(np.repeat(score[both], 3), ends, color=MUTED, linewidth=0.7, alpha=0.35, zorder=1)
    _rising_fit(axes, score[both], rating[both])
    models = np.array(study.models)
    if both.sum() > canvas.MANY_POINTS:
        _mist(axes, score[both], rating[both], models[both], looks)
        return
    unnamed = both & ~np.isin(models, list(looks))
    groups = [(unnamed, METRIC, "o"), *((both & (models == model), *look) for model, look in looks.items())]
    for chosen, colour, marker in groups:
        axes.plot(
            score[chosen], rating[chosen], linestyle="", marker=marker, color=colour, markersize=4.5,
            markeredgewidth=0, alpha=0.8,
        )  # fmt: skip


def _rising_fit(axes: Axes, score: FloatArray, rating: FloatArray) -> None:
    """Draw the isotonic fit of the mean rating along the score."""
    levels, level = np.unique(score, return_inverse=True)
    counts = np.bincount(level)
    fit = isotonic_regression(np.bincount(level, rating) / counts, weights=counts)
    corners = np.unique([fit.blocks[:-1], fit.blocks[1:] - 1])  # it is flat between them
    axes.plot(levels[corners], fit.x[corners], color=INK, linewidth=1.5, zorder=3)


def _mist(
    axes: Axes, score: FloatArray, rating: FloatArray, models: np.ndarray, looks: dict[str, tuple[str, str]]
) -> None:
    """Paint many clips in random order, jittered where ratings are discrete."""
    rng = np.random.default_rng(0)
    steps = np.diff(np.unique(rating))
    if 0 < len(steps) < _MOST_STEPS:
        rating = rating + rng.uniform(-0.5, 0.5, len(rating)) * _SPREAD * steps.min()
        axes.set_title("jittered", loc="right", fontsize=7, color=MUTED)
    order = rng.permutation(len(score))
    colours = np.array([looks[model][0] if model in looks else METRIC for model in models])
    size = float(np.clip(2e4 / len(score), 0.4, 4))
    axes.scatter(score[order], rating[order], size, colours[order].tolist(), alpha=0.5, linewidths=0, rasterized=True)


__all__ = ["draw_charts", "save_charts", "to_svg"]


def draw_charts(study: Study, report: StudyReport) -> dict[str, Figure]:
    """Draw everything that a study has data for.

    Args:
        study: What ``align`` was called with.
        report: What it returned.

    Returns:
        Key to figure: ``intervals-<dimension>`` (the main chart), ``scatter-<dimension>`` and, where models are known,
        ``models-<dimension>`` for each dimension with a metric; ``accuracy-<dimension>`` for each with preferences;
        ``matrix``.
    """
    charts: dict[str, Figure] = {}
    study = study_of(study, report)
    with canvas.chart_style():
        for dimension in filter(report.ranked, dimensions_of(report)):
            charts[f"intervals-{dimension}"] = intervals_chart(report, dimension)
            if dimension in study.ratings:
                charts[f"scatter-{dimension}"] = scatter_chart(study, report, dimension)
                if any(study.models):
                    charts[f"models-{dimension}"] = models_chart(study, report, dimension)
        for dimension in dict.fromkeys(accuracy.dimension for accuracy in report.preferences):
            charts[f"accuracy-{dimension}"] = accuracy_chart(report, dimension)
        if report.matrix.names:
            charts["matrix"] = matrix_chart(report.matrix)
    return charts
