"""Tables for programs: as records, JSON and CSV, with numbers in full and reasons where there are none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.display.tables import NONE, DisplayCell, DisplayColumn, DisplayTable, Lines, Part, sort_key

_NOTHING = ("", NONE, "-")


def records(table: DisplayTable) -> list[dict[str, Any]]:
    """Return a mapping for each row: the value of every column, ``intervals`` and ``reasons`` by column.

    A column without a head is called ``name``. A value is a number, a text, or None where there is none.
    """
    rows = []
    for row in table.rows:
        pairs = [(column.name or "name", column, cell) for column, cell in zip(table.columns, row.cells, strict=True)]
        shown: dict[str, Any] = {name: _value(column, cell) for name, column, cell in pairs}
        shown["intervals"] = {name: list(cell.interval) for name, _, cell in pairs if cell.interval is not None}
        reasons = {name: cell.why or (table.notes[cell.mark - 1] if cell.mark else "") for name, _, cell in pairs}
        shown["reasons"] = {name: why for name, why in reasons.items() if why and shown[name] is None}
        rows.append(shown)
    return rows


def _value(column: DisplayColumn, cell: DisplayCell) -> Any:
    if cell.value is not None:
        return cell.value
    if cell.text in _NOTHING:
        return None if column.number else cell.text
    shown = sort_key(cell.text) if column.number else ""
    plain = cell.text.replace("−", "-").replace(",", "")
    return (float(shown) if "." in shown else int(shown)) if shown == plain else cell.text


def to_data(parts: Sequence[Part]) -> dict[str, Any]:
    """Return tables as ``{key: records}`` and sentences as ``{key: lines}``."""
    return {part.key: list(part.lines) if isinstance(part, Lines) else records(part) for part in parts}


def to_json(data: Any, *, ascii_only: bool = False) -> str:
    """Return JSON that any reader takes: no NaN, and escapes where the output cannot have other characters."""
    return json.dumps(data, indent=2, ensure_ascii=ascii_only, allow_nan=False) + "\n"


def to_csv(parts: Sequence[Part]) -> str:
    """Return the tables as one, a row each; several have their keys in the column ``table``.

    Ends of intervals are in ``NAME_low`` and ``NAME_high``, reasons in ``NAME_reason``.
    """
    tables = [part for part in parts if isinstance(part, DisplayTable)]
    rows: list[dict[str, Any]] = []
    for table in tables:
        for record in records(table):
            intervals, reasons = record.pop("intervals"), record.pop("reasons")
            row: dict[str, Any] = {"table": table.key} if len(tables) > 1 else {}
            for name, value in record.items():
                row[name] = value
                if name in intervals:
                    row |= {f"{name}_low": intervals[name][0], f"{name}_high": intervals[name][1]}
                if name in reasons:
                    row[f"{name}_reason"] = reasons[name]
            rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return csv_text([list(names), *([row.get(name) for name in names] for row in rows)])
