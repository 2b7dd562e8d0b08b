"""FAVOR-Bench's files as they are in the wild: nested or flat, names with extensions or without, rows that are off."""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError

THIRD: Final = "third-person"
EGO: Final = "first-person"

_VIDEO_ENDINGS: Final = (".mp4", ".MP4", ".webm", ".mkv", ".avi", ".mov")
_VIDEO_FOLDERS: Final = ("", "FAVOR-Bench", "videos", "videos/FAVOR-Bench")
"""Where videos lie below the folder that was named: as the paper's runner and a third party's loader have them."""
_ENDING: Final = re.compile(r"\.(mp4|webm|mkv|avi|mov)$", re.IGNORECASE)
_TABLES: Final = {".csv": ",", ".tsv": "\t"}
_LARGEST_FIELD: Final = 2**24  # characters of a cell in a table; the csv module's own bound is 128 KiB

Row = Mapping[str, Any]


def stem_of(name: Any) -> str:
    """Key of a video: its name without folders and without the extension, which some files repeat.

    >>> stem_of("videos/7R8ZU.mp4.mp4")
    '7R8ZU'
    """
    stem = str(name).replace("\\", "/").rsplit("/", 1)[-1].strip()
    while _ENDING.search(stem):
        stem = _ENDING.sub("", stem)
    return stem


def perspective_of(stem: str) -> str:
    """Whose view the video shows: clips of the first-person sources, and only those, are named with a ``|``."""
    return EGO if "|" in stem else THIRD


class VideoFiles:
    """Finds videos below a folder.

    Args:
        folder: It; None finds nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._places = [] if folder is None else [folder / part for part in _VIDEO_FOLDERS]
        self._places = [place for place in self._places if place.is_dir()]

    def find(self, stem: str) -> Path | None:
        """The file of a video; names that a file system cannot hold may have ``_`` for ``|``."""
        for place in self._places:
            for name in dict.fromkeys((stem, stem.replace("|", "_"))):
                for ending in _VIDEO_ENDINGS:
                    if (place / f"{name}{ending}").is_file():
                        return place / f"{name}{ending}"
        return None


def find_file(data: Path, names: Sequence[str], what: str) -> Path:
    """The file with the data: ``data`` itself, or the first of ``names`` in it or one folder below.

    Raises:
        SetupError: There is none.
    """
    if data.is_file():
        return data
    for pattern in [*names, *(f"*/{name}" for name in names)]:
        for path in sorted(data.glob(pattern)):
            return path
    raise SetupError(f"{data}: no {what} of FAVOR-Bench there or one folder below; looked for {', '.join(names)}")


def read_rows(path: Path) -> list[Row]:
    """Rows of a JSON list or mapping, JSON lines, CSV, TSV or Parquet file, whatever they hold.

    Raises:
        SetupError: It cannot be read.
    """
    try:
        if path.suffix == ".parquet":
            return _read_parquet(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix in _TABLES:
                csv.field_size_limit(_LARGEST_FIELD)
                return list(csv.DictReader(file, delimiter=_TABLES[path.suffix]))
            if path.suffix == ".jsonl":
                return [row for line in file if line.strip() for row in _rows_of(json.loads(line))]
            return _rows_of(json.load(file))
    except OSError as error:
        raise SetupError(f"Cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError, csv.Error) as error:
        raise SetupError(f"{path}: not readable as {path.suffix.lstrip('.') or 'JSON'}: {error}") from error


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object, or a list of them taken together, as predictions for the first step come.

    Raises:
        SetupError: It cannot be read, or is something else.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SetupError(f"Cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise SetupError(f"{path}: not readable as JSON: {error}") from error
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, dict) for part in parts):
        raise SetupError(f"{path}: expected an object by video name")
    return {name: entry for part in parts for name, entry in part.items()}


def sha256_of(path: Path) -> str:
    """Hash of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def each_question(rows: Sequence[Row], problems: Counter[str]) -> Iterator[tuple[str, str, Row]]:
    """Id, video and fields of every question, from the nested list or its flat twin.

    Args:
        rows: Of the file.
        problems: What was wrong is counted here.
    """
    seen: set[str] = set()
    per_video: Counter[str] = Counter()
    for row in rows:
        if not isinstance(row, Mapping) or not row.get("video_name"):
            problems["rows without a video name"] += 1
            continue
        video = stem_of(row["video_name"])
        inner = row.get("questions")
        for item in inner if isinstance(inner, list) else [row]:
            if not isinstance(item, Mapping):
                problems["questions that are no objects"] += 1
                continue
            key = str(item.get("question_key") or f"{video}_{per_video[video]}")
            per_video[video] += 1
            if key in seen:
                problems["questions with the key of one before them"] += 1
                continue
            seen.add(key)
            yield key, video, item


def options_of(value: Any) -> tuple[str, ...]:
    """Texts of the options, from a list or from a list written as text (JSON or Python; never run)."""
    if isinstance(value, str):
        for read in (json.loads, ast.literal_eval):
            try:
                value = read(value)
                break
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    if hasattr(value, "tolist"):  # Parquet gives arrays
        value = value.tolist()
    return tuple(str(option) for option in value) if isinstance(value, list | tuple) else ()


def _rows_of(value: Any) -> list[Row]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and "video_name" not in value:  # by video name
        return [{"video_name": name, **entry} for name, entry in value.items() if isinstance(entry, dict)]
    return [value]


def _read_parquet(path: Path) -> list[Row]:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise SetupError(f"{path}: reading Parquet needs pyarrow: pip install 'vmmetrics[parquet]'") from error
    rows: list[Row] = parquet.read_table(path).to_pylist()
    return rows
