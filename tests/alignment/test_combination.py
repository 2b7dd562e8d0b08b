from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.alignment.made_study import crossed_study
from vmmetrics.alignment.combination import (
    FOLDS,
    FittedCombination,
    fit_weights,
    folds_of,
    pairs_of,
    standardised,
)

NAN = np.nan


def test_standardised_by_hand() -> None:
    z = standardised([np.array([1.0, 3, NAN, NAN]), np.array([5.0, 5, 5, NAN])])
    assert z[:3] == pytest.approx(np.array([[-1.0, 0], [1, 0], [0, 0]]))
    assert np.isnan(z[3]).all()


def test_folds_keep_a_group_together_and_are_even() -> None:
    groups = [f"p{number // 3}" for number in range(90)]
    folds = folds_of(groups, FOLDS, seed=1)
    assert (folds.reshape(30, 3) == folds[::3, None]).all()
    assert np.bincount(folds).tolist() == [9] * 10
    assert len(set(folds_of(["a", "b", "c"], FOLDS, seed=1))) == 3


def test_fit_is_the_minimum_of_the_penalised_likelihood() -> None:
    rng = np.random.default_rng(2)
    differences = rng.normal(size=(60, 3))
    outcome = np.where(rng.random(60) < 1 / (1 + np.exp(-differences @ [1.0, -0.5, 0])), 1, -1)

    def loss(weights: np.ndarray) -> float:
        return float(np.logaddexp(0, -outcome * (differences @ weights)).sum() + weights @ weights / 2)

    wanted = minimize(loss, np.zeros(3), options={"gtol": 1e-9}).x
    assert fit_weights(differences, outcome) == pytest.approx(wanted, abs=1e-5)


def test_fit_of_statsmodels_where_the_ridge_is_nothing() -> None:
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(3)
    differences = rng.normal(size=(20_000, 2))
    outcome = np.where(rng.random(20_000) < 1 / (1 + np.exp(-differences @ [1.0, -0.5])), 1, -1)
    wanted = api.Logit((outcome == 1).astype(float), differences).fit(disp=0).params
    assert fit_weights(differences, outcome) == pytest.approx(wanted, abs=2e-3)


def test_perfectly_separable_and_repeated_metrics_have_weights() -> None:
    differences = np.repeat(np.linspace(1, 2, 20)[:, None], 2, axis=1)
    first, second = fit_weights(differences, np.ones(20, np.int64))
    assert first == pytest.approx(second)
    assert 0 < first < 10


def test_weights_never_saw_what_they_judge() -> None:
    study = crossed_study(12, models=4, metric_noise={"a": 0.5, "b": 1.0}, seed=4)
    pairs, _ = pairs_of(study, "motion", 0)
    folds = folds_of(study.prompts, FOLDS, 0)
    models = folds_of(study.models, 8, 0)
    z = standardised(list(study.scores.values()))
    chosen = np.flatnonzero(pairs.outcome)[0]
    left, right = pairs.left[chosen], pairs.right[chosen]
    fitted = FittedCombination(z, pairs, folds, models)
    before = fitted.weights(np.array([left, right]))

    # turn round every preference that shares a prompt fold or a model with the pair: its weights must not move
    touches = np.zeros(pairs.outcome.size, bool)
    for end in (pairs.left, pairs.right):
        touches |= (folds[end] == folds[left]) | np.isin(models[end], [models[left], models[right]])
    turned = replace(pairs, outcome=np.where(touches, -pairs.outcome, pairs.outcome))
    after = FittedCombination(z, turned, folds, models).weights(np.array([left, right]))
    assert touches[chosen]
    assert not touches.all()
    assert after == pytest.approx(before)
    # and the seen ones do move it
    others = replace(pairs, outcome=np.where(touches, pairs.outcome, -pairs.outcome))
    moved = FittedCombination(z, others, folds, models).weights(np.array([left, right]))
    assert moved == pytest.approx(-before)


def test_margins_are_differences_of_scores_within_a_prompt() -> None:
    study = crossed_study(12, models=3, metric_noise={"a": 0.5, "b": 1.0}, seed=5)
    pairs, _ = pairs_of(study, "motion", 0)
    fitted = FittedCombination(standardised(list(study.scores.values())), pairs, folds_of(study.prompts, FOLDS, 0))
    scores = fitted.scores()
    assert fitted.margins(pairs) == pytest.approx(scores[pairs.left] - scores[pairs.right])
    assert (fitted.mean_weights() > 0).all()


def test_too_few_pairs_fit_nothing() -> None:
    study = crossed_study(2, models=3, metric_noise={"a": 0.5, "b": 1.0})
    pairs, _ = pairs_of(study, "motion", 0)
    fitted = FittedCombination(standardised(list(study.scores.values())), pairs, folds_of(study.prompts, FOLDS, 0))
    assert np.isnan(fitted.mean_weights()).all()
    assert np.isnan(fitted.margins(pairs)).all()
    assert np.isnan(fitted.scores()).all()
