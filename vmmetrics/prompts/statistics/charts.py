"""Charts of a prompt list (patterns, tags, lengths, coverage, nearest neighbours), and of two side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from vmmetrics.prompts.checks import LONGEST, SHORTEST
from vmmetrics.prompts.entry import PATTERNS
from vmmetrics.prompts.statistics.diversity import NEAR_DUPLICATE
from vmmetrics.prompts.statistics.measures import FIGURES, TAG_VALUES
from vmmetrics.prompts.statistics.report import NEAREST_STEP, ListComparison, ListStatistics
from vmmetrics.prompts.statistics.tables import shown
from vmmetrics.utils.display import style
from vmmetrics.utils.display.canvas import MUTED, RULE, WIDTH, chart_style, hexadecimal, label, nothing_to_draw

PATTERN_COLOURS: Mapping[str, str] = {
    **{pattern: hexadecimal(style.OBJECTS[index]) for index, pattern in enumerate(PATTERNS[:5])},
    PATTERNS[5]: "#a3770a",  # for the palette's sixth, a yellow too pale for a dot on white
    "": MUTED,
}
COLOURS = hexadecimal(style.OBJECTS[0]), hexadecimal(style.OBJECTS[1])
"""Colours of two lists side by side."""
CLASSES = 40
"""Most rows of the coverage chart: the classes with most actions."""


def statistics_chart(statistics: ListStatistics) -> Figure:
    """Draw a list on one page."""
    with chart_style():
        figure = Figure(figsize=(WIDTH, 12.5), layout="constrained")
        _coverage(_panels(figure, [statistics], (1.0, 1.6, 3.0)), statistics)
        figure.suptitle(f"{label(statistics.name, 60)}: {statistics.prompts:,} prompts", x=0.01, ha="left", fontsize=12)
    return figure


def _panels(figure: Figure, lists: Sequence[ListStatistics], heights: Sequence[float]) -> Axes:
    """Draw the four panels that one list and two have alike; return the empty one below them."""
    cells = figure.add_gridspec(3, 2, height_ratios=heights)
    for number, draw in enumerate((_patterns, _lengths, _tags, _nearest)):
        draw(figure.add_subplot(cells[divmod(number, 2)]), lists)
    return figure.add_subplot(cells[2, :])


def _empty(axes: Axes, why: str) -> None:
    nothing_to_draw(axes, why)
    axes.set_yticks([])


def _rows(axes: Axes, names: Sequence[str], **letters: Any) -> None:
    """Label the rows of bars, the first at the top."""
    axes.set_yticks(range(len(names)), names, **letters)
    axes.tick_params(axis="y", length=0)


def _as_shares(axis: Axis) -> None:
    axis.set_major_formatter(lambda value, _: f"{value:.0%}")


def _below(axes: Axes, text: str) -> None:
    axes.set_xlabel(text, color=MUTED, loc="left", fontsize=8)


def _patterns(axes: Axes, lists: Sequence[ListStatistics]) -> None:
    """Draw a bar per pattern in its own colour; for two lists two bars in the lists' colours."""
    axes.set_title("prompts of each pattern")
    alone = len(lists) == 1
    if alone and list(lists[0].patterns) == [""]:
        _empty(axes, "the list has no patterns")
        return
    names = list(dict.fromkeys(pattern for one in lists for pattern in one.patterns))
    for one, colour, shift in zip(lists, COLOURS, (0.0,) if alone else (-0.2, 0.2), strict=False):
        counts = [one.patterns.get(name, 0) for name in names]
        colours = [PATTERN_COLOURS[name] for name in names] if alone else colour
        axes.barh(np.arange(len(names)) + shift, counts, color=colours, height=0.7 if alone else 0.36)
        for y, name in enumerate(names):
            text = f" {counts[y]:,}" if name in one.patterns else ""
            axes.text(counts[y], y + shift, text, va="center", color=MUTED, fontsize=8 if alone else 7)
    _rows(axes, [name or "(no pattern)" for name in names], fontsize=9 if alone else 8)
    axes.set_xlim(0, 1.15 * max(max(one.patterns.values()) for one in lists))
    axes.invert_yaxis()


def _lengths(axes: Axes, lists: Sequence[ListStatistics]) -> None:
    axes.set_title("words of a prompt, share of the list")
    axes.axvspan(SHORTEST - 0.5, LONGEST + 0.5, color=RULE, alpha=0.5, linewidth=0)
    for one, colour in zip(lists, COLOURS, strict=False):
        counts = one.lengths.counts
        words = np.arange(min(counts), max(counts) + 1)
        shares = np.array([counts.get(int(word), 0) for word in words]) / one.prompts
        axes.stairs(shares, np.append(words, words[-1] + 1) - 0.5, color=colour, fill=True, alpha=0.5)
        axes.axvline(one.lengths.quantiles[2], color=colour, linewidth=1.5)
    _as_shares(axes.yaxis)
    within = ", ".join(f"{one.lengths.within:.1%}" for one in lists)
    _below(axes, f"words; lines: medians, grey: {SHORTEST} to {LONGEST} ({within} of the prompts)")


