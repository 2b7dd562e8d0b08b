"""Columns of ratings in a table: their dimension and rater."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.alignment.readers.source_table import SourceTable, numbers, to_number
from vmmetrics.alignment.readers.words import word_ratings
from vmmetrics.types import FloatArray

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
        bookkeeping = f"ignored as bookkeeping columns: {', '.join(of[_BOOKKEEPING])} (--dimension NAME includes one)"
        words = f"ignored, not numeric: {', '.join(of[_WORDS])}"
        return [text for why, text in ((_BOOKKEEPING, bookkeeping), (_WORDS, words)) if of[why]]

    @property
    def are_blank(self) -> bool:
        """Return True if no column holds a rating."""
        return all(np.isnan(values).all() for values in self.values.values())


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
    return RatingColumns(values, single, by_rater, summaries, unread, hows, odd, words.keys())


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
