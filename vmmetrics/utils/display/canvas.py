"""Common parts of charts: fonts, colours, panels, and saving."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib import style as mpl_style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from vmmetrics.utils.display import style
from vmmetrics.utils.display.markup import clean, shortened
from vmmetrics.utils.display.tables import NONE, number
from vmmetrics.utils.statistics.bootstrap import Estimate

WIDTH = 9.0
"""Inches of a full-width chart, which at a README's 900 pixels makes 100 pixels of each."""
MANY_POINTS = 2000
"""More points than this are painted as one image: a vector each would make files of many megabytes."""
_PNG_DPI = 200  # 1,800 pixels wide, sharp on screens with two pixels a point
_MARKERS = "osD^vPX*"


def hexadecimal(colour: style.Colour) -> str:
    """Return a colour as matplotlib and CSS write it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


INK, MUTED, RULE = hexadecimal(style.INK), hexadecimal(style.MUTED), hexadecimal(style.RULE)
METRIC, PEOPLE, NAME = (hexadecimal(style.OBJECTS[index]) for index in (0, 2, 3))
"""Colours of a metric, of human agreement and of the model-name baseline: blue, green and pink of Okabe and Ito."""
NULL = "#b9bfca"
"""Colour of chance level: between MUTED and RULE."""
# their yellow is too pale for a dot on white
MODEL_COLOURS = tuple(hexadecimal(colour) for colour in style.OBJECTS if colour != (240, 228, 66))

# vermilion, white, blue: told apart by colour-blind readers, and by lightness from the middle out; grey is missing
_TWO_ENDS = LinearSegmentedColormap.from_list("change", ["#d55e00", "#ffffff", "#0072b2"])
DIVERGING = _TWO_ENDS.with_extremes(bad="#eceef2")

_STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 9,
    "grid.color": RULE,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.fonttype": "none",  # letters stay letters: they can be searched, and take the page's colour
    "svg.hashsalt": "vmmetrics",
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}


@contextmanager
def chart_style() -> Iterator[None]:
    """Apply the chart style inside the block, independent of the user's matplotlib settings."""
    with mpl_style.context(["default", _STYLE]), warnings.catch_warnings():
        # a name in a script that the font lacks shows as boxes in a PNG and as itself in an SVG
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        yield


def label(name: str, length: int) -> str:
    """Return a user's name as matplotlib writes it literally, cut to ``length`` characters."""
    return shortened(clean(name), length).replace("$", r"\$")


def grid_of(panels: int, columns: int, height: float, *, share_y: bool) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels in rows.

    Args:
        panels: How many, at least 1.
        columns: At most so many in a row.
        height: Inches of a row.
        share_y: True if all have the same vertical axis.
    """
    across = min(panels, columns)
    down = -(-panels // across)
    width = WIDTH * max(across / columns, 0.6)
    figure = Figure(figsize=(width, height * down + 0.5), layout="constrained")
    axes = figure.subplots(down, across, sharey=share_y, squeeze=False).ravel().tolist()
    for spare in axes[panels:]:
        spare.set_visible(False)
    return figure, axes[:panels]


def nothing_to_draw(axes: Axes, reason: str) -> None:
    """Write the reason into an empty panel."""
    axes.set_xticks([])
    axes.text(0.5, 0.5, label(reason, 60), transform=axes.transAxes, ha="center", va="center", color=MUTED, wrap=True)


# Forest plots: a row per estimate, the figure with its interval.

FOREST_ROW = 0.33
"""Inches of a row."""
FOREST_NAME = 26
"""Letters of a row's name."""
ForestMark = tuple[Estimate, str, str, Literal["-", "--"]]
"""Vertical reference line: value, name, colour and dashes."""
_NOTE_LENGTH = 34
_LEADER = {"arrowstyle": "-", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0}


