"""Clips in Parquet files, as data sets of the Hub keep them: one per row, read when its turn comes.

A clip there is called by the path of the file and the number of its row, ``train-00000-of-00002.parquet#12``, and
whatever reads clips takes that for a path.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from vmmetrics.errors import ClipError, SetupError
from vmmetrics.utils.tables import open_parquet
from vmmetrics.video.folders import check_inside

PROMPT_COLUMNS = ("prompt", "caption", "text", "prompt_en", "text_prompt", "description")
"""Columns that hold a prompt, the first that is there counts."""
MODEL_COLUMNS = ("model", "model_name", "generator")
"""Columns that hold the name of the model, likewise."""
VIDEO_COLUMNS = ("video", "mp4", "clip", "webm", "gif", "file")
"""Columns that may hold clips, likewise, where the data set does not declare one."""
MAX_NAME = 300
"""Characters of a clip's or model's name; longer ones are left out."""
MAX_GROUP_BYTES = 4 * 2**30
"""Bytes of the clips in a row group, which pyarrow may hold at once (10 rows, as ``datasets`` writes videos)."""

_ROW = re.compile(r"(?P<file>.+\.parquet)#(?P<row>\d{1,12})", re.IGNORECASE)
_FEATURES = b"huggingface"  # where the schema of a data set's file says what its columns are
_BATCH = 1024  # rows of texts read at once; of clips one is


@dataclass(frozen=True, slots=True)
class PackedClip:
    """A row of a Parquet file that holds a clip.

    Attributes:
        path: The file and the row: ``a.parquet#12``.
        name: What the row calls its clip, or None.
        prompt: Text it was generated from, or None.
        model: Which model made it, or None.
    """

    path: Path
    name: str | None
    prompt: str | None
    model: str | None


def row_of(path: Path) -> tuple[Path, int] | None:
    """Return the Parquet file and the row that a path names; None for an ordinary path."""
    match = _ROW.fullmatch(str(path))
    if match is None or os.path.lexists(path):
        return None
    return Path(match["file"]), int(match["row"])


def packed_clips(file: Path) -> list[PackedClip]:
    """List the clips of a Parquet file without reading their pictures; none where it has no column of clips.

    Raises:
        SetupError: pyarrow is not installed, or the file cannot be read.
    """
    with open_parquet(file) as table:
        column = _video_column(table)
        if column is None:
            return []
        names = table.schema_arrow.names
        prompt = next((name for name in PROMPT_COLUMNS if name in names), None)
        model = next((name for name in MODEL_COLUMNS if name in names), None)
        inner = [f"{column}.path"] if _is_struct(table, column) else []
        wanted = [*inner, *(name for name in (prompt, model) if name is not None)]
        if not wanted:
            return [PackedClip(_at(file, row), None, None, None) for row in range(table.metadata.num_rows)]
        rows = (row for batch in table.iter_batches(_BATCH, columns=wanted) for row in batch.to_pylist())
        return [
            PackedClip(
                _at(file, number),
                plain_name((row.get(column) or {}).get("path") if inner else None),
                plain_text(row.get(prompt)),
                plain_name(row.get(model)),
            )
            for number, row in enumerate(rows)
        ]


def _at(file: Path, row: int) -> Path:
    return file.with_name(f"{file.name}#{row}")


def plain_name(value: Any) -> str | None:
    """Return a name as :func:`plain_text` does, a path without what leads out of its folder; None where too long."""
    text = plain_text(value)
    if text is None or len(text) > MAX_NAME:
        return None
    return "/".join(part for part in text.replace("\\", "/").split("/") if part not in ("", ".", "..")) or None


def plain_text(value: Any) -> str | None:
    """Return a text on one line; None for a gap, a blank, or anything that is no text."""
    return " ".join(value.split()) or None if isinstance(value, str) else None


def _is_struct(table: Any, column: str) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_struct(table.schema_arrow.field(column).type))


def _video_column(table: Any) -> str | None:
    """The column of clips: what the data set declares a video, else bytes with a path, or bytes, called like one."""
    import pyarrow as pa

    schema = table.schema_arrow
    declared = _declared((schema.metadata or {}).get(_FEATURES))
    for name in (*(name for name, kind in declared.items() if kind == "Video"), *VIDEO_COLUMNS):
        if name not in schema.names or declared.get(name, "Video") not in ("Video", "Value"):
            continue
        kind = schema.field(name).type
        if pa.types.is_struct(kind):
            if {"bytes", "path"} <= {kind.field(number).name for number in range(kind.num_fields)}:
                return str(name)
        elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return str(name)
    return None


def _declared(metadata: bytes | None) -> Mapping[str, str]:
    """Column to kind (``"Video"``, ``"Image"``, ``"Value"``), as the ``datasets`` library writes them."""
    try:
        features = json.loads(metadata or b"{}")["info"]["features"]
        return {str(name): str(feature["_type"]) for name, feature in features.items() if "_type" in feature}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


_END = object()


class _Reader:
    """Reads rows one after the other: a row that follows the last is not looked for from the beginning.

    Keeps the hashes of what it read, so that a clip is read once.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._place: tuple[object, int] | None = None  # of the file, and its next row
        self._rows: Iterator[Any] = iter(())
        self._hashes: dict[object, str] = {}

    def content(self, file: Path, row: int) -> bytes:
        with self._lock:
            data = self._content(file, row)
        if len(self._hashes) > _BATCH:
            self._hashes.clear()
        self._hashes[_identity(file), row] = hashlib.sha256(data).hexdigest()
        return data

    def sha256(self, file: Path, row: int) -> str:
        known = self._hashes.get((_identity(file), row))
        return hashlib.sha256(self.content(file, row)).hexdigest() if known is None else known

    def _content(self, file: Path, row: int) -> bytes:
        identity = _identity(file)
        if self._place is None or self._place[0] != identity or self._place[1] > row:
            self._rows, self._place = _rows_from(file, row), (identity, row)
        at, self._place = self._place[1], None  # none until the row is here: what fails begins anew
        value: Any = None
        for _ in range(at, row + 1):
            value = next(self._rows, _END)
            if value is _END:
                raise ClipError(f"{file.name} has no row {row}")
        self._place = (identity, row + 1)
        data = value.get("bytes") if isinstance(value, dict) else value
        if not data:
            path = value.get("path") if isinstance(value, dict) else None
            raise ClipError(f"Row {row} of {file.name} holds no clip" + (f", only its path {path}" if path else ""))
        return bytes(data)


