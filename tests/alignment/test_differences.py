from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.alignment.made_study import crossed_study, study_of
from vmmetrics.alignment.pair_alignments import ALL_PAIRS, compared, measure_differences
from vmmetrics.alignment.study import Study
from vmmetrics.utils.statistics.bootstrap import draws

R, SEED = 150, 2


def crossed(**noise: float) -> Study:
    return crossed_study(15, 4, seed=4, metric_noise=noise or {"sharp": 0.4, "fair": 1.0, "blunt": 3.0})


def rho(x: np.ndarray, y: np.ndarray) -> float:
    return float(stats.spearmanr(x, y).statistic)


def test_both_metrics_have_the_same_prompts_drawn() -> None:
    study = crossed()
    gone = np.array([3, 20, 21])
    study.scores["blunt"][gone] = np.nan
    there = ~np.isnan(study.scores["blunt"])
    first, second, ratings = (
        study.scores["fair"][there],
        study.scores["blunt"][there],
        study.mean_rating("motion")[there],
    )
    prompts, models = np.array(study.prompts)[there], np.array(study.models)[there]
    names = sorted(set(models))

    def inside(x: np.ndarray, z: np.ndarray, y: np.ndarray, of: np.ndarray) -> float:
        return float(np.mean([rho(x[of == m], y[of == m]) - rho(z[of == m], y[of == m]) for m in names]))

    found = {(d.first, d.second): d for d in measure_differences(study, "motion", list(study.scores), None, R, SEED)}
    assert list(found) == [("sharp", "fair"), ("sharp", "blunt"), ("fair", "blunt")]
    difference = found["fair", "blunt"]
    assert difference.pooled.n == 57
    assert difference.pooled.value == pytest.approx(rho(first, ratings) - rho(second, ratings), abs=1e-12)
    assert difference.within_model.value == pytest.approx(inside(first, second, ratings, models), abs=1e-12)
    assert difference.within_model.n == 4
    pooled, within = [], []
    for weights in draws(prompts.tolist(), R, SEED):
        x, z, y, of = (np.repeat(column, weights) for column in (first, second, ratings, models))
        pooled.append(rho(x, y) - rho(z, y))
        within.append(inside(x, z, y, of))
    for estimate, values in ((difference.pooled, np.array(pooled)), (difference.within_model, np.array(within))):
        error, free = values.std(ddof=1), len(set(prompts)) - 2
        reach = stats.t.ppf(0.975, free) * error
        assert (estimate.low, estimate.high) == pytest.approx(
            (estimate.value - reach, estimate.value + reach), abs=1e-12
        )
        assert estimate.p == pytest.approx(2 * stats.t.sf(abs(estimate.value) / error, free))
    assert found["sharp", "fair"].pooled.n == 60


def test_a_better_metric_is_told_from_a_worse_one_and_not_from_itself() -> None:
    study = crossed_study(80, 4, seed=1, metric_noise={"sharp": 0.3, "blunt": 4.0})
    study = replace(study, scores={**study.scores, "again": np.exp(study.scores["sharp"])})
    apart, same, _ = measure_differences(study, "motion", ["sharp", "blunt", "again"], None, 300, 0)
    assert apart.pooled.low is not None and apart.pooled.low > 0
    assert apart.pooled.p is not None and apart.pooled.p < 0.01
    assert (same.first, same.second) == ("sharp", "again")
    assert (same.pooled.value, same.pooled.low, same.pooled.high, same.pooled.p) == (0, 0, 0, 1)


@pytest.mark.slow
def test_equally_good_metrics_are_seldom_told_apart() -> None:
    told = 0
    for seed in range(120):
        study = crossed_study(25, 3, seed=seed, metric_noise={"one": 1.0, "two": 1.0})
        p = measure_differences(study, "motion", ["one", "two"], None, 200, 0)[0].pooled.p
        told += p is not None and p < 0.05
    assert told / 120 < 0.12


def test_of_many_metrics_each_is_compared_with_the_best_and_the_one_named() -> None:
    names = {f"m{number:02}": 0.3 + 0.1 * (number - 7) ** 2 for number in range(ALL_PAIRS + 1)}
    study = crossed(**names)
    metrics = list(study.scores)
    best = max(metrics, key=lambda m: rho(study.scores[m], study.mean_rating("motion")))
    pairs = compared(study, "motion", metrics, None)
    assert len(pairs) == ALL_PAIRS and all(best in pair for pair in pairs)
    named = "m00"
    pairs = compared(study, "motion", metrics, named)
    assert len(pairs) == len({frozenset(pair) for pair in pairs}) == 2 * ALL_PAIRS - 1
    assert all(best in pair or named in pair for pair in pairs)
    assert len(compared(study, "motion", metrics[:12], None)) == 66


def test_what_cannot_be_compared_is_said() -> None:
    ratings = np.arange(6.0)[:, None]
    scores = {
        "good": np.arange(6.0),
        "flat": np.ones(6),
        "early": np.array([1, 2, np.nan, np.nan, np.nan, np.nan]),
        "late": np.array([np.nan, np.nan, np.nan, 4, 5, 6]),
    }
    study = study_of(ratings, scores, prompts=tuple("aabbcc"))
    found = {(d.first, d.second): d for d in measure_differences(study, "motion", list(scores), None, 20, 0)}
    assert "flat: the scores are all the same" in str(found["good", "flat"].pooled.note)
    assert "there are 2" in str(found["good", "early"].pooled.note)
    assert "there are 0" in str(found["early", "late"].pooled.note)
    assert "not known" in str(found["good", "late"].within_model.note)
    assert found["good", "late"].pooled.value == 0


def test_p_is_raised_as_by_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    study = crossed_study(30, 4, seed=3, metric_noise={"a": 0.5, "b": 1.0, "c": 2.0, "d": 4.0})
    found = measure_differences(study, "motion", list(study.scores), None, 200, SEED)
    for level in ("pooled", "within_model"):
        p = [getattr(d, level).p for d in found]
        for ending, method in (("holm", "holm"), ("bh", "fdr_bh")):
            raised = [getattr(d, f"{level}_{ending}") for d in found]
            assert raised == pytest.approx(multitest.multipletests(p, method=method)[1], abs=1e-12)
