from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vmmetrics.utils.statistics.bootstrap import draws
from vmmetrics.utils.statistics.correlation import (
    clustered_p,
    correlation_estimate,
    pearson,
    resampled_pearson,
    resampled_spearman,
    spearman,
    why_undefined,
)

PAIRS = st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 5)), min_size=3, max_size=40)


def clustered(prompts: int, clips: int, share: float, seed: int, slope: float = 0.0) -> tuple[np.ndarray, ...]:
    """Scores and ratings that share of the variance of is the prompt's, and the prompt of each clip."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(prompts), clips)
    x, y = np.sqrt(share) * rng.normal(size=(2, prompts))[:, codes] + np.sqrt(1 - share) * rng.normal(
        size=(2, prompts * clips)
    )
    return x, y + slope * x, codes.astype(str)


@given(PAIRS)
def test_points_are_scipys(rows: list[tuple[int, int]]) -> None:
    x, y = np.array(rows, float).T
    reason = why_undefined(x, y)
    assert (reason is None) == (np.ptp(x) > 0 and np.ptp(y) > 0)
    if reason is None:
        ranks = stats.rankdata(x), stats.rankdata(y)
        assert spearman(x, y)[0] == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-12)
        assert pearson(x, y)[0] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
        assert spearman(x, y) == tuple(stats.spearmanr(x, y))
        assert pearson(x, y) == tuple(stats.pearsonr(x, y))


@pytest.mark.parametrize("size", [0, 1, 2])
def test_two_clips_say_nothing(size: int) -> None:
    assert "3 clips" in str(why_undefined(np.arange(float(size)), np.arange(float(size))))


def test_resamples_are_those_of_the_sample_written_out() -> None:
    x, y, prompts = clustered(12, 4, 0.5, 0, 1.0)
    y = np.rint(y)
    columns = [x, np.rint(2 * x), 1e6 + x]
    rho = resampled_spearman(columns, y, prompts, 40, 9)[:, :, 0]
    r = resampled_pearson(columns, y, prompts, 40, 9)
    assert rho.shape == r.shape == (3, 40)
    for b, weights in enumerate(draws(prompts, 40, 9)):
        out = np.repeat(y, weights)
        for k, column in enumerate(columns):
            drawn = np.repeat(column, weights)
            assert rho[k, b] == pytest.approx(stats.spearmanr(drawn, out).statistic, abs=1e-12)
            assert r[k, b] == pytest.approx(stats.pearsonr(drawn, out).statistic, abs=1e-9)


def test_samples_without_variation_have_no_correlation() -> None:
    """Only prompt 0 has ratings other than 0.1 + 0.2 and only it has differing scores."""
    prompts = [str(number // 3) for number in range(12)]
    x = np.where(np.arange(12) < 3, np.arange(12), 7.7)
    y = np.where(np.arange(12) < 3, np.arange(12) ** 2, 0.1 + 0.2)
    absent = np.array([weights[0] == 0 for weights in draws(prompts, 200, 0)])
    assert 0 < absent.sum() < 200
    assert (np.isnan(resampled_pearson([x], y, prompts, 200, 0)[0]) == absent).all()
    assert (np.isnan(resampled_spearman([x], y, prompts, 200, 0)[0, :, 0]) == absent).all()


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(5)
    columns = [rng.normal(size=20_001) for _ in range(3)]
    y = np.rint(columns[0] + rng.normal(size=20_001))
    prompts = [str(number // 4) for number in range(20_001)]
    together = resampled_spearman(columns, y, prompts, 3, 1)
    alone = np.concatenate([resampled_spearman([column], y, prompts, 3, 1) for column in columns])
    assert (together == alone).all()


def test_p_is_scipys_where_no_prompt_repeats_and_clustered_where_one_does() -> None:
    x, y, prompts = clustered(15, 5, 0.5, 1, 0.4)
    rho, p = spearman(x, y)
    single = [str(number) for number in range(len(x))]
    assert correlation_estimate(rho, p, np.zeros(10), single).p == p
    values = resampled_spearman([x], y, prompts, 500, 0)[0, :, 0]
    assert correlation_estimate(rho, p, values, prompts).p == clustered_p(rho, values, 15) != p


@pytest.mark.parametrize("seed", range(4))
def test_clustered_p_is_about_that_of_a_clustered_regression(seed: int) -> None:
    """Statsmodels' slope of rank on rank with errors clustered by prompt tests the same, by another formula."""
    sm = pytest.importorskip("statsmodels.api")
    x, y, prompts = clustered(60, 4, 0.5, seed, 0.3)
    ranks = stats.rankdata(x), stats.rankdata(y)
    model = sm.OLS(ranks[1], sm.add_constant(ranks[0]))
    expected = model.fit(cov_type="cluster", cov_kwds={"groups": prompts.astype(int)}, use_t=True).tvalues[1]
    p = clustered_p(spearman(x, y)[0], resampled_spearman([x], y, prompts, 2000, 0)[0, :, 0], 60)
    assert p is not None
    assert stats.t.isf(p / 2, 58) == pytest.approx(abs(expected), rel=0.1)


def test_clustered_p_finds_nothing_where_there_is_nothing() -> None:
    """Scipy's p takes clips for independent and is below 0.05 in some 17 % of such studies."""
    studies, found, naive = 300, 0, 0
    for seed in range(studies):
        x, y, prompts = clustered(17, 5, 0.5, seed)
        rho, p = spearman(x, y)
        chance = clustered_p(rho, resampled_spearman([x], y, prompts, 200, 0)[0, :, 0], 17)
        found += chance is not None and chance < 0.05
        naive += p < 0.05
    assert found / studies < 0.11
    assert naive / studies > 0.12


def test_clustered_p_of_perfect_order_and_of_too_few() -> None:
    assert clustered_p(1.0, np.ones(999), 9) == pytest.approx(0.002)
    assert clustered_p(0.5, np.full(9, 0.5), 2) is None
    assert clustered_p(0.5, np.full(9, np.nan), 9) is None
