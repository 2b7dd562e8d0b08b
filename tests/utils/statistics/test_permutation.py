from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.alignment.made_study import crossed_study
from vmmetrics.alignment.levels import within_model, without_both
from vmmetrics.alignment.study import Sample, samples_of
from vmmetrics.utils.statistics.permutation import permutation_estimate, prompt_shuffles, shuffled_within_model


def crossed(prompts: int, noise: float, seed: int, models: int = 4) -> Sample:
    study = crossed_study(prompts, models, metric_noise={"m": noise}, seed=seed)
    return samples_of(study, "motion", ("m",))[0]


def test_a_shuffle_moves_prompts_alike_for_all_models() -> None:
    sample = crossed(9, 1.0, 0)
    prompts, models = np.array(sample.prompts), np.array(sample.models)
    for order in prompt_shuffles(sample.prompts, sample.models, 1):
        assert (models[order] == models).all() and sorted(order) == list(range(36))
        assert len(set(zip(prompts, prompts[order], strict=True))) == 9


def test_where_models_lack_prompts_clips_stay_in_their_model() -> None:
    sample = crossed(9, 1.0, 0).keep(np.random.default_rng(0).random(36) < 0.7)
    models = np.array(sample.models)
    orders = list(prompt_shuffles(sample.prompts, sample.models, 1))
    assert all((models[order] == models).all() and sorted(order) == list(range(len(models))) for order in orders)


def test_p_counts_every_order_of_few_prompts() -> None:
    sample = crossed(5, 0.8, 3)
    x, y = sample.scores[0].reshape(5, 4), sample.ratings.reshape(5, 4)
    means = [
        np.mean([stats.spearmanr(x[:, m], y[list(order), m]).statistic for m in range(4)])
        for order in permutations(range(5))
    ]
    found = within_model(sample, 0, 0)[0].mean
    assert found.value == pytest.approx(means[0], abs=1e-12)
    assert found.p == pytest.approx(np.mean(np.abs(means) >= abs(means[0]) - 1e-9), abs=1e-12)
    drawn = shuffled_within_model(sample.scores, sample.ratings, sample.prompts, sample.models, 0)
    assert sorted(drawn[0].mean(axis=1)) == pytest.approx(sorted(means), abs=1e-12)


def test_missing_clips_leave_the_given_order_at_the_found_correlation() -> None:
    sample = crossed(8, 0.8, 3).keep(np.random.default_rng(1).random(32) < 0.8)
    found = without_both(sample, 0, 0)[0]
    assert found.value is not None and found.p is not None and found.low is not None and found.high is not None
    assert found.low <= found.value <= found.high and found.p > 0


@given(st.floats(-1, 1), st.integers(0, 2**31), st.integers(4, 11), st.floats(0.05, 0.3))
def test_interval_and_p_never_contradict(value: float, seed: int, prompts: int, spread: float) -> None:
    drawn = np.clip(spread * np.random.default_rng(seed).normal(size=200), -1, 1)
    found = permutation_estimate(value, np.append(drawn, value), n=9, prompts=prompts)
    assert found.low is not None and found.high is not None and found.p is not None
    assert found.low <= value <= found.high
    assert (found.low > 0 or found.high < 0) == (found.p < 0.05)


def test_three_prompts_give_no_interval_and_two_no_p() -> None:
    three = within_model(crossed(3, 0.1, 0), 50, 0)[0].mean
    assert three.low is None and three.p is not None and three.p > 0.1
    assert "too few differ for p below 0.05" in str(three.note)
    two = permutation_estimate(0.5, np.array([0.5, -0.5]), n=4, prompts=2)
    assert (two.low, two.p) == (None, None) and "it takes 3 prompts" in str(two.note)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["within", "both"])
def test_few_prompts_find_a_good_metric_and_no_other(level: str) -> None:
    """By the bootstrap, 2 of 100 such studies find the good one (true ρ about 0.7 within models)."""

    def share(noise: float) -> float:
        found = 0
        for seed in range(100):
            sample = crossed(6, noise, seed)
            figure = within_model(sample, 0, 0)[0].mean if level == "within" else without_both(sample, 0, 0)[0]
            found += figure.p is not None and figure.p < 0.05
        return found / 100

    assert share(0.7) > 0.5
    assert share(np.inf) < 0.12
