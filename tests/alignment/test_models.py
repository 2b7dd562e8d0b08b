from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tests.alignment.made_study import crossed_study, study_of
from vmmetrics.alignment.models import cells_of, model_strengths, win_ratios
from vmmetrics.alignment.study import Preferences, Study
from vmmetrics.utils.statistics.bradley_terry import fit_strengths
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT, TIE, Preference

NAN = np.nan


def judged(rows: list[tuple[str, str, int]], scores: dict[str, float] | None = None) -> Study:
    """Two clips per row (left model, right model, outcome), each row a prompt; metric "m" scores by model."""
    models = tuple(model for left, right, _ in rows for model in (left, right))
    count = len(rows)
    pairs = Preferences(np.arange(0, 2 * count, 2), np.arange(1, 2 * count, 2), np.array([o for *_, o in rows]))
    metric = np.array([(scores or {}).get(model, NAN) for model in models])
    prompts = tuple(f"prompt{k // 2:04}" for k in range(2 * count))
    return study_of(np.full((2 * count, 1), NAN), {"m": metric}, prompts=prompts, models=models, preferences=pairs)


def test_win_ratios_by_hand() -> None:
    study = judged(
        [("A", "B", 1), ("B", "A", 0), ("A", "C", 1), ("C", "B", -1), ("A", "A", 1), ("", "B", 1)],
        {"A": 0.5, "B": 0.9, "C": 0.5},
    )
    found = win_ratios(study, "motion", ["m"], resamples=50)
    assert [(m.model, m.pairs, m.people.value) for m in found.models] == [
        ("A", 3, pytest.approx(2.5 / 3)),
        ("B", 3, pytest.approx(1.5 / 3)),
        ("C", 2, 0.0),
    ]
    # by the metric A loses to B twice and ties with C; B wins all; C ties once and loses once
    assert {m.model: m.metrics["m"].value for m in found.models} == {"A": pytest.approx(0.5 / 3), "B": 1.0, "C": 0.25}
    (agreement,) = found.agreements
    people, metric = [2.5 / 3, 0.5, 0], [0.5 / 3, 1, 0.25]
    assert agreement.spearman.value == pytest.approx(stats.spearmanr(people, metric).statistic)
    assert agreement.pearson.value == pytest.approx(stats.pearsonr(people, metric).statistic)
    assert agreement.spearman.n == 3
    assert "1 of 6 cases" in agreement.spearman.note
    assert "people judged" in found.source


def test_win_ratios_of_rated_clips_by_counting() -> None:
    study = crossed_study(15, models=6, metric_noise={"m": 0.8}, seed=1)
    mean, score = study.ratings["motion"].mean(axis=1), study.scores["m"]
    wins, pairs = np.zeros((2, 6)), np.zeros(6)
    for first, second in combinations(range(90), 2):
        if study.prompts[first] != study.prompts[second]:
            continue
        for by, values in zip(wins, (mean, score), strict=True):
            side = np.sign(values[first] - values[second]) * (abs(values[first] - values[second]) > 1e-9)
            by[int(study.models[first][-1])] += (1 + side) / 2
            by[int(study.models[second][-1])] += (1 - side) / 2
        pairs[[int(study.models[first][-1]), int(study.models[second][-1])]] += 1
    found = win_ratios(study, "motion", ["m"], resamples=100)
    for entry in found.models:
        model = int(entry.model[-1])
        assert entry.pairs == pairs[model]
        assert entry.people.value == pytest.approx(wins[0, model] / pairs[model])
        assert entry.metrics["m"].value == pytest.approx(wins[1, model] / pairs[model])
        assert entry.people.low <= entry.people.value <= entry.people.high
    values = [entry.people.value for entry in found.models]
    assert values == sorted(values, reverse=True)
    assert np.mean(values) == pytest.approx(0.5)
    (agreement,) = found.agreements
    assert agreement.spearman.value == pytest.approx(stats.spearmanr(*(wins / pairs)).statistic)
    assert agreement.pearson.value == pytest.approx(stats.pearsonr(*(wins / pairs)).statistic)
    assert agreement.pearson.low < agreement.pearson.value <= agreement.pearson.high
    assert agreement.pearson.note is None


