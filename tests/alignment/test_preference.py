from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alignment.made_study import crossed_study, study_of
from vmmetrics.alignment.combination import MAX_CLIPS, pairs_of, share_statistic
from vmmetrics.alignment.preference import (
    best_threshold,
    calibrated_thresholds,
    half_credits,
    measure_preferences,
    tie_credits,
)
from vmmetrics.alignment.results import PreferenceAccuracy
from vmmetrics.alignment.study import Preferences, Study

NAN = np.nan


def by_name(study: Study, **options: Any) -> dict[str, PreferenceAccuracy]:
    found = measure_preferences(study, "motion", list(study.scores), resamples=100, **options)
    return {entry.name: entry for entry in found}


def four_clips() -> Study:
    """Two prompts of two clips: people prefer the first of the first and call the second equal."""
    ratings = np.array([[5.0, 4.0], [2.0, 3.0], [3.0, 2.0], [2.0, 3.0]])
    scores = {"right": np.array([0.9, 0.1, 0.5, 0.5]), "wrong": np.array([0.1, 0.9, 0.5, 0.5]), "flat": np.zeros(4)}
    return study_of(ratings, scores, prompts=("a", "a", "b", "b"))


def test_by_hand() -> None:
    found = by_name(four_clips())
    assert [found[name].accuracy.value for name in ("right", "wrong", "flat")] == [1.0, 0.0, 0.5]
    assert {(entry.pairs, entry.human_ties) for name, entry in found.items() if name in ("right", "flat")} == {(1, 1)}
    assert (found["right"].metric_ties, found["flat"].metric_ties) == (0, 1)
    assert found["equal weights"].accuracy.value == 0.5  # right and wrong cancel
    assert found["right"].accuracy.low is None
    assert "single prompt" in found["right"].accuracy.note


def test_by_hand_with_ties_calibrated() -> None:
    # prompt b teaches that equal scores are a tie, prompt a that no larger threshold serves it
    found = by_name(four_clips(), ties="calibrated")
    assert found["right"].accuracy.value == 1.0
    assert found["wrong"].accuracy.value == 0.5
    assert found["flat"].accuracy.value == 0.5  # the tie is right, the other pair wrong
    assert (found["flat"].pairs, found["flat"].human_ties, found["flat"].metric_ties) == (2, 1, 2)
    assert found["flat"].accuracy.p is None
    assert "threshold 0" in found["right"].rule


def test_the_thresholds_are_reported() -> None:
    # people call 0.1 apart a tie and 1 apart none, in five prompts of two pairs each
    scores = np.array([[0.0, 0.1, 1.1]] * 5).ravel()
    prompts = tuple(np.repeat(list("abcde"), 3))
    left, right = np.arange(0, 15, 3), np.arange(1, 15, 3)
    pairs = Preferences(np.append(left, right), np.append(right, right + 1), np.repeat([0, -1], 5))
    study = study_of(np.zeros((15, 1)), {"m": scores}, prompts=prompts, preferences=pairs)
    entry = by_name(study, ties="calibrated")["m"]
    assert (entry.accuracy.value, entry.pairs, entry.human_ties, entry.metric_ties) == (1.0, 10, 5, 5)
    assert "threshold 0.1" in entry.rule
    assert by_name(study)["m"].metric_ties == 0


def test_accuracy_by_counting() -> None:
    study = crossed_study(20, models=4, metric_noise={"m": 0.8}, seed=1)
    mean, score = study.ratings["motion"].mean(axis=1), study.scores["m"]
    right = counted = ties = 0
    for first, second in combinations(range(80), 2):
        if study.prompts[first] != study.prompts[second]:
            continue
        if abs(mean[first] - mean[second]) < 1e-9:
            ties += 1
            continue
        counted += 1
        right += (mean[first] > mean[second]) == (score[first] > score[second])
    entry = by_name(study)["m"]
    assert (entry.pairs, entry.human_ties) == (counted, ties)
    assert entry.accuracy.value == pytest.approx(right / counted)
    assert entry.accuracy.low < entry.accuracy.value < entry.accuracy.high
    assert entry.accuracy.p < 0.05


