"""Tables and lists for people, built once and written to a terminal, as Markdown, LaTeX or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Literal

from vmmetrics.utils.display.markup import clean, markdown, spelled, tex, tex_comment
from vmmetrics.utils.statistics.bootstrap import Estimate

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

NONE = "–"
"""Text of a missing number."""
MINUS = "−"
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_NAME_WIDTH = 12
"""Columns of a terminal that a name keeps where room is short: the widest table then fits 120."""
_GAP = 2
"""Columns of a terminal between two columns of a table."""
_LINE_LENGTH = 600
"""Characters of a sentence on a terminal before it is cut: lists of clips can be of any length."""
# Layouts from the most spacious to the tightest: intervals on one line, whole heads, whole names.
_LAYOUTS = ((True, True, True), (True, False, True), (False, True, True), (False, False, True), (False, False, False))


@dataclass(frozen=True, slots=True)
class DisplayCell:
    """A cell.

    Attributes:
        below: Small text below, one line or more: an interval, or a model.
        mark: Number of its footnote, 0 for none.
        value: Number in full, for programs; None if the text is the value.
        interval: Ends of the interval below, in full.
        why: Reason that there is no value.
    """

    text: str = ""
    below: str = ""
    mark: int = 0
    value: float | str | None = None
    interval: tuple[float, float] | None = None
    why: str = ""

    @property
    def beside(self) -> str:
        """Small text beside the number, in one line."""
        return self.below.replace("\n", " ")


@dataclass(frozen=True, slots=True)
class DisplayColumn:
    """A column.

    Attributes:
        name: Head.
        number: True for numbers (right-aligned), False for names.
        hint: Explanation of the head, a sentence.
    """

    name: str
    number: bool = True
    hint: str = ""


@dataclass(frozen=True, slots=True)
class DisplayRow:
    """A row.

    Attributes:
        cells: One per column.
        reference: True for rows below a rule, to compare the others with.
    """

    cells: tuple[DisplayCell, ...]
    reference: bool = False


@dataclass(slots=True)
class DisplayTable:
    """A table.

    Attributes:
        key: Short name, unique in a report.
        title: Title.
        caption: Text below the table.
        columns: Columns.
        rows: Rows, those of reference last.
        notes: Footnotes, from 1.
    """

    key: str
    title: str
    caption: str
    columns: tuple[DisplayColumn, ...]
    rows: list[DisplayRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: DisplayCell | str, reference: bool = False) -> None:
        """Add a row; cells that lack at its end are empty."""
        filled = [DisplayCell(clean(cell)) if isinstance(cell, str) else cell for cell in cells]
        spare = [DisplayCell()] * (len(self.columns) - len(filled))
        self.rows.append(DisplayRow((*filled, *spare), reference))

    def mark(self, note: str | None) -> int:
        """Return the number of a footnote, 0 for none; the same words share a number."""
        if not note:
            return 0
        shown = clean(note)
        if shown not in self.notes:
            self.notes.append(shown)
        return self.notes.index(shown) + 1

    def estimate(self, estimate: Estimate, *, interval: bool = True) -> DisplayCell:
        """Return the cell of a statistic with its interval, or a dash; either with the reason as footnote."""
        below = bounds(estimate.low, estimate.high) if interval and estimate.value is not None else ""
        note = estimate.note if interval or estimate.value is None else None
        ends = (estimate.low, estimate.high) if below else None
        return DisplayCell(number(estimate.value), below, self.mark(note), estimate.value, ends, estimate.note or "")  # type: ignore[arg-type]


def figure(value: float | None, text: str | None = None, why: str = "") -> DisplayCell:
    """Return the cell of a number, which programs read in full; as people read it unless a text is given."""
    return DisplayCell(number(value) if text is None else text, value=value, why=why)


@dataclass(frozen=True, slots=True)
class Lines:
    """Sentences.

    Attributes:
        key: Short name, unique in a report.
        title: Title.
        lines: One or more.
    """

    key: str
    title: str
    lines: tuple[str, ...]


Part = DisplayTable | Lines


def heads(*names: str | DisplayColumn, texts: int = 1) -> tuple[DisplayColumn, ...]:
    """Return columns by their heads, the first ``texts`` of them of names and the others of numbers."""
    return tuple(
        DisplayColumn(name, index >= texts) if isinstance(name, str) else name for index, name in enumerate(names)
    )


def number(value: float | None, digits: int = 2) -> str:
    """Return a number as people read it, or a dash.

    >>> number(0.614), number(-0.128), number(-0.001), number(None)
    ('0.61', '−0.13', '0.00', '–')
    """
    if value is None:
        return NONE
    text = f"{abs(value):.{digits}f}"
    return MINUS + text if value < 0 and float(text) else text


def bounds(low: float | None, high: float | None, digits: int = 2) -> str:
    """Return an interval, or nothing."""
    return "" if low is None or high is None else f"[{number(low, digits)}, {number(high, digits)}]"


def p_value(p: float | None) -> str:
    """Return a p value as people read it.

    >>> p_value(0.0123), p_value(0.0001), p_value(None)
    ('0.012', '< 0.001', '–')
    """
    if p is None:
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def count(value: int | None) -> str:
    """Return a whole number as people read it.

    >>> count(12345), count(None)
    ('12,345', '–')
    """
    return NONE if value is None else f"{value:,}"


def print_parts(parts: Iterable[Part], console: Console) -> None:
    """Print tables and lists; a table takes the most spacious layout that fits the console."""
    from rich.text import Text

    for original in parts:
        part = _spelled(original, console.encoding)
        if isinstance(part, DisplayTable):
            _print_table(part, console)
            continue
        console.print(Text(part.title, "bold"))
        for line in part.lines:
            shown = line if len(line) <= _LINE_LENGTH else line[: _LINE_LENGTH - 1] + "…"
            console.print(Text(f"- {shown}"), soft_wrap=True)
        console.print()


def _spelled(part: Part, encoding: str) -> Part:
    """Return a part with characters that the encoding lacks spelled out; before layout, as that changes widths."""
    if encoding.startswith("utf"):
        return part
    write = partial(spelled, encoding=encoding)
    if isinstance(part, Lines):
        return replace(part, title=write(part.title), lines=tuple(map(write, part.lines)))
    rows = [
        replace(row, cells=tuple(replace(c, text=write(c.text), below=write(c.below)) for c in row.cells))
        for row in part.rows
    ]
    columns = tuple(replace(column, name=write(column.name)) for column in part.columns)
    notes = [write(note) for note in part.notes]
    return DisplayTable(part.key, write(part.title), write(part.caption), columns, rows, notes)


def _print_table(part: DisplayTable, console: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    one_line, widths = _layout(part, console.width)
    grid = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for column, width in zip(part.columns, widths, strict=True):
        justify: Literal["left", "right"] = "right" if column.number else "left"
        grid.add_column(Text(column.name), justify=justify, overflow="fold", width=width)
    for row, after in zip(part.rows, [*part.rows, None][1:], strict=True):
        shown = [_shown(cell, one_line) for cell in row.cells]
        grid.add_row(*shown, end_section=after is not None and after.reference and not row.reference)
    console.print(Text(part.title, "bold"), soft_wrap=True)  # the grid's own title wraps at the grid's width
    console.print(grid)
    for line in (part.caption, *(f"{_raised(mark)} {note}" for mark, note in enumerate(part.notes, 1))):
        if line:
            console.print(Text(line, "dim"), soft_wrap=True)
    console.print()


def _layout(part: DisplayTable, room: int) -> tuple[bool, list[int]]:
    """Return the first layout that fits: True if intervals go behind their numbers, and the width of each column."""
    one_line, widths = True, list[int]()
    for one_line, whole_heads, whole_names in _LAYOUTS:
        widths = []
        for index, column in enumerate(part.columns):
            cells = [line for row in part.rows for line in _shown(row.cells[index], one_line).plain.split("\n")]
            head = len(column.name) if whole_heads else max(map(len, column.name.split()))
            widths.append(max(head, *map(len, cells), 0))
        if not whole_names:
            _shorten(part, widths, room)
        if sum(widths) + _GAP * len(widths) <= room:
            break
    return one_line, widths


def _shorten(part: DisplayTable, widths: list[int], room: int) -> None:
    """Make the widest columns of names narrower until the table fits, or none has more than it keeps."""
    names = [index for index, column in enumerate(part.columns) if not column.number]
    while names and sum(widths) + _GAP * len(widths) > room:
        widest = max(names, key=widths.__getitem__)
        if widths[widest] <= _NAME_WIDTH:
            return
        widths[widest] -= 1


def _raised(mark: int) -> str:
    """Return the number of a footnote as superscript digits, nothing for 0."""
    return str(mark).translate(_SUPERSCRIPT) if mark else ""


def _shown(cell: DisplayCell, one_line: bool) -> Text:
    from rich.text import Text

    text = Text(cell.text + _raised(cell.mark))
    return text.append(f" {cell.beside}" if one_line else f"\n{cell.below}", "dim") if cell.below else text


def to_markdown(part: Part) -> str:
    """Return a pipe table or list under its title, in GitHub's dialect."""
    lines = [f"### {markdown(part.title)}", ""]
    if isinstance(part, Lines):
        return "\n".join([*lines, *(f"- {markdown(line)}" for line in part.lines), ""])
    rules = ["--:" if column.number else ":--" for column in part.columns]
    rows = []
    for row in part.rows:
        pairs = ((markdown(cell.text) + _raised(cell.mark), markdown(cell.beside)) for cell in row.cells)
        texts = (" ".join(filter(None, pair)) for pair in pairs)
        rows.append([f"*{text}*" if row.reference and text else text for text in texts])
    lines += [pipe_table([markdown(column.name) for column in part.columns], rules, rows)]
    lines += ["", *filter(None, [markdown(part.caption)])]
    lines += [f"\n{_raised(mark)} {markdown(note)}" for mark, note in enumerate(part.notes, 1)]
    return "\n".join([*lines, ""])


