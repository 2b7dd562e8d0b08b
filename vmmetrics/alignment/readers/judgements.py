"""What people said, before it is known which clips have scores."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray

AVERAGED = ""
"""Name of the rater where ratings come averaged."""
_TOLERANCE = 1e-9  # two ratings of one rater are the same below this: they passed through text


@dataclass(frozen=True, slots=True)
class Pair:
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
    pairs: Mapping[str, tuple[Pair, ...]] = field(default_factory=lambda: MappingProxyType({}))
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
        self._pairs: dict[str, list[Pair]] = {}

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

    def prefer(self, dimension: str, pair: Pair) -> None:
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
    return Judgements(
        judgements.clips,
        judgements.prompts,
        judgements.models,
        {name: judgements.ratings[name] for name in judgements.ratings if name in kept},
        {name: judgements.raters[name] for name in judgements.raters if name in kept},
        {name: judgements.pairs[name] for name in judgements.pairs if name in kept},
        judgements.notes,
        judgements.other_names,
        judgements.of_models,
    )
