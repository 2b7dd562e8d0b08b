from __future__ import annotations

from dataclasses import fields, replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from tests.alignment.made_study import crossed_study, study_of
from vmmetrics.alignment.human_agreement import MAX_SPLITS, measure_human_agreement, splits, step_up
from vmmetrics.alignment.results import HumanAgreement
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import Estimate

NAN = np.nan


def figures(ceiling: HumanAgreement) -> dict[str, Estimate]:
    found = {field.name: getattr(ceiling, field.name) for field in fields(ceiling)}
    return {name: value for name, value in found.items() if isinstance(value, Estimate)}


def test_each_rater_against_the_mean_of_the_others() -> None:
    study = crossed_study(12, models=3, raters=4, seed=1)
    ratings = study.ratings["motion"]
    ceiling = measure_human_agreement(study, "motion", resamples=50)
    wanted, in_prompts, in_models = [], [], []
    for rater in range(4):
        others = np.delete(ratings, rater, axis=1).mean(axis=1)
        wanted.append(spearmanr(ratings[:, rater], others).statistic)
        for groups, into in ((study.prompts, in_prompts), (study.models, in_models)):
            inside = []
            for name in set(groups):
                members = np.array([group == name for group in groups])
                if np.ptp(ratings[members, rater]) and np.ptp(others[members]):
                    inside.append(spearmanr(ratings[members, rater], others[members]).statistic)
            into.append(np.mean(inside))
    assert [figure.value for figure in ceiling.raters.values()] == pytest.approx(wanted)
    assert ceiling.overall.value == pytest.approx(np.mean(wanted))
    assert ceiling.within_prompt.value == pytest.approx(np.mean(in_prompts))
    assert ceiling.within_model.value == pytest.approx(np.mean(in_models))
    assert (ceiling.overall.n, ceiling.within_prompt.n, ceiling.within_model.n) == (36, 12, 3)


def test_split_half_over_every_split() -> None:
    study = crossed_study(10, raters=4, seed=2)
    ratings = study.ratings["motion"]
    wanted = [
        spearmanr(ratings[:, [0, partner]].mean(1), np.delete(ratings, [0, partner], axis=1).mean(1)).statistic
        for partner in (1, 2, 3)
    ]
    ceiling = measure_human_agreement(study, "motion", resamples=50)
    assert ceiling.split_half.value == pytest.approx(np.mean(wanted))
    assert ceiling.split_half_full.value == pytest.approx(2 * np.mean(wanted) / (1 + np.mean(wanted)))


@pytest.mark.parametrize(("raters", "count"), [(2, 1), (3, 3), (4, 3), (5, 10), (9, 126), (10, 126), (11, MAX_SPLITS)])
def test_splits_are_distinct_and_divide_the_raters(raters: int, count: int) -> None:
    found = splits(raters, seed=0)
    assert len(found) == count
    assert all(sorted([*one, *other]) == list(range(raters)) for one, other in found)
    assert all(len(other) - len(one) == raters % 2 for one, other in found)
    assert len({frozenset([tuple(one), tuple(other)]) for one, other in found}) > 0.7 * count  # all, where not random
    if raters <= 10:
        everything = {frozenset(c) for c in combinations(range(raters), raters // 2)}
        assert {frozenset(one.tolist()) for one, _ in found} | {
            frozenset(other.tolist()) for _, other in found
        } >= everything


@given(st.floats(0.01, 0.99), st.integers(1, 6), st.integers(1, 6), st.integers(1, 12))
def test_step_up_undoes_the_correlation_of_parallel_raters(single: float, smaller: int, larger: int, full: int) -> None:
    def reliability(raters: int) -> float:
        return raters * single / (1 + (raters - 1) * single)

    correlation = np.array(np.sqrt(reliability(smaller) * reliability(larger)))
    assert step_up(correlation, smaller, larger, full) == pytest.approx(reliability(full))


def test_reliability_is_the_squared_correlation_with_the_truth() -> None:
    rng = np.random.default_rng(3)
    truth = rng.normal(size=4000)
    ratings = truth[:, None] + rng.normal(size=(4000, 3))
    found = measure_human_agreement(study_of(ratings), "motion", resamples=5).split_half_full.value
    # Spearman of bivariate normals lies a little below Pearson, which moves the step by less than 0.02
    assert found == pytest.approx(np.corrcoef(truth, ratings.mean(axis=1))[0, 1] ** 2, abs=0.03)


def test_missing_ratings_use_the_clips_both_sides_rated() -> None:
    study = crossed_study(15, raters=5, seed=4)
    ratings = study.ratings["motion"]
    ratings[np.random.default_rng(4).random(ratings.shape) < 0.3] = NAN
    study = replace(study, amplitude=np.random.default_rng(5).random(len(ratings)))
    ceiling = measure_human_agreement(study, "motion", resamples=50)
    others = np.array([np.mean(row[~np.isnan(row)]) if (~np.isnan(row)).any() else NAN for row in ratings[:, 1:]])
    both = ~np.isnan(ratings[:, 0] + others)
    assert ceiling.raters["rater0"].value == pytest.approx(spearmanr(ratings[both, 0], others[both]).statistic)
    assert ceiling.raters["rater0"].n == both.sum()
    for figure in figures(ceiling).values():
        assert figure.low < figure.value < figure.high


@pytest.mark.parametrize(
    "ratings",
    [np.full((5, 3), NAN), np.array([[1.0], [2.0], [3.0]]), np.array([[1.0, NAN], [NAN, 3.0]]), np.zeros((0, 2))],
)
def test_without_a_second_opinion_there_is_no_ceiling(ratings: FloatArray) -> None:
    ceiling = measure_human_agreement(study_of(ratings), "motion")
    assert ceiling.raters == {}
    assert all(figure.value is None and "two people" in figure.note for figure in figures(ceiling).values())


def test_two_clips_and_constant_ratings_are_said() -> None:
    for ratings in (np.array([[1.0, 2.0], [2.0, 3.0]]), np.full((6, 3), 2.0)):
        ceiling = measure_human_agreement(study_of(ratings), "motion", resamples=20)
        assert all(figure.value is None and figure.note for figure in figures(ceiling).values())
        assert all(figure.value is None and figure.note for figure in ceiling.raters.values())


def test_a_constant_rater_is_left_out_of_the_mean() -> None:
    study = crossed_study(10, raters=3, seed=5)
    study.ratings["motion"][:, 1] = 3
    ceiling = measure_human_agreement(study, "motion", resamples=20)
    assert ceiling.raters["rater1"].value is None
    assert ceiling.overall.value == pytest.approx((ceiling.raters["rater0"].value + ceiling.raters["rater2"].value) / 2)


def test_halves_that_disagree_have_reliability_zero() -> None:
    ratings = np.array([[1.0, 5], [2, 4], [3, 3], [4, 2], [5, 1]])
    full = measure_human_agreement(study_of(ratings), "motion", resamples=20).split_half_full
    assert full.value == 0
    assert "do not agree" in full.note


def test_clips_of_unknown_models_have_no_within_model_ceiling() -> None:
    ceiling = measure_human_agreement(study_of(crossed_study(10).ratings["motion"]), "motion", resamples=20)
    assert ceiling.overall.value is not None
    assert ceiling.within_model.value is None
    assert ceiling.within_prompt.value is None
