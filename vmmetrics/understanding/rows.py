"""Rows of the files that benchmarks come in: JSON, JSON lines, CSV, TSV, Parquet."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError

SEPARATORS: Final[Mapping[str, str]] = {".csv": ",", ".tsv": "\t"}
_LARGEST_FIELD: Final = 2**24  # characters of a cell in a table; the csv module's own bound is 128 KiB


def read_rows(path: Path) -> list[Any]:
    """Rows of a file as they are: whoever takes them checks what they hold.

    A ``.json`` file gives its list, or the one value in it; ``.jsonl`` a value per line; tables a dictionary per row.

    Raises:
        SetupError: It cannot be read.
    """
    try:
        if path.suffix == ".parquet":
            return _read_parquet(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix in SEPARATORS:
                csv.field_size_limit(_LARGEST_FIELD)
                return list(csv.DictReader(file, delimiter=SEPARATORS[path.suffix]))
            if path.suffix == ".jsonl":
                return [json.loads(line) for line in file if line.strip()]
            value = json.load(file)
            return value if isinstance(value, list) else [value]
    except OSError as error:
        raise SetupError(f"Cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError, csv.Error) as error:
        raise SetupError(f"{path}: not readable as {path.suffix.lstrip('.') or 'JSON'}: {error}") from error


def sha256_of(path: Path) -> str:
    """Hash of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seconds(value: Any) -> float | None:
    """A finite number of seconds, zero or more, from a number or its text; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < float("inf") else None


def _read_parquet(path: Path) -> list[Any]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise SetupError(f"{path}: reading Parquet needs pyarrow: pip install 'vmmetrics[parquet]'") from error
    try:
        rows: list[Any] = parquet.read_table(path).to_pylist()
    except pyarrow.ArrowException as error:
        raise SetupError(f"{path}: not readable as parquet: {error}") from error
    return rows
