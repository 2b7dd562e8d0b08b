"""Clip, model, or prompt of a model that each row of a table is about."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import first_column, normalised
from vmmetrics.alignment.readers.source_table import SourceTable, texts
from vmmetrics.errors import SetupError

_SIGNATURE = re.compile(r"[?&](?:x-amz-|x-goog-)?(?:signature|sig|expires|token)=", re.IGNORECASE)


class TableClips(NamedTuple):
    """The clip of each row of a table.

    Attributes:
        column: The column that names clips, or models.
        used: All columns that were looked at.
        clips: (N,) clips, None where a row names none.
        prompts: (N,) prompts, None where not known.
        models: (N,) models, None where not known.
        of_models: Whether the clips are models.
        notes: What was assumed.
        prompt: The column of prompts, if there is one.
        model: Of models.
        by_prompt: Whether there is no name of a clip and a row is a prompt of a model, called model/prompt.
    """

    column: str
    used: set[str | None]
    clips: list[str | None]
    prompts: list[str | None]
    models: list[str | None]
    of_models: bool
    notes: tuple[str, ...]
    prompt: str | None = None
    model: str | None = None
    by_prompt: bool = False


def clips_of(table: SourceTable, asked: str | None) -> TableClips:
    """Tell the clips of a table; ``model/clip`` is a clip's name where several models have clips of one name.

    Args:
        table: The table.
        asked: The column that names clips; None tells it from names and cells.

    Raises:
        SetupError: No column names clips.
    """
    clip, of_models = _clip_column(table, asked)
    others = [name for name in table.columns if name != clip]
    prompt, model = first_column(others, called.PROMPT), first_column(others, called.MODEL)
    counts_rows = normalised(clip) == "id" and not called.is_text(table.columns[clip])
    by = clip if of_models else model if counts_rows else None
    if asked is None and by is not None and prompt is not None and _repeats(texts(table, by)):
        return _by_prompt(table, by, prompt)
    names, models = list(map(_unsigned, texts(table, clip))), texts(table, model)
    notes: tuple[str, ...] = ()
    if any(times > 1 for times in Counter(name or "" for name, _ in set(zip(names, models, strict=True))).values()):
        names = [f"{model}/{name}" if name and model else name for name, model in zip(names, models, strict=True)]
        notes = (f"Several models have clips of one name: clips are read as {model}/{clip}",)
    return TableClips(
        clip,
        {clip, prompt, model},
        names,
        texts(table, prompt),
        names if of_models else models,
        of_models,
        notes,
        prompt,
        model,
    )


def _unsigned(name: str | None) -> str | None:
    """Return an address without its signature, which differs from row to row, and without its part of the clip."""
    signed = name is not None and called.is_clip_file(name) and _SIGNATURE.search(name) is not None
    return name.partition("?")[0] if name is not None and signed else name


def _by_prompt(table: SourceTable, model: str, prompt: str) -> TableClips:
    models, prompts = texts(table, model), texts(table, prompt)
    names = [f"{of}/{text}" if of and text else None for of, text in zip(models, prompts, strict=True)]
    notes = (f"No column names clips: each row is matched by its {model} and {prompt}",)
    return TableClips(prompt, {model, prompt}, names, prompts, models, False, notes, prompt, model, True)


def _repeats(names: list[str | None]) -> bool:
    present = [name for name in names if name is not None]
    return len(set(present)) < len(present)


def _clip_column(table: SourceTable, asked: str | None) -> tuple[str, bool]:
    """Return the column that names clips, and whether what it names are models."""
    if asked is not None:
        if asked not in table.columns:
            raise SetupError(f"{table.source}: no column {asked!r}; it has {table.heading}")
        return asked, normalised(asked) in called.MODEL
    named = [column for column in table.columns if normalised(column) in called.CLIP]
    if "annotation_id" in map(normalised, table.columns):  # then "id" is the number of a task
        named = [column for column in named if normalised(column) != "id"]
    files = [column for column, cells in table.columns.items() if cells and all(map(called.is_clip_file, cells))]
    match = first_column([c for c in named if called.is_text(table.columns[c])], called.CLIP)
    model = first_column(table.columns, (*called.MODEL, "models"))
    match = match or first_column(named, called.CLIP) or (files[0] if len(files) == 1 else None)
    if match is not None:
        return match, False
    if model is not None:
        return model, True
    if {"best", "worst"} <= set(map(normalised, table.columns)):
        raise SetupError(f"{table.source}: best-worst choices: write each as preferences, columns left, right, outcome")
    raise SetupError(
        f"{table.source}: expected a column that names clips (clip, video, file, path, ...) but got {table.heading}"
        f"{table.first_row}; name it with --clip-column (clip_column in Python)"
    )