def test_given_preferences_come_before_ratings() -> None:
    study = four_clips()
    judged = Preferences(np.array([1, 1, 3]), np.array([0, 0, 2]), np.array([1, 1, 0]), ("x", "y", "x"))
    found = by_name(replace(study, preferences={"motion": judged}))
    assert found["right"].accuracy.value == 0.0
    assert (found["right"].pairs, found["right"].human_ties) == (2, 1)
    assert "people judged" in found["right"].rule


def test_pairs_across_prompts_are_weighed_by_both() -> None:
    pairs = Preferences(np.array([0, 0, 2]), np.array([1, 2, 3]), np.array([1, 1, 1]))
    statistic, names = share_statistic(pairs, np.array([[1.0], [0.0], [0.0]]), ["a", "a", "b", "b"])
    assert names == ["a", "b"]
    # a drawn twice: its own pair twice, the crossing one 2 · 1, b's once
    assert statistic(np.array([[1.0, 1.0], [2.0, 1.0], [2.0, 0.0]]))[:, 0] == pytest.approx([1 / 3, 2 / 5, 1.0])


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_turning_pairs_or_the_scale_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    margins, outcome = rng.integers(-2, 3, 30) / 2, rng.integers(-1, 2, 30)
    folds = rng.integers(0, 3, (2, 30))
    for credits_ in (half_credits, lambda m, o: tie_credits(m, o, calibrated_thresholds(m, o, folds))):
        assert credits_(-margins, -outcome) == pytest.approx(credits_(margins, outcome), nan_ok=True)
        assert credits_(4 * margins, outcome) == pytest.approx(credits_(margins, outcome), nan_ok=True)
    assert np.nanmean(half_credits(margins, outcome)) == pytest.approx(1 - np.nanmean(half_credits(-margins, outcome)))


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-1, 1)), min_size=1, max_size=12))
def test_best_threshold_is_the_best_of_all(rows: list[tuple[int, int]]) -> None:
    margins, outcome = np.array(rows, float)[:, 0], np.array(rows)[:, 1]

    def agreement(threshold: float) -> int:
        return int(np.sum(np.where(np.abs(margins) <= threshold, 0, np.sign(margins)) == outcome))

    assert agreement(best_threshold(margins, outcome)) == max(agreement(t) for t in np.arange(0, 5, 0.5))


def test_threshold_is_not_chosen_on_the_pair_it_judges() -> None:
    # in every prompt but one people call 0.5 a tie; in that one they do not, and it must not help itself
    margins, outcome = np.full(10, 0.5), np.zeros(10, np.int64)
    outcome[0] = 1
    thresholds = calibrated_thresholds(margins, outcome, np.tile(np.arange(10), (2, 1)))
    assert tie_credits(margins, outcome, thresholds).tolist() == [0.0] + [1.0] * 9


def test_calibrated_ties_win_nothing_from_noise() -> None:
    # the share of the commonest outcome is what a constant answer gets; noise must not beat it by choosing thresholds
    excess = []
    for seed in range(8):
        study = crossed_study(12, models=3, metric_noise={"noise": np.inf}, seed=seed)
        outcome = pairs_of(study, "motion", 0)[0].outcome
        commonest = max(np.mean(outcome == kind) for kind in (-1, 0, 1))
        excess.append(by_name(study, ties="calibrated")["noise"].accuracy.value - commonest)
    assert np.mean(excess) < 0.02


def test_missing_scores_are_left_out_and_counted() -> None:
    study = crossed_study(20, metric_noise={"m": 0.5, "other": 0.5}, seed=2)
    study.scores["m"][:10] = NAN
    whole = by_name(crossed_study(20, metric_noise={"m": 0.5, "other": 0.5}, seed=2))
    found = by_name(study)
    left_out = whole["m"].pairs - found["m"].pairs
    assert left_out > 0
    assert f"{left_out} of {whole['m'].pairs} pairs are left out" in found["m"].rule
    assert found["equal weights"].pairs == whole["m"].pairs
    assert "imputed with the metric's mean" in found["equal weights"].rule


