"""Figures as CSV, as a page of Markdown, and as the rows of a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields

from vmmetrics.understanding.harness.benchmark import Figure, Reference
from vmmetrics.understanding.harness.statistics import Difference
from vmmetrics.utils.display.markup import csv_text, markdown

HEADS = ("group", "name", "measure", "value", "95 % interval", "n", "videos", "answered", "chance")
"""Columns of a table of figures; published rows follow."""
DIFFERENCE_HEADS = (
    "group", "name", "measure", "first", "second", "difference", "95 % interval", "p", "p (Holm)", "n", "videos",
    "only first", "only second",
)  # fmt: skip
"""Columns of a table of differences; the last two are questions where only one of the models was right, or better."""
NONE = "–"


def number(value: float | None, digits: int = 3) -> str:
    """A number as tables show it.

    >>> number(0.25), number(None), number(7.5)
    ('0.250', '–', '7.500')
    """
    return NONE if value is None else f"{value:.{digits}f}"


def interval(low: float | None, high: float | None) -> str:
    """Both ends, or a dash.

    >>> interval(0.1, 0.25)
    '0.100 – 0.250'
    """
    return NONE if low is None or high is None else f"{low:.3f} – {high:.3f}"


def row(figure: Figure, references: Sequence[Reference] = ()) -> list[str]:
    """A figure's cells under :data:`HEADS`, and the same figure of each published row."""
    key = (figure.measure, figure.group, figure.name)
    published = [number(reference.figures.get(key)) for reference in references]
    answered = NONE if figure.answered is None else f"{figure.answered:.1%}"
    return [
        figure.group, figure.name, figure.measure, number(figure.value), interval(figure.low, figure.high),
        str(figure.n), str(figure.clusters) if figure.clusters else NONE, answered, number(figure.chance), *published,
    ]  # fmt: skip


def difference_row(found: Difference) -> list[str]:
    """A difference's cells under :data:`DIFFERENCE_HEADS`."""
    sides = [number(found.first), number(found.second), f"{found.difference:+.3f}", interval(found.low, found.high)]
    counts = [str(count) for count in (found.n, found.clusters, found.only_first, found.only_second)]
    return [found.group, found.name, found.measure, *sides, number(found.p, 4), number(found.p_holm, 4), *counts]


def figures_csv(figures: Sequence[Figure]) -> str:
    """Every field of every figure (UTF-8)."""
    return csv_text([[part.name for part in fields(Figure)], *map(astuple, figures)])


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 3) -> str:
    """A table of Markdown, the first columns to the left, the others to the right."""
    rule = ["---"] * left + ["---:"] * (len(heads) - left)
    lines = [list(map(markdown, heads)), rule, *([markdown(cell) for cell in cells] for cells in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
