from __future__ import annotations

import itertools
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vmmetrics.utils.statistics.bootstrap import MEAN_RESAMPLES, percentile_interval
from vmmetrics.utils.statistics.paired import (
    MANY,
    Difference,
    contributions,
    holm,
    mean_with_interval,
    paired_differences,
    rank_shares,
    resampled_means,
    sign_flip_p,
    sign_flip_ps,
)

NAN = np.nan
DIFFERENCES = st.lists(st.integers(-50, 50).map(lambda n: n / 10), min_size=1, max_size=30)


def scores(*models: list[float]) -> np.ndarray:
    """(M, P, 1) from a list per model."""
    return np.array(models, float)[:, :, None]


def test_means_of_samples_agree_with_every_possible_sample() -> None:
    values = [0.1, 0.4, 0.5, 0.9]
    every = np.array([np.mean(c) for c in itertools.product(values, repeat=4)])  # all 256, no chance involved
    found = resampled_means(scores(values))[:, 0, 0]
    assert found.shape == (MEAN_RESAMPLES,)
    for value in np.unique(every.round(9)):
        share = np.mean(np.isclose(every, value))
        assert np.mean(np.isclose(found, value)) == pytest.approx(share, abs=0.02)


def test_the_interval_is_that_of_the_score_table() -> None:
    values = np.random.default_rng(3).normal(0.5, 0.1, 400)
    known = mean_with_interval(values.tolist())
    assert known is not None
    low, high = percentile_interval(resampled_means(scores(values.tolist()))[:, 0, 0])
    assert low == pytest.approx(known.low, abs=4e-4)
    assert high == pytest.approx(known.high, abs=4e-4)


def test_every_model_gets_the_same_prompts() -> None:
    """Two models that differ by a constant differ by it in every sample."""
    values = np.random.default_rng(4).random(50)
    means = resampled_means(scores(values.tolist(), (values + 0.25).tolist()))
    assert np.allclose(means[:, 1] - means[:, 0], 0.25)


def test_a_missing_score_is_left_out_not_taken_for_zero() -> None:
    means = resampled_means(scores([0.5, 0.5, 0.5, NAN]))[:, 0, 0]
    assert np.all(np.isclose(means, 0.5) | np.isnan(means))
    assert np.mean(np.isnan(means)) == pytest.approx((1 / 4) ** 4, abs=0.003)  # four times the one without
    assert percentile_interval(np.full(10, NAN)) == (None, None)


