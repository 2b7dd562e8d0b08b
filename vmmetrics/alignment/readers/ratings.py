"""Tables of ratings in any of the forms people keep them in, told apart by their columns.

======== =========================================================== ==========================================
form     columns                                                     example
======== =========================================================== ==========================================
long     a clip, a rater, and one column per dimension               ``clip,rater,smoothness,integrity``
cells    a clip, a dimension and a rating; a rater if there is one   ``clip,rater,dimension,rating``
wide     a clip, and one column per dimension and rater              ``clip,smoothness_1,smoothness_2``
averaged a clip, and one column per dimension                        ``clip,smoothness,integrity``
pairs    two clips and what was preferred                            ``left,right,outcome``
======== =========================================================== ==========================================
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import first_column, normalised
from vmmetrics.alignment.readers.judgements import AVERAGED, Gatherer, Judgements, looks_like_pairs, read_pairs
from vmmetrics.alignment.readers.tables import SourceTable, numbers, texts, to_number
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray
from vmmetrics.video.discover import CLIP_SUFFIXES

FORMS = ("long", "cells", "wide", "averaged", "pairs")
_ONE_DIMENSION = "rating"
"""What the dimension is called where columns name raters alone."""
_PERSON = r"(?:rater|annotator|human|user|worker|judge|subject|participant|score|rating|r)"
_GAP = r"[\s_.:-]"
_DIMENSION_AND_RATER = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^(?P<dimension>){_PERSON}{_GAP}*(?P<rater>\d+)$",  # rater1
        rf"^{_PERSON}{_GAP}*(?P<rater>\d+){_GAP}+(?P<dimension>\D.*)$",  # rater1_smoothness
        rf"^(?P<dimension>.+?){_GAP}+{_PERSON}?{_GAP}*(?P<rater>\d+)$",  # smoothness_1, smoothness_rater1
        r"^(?P<dimension>.*\D)(?P<rater>\d+)$",  # smoothness1
    )
)
_SUMMARIES = ("mean", "avg", "average", "mos", "std", "sd", "var", "median")

RaterGrid = Mapping[str, Mapping[str, str]]  # dimension → rater → column


def read_ratings(
    table: SourceTable,
    *,
    form: str | None = None,
    clip_column: str | None = None,
    scale: tuple[float, float] | None = None,
    dimensions: Sequence[str] = (),
) -> Judgements:
    """Read a table of ratings.

    Args:
        table: The table.
        form: One of :data:`FORMS`; told from the columns where it is None.
        clip_column: Which column names the clip.
        scale: Lowest and highest rating there can be.
        dimensions: Columns to read although their names are those of bookkeeping.

    Raises:
        SetupError: No column names clips or holds ratings, or a rating is no number or not on the scale.
    """
    if form == "pairs" or (form is None and looks_like_pairs(table, clip_column)):
        return read_pairs(table, dimensions)
    clip, of_models = clip_and_kind(table, clip_column)
    rater = first_column(table.columns, called.RATER) if form != "averaged" else None
    dimension = first_column(table.columns, called.DIMENSION)
    rating = first_column([name for name in table.columns if name != clip], called.RATING)
    used = {clip, rater, first_column(table.columns, called.PROMPT), *_model_columns(table, clip)}
    if form == "cells" or (form is None and dimension is not None and rating is not None):
        if dimension is None or rating is None:
            raise SetupError(f"{table.source}: expected columns dimension and rating but got {table.heading}")
        return _of_cells(table, clip, rater, dimension, rating, scale)
    rated, unread = _rated_columns(table, used, dimensions)
    grid = _grid(rated, named=form == "wide") if form == "wide" or (form is None and rater is None) else {}
    if form == "long" and rater is None:
        raise SetupError(f"{table.source}: expected a column rater but got {table.heading}")
    if form == "wide" and not grid:
        raise SetupError(
            f"{table.source}: expected a column per rater (smoothness_1, smoothness_2) but got {table.heading}"
        )
    if all(np.isnan(values).all() for values in rated.values()):
        raise SetupError("; ".join((f"{table.source}: no column holds ratings; it has {table.heading}", *unread)))
    return _of_columns(table, clip, rater, rated, grid, scale, of_models, unread)


def clip_and_kind(table: SourceTable, asked: str | None) -> tuple[str, bool]:
    """The column that names clips, and whether what it names are models."""
    if asked is not None:
        if asked not in table.columns:
            raise SetupError(f"{table.source}: no column {asked!r}; it has {table.heading}")
        return asked, normalised(asked) in called.MODEL
    named = [column for column in table.columns if normalised(column) in called.CLIP]
    if "annotation_id" in map(normalised, table.columns):  # then "id" is the number of a task
        named = [column for column in named if normalised(column) != "id"]
    files = [column for column, cells in table.columns.items() if _are_clips(cells)]
    found = first_column([c for c in named if called.is_text(table.columns[c])], called.CLIP)
    found = found or first_column(named, called.CLIP) or (files[0] if len(files) == 1 else None)
    if found is not None:
        return found, False
    model = first_column(table.columns, (*called.MODEL, "models"))
    if model is not None:
        return model, True
    raise SetupError(
        f"{table.source}: expected a column that names clips (clip, video, file, path, ...) but got {table.heading}; "
        "name it with clip_column"
    )


def _are_clips(cells: Sequence[Any]) -> bool:
    """Return whether every cell is the path or the address of a clip, by its suffix."""
    return all(
        isinstance(cell, str) and PurePosixPath(cell.partition("?")[0]).suffix.lower() in CLIP_SUFFIXES
        for cell in cells
    )


def _model_columns(table: SourceTable, clip: str) -> tuple[str, ...]:
    model = first_column([name for name in table.columns if name != clip], called.MODEL)
    return () if model is None else (model,)


def clip_names(table: SourceTable, clip: str) -> tuple[list[str | None], list[str | None], tuple[str, ...]]:
    """Each row's clip and model; ``model/clip`` is a clip's name where several models have clips of one name."""
    names = texts(table, clip)
    columns = _model_columns(table, clip)
    models = texts(table, columns[0] if columns else None)
    known: defaultdict[str, set[str | None]] = defaultdict(set)
    for name, model in zip(names, models, strict=True):
        known[name or ""].add(model)
    if all(len(models_of) == 1 for models_of in known.values()):
        return names, models, ()
    joined = [f"{model}/{name}" if name and model else name for name, model in zip(names, models, strict=True)]
    return joined, models, (f"Several models have clips of one name: clips are taken to be called {columns[0]}/{clip}",)


def _rated_columns(
    table: SourceTable, used: set[str | None], asked: Sequence[str]
) -> tuple[dict[str, FloatArray], list[str]]:
    """Columns that may hold ratings, and which others are not read, in words.

    Empty columns are among them, since a rater may have left a sheet blank.
    """
    found: dict[str, FloatArray] = {}
    left: list[str] = []
    words: list[str] = []
    for name, cells in table.columns.items():
        if name in used:
            continue
        if _is_bookkeeping(name, asked):
            left += [name] if any(_is_number(cell) for cell in cells) else []
            continue
        values = numbers(table, name)
        if values is not None:
            found[name] = values
        elif all(to_number(cell) is not None for cell in cells):
            found[name] = np.full(len(table), np.nan)
        else:
            words.append(name)
    unread = [f"ignored as bookkeeping columns: {', '.join(left)} (--dimension NAME includes one)"] if left else []
    return found, unread + ([f"ignored, not numeric: {', '.join(words)}"] if words else [])


def _is_bookkeeping(column: str, asked: Sequence[str]) -> bool:
    """Return whether a column, or the dimension in its name, is bookkeeping and not asked for."""
    match = _dimension_and_rater(column)
    names = {column, match["dimension"].strip(" _.:-") or column} if match else {column}
    wanted = {normalised(name) for name in asked}
    return any(map(called.is_bookkeeping, names)) and not wanted & {normalised(name) for name in names}


def _is_number(cell: Any) -> bool:
    value = to_number(cell)
    return value is not None and not np.isnan(value)


def _dimension_and_rater(column: str) -> re.Match[str] | None:
    return next(filter(None, (pattern.match(column) for pattern in _DIMENSION_AND_RATER)), None)


def _grid(rated: Mapping[str, FloatArray], *, named: bool) -> dict[str, dict[str, str]]:
    """Dimension → rater → column, of columns that name both; raters are numbered, or named if that is asked for."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for column in rated:
        match = _dimension_and_rater(column)
        if match:
            found[match["dimension"].strip(" _.:-") or _ONE_DIMENSION][match["rater"]] = column
    grid = {dimension: dict(raters) for dimension, raters in found.items() if len(raters) > 1}
    if grid or not named:
        return grid
    for column in rated:
        dimension, _, rater = column.rpartition("_")
        found[dimension or _ONE_DIMENSION][rater] = column
    return dict(found)


