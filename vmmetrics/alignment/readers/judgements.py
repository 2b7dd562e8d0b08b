"""What people said, before it is known which clips have scores."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import first_column, normalised
from vmmetrics.alignment.readers.tables import SourceTable, texts
from vmmetrics.alignment.study import Preferences
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray

AVERAGED = ""
"""Name of the rater where ratings come averaged."""
_TOLERANCE = 1e-9  # two ratings of one rater are the same below this: they passed through text

RatingScale = tuple[float, float] | None
"""Lowest and highest rating there can be."""


@dataclass(frozen=True, slots=True)
class Judgements:
    """Ratings and preferences of some clips (or of models, where that is what was rated).

    Attributes:
        clips: (N,) names.
        prompts: (N,) prompt, None where it is not known.
        models: (N,) model, None where it is not known.
        ratings: Dimension to (N, R), NaN where a rater said nothing.
        raters: Dimension to the R raters' names, () where ratings came averaged.
        pairs: Dimension to preferences.
        notes: What was assumed.
        other_names: What else the clips may be called, list by list.
        of_models: Whether the rows are models.
    """

    clips: tuple[str, ...]
    prompts: tuple[str | None, ...]
    models: tuple[str | None, ...]
    ratings: Mapping[str, FloatArray]
    raters: Mapping[str, tuple[str, ...]]
    pairs: Mapping[str, Preferences] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    other_names: tuple[tuple[str, ...], ...] = ()
    of_models: bool = False

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Every dimension that was rated or compared."""
        return tuple(dict.fromkeys((*self.ratings, *self.pairs)))


class RatedClip(NamedTuple):
    """A clip and what was said of it in one place, such as the row of a table.

    Attributes:
        clip: Name.
        ratings: Dimension, rating (NaN: there is none) and rater of each.
        prompt: Its prompt, where known.
        model: Its model, where known.
        other_names: What else it may be called.
    """

    clip: str
    ratings: Iterable[tuple[str, float, str]]
    prompt: str | None = None
    model: str | None = None
    other_names: tuple[str, ...] = ()


def gathered(
    rated: Iterable[RatedClip], notes: Sequence[str], *, scale: RatingScale = None, of_models: bool = False
) -> Judgements:
    """Put together what was said of clips.

    Args:
        rated: What was said in each place, in any order.
        notes: What was assumed on the way.
        scale: Lowest and highest rating there can be.
        of_models: Whether the clips are models.

    Raises:
        SetupError: A rating is not on the scale.
    """
    clips: dict[str, int] = {}
    prompts: dict[str, str] = {}
    models: dict[str, str] = {}
    other_names: dict[str, tuple[str, ...]] = {}
    numbers: dict[str, dict[str, int]] = {}
    cells_of: defaultdict[str, array[float]] = defaultdict(lambda: array("d"))
    for entry in rated:
        index = clips.setdefault(entry.clip, len(clips))
        other_names[entry.clip] = entry.other_names
        for known, text in ((prompts, entry.prompt), (models, entry.model)):
            if text:
                known.setdefault(entry.clip, text)
        for dimension, value, rater in entry.ratings:
            of_dimension = numbers.setdefault(dimension, {})
            number = of_dimension.setdefault(rater, len(of_dimension))
            if value == value:
                cells_of[dimension].extend((index, number, value))
    told, names = list(notes), tuple(clips)
    ratings, raters = {}, {}
    for dimension, people in numbers.items():
        cells = np.array(cells_of[dimension]).reshape(-1, 3)
        if not len(cells):
            told.append(f"{dimension}: left out, it holds no rating")
            continue
        low, high = scale or (-np.inf, np.inf)
        for clip, _, value in cells[(cells[:, 2] < low) | (cells[:, 2] > high)]:
            raise SetupError(
                f"{dimension} of {names[int(clip)]}: expected a rating from {low:g} to {high:g} but got {value:g}"
            )
        ratings[dimension], repeats, differing = _matrix(cells, len(names), len(people))
        raters[dimension] = () if list(people) == [AVERAGED] else tuple(people)
        if repeats:
            how = f", {differing} of them not with the same rating: their mean is taken" if differing else ""
            told.append(f"{dimension}: {repeats} times a rater rated the same clip again{how}")
    shown, made_by = (tuple(map(known.get, names)) for known in (prompts, models))
    others = tuple(zip(*other_names.values(), strict=False))  # a list of names in which a clip has none is none
    return Judgements(names, shown, made_by, ratings, raters, {}, tuple(told), others, of_models)


