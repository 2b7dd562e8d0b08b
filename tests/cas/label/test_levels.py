from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from vmmetrics.cas.label.label import NORMAL_CUTS, cut_levels

ONE_POOL = np.zeros(10, np.int64)


def test_quantile_gives_equal_shares() -> None:
    strength = np.random.default_rng(0).normal(0, 2, 100)
    levels = cut_levels(strength, np.ones(100), np.zeros(100, np.int64), "quantile")
    assert np.bincount(levels.level).tolist() == [20] * 5
    assert np.all(np.diff(levels.level[np.argsort(strength)]) >= 0)
    for k, place in enumerate(levels.cuts[0], 1):
        assert strength[levels.level < k].max() < place < strength[levels.level >= k].min()


def test_few_clips_get_the_levels_around_their_rank_share() -> None:
    def of(*values: float) -> list[int]:
        n = len(values)
        return cut_levels(np.array(values), np.ones(n), np.zeros(n, np.int64), "quantile").level.tolist()

    assert of(0.0) == [2]
    assert of(-1, 1) == [1, 3]  # shares .25 and .75
    assert of(3, 1, 2) == [4, 0, 2]
    assert of(1, 2, 3, 4, 5) == [0, 1, 2, 3, 4]
    assert of(1, 1, 1, 1, 1) == [2] * 5  # the same evidence, the same level


def test_rounding_decides_nothing() -> None:
    values = np.array([0.0, 1e-9, -1e-9, 2.0, -2.0])
    assert cut_levels(values, np.ones(5), ONE_POOL[:5], "quantile").level.tolist() == [2, 2, 2, 4, 0]


def test_normal_cuts_lie_at_the_quintiles() -> None:
    np.testing.assert_allclose(NORMAL_CUTS, [-0.8416, -0.2533, 0.2533, 0.8416], atol=1e-4)
    strength = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    levels = cut_levels(strength, np.ones(5), ONE_POOL[:5], "normal")
    assert levels.level.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(levels.cuts[0], 2 * np.array(NORMAL_CUTS))  # standard deviation 2
    # far from normal: no forced shares
    assert cut_levels(np.array([0.0] * 9 + [9.0]), np.ones(10), ONE_POOL, "normal").level.tolist() == [1] * 9 + [4]


def test_fixed_cuts_are_the_same_for_every_pool() -> None:
    strength, pool = np.array([-2.0, -1.0, 0.0, 0.5, 1.6]), np.array([0, 0, 1, 1, 2])
    levels = cut_levels(strength, np.ones(5), pool, "fixed", (-1.5, -0.5, 0.5, 1.5))
    assert levels.level.tolist() == [0, 1, 2, 3, 4]
    assert levels.cuts == dict.fromkeys(range(3), (-1.5, -0.5, 0.5, 1.5))


def test_pools_are_cut_apart() -> None:
    strength, pool = np.array([0.0, 1.0, 100.0, 101.0]), np.array([0, 0, 1, 1])
    assert cut_levels(strength, np.ones(4), pool, "quantile").level.tolist() == [1, 3, 1, 3]


def test_a_clip_without_strength_gets_no_level() -> None:
    levels = cut_levels(np.array([math.nan, 1.0, 2.0]), np.array([math.nan, 1, 1]), ONE_POOL[:3], "quantile")
    assert levels.level.tolist() == [-1, 1, 3]
    assert np.isnan(levels.probabilities[0]).all()


def test_probabilities_are_areas_under_the_normal_curve() -> None:
    cuts = (-1.5, -0.5, 0.5, 1.5)
    levels = cut_levels(np.array([0.3]), np.array([0.8]), ONE_POOL[:1], "fixed", cuts)
    edges = norm.cdf([-math.inf, *cuts, math.inf], 0.3, 0.8)
    np.testing.assert_allclose(levels.probabilities[0], np.diff(edges), rtol=1e-12)
    draws = np.random.default_rng(0).normal(0.3, 0.8, 200_000)
    shares = np.bincount(np.searchsorted(cuts, draws), minlength=5) / len(draws)
    np.testing.assert_allclose(levels.probabilities[0], shares, atol=0.005)


@given(
    st.lists(st.floats(-6, 6), min_size=1, max_size=30),
    st.floats(0.01, 5),
    st.sampled_from(["quantile", "normal"]),
)
def test_probabilities_sum_to_one_and_levels_follow_strength(values: list[float], error: float, cut: str) -> None:
    strength, n = np.array(values), len(values)
    levels = cut_levels(strength, np.full(n, error), np.zeros(n, np.int64), cut)  # type: ignore[arg-type]
    np.testing.assert_allclose(levels.probabilities.sum(axis=1), 1, atol=1e-9)
    assert levels.probabilities.min() >= 0
    assert np.all(np.diff(levels.level[np.argsort(strength, kind="stable")]) >= 0)


def test_cuts_that_make_no_sense_are_refused() -> None:
    one = np.zeros(1)
    for cut, fixed in (("fixed", None), ("quantile", (0.0, 1.0, 2.0, 3.0))):
        with pytest.raises(ValueError, match="needs four cuts"):
            cut_levels(one, one + 1, ONE_POOL[:1], cut, fixed)  # type: ignore[arg-type]
    for fixed in ((0.0, 1.0, 2.0), (0.0, 1.0, 1.0, 2.0), (0.0, 1.0, 2.0, math.nan)):
        with pytest.raises(ValueError, match="four ascending"):
            cut_levels(one, one + 1, ONE_POOL[:1], "fixed", fixed)