def _of_columns(
    table: SourceTable,
    clip: str,
    rater: str | None,
    rated: Mapping[str, FloatArray],
    grid: RaterGrid,
    scale: tuple[float, float] | None,
    of_models: bool,
    unread: Sequence[str],
) -> Judgements:
    names, models, notes = clip_names(table, clip)
    prompts = _prompts(table, clip)
    people = texts(table, rater)
    in_grid = {column for raters in grid.values() for column in raters.values()}
    summaries = [column for column in rated if column not in in_grid and _is_summary(column, grid)]
    single = [column for column in rated if column not in in_grid and column not in summaries]
    rows = [row for row, name in enumerate(names) if name is not None]
    anonymous = rater is None and len({names[row] for row in rows}) < len(rows)
    gatherer, seen = Gatherer(), defaultdict[str, int](int)
    for row in rows:
        name = names[row] or ""
        index = gatherer.clip(name, prompts[row], name if of_models else models[row])
        seen[name] += 1
        said = people[row] or "?" if rater is not None else str(seen[name]) if anonymous else AVERAGED
        for column in single:
            gatherer.rate(index, column, rated[column][row], said)
        for dimension, raters in grid.items():
            for person, column in raters.items():
                gatherer.rate(index, dimension, rated[column][row], person)
    told = [*table.notes, _form_note(clip, rater, single, grid, anonymous), *notes]
    told += [f"Left out: {', '.join(summaries)} (taken from the ratings themselves)"] if summaries else []
    told += [f"{table.source}: {reason}" for reason in unread]
    told += _nameless(len(names) - len(rows), clip)
    return gatherer.finish(told, scale=scale, of_models=of_models)


