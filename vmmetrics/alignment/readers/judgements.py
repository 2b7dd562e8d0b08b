"""What people said, before it is known which clips have scores."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import first_column, normalised
from vmmetrics.alignment.readers.tables import SourceTable, texts
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray

AVERAGED = ""
"""Name of the rater where ratings come averaged."""
_TOLERANCE = 1e-9  # two ratings of one rater are the same below this: they passed through text


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A judgement of two clips.

    Attributes:
        left: Index of the clip on the left.
        right: Index of the clip on the right.
        outcome: 1 where the left one was preferred, −1 the right one, 0 for a tie.
        rater: Who judged, or "".
    """

    left: int
    right: int
    outcome: int
    rater: str


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
    pairs: Mapping[str, tuple[JudgedPair, ...]] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    other_names: tuple[tuple[str, ...], ...] = ()
    of_models: bool = False

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Every dimension that was rated or compared."""
        return tuple(dict.fromkeys((*self.ratings, *self.pairs)))


class _Column:
    """Ratings of one dimension as they come."""

    def __init__(self) -> None:
        self.raters: dict[str, int] = {}
        self.rows, self.columns, self.values = array("q"), array("q"), array("d")


class Gatherer:
    """Takes clips and ratings one by one, in any order."""

    def __init__(self) -> None:
        self._clips: dict[str, int] = {}
        self._prompts: list[str | None] = []
        self._models: list[str | None] = []
        self._ratings: dict[str, _Column] = {}
        self._pairs: dict[str, list[JudgedPair]] = {}

    def clip(self, name: str, prompt: str | None = None, model: str | None = None) -> int:
        """The index of a clip, told of its prompt and model where they are known."""
        index = self._clips.setdefault(name, len(self._clips))
        if index == len(self._prompts):
            self._prompts.append(None)
            self._models.append(None)
        self._prompts[index] = self._prompts[index] or prompt
        self._models[index] = self._models[index] or model
        return index

    def rate(self, clip: int, dimension: str, value: float, rater: str = AVERAGED) -> None:
        """A rating; NaN says that there is none."""
        column = self._ratings.setdefault(dimension, _Column())
        number = column.raters.setdefault(rater, len(column.raters))
        if value == value:
            column.rows.append(clip)
            column.columns.append(number)
            column.values.append(value)

    def prefer(self, dimension: str, pair: JudgedPair) -> None:
        """A preference."""
        self._pairs.setdefault(dimension, []).append(pair)

    def finish(
        self,
        notes: Sequence[str] = (),
        *,
        scale: tuple[float, float] | None = None,
        other_names: Sequence[Sequence[str]] = (),
        of_models: bool = False,
    ) -> Judgements:
        """All of it.

        Args:
            notes: What was assumed on the way.
            scale: Lowest and highest rating there can be.
            other_names: What else the clips may be called.
            of_models: Whether the clips are models.

        Raises:
            SetupError: A rating is not on the scale.
        """
        told = list(notes)
        names = tuple(self._clips)
        ratings, raters = {}, {}
        for dimension, column in self._ratings.items():
            if scale is not None:
                _refuse_off_scale(column, names, dimension, scale)
            if not column.values:
                told.append(f"{dimension}: left out, it holds no rating")
                continue
            ratings[dimension], repeats, differing = _matrix(column, len(names))
            raters[dimension] = () if list(column.raters) == [AVERAGED] else tuple(column.raters)
            if repeats:
                how = f", {differing} of them not with the same rating: their mean is taken" if differing else ""
                told.append(f"{dimension}: {repeats} times a rater rated the same clip again{how}")
        return Judgements(
            clips=names,
            prompts=tuple(self._prompts),
            models=tuple(self._models),
            ratings=ratings,
            raters=raters,
            pairs={dimension: tuple(pairs) for dimension, pairs in self._pairs.items()},
            notes=tuple(told),
            other_names=tuple(tuple(other) for other in other_names),
            of_models=of_models,
        )


def _matrix(column: _Column, clips: int) -> tuple[FloatArray, int, int]:
    """(N, R) mean ratings, how many were repeats, and how many of these differed."""
    shape = (clips, max(1, len(column.raters)))
    rows, columns = np.asarray(column.rows, np.int64), np.asarray(column.columns, np.int64)
    values = np.asarray(column.values, np.float64)
    sums, counts = np.zeros(shape), np.zeros(shape)
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    np.add.at(sums, (rows, columns), values)
    np.add.at(counts, (rows, columns), 1)
    np.minimum.at(low, (rows, columns), values)
    np.maximum.at(high, (rows, columns), values)
    again = counts > 1
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    differing = (high[again] - low[again]) > _TOLERANCE
    return means, int((counts[again] - 1).sum()), int(differing.sum())


def _refuse_off_scale(column: _Column, names: Sequence[str], dimension: str, scale: tuple[float, float]) -> None:
    low, high = scale
    for row, value in zip(column.rows, column.values, strict=True):
        if not low <= value <= high:
            raise SetupError(
                f"{dimension} of {names[row]}: expected a rating from {low:g} to {high:g} but got {value:g}"
            )


def judgements_of_dimensions(judgements: Judgements, wanted: Sequence[str]) -> Judgements:
    """The same with some of the dimensions only.

    Raises:
        SetupError: One is not there.
    """
    known = {normalised(name): name for name in judgements.dimensions} | {name: name for name in judgements.dimensions}
    wanted = [name if name in known else normalised(name) for name in wanted]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SetupError(
            f"No dimension {', '.join(unknown)} in the ratings; they have {', '.join(judgements.dimensions)}"
        )
    kept = {known[name] for name in wanted}
    return replace(
        judgements,
        ratings={name: values for name, values in judgements.ratings.items() if name in kept},
        raters={name: raters for name, raters in judgements.raters.items() if name in kept},
        pairs={name: pairs for name, pairs in judgements.pairs.items() if name in kept},
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


def looks_like_pairs(table: SourceTable, clip_column: str | None) -> bool:
    """Whether a table has two clips in a row."""
    if clip_column is not None:
        return False
    sides = _sides(table)
    texts_there = sides is not None and all(called.is_text(table.columns[name]) for name in sides)
    return texts_there or "loser" in {normalised(name) for name in table.columns}


def read_pairs(table: SourceTable, asked: Sequence[str] = ()) -> Judgements:
    """Read preferences.

    Args:
        table: The table.
        asked: Columns to read although their names are those of bookkeeping.

    Raises:
        SetupError: There are not two clips in a row, or an outcome is none.
    """
    sides = _sides(table)
    if sides is None:
        raise SetupError(
            f"{table.source}: expected columns left and right (or winner and loser) but got {table.heading}"
        )
    left, right = texts(table, sides[0]), texts(table, sides[1])
    outcomes = _outcomes(table, sides, left, right, asked)
    dimension = first_column(table.columns, called.DIMENSION)
    dimensions, raters = texts(table, dimension), texts(table, first_column(table.columns, called.RATER))
    prompts = texts(table, first_column(table.columns, called.PROMPT))
    models = (
        texts(table, first_column(table.columns, called.LEFT_MODEL)),
        texts(table, first_column(table.columns, called.RIGHT_MODEL)),
    )
    gatherer, blank, selves = Gatherer(), 0, 0
    for row, (a, b) in enumerate(zip(left, right, strict=True)):
        if a is None or b is None or a == b:
            selves += a is not None and a == b
            blank += a is None or b is None
            continue
        pair = gatherer.clip(a, prompts[row], models[0][row]), gatherer.clip(b, prompts[row], models[1][row])
        for name, found in outcomes.items():
            outcome = found[row]
            if outcome is None:
                blank += 1
            else:
                said = dimensions[row] or name if len(outcomes) == 1 else name
                gatherer.prefer(said, JudgedPair(*pair, outcome, raters[row] or ""))
    how = f"outcome from {', '.join(outcomes)}"
    if _is_result(sides):
        how = "the winner first" + (", ties marked" if "tie" in map(normalised, table.columns) else "")
    notes = [*table.notes, f"Preferences: {sides[0]} against {sides[1]}, {how}"]
    notes += [f"{selves} rows compare a clip with itself and were left out"] if selves else []
    notes += [f"{blank} preferences are blank and were left out"] if blank else []
    return gatherer.finish(notes)


def _sides(table: SourceTable) -> tuple[str, str] | None:
    by_name = {normalised(name): name for name in table.columns}
    for a, b in zip(called.LEFT, called.RIGHT, strict=True):
        if a in by_name and b in by_name:
            return by_name[a], by_name[b]
    if "winner" in by_name and "loser" in by_name:
        return by_name["winner"], by_name["loser"]
    return None


def _is_result(sides: tuple[str, str]) -> bool:
    return normalised(sides[1]) == "loser"


def _outcomes(
    table: SourceTable,
    sides: tuple[str, str],
    left: Sequence[str | None],
    right: Sequence[str | None],
    asked: Sequence[str],
) -> dict[str, Outcomes]:
    """Column of outcomes (or dimension, where several hold some) to the outcome of each row, None where it is blank."""
    if _is_result(sides):
        return {DIMENSION: _ties(table)}
    column = first_column([name for name in table.columns if name not in sides], called.OUTCOME)
    if column is not None:
        return {DIMENSION: _parse(table, column, left, right, strict=True) or [None] * len(table)}
    found, wanted = {}, {normalised(name) for name in asked}
    for name in table.columns:
        if name not in sides and (normalised(name) in wanted or not called.is_bookkeeping(name)):
            parsed = _parse(table, name, left, right, strict=False)
            if parsed is not None:
                found[name] = parsed
    if not found:
        raise SetupError(f"{table.source}: expected a column outcome (left, right or tie) but got {table.heading}")
    return found


def _ties(table: SourceTable) -> Outcomes:
    column = first_column(table.columns, ("tie", "is_tie"))
    if column is None:
        return [_LEFT] * len(table)
    found: Outcomes = []
    for row, cell in enumerate(texts(table, column)):
        said = (cell or "0").casefold()
        if said not in _YES | _NO:
            raise SetupError(f"{table.source}, row {row + 1}: expected true or false in {column} but got {cell!r}")
        found.append(_TIE if said in _YES else _LEFT)
    return found


def _parse(
    table: SourceTable, column: str, left: Sequence[str | None], right: Sequence[str | None], *, strict: bool
) -> Outcomes | None:
    """A column of outcomes; of one that is not strictly wanted, None where it holds something else or only numbers.

    Raises:
        SetupError: A cell of a wanted column is no outcome, or its numbers can mean two things.
    """
    cells = texts(table, column)
    said = {_short(cell) for cell in cells if cell is not None}
    numeric = all(word.lstrip("-").replace(".", "", 1).isdigit() for word in said)
    if numeric and not strict:
        return None
    words = _numbers_of(table, column, said) if numeric else _WORDS
    found: Outcomes = []
    for row, cell in enumerate(cells):
        if cell is None:
            found.append(None)
        elif not numeric and cell == left[row]:
            found.append(_LEFT)
        elif not numeric and cell == right[row]:
            found.append(_RIGHT)
        elif _short(cell) in words:
            found.append(words[_short(cell)])
        elif strict:
            raise SetupError(
                f"{table.source}, row {row + 1}: expected left, right, tie or the name of one of the clips in "
                f"{column} but got {cell!r}"
            )
        else:
            return None
    return found if any(outcome is not None for outcome in found) else None


def _numbers_of(table: SourceTable, column: str, said: set[str]) -> Mapping[str, int]:
    fitting = [words for words in _NUMBERS if said <= words.keys()]
    meanings = {tuple(words[word] for word in sorted(said)) for words in fitting}
    if not fitting:
        raise SetupError(
            f"{table.source}: expected 1, 2 and 0, or 1, -1 and 0, in {column} but got {', '.join(sorted(said))}"
        )
    if len(meanings) > 1:
        raise SetupError(
            f"{table.source}: {column} holds only {' and '.join(sorted(said))}, where 0 may be a tie or the right one; "
            "write left, right and tie"
        )
    return fitting[0]


def _short(cell: str) -> str:
    text = cell.casefold().strip()
    if text in {"=", "<", ">"}:
        return text
    text = text.removesuffix(".0")
    return text if text.lstrip("-").replace(".", "", 1).isdigit() else normalised(text)