def _matrix(cells: FloatArray, clips: int, raters: int) -> tuple[FloatArray, int, int]:
    """(N, R) mean ratings, how many were repeats, and in how many places these differed."""
    place, values = (cells[:, 0] * raters + cells[:, 1]).astype(np.int64), cells[:, 2]
    counts = np.bincount(place, minlength=clips * raters)
    sums = np.bincount(place, values, minlength=clips * raters)
    low, high = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
    np.minimum.at(low, place, values)
    np.maximum.at(high, place, values)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).reshape(clips, raters)
    return means, len(values) - int((counts > 0).sum()), int((high - low > _TOLERANCE).sum())


def judgements_of_dimensions(judgements: Judgements, wanted: Sequence[str]) -> Judgements:
    """The same with some of the dimensions only.

    Raises:
        SetupError: One is not there.
    """
    there = judgements.dimensions
    known = {normalised(name): name for name in there} | {name: name for name in there}
    wanted = [name if name in known else normalised(name) for name in wanted]
    if unknown := [name for name in wanted if name not in known]:
        raise SetupError(f"No dimension {', '.join(unknown)} in the ratings; they have {', '.join(there)}")
    others = set(there) - {known[name] for name in wanted}
    return replace(
        judgements,
        ratings={name: values for name, values in judgements.ratings.items() if name not in others},
        pairs={name: pairs for name, pairs in judgements.pairs.items() if name not in others},
    )


# Tables of preferences: two clips in a row, and which was preferred.

DIMENSION = "preference"
"""What the dimension is called where the table does not say."""
_LEFT, _RIGHT, _TIE = 1, -1, 0
_WORDS: Mapping[str, int] = {
    **dict.fromkeys(("left", "l", "a", "first", "1st", "video1", "video_1", "video_a", "model_a", "left_better", ">"),
                    _LEFT),
    **dict.fromkeys(("right", "r", "b", "second", "2nd", "video2", "video_2", "video_b", "model_b", "right_better",
                     "<"), _RIGHT),
    **dict.fromkeys(("tie", "t", "=", "equal", "same", "both", "draw", "neither", "no_preference", "none_better"),
                    _TIE),
}  # fmt: skip
# Numbers mean one thing or the other; a column is read by the one set that holds all of its values.
_NUMBERS: tuple[Mapping[str, int], ...] = (
    {"1": _LEFT, "2": _RIGHT, "0": _TIE},
    {"1": _LEFT, "-1": _RIGHT, "0": _TIE},
    {"1": _LEFT, "0": _RIGHT, "0.5": _TIE},
)
_YES, _NO = frozenset({"1", "true", "yes", "tie"}), frozenset({"0", "false", "no"})

Outcomes = list[int | None]
Clips = tuple[Sequence[str | None], Sequence[str | None]]
"""Of the left side and of the right, row by row."""


def looks_like_pairs(table: SourceTable) -> bool:
    """Whether a table has two clips in a row."""
    sides = _sides(table)
    texts_there = sides is not None and all(called.is_text(table.columns[name]) for name in sides)
    return texts_there or "loser" in map(normalised, table.columns)


def read_pairs(table: SourceTable, asked: Sequence[str] = ()) -> Judgements:
    """Read preferences.

    Args:
        table: The table.
        asked: Columns to read although their names are those of bookkeeping.

    Raises:
        SetupError: There are not two clips in a row, or an outcome is none.
    """
    if (sides := _sides(table)) is None:
        raise SetupError(
            f"{table.source}: expected columns left and right (or winner and loser) but got {table.heading}"
        )
    left, right = (texts(table, side) for side in sides)
    outcomes = _outcomes(table, sides, (left, right), asked)
    dimensions, raters, prompts, left_models, right_models = (
        texts(table, first_column(table.columns, names))
        for names in (called.DIMENSION, called.RATER, called.PROMPT, called.LEFT_MODEL, called.RIGHT_MODEL)
    )
    rated: list[RatedClip] = []
    judged: defaultdict[str, list[tuple[str, str, int, str]]] = defaultdict(list)
    blank, selves = 0, 0
    for row, (a, b) in enumerate(zip(left, right, strict=True)):
        if a is None or b is None:
            blank += 1
            continue
        if a == b:
            selves += 1
            continue
        rated += [RatedClip(a, (), prompts[row], left_models[row]), RatedClip(b, (), prompts[row], right_models[row])]
        for name, of_rows in outcomes.items():
            outcome = of_rows[row]
            if outcome is None:
                blank += 1
            else:
                said = dimensions[row] or name if len(outcomes) == 1 else name
                judged[said].append((a, b, outcome, raters[row] or ""))
    how = f"outcome from {', '.join(outcomes)}"
    if _is_result(sides):
        how = "the winner first" + (", ties marked" if "tie" in map(normalised, table.columns) else "")
    notes = [*table.notes, f"Preferences: {sides[0]} against {sides[1]}, {how}"]
    notes += [f"{selves} rows compare a clip with itself and were left out"] if selves else []
    notes += [f"{blank} preferences are blank and were left out"] if blank else []
    found = gathered(rated, notes)
    place, pairs = {clip: index for index, clip in enumerate(found.clips)}, {}
    for dimension, told in judged.items():
        one, other, preferred = np.array([(place[a], place[b], side) for a, b, side, _ in told], np.int64).T
        pairs[dimension] = Preferences(one, other, preferred, tuple(rater for *_, rater in told))
    return replace(found, pairs=pairs)


