"""Preferences of Pick-a-Pic: ``label_0`` and ``label_1`` are 1 and 0, or 0.5 each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from vmmetrics.alignment.readers.source_table import SourceTable
from vmmetrics.alignment.readers.votes import by_shares

_COLUMNS = {"video_0": "left", "video_1": "right"}
_NOT_READ = ("label_0", "label_1", "has_label")


def detect(table: SourceTable, _: Collection[str]) -> bool:
    """Return True if both clips and both labels are there."""
    return table.columns.keys() >= {*_COLUMNS, "label_0", "label_1"}


def rows(table: SourceTable, _: Collection[str]) -> SourceTable:
    """Return a preference per row."""
    outcome = by_shares(table, "label_0", "label_1")
    columns = {_COLUMNS.get(name, name): of for name, of in table.columns.items() if name not in _NOT_READ}
    origins = {new: name for name, new in _COLUMNS.items()} | {"outcome": "label_0"}
    used = dict.fromkeys(_NOT_READ[1:], "not read")
    return replace(table, columns={**columns, "outcome": outcome}, origins=origins, used=used)
