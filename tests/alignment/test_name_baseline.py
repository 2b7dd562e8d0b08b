from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.alignment.made_study import crossed_study, study_of
from vmmetrics.alignment.reference_values import name_baseline, other_half, other_prompts, prompt_baseline

NAN = np.nan


def test_means_of_other_prompts_by_hand() -> None:
    ratings = np.array([1, 2, 4, 5, NAN, 3.0, 2.0])
    prompts = ("p", "q", "q", "p", "p", "p", "q")
    models = ("a", "a", "a", "b", "b", "c", "")
    expected = [3.0, 1.0, 1.0, NAN, NAN, NAN, NAN]  # a: mean of 2 and 4, else 1; b and c: no other prompt
    assert other_prompts(ratings, prompts, models) == pytest.approx(expected, nan_ok=True)


def test_means_of_the_other_half_by_hand() -> None:
    ratings = np.array([1, 3, 5, 2, 4, 5.0])
    half = np.array([0, 0, 1, 1, 1, 0])
    model = np.array([0, 0, 0, 0, 1, 2])  # 1 is in one half alone, and 2 in the other
    assert other_half(ratings, half, model) == pytest.approx([3.5, 3.5, 2, 2, 3, 11 / 3])


def test_equal_means_are_ties() -> None:
    """Thirds summed in another order must not rank clips."""
    ratings = np.array([7 / 3, 11 / 3, 13 / 3, 8 / 3, 13 / 3, 11 / 3, 7 / 3, 8 / 3])
    found = other_prompts(ratings, tuple("pqrspqrs"), tuple("aaaabbbb"))
    assert len(set(found)) == len(set(found.round(9)))


def test_within_prompt_is_the_mean_of_scipys() -> None:
    study = crossed_study(8, 3, seed=2)
    ratings, prompts, models = study.mean_rating("motion"), np.array(study.prompts), np.array(study.models)
    means = other_prompts(ratings, study.prompts, study.models)
    for clip in range(24):
        assert means[clip] == pytest.approx(
            ratings[(models == models[clip]) & (prompts != prompts[clip])].mean(), abs=1e-11
        )
    inside = [
        stats.spearmanr(means[prompts == p], ratings[prompts == p]).statistic
        for p in sorted(set(prompts))
        if np.ptp(ratings[prompts == p]) > 0
    ]
    baseline = name_baseline(study, "motion", 50, 0)
    assert baseline.within_prompt.value == pytest.approx(np.mean(inside), abs=1e-12)
    assert baseline.overall.n == 24


def test_models_told_apart_by_others_ratings_are_told_apart() -> None:
    """Were the order of the models known for sure, Spearman would be that of the names with the ratings."""
    study = crossed_study(60, 4, seed=1, model_spread=2.0)
    ratings, models = study.mean_rating("motion"), np.array(study.models)
    order = {name: ratings[models == name].mean() for name in set(models)}
    known = stats.spearmanr([order[name] for name in models], ratings).statistic
    found = name_baseline(study, "motion", 200, 0).overall
    assert found.value == pytest.approx(known, abs=0.03)
    assert found.low is not None and found.high is not None and found.low < known < found.high


def test_names_without_meaning_are_worth_nothing_on_average() -> None:
    found = [name_baseline(crossed_study(15, 4, seed=seed, model_spread=0), "motion", 2, 0) for seed in range(60)]
    for values in ([b.overall.value for b in found], [b.within_prompt.value for b in found]):
        known = np.array(values, float)
        assert abs(known.mean()) < 4 * known.std() / np.sqrt(len(known))
        assert known.std() < 0.3


@pytest.mark.parametrize(
    ("models", "prompts", "why"),
    [
        (("",) * 6, "aabbcc", "not known"),
        (("x",) * 6, "aabbcc", "single model"),
        (("x", "") * 3, "aabbcc", "single model"),
        (("x", "y") * 3, "aaaaaa", "prompts"),
    ],
)
def test_why_there_is_none(models: tuple[str, ...], prompts: str, why: str) -> None:
    ratings = np.array([[1.0], [2], [3], [4], [5], [4]])
    baseline = name_baseline(study_of(ratings, models=models, prompts=tuple(prompts)), "motion", 10, 0)
    assert baseline.overall.value is None and why in str(baseline.overall.note)
    assert baseline.within_prompt.value is None and baseline.within_prompt.note


def test_constant_and_missing_judgements() -> None:
    for value in (3.0, NAN):
        study = study_of(np.full((6, 2), value), models=tuple("xyxyxy"), prompts=tuple("aabbcc"))
        baseline = name_baseline(study, "motion", 10, 0)
        assert baseline.overall.value is None and baseline.overall.note


def test_the_prompt_alone_is_the_mean_rating_by_other_models() -> None:
    study = crossed_study(8, 3, seed=2)
    ratings, prompts, models = study.mean_rating("motion"), np.array(study.prompts), np.array(study.models)
    predicted = np.array(
        [
            np.mean([ratings[(prompts == p) & (models == o)] - ratings[models == o].mean() for o in set(models) - {m}])
            for p, m in zip(prompts, models, strict=True)
        ]
    ).round(9)
    inside = [stats.spearmanr(predicted[models == m], ratings[models == m]).statistic for m in set(models)]
    baseline = prompt_baseline(study, "motion", 20, 0)
    assert baseline.within_model.value == pytest.approx(np.mean(inside), abs=1e-12)
    assert baseline.overall.value == pytest.approx(stats.spearmanr(predicted, ratings).statistic, abs=1e-12)


def test_prompts_without_meaning_are_worth_nothing_on_average() -> None:
    """Nor do models of unlike quality change it, whose means of the others are in the opposite order."""
    found = [prompt_baseline(crossed_study(15, 4, seed=seed, model_spread=2), "motion", 2, 0) for seed in range(60)]
    for values in ([b.overall.value for b in found], [b.within_model.value for b in found]):
        known = np.array(values, float)
        assert abs(known.mean()) < 4 * known.std() / np.sqrt(len(known))


@pytest.mark.parametrize(("models", "why"), [(("",) * 6, "not known"), (("a",) * 6, "single model")])
def test_without_other_models_there_is_no_prompt_baseline(models: tuple[str, ...], why: str) -> None:
    study = study_of(np.arange(6.0)[:, None], models=models, prompts=tuple("aabbcc"))
    baseline = prompt_baseline(study, "motion", 2, 0)
    assert baseline.overall.value is baseline.within_model.value is None
    assert why in str(baseline.within_model.note)
    alone = study_of(np.arange(6.0)[:, None], models=tuple("ababab"), prompts=tuple("abcdef"))  # no prompt in common
    assert prompt_baseline(alone, "motion", 2, 0).overall.value is None