def test_turning_pairs_changes_nothing_and_turning_the_metric_turns_the_sign() -> None:
    study = crossed_study(10, models=4, metric_noise={"m": 0.5}, seed=2)
    study.scores["opposite"] = -study.scores["m"]
    one, other = win_ratios(study, "motion", ["m", "opposite"], resamples=20).agreements
    assert other.spearman.value == pytest.approx(-one.spearman.value)
    assert other.pearson.value == pytest.approx(-one.pearson.value)
    rows = [("A", "B", 1), ("B", "C", 0), ("C", "A", -1), ("B", "A", 1)]
    turned = judged([(b, a, -o) for a, b, o in rows], {"A": 1, "B": 2, "C": 3})
    straight = judged(rows, {"A": 1, "B": 2, "C": 3})
    assert win_ratios(turned, "motion", ["m"], 20) == win_ratios(straight, "motion", ["m"], 20)


def test_a_missing_score_leaves_the_pair_out_for_people_too() -> None:
    study = crossed_study(12, models=4, metric_noise={"m": 0.5}, seed=3)
    study.scores["m"][:8] = NAN  # two prompts
    cut = crossed_study(12, models=4, metric_noise={"m": 0.5}, seed=3)
    cut.ratings["motion"][:8] = NAN
    found, expected = (win_ratios(each, "motion", ["m"], 20) for each in (study, cut))
    assert found.agreements == expected.agreements
    assert {m.model: m.metrics for m in found.models} == {m.model: m.metrics for m in expected.models}
    study.scores["m"][:] = NAN
    (none,) = win_ratios(study, "motion", ["m"], 20).agreements
    assert (none.spearman.value, none.pearson.value) == (None, None)


def test_too_few_models_and_none() -> None:
    two = win_ratios(judged([("A", "B", 1), ("A", "B", 1)], {"A": 1, "B": 0}), "motion", ["m"], 20)
    assert "needs 3 models, and there are 2" in two.agreements[0].spearman.note
    flat = win_ratios(judged([("A", "B", 0), ("B", "C", 0), ("C", "A", 0)], {"A": 1, "B": 2, "C": 3}), "motion", ["m"])
    assert flat.agreements[0].pearson.value is None
    assert "same win ratio" in flat.agreements[0].pearson.note
    none = judged([("A", "A", 1), ("", "B", 1)], {"A": 1, "B": 2})
    assert win_ratios(none, "motion", ["m"]).models == ()
    assert "no pair of two models" in model_strengths(none, "motion").note


def test_strength_of_two_models_by_hand() -> None:
    """A wins 30 of 40 without ties: log odds log(30 / 10), half of it on each side of the mean."""
    study = judged([("A", "B", 1)] * 20 + [("B", "A", -1)] * 10 + [("B", "A", 1)] * 10)
    found = model_strengths(study, "motion", resamples=400)
    assert [(m.model, m.pairs) for m in found.models] == [("A", 40), ("B", 40)]
    assert found.models[0].strength.value == pytest.approx(math.log(3) / 2)
    assert found.models[1].strength.value == pytest.approx(-math.log(3) / 2)
    assert found.note == ""
    # a sample with k wins has log(k / (40 − k)) / 2, and k is binomial
    low, high = (math.log(k / (40 - k)) / 2 for k in stats.binom.ppf([0.025, 0.975], 40, 0.75))
    assert found.models[0].strength.low == pytest.approx(low, abs=0.1)
    assert found.models[0].strength.high == pytest.approx(high, abs=0.1)


