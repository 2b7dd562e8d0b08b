"""The picture of two prompt lists side by side."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vmmetrics.prompts.report.tables import shown
from vmmetrics.prompts.statistics.comparison import Comparison
from vmmetrics.prompts.statistics.diversity import NEAR_DUPLICATE
from vmmetrics.prompts.statistics.measures import FIGURES, LONGEST, SHORTEST, TAG_VALUES
from vmmetrics.prompts.statistics.report import NEAREST_STEP, ListStatistics
from vmmetrics.utils.display import style
from vmmetrics.utils.display.canvas import FAINT, RULE, WIDTH, chart_style, hexadecimal, label, nothing_to_draw

COLOURS = hexadecimal(style.OBJECTS[0]), hexadecimal(style.OBJECTS[1])


def comparison_chart(found: Comparison) -> Figure:
    """Draw two lists on one page."""
    both = found.first, found.second
    with chart_style():
        figure = Figure(figsize=(WIDTH, 9.5), layout="constrained")
        cells = figure.add_gridspec(3, 2, height_ratios=(1.0, 1.6, 1.9))
        _patterns(figure.add_subplot(cells[0, 0]), both)
        _lengths(figure.add_subplot(cells[0, 1]), both)
        _tags(figure.add_subplot(cells[1, 0]), both)
        _nearest(figure.add_subplot(cells[1, 1]), both)
        _variety(figure.add_subplot(cells[2, :]), found)
        handles = [
            figure.axes[0].barh([0], [0], color=colour, label=f"{label(one.name, 40)} ({one.prompts:,})")
            for one, colour in zip(both, COLOURS, strict=True)
        ]
        figure.legend(handles=handles, loc="outside upper left", ncols=2)
    return figure


Both = tuple[ListStatistics, ListStatistics]


def _patterns(axes: Axes, both: Both) -> None:
    axes.set_title("prompts of each pattern")
    names = list(dict.fromkeys(pattern for one in both for pattern in one.patterns))
    for one, colour, shift in zip(both, COLOURS, (-0.2, 0.2), strict=True):
        counts = [one.patterns.get(name, 0) for name in names]
        axes.barh(np.arange(len(names)) + shift, counts, color=colour, height=0.36)
        for y, name in enumerate(names):
            text = f" {one.patterns[name]:,}" if name in one.patterns else ""
            axes.text(counts[y], y + shift, text, va="center", color=FAINT, fontsize=7)
    axes.set_yticks(range(len(names)), [name or "(no pattern)" for name in names])
    axes.set_xlim(0, 1.15 * max(max(one.patterns.values()) for one in both))
    axes.tick_params(axis="y", labelsize=8)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)


def _lengths(axes: Axes, both: Both) -> None:
    axes.set_title("words of a prompt, share of the list")
    axes.axvspan(SHORTEST - 0.5, LONGEST + 0.5, color=RULE, alpha=0.5, linewidth=0)
    for one, colour in zip(both, COLOURS, strict=True):
        counts = one.lengths.counts
        words = np.arange(min(counts), max(counts) + 1)
        shares = np.array([counts.get(int(word), 0) for word in words]) / one.prompts
        axes.stairs(shares, np.append(words, words[-1] + 1) - 0.5, color=colour, fill=True, alpha=0.5)
    axes.yaxis.set_major_formatter(lambda v, _: f"{v:.0%}")
    axes.set_xlabel(f"words; grey: {SHORTEST} to {LONGEST}", color=FAINT, loc="left", fontsize=8)


def _tags(axes: Axes, both: Both) -> None:
    axes.set_title("tags, share of all prompts")
    tagged = [(one, colour) for one, colour in zip(both, COLOURS, strict=True) if one.tags]
    if not tagged:
        nothing_to_draw(axes, "neither list has tags")
        axes.set_yticks([])
        return
    rows = [
        (tag, value)
        for tag, values in TAG_VALUES.items()
        for value in values
        if any(value in one.tags[tag] for one, _ in tagged)
    ]
    for place, (one, colour) in enumerate(tagged):
        shift = 0.0 if len(tagged) == 1 else (-0.2, 0.2)[place]
        shares = [one.tags[tag].get(value, 0) / one.prompts for tag, value in rows]
        axes.barh(np.arange(len(rows)) + shift, shares, color=colour, height=0.72 / len(tagged))
    axes.set_yticks(range(len(rows)), [f"{tag}: {value}" for tag, value in rows], fontsize=6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(lambda v, _: f"{v:.0%}")
    axes.tick_params(axis="y", length=0)
    if len(tagged) == 1:
        other = next(one for one in both if not one.tags)
        axes.set_xlabel(f"{label(other.name, 30)} has no tags", color=FAINT, loc="left", fontsize=8)


def _nearest(axes: Axes, both: Both) -> None:
    axes.set_title("nearest neighbours, share of the list")
    measured = [(one, colour) for one, colour in zip(both, COLOURS, strict=True) if one.nearest]
    if not measured:
        nothing_to_draw(axes, "not measured")
        axes.set_yticks([])
        return
    for one, colour in measured:
        lefts = np.array(list(one.nearest))
        shares = np.array(list(one.nearest.values())) / one.sampled
        axes.bar(lefts, shares, width=NEAREST_STEP, align="edge", color=colour, alpha=0.5)
        axes.axvline(1 - one.figures["distance"], color=colour, linewidth=1.5)
    axes.axvline(NEAR_DUPLICATE, color=hexadecimal(style.FAULT), linewidth=1)
    axes.yaxis.set_major_formatter(lambda v, _: f"{v:.0%}")
    axes.set_xlabel("cosine; lines: means, red: near-duplicates", color=FAINT, loc="left",
                    fontsize=8)  # fmt: skip


def _variety(axes: Axes, found: Comparison) -> None:
    """A row per figure: both values with their intervals, on an axis of its own from nothing to the larger."""
    axes.set_title(f"variety at equal size, {found.size:,} prompts; bars: 95 % of random subsets")
    rows = [figure for figure in FIGURES if figure.key in found.figures]
    for y, figure in enumerate(rows):
        pair = found.figures[figure.key]
        largest = max(pair.first.high, pair.second.high) or 1.0
        for spread, colour, shift in zip((pair.first, pair.second), COLOURS, (-0.17, 0.17), strict=True):
            axes.barh(y + shift, spread.mean / largest, color=colour, height=0.3)
            axes.plot([spread.low / largest, spread.high / largest], [y + shift] * 2, color="black", linewidth=1)
            axes.text(max(spread.high / largest, 0) + 0.008, y + shift, shown(figure, spread.mean), va="center",
                      fontsize=6.5, color=FAINT)  # fmt: skip
    axes.set_yticks(range(len(rows)), [f"{f.title} {'↑' if f.more else '↓'}" for f in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.08)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("each row on a scale of its own, from nothing; ↑ higher is more varied, ↓ lower is", color=FAINT,
                    loc="left", fontsize=8)  # fmt: skip
