from __future__ import annotations

from dataclasses import fields
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alignment.made_study import crossed_study, study_of
from vmmetrics.alignment.human_agreement import measure_rater_agreement
from vmmetrics.alignment.results import Agreement
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.agreement import (
    alpha_statistic,
    are_categories,
    cohen_statistic,
    fleiss_statistic,
    icc_statistic,
)
from vmmetrics.utils.statistics.bootstrap import Estimate

NAN = np.nan
STATISTICS = (alpha_statistic, icc_statistic, cohen_statistic)
# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), the example of four observers and twelve units
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T
# Shrout and Fleiss 1979, table 2: six targets, four judges; table 4 gives ICC(2,1) = 0.29 and ICC(2,4) = 0.62
SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)


def noisy_ratings(clips: int, raters: int, seed: int, missing: float = 0.0) -> FloatArray:
    rng = np.random.default_rng(seed)
    ratings = np.clip(rng.integers(1, 6, (clips, 1)) + rng.integers(-1, 2, (clips, raters)), 1, 5).astype(float)
    ratings[rng.random(ratings.shape) < missing] = NAN
    return ratings


def once(ratings: FloatArray) -> FloatArray:
    return np.ones((1, len(ratings)))


def figures(agreement: Agreement) -> dict[str, Estimate]:
    found = {field.name: getattr(agreement, field.name) for field in fields(agreement)}
    return {name: value for name, value in found.items() if isinstance(value, Estimate)}


def test_alpha_of_the_published_example() -> None:
    nominal, ordinal, interval = alpha_statistic(KRIPPENDORFF)(once(KRIPPENDORFF))[0]
    assert (round(nominal, 3), round(ordinal, 3), round(interval, 3)) == (0.743, 0.815, 0.849)


def test_icc_of_the_published_example() -> None:
    single, mean = icc_statistic(SHROUT_FLEISS)(once(SHROUT_FLEISS))[0]
    assert (round(single, 2), round(mean, 2)) == (0.29, 0.62)


def test_kappa_by_hand() -> None:
    # they agree on 8 clips of 10, and each says 1 six times and 2 four times: by chance on 0.6² + 0.4² = 0.52
    ratings = np.array([[1, 1]] * 5 + [[2, 2]] * 3 + [[1, 2], [2, 1]], float)
    plain, weighted = cohen_statistic(ratings)(once(ratings))[0]
    assert plain == pytest.approx((0.8 - 0.52) / (1 - 0.52))
    assert weighted == pytest.approx(plain)  # with two categories there is one way to differ
    assert fleiss_statistic(ratings)(once(ratings))[0, 0] == pytest.approx((0.8 - 0.52) / (1 - 0.52))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_alpha_is_that_of_the_krippendorff_package(missing: float) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    steps = noisy_ratings(40, 4, 1, missing)
    for ratings in (steps, steps + np.random.default_rng(2).normal(size=steps.shape)):
        found = alpha_statistic(ratings)(once(ratings))[0]
        for value, level in zip(found, ("nominal", "ordinal", "interval"), strict=True):
            assert value == pytest.approx(krippendorff.alpha(ratings.T, level_of_measurement=level), abs=1e-12)


def test_icc_is_that_of_pingouin() -> None:
    pingouin = pytest.importorskip("pingouin")
    pandas = pytest.importorskip("pandas")
    for seed in range(3):
        ratings = noisy_ratings(30, 4, seed)
        rows = [(clip, rater, ratings[clip, rater]) for clip in range(30) for rater in range(4)]
        table = pingouin.intraclass_corr(pandas.DataFrame(rows, columns=["c", "r", "v"]), "c", "r", "v").set_index(
            "Type"
        )
        wanted = [table["ICC"].iloc[1], table["ICC"].iloc[4]]  # absolute agreement, single and mean
        assert icc_statistic(ratings)(once(ratings))[0] == pytest.approx(wanted, abs=1e-9)


