from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.alignment.made_study import crossed_study, study_of
from vmmetrics.alignment.preference import measure_ablations, measure_preferences
from vmmetrics.alignment.results import Ablation, CombinationFigure
from vmmetrics.alignment.study import Preferences, Study
from vmmetrics.alignment.study_report import align
from vmmetrics.utils.statistics.bootstrap import Estimate


def ablations(study: Study) -> tuple[Ablation, ...]:
    return measure_ablations(study, "motion", list(study.scores), resamples=60)


def every_figure(ablation: Ablation) -> list[Estimate]:
    figures: list[CombinationFigure] = [ablation.full, *ablation.left_out.values()]
    return [estimate for f in figures for estimate in (f.accuracy, f.spearman, f.within_model)]


def test_equal_weights_by_another_way() -> None:
    study = crossed_study(15, metric_noise={"a": 0.4, "b": 0.8, "c": np.inf}, seed=1)
    equal, fitted = ablations(study)
    assert (equal.combination, fitted.combination) == ("equal weights", "fitted")
    z = {name: (score - score.mean()) / score.std() for name, score in study.scores.items()}
    mean = study.mean_rating("motion")
    assert equal.full.spearman.value == pytest.approx(spearmanr(z["a"] + z["b"] + z["c"], mean).statistic)
    assert equal.left_out["c"].spearman.value == pytest.approx(spearmanr(z["a"] + z["b"], mean).statistic)
    models = np.array(study.models)
    inside = [spearmanr((z["a"] + z["b"])[models == m], mean[models == m]).statistic for m in set(study.models)]
    assert equal.left_out["c"].within_model.value == pytest.approx(np.mean(inside))
    for left_out in study.scores:
        rest = [name for name in study.scores if name != left_out]
        wanted = measure_preferences(study, "motion", rest, resamples=10)
        for ablation in (equal, fitted):
            entry = next(e for e in wanted if e.name == ablation.combination)
            assert ablation.left_out[left_out].accuracy.value == pytest.approx(entry.accuracy.value)


def test_without_the_best_metric_the_others_do_worse() -> None:
    study = crossed_study(40, metric_noise={"noise": np.inf, "good": 0.2, "fair": 1.5}, seed=2)
    for ablation in ablations(study):
        assert set(ablation.left_out) == set(study.scores)
        assert ablation.left_out["good"].accuracy.value < ablation.full.accuracy.value


def test_weights() -> None:
    study = crossed_study(40, metric_noise={"noise": np.inf, "good": 0.2}, seed=3)
    equal, fitted = ablations(study)
    assert equal.weights == {"noise": 0.5, "good": 0.5}
    assert fitted.weights["good"] > 5 * abs(fitted.weights["noise"])


def test_without_pairs_there_are_correlations() -> None:
    made = crossed_study(30, metric_noise={"noise": np.inf, "good": 0.2}, seed=4)
    equal, fitted = ablations(study_of(made.ratings["motion"], made.scores))
    assert equal.full.accuracy.value is None
    assert equal.full.spearman.value is not None
    assert equal.full.within_model.value is None
    assert fitted.weights == {}
    assert all(figure.value is None and figure.note for figure in every_figure(fitted))


def test_preferences_alone_have_accuracy_and_no_correlation() -> None:
    made = crossed_study(20, metric_noise={"a": 0.5, "b": 0.5}, seed=5)
    pairs = np.arange(0, 80, 4)
    judged = Preferences(pairs, pairs + 1, np.ones(20, np.int64), ("",) * 20)
    equal, _ = ablations(replace(made, ratings={}, preferences={"motion": judged}))
    assert equal.full.accuracy.n == 20
    assert equal.full.spearman.note == "there is no rating, only preferences"


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_clips_are_said(count: int) -> None:
    scores = {"a": np.arange(float(count)), "b": np.full(count, np.nan)}
    study = study_of(np.arange(float(count))[:, None], scores, prompts=("p",) * count)
    for ablation in ablations(study):
        for figure in every_figure(ablation):
            assert figure.value is not None or figure.note


def test_one_metric_has_no_ablation() -> None:
    assert ablations(crossed_study(5, metric_noise={"a": 0.5})) == ()


def test_only_what_has_a_direction_and_says_something_of_its_own_is_combined() -> None:
    study = crossed_study(12, metric_noise={"good": 0.4, "fair": 1.0, "flow_magnitude": 0.5, "seldom": 0.3}, seed=5)
    seldom = study.scores["seldom"].copy()
    seldom[: 2 * len(seldom) // 3] = np.nan
    mixture = study.scores["good"] + study.scores["fair"]
    scores = {**study.scores, "seldom": seldom, "good_again": 2 * study.scores["good"], "motion_index": mixture}
    faced = dict.fromkeys(scores, ("motion",))
    report = align(replace(study, scores=scores, pairing=faced), resamples=20)
    for ablation in report.ablations:
        assert set(ablation.left_out) == {"good", "fair"}
    stated = align(replace(study, scores=scores, pairing=faced), resamples=20, directed=["flow_magnitude"])
    assert set(stated.ablations[0].left_out) == {"good", "fair", "flow_magnitude"}
