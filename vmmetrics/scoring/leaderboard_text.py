"""Leaderboards as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vmmetrics.metrics.registry import in_order, label, registered
from vmmetrics.scoring.leaderboard import AVERAGE, Board, Cell, Row, Step
from vmmetrics.utils.display.markup import csv_text, markdown, tex, tex_comment

# The table that VMBench's authors published (arXiv 2503.10076 and the README of AMAP-ML/VMBench), times 100.

PROMPTS = 1050
"""Prompts behind each row."""
_ROUNDING = 0.1  # five columns and their average, each printed to one digit, can be apart by so much at most
_FILE = Path(__file__).with_name("published_vmbench.csv")


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One model of the table.

    Attributes:
        model: Its name.
        scores: By metric, times 100.
        average: The average as printed, times 100.
    """

    model: str
    scores: Mapping[str, float]
    average: float

    @property
    def mean(self) -> float:
        """Mean of the five columns."""
        return math.fsum(self.scores.values()) / len(self.scores)

    @property
    def adds_up(self) -> bool:
        """Whether the printed average is the mean of the printed columns, rounding allowed for."""
        return abs(self.average - self.mean) <= _ROUNDING + 1e-9


def published_rows() -> list[PublishedRow]:
    """Return the rows, best mean of the five columns first."""
    columns = {key: metric.column for key, metric in registered().items() if metric.column is not None}
    order = in_order(columns)
    with _FILE.open(encoding="utf-8", newline="") as file:
        rows = [
            PublishedRow(row["model"], {key: float(row[columns[key]]) for key in order}, float(row[AVERAGE]))
            for row in csv.DictReader(file)
        ]
    return sorted(rows, key=lambda row: -row.mean)


def averages_note(rows: list[PublishedRow]) -> str:
    """Say which rows do not add up, and to what they would; empty where all do."""
    apart = [f"{row.model} {row.average:.1f} (its columns: {row.mean:.1f})" for row in rows if not row.adds_up]
    return f"* average as printed, which is not the mean of its columns: {', '.join(apart)}" if apart else ""


NONE = "–"
"""Where there is no number."""
SOURCES = ("scored", "published")
"""What stands in the column ``source`` of the CSV."""


def number(value: float | None, digits: int = 1) -> str:
    """A number, or a dash."""
    return NONE if value is None else f"{value:.{digits}f}"


def bounds(low: float | None, high: float | None) -> str:
    """An interval, or nothing."""
    return "" if low is None or high is None else f"[{low:.1f}, {high:.1f}]"


def p_value(p: float | None) -> str:
    """A p value to as many digits as it is known to.

    >>> p_value(0.0123), p_value(0.00010), p_value(None)
    ('0.012', '< 0.001', '–')
    """
    if p is None:
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def cell_lines(cell: Cell, prompts: int) -> list[str]:
    """Mean, interval where there is one, and number of prompts where it is not all of them."""
    few = f"n={cell.prompts}" if cell.mean is not None and cell.prompts < prompts else ""
    return [number(cell.mean), *filter(None, (bounds(cell.low, cell.high), few))]


def published_average(row: PublishedRow) -> str:
    """A published average, with a star where it is not the mean of its columns."""
    return f"{row.average:.1f}{'' if row.adds_up else '*'}"


def published_scores(board: Board, row: PublishedRow) -> list[str]:
    """Published scores under the columns of a table, the average left out; nothing under metrics of one's own."""
    return [f"{row.scores[key]:.1f}" if key in row.scores else "" for key in board.columns[1:]]


def published_title(board: Board) -> str:
    """What the published numbers are to the table above them."""
    if not board.comparable:
        return "published by VMBench: not comparable with the above (other networks or another definition)"
    few = "" if board.prompts == PROMPTS else f": over {PROMPTS:,} prompts, the above over {board.prompts:,}"
    return f"published by VMBench{few}"


def step_text(step: Step) -> str:
    """How sure it is that a model is better than the next."""
    if step.p is None:
        return f"{step.above} and {step.below}: no prompt in common"
    ends = bounds(step.low, step.high)
    return (
        f"{step.above} over {step.below}: {step.difference:+.2f}{' ' + ends if ends else ''} on {step.prompts} common "
        f"prompts, p {p_value(step.p)}, Holm {p_value(step.p_holm)}"
    )


def share_text(row: Row) -> str:
    """How often a model has which place, rarer than 1 % left out."""
    return ", ".join(f"{place}. {share:.0%}" for place, share in enumerate(row.shares, 1) if share >= 0.01)


