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
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers import judgements, pairs
from vmmetrics.alignment.readers.columns import first_column, normalised
from vmmetrics.alignment.readers.judgements import AVERAGED, Judgements, RatedClip, RatingScale
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
_SUMMARIES = frozenset({"mean", "avg", "average", "mos", "std", "sd", "var", "median"})


def read_ratings(
    table: SourceTable,
    *,
    form: str | None = None,
    clip_column: str | None = None,
    scale: RatingScale = None,
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
    if form == "pairs" or (form is None and clip_column is None and pairs.looks_like_pairs(table)):
        return pairs.read_pairs(table, dimensions, scale)
    rows = clips_of(table, clip_column)
    rater = first_column(table.columns, called.RATER) if form != "averaged" else None
    dimension = first_column(table.columns, called.DIMENSION)
    rating = first_column([name for name in table.columns if name != rows.column], called.RATING)
    if form == "cells" or (form is None and dimension is not None and rating is not None):
        if dimension is None or rating is None:
            raise SetupError(f"{table.source}: expected columns dimension and rating but got {table.heading}")
        rated = {column: values for column in [rating] if (values := numbers(table, column, wanted=True)) is not None}
        grid, unread = dict[str, dict[str, str]](), Unread({})
    else:
        dimension = None
        rated, unread = _rated_columns(table, {*rows.used, rater}, dimensions)
        grid = _grid(rated, named=form == "wide") if form == "wide" or (form is None and rater is None) else {}
        if (form == "long" and rater is None) or (form == "wide" and not grid):
            wanted = "a column rater" if form == "long" else "a column per rater (smoothness_1, smoothness_2)"
            raise SetupError(f"{table.source}: expected {wanted} but got {table.heading}")
        if all(np.isnan(values).all() for values in rated.values()):
            raise SetupError(
                "; ".join((f"{table.source}: no column holds ratings; it has {table.heading}", *unread.words))
            )
    people, of_rows = texts(table, rater), texts(table, dimension)
    in_grid = {column for raters in grid.values() for column in raters.values()}
    averages = {f"{normalised(dimension)}_{how}" for dimension in grid for how in _SUMMARIES} | _SUMMARIES
    summaries = [column for column in rated if grid and column not in in_grid and normalised(column) in averages]
    single = [column for column in rated if column not in in_grid and column not in summaries]
    kept = [
        (row, clip, of)
        for row, (clip, of) in enumerate(zip(rows.clips, of_rows, strict=True))
        if clip is not None and (of is not None or dimension is None)
    ]
    anonymous = rater is None and len({(clip, of) for _, clip, of in kept}) < len(kept)
    rated_clips, seen = list[RatedClip](), Counter[tuple[str, str | None]]()
    for row, clip, of in kept:
        seen[clip, of] += 1
        said = people[row] or "?" if rater is not None else str(seen[clip, of]) if anonymous else AVERAGED
        ratings = [(of or column, float(rated[column][row]), said) for column in single]
        for name, raters in grid.items():
            ratings += [(name, float(rated[column][row]), person) for person, column in raters.items()]
        rated_clips.append(RatedClip(clip, ratings, rows.prompts[row], rows.models[row]))
    if dimension is not None:
        by = f"rater {rater}" if rater else "unnamed raters" if anonymous else "averaged"
        form = f"one row per rating (clip {rows.column}, {by}, dimension {dimension}, rating {single[0]})"
    else:
        parts = [f"{name} by {len(raters)} raters" for name, raters in grid.items()]
        if rater is not None:
            parts = [f"one row per clip and {rater}: {', '.join(single)}"]
        elif anonymous:
            parts += [f"several rows per clip, by raters that are not named: {', '.join(single)}"]
        elif single:
            parts.append(f"averaged: {', '.join(single)}")
        form = f"clip from column {rows.column}; {'; '.join(parts)}"
    told = [*table.notes, f"Ratings: {form}", *rows.notes]
    told += [f"Left out: {', '.join(summaries)} (taken from the ratings themselves)"] if summaries else []
    told += [f"{table.source}: {reason}" for reason in unread.words]
    nameless = len(table) - len(kept)
    told += [f"{nameless} rows of ratings say nothing in {rows.column} and were left out"] if nameless else []
    roles = _roles(table, rows, rater, dimension, single if dimension is not None else (), unread.columns)
    roles |= {column: f"rating of {column}" for column in single if dimension is None}
    roles |= {column: f"rating of {name} by {of}" for name, raters in grid.items() for of, column in raters.items()}
    roles |= dict.fromkeys(summaries, "mean of ratings, not read")
    columns = table.roles(roles)
    return judgements.gathered(rated_clips, told, scale=scale, of_models=rows.of_models, columns=columns)


def _roles(
    table: SourceTable,
    rows: TableClips,
    rater: str | None,
    dimension: str | None,
    rating: Iterable[str],
    unread: Mapping[str, str],
) -> dict[str, str]:
    """Column to how it was read; those of ratings are added by who knows their dimensions."""
    roles = dict.fromkeys(table.columns, "not read")
    roles |= {name: what for what, name in (("prompt", rows.prompt), ("model", rows.model), ("rater", rater)) if name}
    roles |= {dimension: "dimension"} if dimension is not None else {}
    return roles | dict.fromkeys(rating, "rating") | {rows.column: "model" if rows.of_models else "clip"} | dict(unread)


class TableClips(NamedTuple):
    """Which clip each row of a table is about.

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
    names, models = texts(table, clip), texts(table, model)
    notes: tuple[str, ...] = ()
    if any(times > 1 for times in Counter(name or "" for name, _ in set(zip(names, models, strict=True))).values()):
        names = [f"{model}/{name}" if name and model else name for name, model in zip(names, models, strict=True)]
        notes = (f"Several models have clips of one name: clips are taken to be called {model}/{clip}",)
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


def _clip_column(table: SourceTable, asked: str | None) -> tuple[str, bool]:
    """The column that names clips, and whether what it names are models."""
    if asked is not None:
        if asked not in table.columns:
            raise SetupError(f"{table.source}: no column {asked!r}; it has {table.heading}")
        return asked, normalised(asked) in called.MODEL
    named = [column for column in table.columns if normalised(column) in called.CLIP]
    if "annotation_id" in map(normalised, table.columns):  # then "id" is the number of a task
        named = [column for column in named if normalised(column) != "id"]
    files = [column for column, cells in table.columns.items() if all(map(_is_clip, cells))]
    found = first_column([c for c in named if called.is_text(table.columns[c])], called.CLIP)
    found = found or first_column(named, called.CLIP) or (files[0] if len(files) == 1 else None)
    if found is not None:
        return found, False
    if (model := first_column(table.columns, (*called.MODEL, "models"))) is not None:
        return model, True
    raise SetupError(
        f"{table.source}: expected a column that names clips (clip, video, file, path, ...) but got {table.heading}; "
        "name it with clip_column"
    )


def _is_clip(cell: Any) -> bool:
    """Return whether a cell is the path or the address of a clip, by its suffix."""
    return isinstance(cell, str) and PurePosixPath(cell.partition("?")[0]).suffix.lower() in CLIP_SUFFIXES


class Unread(NamedTuple):
    """Columns that are not read.

    Attributes:
        columns: Column to why.
    """

    columns: Mapping[str, str]

    @property
    def words(self) -> list[str]:
        """Which are ignored and why, a sentence for each reason."""
        of = {why: [name for name, reason in self.columns.items() if reason == why] for why in (_BOOKKEEPING, _WORDS)}
        told = f"ignored as bookkeeping columns: {', '.join(of[_BOOKKEEPING])} (--dimension NAME includes one)"
        words = f"ignored, not numeric: {', '.join(of[_WORDS])}"
        return [text for why, text in ((_BOOKKEEPING, told), (_WORDS, words)) if of[why]]


_BOOKKEEPING, _WORDS = "bookkeeping, not read", "not numeric, not read"


def _rated_columns(
    table: SourceTable, used: set[str | None], asked: Sequence[str]
) -> tuple[dict[str, FloatArray], Unread]:
    """Columns that may hold ratings, and which others are not read.

    Empty columns are among them, since a rater may have left a sheet blank.
    """
    found: dict[str, FloatArray] = {}
    left: dict[str, str] = {}
    for name, cells in table.columns.items():
        if name in used:
            continue
        if _is_bookkeeping(name, asked):
            left |= {name: _BOOKKEEPING} if any(map(_is_number, cells)) else {}
        elif (values := numbers(table, name)) is not None:
            found[name] = values
        elif all(to_number(cell) is not None for cell in cells):
            found[name] = np.full(len(table), np.nan)
        else:
            left[name] = _WORDS
    return found, Unread(left)


def _is_number(cell: Any) -> bool:
    value = to_number(cell)
    return value is not None and not np.isnan(value)


def _is_bookkeeping(column: str, asked: Sequence[str]) -> bool:
    """Return whether a column, or the dimension in its name, is bookkeeping and not asked for."""
    named = _dimension_and_rater(column)
    names = {column, named[0] or column} if named else {column}
    wanted = {normalised(name) for name in asked}
    return any(map(called.is_bookkeeping, names)) and not wanted & {normalised(name) for name in names}


def _dimension_and_rater(column: str) -> tuple[str, str] | None:
    match = next(filter(None, (pattern.match(column) for pattern in _DIMENSION_AND_RATER)), None)
    return match and (match["dimension"].strip(" _.:-"), match["rater"])


def _grid(rated: Iterable[str], *, named: bool) -> dict[str, dict[str, str]]:
    """Dimension → rater → column, of columns that name both; raters are numbered, or named if that is asked for."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for column in rated:
        if (told := _dimension_and_rater(column)) is not None:
            found[told[0] or _ONE_DIMENSION][told[1]] = column
    grid = {dimension: dict(raters) for dimension, raters in found.items() if len(raters) > 1}
    if grid or not named:
        return grid
    for column in rated:
        dimension, _, rater = column.rpartition("_")
        found[dimension or _ONE_DIMENSION][rater] = column
    return dict(found)
