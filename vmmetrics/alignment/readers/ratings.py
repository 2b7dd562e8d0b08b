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

from collections import Counter
from collections.abc import Mapping

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
from vmmetrics.alignment.readers.rating_columns import RatingColumns, rating_columns, without
from vmmetrics.alignment.readers.source_table import SourceTable, advice, numbers, texts
from vmmetrics.alignment.readers.table_clips import TableClips, clips_of
from vmmetrics.alignment.readers.words import word_ratings
from vmmetrics.errors import SetupError

FORMS = ("long", "cells", "wide", "averaged", "pairs")
_NOTHING_STATED = RatingOptions()


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
        return pairs.read_pairs(table, tuple(options.asked), scale)
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
        dimension, read = None, _of_rows(table, rows, rater, options)
    people, of_rows = texts(table, rater), texts(table, dimension)
    cells = [
        (row, clip, of)
        for row, (clip, of) in enumerate(zip(rows.clips, of_rows, strict=True))
        if clip is not None and (of is not None or dimension is None)
    ]
    anonymous = rater is None and len({(clip, of) for _, clip, of in cells}) < len(cells)
    if anonymous:
        refuse_unnamed_raters(table, rows.clips, [name for name in read.words if name not in options.asked])
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
    refuse_open_direction((of for of in judged.ratings if of not in read.scaled and rating not in read.scaled), options)
    return judgements.turned(judged, options.lower)


def _of_cells(table: SourceTable, rating: str) -> RatingColumns:
    """Return the column of ratings of a table with a row per rating."""
    words = word_ratings(table, [rating]) if called.is_text(table.columns[rating]) else {}
    hows = [f"{rating}: {column.how}" for column in words.values()]
    values = words[rating].values if words else numbers(table, rating, required=True)
    return RatingColumns({} if values is None else {rating: values}, [rating], {}, (), {}, hows, {}, words.keys())


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
    if columns.are_blank:
        none = f"{table.source}: no column holds ratings; it has {table.heading}{table.first_row}"
        words = [
            f"{name} holds {', '.join(map(repr, examples))}, ...{advice(examples[0])}"
            for name, examples in columns.words.items()
        ]
        more = [f"write words of unknown scales as numbers: {'; '.join(words)}"] if words else []
        raise SetupError("; ".join((none, *columns.ignored, *more, *table.notes)))
    open_columns = {name: columns.values[name] for name in columns.single if normalised(name) not in asked}
    if len(columns.single) > len(open_columns) or columns.grid:
        return columns
    columns = without(columns, describing_rows(open_columns, rows.clips, texts(table, rater)))
    if rater is None and form is None and len(set(rows.clips)) == len(rows.clips) and not rows.of_models:
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
    roles |= {} if rows.by_prompt else {rows.column: "model" if rows.of_models else "clip"}
    also = {"prompt": rows.prompt, "model": rows.model, "rater": rater, "dimension": dimension}
    return roles | {name: what for what, name in also.items() if name is not None}
