"""A 0 below a scale from 1: no rating, or the end of a scale from 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vmmetrics.alignment.readers.judgements import RatingOptions
from vmmetrics.alignment.readers.read import read_judgements
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray

CLIPS = [f"{number}.mp4" for number in range(60)]


def made(low: float, high: float, *, raters: int = 5, step: float = 1, seed: int = 0) -> FloatArray:
    """Return (60, R) ratings of clips whose quality differs more than people do, the ends used often."""
    rng = np.random.default_rng(seed)
    seen = 1.3 * rng.normal(size=(60, 1)) + 0.4 * rng.normal(size=(60, raters))
    return np.clip(np.round((low + (high - low) * (seen + 2) / 4) / step) * step, low, high)


def with_code(ratings: FloatArray, code: float, count: int) -> FloatArray:
    rng = np.random.default_rng(7)
    coded = ratings.copy()
    coded.flat[rng.choice(ratings.size, count, replace=False)] = code
    return coded


def table(**dimensions: FloatArray) -> dict[str, Any]:
    """Return columns with a row per clip and rater."""
    raters = next(iter(dimensions.values())).shape[1]
    columns = {name: values.ravel().tolist() for name, values in dimensions.items()}
    names = [f"rater {number}" for number in range(raters)]
    return {"clip": [c for c in CLIPS for _ in names], "rater": names * len(CLIPS), **columns}


@pytest.mark.parametrize("code", [0, 0.5])
@pytest.mark.parametrize("count", [4, 30])
@pytest.mark.parametrize("top", [4, 5, 6, 7, 9, 10, 11, 100])
def test_a_code_below_the_scale_is_refused(top: int, count: int, code: float) -> None:
    ratings = with_code(made(1, top), code, count)
    with pytest.raises(SetupError, match=rf"smoothness: {code:g} .*--missing {code:g}, .*--scale {code:g} {top}"):
        read_judgements(table(smoothness=ratings), CLIPS)
    read = read_judgements(table(smoothness=ratings), CLIPS, RatingOptions(missing=[code])).ratings["smoothness"]
    np.testing.assert_array_equal(read, np.where(ratings == code, np.nan, ratings))
    stated = read_judgements(table(smoothness=ratings), CLIPS, RatingOptions(scale=(code, top)))
    np.testing.assert_array_equal(stated.ratings["smoothness"], ratings)


@pytest.mark.parametrize("top", [4, 7, 10, 100])
@pytest.mark.parametrize("lowest", [1, 2])
def test_also_where_one_person_rated(top: int, lowest: int) -> None:
    ratings = with_code(made(lowest, top, raters=1), 0, 2)
    for columns in (table(smoothness=ratings), {"clip": CLIPS, "smoothness": ratings[:, 0].tolist()}):
        with pytest.raises(SetupError, match="--missing 0"):
            read_judgements(columns, CLIPS)


def test_a_mean_of_0_among_means_from_1() -> None:
    means = made(1, 5).mean(axis=1)
    means[[3, 40]] = 0
    with pytest.raises(SetupError, match="--missing 0"):
        read_judgements({"clip": CLIPS, "smoothness": means.tolist()}, CLIPS)


@pytest.mark.parametrize(
    ("top", "step"),
    [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1), (10, 1), (100, 1), (100, 5), (1, 0.1), (5, 0.5)],
)
@pytest.mark.parametrize("seed", range(3))
def test_scales_from_0_are_read(top: int, step: float, seed: int) -> None:
    ratings = made(0, top, step=step, seed=seed)
    read = read_judgements(table(smoothness=ratings), CLIPS).ratings["smoothness"]
    np.testing.assert_array_equal(read, ratings)


@pytest.mark.parametrize("top", [3, 4, 6, 10])
def test_one_persons_scale_from_0_is_read_where_0_is_used_like_the_others(top: int) -> None:
    ratings = (np.arange(60) * 7 % 60 * (top + 1) // 60).astype(float)
    read = read_judgements({"clip": CLIPS, "smoothness": ratings.tolist()}, CLIPS).ratings["smoothness"]
    np.testing.assert_array_equal(read[:, 0], ratings)


@pytest.mark.parametrize("top", [1, 5, 10, 100])
def test_means_on_a_scale_from_0_are_read(top: int) -> None:
    means = made(0, top, step=top / 100).mean(axis=1)
    means[np.argmin(means)] = 0
    read = read_judgements({"clip": CLIPS, "smoothness": means.tolist()}, CLIPS).ratings["smoothness"]
    np.testing.assert_array_equal(read[:, 0], means)