def _tags(axes: Axes, lists: Sequence[ListStatistics]) -> None:
    """Draw a row per tag and value, with a bar for each list that has tags."""
    axes.set_title("tags, share of all prompts")
    tagged = [(one, colour) for one, colour in zip(lists, COLOURS, strict=False) if one.tags]
    if not tagged:
        _empty(axes, "the list has no tags" if len(lists) == 1 else "neither list has tags")
        return
    pairs = [(tag, value) for tag, values in TAG_VALUES.items() for value in values]
    rows = [(tag, value) for tag, value in pairs if any(value in one.tags[tag] for one, _ in tagged)]
    for (one, colour), shift in zip(tagged, (0.0,) if len(tagged) == 1 else (-0.2, 0.2), strict=True):
        shares = [one.tags[tag].get(value, 0) / one.prompts for tag, value in rows]
        bars = axes.barh(np.arange(len(rows)) + shift, shares, color=colour, height=0.72 / len(tagged))
        if len(lists) == 1:
            axes.bar_label(bars, [f" {share:.0%}" for share in shares], color=MUTED, fontsize=6)
    _rows(axes, [f"{tag}: {value}" for tag, value in rows], fontsize=6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    _as_shares(axes.xaxis)
    without = [f"{label(one.name, 30)} has no tags" for one in lists if not one.tags]
    _below(axes, ", ".join(without))


def _nearest(axes: Axes, lists: Sequence[ListStatistics]) -> None:
    axes.set_title("nearest neighbour of each prompt, share of the list")
    measured = [(one, colour) for one, colour in zip(lists, COLOURS, strict=False) if one.nearest]
    if not measured:
        _empty(axes, "not measured")
        return
    for one, colour in measured:
        lefts = np.array(list(one.nearest))
        shares = np.array(list(one.nearest.values())) / one.sampled
        axes.bar(lefts, shares, width=NEAREST_STEP, align="edge", color=colour, alpha=0.5)
        axes.axvline(1 - one.figures["distance"], color=colour, linewidth=1.5)
    axes.axvline(NEAR_DUPLICATE, color=hexadecimal(style.FAULT), linewidth=1)
    _as_shares(axes.yaxis)
    pairs = ", ".join(f"{one.figures['pairs']:.0f} pairs of {one.sampled:,}" for one, _ in measured)
    _below(axes, f"cosine; lines: means, red: near-duplicates ({pairs})")


def _coverage(axes: Axes, statistics: ListStatistics) -> None:
    kinds: dict[str, Counter[str]] = {}
    for (kind, _), actions in statistics.coverage.items():
        kinds.setdefault(kind, Counter()).update(actions.keys())
    rows = sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind))[:CLASSES]
    spread = Counter(action for actions in kinds.values() for action in actions)
    shown = {action for kind in rows for action in kinds[kind]}
    # shared actions to the left, then each row's own: what a list has only once makes a staircase
    top = {action: next(y for y, kind in enumerate(rows) if action in kinds[kind]) for action in shown}
    order = sorted(shown, key=lambda action: (-spread[action], top[action], action))
    columns = {action: x for x, action in enumerate(order)}
    by_class = any(pattern for _, pattern in statistics.coverage)
    one, many = ("class", "classes") if by_class else ("noun", "nouns")
    axes.set_title(
        f"who does what: {len(rows)} of {len(kinds):,} {many}, "
        f"{len(columns):,} of {len(spread):,} actions, a dot for each pair"
    )
    if not rows:
        nothing_to_draw(axes, "the list gives neither classes nor subjects")
        return
    for pattern, colour in PATTERN_COLOURS.items():
        counts = [statistics.coverage.get((kind, pattern), ()) for kind in rows]
        points = [(columns[action], y) for y, actions in enumerate(counts) for action in actions]
        if points:
            name, dots = pattern or "no pattern", np.array(points).T
            axes.plot(*dots, "o", markersize=2.2, color=colour, markeredgewidth=0, label=name)
    _rows(axes, [f"{label(kind, 28)}  {len(kinds[kind])}" for kind in rows], fontsize=6.5)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-1, len(columns))
    axes.grid(axis="y", color=RULE, linewidth=0.5)
    axes.set_axisbelow(True)
    _below(axes, f"actions, those of most {many} first; beside a {one} the number of its actions")
    if by_class:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.055), ncols=6, fontsize=7, markerscale=2,
                    columnspacing=1.0, handletextpad=0.2)  # fmt: skip


# The picture of two prompt lists side by side.


def comparison_chart(comparison: ListComparison) -> Figure:
    """Draw two lists on one page."""
    both = comparison.first, comparison.second
    with chart_style():
        figure = Figure(figsize=(WIDTH, 9.5), layout="constrained")
        _variety(_panels(figure, both, (1.0, 1.6, 1.9)), comparison)
        handles = [
            figure.axes[0].barh([0], [0], color=colour, label=f"{label(one.name, 40)} ({one.prompts:,})")
            for one, colour in zip(both, COLOURS, strict=True)
        ]
        figure.legend(handles=handles, loc="outside upper left", ncols=2)
    return figure


def _variety(axes: Axes, comparison: ListComparison) -> None:
    """Draw a row per figure: both values with intervals, on an axis from 0 to the larger."""
    axes.set_title(f"variety at equal size, {comparison.size:,} prompts; bars: 95 % of random subsets")
    rows = [figure for figure in FIGURES if figure.key in comparison.figures]
    for y, figure in enumerate(rows):
        pair = comparison.figures[figure.key]
        largest = max(pair.first.high, pair.second.high) or 1.0
        for spread, colour, shift in zip((pair.first, pair.second), COLOURS, (-0.17, 0.17), strict=True):
            axes.barh(y + shift, spread.mean / largest, color=colour, height=0.3)
            axes.plot([spread.low / largest, spread.high / largest], [y + shift] * 2, color="black", linewidth=1)
            x, text = max(spread.high / largest, 0) + 0.008, shown(figure, spread.mean)
            axes.text(x, y + shift, text, va="center", fontsize=6.5, color=MUTED)
    _rows(axes, [f"{f.title} {'↑' if f.more else '↓'}" for f in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.08)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    _below(axes, "each row has its own scale from 0; ↑ higher is more varied, ↓ lower is")
