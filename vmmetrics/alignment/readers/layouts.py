"""Tables that other tools write, to a row per clip and person: what is told by columns."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from vmmetrics.alignment.readers.columns import CLIP, MODEL, normalised
from vmmetrics.alignment.readers.forms import from_columns_of_clips
from vmmetrics.alignment.readers.mturk import from_mturk
from vmmetrics.alignment.readers.names import stem
from vmmetrics.alignment.readers.tables import SourceTable, numbers


def rearranged(table: SourceTable, clips: Collection[str] = ()) -> SourceTable:
    """The table with a row per clip and person, if it has one of the layouts below; else as it is.

    Args:
        table: The table.
        clips: Clips that are known, whose names may stand in its header.
    """
    for layout in LAYOUTS:
        if (found := layout(table, clips)) is not None:
            return found
    return table


def _from_columns_of_models(table: SourceTable, clips: Collection[str]) -> SourceTable | None:
    """A column per model, whose cells are the ratings of its clips in the order of their numbers."""
    models = list(map(str, table.columns))
    if len(models) < 2 or any(normalised(name) in {*CLIP, *MODEL} for name in models):
        return None
    paths = [PurePosixPath(clip.replace("\\", "/")) for clip in clips]
    named: dict[str, dict[int, str]] = {model: {} for model in models}
    for path in paths:
        digits = "".join(filter(str.isdigit, stem(path.name)))
        for model in set(path.parts[:-1]) & named.keys():
            if digits:
                named[model][int(digits)] = str(path)
    if not all(named.values()) or any(numbers(table, model) is None for model in models):
        return None
    columns: dict[str, list[Any]] = {"clip": [], "model": [], "rating": []}
    for model, clips_of_model in named.items():
        first = min(1, min(clips_of_model))  # clips are counted from 0 or from 1
        for row, rating in enumerate(table.columns[model], first):
            columns["clip"].append(clips_of_model.get(row, f"{model}/{row}"))
            columns["model"].append(model)
            columns["rating"].append(rating)
    note = f"A column per model, its clips in the order of their numbers: {', '.join(models)}"
    used = {model: f"ratings of {model}" for model in models}
    return replace(table, columns=columns, notes=(*table.notes, note), origins=dict.fromkeys(columns, ""), used=used)


LAYOUTS: tuple[Callable[[SourceTable, Collection[str]], SourceTable | None], ...] = (
    from_mturk,
    from_columns_of_clips,
    _from_columns_of_models,
)
"""Told one after the other; each gives None for what is not its own."""
