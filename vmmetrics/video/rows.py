"""Clips in the rows of a ``datasets.Dataset``, read without importing ``datasets``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from vmmetrics.errors import ClipError, SetupError
from vmmetrics.video.folders import CLIP_SUFFIXES
from vmmetrics.video.shards import (
    MODEL_COLUMNS,
    PATH_COLUMNS,
    PROMPT_COLUMNS,
    VIDEO_COLUMNS,
    clip_names,
    plain_name,
    plain_text,
)

_BATCH = 16  # rows looked at together; where rows are chosen from a data set, their clips are copied


class InlineClip:
    """The bytes of a clip, fetched on demand; pickling includes them.

    Args:
        fetch: The bytes, or a function that returns them.
    """

    def __init__(self, fetch: bytes | Callable[[], bytes]) -> None:
        self._fetch = fetch

    @property
    def content(self) -> bytes:
        """The file's bytes.

        Raises:
            ClipError: The row holds none.
        """
        return self._fetch if isinstance(self._fetch, bytes) else self._fetch()

    @cached_property
    def sha256(self) -> str:
        """SHA-256 (hex) of the bytes, as of the file they came from."""
        return hashlib.sha256(self.content).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, InlineClip) and self.sha256 == other.sha256)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __reduce__(self) -> tuple[type[InlineClip], tuple[bytes]]:
        return InlineClip, (self.content,)


@dataclass(frozen=True, slots=True)
class DatasetClip:
    """A row that holds a clip.

    Attributes:
        name: Its name (:func:`vmmetrics.video.shards.clip_names`).
        prompt: Text it was generated from, or None.
        model: Model that made it, or None.
        path: Its file, where that is on this machine, else None.
        inline: Its bytes, where it has no file.
    """

    name: str
    prompt: str | None
    model: str | None
    path: Path | None
    inline: InlineClip | None


def is_dataset(value: object) -> bool:
    """Return True if something is a ``datasets.Dataset``, a stream of one, or a dictionary of its splits."""
    first = next(iter(value.values()), None) if isinstance(value, dict) else value
    return all(hasattr(first, name) for name in ("column_names", "features", "with_format"))


def dataset_clips(dataset: Any) -> list[DatasetClip]:
    """List the clips of a ``datasets.Dataset``; no video is decoded.

    Args:
        dataset: With a column of videos (``Video``, or bytes) or of paths, and columns of prompts and models as in
            :data:`vmmetrics.video.shards.PROMPT_COLUMNS` and :data:`vmmetrics.video.shards.MODEL_COLUMNS`.

    Raises:
        SetupError: It has no such column, or is a stream or a dictionary of splits.
    """
    if isinstance(dataset, dict):
        splits = " or ".join(f"dataset[{name!r}]" for name in dataset)
        raise SetupError(f"Expected one split of the data set: {splits}")
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise SetupError("A streamed data set cannot be resumed; load it without streaming=True")
    columns = list(dataset.column_names)
    column = _clip_column(dataset.features, columns)
    prompt = next((name for name in PROMPT_COLUMNS if name in columns), None)
    model = next((name for name in MODEL_COLUMNS if name in columns), None)
    rows = list(_rows(dataset, column, prompt, model))
    split = plain_name(str(getattr(dataset, "split", None) or "row")) or "row"
    numbered = [f"{split}/{number:06d}" for number in range(len(rows))]
    names = clip_names([(plain_name(path), model_name) for path, _, model_name in rows], numbered)
    clips = []
    for number, (name, (path, text, model_name)) in enumerate(zip(names, rows, strict=True)):
        file = Path(path) if path and _is_clip(Path(path)) else None
        inline = None if file else InlineClip(partial(_content, dataset, column, number))
        clips.append(DatasetClip(name, text, model_name, file, inline))
    return clips


def _clip_column(features: Any, columns: list[str]) -> str:
    kinds = {name: type(features[name]).__name__ for name in columns}
    declared = [name for name in columns if kinds[name] == "Video"]
    for name in (*declared, *(name for name in (*VIDEO_COLUMNS, *PATH_COLUMNS) if name in columns)):
        if kinds[name] in ("Video", "Value", "dict"):
            return name
    raise SetupError(f"The data set has no column of clips (video, path, ...) but {', '.join(columns)}")


def _rows(
    dataset: Any, column: str, prompt: str | None, model: str | None
) -> Iterator[tuple[str | None, str | None, str | None]]:
    """Yield path, prompt and model of each row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    arrow = dataset.with_format("arrow")
    for start in range(0, len(dataset), _BATCH):
        table = arrow[start : start + _BATCH]
        cells = table.column(column)
        if pa.types.is_struct(cells.type):
            paths = pc.struct_field(cells, "path").to_pylist()
        else:
            paths = cells.to_pylist() if pa.types.is_string(cells.type) else [None] * len(cells)
        texts = [table.column(name).to_pylist() if name else [None] * len(cells) for name in (prompt, model)]
        for path, text, maker in zip(paths, *texts, strict=True):
            yield path or None, plain_text(text), plain_name(maker)


def _is_clip(path: Path) -> bool:
    """Return True if a cell's path may be opened: a data set that others made names no other file of this machine."""
    return path.is_absolute() and path.suffix.lower() in CLIP_SUFFIXES and path.is_file()


def _content(dataset: Any, column: str, row: int) -> bytes:
    cell = dataset.with_format("arrow")[row : row + 1].column(column)[0].as_py()
    data = cell.get("bytes") if isinstance(cell, dict) else cell
    if isinstance(data, bytes) and data:
        return data
    path = cell.get("path") if isinstance(cell, dict) else cell
    reason = f"there is no file {path}"
    if path and Path(path).suffix.lower() not in CLIP_SUFFIXES:
        reason = f"{path} has no suffix of a clip ({', '.join(sorted(CLIP_SUFFIXES))})"
    raise ClipError(f"Row {row} of the data set holds no clip" + (f": {reason}" if path else ""))
