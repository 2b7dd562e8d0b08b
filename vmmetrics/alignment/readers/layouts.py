"""Tables that other tools write, to a row per clip and person: what is told by columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from vmmetrics.alignment.readers.columns import PROMPT, first_column, is_bookkeeping
from vmmetrics.alignment.readers.forms import from_columns_of_clips
from vmmetrics.alignment.readers.mturk import from_mturk
from vmmetrics.alignment.readers.names import stem
from vmmetrics.alignment.readers.tables import SourceTable, numbers, texts
from vmmetrics.utils.display.markup import listed

_SHOWN = 5  # models in a note


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
    """A column per model: a row is a prompt if a column says so, else the clip of its number."""
    paths = [PurePosixPath(clip.replace("\\", "/")) for clip in clips]
    folders = {part for path in paths for part in path.parts[:-1]}
    prompt = first_column(table.columns, PROMPT)
    models = [str(name) for name in table.columns if name in folders]
    others = [name for name in table.columns if name not in models and name != prompt and not is_bookkeeping(name)]
    if len(models) < 2 or others or any(numbers(table, model) is None for model in models):
        return None
    columns: dict[str, list[Any]] = {"model": [], "clip" if prompt is None else "prompt": [], "rating": []}
    for model in models:
        names = texts(table, prompt) if prompt is not None else _clips_in_order(model, paths, len(table))
        if names is None:
            return None
        columns["clip" if prompt is None else "prompt"] += names
        columns["model"] += [model] * len(table)
        columns["rating"] += table.columns[model]
    rows = "its clips in the order of their numbers" if prompt is None else f"a row per {prompt}"
    note = f"A column per model, {rows}: {listed(models, _SHOWN)}"
    used = dict.fromkeys(table.columns, "not read") | {model: f"ratings of {model}" for model in models}
    used |= {prompt: "prompt"} if prompt is not None else {}
    return replace(table, columns=columns, notes=(*table.notes, note), origins=dict.fromkeys(columns, ""), used=used)


def _clips_in_order(model: str, paths: Sequence[PurePosixPath], rows: int) -> list[str] | None:
    """The clips of a model by the numbers in their names, counted from 0 or from 1; None where they have none."""
    named: dict[int, str] = {}
    for path in paths:
        digits = "".join(filter(str.isdigit, stem(path.name)))
        if digits and model in path.parts[:-1]:
            named[int(digits)] = str(path)
    if not named:
        return None
    first = min(1, min(named))
    return [named.get(number, f"{model}/{number}") for number in range(first, first + rows)]


LAYOUTS: tuple[Callable[[SourceTable, Collection[str]], SourceTable | None], ...] = (
    from_mturk,
    from_columns_of_clips,
    _from_columns_of_models,
)
"""Told one after the other; each gives None for what is not its own."""
