"""Alignment reports as text: on a terminal, in Markdown and in LaTeX (in CSV: ``alignment_csv``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from vmmetrics.alignment.report.cells import Cell, Lines, Part, Row, Table, flat_settings
from vmmetrics.alignment.report.tables import report_parts
from vmmetrics.alignment.results import Grouped
from vmmetrics.utils.display.markup import csv_text, markdown, tex, tex_comment
from vmmetrics.utils.statistics.bootstrap import Estimate

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from vmmetrics.alignment.results import (
        Ablation,
        Agreement,
        Ceiling,
        Difference,
        NameBaseline,
        PairAlignment,
        Power,
        PreferenceAccuracy,
        StudyReport,
    )


# Alignment reports as one long CSV: a row per statistic, every number in full.


class CsvRow(NamedTuple):
    """One statistic.

    Attributes:
        section: Which part of the report.
        metric: Metric or combination, "first - second" for a difference; empty where it is of people alone.
        dimension: Dimension.
        statistic: Its name, a field of the report.
        group: Model, prompt, rater, clip or metric that it is of; empty for all.
        value: The number.
        low: Lower end of its interval.
        high: Upper end.
        p: Its p value.
        n: What it rests on.
        note: In words: why there is no value, or what it says.
    """

    section: str
    metric: str = ""
    dimension: str = ""
    statistic: str = ""
    group: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    n: int | None = None
    note: str | None = None


def to_csv(report: StudyReport) -> str:
    """One row per statistic of a report, its sentences and settings as notes; columns as in :class:`CsvRow`."""
    return csv_text([CsvRow._fields, *csv_rows(report)])


def csv_rows(report: StudyReport) -> Iterator[CsvRow]:
    """The rows of :func:`to_csv`."""
    for name in ("clips", "prompts", "models"):
        yield CsvRow("study", statistic=name, value=getattr(report, name))
    for metric, dimensions in report.facing.items():
        for dimension in dimensions:
            yield CsvRow("facing", metric, dimension)
    for pair in report.alignments:
        yield from _alignment(pair)
    for baseline in report.baselines:
        yield from _baseline(baseline)
    for difference in report.differences:
        yield from _difference(difference)
    for ceiling in report.ceilings:
        yield from _ceiling(ceiling)
    for agreement in report.agreements:
        yield from _agreement(agreement)
    for accuracy in report.preferences:
        yield from _accuracy(accuracy)
    for ablation in report.ablations:
        yield from _ablation(ablation)
    yield from _matrix(report)
    for power in report.powers:
        yield from _power(power)
    for section in ("matching", "claims", "problems"):
        for number, line in enumerate(getattr(report, section), 1):
            yield CsvRow(section, statistic=str(number), note=line)
    for name, setting in flat_settings(report):
        yield _setting(name, setting)


def _row(section: str, metric: str, dimension: str, statistic: str, found: Estimate, group: str = "") -> CsvRow:
    return CsvRow(
        section, metric, dimension, statistic, group, found.value, found.low, found.high, found.p, found.n, found.note
    )


def _groups(
    section: str, metric: str, dimension: str, statistic: str, groups: Mapping[str, Estimate]
) -> Iterator[CsvRow]:
    for group, found in groups.items():
        yield _row(section, metric, dimension, statistic, found, group)


def _alignment(pair: PairAlignment) -> Iterator[CsvRow]:
    key = ("alignment", pair.metric, pair.dimension)
    for name in ("spearman", "kendall_b", "kendall_c", "pearson"):
        yield _row(*key, name, getattr(pair, name))
    for name in ("within_prompt", "within_model"):
        grouped: Grouped = getattr(pair, name)
        yield _row(*key, name, grouped.mean)
        yield from _groups(*key, name, grouped.groups)
    yield from _groups(*key, "without_model", pair.without_model)
    yield _row(*key, "model_level", pair.model_level)
    yield _row(*key, "shuffled", pair.shuffled)
    yield CsvRow(*key, "missing", value=pair.missing)


def _baseline(baseline: NameBaseline) -> Iterator[CsvRow]:
    for name in ("overall", "within_prompt"):
        yield _row("name_baseline", "", baseline.dimension, name, getattr(baseline, name))


def _difference(difference: Difference) -> Iterator[CsvRow]:
    pair = f"{difference.first} - {difference.second}"
    for name in ("pooled", "within_model"):
        yield _row("difference", pair, difference.dimension, name, getattr(difference, name))


def _ceiling(ceiling: Ceiling) -> Iterator[CsvRow]:
    for name in ("overall", "within_prompt", "within_model", "split_half", "split_half_full"):
        yield _row("ceiling", "", ceiling.dimension, name, getattr(ceiling, name))
    yield from _groups("ceiling", "", ceiling.dimension, "rater", ceiling.raters)


_AGREEMENTS = (
    "alpha_nominal", "alpha_ordinal", "alpha_interval", "icc_single", "icc_mean", "cohen", "cohen_weighted", "fleiss"
)  # fmt: skip


def _agreement(agreement: Agreement) -> Iterator[CsvRow]:
    key = ("agreement", "", agreement.dimension)
    for name in _AGREEMENTS:
        yield _row(*key, name, getattr(agreement, name))
    for rater in agreement.outlying:
        yield CsvRow(*key, "outlying_correlation", rater.rater, rater.correlation, note=rater.reason)
        yield CsvRow(*key, "outlying_bias", rater.rater, rater.bias, note=rater.reason)
    for clip in agreement.disputed:
        said = " ".join(f"{rating:g}" for rating in clip.ratings)
        yield CsvRow(*key, "disputed_spread", clip.clip, clip.spread, n=len(clip.ratings), note=said)


def _accuracy(accuracy: PreferenceAccuracy) -> Iterator[CsvRow]:
    key = ("preference", accuracy.name, accuracy.dimension)
    yield _row(*key, "accuracy", accuracy.accuracy)
    for name in ("pairs", "human_ties", "metric_ties"):
        yield CsvRow(*key, name, value=getattr(accuracy, name), note=accuracy.rule)


def _ablation(ablation: Ablation) -> Iterator[CsvRow]:
    figures = [("all", "", ablation.full)]
    figures += [("without", metric, figure) for metric, figure in ablation.left_out.items()]
    figures += [(f"added {place}", metric, figure) for place, (metric, figure) in enumerate(ablation.added, 1)]
    for step, metric, figure in figures:
        for name in ("accuracy", "spearman", "within_model"):
            statistic = f"{step}: {name}"
            yield _row("ablation", ablation.combination, ablation.dimension, statistic, getattr(figure, name), metric)
    for metric, weight in ablation.weights.items():
        yield CsvRow("ablation", ablation.combination, ablation.dimension, "weight", metric, weight)


def _matrix(report: StudyReport) -> Iterator[CsvRow]:
    matrix = report.matrix
    for i, first in enumerate(matrix.names):
        for j, second in enumerate(matrix.names[: i + 1]):
            value = float(matrix.values[i, j])
            known = None if value != value else value  # NaN where there is none
            kind = "human" if j >= matrix.metrics else "metric" if i < matrix.metrics else "metric and human"
            yield CsvRow("matrix", first, second, f"spearman, {kind}", value=known, n=int(matrix.counts[i, j]))


def _power(power: Power) -> Iterator[CsvRow]:
    key = ("power", "", power.dimension)
    for name in ("first", "second", "power", "clips", "prompts", "smallest"):
        yield CsvRow(*key, name, value=getattr(power, name), note=power.note)
    for raters, clips in power.raters.items():
        yield CsvRow(*key, "clips_with_raters", str(raters), clips, note=power.note)


def _setting(name: str, setting: Any) -> CsvRow:
    if isinstance(setting, int | float) and not isinstance(setting, bool):
        return CsvRow("settings", statistic=name, value=setting)
    return CsvRow("settings", statistic=name, note=str(setting))


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