def pipe_table(names: Sequence[str], rules: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a pipe table from cells that are Markdown already.

    Args:
        names: Heads.
        rules: Of each column, such as ``--:``.
        rows: Cells.
    """
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (names, rules, *rows))


def to_latex(part: Part) -> str:
    """Return a ``tabular`` with booktabs rules; everything but the table and its footnotes as comments."""
    if isinstance(part, Lines):
        return "\n".join([tex_comment(part.title), *(tex_comment(f"  {line}") for line in part.lines), ""])
    lines = [tex_comment(line) for line in (part.title, part.caption, r"needs \usepackage{booktabs}") if line]
    lines += [rf"\begin{{tabular}}{{{''.join('r' if column.number else 'l' for column in part.columns)}}}", r"\toprule"]
    lines += [ampersands([tex(column.name) for column in part.columns]), r"\midrule"]
    for row, before in zip(part.rows, [None, *part.rows], strict=False):
        if before is not None and row.reference and not before.reference:
            lines.append(r"\midrule")
        lines.append(ampersands([_latex_cell(cell) for cell in row.cells]))
    lines += [r"\bottomrule", r"\end{tabular}"]
    if part.notes:
        lines.append(r"\par")
    lines += [rf"{{\footnotesize $^{{{mark}}}$ {tex(note)}\par}}" for mark, note in enumerate(part.notes, 1)]
    return "\n".join([*lines, ""])


def _latex_cell(cell: DisplayCell) -> str:
    mark = f"$^{{{cell.mark}}}$" if cell.mark else ""
    return tex(cell.text) + mark + (rf" {{\scriptsize {tex(cell.beside)}}}" if cell.below else "")


def ampersands(cells: Sequence[str]) -> str:
    """Return a row of a ``tabular`` from cells that are LaTeX already."""
    return " & ".join(cells) + r" \\"


def html_text(text: str) -> str:
    """Return text escaped for an element or an attribute of HTML."""
    return escape(clean(text), quote=True)


def html_list(lines: Iterable[str]) -> str:
    """Return a list on one line."""
    return f"<ul>{''.join(f'<li>{html_text(line)}</li>' for line in lines)}</ul>"


def to_html(part: Part) -> str:
    """Return a list, or a table that a page can sort by any column; rows of reference stay at its foot."""
    if isinstance(part, Lines):
        items = "\n".join(f"<li>{html_text(line)}</li>" for line in part.lines)
        return f"<ul>\n{items}\n</ul>"
    body, foot = (
        "\n".join(_html_row(part, row) for row in part.rows if row.reference is reference)
        for reference in (False, True)
    )
    caption = f"<caption>{html_text(part.caption)}</caption>\n" if part.caption else ""
    notes = "".join(f"<li>{html_text(note)}</li>" for note in part.notes)
    return (
        f'<div class="wide"><table>\n{caption}<thead><tr>{"".join(map(_html_head, part.columns))}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n"
        + (f"<tfoot>\n{foot}\n</tfoot>\n" if foot else "")
        + "</table></div>"
        + (f'\n<ol class="notes">{notes}</ol>' if notes else "")
    )


def _html_head(column: DisplayColumn) -> str:
    kind = " class=n" if column.number else ""
    hint = f' title="{html_text(column.hint)}"' if column.hint else ""
    return f'<th scope="col"{kind}{hint}><button>{html_text(column.name)}</button></th>'


def _html_row(part: DisplayTable, row: DisplayRow) -> str:
    shown = ""
    for cell, column in zip(row.cells, part.columns, strict=True):
        key = sort_key(cell.text) if column.number else cell.text
        mark = f"<sup>{cell.mark}</sup>" if cell.mark else ""
        below = f"<small>{html_text(cell.beside)}</small>" if cell.below else ""
        kind = " class=n" if column.number else ""
        shown += f'<td{kind} data-key="{html_text(key)}">{html_text(cell.text)}{mark}{below}</td>'
    return f"<tr>{shown}</tr>"


def sort_key(text: str) -> str:
    """Return the number that a cell begins with, as JavaScript reads it; nothing where there is none.

    >>> sort_key("−0.12"), sort_key("1,234"), sort_key("< 0.001"), sort_key("–")
    ('-0.12', '1234', '0.001', '')
    """
    match = re.search(r"-?\d+(\.\d+)?", text.replace(MINUS, "-").replace(",", ""))
    return match.group() if match else ""