def _sides(table: SourceTable) -> tuple[str, str] | None:
    by_name = {normalised(name): name for name in table.columns}
    for a, b in (*zip(called.LEFT, called.RIGHT, strict=True), ("winner", "loser")):
        if a in by_name and b in by_name:
            return by_name[a], by_name[b]
    return None


def _is_result(sides: tuple[str, str]) -> bool:
    return normalised(sides[1]) == "loser"


def _outcomes(table: SourceTable, sides: tuple[str, str], clips: Clips, asked: Sequence[str]) -> dict[str, Outcomes]:
    """Column of outcomes (or dimension, where several hold some) to the outcome of each row, None where it is blank."""
    others = [name for name in table.columns if name not in sides]
    if _is_result(sides):
        return {DIMENSION: _ties(table)}
    if (column := first_column(others, called.OUTCOME)) is not None:
        return {DIMENSION: _parse(table, column, clips, strict=True) or [None] * len(table)}
    wanted = {normalised(name) for name in asked}
    found = {
        name: parsed
        for name in others
        if normalised(name) in wanted or not called.is_bookkeeping(name)
        if (parsed := _parse(table, name, clips, strict=False)) is not None
    }
    if not found:
        raise SetupError(f"{table.source}: expected a column outcome (left, right or tie) but got {table.heading}")
    return found


def _ties(table: SourceTable) -> Outcomes:
    column = first_column(table.columns, ("tie", "is_tie"))
    found: Outcomes = []
    for row, cell in enumerate(texts(table, column)):
        said = (cell or "0").casefold()
        if said not in _YES | _NO:
            raise SetupError(f"{table.source}, row {row + 1}: expected true or false in {column} but got {cell!r}")
        found.append(_TIE if said in _YES else _LEFT)
    return found


def _parse(table: SourceTable, column: str, clips: Clips, *, strict: bool) -> Outcomes | None:
    """A column of outcomes; of one that is not strictly wanted, None where it holds something else or only numbers.

    Raises:
        SetupError: A cell of a wanted column is no outcome, or its numbers can mean two things.
    """
    cells = texts(table, column)
    said = {_short(cell) for cell in cells if cell is not None}
    numeric = all(map(_is_numeric, said))
    if numeric and not strict:
        return None
    words = _numbers_of(table, column, said) if numeric else _WORDS
    found: Outcomes = []
    for row, (cell, left, right) in enumerate(zip(cells, *clips, strict=True)):
        named = {} if numeric else {right: _RIGHT, left: _LEFT}
        outcome = None if cell is None else named.get(cell, words.get(_short(cell)))
        if outcome is None and cell is not None:
            if not strict:
                return None
            raise SetupError(
                f"{table.source}, row {row + 1}: expected left, right, tie or the name of one of the clips in "
                f"{column} but got {cell!r}"
            )
        found.append(outcome)
    return found if any(outcome is not None for outcome in found) else None


def _numbers_of(table: SourceTable, column: str, said: set[str]) -> Mapping[str, int]:
    fitting = [words for words in _NUMBERS if said <= words.keys()]
    if not fitting:
        raise SetupError(
            f"{table.source}: expected 1, 2 and 0, or 1, -1 and 0, in {column} but got {', '.join(sorted(said))}"
        )
    if len({tuple(words[word] for word in sorted(said)) for words in fitting}) > 1:
        raise SetupError(
            f"{table.source}: {column} holds only {' and '.join(sorted(said))}, where 0 may be a tie or the right one; "
            "write left, right and tie"
        )
    return fitting[0]


def _short(cell: str) -> str:
    text = cell.casefold().strip()
    number = text.removesuffix(".0")
    return text if text in {"=", "<", ">"} else number if _is_numeric(number) else normalised(number)


def _is_numeric(word: str) -> bool:
    return word.lstrip("-").replace(".", "", 1).isdigit()
