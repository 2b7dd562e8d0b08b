"""Alignment reports as text: on a terminal, in Markdown and in LaTeX (in CSV: ``alignment_csv``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from vmmetrics.report.alignment_cells import Cell, Lines, Part, Row, Table
from vmmetrics.report.alignment_csv import to_csv
from vmmetrics.report.alignment_tables import report_parts
from vmmetrics.utils.markup import markdown, tex, tex_comment

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from vmmetrics.alignment.results import StudyReport

__all__ = ["print_report", "to_csv", "to_latex", "to_markdown"]

_NAME_WIDTH = 12
"""Columns of a terminal that a name keeps where room is short: the widest table then fits 120."""
_GAP = 2
"""Columns of a terminal between two columns of a table."""
_LINE_LENGTH = 600
"""Characters of a sentence on a terminal before it is cut: lists of clips can be of any length."""


def print_report(report: StudyReport, console: Console) -> None:
    """Print a report for people: what was matched, a table per dimension, raters, comparisons, claims, problems.

    Args:
        report: The report.
        console: Where; the tables fit 120 columns.
    """
    for part in report_parts(report):
        if isinstance(part, Lines):
            _print_lines(part, console)
        else:
            _print_table(part, console)


def _print_lines(part: Lines, console: Console) -> None:
    from rich.text import Text

    console.print(Text(part.title, "bold"))
    for line in part.lines:
        shown = line if len(line) <= _LINE_LENGTH else line[: _LINE_LENGTH - 1] + "…"
        console.print(Text(f"- {shown}"), soft_wrap=True)
    console.print()


def _print_table(part: Table, console: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    layout = _layout(part, console.width)
    title = Text(part.title, "bold")
    grid = Grid(title=title, title_justify="left", box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for column, width in zip(part.columns, layout.widths, strict=True):
        justify: Literal["left", "right"] = "right" if column.number else "left"
        grid.add_column(Text(column.name), justify=justify, overflow="fold", width=width)
    for row, after in zip(part.rows, [*part.rows[1:], None], strict=True):
        shown = [_shown(cell, layout.one_line) for cell in row.cells]
        grid.add_row(*shown, end_section=after is not None and after.reference and not row.reference)
    console.print(grid)
    for line in (part.caption, *(f"{Cell(mark=mark).raised} {note}" for mark, note in enumerate(part.notes, 1))):
        if line:
            console.print(Text(line, "dim"), soft_wrap=True)
    console.print()


class _Layout(NamedTuple):
    one_line: bool
    """Whether an interval stands behind its number, not below it."""
    widths: list[int]


def _layout(part: Table, room: int) -> _Layout:
    """The most spacious layout that fits, else the tightest: first heads are broken, then cells, then names."""
    layout = _Layout(True, [])
    for one_line, whole_heads, whole_names in _LAYOUTS:
        layout = _Layout(one_line, [])
        for place, column in enumerate(part.columns):
            cells = [line for row in part.rows for line in _shown(row.cells[place], one_line).plain.split("\n")]
            head = len(column.name) if whole_heads else max(map(len, column.name.split()))
            widest = max(map(len, cells), default=0)
            if not column.number and not whole_names:
                widest = min(widest, _NAME_WIDTH)
            layout.widths.append(max(head, widest))
        if sum(layout.widths) + _GAP * len(layout.widths) <= room:
            break
    return layout


_LAYOUTS = ((True, True, True), (True, False, True), (False, True, True), (False, False, True), (False, False, False))


def _shown(cell: Cell, one_line: bool) -> Text:
    from rich.text import Text

    text = Text(cell.text + cell.raised)
    return text.append(f"{' ' if one_line else chr(10)}{cell.below}", "dim") if cell.below else text


def to_markdown(report: StudyReport) -> str:
    """Pipe tables and lists in GitHub's dialect."""
    return "\n".join(_markdown(part) for part in report_parts(report))


def _markdown(part: Part) -> str:
    lines = [f"### {markdown(part.title)}", ""]
    if isinstance(part, Lines):
        return "\n".join([*lines, *(f"- {markdown(line)}" for line in part.lines), ""])
    lines += [_pipes([markdown(column.name) for column in part.columns])]
    lines += [_pipes(["--:" if column.number else ":--" for column in part.columns])]
    lines += [_pipes([_markdown_cell(cell, row) for cell in row.cells]) for row in part.rows]
    lines += ["", *filter(None, [markdown(part.caption)])]
    lines += [f"\n{Cell(mark=mark).raised} {markdown(note)}" for mark, note in enumerate(part.notes, 1)]
    return "\n".join([*lines, ""])


def _markdown_cell(cell: Cell, row: Row) -> str:
    text = " ".join(filter(None, (markdown(cell.text) + cell.raised, markdown(cell.below))))
    return f"*{text}*" if row.reference and text else text


def _pipes(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def to_latex(report: StudyReport) -> str:
    """A ``tabular`` with booktabs rules per table; everything else as comments."""
    return "\n".join(_latex(part) for part in report_parts(report))


def _latex(part: Part) -> str:
    if isinstance(part, Lines):
        return "\n".join([tex_comment(part.title), *(tex_comment(f"  {line}") for line in part.lines), ""])
    lines = [tex_comment(line) for line in (part.title, part.caption, r"needs \usepackage{booktabs}") if line]
    lines += [rf"\begin{{tabular}}{{{''.join('r' if column.number else 'l' for column in part.columns)}}}", r"\toprule"]
    lines += [_ampersands([tex(column.name) for column in part.columns]), r"\midrule"]
    for row, before in zip(part.rows, [None, *part.rows], strict=False):
        if before is not None and row.reference and not before.reference:
            lines.append(r"\midrule")
        lines.append(_ampersands([_latex_cell(cell) for cell in row.cells]))
    lines += [r"\bottomrule", r"\end{tabular}"]
    if part.notes:
        lines.append(r"\par")
    lines += [rf"{{\footnotesize $^{{{mark}}}$ {tex(note)}\par}}" for mark, note in enumerate(part.notes, 1)]
    return "\n".join([*lines, ""])


def _latex_cell(cell: Cell) -> str:
    mark = f"$^{{{cell.mark}}}$" if cell.mark else ""
    return tex(cell.text) + mark + (rf" {{\scriptsize {tex(cell.below)}}}" if cell.below else "")


def _ampersands(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