def _identity(file: Path) -> object:
    stat = file.stat()
    return str(file), stat.st_size, stat.st_mtime_ns


def _rows_from(file: Path, row: int) -> Iterator[Any]:
    """Yield the clips from ``row`` on; no more than a row group is in memory."""
    with open_parquet(file, streamed=True) as table:
        column = _video_column(table)
        if column is None:
            raise ClipError(f"{file.name} has no column of clips")
        first, groups = 0, []
        for group in range(table.metadata.num_row_groups):
            count = table.metadata.row_group(group).num_rows
            if first + count > row:
                groups.append(group)
                _check_size(table.metadata.row_group(group), file, group, column)
            elif not groups:
                first += count
        skipped = row - first
        for batch in table.iter_batches(1, row_groups=groups, columns=[column]):
            if skipped > 0:
                skipped -= batch.num_rows
                continue
            yield from batch.column(0).to_pylist()


def _check_size(metadata: Any, file: Path, group: int, column: str) -> None:
    chunks = (metadata.column(number) for number in range(metadata.num_columns))
    size = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema.partition(".")[0] == column)
    if size > MAX_GROUP_BYTES:
        raise ClipError(
            f"The row group {group} of {file.name} takes {size / 2**20:.0f} MiB of memory, more than the "
            f"{MAX_GROUP_BYTES / 2**20:.0f} MiB that are read at once; write the file with row_group_size=10"
        )


_READER = _Reader()


def sha256_of_row(file: Path, row: int) -> str:
    """SHA-256 (hex) of the bytes of one clip.

    Raises:
        OSError: The file cannot be read, or has no such clip.
    """
    try:
        return _READER.sha256(file, row)
    except (ClipError, SetupError) as error:
        raise OSError(str(error)) from error


@contextmanager
def at_hand(path: Path, root: Path | None = None) -> Iterator[tuple[Path, Path | None]]:
    """Give a clip as a file that decoders can open: itself, or a copy of a row's bytes that is gone afterwards.

    Returns:
        Its path, and the folder that symlinks must not lead out of, None for the copy.

    Raises:
        ClipError: There is no clip in that row, the file cannot be read, or it lies outside ``root``.
    """
    place = row_of(path)
    if place is None:
        yield path, root
        return
    if root is not None:
        check_inside(place[0], root)
    try:
        data = _READER.content(*place)
    except SetupError as error:
        raise ClipError(str(error)) from error
    with spilled(data) as copy:
        yield copy, None


@contextmanager
def spilled(data: bytes) -> Iterator[Path]:
    """Give bytes as a file in the system's folder for temporary files (``TMPDIR``), which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="vmmetrics-") as folder:
        path = Path(folder, "clip.mp4")  # what it is shows in its first bytes
        path.write_bytes(data)
        yield path
