"""Chart of a leaderboard: each category's figures side by side, and figures against the frame rate shown."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vmmetrics.understanding.harness import benchmark
from vmmetrics.understanding.harness.leaderboard import RunBoard, RunRow
from vmmetrics.understanding.harness.statistics import ALL
from vmmetrics.utils.display.canvas import INK, MUTED, NULL, RULE, WIDTH, chart_style, label, model_looks

_LINE = 0.13  # inches of a run in a category
_PAD = 0.13  # inches between categories
_RUN_NAME = 34  # characters of a name
_MOST_PUBLISHED = 3
_PUBLISHED = "|x+"  # no markers of runs


def understanding_chart(board: RunBoard) -> Figure:
    """Draw a leaderboard.

    Args:
        board: From :func:`vmmetrics.understanding.harness.leaderboard.make_boards`.
    """
    curves = rate_curves(board.rows)
    height = (len(board.columns) + 1) * (_LINE * len(board.rows) + _PAD) + 0.5
    key = 0.22 * -(-(len(board.rows) + _MOST_PUBLISHED + 1) // 2)
    title = f"{board.benchmark}: {board.measure}, scored as {board.protocol}"
    with chart_style():
        figure = Figure(figsize=(WIDTH, height + key + 0.9 + (2.9 if curves else 0)), layout="constrained")
        figure.suptitle(label(title, 90), x=0.01, ha="left", fontsize=12)
        ratios = [height, 2.7] if curves else [1.0]
        axes = figure.subplots(len(ratios), 1, squeeze=False, gridspec_kw={"height_ratios": ratios}).ravel().tolist()
        looks = model_looks([row.scores.label for row in board.rows])
        handles = _categories(axes[0], board, looks)
        if curves:
            _rates(axes[1], curves, board, looks)
        figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8)
    return figure


def rate_curves(rows: Sequence[RunRow]) -> dict[str, list[RunRow]]:
    """Return the runs of models shown two or more frame rates, by model, lowest rate first."""
    by_model: dict[str, list[RunRow]] = {}
    for row in rows:
        if row.rate is not None and row.overall.value is not None:
            by_model.setdefault(row.scores.model, []).append(row)
    return {
        model: sorted(of_it, key=lambda row: row.rate or 0.0)
        for model, of_it in by_model.items()
        if len({row.rate for row in of_it}) > 1
    }


def _categories(axes: Axes, board: RunBoard, looks: dict[str, tuple[str, str]]) -> list[Line2D]:
    names = [ALL, *board.columns]
    step = _LINE * len(board.rows) + _PAD
    for index, name in enumerate(names):
        top = index * step
        for line, row in enumerate(board.rows):
            figure = row.overall if name == ALL else row.cells.get(name)
            if figure is not None and figure.value is not None:
                _mark(axes, figure, top + (line + 0.5) * _LINE, looks[row.scores.label])
        bottom = top + step - _PAD
        chance = _first(board, name).chance
        if chance is not None:
            axes.plot([chance, chance], [top, bottom], color=NULL, linewidth=3, zorder=1, solid_capstyle="butt")
        for reference, marker in zip(board.references, _PUBLISHED, strict=False):
            key = (board.measure, ALL if name == ALL else board.group or ALL, name)
            if key in reference.figures:
                axes.plot([reference.figures[key]], [(top + bottom) / 2], marker, color=MUTED, markersize=9, zorder=2)
        if index:
            axes.axhline(top - _PAD / 2, color=RULE, linewidth=0.8)
    ticks = [index * step + (step - _PAD) / 2 for index in range(len(names))]
    axes.set_yticks(ticks, [f"{label(name, _RUN_NAME)} ({_first(board, name).n})" for name in names])
    axes.set_ylim(len(names) * step - _PAD / 2, -_PAD / 2)
    axes.tick_params(axis="y", length=0)
    if board.group is not None:
        axes.set_title(f"by {label(board.group, _RUN_NAME)}")
    axes.set_xlim(*_limits(board))
    axes.set_xlabel(f"{board.measure}, 95 % over videos; in brackets: questions", color=MUTED, loc="left", fontsize=8)
    handles = [
        Line2D([], [], color=colour, marker=marker, linewidth=1.5, markersize=5, label=label(name, 60))
        for name, (colour, marker) in looks.items()
    ]
    if _first(board, ALL).chance is not None:
        handles.append(Line2D([], [], color=NULL, linewidth=3, label="chance"))
    handles += [
        Line2D([], [], color=MUTED, marker=marker, linestyle="", markersize=8, label=f"{reference.model} (published)")
        for reference, marker in zip(board.references, _PUBLISHED, strict=False)
    ]
    return handles


def _first(board: RunBoard, name: str) -> benchmark.Figure:
    if name == ALL:
        return board.rows[0].overall
    return next(row.cells[name] for row in board.rows if name in row.cells)


def _mark(axes: Axes, figure: benchmark.Figure, at: float, look: tuple[str, str], upright: bool = False) -> None:
    """Draw a figure with its interval, horizontal or vertical, at a position on the other axis."""
    colour, marker = look
    ends, middle = ([figure.low, figure.high], [at, at]), ([figure.value], [at])
    if figure.low is not None and figure.high is not None:
        axes.plot(*(ends[::-1] if upright else ends), color=colour, linewidth=1.5, zorder=3)
    axes.plot(*(middle[::-1] if upright else middle), marker, color=colour, markersize=4.5, zorder=4)


def _limits(board: RunBoard) -> tuple[float, float]:
    """Return axis limits from 0 to 1, or to just above the data if far below 1."""
    shown = [figure for row in board.rows for figure in (row.overall, *row.cells.values())]
    ends = [end for figure in shown for end in (figure.value, figure.high) if end is not None]
    ends += [reference.figures[(board.measure, ALL, ALL)] for reference in board.references[:_MOST_PUBLISHED]]
    return -0.02, max(1.02 if max(ends, default=1.0) > 0.6 else max(ends) * 1.1, 0.1)


def _rates(axes: Axes, curves: dict[str, list[RunRow]], board: RunBoard, looks: dict[str, tuple[str, str]]) -> None:
    for model, rows in curves.items():
        rates = [row.rate or 0.0 for row in rows]
        axes.plot(rates, [row.overall.value or 0.0 for row in rows], color=MUTED, linewidth=1, zorder=1)
        for rate, row in zip(rates, rows, strict=True):
            _mark(axes, row.overall, rate, looks[row.scores.label], upright=True)
        name, at = label(model, _RUN_NAME), (rates[-1], rows[-1].overall.value or 0.0)
        axes.annotate(name, at, (8, 0), textcoords="offset points", va="center", fontsize=8, color=INK)
    chance = _first(board, ALL).chance
    if chance is not None:
        axes.axhline(chance, color=NULL, linewidth=3, zorder=0)
    axes.set_xscale("log", base=2)
    every = sorted({row.rate or 0.0 for rows in curves.values() for row in rows})
    axes.set_xticks(every, [f"{rate:.2g}" if rate < 100 else f"{rate:.0f}" for rate in every])
    axes.set_xticks([], minor=True)
    axes.set_ylim(0, 1.02)
    axes.set_title("over all questions, by the frame rate that was shown")
    axes.set_xlabel("frames per second of clip (median over questions)", color=MUTED, loc="left", fontsize=8)
