"""Tables of ratings in any common form, distinguished by their columns.

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
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers import judgements, pairs
from vmmetrics.alignment.readers.ambiguity import (
    describing_rows,
    refuse_codes,
    refuse_open_direction,
    refuse_people,
    refuse_unnamed_raters,
)
from vmmetrics.alignment.readers.columns import first_column, normalised
from vmmetrics.alignment.readers.judgements import AVERAGED, Judgements, RatedClip, RatingOptions
from vmmetrics.alignment.readers.source_table import (
    SourceTable,
    TableClips,
    advice,
    clips_of,
    numbers,
    texts,
    to_number,
)
from vmmetrics.alignment.readers.words import word_ratings
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray

FORMS = ("long", "cells", "wide", "averaged", "pairs")
_NOTHING_STATED = RatingOptions()
_ONE_DIMENSION = "rating"
"""Name of the dimension if columns name only raters."""
_PERSON = r"(?:rater|annotator|human|user|worker|judge|subject|participant|observer|expert|score|rating|r|o)"
_GAP = r"[\s_.:-]"
_DIMENSION_AND_RATER = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^(?P<dimension>){_PERSON}?{_GAP}*(?P<rater>\d+)$",  # rater1, 1
        rf"^{_PERSON}{_GAP}*(?P<rater>\d+){_GAP}+(?P<dimension>\D.*)$",  # rater1_smoothness
        rf"^(?P<dimension>.+?){_GAP}+{_PERSON}?{_GAP}*(?P<rater>\d+)$",  # smoothness_1, smoothness_rater1
        r"^(?P<dimension>.*\D)(?P<rater>\d+)$",  # smoothness1
    )
)
_SUMMARIES = frozenset({"mean", "avg", "average", "mos", "std", "sd", "var", "median"})
_BOOKKEEPING, _WORDS = "bookkeeping, not read", "not numeric, not read"
_LONGEST = 200  # letters of a header that may name a dimension and a rater
_SHOWN, _CELL = 3, 20  # words of a column in a message, letters of each


def read_ratings(table: SourceTable, options: RatingOptions = _NOTHING_STATED) -> Judgements:
    """Read a table of ratings.

    Args:
        table: The table.
        options: What the user states; the form is one of :data:`FORMS`, or detected from the columns.

    Raises:
        SetupError: No column names clips or holds ratings, a rating is no number or not on the scale, or they may mean
            several things.
    """
    form, clip_column, scale = options.form, options.clip_column, options.scale
    if form == "pairs" or (form is None and clip_column is None and pairs.looks_like_pairs(table)):
        return judgements.turned(pairs.read_pairs(table, tuple(options.asked), scale), options.lower)
    if scale is not None and scale[0] > scale[1]:
        raise SetupError(f"Expected the lowest rating first but got --scale {scale[0]:g} {scale[1]:g}")
    rows = clips_of(table, clip_column)
    rater = first_column(table.columns, called.RATER) if form != "averaged" else None
    dimension = first_column(table.columns, called.DIMENSION)
    rating = first_column([name for name in table.columns if name != rows.column], called.RATING)
    if form == "cells" or (form is None and dimension is not None and rating is not None):
        if dimension is None or rating is None:
            raise SetupError(f"{table.source}: expected columns dimension and rating but got {table.heading}")
        read = _of_cells(table, rating)
    else:
        if form is None and dimension is not None and len(set(texts(table, dimension))) > 1:
            raise SetupError(
                f"{table.source}: no column is known to hold the rating of each {dimension}: say --map COLUMN=rating, "
                f"or --map {dimension}=ignore"
            )
        dimension, read = None, _of_rows(table, rows, rater, options)
    people, of_rows = texts(table, rater), texts(table, dimension)
    cells = [
        (row, clip, of)
        for row, (clip, of) in enumerate(zip(rows.clips, of_rows, strict=True))
        if clip is not None and (of is not None or dimension is None)
    ]
    anonymous = rater is None and len({(clip, of) for _, clip, of in cells}) < len(cells)
    if anonymous:
        used = {*rows.used, *read.values, dimension}
        asked_of = [clip and f"{clip}/{of}" for clip, of in zip(rows.clips, of_rows, strict=True)]
        refuse_unnamed_raters(table, asked_of, [name for name in table.columns if name not in used])
    rated_clips, seen = list[RatedClip](), Counter[tuple[str, str | None]]()
    for row, clip, of in cells:
        seen[clip, of] += 1
        rater_name = people[row] or "?" if rater is not None else str(seen[clip, of]) if anonymous else AVERAGED
        ratings = [(of or column, float(read.values[column][row]), rater_name) for column in read.single]
        for name, raters in read.grid.items():
            ratings += [(name, float(read.values[column][row]), person) for person, column in raters.items()]
        rated_clips.append(RatedClip(clip, ratings, rows.prompts[row], rows.models[row]))
    notes = [*table.notes, f"Ratings: {_form(read, rows, rater, dimension, anonymous=anonymous)}"]
    notes += [*(f"{table.source}: {how}" for how in read.hows), *rows.notes]
    notes += [f"Left out: {', '.join(read.summaries)} (taken from the ratings themselves)"] if read.summaries else []
    notes += [f"{table.source}: {reason}" for reason in read.ignored]
    nameless = len(table) - len(cells)
    notes += [f"{nameless} rows of ratings have no {rows.column} and were left out"] if nameless else []
    columns = table.roles(_roles(table, read, rows, rater, dimension))
    judged = judgements.join_ratings(
        rated_clips, notes, scale=scale, missing=options.missing, of_models=rows.of_models, columns=columns,
        by_prompt=rows.by_prompt,
    )  # fmt: skip
    if scale is None:
        refuse_codes(judged)
    refuse_open_direction(
        (of for of in judged.ratings if of not in read.scaled and not (dimension and rating in read.scaled)), options
    )
    return judgements.turned(judged, options.lower)


def _of_cells(table: SourceTable, rating: str) -> RatingColumns:
    """Return the column of ratings of a table with a row per rating."""
    words = word_ratings(table, [rating]) if called.is_text(table.columns[rating]) else {}
    hows = [f"{rating}: {column.how}" for column in words.values()]
    values = words[rating].values if words else numbers(table, rating, required=True)
    scaled = {name for name, of in words.items() if of.directed}
    return RatingColumns({} if values is None else {rating: values}, [rating], {}, (), {}, hows, {}, scaled)


def _of_rows(table: SourceTable, rows: TableClips, rater: str | None, options: RatingOptions) -> RatingColumns:
    """Return the columns of ratings of a table with a row per clip.

    Raises:
        SetupError: It is not of the form asked for, no column holds ratings, or columns may be people or dimensions.
    """
    form, asked = options.form, options.asked
    grid = form == "wide" or (form is None and rater is None)
    columns = rating_columns(table, {*rows.used, rater}, asked, grid=grid, named=form == "wide")
    if (form == "long" and rater is None) or (form == "wide" and not columns.grid):
        expected = "a column rater" if form == "long" else "a column per rater (smoothness_1, smoothness_2)"
        raise SetupError(f"{table.source}: expected {expected} but got {table.heading}{table.first_row}")
    if all(np.isnan(values).all() for values in columns.values.values()):
        none = f"{table.source}: no column holds ratings; it has {table.heading}{table.first_row}"
        words = [
            f"{name} holds {', '.join(map(repr, examples))}, ...{advice(examples[0])}"
            for name, examples in columns.words.items()
        ]
        more = [f"write words of unknown scales as numbers: {'; '.join(words)}"] if words else []
        raise SetupError("; ".join((none, *columns.ignored, *more, *table.notes)))
    stated = {name for name in columns.single if normalised(name) in asked}
    described = describing_rows(
        {name: columns.values[name] for name in columns.single}, rows.clips, texts(table, rater)
    )
    columns = without(columns, [name for name in described if name not in stated])
    by_clip = rater is None and len(set(rows.clips)) == len(rows.clips) and not rows.of_models
    if by_clip and form is None and not stated and not columns.grid:
        refuse_people(table, columns.single, columns.values)
    return columns


def _form(
    columns: RatingColumns, rows: TableClips, rater: str | None, dimension: str | None, *, anonymous: bool
) -> str:
    """Return how a table was read, as text."""
    single = ", ".join(columns.single)
    clip = f"{rows.model} and {rows.prompt}" if rows.by_prompt else rows.column
    if dimension is not None:
        by = f"rater {rater}" if rater else "unnamed raters" if anonymous else "averaged"
        return f"one row per rating (clip {clip}, {by}, dimension {dimension}, rating {single})"
    parts = [f"{name} by {len(raters)} raters" for name, raters in columns.grid.items()]
    if rater is not None:
        parts = [f"one row per clip and {rater}: {single}"]
    elif anonymous:
        parts += [f"several rows per clip, by raters that are not named: {single}"]
    elif single:
        parts.append(f"averaged: {single}")
    return f"clip from column {clip}; {'; '.join(parts)}"


def _roles(
    table: SourceTable, columns: RatingColumns, rows: TableClips, rater: str | None, dimension: str | None
) -> Mapping[str, str]:
    """Return column → how it was read."""
    roles = dict.fromkeys(table.columns, "not read") | dict(columns.unread)
    roles |= {column: "rating" if dimension is not None else f"rating of {column}" for column in columns.single}
    roles |= {
        column: f"rating of {name} by {of}" for name, raters in columns.grid.items() for of, column in raters.items()
    }
    roles |= dict.fromkeys(columns.summaries, "mean of ratings, not read")
    also = {"rater": rater, "dimension": dimension}
    return roles | rows.roles | {name: what for what, name in also.items() if name is not None}


# Which columns hold ratings, and whose


class RatingColumns(NamedTuple):
    """Columns of ratings.

    Attributes:
        values: Column to (N,) ratings.
        single: Columns that are a dimension each.
        grid: Dimension to its raters, and of each the column.
        summaries: Columns that were made from the ratings of the grid and are left out.
        unread: Column to why it is not read.
        hows: How words became numbers, a sentence for each scale.
        words: Columns that hold words that were not understood, with the first of them.
        scaled: Columns of words, whose scale says which end is better.
    """

    values: Mapping[str, FloatArray]
    single: Sequence[str]
    grid: Mapping[str, Mapping[str, str]]
    summaries: Sequence[str]
    unread: Mapping[str, str]
    hows: Sequence[str]
    words: Mapping[str, Sequence[str]]
    scaled: Collection[str] = ()

    @property
    def ignored(self) -> list[str]:
        """Return which columns are ignored and why, a sentence for each reason."""
        of = {why: [name for name, reason in self.unread.items() if reason == why] for why in (_BOOKKEEPING, _WORDS)}
        bookkeeping = f"ignored as bookkeeping columns: {', '.join(of[_BOOKKEEPING])} (--map NAME=rating reads one)"
        words = f"ignored, not numeric: {', '.join(of[_WORDS])}"
        return [text for why, text in ((_BOOKKEEPING, bookkeeping), (_WORDS, words)) if of[why]]


def rating_columns(
    table: SourceTable, used: set[str | None], asked: Set[str], *, grid: bool, named: bool
) -> RatingColumns:
    """Find the columns of ratings.

    Empty columns are among them, since a rater may have left a sheet blank.

    Args:
        table: The table.
        used: Columns that hold something else.
        asked: Columns, by normalised names, to read although their names are those of bookkeeping.
        grid: Whether columns may name a dimension and a rater.
        named: Whether raters may have names: ``smoothness_ann``.

    Raises:
        SetupError: A column has mostly numbers, or mostly words of a scale, but not all.
    """
    values: dict[str, FloatArray] = {}
    unread: dict[str, str] = {}
    free = [name for name in table.columns if name not in used]
    bookkeeping = {name for name in free if _is_bookkeeping(name, asked)}
    remarks = {name for name in free if called.is_remark(name) and normalised(name) not in asked}
    wordy = (name for name in free if name not in bookkeeping | remarks and called.is_text(table.columns[name]))
    words = word_ratings(table, wordy)
    for name in free:
        cells = table.columns[name]
        if name in words:
            values[name] = words[name].values
        elif name in bookkeeping:
            unread |= {name: _BOOKKEEPING} if any(map(_is_number, cells)) else {}
        elif (column_values := numbers(table, name)) is not None:
            values[name] = column_values
        elif all(to_number(cell) is not None for cell in cells):
            values[name] = np.full(len(table), np.nan)
        else:
            unread[name] = _WORDS
    by_rater = _grid(values, named=named) if grid else {}
    in_grid = {column for raters in by_rater.values() for column in raters.values()}
    averages = {f"{normalised(dimension)}_{how}" for dimension in by_rater for how in _SUMMARIES} | _SUMMARIES
    summaries = [name for name in values if by_rater and name not in in_grid and normalised(name) in averages]
    single = [name for name in values if name not in in_grid and name not in summaries]
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for name, column in words.items():
        alike[column.how].append(name)
    hows = [f"{', '.join(names)}: {how}" for how, names in alike.items()]
    odd = {name: _examples(table.columns[name]) for name, why in unread.items() if why == _WORDS}
    return RatingColumns(
        values, single, by_rater, summaries, unread, hows, odd, {name for name, of in words.items() if of.directed}
    )


def _examples(cells: Sequence[Any]) -> list[str]:
    examples = dict.fromkeys(str(cell)[:_CELL] for cell in cells if to_number(cell) is None)
    return list(examples)[:_SHOWN]


def _is_number(cell: Any) -> bool:
    value = to_number(cell)
    return value is not None and not np.isnan(value)


def without(columns: RatingColumns, names: Collection[str]) -> RatingColumns:
    """Return the columns without some that hold no ratings."""
    unread = {**columns.unread, **dict.fromkeys(names, _BOOKKEEPING)}
    return columns._replace(single=[name for name in columns.single if name not in names], unread=unread)


def _is_bookkeeping(column: str, asked: Set[str]) -> bool:
    """Return True if a column, or the dimension in its name, is bookkeeping and not asked for."""
    named = _dimension_and_rater(column)
    names = {column, named[0] or column} if named else {column}
    return any(map(called.is_bookkeeping, names)) and not asked & {normalised(name) for name in names}


def _dimension_and_rater(column: str) -> tuple[str, str] | None:
    patterns = _DIMENSION_AND_RATER if len(column) <= _LONGEST else ()
    match = next(filter(None, (pattern.match(column) for pattern in patterns)), None)
    return match and (match["dimension"].strip(" _.:-"), match["rater"])


def _grid(rated: Iterable[str], *, named: bool) -> dict[str, dict[str, str]]:
    """Return dimension → rater → column, of columns that name both; raters are numbered, or named if ``named``."""
    by_dimension: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for column in rated:
        if (parts := _dimension_and_rater(column)) is not None:
            by_dimension[parts[0] or _ONE_DIMENSION][parts[1]] = column
    grid = {dimension: dict(raters) for dimension, raters in by_dimension.items() if len(raters) > 1}
    if grid or not named:
        return grid
    for column in rated:
        dimension, _, rater = column.rpartition("_")
        by_dimension[dimension or _ONE_DIMENSION][rater] = column
    return dict(by_dimension)
