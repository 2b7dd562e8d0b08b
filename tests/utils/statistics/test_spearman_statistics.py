from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.correlation import spearman_statistic, within_prompt_statistic, within_statistic


def pairs(count: int, seed: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 6, (2, count)).astype(float)
    first[rng.random(count) < 0.1] = np.nan
    return first, second


def plain(first: FloatArray, second: FloatArray) -> float:
    both = ~np.isnan(first + second)
    varied = both.sum() > 2 and np.ptp(first[both]) > 0 and np.ptp(second[both]) > 0
    return spearmanr(first[both], second[both]).statistic if varied else np.nan


@settings(max_examples=40)
@given(st.integers(0, 10_000))
@example(5401)  # a model of which two clips are drawn
def test_weights_are_repeats_for_scipy(seed: int) -> None:
    first, second = pairs(30, seed)
    times = np.repeat(np.random.default_rng(seed).integers(0, 3, 10), 3)  # of ten prompts
    weights = times[None].astype(float)
    again = np.repeat(np.arange(30), times)
    assert spearman_statistic(first, second)(weights)[0, 0] == pytest.approx(plain(first[again], second[again]))

    model = np.arange(30) % 3
    inside = [plain(first[again][model[again] == m], second[again][model[again] == m]) for m in range(3)]
    found = within_statistic(first, second, [f"m{m}" for m in model])(weights)[0, 0]
    assert found == pytest.approx(np.nanmean(inside))


def test_a_prompt_drawn_twice_counts_twice() -> None:
    first = np.array([1.0, 2, 3, 1, 2, 3, 1, 2])
    second = np.array([1.0, 2, 3, 1, 3, 2, 2, 1])  # ρ = 1, 0.5, and a prompt of two clips, which has none
    prompts = ["a", "a", "a", "b", "b", "b", "c", "c"]
    statistic = within_prompt_statistic(first, second, prompts)
    weights = np.array([[1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 2, 2, 2, 1, 1], [2, 2, 2, 1, 1, 1, 0, 0], [0] * 6 + [3, 3]])
    assert statistic(weights.astype(float))[:3, 0] == pytest.approx([0.75, 0.5, 2.5 / 3])
    assert np.isnan(statistic(weights.astype(float))[3, 0])


def test_clips_without_a_group_are_in_none() -> None:
    first, second = np.array([1.0, 2, 3, 9, 8, 7]), np.array([1.0, 2, 3, 1, 2, 3])
    once = np.ones((1, 6))
    assert within_statistic(first, second, ["m", "m", "m", "", "", ""])(once)[0, 0] == pytest.approx(1)
    assert np.isnan(within_statistic(first, second, [""] * 6)(once)[0, 0])
    assert np.isnan(spearman_statistic(first * np.nan, second)(once)[0, 0])
