"""Clips in the rows of Parquet files, as in data sets of the Hub; read one at a time.

A clip there is called by the path of the file and the number of its row, ``train-00000-of-00002.parquet#12``, and
whatever reads clips takes that for a path.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

from vmmetrics.errors import ClipError, SetupError
from vmmetrics.utils.tables import open_parquet, parquet_rows
from vmmetrics.video.folders import check_inside

PROMPT_COLUMNS = ("prompt", "caption", "text", "prompt_en", "text_prompt", "description")
"""Columns that hold a prompt, the first that is there counts."""
MODEL_COLUMNS = ("model", "model_name", "generator")
"""Columns that hold the name of the model; the first that is there counts."""
VIDEO_COLUMNS = ("video", "mp4", "clip", "webm", "gif", "file")
"""Columns that may hold clips where the data set does not declare one; the first that is there counts."""
PATH_COLUMNS = ("path", "video_path", "file_name", "filename", "clip_path")
"""Columns that hold the path of a clip; the first that is there counts."""
MAX_CLIPS = 200_000
"""Rows of a file with clips; a file with more is refused."""
MAX_TEXT_BYTES = 2**28
"""Bytes of the names, prompts and models in a file, unpacked."""
MAX_NAME = 300
"""Characters of a clip's or model's name; longer ones are left out."""
MAX_GROUP_BYTES = 4 * 2**30
"""Bytes of the clips in a row group, which pyarrow may hold at once (10 rows, as ``datasets`` writes videos)."""

_ROW = re.compile(r"(?P<file>.+\.parquet)#(?P<row>\d{1,12})", re.IGNORECASE)
_FEATURES = b"huggingface"  # where the schema of a data set's file says what its columns are
_HASHES = 1024  # kept


@dataclass(frozen=True, slots=True)
class PackedClip:
    """A row of a Parquet file that holds a clip.

    Attributes:
        path: The file and the row: ``a.parquet#12``.
        name: What the row calls its clip, or None.
        prompt: Text it was generated from, or None.
        model: Which model made it, or None.
        stated_only: True if the file holds the path of each clip, and of none the bytes.
    """

    path: Path
    name: str | None
    prompt: str | None
    model: str | None
    stated_only: bool = False


def row_of(path: Path) -> tuple[Path, int] | None:
    """Return the Parquet file and the row that a path names; None for an ordinary path."""
    match = _ROW.fullmatch(str(path))
    if match is None or os.path.lexists(path):
        return None
    return Path(match["file"]), int(match["row"])


def packed_clips(file: Path) -> list[PackedClip]:
    """List the clips of a Parquet file without reading their pictures; none where it has no column of clips.

    Raises:
        SetupError: pyarrow is not installed, the file cannot be read, or has more than :data:`MAX_CLIPS` rows or
            :data:`MAX_TEXT_BYTES` of texts.
    """
    with open_parquet(file) as table:
        column = _video_column(table)
        if column is None:
            return []
        count = table.metadata.num_rows
        if count > MAX_CLIPS:
            raise SetupError(
                f"{file}: {count:,} rows, more than the {MAX_CLIPS:,} clips that a file may hold; split it"
            )
        names = table.schema_arrow.names
        prompt = next((name for name in PROMPT_COLUMNS if name in names), "")
        model = next((name for name in MODEL_COLUMNS if name in names), "")
        is_struct = str(table.schema_arrow.field(column).type).startswith("struct")
        inner = [f"{column}.path"] if is_struct else []
        columns = [*inner, *filter(None, (prompt, model))]
        rows = parquet_rows(table, file, columns, MAX_CLIPS, MAX_TEXT_BYTES) if columns else ({} for _ in range(count))
        stated_only = bool(inner) and _is_null(table.metadata, f"{column}.bytes")
        return [
            PackedClip(
                file.with_name(f"{file.name}#{number}"),
                plain_name((row.get(column) or {}).get("path") if inner else None),
                plain_text(row.get(prompt)),
                plain_name(row.get(model)),
                stated_only,
            )
            for number, row in enumerate(rows)
        ]


def _is_null(metadata: Any, path: str) -> bool:
    """Return True if a column holds nothing in any row, by what the file states of its pieces."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    stated = [chunk.statistics for chunk in chunks if chunk.path_in_schema == path]
    return all(one is not None and one.has_null_count and not one.num_values for one in stated)


def row_number(path: Path) -> str:
    """Return the row of a clip in a Parquet file with six digits, so that names sort.

    >>> row_number(Path("train.parquet#12"))
    '000012'
    """
    return path.name.rpartition("#")[2].zfill(6)


