"""The name of the model and one person on the pairs that metrics are held against, written out pair by pair."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from tests.alignment.made_study import crossed_study
from vmmetrics.alignment.combination import pairs_of
from vmmetrics.alignment.reference_values import MODEL_NAME, SINGLE_RATER, measure_preference_baselines
from vmmetrics.alignment.study import Study


def credit(own: float, other: float) -> float:
    return 0.5 if abs(own) < 1e-9 else float(np.sign(own) == np.sign(other))


def pairs_of_one_prompt(study: Study) -> list[tuple[int, int]]:
    return [(i, j) for i, j in combinations(range(len(study.clips)), 2) if study.prompts[i] == study.prompts[j]]


def test_each_is_what_a_loop_over_pairs_gives() -> None:
    study = crossed_study(9, 4, seed=3)
    ratings, mean = study.ratings["motion"], study.mean_rating("motion")
    models, prompts = np.array(study.models), np.array(study.prompts)
    name, person = measure_preference_baselines(study, "motion", 50, 1)
    assert (name.name, person.name) == (MODEL_NAME, SINGLE_RATER) and name.baseline and person.baseline
    by_name, by_person = [], []
    for i, j in pairs_of_one_prompt(study):
        said = [mean[(models == models[k]) & (prompts != prompts[k])].mean() for k in (i, j)]
        if abs(mean[i] - mean[j]) > 1e-12:
            by_name.append(credit(said[0] - said[1], mean[i] - mean[j]))
        for rater in range(ratings.shape[1]):
            others = np.delete(ratings, rater, axis=1).mean(axis=1)
            if abs(others[i] - others[j]) > 1e-12:
                by_person.append(credit(ratings[i, rater] - ratings[j, rater], others[i] - others[j]))
    assert (name.accuracy.value, name.pairs) == (pytest.approx(np.mean(by_name)), len(by_name))
    assert (person.accuracy.value, person.pairs) == (pytest.approx(np.mean(by_person)), len(by_person))


def test_with_pairs_alone_the_name_is_that_of_the_model_that_wins_elsewhere() -> None:
    study = crossed_study(8, 3, seed=5)
    pairs, _ = pairs_of(study, "motion", 0)
    study = replace(study, ratings={}, raters={}, preferences={"motion": pairs})
    (name,) = measure_preference_baselines(study, "motion", 50, 1)
    models, prompts = np.array(study.models), np.array(study.prompts)
    found = []
    for left, right, outcome in zip(pairs.left, pairs.right, pairs.outcome, strict=True):
        shares = []
        for clip in (left, right):
            elsewhere = [
                (1 + sign * o) / 2
                for a, b, o in zip(pairs.left, pairs.right, pairs.outcome, strict=True)
                for sign, side in ((1, a), (-1, b))
                if models[side] == models[clip] and prompts[side] != prompts[clip]
            ]
            shares.append(np.mean(elsewhere))
        if outcome:
            found.append(0.5 if abs(shares[0] - shares[1]) < 1e-12 else credit(shares[0] - shares[1], outcome))
    assert name.accuracy.value == pytest.approx(np.mean(found))


def test_one_model_and_one_rater_have_no_baseline() -> None:
    study = crossed_study(6, 3, seed=1)
    alone = replace(study, models=("one",) * len(study.clips), ratings={"motion": study.ratings["motion"][:, :1]})
    assert measure_preference_baselines(alone, "motion", 10, 1) == ()
