"""Human judgements, before they are matched with scores."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.preferences import Preferences

AVERAGED = ""
"""Rater name for averaged ratings."""
_TOLERANCE = 1e-9  # two ratings of one rater are the same below this: they passed through text

RatingScale = tuple[float, float] | None
"""Lowest and highest possible rating."""


@dataclass(frozen=True, slots=True)
class RatingOptions:
    """What the user states about ratings.

    Attributes:
        form: A form or a released set; detected from the content if None.
        clip_column: Column that names the clip.
        scale: Lowest and highest rating there can be.
        dimensions: Dimensions to read although their names are those of bookkeeping.
        roles: Column to its role (:data:`vmmetrics.alignment.readers.source_table.ROLES`).
        lower: Dimensions of which lower is better; their sign is turned.
        higher: Dimensions of which higher is better although their names say otherwise.
        missing: Numbers that stand for no rating.
    """

    form: str | None = None
    clip_column: str | None = None
    scale: RatingScale = None
    dimensions: Sequence[str] = ()
    roles: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    lower: Collection[str] = ()
    higher: Collection[str] = ()
    missing: Collection[float] = ()

    @property
    def asked(self) -> set[str]:
        """Names, normalised, of columns that hold ratings whatever they are called."""
        return set(
            map(normalised, (*self.dimensions, *(name for name, role in self.roles.items() if role == "rating")))
        )


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
        columns: Column of the file to how it was read: clip, rater, rating of smoothness, not read, ...
        by_prompt: Whether a clip is known by its model and prompt alone, and called model/prompt.
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
    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    by_prompt: bool = False

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Every dimension that was rated or compared."""
        return tuple(dict.fromkeys((*self.ratings, *self.pairs)))


class RatedClip(NamedTuple):
    """A clip and its ratings from one row of a table.

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


def join_ratings(
    rated: Iterable[RatedClip],
    notes: Sequence[str],
    *,
    scale: RatingScale = None,
    missing: Collection[float] = (),
    of_models: bool = False,
    columns: Mapping[str, str] = MappingProxyType({}),
    by_prompt: bool = False,
) -> Judgements:
    """Put together the ratings of clips.

    Args:
        rated: What was said in each place, in any order.
        notes: What was assumed on the way.
        scale: Lowest and highest rating there can be.
        missing: Numbers that stand for no rating.
        of_models: Whether the clips are models.
        columns: Column of the file to how it was read.
        by_prompt: Whether a clip is known by its model and prompt alone.

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
        for by_clip, text in ((prompts, entry.prompt), (models, entry.model)):
            if text:
                by_clip.setdefault(entry.clip, text)
        for dimension, value, rater in entry.ratings:
            of_dimension = numbers.setdefault(dimension, {})
            number = of_dimension.setdefault(rater, len(of_dimension))
            if value == value and value not in missing:
                cells_of[dimension].extend((index, number, value))
    all_notes, names = list(notes), tuple(clips)
    ratings, raters = {}, {}
    for dimension, people in numbers.items():
        cells = np.array(cells_of[dimension]).reshape(-1, 3)
        if not len(cells):
            all_notes.append(f"{dimension}: left out, as it has no rating")
            continue
        low, high = scale or (-np.inf, np.inf)
        for clip, _, value in cells[(cells[:, 2] < low) | (cells[:, 2] > high)]:
            raise SetupError(
                f"{dimension} of {names[int(clip)]}: expected a rating from {low:g} to {high:g} but got {value:g}"
            )
        ratings[dimension], repeats, differing = _matrix(cells, len(names), len(people))
        raters[dimension] = () if list(people) == [AVERAGED] else tuple(people)
        if repeats:
            how = f", {differing} of them with another rating: averaged" if differing else ""
            all_notes.append(f"{dimension}: {repeats} repeated ratings of a clip by the same rater{how}")
    shown, made_by = (tuple(map(by_clip.get, names)) for by_clip in (prompts, models))
    others = tuple(zip(*other_names.values(), strict=False))  # a list that lacks a name for any clip is ignored
    return Judgements(
        names, shown, made_by, ratings, raters, {}, tuple(all_notes), others, of_models, columns, by_prompt
    )


def _matrix(cells: FloatArray, clips: int, raters: int) -> tuple[FloatArray, int, int]:
    """Return (N, R) mean ratings, how many were repeats, and in how many places these differed."""
    cell, values = (cells[:, 0] * raters + cells[:, 1]).astype(np.int64), cells[:, 2]
    counts = np.bincount(cell, minlength=clips * raters)
    sums = np.bincount(cell, values, minlength=clips * raters)
    low, high = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
    np.minimum.at(low, cell, values)
    np.maximum.at(high, cell, values)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).reshape(clips, raters)
    return means, len(values) - int((counts > 0).sum()), int((high - low > _TOLERANCE).sum())


def turned(judgements: Judgements, lower: Collection[str]) -> Judgements:
    """Return the judgements with the sign of some dimensions turned, so that higher is better."""
    names = set(map(normalised, lower))
    chosen = [name for name in judgements.dimensions if normalised(name) in names]
    ratings = {name: -values if name in chosen else values for name, values in judgements.ratings.items()}
    pairs = {n: replace(of, outcome=-of.outcome) if n in chosen else of for n, of in judgements.pairs.items()}
    note = (f"Lower is better, sign turned: {', '.join(chosen)}",) if chosen else ()
    return replace(judgements, ratings=ratings, pairs=pairs, notes=(*judgements.notes, *note))


def judgements_of_dimensions(judgements: Judgements, selected: Sequence[str]) -> Judgements:
    """Return the judgements with only some of the dimensions.

    Raises:
        SetupError: One is not there.
    """
    there = judgements.dimensions
    names = {normalised(name): name for name in there} | {name: name for name in there}
    selected = [name if name in names else normalised(name) for name in selected]
    if unknown := [name for name in selected if name not in names]:
        raise SetupError(f"No dimension {', '.join(unknown)} in the ratings; they have {', '.join(there)}")
    others = set(there) - {names[name] for name in selected}
    return replace(
        judgements,
        ratings={name: values for name, values in judgements.ratings.items() if name not in others},
        pairs={name: pairs for name, pairs in judgements.pairs.items() if name not in others},
    )


def battles_of_models(judgements: Judgements) -> Judgements:
    """Return the same preferences between models, whatever the prompt.

    Raises:
        SetupError: No preference is between two models.
    """
    models = tuple(dict.fromkeys(model for model in judgements.models if model))
    model_index = np.array([models.index(model) if model else -1 for model in judgements.models], np.int64)
    pairs = {}
    for dimension, votes in judgements.pairs.items():
        left, right = model_index[votes.left], model_index[votes.right]
        mask = (left != right) & (left >= 0) & (right >= 0)
        raters = tuple(compress(votes.raters, mask))
        pairs[dimension] = Preferences(left[mask], right[mask], votes.outcome[mask], raters)
    if not any(votes.outcome.size for votes in pairs.values()):
        raise SetupError("No preference is between two models")
    note = "No preference names a scored clip: read as preferences between models"
    return Judgements(
        models, (None,) * len(models), models, {}, {}, pairs, (*judgements.notes, note), (), True, judgements.columns
    )
