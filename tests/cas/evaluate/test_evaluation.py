"""Figures worked by hand, and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from vmmetrics.cas.evaluate import evaluation
from vmmetrics.cas.evaluate.evaluation import calibration_bins, evaluate, report


def certain(levels: list[int]) -> np.ndarray:
    return np.eye(5)[levels]


def test_worked_by_hand():
    # likeliest levels 0, 4, 2, 2 against 0, 4, 2, 3: three of four; expected levels 0.4, 4, 2, 2.2
    probabilities = np.array([[0.8, 0, 0.2, 0, 0], [0, 0, 0, 0, 1], [0, 0.3, 0.4, 0.3, 0], [0, 0.1, 0.6, 0.3, 0]])
    levels = np.array([0, 4, 2, 3])
    found = evaluate(probabilities, levels)
    assert found.clips == 4
    assert found.accuracy.value == 0.75
    assert found.mae.value == pytest.approx((0.4 + 0 + 0 + 0.8) / 4)
    assert found.spearman.value == pytest.approx(1)
    # bins .8, 1 and .4 each hold one right clip, .6 a wrong one: (.2 + 0 + .6 + .6) / 4
    assert found.calibration_error.value == pytest.approx(0.35)
    assert [(b.clips, b.accuracy) for b in found.bins] == [(1, 1), (1, 0), (1, 1), (1, 1)]


def test_order_equals_scipy_with_ties():
    draw = np.random.default_rng(1)
    probabilities = draw.dirichlet(np.ones(5), 60)
    levels = draw.integers(0, 5, 60)
    found = evaluate(probabilities, levels).spearman
    assert found.value == pytest.approx(spearmanr(probabilities @ np.arange(5), levels).statistic)
    assert found.low < found.value < found.high


def test_an_interval_covers_what_it_should():
    draw = np.random.default_rng(2)
    inside = 0
    for seed in range(40):
        right = draw.random(80) < 0.7
        found = evaluate(certain(np.where(right, 1, 0)), np.ones(80, int), seed).accuracy
        inside += found.low <= 0.7 <= found.high
    assert inside >= 34  # 95 % of 40 are 38; fewer than 34 has a chance of about 1 %


def test_what_cannot_be_told_is_none():
    assert evaluate(certain([1, 2]), np.array([1, 2])).spearman.value is None
    assert evaluate(certain([1, 1, 1]), np.array([1, 2, 3])).spearman.value is None
    assert evaluate(certain([1, 2, 3]), np.array([2, 2, 2])).spearman.value is None


def test_knowing_the_generator_is_worth_nothing_within_groups():
    # scores know the group alone; levels differ between groups, and within them at random
    draw = np.random.default_rng(3)
    groups = ["good"] * 100 + ["poor"] * 100
    levels = np.concatenate([draw.integers(3, 5, 100), draw.integers(0, 2, 100)])
    noise = draw.uniform(0, 0.01, (200, 1))
    probabilities = np.repeat(certain([4, 0]), 100, axis=0) * (1 - noise) + noise / 5
    found = report(probabilities, levels, groups)
    assert found.overall.spearman.value > 0.7
    assert abs(found.spearman_within_groups) < 0.15
    assert list(found.groups) == ["good", "poor"]
    assert found.accuracy_of_the_commonest_level == pytest.approx(np.bincount(levels).max() / 200)


def test_calibrated_predictions_have_little_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(evaluation, "BOOTSTRAP_DRAWS", 10)  # of intervals, which a calibration error has none of
    draw = np.random.default_rng(4)
    probabilities = draw.dirichlet(np.full(5, 0.5), 2000)
    levels = np.array([draw.choice(5, p=row) for row in probabilities])
    assert evaluate(probabilities, levels).calibration_error.value < 0.04
    sharpened = probabilities**4 / (probabilities**4).sum(1, keepdims=True)
    assert evaluate(sharpened, levels).calibration_error.value > 0.1
    assert sum(part.clips for part in calibration_bins(probabilities, levels)) == 2000


def test_groups_without_a_name():
    found = report(certain([1, 2]), np.array([1, 3]), [None, "x"])
    assert list(found.groups) == ["", "x"]
    assert found.spearman_within_groups is None
