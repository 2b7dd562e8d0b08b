"""Responses as Qualtrics exports them: a second header has the questions, a third one identifiers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from vmmetrics.alignment.readers.formats import google_forms
from vmmetrics.alignment.readers.source_table import SourceTable


def detect(table: SourceTable, _: Collection[str]) -> bool:
    """Return True if the third header is there."""
    return len(table) > 1 and all(str(cells[1]).startswith('{"ImportId"') for cells in table.columns.values())


def rows(table: SourceTable, clips: Collection[str]) -> SourceTable:
    """Return responses under their questions, a row per person and clip where questions name clips."""
    names: dict[str, str] = {}
    for name, cells in table.columns.items():
        text = str(cells[0])
        names[name] = f"{text} ({name})" if text in names.values() else text
    columns = {text: table.columns[name][2:] for name, text in names.items()}
    origins = {text: name for name, text in names.items()}
    notes = (*table.notes, "Qualtrics: columns are called by their questions")
    plain = replace(table, columns=columns, origins=origins, notes=notes)
    return google_forms.rows(plain, clips) if google_forms.detect(plain, clips) else plain
