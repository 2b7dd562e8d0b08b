from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.utils.statistics.bootstrap import (
    RESAMPLES,
    bootstrapped,
    draw_blocks,
    draws,
    percentile_interval,
    prompt_blocks,
    prompt_codes,
    two_sided_p,
)

PROMPTS = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=30)


@given(PROMPTS)
def test_a_prompt_brings_all_its_clips_and_as_many_prompts_are_drawn_as_there_are(prompts: list[str]) -> None:
    for drawn in draws(prompts, 5, 1):
        by_prompt = {prompt: set(drawn[[p == prompt for p in prompts]]) for prompt in prompts}
        assert all(len(times) == 1 for times in by_prompt.values())
        assert sum(times.pop() for times in by_prompt.values()) == len(set(prompts))


@given(PROMPTS, st.randoms(use_true_random=False))
def test_the_order_of_the_clips_does_not_matter(prompts: list[str], random: object) -> None:
    order = list(range(len(prompts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    moved = draws([prompts[place] for place in order], 4, 7)
    assert all((a[order] == b).all() for a, b in zip(draws(prompts, 4, 7), moved, strict=True))


def test_blocks_are_the_draws() -> None:
    prompts = [f"{number % 7}" for number in range(40)]
    expected = np.array(list(draws(prompts, 50, 3)))
    assert (np.concatenate(list(draw_blocks(prompts, 50, 3))) == expected).all()
    codes, count = prompt_codes(prompts)
    assert (np.concatenate(list(prompt_blocks(count, 50, 3)))[:, codes] == expected).all()


def test_samples_are_equally_likely() -> None:
    """Three prompts: 27 ordered samples, so (1, 1, 1) has 6 of 27 and (3, 0, 0) 1 of 27."""
    drawn = np.array(list(draws(["a", "b", "c"], 20_000, 0)))
    assert np.mean((drawn == 1).all(axis=1)) == pytest.approx(6 / 27, abs=0.01)
    assert np.mean(drawn[:, 0] == 3) == pytest.approx(1 / 27, abs=0.005)


def test_no_clips_give_no_draws() -> None:
    assert list(draws([], 10, 0)) == []
    assert list(draw_blocks([], 10, 0)) == []


def test_the_interval_is_quantiles_of_what_is_defined() -> None:
    values = np.random.default_rng(0).permutation(np.concatenate([np.arange(1001.0), np.full(300, np.nan)]))
    assert percentile_interval(values) == pytest.approx((25, 975))


@pytest.mark.parametrize("defined", [0, 4])
def test_no_interval_where_under_half_of_the_samples_define_the_statistic(defined: int) -> None:
    values = np.array([0.5] * defined + [np.nan] * 5)
    assert percentile_interval(values) == (None, None)
    assert two_sided_p(values) is None
    estimate = bootstrapped(0.5, values, n=9, prompts=9)
    assert (estimate.value, estimate.low) == (0.5, None)
    assert estimate.note is not None and "under half" in estimate.note


@given(st.integers(0, 2**31), st.floats(-4, 4))
def test_p_is_below_five_percent_where_the_interval_leaves_out_zero(seed: int, centre: float) -> None:
    values = np.random.default_rng(seed).normal(centre, size=RESAMPLES)
    p, (low, high) = two_sided_p(values), percentile_interval(values)
    assert p is not None and low is not None and high is not None
    if p < 0.045:
        assert low > 0 or high < 0
    if low > 0 or high < 0:
        assert p <= 0.055


def test_p_counts_both_sides() -> None:
    assert two_sided_p(np.array([1.0] * 96 + [-1.0] * 3)) == pytest.approx(2 * 4 / 100)
    assert two_sided_p(np.zeros(99)) == 1.0


@pytest.mark.parametrize("prompts", [1, 2, 4, 5])
def test_what_few_prompts_allow_is_said(prompts: int) -> None:
    estimate = bootstrapped(0.3, np.linspace(0, 1, 101), n=8, prompts=prompts, p=0.2)
    assert estimate.p == 0.2
    assert (estimate.low is None) == (prompts < 3)
    assert (estimate.note is None) == (prompts == 5)


def test_the_interval_of_a_mean_is_that_of_every_possible_sample() -> None:
    values = np.array([0.1, 0.4, 0.5, 0.9, 1.7])
    every = np.array([np.mean(sample) for sample in itertools.product(values, repeat=5)])
    found = np.array([drawn @ values / 5 for drawn in draws(list("abcde"), 20_000, 5)])
    assert percentile_interval(found) == pytest.approx(tuple(np.quantile(every, [0.025, 0.975])), abs=0.03)
