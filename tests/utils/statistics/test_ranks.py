from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vmmetrics.utils.statistics.ranks import code, weighted_spearman

VALUES = st.lists(st.tuples(st.integers(-4, 4), st.integers(1, 5), st.integers(0, 3)), min_size=1, max_size=25)


def written_out(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Scipy's Spearman of the sample with every clip repeated as often as it was drawn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x, y = np.repeat(x, weights), np.repeat(y, weights)
        return float(stats.spearmanr(x, y).statistic) if len(x) > 1 else np.nan


def one(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    return float(weighted_spearman([code(x)], code(y), weights[None])[0, 0, 0])


@settings(max_examples=200)
@given(VALUES)
def test_weights_are_repetition(rows: list[tuple[int, int, int]]) -> None:
    x, y, weights = np.array(rows).T
    assert one(x, y, weights) == pytest.approx(written_out(x, y, weights), abs=1e-12, nan_ok=True)


@given(VALUES)
def test_order_counts_and_nothing_else(rows: list[tuple[int, int, int]]) -> None:
    x, y, weights = np.array(rows).T
    found = one(x, y, weights)
    turn = np.random.default_rng(0).permutation(len(x))
    assert one(np.exp(x), y**3 - 7.0, weights) == pytest.approx(found, abs=1e-15, nan_ok=True)
    assert one(-x, y, weights) == pytest.approx(-found, abs=1e-15, nan_ok=True)
    assert one(x[turn], y[turn], weights[turn]) == pytest.approx(found, abs=1e-15, nan_ok=True)
    assert one(y, x, weights) == pytest.approx(found, abs=1e-15, nan_ok=True)


def test_samples_columns_and_segments_do_not_mix() -> None:
    rng = np.random.default_rng(1)
    n, segments = 90, rng.integers(4, size=90)
    columns = [rng.normal(size=n), rng.integers(3, size=n).astype(float), np.full(n, 2.5)]
    y, weights = rng.integers(1, 6, size=n), rng.integers(0, 3, size=(6, n))
    found = weighted_spearman([code(column, segments) for column in columns], code(y, segments), weights)
    assert found.shape == (3, 6, 4)
    for (k, b, s), value in np.ndenumerate(found):
        here = segments == s
        expected = written_out(columns[k][here], y[here], weights[b, here])
        assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert np.isnan(found[2]).all()


def test_segments_that_nothing_was_drawn_from_have_no_correlation() -> None:
    x, segments = np.arange(8.0), np.repeat([0, 1], 4)
    weights = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 5, 0, 0]])
    found = weighted_spearman([code(x, segments)], code(x**2, segments), weights)[0]
    assert found[0, 0] == 1
    assert np.isnan([found[0, 1], *found[1]]).all()


def test_perfect_order_is_one_exactly() -> None:
    x = np.random.default_rng(2).normal(size=1001)
    weights = np.random.default_rng(3).poisson(1, 1001)
    assert one(x, np.exp(x), weights) == 1.0
    assert one(x, -x, weights) == -1.0


def test_a_hundred_thousand_clips_lose_no_digits() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=100_000)
    y = np.rint(x + rng.normal(size=100_000))
    weights = rng.poisson(1, 100_000)
    assert one(x, y, weights) == pytest.approx(written_out(x, y, weights), abs=1e-12)