def _of_cells(
    table: SourceTable, clip: str, rater: str | None, dimension: str, rating: str, scale: tuple[float, float] | None
) -> Judgements:
    names, models, notes = clip_names(table, clip)
    prompts, people, dimensions = _prompts(table, clip), texts(table, rater), texts(table, dimension)
    values = numbers(table, rating, wanted=True)
    if values is None:
        raise AssertionError("a wanted column is never None")
    gatherer, seen, nameless = Gatherer(), defaultdict[tuple[int, str], int](int), 0
    rows = list(zip(names, dimensions, strict=True))
    anonymous = rater is None and len(set(rows)) < len(rows)
    for row, (name, of) in enumerate(rows):
        if name is None or of is None:
            nameless += 1
            continue
        index = gatherer.clip(name, prompts[row], models[row])
        seen[index, of] += 1
        said = people[row] or "?" if rater is not None else str(seen[index, of]) if anonymous else AVERAGED
        gatherer.rate(index, of, values[row], said)
    by = f"rater {rater}" if rater else "unnamed raters" if anonymous else "averaged"
    note = f"Ratings: one row per rating (clip {clip}, {by}, dimension {dimension}, rating {rating})"
    return gatherer.finish([*table.notes, note, *notes, *_nameless(nameless, clip)], scale=scale)


def _prompts(table: SourceTable, clip: str) -> list[str | None]:
    return texts(table, first_column([name for name in table.columns if name != clip], called.PROMPT))


def _is_summary(column: str, grid: RaterGrid) -> bool:
    name = normalised(column)
    return any(name == f"{normalised(dimension)}_{how}" for dimension in grid for how in _SUMMARIES) or (
        bool(grid) and name in _SUMMARIES
    )


def _form_note(clip: str, rater: str | None, single: Sequence[str], grid: RaterGrid, anonymous: bool) -> str:
    parts = [f"{dimension} by {len(raters)} raters" for dimension, raters in grid.items()]
    if rater is not None:
        parts = [f"one row per clip and {rater}: {', '.join(single)}"]
    elif anonymous:
        parts += [f"several rows per clip, by raters that are not named: {', '.join(single)}"]
    elif single:
        parts.append(f"averaged: {', '.join(single)}")
    return f"Ratings: clip from column {clip}; {'; '.join(parts)}"


def _nameless(rows: int, clip: str) -> list[str]:
    return [f"{rows} rows of ratings say nothing in {clip} and were left out"] if rows else []