def axis_range(estimates: Sequence[Estimate], low: float, high: float) -> tuple[float, float]:
    """Return the range from ``low`` to ``high``, widened to hold every estimate and its interval."""
    ends = [end for e in estimates for end in (e.value, e.low, e.high) if end is not None]
    return min([low, *ends]), max([high, *ends])


def forest(
    axes: Axes,
    estimates: Sequence[Estimate],
    limits: tuple[float, float],
    chance: float,
    marks: Sequence[ForestMark] = (),
) -> None:
    """Draw a forest plot, the first estimate on top; one without a value has its note.

    Args:
        axes: Where.
        estimates: One per row.
        limits: Ends of the axis.
        chance: Where a line stands for chance.
        marks: Vertical lines of reference.
    """
    axes.set_ylim(len(estimates) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_xlim(*limits)
    axes.axvline(chance, color=MUTED, linewidth=0.8, zorder=1)
    for height, (estimate, name, colour, dashes) in enumerate(marks):
        if estimate.value is None:
            continue
        if estimate.low is not None and estimate.high is not None:
            axes.axvspan(estimate.low, estimate.high, color=colour, alpha=0.13, linewidth=0, zorder=0)
        axes.axvline(estimate.value, color=colour, linestyle=dashes, linewidth=1.5, zorder=1.2)
        axes.annotate(
            f"{name} {number(estimate.value)}", (estimate.value, 1), (0, 3 + 12 * height),
            xycoords=("data", "axes fraction"), textcoords="offset points", ha="center", fontsize=8, color=colour,
            arrowprops=_LEADER | {"color": colour} if height else None,
        )  # fmt: skip
    edge = axes.get_yaxis_transform()
    for row, estimate in enumerate(estimates):
        if estimate.value is None:
            why = label(estimate.note or "", _NOTE_LENGTH)
            axes.text(0.02, row, f"{NONE}  {why}", transform=edge, va="center_baseline", fontsize=8, color=MUTED)
            continue
        if estimate.low is not None and estimate.high is not None:
            axes.plot([estimate.low, estimate.high], [row, row], color=METRIC, linewidth=2, zorder=3)
        axes.plot([estimate.value], [row], "o", color=METRIC, markersize=6, zorder=4)
        axes.text(1.01, row, number(estimate.value), transform=edge, va="center_baseline", fontsize=8.5, color=INK)


def model_looks(models: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the colour and marker of each model; unlike for the first 40."""
    looks = {}
    for index, model in enumerate(models):
        colours = len(MODEL_COLOURS)
        looks[model] = MODEL_COLOURS[index % colours], _MARKERS[index // colours % len(_MARKERS)]
    return looks


def both_finite(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return an (N,) mask of the positions where both values are finite."""
    defined: np.ndarray = np.isfinite(first) & np.isfinite(second)
    return defined


def to_svg(figure: Figure) -> str:
    """Return a chart as SVG: no date in it, the same bytes each time."""
    file = io.StringIO()
    with chart_style():
        FigureCanvasSVG(figure)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def save_charts(charts: Mapping[str, Figure], folder: Path, suffix: str = ".png") -> list[Path]:
    """Write charts to ``folder`` (made where it is missing), named after their keys.

    Args:
        charts: From :func:`~vmmetrics.alignment.report.charts.draw_charts`.
        folder: Target.
        suffix: ``.png`` or ``.svg``.

    Returns:
        The files written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for key, figure in charts.items():
        stem = re.sub(r"[^\w.-]+", "-", key).strip("-.") or "chart"
        path, number = folder / f"{stem}{suffix}", 2
        while path in paths:  # names that differ only in what a file name cannot hold
            path, number = folder / f"{stem}-{number}{suffix}", number + 1
        if suffix == ".svg":
            path.write_text(to_svg(figure), encoding="utf-8")
        else:
            with chart_style():
                FigureCanvasAgg(figure)
                figure.savefig(path, dpi=_PNG_DPI, facecolor="white", metadata={"Software": None})
        paths.append(path)
    return paths
