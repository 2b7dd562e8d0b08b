"""Scatter plots, a panel per metric: score against rating, and calibration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy import stats
from scipy.optimize import isotonic_regression

from vmmetrics.alignment.results import PairAlignment, StudyReport
from vmmetrics.alignment.study import Study
from vmmetrics.types import FloatArray
from vmmetrics.utils.display import canvas
from vmmetrics.utils.display.canvas import METRIC, MUTED, label
from vmmetrics.utils.display.tables import number

_COLUMNS, _HEIGHT = 3, 2.35
_NAME_LENGTH = 22
_LETTER = 0.075  # inches of a letter of the legend
_MOST_BARS = 400  # more rater bars than this are a grey field
_MOST_STEPS, _SPREAD = 60, 0.8  # unlike ratings that show as lines, and how much of a step clips are spread over
_MOST_MODELS = 24  # more colours than this tell nothing
_CLIPS_PER_BIN, _MOST_BINS = 8, 10
_CONFIDENCE = 0.95


def scatter_chart(study: Study, report: StudyReport, dimension: str) -> Figure:
    """Score against mean rating, a bar from the lowest to the highest rater, a colour per model.

    Args:
        study: Scores and ratings.
        report: The correlations in the titles.
        dimension: What people judged; the study has ratings of it.
    """
    figure, panels = _panels(report, dimension)
    models = sorted({model for model in study.models if model})
    looks = canvas.model_looks(models) if len(models) <= _MOST_MODELS else {}
    for axes, pair in panels:
        axes.margins(0.06)
        pooled, within = number(pair.spearman.value), number(pair.within_model.mean.value)
        axes.set_title(f"{label(pair.metric, _NAME_LENGTH)}\n", fontweight="bold")
        axes.text(0, 1.03, f"ρ {pooled}, within model {within}", transform=axes.transAxes, fontsize=8)
        _cloud(axes, study, pair, looks)
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="", label=label(model, _NAME_LENGTH))
        for model, (colour, marker) in looks.items()
    ]
    if handles:
        longest = max(len(str(handle.get_label())) for handle in handles)
        fitting = int(float(figure.get_size_inches()[0]) / (0.45 + _LETTER * longest))
        columns = max(1, min(len(handles), fitting))
        figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    return figure


def _panels(report: StudyReport, dimension: str) -> tuple[Figure, list[tuple[Axes, PairAlignment]]]:
    """Return a figure with a panel per metric, the best first."""
    pairs = report.ranked(dimension)
    figure, panels = canvas.grid_of(len(pairs), _COLUMNS, _HEIGHT, share_y=True)
    for index, axes in enumerate(panels):
        axes.grid()
        if index % _COLUMNS == 0:
            axes.set_ylabel(f"people: {label(dimension, 18)}")
    return figure, list(zip(panels, pairs, strict=True))


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


def calibration_chart(study: Study, report: StudyReport, dimension: str) -> Figure:
    """Draw the mean rating in quantile bins of the score, and the isotonic fit.

    Args:
        study: Scores and ratings.
        report: Which metrics, in which order.
        dimension: What people judged; the study has ratings of it.
    """
    figure, panels = _panels(report, dimension)
    prompts, rating = np.unique(np.array(study.prompts), return_inverse=True)[1], study.mean_rating(dimension)
    for axes, pair in panels:
        axes.set_title(label(pair.metric, _NAME_LENGTH), fontweight="bold")
        _calibration(axes, study.scores[pair.metric], rating, prompts)
    bins = Line2D([], [], color=METRIC, marker="o", linestyle="", label="clips of like score, 95 % over prompts")
    fit = Line2D([], [], color=canvas.PEOPLE, linewidth=1.5, label="best rising fit")
    mean = Line2D([], [], color=MUTED, linewidth=0.8, linestyle="--", label="mean of all")
    figure.legend(handles=[bins, fit, mean], loc="outside lower center", ncols=3)
    return figure


def _calibration(axes: Axes, score: FloatArray, rating: FloatArray, prompts: np.ndarray) -> None:
    both = canvas.both_finite(score, rating)
    if not both.any():
        canvas.nothing_to_draw(axes, "no clip has a score and a rating")
        return
    bins = rating_bins(score[both], rating[both], prompts[both])
    axes.axhline(float(rating[both].mean()), color=MUTED, linewidth=0.8, linestyle="--", zorder=1)
    levels, level_index = np.unique(score[both], return_inverse=True)
    counts = np.bincount(level_index)
    means = np.bincount(level_index, rating[both]) / counts
    fit = isotonic_regression(means, weights=counts)
    corners = np.unique([fit.blocks[:-1], fit.blocks[1:] - 1])  # it is flat between them
    axes.plot(levels[corners], fit.x[corners], color=canvas.PEOPLE, linewidth=1.5, zorder=2)
    for point in bins:
        if point.half is not None:
            ends = (point.rating - point.half, point.rating + point.half)
            axes.plot([point.score, point.score], ends, color=METRIC, linewidth=1.5, zorder=3)
        axes.plot([point.score], [point.rating], "o", color=METRIC, markersize=5, zorder=4)


class RatingBin(NamedTuple):
    """Clips in one quantile bin of the score.

    Attributes:
        score: Their mean score.
        rating: Their mean rating.
        half: Half the width of its 95 % interval, None for one prompt.
        clips: How many they are.
    """

    score: float
    rating: float
    half: float | None
    clips: int


def rating_bins(score: FloatArray, rating: FloatArray, prompts: np.ndarray) -> list[RatingBin]:
    """Return the mean rating in quantile bins of the score; clips of equal score share a bin.

    The interval is Student's with clips of one prompt counted as one (sandwich variance of a mean over clusters).

    Args:
        score: (N,) finite.
        rating: (N,) finite.
        prompts: (N,) whole number per prompt.
    """
    count = int(np.clip(len(score) // _CLIPS_PER_BIN, 1, _MOST_BINS))
    edges = np.unique(np.quantile(score, np.linspace(0, 1, count + 1)[1:-1]))
    member = np.digitize(score, edges)
    bins = []
    for bin_number in np.unique(member):
        chosen = member == bin_number
        mean = float(rating[chosen].mean())
        totals = np.bincount(prompts[chosen], rating[chosen] - mean)
        clusters = len(np.unique(prompts[chosen]))
        half = None
        if clusters > 1:
            variance = float((totals**2).sum()) / int(chosen.sum()) ** 2 * clusters / (clusters - 1)
            half = float(stats.t.ppf((1 + _CONFIDENCE) / 2, clusters - 1)) * variance**0.5
        bins.append(RatingBin(float(score[chosen].mean()), mean, half, int(chosen.sum())))
    return bins
