"""Scores from a table: the role of each column, and a row per clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.alignment.readers.source_table import SourceTable, TableClips, clips_of, numbers, to_number
from vmmetrics.errors import SetupError
from vmmetrics.metrics import METRICS
from vmmetrics.types import FloatArray
from vmmetrics.utils.display.markup import listed

if TYPE_CHECKING:
    from vmmetrics.scoring.versions import Versions

_SHOWN = 5  # names in a note
_FLAGS: Mapping[str, float] = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True, slots=True)
class SourceScores:
    """Scores of some clips (or of models, where that is what was scored).

    Attributes:
        name: What the source is called, for prefixes.
        clips: (N,) names.
        prompts: (N,) prompt, None where it is not known.
        models: (N,) model, None where it is not known.
        values: Metric to (N,) float64, higher is better, NaN where there is none.
        notes: What was assumed.
        of_models: Whether the rows are models.
        columns: Source to its columns (of a file of nested scores, its keys) and how each was read.
        lower: Metrics whose sign is turned, since lower is better in the source.
        versions: Runs, and what their scores mean.
        amplitude: (N,) amount of motion, NaN where there is none; None without such a column.
    """

    name: str
    clips: tuple[str, ...]
    prompts: tuple[str | None, ...]
    models: tuple[str | None, ...]
    values: Mapping[str, FloatArray]
    notes: tuple[str, ...] = ()
    of_models: bool = False
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    lower: frozenset[str] = frozenset()
    versions: tuple[tuple[str, Versions], ...] = ()
    amplitude: FloatArray | None = None


def to_score(cell: Any) -> float | None:
    """Return a cell as a score, true and false as 1 and 0; NaN where there is none, None where it is something else.

    >>> to_score(True), to_score("False"), to_score("0.5"), to_score("odd")
    (1.0, 0.0, 0.5, None)
    """
    if isinstance(cell, bool | np.bool_):
        return float(cell)
    flag = _FLAGS.get(cell.strip().casefold()) if isinstance(cell, str) else None
    return to_number(cell) if flag is None else flag


def scores_of_table(
    table: SourceTable, name: str, metrics: Sequence[str] = (), clip_column: str | None = None
) -> SourceScores:
    """Return the scores of the first row of every clip.

    Args:
        table: The table.
        name: What the source is called.
        metrics: Columns to read although their names are those of bookkeeping.
        clip_column: Which column names the clip, if the table has it.

    Raises:
        SetupError: No column names clips, or two rows of a clip have different scores.
    """
    rows = clips_of(table, clip_column if clip_column in table.columns else None)
    requested = {normalised(metric.rpartition(":")[2]) for metric in metrics}
    values: dict[str, FloatArray] = {}
    roles = rows.roles
    amplitude: FloatArray | None = None
    for column in table.columns:
        asked = normalised(column) in requested
        if column in rows.used:
            continue
        if normalised(column) == called.AMPLITUDE:
            amplitude = numbers(table, column, required=False)
            if amplitude is not None and not asked:
                roles[column] = "amount of motion: held constant, and a baseline"
                continue
        if called.describes_clip(column) and not asked:
            roles[column] = "passed over: it describes the clip (--metrics NAME reads it)"
        elif (column_scores := _score_column(table, column, required=asked or column in METRICS)) is not None:
            values[column], roles[column] = column_scores
        else:
            roles[column] = "passed over: not numbers"
    first, notes = _first_rows(table, rows, values)
    rows_used = list(first.values())
    prompts, models = (tuple(of_rows[row] for row in rows_used) for of_rows in (rows.prompts, rows.models))
    values = {metric: column[rows_used] for metric, column in values.items()}
    all_notes = (*table.notes, *rows.notes, *notes)
    versions = ((name, table.versions),) if table.versions else ()
    return SourceScores(
        name, tuple(first), prompts, models, values, all_notes, rows.of_models, {name: roles}, versions=versions,
        amplitude=None if amplitude is None else amplitude[rows_used],
    )  # fmt: skip


def _score_column(table: SourceTable, column: str, *, required: bool) -> tuple[FloatArray, str] | None:
    """Return a column of scores and how it was read; None where it is none."""
    cells = table.columns[column]
    flags = [_FLAGS.get(str(cell).strip().casefold()) for cell in cells]
    if any(flag is not None for flag in flags) and all(to_score(cell) is not None for cell in cells):
        return np.array([to_score(cell) for cell in cells], np.float64), "score; true and false are 1 and 0"
    values = numbers(table, column, required=required)
    return None if values is None else (values, "score")


def _first_rows(
    table: SourceTable, rows: TableClips, values: Mapping[str, FloatArray]
) -> tuple[dict[str, int], list[str]]:
    """Return clip → first row, and notes on what was left out.

    Raises:
        SetupError: Two rows of a clip have different scores.
    """
    first: dict[str, int] = {}
    again: list[str] = []
    for row, clip in enumerate(rows.clips):
        if clip is None or first.setdefault(clip, row) == row:
            continue
        before = first[clip]
        if not all(np.array_equal(c[row], c[before], equal_nan=True) for c in values.values()):
            raise SetupError(
                f"{table.source}: rows {before + 1} and {row + 1} give {clip} different scores; keep one of them"
            )
        again.append(clip)
    nameless = rows.clips.count(None)
    notes = [f"{table.source}: {len(again)} rows are there twice: {listed(again, _SHOWN)}"] if again else []
    notes += [f"{table.source}: {nameless} rows without a clip were left out"] if nameless else []
    return first, notes
