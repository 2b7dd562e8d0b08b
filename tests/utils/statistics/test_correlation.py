from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vmmetrics.utils.statistics.bootstrap import draws
from vmmetrics.utils.statistics.correlation import (
    correlation_estimate,
    difference_estimate,
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
        assert spearman(x, y) == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-12)
        assert pearson(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
        assert (spearman(x, y), pearson(x, y)) == (stats.spearmanr(x, y).statistic, stats.pearsonr(x, y).statistic)


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


@pytest.mark.parametrize("seed", range(4))
def test_p_is_about_that_of_a_clustered_regression(seed: int) -> None:
    """Statsmodels' slope of rank on rank with errors clustered by prompt tests the same, by another formula."""
    sm = pytest.importorskip("statsmodels.api")
    x, y, prompts = clustered(60, 4, 0.5, seed, 0.3)
    ranks = stats.rankdata(x), stats.rankdata(y)
    model = sm.OLS(ranks[1], sm.add_constant(ranks[0]))
    expected = model.fit(cov_type="cluster", cov_kwds={"groups": prompts.astype(int)}, use_t=True).tvalues[1]
    values = resampled_spearman([x], y, prompts, 2000, 0)[0, :, 0]
    p = correlation_estimate(spearman(x, y), values, n=240, prompts=60).p
    assert p is not None
    assert stats.t.isf(p / 2, 58) == pytest.approx(abs(expected), rel=0.1)


@pytest.mark.slow
def test_p_finds_nothing_where_there_is_nothing() -> None:
    """Scipy's p takes clips for independent and is below 0.05 in some 17 % of such studies."""
    studies, found, naive = 300, 0, 0
    for seed in range(studies):
        x, y, prompts = clustered(17, 5, 0.5, seed)
        values = resampled_spearman([x], y, prompts, 200, 0)[0, :, 0]
        p = correlation_estimate(spearman(x, y), values, n=85, prompts=17).p
        found += p is not None and p < 0.05
        naive += stats.spearmanr(x, y).pvalue < 0.05
    assert found / studies < 0.11
    assert naive / studies > 0.12


@given(st.floats(-0.99, 0.99), st.integers(0, 2**31), st.integers(3, 60), st.floats(0.01, 1.0))
def test_interval_and_p_never_contradict(value: float, seed: int, prompts: int, spread: float) -> None:
    drawn = np.tanh(np.arctanh(value) + spread * np.random.default_rng(seed).normal(size=200))
    for found in (
        correlation_estimate(value, drawn, n=99, prompts=prompts),
        difference_estimate(value, drawn, n=99, prompts=prompts, undefined=""),
    ):
        assert found.low is not None and found.high is not None and found.p is not None
        assert found.low <= value <= found.high
        if abs(found.p - 0.05) > 1e-9:
            assert (found.low > 0 or found.high < 0) == (found.p < 0.05)


def test_samples_that_do_not_define_it_count_against_it() -> None:
    drawn = np.full(100, -0.2) + np.random.default_rng(0).normal(0, 0.02, 100)
    without = correlation_estimate(-0.2, drawn, n=46, prompts=17)
    drawn[:37] = np.nan
    found = correlation_estimate(-0.2, drawn, n=46, prompts=17)
    assert without.high is not None and without.high < 0
    assert found.high is not None and found.high > 0


def test_perfect_order_and_too_few_prompts() -> None:
    assert correlation_estimate(1.0, np.ones(999), n=9, prompts=9).p == pytest.approx(0.002)
    for prompts, said in ((1, "single prompt"), (2, "it takes 3 prompts")):
        found = correlation_estimate(0.5, np.full(9, 0.5), n=9, prompts=prompts)
        assert (found.value, found.low, found.p) == (0.5, None, None)
        assert said in str(found.note)
    undefined = correlation_estimate(0.5, np.full(9, np.nan), n=9, prompts=9)
    assert undefined.low is None and "under half" in str(undefined.note)


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "level"), [(9, "all"), (9, "prompt")])
def test_intervals_hold_the_truth_at_few_prompts(prompts: int, level: str) -> None:
    """Of 200 simulated studies of 4 models; percentile intervals of the mean within prompts do in some 85 %."""
    rng, held, names = np.random.default_rng(7), 0, np.repeat(np.arange(prompts), 4).astype(str).tolist()
    truth = {"all": 6 / np.pi * np.arcsin(0.6 / 2), "prompt": 0.546}[level]  # Spearman of a normal ρ; simulated
    for seed in range(200):
        x = rng.normal(size=4 * prompts)
        y = 0.6 * x + 0.8 * rng.normal(size=4 * prompts)
        if level == "all":
            value, drawn = spearman(x, y), resampled_spearman([x], y, names, 300, seed)[0, :, 0]
        else:
            each = np.array([spearman(x[4 * k : 4 * k + 4], y[4 * k : 4 * k + 4]) for k in range(prompts)])
            value = each.mean()
            drawn = np.random.default_rng(seed).choice(each, (300, prompts)).mean(axis=1)
        found = correlation_estimate(value, drawn, n=4 * prompts, prompts=prompts)
        held += found.low is not None and found.high is not None and found.low <= truth <= found.high
    assert held / 200 > 0.9
