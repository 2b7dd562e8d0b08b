from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from tests.alignment.made_study import crossed_study, study_of
from vmmetrics.alignment.power import (
    clips_needed,
    feasible,
    mean_reliability,
    measure_power,
    plan_study,
    power_of,
    unit_variance,
)
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.clusters import design_effect, prompt_share, smallest_within_model


def transformed_differences(
    first: float, second: float, between: float, prompts: int, each: int, share: float, studies: int
) -> FloatArray:
    """Differences of the transformed Spearman correlations in simulated studies of normal ratings and scores."""
    rng = np.random.default_rng(0)
    pearson = 2 * np.sin(np.pi / 6 * np.array([[1, first, second], [first, 1, between], [second, between, 1]]))
    np.fill_diagonal(pearson, 1)
    mix = np.linalg.cholesky(pearson).T
    found = []
    for _ in range(studies):
        of_prompts, of_clips = rng.normal(size=(prompts, 1, 3)) @ mix, rng.normal(size=(prompts, each, 3)) @ mix
        values = (math.sqrt(share) * of_prompts + math.sqrt(1 - share) * of_clips).reshape(-1, 3)
        rho = np.corrcoef(rankdata(values, axis=0).T)
        found.append(math.atanh(rho[0, 1]) - math.atanh(rho[0, 2]))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "between", "prompts", "each", "share"),
    [
        (0.6, 0.7, 0.42, 120, 1, 0.0),
        (0.6, 0.7, 0.7, 120, 1, 0.0),
        (0.0, 0.2, 0.0, 120, 1, 0.0),
        (0.6, 0.7, 0.42, 30, 4, 0.5),
    ],
)
def test_standard_error_by_simulation(
    first: float, second: float, between: float, prompts: int, each: int, share: float
) -> None:
    found = transformed_differences(first, second, between, prompts, each, share, studies=800)
    design = design_effect(each, share**2)
    error = math.sqrt(unit_variance(first, second, between) * design / (prompts * each - 3))
    # 800 studies tell a standard deviation to 2.5 %; the formula lies up to a tenth above, never below but by chance
    assert 0.95 < error / found.std() < 1.12


@pytest.mark.slow
def test_power_by_simulation() -> None:
    found = transformed_differences(0.6, 0.7, 0.6, 100, 1, 0.0, studies=1500)
    seen = np.mean(np.abs(found) > norm.ppf(0.975) * found.std())
    assert power_of(0.6, 0.7, 0.6, 100) == pytest.approx(seen, abs=0.06)


@given(st.floats(0.05, 0.9), st.floats(0.02, 0.09), st.floats(0, 1), st.floats(1, 3))
def test_clips_needed_have_the_power_asked(first: float, apart: float, between: float, design: float) -> None:
    second = first + apart
    between = feasible(between, first, second)
    clips = clips_needed(first, second, between, design)
    assert power_of(first, second, between, clips, design) >= 0.8 - 1e-9
    if clips > 4:
        assert power_of(first, second, between, clips - 1, design) < 0.8 + 1e-5
    assert power_of(second, first, between, clips, design) == pytest.approx(
        power_of(first, second, between, clips, design)
    )


def test_smallest_within_model_at_the_sizes_known() -> None:
    assert smallest_within_model([35] * 4) == pytest.approx(1.96 / math.sqrt(4 * 34), abs=1e-4)
    assert smallest_within_model([17] * 4) == pytest.approx(1.96 / math.sqrt(4 * 16), abs=1e-4)
    assert smallest_within_model([2, 2]) is None
    assert smallest_within_model([3]) is None  # it would be above 1


@pytest.mark.slow
def test_smallest_within_model_by_simulation() -> None:
    rng = np.random.default_rng(1)
    first, second = rankdata(rng.random((2, 4000, 4, 17)), axis=-1) - 9
    rho = (first * second).sum(axis=-1) / (first**2).sum(axis=-1)
    assert np.mean(np.abs(rho.mean(axis=1)) > smallest_within_model([17] * 4)) == pytest.approx(0.05, abs=0.012)


