from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.alignment.made_study import crossed_study, study_of
from vmmetrics.alignment.pair_alignments import model_level, permutation_p, shuffled
from vmmetrics.alignment.study import Sample, samples_of
from vmmetrics.utils.statistics.bootstrap import draws


def crossed(models: int = 5, spread: float = 1.0) -> Sample:
    study = crossed_study(10, models, model_spread=spread, seed=3, metric_noise={"sharp": 0.5, "blunt": 3.0})
    return samples_of(study, "motion", ("sharp", "blunt"))[0]


def means(values: np.ndarray, models: np.ndarray) -> np.ndarray:
    return np.array([values[models == name].mean() for name in sorted(set(models))])


def test_rank_of_models() -> None:
    sample = crossed()
    models, names = np.array(sample.models), sorted(set(sample.models))
    for row, found in zip(sample.scores, model_level(sample, 100, 1), strict=True):
        x, y = means(row, models), means(sample.ratings, models)
        assert found.value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert found.n == len(names) == 5
        theirs = stats.permutation_test(
            (x,), lambda x, y=y: stats.spearmanr(x, y).statistic, permutation_type="pairings", n_resamples=np.inf
        )
        assert found.p == pytest.approx(np.clip(theirs.pvalue, 0, 1), abs=1e-9)
        drawn = []
        for weights in draws(sample.prompts, 100, 1):
            out = np.repeat(models, weights)
            pair = means(np.repeat(row, weights), out), means(np.repeat(sample.ratings, weights), out)
            drawn.append(stats.spearmanr(*pair).statistic)
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=1e-9)


def test_equal_means_are_equal_whatever_the_order_of_the_sum() -> None:
    thirds = np.array([13, 7, 10, 10, 7, 13, 13, 10, 7]) / 3
    models, prompts = tuple("aaabbbccc"), tuple("pqrpqrpqr")
    sample = Sample("motion", ("m",), np.arange(9.0)[None], thirds, prompts, models)
    assert "judgements are all the same" in str(model_level(sample, 10, 0)[0].note)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=5))
def test_every_order_is_counted(rows: list[tuple[int, int]]) -> None:
    x, y = np.array(rows, float).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return
    found = abs(stats.spearmanr(x, y).statistic) - 1e-9
    orders = list(itertools.permutations(y))
    extreme = sum(abs(np.corrcoef(stats.rankdata(x), stats.rankdata(order))[0, 1]) >= found for order in orders)
    assert permutation_p(x, y) == pytest.approx(extreme / len(orders))


def test_more_than_eight_models_have_scipys_p() -> None:
    sample = crossed(11)
    found = model_level(sample, 20, 0)[1]
    models = np.array(sample.models)
    expected = stats.spearmanr(means(sample.scores[1], models), means(sample.ratings, models))
    assert (found.value, found.p) == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.slow
def test_shuffled_ratings_keep_only_the_models() -> None:
    sample = crossed(4, 1.5)
    models, rng = np.array(sample.models), np.random.default_rng(8)
    drawn = []
    for _ in range(2000):
        moved = sample.ratings.copy()
        for name in dict.fromkeys(sample.models):
            moved[models == name] = rng.permutation(moved[models == name])
        drawn.append([stats.spearmanr(row, moved).statistic for row in sample.scores])
    for found, values in zip(shuffled(sample, 0), np.array(drawn).T, strict=True):
        assert found.value == pytest.approx(values.mean(), abs=4 * values.std() / np.sqrt(2000))
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=0.03)


def test_shuffling_a_metric_that_is_the_model_changes_nothing() -> None:
    model = np.repeat([0.0, 1.0, 2.0], 5)
    ratings = np.random.default_rng(0).normal(size=15) + model
    sample = Sample("motion", ("m",), model[None], ratings, tuple("abcde" * 3), tuple("xxxxxyyyyyzzzzz"))
    found = shuffled(sample, 0)[0]
    expected = stats.spearmanr(model, ratings).statistic
    assert (found.value, found.low, found.high) == pytest.approx((expected,) * 3, abs=1e-12)


@pytest.mark.parametrize(
    ("models", "why"),
    [(("",) * 6, "not known"), (("a",) * 6, "single model"), (("a", "") * 3, "single model")],
)
def test_no_models_and_one_model(models: tuple[str, ...], why: str) -> None:
    ratings = np.array([[1.0], [2], [3], [4], [5], [4]])
    study = study_of(ratings, {"m": np.arange(6.0)}, models=models, prompts=tuple("aabbcc"))
    sample = samples_of(study, "motion", ("m",))[0]
    estimate = shuffled(sample, 0)[0]
    assert estimate.value is None and why in str(estimate.note)
    assert model_level(sample, 10, 0)[0].value is None


def test_two_models_have_no_order() -> None:
    sample = crossed(2)
    assert "needs 3 of them, and there are 2" in str(model_level(sample, 10, 0)[0].note)
    assert shuffled(sample, 0)[0].value is not None


def test_clips_of_unknown_models_are_left_out() -> None:
    sample = crossed()
    part = replace(sample, models=tuple("" if clip < 5 else model for clip, model in enumerate(sample.models)))
    rest = sample.keep(np.arange(len(sample.ratings)) >= 5)
    assert shuffled(part, 0) == shuffled(rest, 0)
    assert model_level(part, 10, 0) == model_level(rest, 10, 0)