def test_icc_with_ratings_missing_finds_the_variances() -> None:
    # variances 1 (clips), 0.25 (raters), 0.5 (rest) and two ratings in three missing at random
    rng = np.random.default_rng(3)
    ratings = rng.normal(size=(4000, 1)) + 0.5 * rng.normal(size=40) + np.sqrt(0.5) * rng.normal(size=(4000, 40))
    ratings[rng.random(ratings.shape) < 2 / 3] = NAN
    single, _ = icc_statistic(ratings)(once(ratings))[0]
    assert single == pytest.approx(1 / 1.75, abs=0.06)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_kappas_are_those_of_statsmodels(missing: float) -> None:
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    ratings = noisy_ratings(60, 3, 4, missing)
    plain, weighted = [], []
    for first, second in combinations(ratings.T, 2):
        both = ~np.isnan(first + second)
        table = np.zeros((5, 5))
        np.add.at(table, (first[both].astype(int) - 1, second[both].astype(int) - 1), 1)
        plain.append(inter_rater.cohens_kappa(table).kappa)
        weighted.append(inter_rater.cohens_kappa(table, wt="quadratic").kappa)
    found = cohen_statistic(ratings)(once(ratings))[0]
    assert found == pytest.approx([np.mean(plain), np.mean(weighted)], abs=1e-12)
    if not missing:
        counts, _ = inter_rater.aggregate_raters(ratings.astype(int))
        assert fleiss_statistic(ratings)(once(ratings))[0, 0] == pytest.approx(inter_rater.fleiss_kappa(counts))


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(0, 0.6))
def test_weights_are_repeats(seed: int, missing: float) -> None:
    ratings = noisy_ratings(15, 3, seed, missing)
    weights = np.random.default_rng(seed).integers(0, 4, 15)
    repeated = np.repeat(ratings, weights, axis=0)
    for statistic in STATISTICS:
        weighted = statistic(ratings)(weights[None].astype(float))
        assert weighted == pytest.approx(statistic(repeated)(once(repeated)), nan_ok=True, abs=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(0.1, 10), st.floats(-50, 50))
def test_agreement_knows_no_unit(seed: int, scale: float, shift: float) -> None:
    ratings = noisy_ratings(15, 3, seed, 0.2)
    for statistic in (alpha_statistic, icc_statistic):
        found = statistic(ratings)(once(ratings))
        assert statistic(scale * ratings + shift)(once(ratings)) == pytest.approx(found, nan_ok=True, abs=1e-6)


def test_perfect_agreement_is_one() -> None:
    ratings = np.repeat(np.array([[1.0], [4.0], [2.0], [5.0]]), 3, axis=1)
    found = figures(measure_rater_agreement(study_of(ratings), "motion", resamples=20))
    assert {name: figure.value for name, figure in found.items()} == pytest.approx(dict.fromkeys(found, 1.0))


def test_intervals_hold_the_value_and_narrow_with_clips() -> None:
    small, large = (measure_rater_agreement(crossed_study(count), "motion", resamples=200) for count in (20, 200))
    for name, figure in figures(small).items():
        narrow = figures(large)[name]
        assert figure.low < figure.value < figure.high, name
        assert narrow.high - narrow.low < 0.6 * (figure.high - figure.low), name


def test_interval_covers_as_it_says() -> None:
    # interval α of complete ratings with no rater effect tends to the share of variance that clips have: 1 / 1.5
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(60):
        ratings = rng.normal(size=(120, 1)) + np.sqrt(0.5) * rng.normal(size=(120, 3))
        figure = measure_rater_agreement(study_of(ratings), "motion", resamples=200).alpha_interval
        held += figure.low <= 1 / 1.5 <= figure.high
    assert held >= 51  # fewer happen once in 2,000 times at a coverage of 95 %, once in 100 at 93 %


def test_continuous_ratings_have_no_kappa() -> None:
    ratings = noisy_ratings(20, 3, 6) + np.random.default_rng(6).normal(size=(20, 3))
    agreement = measure_rater_agreement(study_of(ratings), "motion", resamples=50)
    for figure in (agreement.alpha_nominal, agreement.cohen, agreement.cohen_weighted, agreement.fleiss):
        assert figure.value is None
        assert "continuous" in figure.note
    assert agreement.alpha_ordinal.value is not None
    assert agreement.icc_mean.value is not None


