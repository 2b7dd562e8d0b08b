"""Comparisons as Rapidata and Datapoint AI publish them: the share of voters for each of two videos, by dimension."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from vmmetrics.alignment.readers.source_table import SourceTable
from vmmetrics.alignment.readers.votes import by_shares

_FIRST, _SECOND = "weighted_results1_", "weighted_results2_"


def detect(table: SourceTable, _: Collection[str]) -> bool:
    """Return True if some dimension has both shares."""
    return bool(_dimensions(table))


def rows(table: SourceTable, _: Collection[str]) -> SourceTable:
    """Return a preference per comparison and dimension; equal shares are a tie."""
    dimensions = _dimensions(table)
    shared = {name: cells for name, cells in table.columns.items() if not name.startswith((_FIRST, _SECOND))}
    columns: dict[str, list[Any]] = {name: list(cells) * len(dimensions) for name, cells in shared.items()}
    columns["dimension"] = [dimension for dimension in dimensions for _ in range(len(table))]
    columns["outcome"] = []
    for dimension in dimensions:
        columns["outcome"] += by_shares(table, f"{_FIRST}{dimension}", f"{_SECOND}{dimension}")
    note = f"Rapidata: what more voters preferred, of {len(table)} comparisons"
    origins = {**table.origins, "dimension": "", "outcome": ""}
    used = {f"{side}{dimension}": f"share of {dimension}" for dimension in dimensions for side in (_FIRST, _SECOND)}
    return replace(table, columns=columns, notes=(*table.notes, note), origins=origins, used=used)


def _dimensions(table: SourceTable) -> list[str]:
    names = (name.removeprefix(_FIRST) for name in table.columns if name.startswith(_FIRST))
    return [name for name in names if name and f"{_SECOND}{name}" in table.columns]
