from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.utils.statistics.agreement import MIN_RATINGS, recover_mos

NAN = np.nan


def simulated(
    raters: int, clips: int, seed: int, careless: int = 0, missing: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ratings (R, N), true quality, bias (sum 0) and noise of each rater; the first ``careless`` rate at random."""
    rng = np.random.default_rng(seed)
    quality, bias = rng.normal(3, 0.8, clips), rng.normal(0, 0.4, raters)
    bias -= bias.mean()
    noise = np.where(np.arange(raters) < careless, 2.0, rng.uniform(0.3, 0.6, raters))
    ratings = quality + bias[:, None] + noise[:, None] * rng.normal(size=(raters, clips))
    ratings[rng.random(ratings.shape) < missing] = NAN
    return ratings, quality, bias, noise


def published(ratings: np.ndarray) -> tuple[list[float], list[float], list[float]]:
    """Quality, bias and inconsistency of P.913's alternating projection, one number at a time."""
    cells = {(i, j): float(x) for (i, j), x in np.ndenumerate(ratings) if x == x}
    raters, clips = range(ratings.shape[0]), range(ratings.shape[1])
    of = {i: [j for j in clips if (i, j) in cells] for i in raters}
    by = {j: [i for i in raters if (i, j) in cells] for j in clips}
    quality = [sum(cells[i, j] for i in by[j]) / len(by[j]) for j in clips]
    bias = [sum(cells[i, j] - quality[j] for j in of[i]) / len(of[i]) for i in raters]
    for _ in range(1000):
        spread = [float(np.std([cells[i, j] - quality[j] - bias[i] for j in of[i]])) for i in raters]
        weight = [1 / (s**2 + 1e-8) for s in spread]
        before, quality = (
            quality,
            [sum(weight[i] * (cells[i, j] - bias[i]) for i in by[j]) / sum(weight[i] for i in by[j]) for j in clips],
        )
        bias = [sum(cells[i, j] - quality[j] for j in of[i]) / len(of[i]) for i in raters]
        if sum((a - b) ** 2 for a, b in zip(before, quality, strict=True)) ** 0.5 < 1e-8:
            break
    shift = sum(bias) / len(bias)
    return [q + shift for q in quality], [b - shift for b in bias], spread


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_of_many_raters_it_is_nearly_the_published_solver(missing: float) -> None:
    """The correction for a rater's own share fades as 1 / raters: each weighs 1/200 of a clip here."""
    ratings = simulated(200, 30, seed=1, missing=missing)[0]
    quality, bias, spread = published(ratings)
    mos = recover_mos(ratings)
    np.testing.assert_allclose(mos.quality, quality, atol=2e-3)
    np.testing.assert_allclose(mos.bias, bias, atol=2e-3)
    np.testing.assert_allclose(mos.inconsistency, spread, rtol=0.02)


def test_a_careless_rater_moves_the_quality_less_than_the_mean() -> None:
    ratings, quality, bias, noise = simulated(20, 60, seed=2, careless=2)
    mos = recover_mos(ratings)
    error = np.sqrt(np.mean((mos.quality - quality) ** 2))
    assert error < 0.8 * np.sqrt(np.mean((ratings.mean(axis=0) - quality) ** 2))
    assert np.corrcoef(mos.bias, bias)[0, 1] > 0.9
    assert mos.inconsistency == pytest.approx(noise, rel=0.35)
    assert set(np.argsort(mos.inconsistency)[-2:]) == {0, 1}
    assert mos.note == ""


def test_three_raters_do_not_become_one() -> None:
    """The published solver copies one rater and errs by more than the mean; the corrected one by no more."""
    error, theirs_error = [], []
    for seed in range(20):
        ratings, quality, _, _ = simulated(3, 100, seed)
        mos, theirs = recover_mos(ratings), published(ratings)[0]
        assert mos.note == ""
        plain = np.sqrt(np.mean((ratings.mean(axis=0) - quality) ** 2))
        error.append(np.sqrt(np.mean((mos.quality - quality) ** 2)) / plain)
        theirs_error.append(np.sqrt(np.mean((theirs - quality) ** 2)) / plain)
    assert np.mean(theirs_error) > 1.2
    assert np.mean(error) < 1.0


def test_equal_noise_by_hand() -> None:
    """Three raters of biases −1, 0 and 1 whose noise is the same up to its order: weights, hence qualities, are equal.

    Noise of the raters over six clips: (1, −1, 0, 0, 0, 0), (0, 0, 1, −1, 0, 0) and (0, 0, 0, 0, 1, −1), so residuals
    are 2/3 twice and −1/3 four times: sum of squares 12/9, over 6 · (1 − 1/3) = 4, is 1/3.
    """
    noise = np.array([[1, -1, 0, 0, 0, 0], [0, 0, 1, -1, 0, 0], [0, 0, 0, 0, 1, -1]], float)
    truth = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    mos = recover_mos(truth + np.array([[-1.0], [0.0], [1.0]]) + noise)
    assert mos.bias == pytest.approx([-1, 0, 1])
    assert mos.quality == pytest.approx(truth + noise.mean(axis=0))
    assert mos.inconsistency**2 == pytest.approx(np.full(3, 1 / 3))


def test_perfect_raters_are_only_unbiased() -> None:
    ratings = np.arange(8.0) + np.array([[-0.5], [0.0], [0.5], [0.0]])
    mos = recover_mos(ratings)
    assert mos.quality == pytest.approx(np.arange(8.0))
    assert mos.bias == pytest.approx([-0.5, 0, 0.5, 0])
    assert mos.inconsistency == pytest.approx(np.zeros(4), abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.25]))
