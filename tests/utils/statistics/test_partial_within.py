"""Partial rank correlation inside groups, against pingouin on ranks and cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.partial import partial_within

NAN = np.nan


def of(first: FloatArray, second: FloatArray, control: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """ρ in the only group, at these weights."""
    weights = np.ones(len(first)) if weights is None else weights
    return partial_within(first[:, None], second, control, ("m",) * len(first))(weights[None])[0, 0]


def test_four_clips_by_hand() -> None:
    first, second = np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 3])
    control = np.array([2.0, 1, 4, 3])
    # Spearman by 1 - 6 sum d^2 / 60: first and second 0.8, first and control 0.6, second and control 0.8
    assert of(first, second, control) == pytest.approx((0.8 - 0.48) / np.sqrt(0.64 * 0.36))


def test_each_group_is_that_of_pingouin_on_ranks() -> None:
    pingouin, pandas = pytest.importorskip("pingouin"), pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    control = rng.normal(size=60)
    first = control[:, None] + rng.normal(size=(60, 2))
    second = np.round(control + first[:, 0] + rng.normal(size=60))  # with ties, as ratings have them
    groups = np.array(["a", "b", "c"])[rng.integers(3, size=60)]
    found = partial_within(first, second, control, tuple(groups))(np.ones((1, 60)))[0]
    for k in range(2):
        for number, name in enumerate("abc"):
            here = groups == name
            ranks = [stats.rankdata(values[here]) for values in (first[:, k], second, control)]
            table = pandas.DataFrame(dict(zip(("x", "y", "z"), ranks, strict=True)))
            expected = pingouin.partial_corr(table, x="x", y="y", covar="z")["r"].iloc[0]
            assert found[k, number] == pytest.approx(expected, abs=1e-4)  # pingouin rounds
            residuals = [np.polyval(np.polyfit(ranks[2], side, 1), ranks[2]) - side for side in ranks[:2]]
            assert found[k, number] == pytest.approx(np.corrcoef(*residuals)[0, 1], abs=1e-9)


def test_a_clip_drawn_twice_counts_twice() -> None:
    rng = np.random.default_rng(2)
    first, second, control = rng.normal(size=(3, 9))
    drawn = np.array([2, 0, 1, 1, 3, 0, 1, 1, 0])
    written_out = [np.repeat(column, drawn) for column in (first, second, control)]
    assert of(first, second, control, drawn) == pytest.approx(of(*written_out))


def test_a_score_that_is_the_control_has_none() -> None:
    rng = np.random.default_rng(3)
    control, second = rng.normal(size=(2, 12))
    assert np.isnan(of(control, second, control)).all()
    assert np.isnan(of(np.exp(control), second, -control)).all()  # in its order is enough


def test_three_clips_are_too_few_and_missing_ones_are_left_out() -> None:
    rng = np.random.default_rng(4)
    first, second, control = rng.normal(size=(3, 7))
    assert of(first[:3], second[:3], control[:3]).size == 0
    assert np.isnan(of(first, second, control, np.array([3, 3, 1, 0, 0, 0, 0]))).all()
    missing = [np.append(column, extra) for column, extra in ((first, 9), (second, 9), (control, NAN))]
    assert of(*missing) == pytest.approx(of(first, second, control))
