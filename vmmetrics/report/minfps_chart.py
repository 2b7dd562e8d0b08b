"""The picture of minFPS over a benchmark's questions: how many need which rate, and how categories differ."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from vmmetrics.report.alignment_canvas import FAINT, INK, METRIC, RULE, WIDTH, chart_style, label
from vmmetrics.understanding.minfps import NEVER, Distribution

_ROW = 0.3  # inches of a category
_NAME = 40  # characters of its name


def minfps_chart(found: Sequence[Distribution], title: str) -> Figure:
    """Draw a histogram over all questions, and the quartiles of each category.

    Args:
        found: From :func:`vmmetrics.understanding.minfps.distributions`, all questions first.
        title: What stands above.
    """
    categories = [one for one in found[1:] if one.quartiles is not None]
    with chart_style():
        height = 2.6 + (_ROW * len(categories) + 0.9 if categories else 0)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        ratios = [2.4, _ROW * len(categories) + 0.8] if categories else [1.0]
        axes = figure.subplots(len(ratios), 1, squeeze=False, gridspec_kw={"height_ratios": ratios}).ravel().tolist()
        _histogram(axes[0], found[0])
        if categories:
            _quartiles(axes[1], categories)
        figure.suptitle(label(title, 90), x=0.01, ha="left", fontsize=12)
    return figure


def _histogram(axes: Axes, found: Distribution) -> None:
    names, counts = list(found.buckets), list(found.buckets.values())
    colours = [RULE if name == NEVER else METRIC for name in names]
    axes.bar(range(len(names)), counts, color=colours, width=0.8)
    for x, count in enumerate(counts):
        axes.text(x, count, f"{count:,}" if count else "", ha="center", va="bottom", color=FAINT, fontsize=8)
    axes.set_xticks(range(len(names)), names)
    axes.tick_params(axis="x", length=0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    mean = "" if found.mean is None else f", mean {found.mean:.2f}"
    axes.set_title(f"{found.n:,} questions by minFPS, frames per second{mean}")


def _quartiles(axes: Axes, categories: Sequence[Distribution]) -> None:
    for y, one in enumerate(categories):
        if one.quartiles is not None:
            low, middle, high = one.quartiles
            axes.plot([low, high], [y, y], color=METRIC, linewidth=5, alpha=0.45, solid_capstyle="butt")
            axes.plot([middle], [y], "o", color=INK, markersize=4.5)
    names = [f"{label(one.name, _NAME)} ({one.n - one.never})" for one in categories]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(left=0)
    axes.set_xlabel("minFPS: median and quartiles; in brackets: questions", color=FAINT, loc="left", fontsize=8)