def to_csv(boards: Sequence[Board], published: Sequence[PublishedRow]) -> str:
    """One row per model and table; numbers in full, times 100."""
    ends = ("low", "high", "prompts", "clips_without")
    columns = list(dict.fromkeys(column for board in boards for column in board.columns))
    names = [
        "table", "source", "preset", "protocol", "comparable", "rank", "model", "prompts", "clips",
        *(name for c in columns for name in (c, *(f"{c}_{end}" for end in ends))),
        "rank_shares", "next", "difference", "difference_low", "difference_high", "common_prompts", "p", "p_holm",
    ]  # fmt: skip
    rows: list[dict[str, object]] = []
    for table, board in enumerate(boards, 1):
        steps = {step.above: step for step in board.steps}
        shared = {"table": table, "preset": board.preset, "protocol": board.protocol, "comparable": board.comparable}
        rows += ({**shared, "source": SOURCES[0], **_csv_row(row, steps.get(row.model))} for row in board.rows)
        for known in published:
            scores = {"average": known.average, **known.scores}
            rows.append({**shared, "source": SOURCES[1], "model": known.model, "prompts": PROMPTS, **scores})
    return csv_text([names, *([row.get(name) for name in names] for row in rows)])


def _csv_row(row: Row, step: Step | None) -> dict[str, object]:
    values: dict[str, object] = {"rank": row.rank, "model": row.model, "prompts": row.prompts, "clips": row.clips}
    for column, cell in row.cells.items():
        values |= {
            column: cell.mean,
            f"{column}_low": cell.low,
            f"{column}_high": cell.high,
            f"{column}_prompts": cell.prompts,
            f"{column}_clips_without": sum(cell.without.values()),
        }
    values["rank_shares"] = " ".join(f"{place}:{share:.4f}" for place, share in enumerate(row.shares, 1))
    if step is not None:
        values |= {
            "next": step.below,
            "difference": step.difference,
            "difference_low": step.low,
            "difference_high": step.high,
            "common_prompts": step.prompts,
            "p": step.p,
            "p_holm": step.p_holm,
        }
    return values


def to_markdown(boards: Sequence[Board], published: Sequence[PublishedRow]) -> str:
    """A pipe table per board, its notes and steps below."""
    return "\n".join(_markdown(board, published) for board in boards)


def _markdown(board: Board, published: Sequence[PublishedRow]) -> str:
    heads = ["rank", "model", *map(label, board.columns)]
    lines = [f"**{markdown(board.label)}** (× 100, 95 % bootstrap intervals over {board.prompts} prompts)", ""]
    lines += [_pipes(heads), _pipes(["--:", ":--", *["--:"] * len(board.columns)])]
    for row in board.rows:
        cells = [" ".join(cell_lines(row.cells[c], row.prompts)) for c in board.columns]
        lines.append(_pipes([str(row.rank or NONE), markdown(row.model), *cells]))
    if published:
        lines.append(_pipes(["", f"*{published_title(board)}*", *[""] * len(board.columns)]))
    for known in published:
        average = published_average(known).replace("*", r"\*")
        lines.append(_pipes(["", markdown(known.model), average, *published_scores(board, known)]))
    lines.append("")
    lines += [f"- {markdown(text)}" for text in remarks(board, published)]
    return "\n".join([*lines, ""])


def remarks(board: Board, published: Sequence[PublishedRow]) -> list[str]:
    """Everything below a table."""
    shares = [f"{row.model}: places in samples of the prompts: {share_text(row)}" for row in board.rows if row.shares]
    note = averages_note(list(published))
    return [*map(step_text, board.steps), *shares, *board.notes, *([note] if note else [])]


def to_latex(boards: Sequence[Board], published: Sequence[PublishedRow]) -> str:
    """A ``tabular`` with booktabs rules per board; its remarks as comments."""
    return "\n".join(_latex(board, published) for board in boards)


def _latex(board: Board, published: Sequence[PublishedRow]) -> str:
    width = len(board.columns) + 2
    lines = [tex_comment(line) for line in (board.label, "needs \\usepackage{booktabs}", *remarks(board, published))]
    lines += [rf"\begin{{tabular}}{{rl{'r' * len(board.columns)}}}", r"\toprule"]
    lines += [_ampersands(["", "model", *map(label, board.columns)]), r"\midrule"]
    for row in board.rows:
        cells = [_latex_cell(row.cells[c], row.prompts) for c in board.columns]
        lines.append(_ampersands([tex(str(row.rank or NONE)), tex(row.model), *cells]))
    if published:
        title = tex(published_title(board))
        lines += [r"\midrule", rf"\multicolumn{{{width}}}{{l}}{{\emph{{{title}}}}} \\"]
    for known in published:
        average = published_average(known).replace("*", r"$^{*}$")
        lines.append(_ampersands(["", tex(known.model), average, *published_scores(board, known)]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _latex_cell(cell: Cell, prompts: int) -> str:
    mean, *rest = cell_lines(cell, prompts)
    return tex(mean) + (rf" {{\scriptsize {' '.join(rest)}}}" if rest else "")


def _pipes(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _ampersands(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
