"""Columns of a table, with its cells as numbers or texts."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray
from vmmetrics.utils.display.markup import listed

if TYPE_CHECKING:
    from vmmetrics.scoring.versions import Versions

DECIMAL_COMMA = re.compile(r"[+-]?\d+(?:,\d+)?")
_BLANKS = frozenset({"", "nan", "na", "n/a", "none", "null", "-", "–", "missing", "failed", "?"})
_LARGEST_NUMBER = 1e50  # its fourth power is finite; identifiers are smaller
_SHOWN = 12  # columns named in a message
_CELL = 30  # letters of a cell in a message


@dataclass(frozen=True, slots=True)
class SourceTable:
    """Columns of one length.

    Attributes:
        source: Where it came from, for messages.
        columns: Name to cells.
        notes: What had to be assumed when reading.
        origins: Column to the file's own name of it, where a layout was rearranged; "" for a column that was made.
        used: The file's own columns that rearranging it used up, and as what.
        versions: Of a run: what its scores mean, by metric.
    """

    source: str
    columns: Mapping[str, Sequence[Any]]
    notes: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    used: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    versions: Versions = field(default_factory=lambda: MappingProxyType({}))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def heading(self) -> str:
        """Its columns, for messages."""
        return listed([str(name) for name in self.columns], _SHOWN)

    @property
    def first_row(self) -> str:
        """Its first row as "; its first row: ...", cells cut short, for messages."""
        cells = [f"{name} {str(column[0])[:_CELL]!r}" for name, column in self.columns.items() if len(column)]
        return f"; its first row: {listed(cells, _SHOWN)}" if cells else ""

    def roles(self, by_column: Mapping[str, str]) -> dict[str, str]:
        """Return how the file's own columns were read, from how this table's were."""
        named: dict[str, list[str]] = {}
        for column, role in by_column.items():
            named.setdefault(self.origins.get(column, column), []).append(role)
        read = {name: [role for role in roles if not role.endswith("not read")] for name, roles in named.items()}
        return {**self.used, **{name: ", ".join(read[name]) or roles[0] for name, roles in named.items() if name}}


def to_number(cell: Any) -> float | None:
    """Return a cell as a number: NaN where it is empty or says that there is none, None where it is something else."""
    if cell is None:
        return math.nan
    if isinstance(cell, bool | np.bool_):
        return None
    if isinstance(cell, str):
        cell = cell.strip()
        if cell.casefold() in _BLANKS:
            return math.nan
    elif not isinstance(cell, int | float | Decimal | np.integer | np.floating):
        return None
    try:
        return float(cell)
    except (ValueError, OverflowError):
        return None


def is_blank(cell: Any) -> bool:
    """Return True if a cell is empty or a word for "nothing"."""
    value = to_number(cell)
    return value is not None and math.isnan(value)


def numbers(table: SourceTable, column: str, *, required: bool = False) -> FloatArray | None:
    """Return a column of numbers, or None where it is none.

    Args:
        table: The table.
        column: One of its columns.
        required: Whether the column must be one of numbers; one that is empty or mostly text is none otherwise.

    Returns:
        (N,) float64, NaN for empty cells and for what is not finite.

    Raises:
        SetupError: Some cells are no numbers, in a column that is wanted or has mostly numbers.
    """
    cells = table.columns[column]
    values: Sequence[float | None] | None = None
    kinds = set(map(type, cells))
    if kinds == {str} or kinds <= {int, float}:  # at once, if none is blank
        with contextlib.suppress(ValueError, OverflowError):
            values = np.array(cells, np.float64).tolist()
    if values is None:
        values = [to_number(cell) for cell in cells]
    bad = [row for row, value in enumerate(values) if value is None]
    good = sum(value is not None and not math.isnan(value) for value in values)
    if bad and (required or good > len(bad)):
        shown = str(cells[bad[0]])[:40]
        raise SetupError(
            f"{table.source}, row {bad[0] + 1}: expected a number in {column} but got {shown!r}{advice(cells[bad[0]])}"
        )
    if bad or (good == 0 and not required):
        return None
    array = np.array(values, np.float64)
    array[~np.isfinite(array)] = np.nan
    if (huge := np.flatnonzero(np.abs(array) > _LARGEST_NUMBER)).size:
        raise SetupError(f"{table.source}, row {huge[0] + 1}: {column} is {cells[huge[0]]}, too large to compute with")
    return array


def advice(cell: Any) -> str:
    """Return the cause why a cell is no number, and what to write, as text after a message; "" for any other text."""
    text = str(cell).strip()
    if DECIMAL_COMMA.fullmatch(text):
        return "; write a decimal comma as a point, or separate columns by ; or tabs"
    return "; write a column for each number of a list" if text.startswith("[") else ""


def texts(table: SourceTable, column: str | None) -> list[str | None]:
    """Return a column as text with single blanks; None for empty cells, and for all if there is no column."""
    if column is None:
        return [None] * len(table)
    return [_as_text(cell) for cell in table.columns[column]]


def _as_text(cell: Any) -> str | None:
    if cell is None or (isinstance(cell, float | np.floating) and math.isnan(float(cell))):
        return None
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        cell = int(cell)  # a column of whole numbers with one empty cell is read as floats by pandas
    return " ".join(str(cell).split()) or None