@pytest.mark.slow
def test_simulated_strengths_are_found() -> None:
    rng = np.random.default_rng(4)
    truth = {"A": 0.9, "B": 0.4, "C": 0.0, "D": -0.4, "E": -0.9}
    covered = 0
    for _ in range(8):
        rows = []
        for _ in range(300):
            a, b = rng.choice(list(truth), 2, replace=False)
            rows.append((a, b, 1 if rng.random() < 1 / (1 + math.exp(truth[b] - truth[a])) else -1))
        found = model_strengths(judged(rows), "motion", resamples=60)
        for entry in found.models:
            assert entry.strength.value == pytest.approx(truth[entry.model], abs=0.6)
            covered += entry.strength.low <= truth[entry.model] <= entry.strength.high
    assert covered >= 0.85 * 40  # of 95 %


def test_samples_without_a_maximum_do_not_flatter_the_weakest() -> None:
    """C won one pair of 40: a third of the samples has none. Whole and samples then share the prior."""
    rows = [("A", "B", 1), ("B", "A", 1)] * 10 + [("A", "C", 1), ("B", "C", 1)] * 20 + [("C", "A", 1)]
    found = model_strengths(judged(rows), "motion", resamples=200)
    assert "or nearly" in found.note
    plain = fit_strengths([Preference(a, b, LEFT) for a, b, _ in rows])
    prior = fit_strengths([Preference(a, b, LEFT) for a, b, _ in rows], prior_sd=1.5)
    weakest = found.models[-1]
    assert weakest.model == "C"
    assert weakest.strength.value == pytest.approx(prior.strength[2])
    assert weakest.strength.value > plain.strength[2]
    assert weakest.strength.low < weakest.strength.value < weakest.strength.high < found.models[0].strength.low


def test_strengths_are_those_of_the_pairs_with_ties() -> None:
    study = crossed_study(20, models=4, seed=5)
    mean = study.ratings["motion"].mean(axis=1)
    rows = []
    for i, j in combinations(range(80), 2):
        if study.prompts[i] == study.prompts[j]:
            apart = mean[i] - mean[j]
            outcome = TIE if abs(apart) < 1e-9 else LEFT if apart > 0 else RIGHT
            rows.append(Preference(study.models[i], study.models[j], outcome))
    fit = fit_strengths(rows)
    found = {m.model: m.strength for m in model_strengths(study, "motion", resamples=40).models}
    assert [found[model].value for model in fit.items] == pytest.approx(fit.strength.tolist(), abs=1e-6)
    # independent pairs would have these errors; pairs of one prompt share clips, so prompts tell another, near one
    for model, error in zip(fit.items, fit.error, strict=True):
        assert 0.5 < (found[model].high - found[model].low) / (2 * 1.96 * error) < 2


def test_what_limits_strengths_is_said() -> None:
    always = model_strengths(judged([("A", "B", 1), ("B", "C", 1), ("A", "C", 1)] * 3), "motion", resamples=30)
    assert "always won" in always.note
    assert all(np.isfinite(m.strength.value) for m in always.models)
    apart = judged([("A", "B", 1), ("B", "A", 1), ("C", "D", 1), ("D", "C", 1)] * 3)
    assert "2 groups of models" in model_strengths(apart, "motion", resamples=30).note
    ties = model_strengths(judged([("A", "B", 0), ("B", "C", 0)]), "motion", resamples=30)
    assert ties.models == ()
    assert "Every comparison is a tie" in ties.note


def test_cells_by_hand() -> None:
    study = study_of(np.zeros((5, 1)), prompts=("p", "p", "q", "q", "q"), models=("B", "B", "A", "", "B"))
    table, models, prompts = cells_of(study, np.array([1.0, 3.0, 5.0, 7.0, NAN]))
    assert (models, prompts) == (("A", "B"), ("p", "q"))
    assert table == pytest.approx(np.array([[NAN, 5.0], [2.0, NAN]]), nan_ok=True)
