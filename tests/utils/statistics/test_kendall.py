from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vmmetrics.utils.statistics.bootstrap import draws
from vmmetrics.utils.statistics.correlation import below, influences, kendall

PAIRS = st.lists(st.tuples(st.integers(-6, 6), st.integers(1, 5)), min_size=1, max_size=40)


def codes(values: np.ndarray) -> np.ndarray:
    return np.unique(values, return_inverse=True)[1]


def taus(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """τ_b and τ_c of weighted clips, pair by pair."""
    pairs = np.outer(weights, weights)
    order = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
    differ = (pairs * (x[:, None] != x)).sum() * (pairs * (y[:, None] != y)).sum()
    m = min(len(set(x)), len(set(y)))
    total = (pairs * order).sum()
    return np.array([total / np.sqrt(differ), m / (m - 1) * total / weights.sum() ** 2])


@given(PAIRS)
def test_counts_of_clips_below(rows: list[tuple[int, int]]) -> None:
    x, y = np.array(rows).T
    expected = ((x[None] < x[:, None]) & (y[None] < y[:, None])).sum(axis=1)
    assert (below(x, y) == expected).all()


@given(PAIRS.filter(lambda rows: all(len(set(side)) > 1 for side in zip(*rows, strict=True))))
def test_influence_is_the_derivative(rows: list[tuple[int, int]]) -> None:
    x, y = np.array(rows).T
    found = np.array(influences(codes(x), codes(y)))
    step = 1e-5
    for clip in range(len(x)):
        change = np.zeros(len(x))
        change[clip] = step
        slope = (taus(x, y, 1 + change) - taus(x, y, 1 - change)) / (2 * step)
        assert found[:, clip] == pytest.approx(slope, abs=1e-7)


@given(PAIRS)
def test_values_are_scipys(rows: list[tuple[int, int]]) -> None:
    x, y = np.array(rows, float).T
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return
    prompts = [str(number) for number in range(len(x))]
    found = kendall(x, y, prompts)
    for variant, estimate in zip("bc", found, strict=True):
        expected = stats.kendalltau(x, y, variant=variant)
        assert (estimate.value, estimate.p) == pytest.approx((expected.statistic, expected.pvalue), abs=1e-12)
        assert estimate.low is not None and estimate.high is not None and estimate.value is not None
        assert -1 <= estimate.low <= estimate.value + 1e-12 and estimate.value - 1e-12 <= estimate.high <= 1
    flipped, stretched = kendall(-x, y, prompts), kendall(np.exp(x), y**3, prompts)
    assert (flipped.b.low, flipped.b.high) == pytest.approx((-found.b.high, -found.b.low), abs=1e-9)
    assert stretched == found


def test_a_clip_given_twice_under_its_prompt_is_the_clip_weighed_twice() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 8, 20)
    y = rng.integers(1, 6, 20)
    weights = rng.integers(1, 4, 20)
    twice = influences(codes(np.repeat(x, weights)), codes(np.repeat(y, weights)))
    assert taus(x, y, weights)[0] == pytest.approx(
        stats.kendalltau(np.repeat(x, weights), np.repeat(y, weights)).statistic, abs=1e-12
    )
    owners = np.repeat(np.arange(20), weights)
    step = 1e-5
    for clip in (0, 7, 19):  # scaling a clip's weight scales all its copies
        change = np.where(np.arange(20) == clip, step, 0)
        slope = (taus(x, y, weights * (1 + change)) - taus(x, y, weights * (1 - change))) / (2 * step)
        assert [part[owners == clip].sum() for part in twice] == pytest.approx(list(slope), abs=1e-7)


def test_the_standard_error_is_that_of_the_bootstrap() -> None:
    rng = np.random.default_rng(1)
    owner = np.repeat(np.arange(80), 3)
    quality = rng.normal(size=80)[owner] + rng.normal(size=240)
    x, y = quality + rng.normal(size=240), np.clip(np.rint(quality + rng.normal(size=240) + 3), 1, 5)
    prompts = owner.astype(str).tolist()
    for variant, estimate in zip("bc", kendall(x, y, prompts), strict=True):
        drawn = [
            stats.kendalltau(np.repeat(x, weights), np.repeat(y, weights), variant=variant).statistic
            for weights in draws(prompts, 400, 0)
        ]
        low, high = np.quantile(drawn, [0.025, 0.975])
        assert estimate.low is not None and estimate.high is not None
        assert estimate.high - estimate.low == pytest.approx(high - low, rel=0.15)
        alone = kendall(x, y, [str(number) for number in range(240)])[0 if variant == "b" else 1]
        assert alone.p is not None and estimate.p is not None and alone.p < estimate.p < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "clips", "rho"), [(40, 1, 0.6), (20, 5, 0.5), (20, 5, 0.0)])
def test_the_interval_covers(prompts: int, clips: int, rho: float) -> None:
    """Normal pairs, prompt and clip alike correlated at ρ: τ is 2/π arcsin ρ (Greiner)."""
    rng = np.random.default_rng(2)
    owner = np.repeat(np.arange(prompts), clips)
    truth, studies, hits, rejected = 2 / np.pi * np.arcsin(rho), 300, 0, 0
    mix = np.linalg.cholesky([[1, rho], [rho, 1]])
    for _ in range(studies):
        x, y = mix @ (rng.normal(size=(2, prompts))[:, owner] + rng.normal(size=(2, len(owner))))
        estimate = kendall(x, y, owner.astype(str).tolist()).b
        assert estimate.low is not None and estimate.high is not None and estimate.p is not None
        hits += estimate.low <= truth <= estimate.high
        rejected += estimate.p < 0.05
    assert 0.91 <= hits / studies <= 0.98
    assert rejected / studies < 0.09 if rho == 0 else rejected / studies > 0.8


def test_few_prompts_and_perfect_order() -> None:
    x = np.arange(6.0)
    perfect = kendall(x, x, list("abcdef")).b
    assert (perfect.value, perfect.low, perfect.high) == pytest.approx((1, 1, 1), abs=1e-12)
    single = kendall(x, np.array([1, 3, 2, 5, 4, 6.0]), ["a"] * 6).b
    assert single.low is None and single.p is None and "single prompt" in str(single.note)
