"""Table layouts of other tools, rearranged to a row per clip and person by their columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from vmmetrics.alignment.readers.columns import PROMPT, first_column, is_bookkeeping, normalised
from vmmetrics.alignment.readers.forms import from_columns_of_clips
from vmmetrics.alignment.readers.mturk import from_mturk
from vmmetrics.alignment.readers.names import stem
from vmmetrics.alignment.readers.tables import SourceTable, numbers, texts
from vmmetrics.errors import SetupError
from vmmetrics.utils.display.markup import listed

_SHOWN = 5  # models in a note
_INDEX = ("index", "idx", "number", "no", "clip_id", "video_id", "id", "", "unnamed_0", "row")


def rearranged(table: SourceTable, clips: Collection[str] = ()) -> SourceTable:
    """Return the table with a row per clip and person, if it has one of the layouts below; else as it is.

    Args:
        table: The table.
        clips: Clips that are known, whose names may stand in its header.
    """
    for layout in LAYOUTS:
        if (matched := layout(table, clips)) is not None:
            return matched
    return table


def _from_qualtrics(table: SourceTable, clips: Collection[str]) -> SourceTable | None:
    """Return Qualtrics' responses under their questions: a second header has these, a third one identifiers."""
    heads = {name: cells[:2] for name, cells in table.columns.items()}
    if not all(len(cells) == 2 and str(cells[1]).startswith('{"ImportId"') for cells in heads.values()):
        return None
    names = {name: str(cells[0]) for name, cells in heads.items()}
    columns = {text: table.columns[name][2:] for name, text in names.items()}
    origins = {text: name for name, text in names.items()}
    notes = (*table.notes, "Qualtrics: columns are called by their questions")
    plain = replace(table, columns=columns, origins=origins, notes=notes)
    return from_columns_of_clips(plain, clips) or plain


def _from_pick_a_pic(table: SourceTable, _: Collection[str]) -> SourceTable | None:
    """Return the preferences of Pick-a-Pic: ``label_0`` and ``label_1`` are 1 and 0, or 0.5 each."""
    names = {f"{what}_{side}" for what in ("video", "label") for side in (0, 1)}
    if not names <= set(table.columns):
        return None
    roles = {"video_0": "left", "video_1": "right"}
    labels = zip(*(numbers(table, f"label_{side}", required=True) for side in (0, 1)), strict=True)
    outcome = ["tie" if one == other else "left" if one > other else "right" for one, other in labels]
    kept = {roles.get(name, name): cells for name, cells in table.columns.items() if not name.startswith("label_")}
    origins = {new: name for name, new in roles.items()} | {"outcome": "label_0"}
    used = {"label_1": "not read", "has_label": "not read"}
    kept.pop("has_label", None)
    return replace(table, columns={**kept, "outcome": outcome}, origins=origins, used=used)


def _refuse_best_worst(table: SourceTable, _: Collection[str]) -> None:
    names = set(map(normalised, table.columns))
    if {"best", "worst"} <= names:
        raise SetupError(f"{table.source}: best-worst choices: write each as preferences, columns left, right, outcome")


def _from_columns_of_models(table: SourceTable, clips: Collection[str]) -> SourceTable | None:
    """Return a column per model: a row is a prompt if a column says so, else the clip of its number.

    Raises:
        SetupError: No column says which row is which clip, and there are not as many rows as clips.
    """
    paths = [PurePosixPath(clip.replace("\\", "/")) for clip in clips]
    folders = {part for path in paths for part in path.parts[:-1]}
    prompt = first_column(table.columns, PROMPT)
    models = [str(name) for name in table.columns if name in folders]
    others = [name for name in table.columns if name not in models and name != prompt and not is_bookkeeping(name)]
    if len(models) < 2 or others or any(numbers(table, model) is None for model in models):
        return None
    named = {model: _by_number(model, paths) for model in models}
    if prompt is None and not all(named.values()):
        return None
    index = None if prompt is not None else _index(table, named)
    columns: dict[str, list[Any]] = {"model": [], "clip" if prompt is None else "prompt": [], "rating": []}
    for model in models:
        names = texts(table, prompt) if prompt is not None else _clips_of_rows(table, model, named[model], index)
        columns["clip" if prompt is None else "prompt"] += names
        columns["model"] += [model] * len(table)
        columns["rating"] += table.columns[model]
    number, counted = index or ("", ())
    rows = f"a row per {prompt}" if prompt is not None else "its clips in the order of their numbers"
    rows = f"its clips by their numbers in {number}" if counted else rows
    note = f"A column per model, {rows}: {listed(models, _SHOWN)}"
    used = dict.fromkeys(table.columns, "not read") | {model: f"ratings of {model}" for model in models}
    used |= {prompt: "prompt"} if prompt is not None else {number: "number of the clip"} if counted else {}
    return replace(table, columns=columns, notes=(*table.notes, note), origins=dict.fromkeys(columns, ""), used=used)


def _by_number(model: str, paths: Sequence[PurePosixPath]) -> dict[int, list[str]]:
    """Return last number in the name → clips of a model, in the order of the numbers."""
    named: dict[int, list[str]] = {}
    for path in paths:
        if model in path.parts[:-1] and (number := _number(path.name)) is not None:
            named.setdefault(number, []).append(str(path))
    return dict(sorted(named.items()))


def _number(name: str | None) -> int | None:
    digits = re.findall(r"\d+", stem(name or ""))
    return int(digits[-1]) if digits else None


def _index(table: SourceTable, named: Mapping[str, Mapping[int, Sequence[str]]]) -> tuple[str, list[int]] | None:
    """Return the column that has the number of each row's clip, and the numbers.

    Numbers from 0 on that are not all those of clips count the rows, as data frames do, and are none.
    """
    clip_numbers = {number for of in named.values() for number in of}
    for column in filter(None, (first_column(table.columns, [name]) for name in _INDEX)):
        indices = [number for number in map(_number, texts(table, column)) if number is not None]
        if len(set(indices)) == len(table) and (set(indices) <= clip_numbers or indices != list(range(len(table)))):
            return column, indices
    return None


def _clips_of_rows(
    table: SourceTable, model: str, named: Mapping[int, Sequence[str]], index: tuple[str, list[int]] | None
) -> list[str]:
    """Return the clips of a model by the numbers in a column, else in the order of their numbers."""
    if twice := [clips for number, clips in named.items() if len(clips) > 1 and (not index or number in index[1])]:
        raise SetupError(f"{table.source}: {listed(twice[0], 2)} have one number; add a column clip or prompt")
    if index is not None:
        return [named[number][0] if number in named else f"{model}/{number}" for number in index[1]]
    if len(named) != len(table):
        raise SetupError(
            f"{table.source}: {len(table)} rows and {len(named)} clips of {model}; to say which row is which, "
            "add a column index with the numbers of the clips"
        )
    return [clips[0] for clips in named.values()]


LAYOUTS: tuple[Callable[[SourceTable, Collection[str]], SourceTable | None], ...] = (
    _refuse_best_worst,
    from_mturk,
    _from_qualtrics,
    _from_pick_a_pic,
    from_columns_of_clips,
    _from_columns_of_models,
)
"""Layouts in the order tried; each returns None for other content."""
