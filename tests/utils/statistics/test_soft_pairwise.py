from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from vmmetrics.utils.statistics.permutation import one_sided_p, soft_pairwise_accuracy

NAN = np.nan


def brute_p(first: np.ndarray, second: np.ndarray) -> float:
    """Share of all swaps with a larger difference of sums, equal ones half, prompts without both left out."""
    shared = ~np.isnan(first) & ~np.isnan(second)
    parts = first[shared] - second[shared]
    sums = [float(np.dot(signs, parts)) for signs in itertools.product((1, -1), repeat=parts.size)]
    found = float(parts.sum())
    equal = sum(abs(s - found) < 1e-9 for s in sums)
    return (sum(s > found + 1e-9 for s in sums) + equal / 2) / len(sums)


def table(judges: int, models: int, prompts: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 6, (judges, models, prompts)).astype(float)


def test_p_is_that_of_all_swaps() -> None:
    scores = table(3, 4, 6)
    scores[1, 2, :2] = NAN
    found = one_sided_p(scores)
    for judge, row in enumerate(found):
        expected = [brute_p(scores[judge, i], scores[judge, j]) for i, j in itertools.combinations(range(4), 2)]
        assert row == pytest.approx(expected)


def test_random_swaps_come_near_all_of_them() -> None:
    scores = table(2, 3, 12, seed=1)
    found = one_sided_p(scores, resamples=4000)
    for judge, row in enumerate(found):
        expected = [brute_p(scores[judge, i], scores[judge, j]) for i, j in itertools.combinations(range(3), 2)]
        assert row == pytest.approx(expected, abs=0.03)


def test_p_by_hand() -> None:
    """Differences 1, 2, 4: of the eight sums +7 alone reaches 7, and 5 is exceeded by 7 alone."""
    zeros = np.zeros(3)
    assert one_sided_p(np.array([[[1.0, 2, 4], zeros]]))[0, 0] == pytest.approx(0.5 / 8)
    assert one_sided_p(np.array([[[-1.0, 2, 4], zeros]]))[0, 0] == pytest.approx(1.5 / 8)
    assert one_sided_p(np.array([[zeros, zeros]]))[0, 0] == 0.5
    assert np.isnan(one_sided_p(np.array([[[1.0, NAN], [NAN, 1.0]]]))[0, 0])


def test_p_is_uniform_where_there_is_no_difference() -> None:
    # pairs of 600 models, two by two, on 40 prompts that differ in difficulty
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(300, 2, 40)) + 2 * rng.normal(size=(300, 1, 40))
    assert stats.kstest(one_sided_p(scores)[:, 0], "uniform").pvalue > 0.01


@pytest.mark.parametrize("prompts", [5, 30])
def test_accuracy_by_the_definition(prompts: int) -> None:
    people, metrics = table(1, 4, prompts, seed=3)[0], table(2, 4, prompts, seed=4)
    p = one_sided_p(np.concatenate([people[None], metrics]))
    expected = [np.mean([1 - abs(h - m) for h, m in zip(p[0], row, strict=True)]) for row in p[1:]]
    assert soft_pairwise_accuracy(people, metrics) == pytest.approx(expected)


@pytest.mark.parametrize("prompts", [6, 40])
def test_invariances(prompts: int) -> None:
    people, metrics = table(1, 5, prompts, seed=5)[0], table(3, 5, prompts, seed=6)
    accuracy = soft_pairwise_accuracy(people, metrics)
    order = np.random.default_rng(7).permutation(5)
    assert soft_pairwise_accuracy(people[order], metrics[:, order]) == pytest.approx(accuracy)
    assert soft_pairwise_accuracy(3 * people + 1, 10 * metrics - 4) == pytest.approx(accuracy)
    ends = soft_pairwise_accuracy(people, np.stack([2 * people, -people]))
    assert ends[0] == 1
    # the metric that says the opposite of p says 1 − p
    p = one_sided_p(people[None])[0]
    assert ends[1] == pytest.approx(np.mean(1 - np.abs(1 - 2 * p)))
    # what depends on the prompt alone is no difference of models
    assert soft_pairwise_accuracy(people, metrics + 7 * np.arange(prompts)) == pytest.approx(accuracy)


def test_ignorance() -> None:
    rng = np.random.default_rng(8)
    sure = np.arange(6.0)[:, None] + 0.01 * rng.normal(size=(6, 50))
    noise = rng.normal(size=(100, 6, 50))
    assert soft_pairwise_accuracy(sure, noise, 200).mean() == pytest.approx(1 / 2, abs=0.05)
    shares = [soft_pairwise_accuracy(rng.normal(size=(6, 50)), noise[:10], 200).mean() for _ in range(20)]
    assert np.mean(shares) == pytest.approx(2 / 3, abs=0.05)


def test_missing_cells_are_left_out_for_people_too() -> None:
    people, metrics = table(1, 3, 8, seed=9)[0], table(2, 3, 8, seed=10)
    metrics[1, 0, :4] = NAN
    whole, part = soft_pairwise_accuracy(people, metrics)
    assert whole == soft_pairwise_accuracy(people, metrics[:1])[0]
    pairs = list(itertools.combinations(range(3), 2))
    human = np.where(np.isnan(metrics[1]), NAN, people)
    apart = [abs(brute_p(human[i], human[j]) - brute_p(metrics[1, i], metrics[1, j])) for i, j in pairs]
    assert part == pytest.approx(1 - np.mean(apart))
    metrics[1] = NAN
    assert np.isnan(soft_pairwise_accuracy(people, metrics)[1])
    assert np.isnan(soft_pairwise_accuracy(people[:1], metrics[:, :1])).all()
    assert soft_pairwise_accuracy(people, np.zeros((0, 3, 8))).shape == (0,)
