"""Ratings that may mean several things: refused, with the option that decides."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from vmmetrics.alignment.readers.columns import aspects_of, is_text, normalised
from vmmetrics.alignment.readers.judgements import Judgements, RatingOptions
from vmmetrics.alignment.readers.source_table import SourceTable, texts
from vmmetrics.errors import SetupError
from vmmetrics.types import BoolArray, FloatArray
from vmmetrics.utils.statistics.bootstrap import mean_of_defined

# Words of dimensions of which more is worse.
_WORSE = frozenset({
    "rank", "ranks", "ranking", "dmos", "severity", "annoyance", "artifact", "artifacts", "artefact", "artefacts",
    "defect", "defects", "error", "errors", "impairment", "degradation", "schulnote", "schulnoten", "note", "grade",
    "grades",
})  # fmt: skip
# Words of dimensions beside those of the metrics.
_OF_QUALITY = frozenset({
    "overall", "quality", "motion", "movement", "temporal", "score", "rating", "mos", "general", "total", "average",
    "mean", "preference", "consistency", "realism", "fluency", "fluidity", "stability", "stable", "dmos",
})  # fmt: skip
_CODES = (77.0, 88.0, 98.0, 99.0, 998.0, 999.0, 9999.0)
_FROM_ONE = (5.0, 7.0)  # tops of scales that begin at 1 as a rule; 0 to 4, 6 and 10 have an odd number of levels
_MOST_LEVEL = 11
_LEAST_TOP = 3  # 0, 1, 2 is a scale
_AS_A_LEVEL, _FEW = 0.75, 0.06  # shares of ratings: of the mean of a level, and however many levels there are
_LOW, _NOT_LOW = -2.3, -1.7  # standard errors from the mean; codes given by chance are below the first in 1 %
_LONGEST_NAME = 40  # letters of a person's name; a longer heading is a question
_LEAST_ROWS, _LEAST_COUNTED = 12, 20


def refuse_open_direction(dimensions: Iterable[str], options: RatingOptions) -> None:
    """Refuse dimensions whose names say that less is better, where the user said nothing.

    Raises:
        SetupError: There is one.
    """
    stated = set(map(normalised, (*options.lower, *options.higher)))
    for name in dimensions:
        if normalised(name) not in stated and _WORSE & set(normalised(name).split("_")):
            raise SetupError(
                f"{name}: by its name less may be better; say so with --lower-is-better {name!r}, or "
                f"--higher-is-better {name!r}"
            )


def refuse_codes(judged: Judgements) -> None:
    """Refuse ratings of which one lies apart as a code for "no rating" does.

    Raises:
        SetupError: There is one.
    """
    for name, ratings in judged.ratings.items():
        levels = _levels(ratings)
        plain = levels[~np.isin(np.abs(levels), _CODES)]
        for code in map(float, (levels[0], levels[-1]) if len(levels) > 2 else ()):
            rest = plain[plain != code]
            if len(rest) < 2:
                continue
            below = 0 <= code < 1 <= rest[0] and rest[-1] >= _LEAST_TOP
            if _is_below_scale(code, rest, ratings) if below else _is_code(code, rest):
                raise SetupError(
                    f"{name}: {code:g} among ratings from {rest[0]:g} to {rest[-1]:g} may stand for no rating: leave "
                    f"it out with --missing {code:g}, or state the scale with --scale {levels[0]:g} {levels[-1]:g}"
                )


def _is_code(code: float, rest: FloatArray) -> bool:
    low, high, whole = float(rest[0]), float(rest[-1]), bool((rest == np.round(rest)).all())
    if code < 0:
        return (low >= 0 and high > 1 and code == round(code)) or (-code in _CODES and -code > 5 * max(-low, high))
    steps = whole and bool((np.diff(rest) == 1).all()) and _FROM_ONE[0] <= high <= _MOST_LEVEL
    return code > high and (
        (steps and low <= 1 and code != 10 and code - high > 2) or (code in _CODES and code > 5 * high)
    )


def _is_below_scale(code: float, rest: FloatArray, ratings: FloatArray) -> bool:
    """Return True if the lowest rating may be a code below a scale from 1.

    It is a rating where others rated those clips low, too. Where that cannot be seen, it is one if it is no rarer than
    three quarters of what a level of the scale has on average.
    """
    low, high, steps = float(rest[0]), float(rest[-1]), np.diff(rest)
    if (rest != np.round(rest)).any():  # averages
        return code == 0 and low > 2 * steps.max()
    if steps.min() > 1 and not (rest % steps.min()).any():  # 0, 5, 10, ...
        return False
    share = float((ratings == code).sum() / np.isfinite(ratings).sum())
    few = share < max(_AS_A_LEVEL / (len(rest) + 1), _FEW)
    standing = _standing(ratings == code, ratings, code)
    if standing < _LOW:
        return False
    lowest = (ratings > code) & (ratings <= low + (high - low) / 4)
    return few or high in _FROM_ONE or (standing > _NOT_LOW and _standing(lowest, ratings, code) < _LOW)


def _standing(chosen: BoolArray, ratings: FloatArray, code: float) -> float:
    """Return how far others rated the clips of some ratings from the mean, in standard errors, the code aside."""
    others = mean_of_defined(np.where(chosen | (ratings == code), np.nan, ratings), axis=1)
    known = np.isfinite(others)
    of_chosen, every = others[chosen.any(axis=1) & known], others[known]
    if not len(of_chosen) or not every.std():
        return 0.0
    return float((of_chosen.mean() - every.mean()) * math.sqrt(len(of_chosen)) / every.std())


def refuse_people(table: SourceTable, names: Sequence[str], values: Mapping[str, FloatArray]) -> None:
    """Refuse columns that may each be a person's ratings or a dimension: alike, and of names that say nothing.

    Raises:
        SetupError: They are such.
    """
    people = [name for name in names if not _says_quality(name)]
    if len(people) < 2:
        return
    mean = mean_of_defined(np.stack([values[name] for name in people]), axis=0)
    others = [values[name] for name in names if name not in people]
    if others and not any(np.allclose(of, mean, rtol=0, atol=0.051, equal_nan=True) for of in others):
        return
    ratings = _levels(np.concatenate([values[name] for name in people]))
    if (2 * ratings == np.round(2 * ratings)).all():
        raise SetupError(
            f"{table.source}: {', '.join(people)} may be people or dimensions: say "
            f"{' '.join(f'--map {name!r}=rater' for name in people)}, or --map {people[0]!r}=rating"
        )


def _says_quality(name: str) -> bool:
    return (
        len(name) > _LONGEST_NAME
        or aspects_of(name) is not None
        or bool(_OF_QUALITY & set(normalised(name).split("_")))
    )


def refuse_unnamed_raters(table: SourceTable, clips: Sequence[str | None], unread: Iterable[str]) -> None:
    """Refuse a column of names, each of which rated a clip once, where no column is known to name the raters.

    Raises:
        SetupError: There is one.
    """
    for name in unread:
        people = texts(table, name)
        rows = [(clip, person) for clip, person in zip(clips, people, strict=True) if clip and person]
        times = Counter(person for _, person in rows)
        if is_text(table.columns[name]) and len(times) > 1 and min(times.values()) > 1 and len(set(rows)) == len(rows):
            raise SetupError(
                f"{table.source}: {name} may name the raters: say --map {name}=rater, or --map {name}=ignore"
            )


def describing_rows(
    values: Mapping[str, FloatArray], clips: Sequence[str | None], people: Sequence[str | None]
) -> list[str]:
    """Return columns that by their cells hold no ratings, beside others that may.

    They are constant, count the rows, number them, or have one value for each clip or person where others differ.

    Args:
        values: Column to (N,) numbers.
        clips: (N,) clip of each row.
        people: (N,) rater of each row, None where nobody is named.
    """
    if len(clips) < _LEAST_ROWS:
        return []
    by_clip, by_person = _rows_of(clips), _rows_of(people)
    spread = {name: (_differs(of, by_clip), _differs(of, by_person)) for name, of in values.items()}
    repeated = [any(len(rows) > 1 for rows in groups) and len(groups) > 1 for groups in (by_clip, by_person)]
    beside = [any(of[side] for of in spread.values()) for side in (0, 1)]
    described = []
    for name, column in values.items():
        single = any(repeated[side] and beside[side] and not spread[name][side] for side in (0, 1))
        if single or _counts(column, repeats=repeated[0]):
            described.append(name)
    return described if len(described) < len(values) else []


def _rows_of(names: Sequence[str | None]) -> list[list[int]]:
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(names):
        if name is not None:
            rows[name].append(row)
    return list(rows.values())


def _differs(column: FloatArray, groups: Collection[Sequence[int]]) -> bool:
    return any(len(_levels(column[list(rows)])) > 1 for rows in groups if len(rows) > 1)


def _levels(ratings: FloatArray) -> FloatArray:
    levels: FloatArray = np.unique(ratings[np.isfinite(ratings)])
    return levels


def _counts(column: FloatArray, *, repeats: bool) -> bool:
    """Return True if a column is constant, has equal steps, or distinct whole numbers in rows of repeated clips."""
    if not np.isfinite(column).all():
        return False
    if len(np.unique(np.diff(column))) == 1:
        return True
    whole = bool((column == np.round(column)).all())
    return repeats and len(column) >= _LEAST_COUNTED and whole and len(np.unique(column)) == len(column)
