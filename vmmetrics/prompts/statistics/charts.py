"""Charts of a prompt list (patterns, tags, lengths, coverage, nearest neighbours), and of two side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vmmetrics.prompts.checks import LONGEST, SHORTEST
from vmmetrics.prompts.entry import PATTERNS
from vmmetrics.prompts.statistics.diversity import NEAR_DUPLICATE
from vmmetrics.prompts.statistics.measures import FIGURES, TAG_VALUES
from vmmetrics.prompts.statistics.report import NEAREST_STEP, ListComparison, ListStatistics
from vmmetrics.prompts.statistics.tables import shown
from vmmetrics.utils.display import style
from vmmetrics.utils.display.canvas import INK, MUTED, RULE, WIDTH, chart_style, hexadecimal, label, nothing_to_draw

PATTERN_COLOURS: Mapping[str, str] = {
    **{pattern: hexadecimal(style.OBJECTS[index]) for index, pattern in enumerate(PATTERNS[:5])},
    PATTERNS[5]: "#a3770a",  # for the palette's sixth, a yellow too pale for a dot on white
    "": MUTED,
}
COLOURS = hexadecimal(style.OBJECTS[0]), hexadecimal(style.OBJECTS[1])
"""Colours of two lists side by side."""
CLASSES = 40
"""Most rows of the coverage chart: the classes with most actions."""
_SHADES = tuple(hexadecimal((r + (255 - r) // 2, g + (255 - g) // 2, b + (255 - b) // 2)) for r, g, b in style.OBJECTS)
"""The palette at half strength, for bars with text."""


def statistics_chart(statistics: ListStatistics) -> Figure:
    """Draw a list on one page."""
    with chart_style():
        figure = Figure(figsize=(WIDTH, 12.5), layout="constrained")
        cells = figure.add_gridspec(3, 2, height_ratios=(1.0, 1.1, 3.0))
        _patterns(figure.add_subplot(cells[0, 0]), [statistics])
        _lengths(figure.add_subplot(cells[0, 1]), statistics)
        _tags(figure.add_subplot(cells[1, 0]), statistics)
        _nearest(figure.add_subplot(cells[1, 1]), statistics)
        _coverage(figure.add_subplot(cells[2, :]), statistics)
        figure.suptitle(f"{label(statistics.name, 60)}: {statistics.prompts:,} prompts", x=0.01, ha="left", fontsize=12)
    return figure


def _empty(axes: Axes, why: str) -> None:
    nothing_to_draw(axes, why)
    axes.set_yticks([])


def _rows(axes: Axes, names: Sequence[str], **letters: Any) -> None:
    """Label the rows of bars, the first at the top."""
    axes.set_yticks(range(len(names)), names, **letters)
    axes.tick_params(axis="y", length=0)


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


def _lengths(axes: Axes, statistics: ListStatistics) -> None:
    lengths = statistics.lengths
    axes.set_title(f"words of a prompt: {lengths.within:.1%} have {SHORTEST} to {LONGEST}")
    axes.axvspan(SHORTEST - 0.5, LONGEST + 0.5, color=RULE, alpha=0.5, linewidth=0)
    axes.bar(list(lengths.counts), list(lengths.counts.values()), width=0.9, color=hexadecimal(style.OBJECTS[0]))
    axes.axvline(lengths.quantiles[2], color=INK, linewidth=1)
    _below(axes, "words; the line is their median")


def _tags(axes: Axes, statistics: ListStatistics) -> None:
    """Draw a bar of shares per tag, with the values' names where they fit."""
    axes.set_title("tags, share of all prompts")
    if not statistics.tags:
        _empty(axes, "the list has no tags")
        return
    for y, name in enumerate(TAG_VALUES):
        left = 0.0
        for index, (value, count) in enumerate(statistics.tags[name].items()):
            share = count / statistics.prompts
            axes.barh(y, share, left=left, color=_SHADES[index % len(_SHADES)], height=0.72, edgecolor="white")
            if share > 0.0145 * (len(value) + 4):  # measured: a letter at this size takes about 1.45 % of the panel
                axes.text(left + share / 2, y, f"{value} {share:.0%}", ha="center", va="center", fontsize=7)
            left += share
    _rows(axes, list(TAG_VALUES))
    axes.set_xlim(0, 1)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda v, _: f"{v:.0%}")