def clip_names(clips: Sequence[tuple[str | None, str | None]], numbered: Sequence[str]) -> list[str]:
    """Return unique names of clips in the shortest form: file, model and file, then with more folders.

    Args:
        clips: Path (:func:`plain_name`) and model of each.
        numbered: Names for where no form does.

    >>> clip_names([("out/1/a.mp4", "wan"), ("out/2/a.mp4", "wan")], ["train/000000", "train/000001"])
    ['1/a.mp4', '2/a.mp4']
    """
    parts = [path.split("/") if path else [] for path, _ in clips]
    if not all(parts):
        return list(numbered)
    files = ["/".join(part[-1:]) for part in parts]
    forms = [files, [f"{model}/{file}" for file, (_, model) in zip(files, clips, strict=True)]]
    forms = forms[: 1 + all(model for _, model in clips)]
    deepest = max(map(len, parts), default=0)
    tails = (["/".join(part[-depth:]) for part in parts] for depth in range(2, deepest + 1))
    return next((names for names in chain(forms, tails) if len(set(names)) == len(names)), list(numbered))


def plain_name(value: Any) -> str | None:
    """Return a name as :func:`plain_text` does, a path without what leads out of its folder; None where too long."""
    text = plain_text(value)
    if text is None or len(text) > MAX_NAME:
        return None
    return "/".join(part for part in text.replace("\\", "/").split("/") if part not in ("", ".", "..")) or None


def plain_text(value: Any) -> str | None:
    """Return a text on one line; None for a gap, a blank, or anything that is no text."""
    return " ".join(value.split()) or None if isinstance(value, str) else None


def _video_column(table: Any) -> str | None:
    """Return the column of clips: a declared video, else a column of bytes with paths or with the name of one."""
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
    """Return the column to kind (``"Video"``, ``"Image"``, ``"Value"``), as the ``datasets`` library writes them."""
    try:
        features = json.loads(metadata or b"{}")["info"]["features"]
        return {str(name): str(feature["_type"]) for name, feature in features.items() if "_type" in feature}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


_END = object()


class _Reader:
    """Reader of rows that continues from the last row instead of from the beginning.

    Keeps the hashes of what it read, so that a clip is read once.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._cursor: tuple[object, int] | None = None  # of the file, and its next row
        self._rows: Iterator[Any] = iter(())
        self._hashes: dict[object, str] = {}

    def content(self, file: Path, row: int) -> bytes:
        with self._lock:
            data = self._content(file, row)
        if len(self._hashes) > _HASHES:
            self._hashes.clear()
        self._hashes[_identity(file), row] = hashlib.sha256(data).hexdigest()
        return data

    def sha256(self, file: Path, row: int) -> str:
        cached = self._hashes.get((_identity(file), row))
        return hashlib.sha256(self.content(file, row)).hexdigest() if cached is None else cached

    def _content(self, file: Path, row: int) -> bytes:
        identity = _identity(file)
        if self._cursor is None or self._cursor[0] != identity or self._cursor[1] > row:
            self._rows, self._cursor = _rows_from(file, row), (identity, row)
        next_row, self._cursor = self._cursor[1], None  # none until the row is here: what fails begins anew
        value: Any = None
        for _ in range(next_row, row + 1):
            value = next(self._rows, _END)
            if value is _END:
                raise ClipError(f"{file.name} has no row {row}")
        self._cursor = (identity, row + 1)
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
        first, groups = 0, list[int]()
        for group in range(table.metadata.num_row_groups):
            count = table.metadata.row_group(group).num_rows
            if groups or first + count > row:
                groups.append(group)
                _check_size(table.metadata.row_group(group), file, group, column)
            else:
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
    """Return SHA-256 (hex) of the bytes of one clip.

    Raises:
        OSError: The file cannot be read, or has no such clip.
    """
    try:
        return _READER.sha256(file, row)
    except (ClipError, SetupError) as error:
        raise OSError(str(error)) from error


@contextmanager
def local_file(path: Path, root: Path | None = None) -> Iterator[tuple[Path, Path | None]]:
    """Yield a clip as a file that decoders can open: itself, or a temporary copy of a row's bytes.

    Returns:
        Its path, and the folder that symlinks must not lead out of, None for the copy.

    Raises:
        ClipError: There is no clip in that row, the file cannot be read, or it lies outside ``root``.
    """
    location = row_of(path)
    if location is None:
        yield path, root
        return
    if root is not None:
        check_inside(location[0], root)
    try:
        data = _READER.content(*location)
    except SetupError as error:
        raise ClipError(str(error)) from error
    with temporary_file(data) as copy:
        yield copy, None


@contextmanager
def temporary_file(data: bytes) -> Iterator[Path]:
    """Yield a temporary file (in ``TMPDIR``) with the bytes; it is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="vmmetrics-") as folder:
        path = Path(folder, "clip.mp4")  # what it is shows in its first bytes
        path.write_bytes(data)
        yield path