@pytest.mark.parametrize("count", [2, 6, 10, 13])
def test_few_prompts_are_tested_exactly_as_by_scipy(count: int) -> None:
    parts = np.random.default_rng(count).normal(0.3, 1, count)
    known = stats.permutation_test(
        (parts,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert sign_flip_p(parts) == pytest.approx(known.pvalue)


def test_many_prompts_are_tested_as_by_scipy() -> None:
    parts = np.random.default_rng(5).normal(0.2, 1, 120)
    known = stats.permutation_test(
        (parts,), np.sum, permutation_type="samples", n_resamples=20_000, alternative="two-sided", rng=1
    )
    assert sign_flip_p(parts) == pytest.approx(known.pvalue, abs=0.01)
    assert sign_flip_p(parts) == pytest.approx(stats.ttest_1samp(parts, 0).pvalue, abs=0.015)


def test_p_by_hand() -> None:
    """Of the eight patterns of ±1 ±2 ±4 only +7 and -7 are as far out as 7; as 5 are 1 + 4 and so are four in all."""
    assert sign_flip_p(np.array([1.0, 2.0, 4.0])) == pytest.approx(2 / 8)
    assert sign_flip_p(np.array([-1.0, 2.0, 4.0])) == pytest.approx(4 / 8)
    assert sign_flip_p(np.zeros(5)) == 1
    assert sign_flip_p(np.array([0.1] * 40)) == pytest.approx(1 / 10_001)


def test_p_is_uniform_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(6)
    found = [sign_flip_p(rng.standard_t(3, 12)) for _ in range(400)]
    assert stats.kstest(found, "uniform").pvalue > 0.01


@settings(max_examples=40)
@given(DIFFERENCES, st.randoms(use_true_random=False))
def test_p_depends_neither_on_order_nor_on_who_is_first(values: list[float], chance: object) -> None:
    parts = np.array(values)
    p = sign_flip_p(parts)
    assert 0 < p <= 1
    assert sign_flip_p(-parts) == p
    if len(values) <= 13:
        chance.shuffle(values)  # type: ignore[attr-defined]
        assert sign_flip_p(np.array(values)) == p


def test_holm_by_hand() -> None:
    """Four p values: 0.005 x 4, 0.01 x 3, 0.03 x 2, then 0.04, raised to the one before it."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_p_and_bonferroni_and_keeps_the_order(values: list[float]) -> None:
    raised = holm(values)
    for p, adjusted in zip(values, raised, strict=True):
        assert p <= adjusted <= min(1.0, p * len(values)) + 1e-12
    assert [raised[i] for i in np.argsort(values, kind="stable")] == sorted(raised)


def test_contributions_by_hand() -> None:
    """Means over clips on common prompts: (2 × 0.3 + 0.6) / 3 = 0.4 and (0.1 + 3 × 0.2) / 4 = 0.175."""
    both = np.array([[[0.3, 0.6, NAN]], [[0.1, 0.2, NAN]]])
    clips = np.array([[[2.0, 1, 5]], [[1, 3, 5]]])
    (parts,) = contributions(both, clips)
    middle = (0.4 + 0.175) / 2
    by_hand = [2 / 3 * (0.3 - middle) - 1 / 4 * (0.1 - middle), 1 / 3 * (0.6 - middle) - 3 / 4 * (0.2 - middle), 0]
    assert parts == pytest.approx(by_hand)
    assert parts.sum() == pytest.approx(0.4 - 0.175)
    assert contributions(both + 5, clips) == pytest.approx(parts[None])  # the level of all scores is no evidence
    assert contributions(both, np.ones((2, 1, 3))) == pytest.approx(np.array([[0.2 / 2, 0.4 / 2, 0]]))


def test_pairs_with_equal_clips_are_tested_by_the_differences_of_prompts() -> None:
    rng = np.random.default_rng(9)
    both = rng.random((2, 700, 9))
    both[0, 1, :8], both[1, 1, 1:] = NAN, NAN  # no common prompt
    both[0, 2, 1:] = NAN
    compared = paired_differences(both, np.full(both.shape, 3.0))
    differences = both[0] - both[1]
    assert compared[1] == Difference(None, None, None, None, None, 0)
    assert astuple(compared[2]) == (pytest.approx(differences[2, 0]), None, None, 1.0, None, 1)
    drawn = resampled_means(differences[:, :, None])[:, :, 0]
    for pair in (0, 3, 699):
        known = (differences[pair].mean(), *percentile_interval(drawn[:, pair]), sign_flip_p(differences[pair]))
        assert astuple(compared[pair]) == (*map(pytest.approx, known), None, 9)


def test_places_by_hand() -> None:
    """Four samples of three models; one of them with a tie for the first place, one not known."""
    means = np.array([[3, 2, 1], [3, 2, 1], [1, 2, 3], [2, 2, 1], [NAN, 2, 1]], float)
    assert rank_shares(means) == pytest.approx(np.array([[3 / 4, 0, 1 / 4], [1 / 4, 3 / 4, 0], [1 / 4, 0, 3 / 4]]))


@pytest.mark.parametrize("kind", ["even", "skewed"])
def test_of_many_scores_the_ends_are_those_that_drawing_comes_to(kind: str) -> None:
    rng = np.random.default_rng(3)
    scores = rng.random(3000) if kind == "even" else rng.lognormal(0, 1.2, 3000)
    drawn, closed = mean_with_interval(scores), mean_with_interval(scores, many=3000)
    assert drawn is not None and closed is not None
    assert (drawn.mean, drawn.clips) == (closed.mean, closed.clips)
    error = scores.std() / np.sqrt(len(scores))
    assert (closed.low, closed.high) == pytest.approx((drawn.low, drawn.high), abs=0.1 * error)
    skew = float(np.mean(((scores - scores.mean()) / scores.std()) ** 3)) / np.sqrt(len(scores))
    if kind == "skewed":  # and not those of a normal distribution
        assert closed.low is not None and closed.low - (closed.mean - 1.959964 * error) > 0.3 * skew * error


def test_of_many_equal_scores_the_interval_is_a_point() -> None:
    assert mean_with_interval(np.full(200, 0.25), many=100) == (0.25, 0.25, 0.25, 200)


def test_p_values_of_several_differences_are_those_of_each() -> None:
    rng = np.random.default_rng(7)
    parts = rng.normal(0.1, 1, (40, 5))
    parts[:30, 3] = 0  # ten prompts: every pattern
    parts[:, 4] = 0
    together = sign_flip_ps(parts)
    assert together == [sign_flip_p(column) for column in parts.T]
    known = stats.permutation_test((parts[30:, 3],), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert together[3:] == [pytest.approx(known.pvalue), 1.0]


def test_means_of_many_prompts_spread_as_those_that_are_drawn() -> None:
    rng = np.random.default_rng(8)
    first = rng.random(MANY)
    both = scores(first.tolist(), (0.5 * first + 0.5 * rng.random(MANY)).tolist())
    both[0, rng.random(MANY) < 0.3] = NAN
    means = resampled_means(both)[:, :, 0]
    assert means.shape == (MEAN_RESAMPLES, 2)
    drawn = np.stack([np.nanmean(both[:, rng.integers(MANY, size=MANY), 0], axis=1) for _ in range(4000)])
    assert means.mean(axis=0) == pytest.approx(np.nanmean(both[:, :, 0], axis=1), abs=1e-4)
    assert np.cov(means.T) == pytest.approx(np.cov(drawn.T), rel=0.1)
    for model in (0, 1):
        assert percentile_interval(means[:, model]) == pytest.approx(percentile_interval(drawn[:, model]), abs=4e-4)
