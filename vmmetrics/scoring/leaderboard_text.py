"""Leaderboards as tables for people and as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vmmetrics.metrics.registry import in_order, registered
from vmmetrics.scoring.leaderboard import AVERAGE, Board, Cell, Row, Step, head
from vmmetrics.utils.display import tables
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.display.tables import DisplayCell, DisplayTable, Lines, Part, bounds, p_value

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


SOURCES = ("scored", "published")
"""What stands in the column ``source`` of the CSV."""
_ENDS = ("low", "high", "prompts", "clips_without")  # of columns beside that of a mean


def board_parts(board: Board, published: Sequence[PublishedRow]) -> list[Part]:
    """Return a board as a table for people, published rows below a rule, and what there is to say about it."""
    caption = f"× 100 [95 % interval over {board.prompts} prompts], ranked by {board.by}."
    if published:
        caption += f" Below the rule, {_published_title(board)}."
    table = DisplayTable("leaderboard", board.label, caption, tables.heads("model", *map(head, board.columns)))
    for row in board.rows:
        cells = [_cell(row.cells[column], row.prompts) for column in board.columns]
        table.add(f"{row.rank}. {row.model}" if row.rank else row.model, *cells)
    for known in published:
        why = None if known.adds_up else f"As printed: not the mean of its columns, which is {known.mean:.1f}."
        numbers = {key: DisplayCell(f"{score:.1f}") for key, score in known.scores.items()}
        numbers[AVERAGE] = DisplayCell(f"{known.average:.1f}", mark=table.mark(why))
        table.add(known.model, *(numbers.get(key, "") for key in board.columns), reference=True)
    shares = [
        f"{row.model}: ranks in bootstrap samples of the prompts: {_share_text(row)}"
        for row in board.rows
        if row.shares
    ]
    return [table, Lines("remarks", "How sure this is", (*map(_step_text, board.steps), *shares, *board.notes))]


def _cell(cell: Cell, prompts: int) -> DisplayCell:
    """Mean, interval where there is one, and number of prompts where it is not all of them."""
    few = f"n={cell.prompts}" if cell.mean is not None and cell.prompts < prompts else ""
    return DisplayCell(tables.number(cell.mean, 1), "\n".join(filter(None, (bounds(cell.low, cell.high, 1), few))))


def _published_title(board: Board) -> str:
    """What the published numbers are to the table above them."""
    if not board.comparable:
        return "published by VMBench: not comparable with the above (other networks or another definition)"
    few = "" if board.prompts == PROMPTS else f" over {PROMPTS:,} prompts, the above over {board.prompts:,}"
    return f"published by VMBench{few}"


def _step_text(step: Step) -> str:
    """How sure it is that a model is better than the next."""
    if step.p is None:
        return f"{step.above} and {step.below}: no prompt in common"
    ends = bounds(step.low, step.high, 1)
    return (
        f"{step.above} over {step.below}: {step.difference:+.2f}{' ' + ends if ends else ''} on {step.prompts} common "
        f"prompts, p {p_value(step.p)}, Holm {p_value(step.p_holm)}"
    )


def _share_text(row: Row) -> str:
    """How often a model has which place, rarer than 1 % left out."""
    return ", ".join(f"{place}. {share:.0%}" for place, share in enumerate(row.shares, 1) if share >= 0.01)


def board_records(boards: Sequence[Board], published: Sequence[PublishedRow]) -> list[dict[str, object]]:
    """Return a row per model and table: numbers in full, times 100; None where there is none.

    Published rows were scored by neither our presets nor our protocols, and have none.
    """
    rows: list[dict[str, object]] = []
    for table, board in enumerate(boards, 1):
        steps = {step.above: step for step in board.steps}
        shared = {"table": table, "preset": board.preset, "protocol": board.protocol, "comparable": board.comparable}
        rows += ({**shared, "source": SOURCES[0], **_csv_row(row, steps.get(row.model))} for row in board.rows)
        for known in published:
            scores = {"average": known.average, **known.scores}
            about = {"table": table, "comparable": board.comparable, "source": SOURCES[1]}
            rows.append({**about, "model": known.model, "prompts": PROMPTS, **scores})
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
    values["rank_shares"] = " ".join(f"{place}:{share:.4f}" for place, share in enumerate(row.shares, 1))
    if step is not None:
        values |= {"next": step.below, "difference": step.difference, "common_prompts": step.prompts}
        values |= {"difference_low": step.low, "difference_high": step.high, "p": step.p, "p_holm": step.p_holm}
    return values
