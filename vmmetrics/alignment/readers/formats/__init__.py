"""Formats of other tools, a file each: ``detect`` tells one, ``rows`` reads it.

A new tool is a new file and its line in one of the lists below.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from vmmetrics.alignment.readers.formats import (
    arena,
    ayase,
    google_forms,
    label_studio,
    mturk,
    nested_rows,
    pandas_json,
    pick_a_pic,
    qualtrics,
    rapidata,
    uve,
)
from vmmetrics.alignment.readers.source_table import Rows, SourceTable


class ContentFormat(Protocol):
    """A format of JSON."""

    def detect(self, content: Any, /) -> bool:
        """Return True if content is of this format."""
        ...

    def rows(self, content: Any, source: str, /) -> Rows:
        """Return rows or columns, and a note; errors name the source."""
        ...


class TableFormat(Protocol):
    """A format of tables, which clips that are known may tell."""

    def detect(self, table: SourceTable, clips: Collection[str], /) -> bool:
        """Return True if a table is of this format."""
        ...

    def rows(self, table: SourceTable, clips: Collection[str], /) -> SourceTable:
        """Return a row per clip and person, or per preference."""
        ...


CONTENTS: tuple[ContentFormat, ...] = (label_studio, arena, ayase, uve, pandas_json, nested_rows)
"""Formats of JSON, in the order tried."""
TABLES: tuple[TableFormat, ...] = (mturk, qualtrics, pick_a_pic, rapidata, google_forms)
"""Formats of tables, in the order tried."""


def rows_of(content: Any, source: str) -> Rows | None:
    """Return rows in the first format that JSON content has; None where it has none of them.

    Raises:
        SetupError: It has one, and what is in it cannot be read.
    """
    return next((of.rows(content, source) for of in CONTENTS if of.detect(content)), None)


def rearranged(table: SourceTable, clips: Collection[str] = ()) -> SourceTable:
    """Return the table with a row per clip and person, if it is of one of the formats; else as it is.

    Args:
        table: The table.
        clips: Clips that are known, whose names may stand in its header.
    """
    return next((of.rows(table, clips) for of in TABLES if of.detect(table, clips)), table)
