"""Clips in the rows of a ``datasets.Dataset``, read without importing ``datasets``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from vmmetrics.errors import ClipError, SetupError
from vmmetrics.video import shards
from vmmetrics.video.content import InlineClip
from vmmetrics.video.folders import CLIP_SUFFIXES
from vmmetrics.video.manifest import ListedClip
from vmmetrics.video.prompts import PromptOf
from vmmetrics.video.shards import clip_names, plain_name, plain_text

_BATCH = 16  # rows looked at together; where rows are chosen from a data set, their clips are copied


def is_dataset(value: object) -> bool:
    """Return True if something is a ``datasets.Dataset``, a stream of one, or a dictionary of its splits."""
    first = next(iter(value.values()), None) if isinstance(value, dict) else value
    return all(hasattr(first, name) for name in ("column_names", "features", "with_format"))


def dataset_clips(dataset: Any) -> list[ListedClip]:
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
    prompt = next((name for name in shards.PROMPT_COLUMNS if name in columns), None)
    model = next((name for name in shards.MODEL_COLUMNS if name in columns), None)
    rows = list(_rows(dataset, column, prompt, model))
    split = plain_name(str(getattr(dataset, "split", None) or "row")) or "row"
    numbered = [f"{split}/{number:06d}" for number in range(len(rows))]
    names = clip_names([(plain_name(path), model_name) for path, _, model_name in rows], numbered)
    clips = []
    for number, (name, (path, text, model_name)) in enumerate(zip(names, rows, strict=True)):
        # A path in a cell opens clips alone: a data set that others made names no other file of this machine.
        file = Path(path or "")
        is_clip = file.is_absolute() and file.suffix.lower() in CLIP_SUFFIXES and file.is_file()
        inline = None if is_clip else InlineClip(partial(_content, dataset, column, number))
        stated = PromptOf(text, None, "dataset" if text else "none")
        clips.append(ListedClip(str(file) if is_clip else "", name, model_name, prompt=stated, inline=inline))
    return clips


def _clip_column(features: Any, columns: list[str]) -> str:
    kinds = {name: type(features[name]).__name__ for name in columns}
    declared = [name for name in columns if kinds[name] == "Video"]
    for name in (*declared, *(name for name in (*shards.VIDEO_COLUMNS, *shards.PATH_COLUMNS) if name in columns)):
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
