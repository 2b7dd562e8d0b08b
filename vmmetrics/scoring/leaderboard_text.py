"""Leaderboards as tables for people and as CSV."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vmmetrics.metrics.registry import in_order, registered
from vmmetrics.scoring.leaderboard import Board, Cell, Row, Step, head
from vmmetrics.scoring.prompt_scores import AVERAGE
from vmmetrics.scoring.summary import INDEX, INDEX_OR_ZERO
from vmmetrics.utils.display import tables
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.display.tables import DisplayCell, DisplayTable, Lines, Part, bounds, p_value
from vmmetrics.utils.statistics.bootstrap import LEAST_PROMPTS
from vmmetrics.utils.tables import read_rows

# VMBench's published table (arXiv 2503.10076 and the README of AMAP-ML/VMBench); its file has it times 100.

PROMPTS = 1050
"""Prompts behind each row."""
_DIGITS = 3
_ROUNDING = 0.001  # five columns and their average, each printed to 0.001, can be apart by so much at most
_FILE = Path(__file__).with_name("published_vmbench.csv")


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One model of the table.

    Attributes:
        model: Its name.
        scores: By metric, as printed divided by 100.
        average: The average as printed, divided by 100.
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
        """True if the printed average is the mean of the printed columns, within rounding."""
        return abs(self.average - self.mean) <= _ROUNDING + 1e-9


def published_rows() -> list[PublishedRow]:
    """Return the rows, best mean of the five columns first."""
    columns = {key: metric.column for key, metric in registered().items() if metric.column is not None}
    order = in_order(columns)
    rows = [
        PublishedRow(row["model"], {key: _divided(row[columns[key]]) for key in order}, _divided(row[AVERAGE]))
        for row in read_rows(_FILE)
    ]
    return sorted(rows, key=lambda row: -row.mean)


def _divided(printed: str) -> float:
    return round(float(printed) / 100, 6)  # 0.784, not 0.7840000000000001


SOURCES = ("scored", "published")
"""Values of the column ``source`` of the CSV."""
_ENDS = ("low", "high", "prompts", "clips_without")  # of columns beside that of a mean


def board_parts(board: Board, published: Sequence[PublishedRow]) -> list[Part]:
    """Return a board as a table, published rows below a rule, and remarks on significance."""
    twice = INDEX_OR_ZERO in board.columns
    none = f"; none from under {LEAST_PROMPTS}" if min(row.prompts for row in board.rows) < LEAST_PROMPTS else ""
    over = f"95 % interval over {board.prompts} prompts{none}"
    caption = f"Means over clips, 0 to 1 [{over}], ranked by {head(board.by)}."
    if published:
        caption += f" Below the rule, {_published_title(board)}."
    heads = ("INDEX, judged" if twice and column == INDEX else head(column) for column in board.columns)
    table = DisplayTable("leaderboard", board.label, caption, tables.heads("model", *heads))
    for row in board.rows:
        cells = [_cell(row.cells[column], row.clips) for column in board.columns]
        table.add(f"{row.rank}. {row.model}" if row.rank else row.model, *cells)
    for printed in published:
        footnote = None if printed.adds_up else f"As printed: not the mean of its columns, which is {printed.mean:.3f}."
        numbers = {key: DisplayCell(f"{score:.3f}") for key, score in printed.scores.items()}
        numbers[AVERAGE] = DisplayCell(f"{printed.average:.3f}", mark=table.mark(footnote))
        table.add(printed.model, *(numbers.get(key, "") for key in board.columns), reference=True)
    shares = []
    for row in (row for row in board.rows if row.shares):  # from 1 % on
        of_ranks = (f"{rank}. {share:.0%}" for rank, share in enumerate(row.shares, 1) if share >= 0.01)
        shares.append(f"{row.model}: rank shares (bootstrap over prompts): {', '.join(of_ranks)}")
    return [table, Lines("remarks", "Significance", (*map(_step_text, board.steps), *shares, *board.notes))]


def _cell(cell: Cell, clips: int) -> DisplayCell:
    """Return the cell of a mean, with its interval and, if clips are missing, how many it is of."""
    few = f"n={cell.clips}" if cell.mean is not None and cell.clips < clips else ""
    ends = bounds(cell.low, cell.high, _DIGITS)
    return DisplayCell(tables.number(cell.mean, _DIGITS), "\n".join(filter(None, (ends, few))))


def _published_title(board: Board) -> str:
    """Return the title of the published rows, which states if they compare with the table above."""
    if not board.comparable:
        return (
            "published by VMBench, divided by 100: not comparable with the above (other networks or another definition)"
        )
    few = "" if board.prompts == PROMPTS else f" over {PROMPTS:,} prompts (above: {board.prompts:,})"
    return f"published by VMBench, divided by 100{few}"


def _step_text(step: Step) -> str:
    """Return the difference of two neighbours in rank, with interval and p values."""
    if step.p is None:
        return f"{step.above} and {step.below}: no prompt in common"
    ends = bounds(step.low, step.high, _DIGITS)
    difference = f"{step.difference:+.3f}{' ' + ends if ends else ''}".replace("-", tables.MINUS)
    tests = f"p {p_value(step.p)}, Holm {p_value(step.p_holm)}"
    return f"{step.above} over {step.below}: {difference} on {step.prompts} common prompts, {tests}"


def board_records(boards: Sequence[Board], published: Sequence[PublishedRow]) -> list[dict[str, object]]:
    """Return a row per model and table: numbers in full, published ones divided by 100; None where there is none.

    Published rows have neither preset nor protocol.
    """
    rows: list[dict[str, object]] = []
    for table, board in enumerate(boards, 1):
        steps = {step.above: step for step in board.steps}
        shared = {"table": table, "preset": board.preset, "protocol": board.protocol, "comparable": board.comparable}
        rows += ({**shared, "source": SOURCES[0], **_csv_row(row, steps.get(row.model))} for row in board.rows)
        for printed in published:
            scores = {"average": printed.average, **printed.scores}
            fields = {"table": table, "comparable": board.comparable, "source": SOURCES[1]}
            rows.append({**fields, "model": printed.model, "prompts": PROMPTS, **scores})
    names = _names(boards)
    return [{name: row.get(name) for name in names} for row in rows]


def _names(boards: Sequence[Board]) -> list[str]:
    columns = list(dict.fromkeys(column for board in boards for column in board.columns))
    return [
        "table", "source", "preset", "protocol", "comparable", "rank", "model", "prompts", "clips",
        *(name for c in columns for name in (c, *(f"{c}_{end}" for end in _ENDS))),
        "rank_shares", "next", "difference", "difference_low", "difference_high", "common_prompts", "p", "p_holm",
    ]  # fmt: skip


def to_csv(boards: Sequence[Board], published: Sequence[PublishedRow]) -> str:
    """Return :func:`board_records` as CSV."""
    return csv_text([_names(boards), *(row.values() for row in board_records(boards, published))])


def _csv_row(row: Row, step: Step | None) -> dict[str, object]:
    values: dict[str, object] = {"rank": row.rank, "model": row.model, "prompts": row.prompts, "clips": row.clips}
    for column, cell in row.cells.items():
        figures = (cell.mean, cell.low, cell.high, cell.prompts, sum(cell.without.values()))
        values |= zip((column, *(f"{column}_{end}" for end in _ENDS)), figures, strict=True)
    values["rank_shares"] = " ".join(f"{rank}:{share:.4f}" for rank, share in enumerate(row.shares, 1))
    if step is not None:
        values |= {"next": step.below, "difference": step.difference, "common_prompts": step.prompts}
        values |= {"difference_low": step.low, "difference_high": step.high, "p": step.p, "p_holm": step.p_holm}
    return values