def _nearest(axes: Axes, statistics: ListStatistics) -> None:
    if not statistics.nearest:
        axes.set_title("nearest neighbours")
        _empty(axes, "not measured")
        return
    pairs = int(statistics.figures["pairs"])
    sampled = "" if statistics.sampled == statistics.prompts else f", of {statistics.sampled:,} sampled"
    axes.set_title(f"nearest neighbour of each prompt{sampled}: {pairs} pairs over {NEAR_DUPLICATE:g}")
    lefts = np.array(list(statistics.nearest))
    colour = hexadecimal(style.OBJECTS[2])
    axes.bar(lefts, list(statistics.nearest.values()), width=NEAREST_STEP * 0.92, align="edge", color=colour)
    axes.axvline(NEAR_DUPLICATE, color=hexadecimal(style.FAULT), linewidth=1)
    axes.axvline(1 - statistics.figures["distance"], color=INK, linewidth=1)
    axes.set_xlim(min(lefts.min(), 0.3), 1)
    _below(axes, "cosine; black: mean, red: near-duplicates")


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
        cells = figure.add_gridspec(3, 2, height_ratios=(1.0, 1.6, 1.9))
        _patterns(figure.add_subplot(cells[0, 0]), both)
        _both_lengths(figure.add_subplot(cells[0, 1]), both)
        _both_tags(figure.add_subplot(cells[1, 0]), both)
        _both_nearest(figure.add_subplot(cells[1, 1]), both)
        _variety(figure.add_subplot(cells[2, :]), comparison)
        handles = [
            figure.axes[0].barh([0], [0], color=colour, label=f"{label(one.name, 40)} ({one.prompts:,})")
            for one, colour in zip(both, COLOURS, strict=True)
        ]
        figure.legend(handles=handles, loc="outside upper left", ncols=2)
    return figure


def _both_lengths(axes: Axes, both: Sequence[ListStatistics]) -> None:
    axes.set_title("words of a prompt, share of the list")
    axes.axvspan(SHORTEST - 0.5, LONGEST + 0.5, color=RULE, alpha=0.5, linewidth=0)
    for one, colour in zip(both, COLOURS, strict=True):
        counts = one.lengths.counts
        words = np.arange(min(counts), max(counts) + 1)
        shares = np.array([counts.get(int(word), 0) for word in words]) / one.prompts
        axes.stairs(shares, np.append(words, words[-1] + 1) - 0.5, color=colour, fill=True, alpha=0.5)
    axes.yaxis.set_major_formatter(lambda v, _: f"{v:.0%}")
    _below(axes, f"words; grey: {SHORTEST} to {LONGEST}")


def _both_tags(axes: Axes, both: Sequence[ListStatistics]) -> None:
    axes.set_title("tags, share of all prompts")
    tagged = [(one, colour) for one, colour in zip(both, COLOURS, strict=True) if one.tags]
    if not tagged:
        _empty(axes, "neither list has tags")
        return
    pairs = [(tag, value) for tag, values in TAG_VALUES.items() for value in values]
    rows = [(tag, value) for tag, value in pairs if any(value in one.tags[tag] for one, _ in tagged)]
    for index, (one, colour) in enumerate(tagged):
        shift = 0.0 if len(tagged) == 1 else (-0.2, 0.2)[index]
        shares = [one.tags[tag].get(value, 0) / one.prompts for tag, value in rows]
        axes.barh(np.arange(len(rows)) + shift, shares, color=colour, height=0.72 / len(tagged))
    _rows(axes, [f"{tag}: {value}" for tag, value in rows], fontsize=6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(lambda v, _: f"{v:.0%}")
    if len(tagged) == 1:
        other = next(one for one in both if not one.tags)
        _below(axes, f"{label(other.name, 30)} has no tags")


def _both_nearest(axes: Axes, both: Sequence[ListStatistics]) -> None:
    axes.set_title("nearest neighbours, share of the list")
    measured = [(one, colour) for one, colour in zip(both, COLOURS, strict=True) if one.nearest]
    if not measured:
        _empty(axes, "not measured")
        return
    for one, colour in measured:
        lefts = np.array(list(one.nearest))
        shares = np.array(list(one.nearest.values())) / one.sampled
        axes.bar(lefts, shares, width=NEAREST_STEP, align="edge", color=colour, alpha=0.5)
        axes.axvline(1 - one.figures["distance"], color=colour, linewidth=1.5)
    axes.axvline(NEAR_DUPLICATE, color=hexadecimal(style.FAULT), linewidth=1)
    axes.yaxis.set_major_formatter(lambda v, _: f"{v:.0%}")
    _below(axes, "cosine; lines: means, red: near-duplicates")


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