def test_a_plan_grows_with_what_makes_it_harder() -> None:
    plan = plan_study()
    assert plan.clips == plan.prompts * 4
    assert plan.ratings == 3 * plan.clips
    assert plan.power >= 0.8
    assert plan_study(clips_per_prompt=1).clips < plan.clips < plan_study(clips_per_prompt=8).clips
    assert plan_study(raters=5).clips < plan.clips < plan_study(raters=1).clips
    assert plan_study(second=0.65).clips > 3 * plan.clips
    assert plan_study(between=0.8).clips < plan.clips
    assert plan_study(power=0.9).clips > plan.clips
    assert plan_study(raters=1).first == pytest.approx(0.6 * math.sqrt(0.5 / 0.75))  # 3 raters at 0.5 each: 0.75


@pytest.mark.parametrize(
    "wrong",
    [
        {"second": 0.6},
        {"second": 1.0},
        {"raters": 0},
        {"clips_per_prompt": 0},
        {"power": 1.0},
        {"reliability": 0.0},
        {"prompt_share": 1.5},
        {"second": 0.95, "reliability": 0.2, "raters": 20},
    ],
)
def test_a_plan_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="Expected"):
        plan_study(**wrong)


def test_prompt_share_is_the_intraclass_correlation() -> None:
    pingouin = pytest.importorskip("pingouin")
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    values = rng.normal(size=(30, 1)) + rng.normal(size=(30, 4))
    prompts = [f"p{number // 4}" for number in range(120)]
    rows = pandas.DataFrame({"p": prompts, "c": list(range(4)) * 30, "v": values.ravel()})
    wanted = pingouin.intraclass_corr(rows, "p", "c", "v")["ICC"].iloc[0]
    assert prompt_share(values.ravel(), prompts) == pytest.approx(wanted)
    uneven = rng.normal(size=3000)[np.arange(3000) // 3] + rng.normal(size=3000)
    keep = rng.random(3000) < 0.7
    uneven[~keep] = np.nan
    assert prompt_share(uneven, [f"p{number // 3}" for number in range(3000)]) == pytest.approx(0.5, abs=0.08)
    assert prompt_share(values.ravel(), [str(number) for number in range(120)]) is None
    assert prompt_share(np.ones(120), prompts) is None


def test_a_study_of_known_make_up() -> None:
    study = crossed_study(60, models=4, raters=3, metric_noise={"a": 0.5, "b": 0.5}, seed=3)
    found = measure_power(study, "motion", ["a", "b"])
    assert "240 clips of 60 prompts" in found.note
    assert found.power == pytest.approx(power_of(0.6, 0.7, 0.8, 240), abs=0.15)  # a and b correlate at about 0.8
    assert found.raters[3] == found.clips
    assert list(found.raters.values()) == sorted(found.raters.values(), reverse=True)
    assert found.smallest == pytest.approx(smallest_within_model([60] * 4), rel=0.1)
    assert found.prompts == math.ceil(found.clips / 4)


def test_reliability_is_found_again() -> None:
    # truth of variance 1 and noise of variance 1: one rating has reliability 0.5
    rng = np.random.default_rng(4)
    ratings = rng.normal(size=(2000, 1)) + rng.normal(size=(2000, 3))
    found = measure_power(study_of(ratings), "motion", [])
    gain = math.sqrt(0.5 / mean_reliability(0.5, 3))
    one, other = 0.6 * gain, 0.7 * gain
    # Spearman of normals lies a little below Pearson
    assert found.raters[1] == pytest.approx(clips_needed(one, other, feasible(0.42, one, other)), rel=0.1)


@pytest.mark.parametrize(
    "ratings",
    [np.zeros((0, 3)), np.ones((1, 1)), np.ones((2, 3)), np.full((4, 3), np.nan), np.array([[1.0, 5], [3, 3], [5, 1]])],
)
def test_nothing_to_estimate_from_still_gives_a_plan(ratings: FloatArray) -> None:
    found = measure_power(study_of(ratings), "motion", [])
    assert found.clips > 400
    assert found.raters == {}
    assert found.smallest is None
    assert 0.05 <= found.power < 0.1
    assert "unknown" in found.note