def test_order_shift_and_scale(seed: int, missing: float) -> None:
    ratings = simulated(6, 20, seed, missing=missing)[0]
    rng = np.random.default_rng(seed)
    raters, clips = rng.permutation(6), rng.permutation(20)
    mos, moved = recover_mos(ratings), recover_mos(10 * ratings[raters][:, clips] + 7)
    if "collapsed onto" in mos.note + moved.note:
        return  # where to it collapses is decided by rounding
    assert moved.quality == pytest.approx(10 * mos.quality[clips] + 7, rel=1e-4, nan_ok=True)
    assert moved.bias == pytest.approx(10 * mos.bias[raters], abs=1e-3, nan_ok=True)
    assert moved.inconsistency == pytest.approx(10 * mos.inconsistency[raters], rel=5e-3, nan_ok=True)
    assert np.nansum(mos.bias) == pytest.approx(0, abs=1e-9)
    again = recover_mos(ratings)
    assert np.array_equal(again.quality, mos.quality, equal_nan=True)


def test_clips_and_raters_without_ratings() -> None:
    ratings = simulated(5, 12, seed=3)[0]
    ratings[:, 4] = NAN
    ratings[1] = NAN
    ratings[2, MIN_RATINGS - 1 :] = NAN
    mos = recover_mos(ratings)
    assert np.flatnonzero(np.isnan(mos.quality)).tolist() == [4]
    assert np.flatnonzero(np.isnan(mos.bias)).tolist() == [1, 2]
    assert f"2 of 5 raters have under {MIN_RATINGS} ratings" in mos.note
    rest = recover_mos(ratings[[0, 3, 4]])
    assert np.array_equal(rest.quality, mos.quality, equal_nan=True)


def test_nothing_to_recover_is_said() -> None:
    for ratings in (np.full((3, 8), NAN), np.zeros((0, 8)), np.zeros((3, 0))):
        mos = recover_mos(ratings)
        assert np.isnan(mos.quality).all()
        assert mos.quality.shape == (ratings.shape[1],)
        assert "no rater is left" in mos.note
    with pytest.raises(ValueError, match="shape"):
        recover_mos(np.arange(6.0))
    with pytest.raises(ValueError, match="finite"):
        recover_mos(np.full((2, 6), np.inf))


def test_few_raters_and_separate_groups_are_said() -> None:
    one = recover_mos(np.arange(6.0)[None])
    assert one.quality == pytest.approx(np.arange(6.0))
    assert np.isnan(one.inconsistency).all()
    two, _, _, _ = simulated(2, 30, seed=4)
    mos = recover_mos(two)
    assert mos.quality == pytest.approx(two.mean(axis=0))
    assert "fewer than 3 raters" in mos.note
    apart = np.full((6, 40), NAN)
    apart[:3, :20], apart[3:, 20:] = simulated(3, 20, 5)[0], simulated(3, 20, 6)[0]
    assert "2 groups without a clip in common" in recover_mos(apart).note
    apart[0, 20] = 3.0
    assert "groups" not in recover_mos(apart).note


@pytest.mark.parametrize("missing", [0.0, 0.6])
def test_the_solver_on_a_table_of_cells(missing: float) -> None:
    """The corrected steps on whole tables, as they are written in the description of the module."""
    ratings = simulated(60, 40, seed=3, missing=missing)[0]
    there = ~np.isnan(ratings)
    filled, per_rater = np.nan_to_num(ratings), there.sum(axis=1)
    quality = np.nanmean(ratings, axis=0)
    bias, weights = np.nanmean(ratings - quality, axis=1), np.ones(60)
    for _ in range(100):
        residuals = (filled - quality - bias[:, None]) * there
        shares = weights[:, None] * there / (weights @ there)
        variance = (residuals**2).sum(axis=1) / (per_rater - shares.sum(axis=1))
        weights = 1 / (variance + 1e-8)
        quality = weights @ ((filled - bias[:, None]) * there) / (weights @ there)
        bias = np.nanmean(ratings - quality, axis=1)
    mos = recover_mos(ratings)
    assert (per_rater >= MIN_RATINGS).all()  # nobody is left out
    np.testing.assert_allclose(mos.quality, quality + bias.mean(), atol=1e-7)
    np.testing.assert_allclose(mos.inconsistency, np.sqrt(variance), atol=1e-7)