def test_fitted_weights_find_the_metric_that_knows() -> None:
    study = crossed_study(80, metric_noise={"good": 0.3, "noise1": np.inf, "noise2": np.inf, "noise3": np.inf}, seed=3)
    found = by_name(study)
    assert found["fitted"].accuracy.value > found["equal weights"].accuracy.value + 0.1
    assert found["fitted"].accuracy.value == pytest.approx(found["good"].accuracy.value, abs=0.03)
    assert found["fitted, generator unseen"].accuracy.value == pytest.approx(found["good"].accuracy.value, abs=0.03)


def test_fitted_weights_win_nothing_from_noise() -> None:
    shares = []
    for seed in range(8):
        noise = {f"noise{k}": np.inf for k in range(10)}
        study = crossed_study(15, models=2, metric_noise=noise, seed=seed)
        shares.append(by_name(study)["fitted"].accuracy.value)
    assert np.mean(shares) < 0.6  # fitted and judged on the same 15 pairs with ten metrics it would be near 1


def test_generator_unseen_needs_models_to_learn_from() -> None:
    assert "fitted, generator unseen" not in by_name(crossed_study(20, models=2, metric_noise={"a": 1, "b": 1}))
    entry = by_name(crossed_study(20, models=3, metric_noise={"a": 1, "b": 1}))["fitted, generator unseen"]
    assert entry.accuracy.value is None
    assert "there are 3" in entry.accuracy.note


@pytest.mark.parametrize(
    ("study", "why"),
    [
        (study_of(np.array([[1.0], [2.0], [3.0]]), {"m": np.arange(3.0), "n": np.arange(3.0)}), "no pair"),
        (study_of(np.full((4, 2), 3.0), {"m": np.arange(4.0), "n": np.ones(4)}, prompts=("p",) * 4), "no pair"),
        (study_of(np.full((2, 2), NAN), {"m": np.arange(2.0), "n": np.ones(2)}, prompts=("p",) * 2), "no pair"),
        (
            study_of(np.arange(3.0)[:, None], {"m": np.full(3, NAN), "n": np.full(3, NAN)}, prompts=("p",) * 3),
            "no score",
        ),
        (study_of(np.zeros((0, 1)), {"m": np.zeros(0), "n": np.zeros(0)}), "no pair"),
    ],
)
def test_nothing_to_prefer_is_said(study: Study, why: str) -> None:
    for ties in ("half", "calibrated"):
        if ties == "calibrated" and pairs_of(study, "motion", 0)[0].outcome.size and why == "no pair":
            continue  # a tie that people call is a pair to agree on
        for entry in by_name(study, ties=ties).values():
            assert entry.accuracy.value is None
            assert why in entry.accuracy.note


def test_one_prompt_fits_nothing_and_counts_the_rest() -> None:
    found = by_name(crossed_study(1, models=6, metric_noise={"a": 0.1, "b": 0.1}))
    assert found["a"].accuracy.value is not None
    assert "other prompts" in found["fitted"].accuracy.note


def test_no_metric_gives_nothing() -> None:
    assert measure_preferences(crossed_study(3), "motion", []) == ()


def test_a_prompt_of_very_many_clips_is_sampled() -> None:
    count = MAX_CLIPS + 20
    study = study_of(np.arange(count, dtype=float)[:, None], prompts=("p",) * count)
    pairs, source = pairs_of(study, "motion", 0)
    assert pairs.outcome.size == MAX_CLIPS * (MAX_CLIPS - 1) // 2
    assert "random" in source


def test_preferences_alone_are_enough() -> None:
    study = four_clips()
    judged = Preferences(np.array([0]), np.array([1]), np.array([1]), ("",))
    alone = replace(study, ratings={}, preferences={"motion": judged})
    assert by_name(alone)["right"].accuracy.value == 1.0
