from __future__ import annotations

import itertools

import numpy as np
import pytest

from vmmetrics.utils.statistics.paired import mean_with_interval


def test_the_interval_agrees_with_every_possible_resample() -> None:
    scores = [0.1, 0.4, 0.5, 0.9]
    means = [np.mean(c) for c in itertools.product(scores, repeat=4)]  # all 256, no chance involved
    found = mean_with_interval(scores)
    assert found is not None
    assert found.mean == pytest.approx(0.475)
    assert found.clips == 4
    assert found.low == pytest.approx(np.quantile(means, 0.025), abs=0.03)
    assert found.high == pytest.approx(np.quantile(means, 0.975), abs=0.03)


def test_a_large_sample_has_the_normal_interval() -> None:
    scores = np.random.default_rng(1).normal(0.5, 0.1, 5000)
    found = mean_with_interval(scores.tolist())
    assert found is not None
    assert found.low == pytest.approx(scores.mean() - 1.96 * scores.std() / 5000**0.5, abs=1e-4)
    assert found.high == pytest.approx(scores.mean() + 1.96 * scores.std() / 5000**0.5, abs=1e-4)


def test_the_same_scores_give_the_same_interval() -> None:
    assert mean_with_interval([0.1, 0.7, 0.3]) == mean_with_interval([0.1, 0.7, 0.3])


def test_few_scores() -> None:
    assert mean_with_interval([]) is None
    assert mean_with_interval([0.25]) == (0.25, None, None, 1)
    two = mean_with_interval([0.2, 0.4])
    assert two is not None and two[1:] == (None, None, 2)  # it would be the two themselves
    of_two_prompts = mean_with_interval([0.2, 0.3, 0.4, 0.5], prompts=["a", "a", "b", "b"])
    assert of_two_prompts is not None and of_two_prompts.low is None
    three = mean_with_interval([0.2, 0.4, 0.6])
    assert three is not None and three.low is not None