def test_what_is_a_category() -> None:
    assert are_categories(np.array([[1.0, 3], [NAN, 5]]))
    assert are_categories(np.array([[0.25, 0.5], [0.25, 0.5]]))
    assert not are_categories(np.array([[0.25, 0.51], [0.3, 0.5]]))
    assert not are_categories(np.arange(20.0)[:, None])


def test_unequal_numbers_of_ratings() -> None:
    ratings = noisy_ratings(30, 3, 7)
    ratings[:8, 0] = NAN
    agreement = measure_rater_agreement(study_of(ratings), "motion", resamples=50)
    rest = measure_rater_agreement(study_of(ratings[8:]), "motion", resamples=50)
    assert agreement.fleiss.value == rest.fleiss.value
    assert "22 clips of 30" in agreement.fleiss.note
    assert "8 of 30" in agreement.icc_mean.note


@pytest.mark.parametrize(
    ("ratings", "why"),
    [
        (np.full((4, 3), NAN), "no rating"),
        (np.array([[1.0], [2.0], [3.0]]), "one rating per clip"),
        (np.array([[1.0, NAN], [NAN, 3.0]]), "fewer than two clips"),
        (np.array([[1.0, 2.0]]), "fewer than two clips"),
        (np.zeros((0, 2)), "no rating"),
    ],
)
def test_nothing_to_compare_is_said(ratings: FloatArray, why: str) -> None:
    agreement = measure_rater_agreement(study_of(ratings), "motion")
    assert all(figure.value is None and why in figure.note for figure in figures(agreement).values())
    assert agreement.outlying == ()


def test_constant_ratings_are_said_and_listed_as_nothing_disputed() -> None:
    agreement = measure_rater_agreement(study_of(np.full((12, 3), 3.0)), "motion", resamples=20)
    assert all(figure.value is None and "same" in figure.note for figure in figures(agreement).values())
    assert agreement.disputed == ()
    assert {rater.reason for rater in agreement.outlying} == {"gave every clip the same rating"}


def test_one_prompt_has_values_and_no_intervals() -> None:
    study = study_of(noisy_ratings(10, 3, 8), prompts=("only",) * 10)
    for figure in figures(measure_rater_agreement(study, "motion")).values():
        assert figure.value is not None
        assert figure.low is None
        assert "single prompt" in figure.note


def test_odd_raters_are_named_and_the_others_are_not() -> None:
    study = crossed_study(30, raters=6, seed=9)
    ratings = study.ratings["motion"]
    rng = np.random.default_rng(9)
    ratings[:, 1] = rng.integers(1, 6, len(ratings))
    ratings[:, 3] += 1
    ratings[:, 4] = 6 - ratings[:, 4]
    outlying = {rater.rater: rater for rater in measure_rater_agreement(study, "motion", resamples=400).outlying}
    assert set(outlying) == {"rater1", "rater3", "rater4"}
    assert "unlike" in outlying["rater1"].reason
    assert "against" in outlying["rater4"].reason
    assert "higher" in outlying["rater3"].reason
    assert outlying["rater3"].bias == pytest.approx(np.mean(ratings[:, 3] - np.delete(ratings, 3, 1).mean(1)))


def test_a_faultless_panel_has_no_odd_rater() -> None:
    named = [
        measure_rater_agreement(crossed_study(25, raters=4, seed=s), "motion", resamples=200).outlying
        for s in range(20)
    ]
    assert sum(bool(raters) for raters in named) <= 2  # at most 5 % at the level chosen, fewer for the size asked


def test_of_two_raters_none_is_the_odd_one() -> None:
    study = crossed_study(30, raters=2)
    study.ratings["motion"][:, 0] = np.random.default_rng(1).integers(1, 6, 120)
    assert measure_rater_agreement(study, "motion", resamples=50).outlying == ()


def test_disputed_clips_worst_first() -> None:
    ratings = np.array([[3, 3, 3], [1, 5, 3], [2, 2, 3], [1, NAN, 5]])
    disputed = measure_rater_agreement(study_of(ratings), "motion", resamples=20).disputed
    assert [clip.clip for clip in disputed] == ["clip0003", "clip0001", "clip0002"]
    assert disputed[0].spread == pytest.approx(np.sqrt(8))
    assert disputed[0].ratings == (1.0, 5.0)
