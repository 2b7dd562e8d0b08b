"""Agreement with amplitude held constant, and the baseline that prefers less motion."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tests.alignment.made_study import crossed_study
from vmmetrics.alignment import align, read_study
from vmmetrics.alignment.levels import NO_AMPLITUDE, amplitude_constant
from vmmetrics.alignment.pair_alignments import LESS_MOTION
from vmmetrics.alignment.reference_values import measure_preference_baselines
from vmmetrics.alignment.report.tables import brief_table, main_table
from vmmetrics.alignment.study import Study, samples_of
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import draws

R, SEED = 60, 3


def calm_study(prompts: int = 40) -> Study:
    """People rate calm clips higher; "calm" sees nothing else, "sees" the rest as well."""
    study = crossed_study(prompts, seed=2, metric_noise={"sees": 0.5})
    rng = np.random.default_rng(3)
    amplitude = rng.gamma(2, size=len(study.clips))
    ratings = np.clip(np.round(study.ratings["motion"] - 1.5 * np.log(amplitude)[:, None]), 1, 9)
    scores = {
        "calm": -np.log(amplitude) + 0.3 * rng.normal(size=len(amplitude)),
        "sees": study.scores["sees"] - np.log(amplitude),
    }
    return replace(study, scores=scores, ratings={"motion": ratings}, amplitude=amplitude)


def partial(x: FloatArray, y: FloatArray, z: FloatArray) -> float:
    ranks = [stats.rankdata(values) for values in (x, y, z)]
    apart = [side - np.polyval(np.polyfit(ranks[2], side, 1), ranks[2]) for side in ranks[:2]]
    return float(np.corrcoef(*apart)[0, 1])


def test_mean_over_models_and_interval_over_prompts() -> None:
    (sample,) = samples_of(calm_study(30), "motion", ["sees"])
    assert sample.amplitude is not None
    models = np.array(sample.models)

    def mean(weights: np.ndarray) -> float:
        sides = (sample.scores[0], sample.ratings, sample.amplitude)
        of_models = []
        for model in sorted(set(models)):
            here = np.where(models == model, weights, 0)
            of_models.append(partial(*(np.repeat(side, here) for side in sides)))
        return float(np.mean(of_models))

    (found,) = amplitude_constant(sample, R, SEED)
    assert found.value == pytest.approx(mean(np.ones(len(models), int)), abs=1e-9)
    assert found.n == 4
    error = np.arctanh([mean(weights) for weights in draws(sample.prompts, R, SEED)]).std(ddof=1)
    reach = stats.t.ppf(0.975, 28) * error
    assert found.value is not None
    expected = np.tanh(np.arctanh(found.value) + np.array([-reach, reach]))
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-9)


def test_a_score_that_only_prefers_calm_agrees_within_models_and_not_at_constant_amplitude() -> None:
    report = align(calm_study(), resamples=R)
    by_metric = {pair.metric: pair for pair in (*report.alignments, *report.less_motion)}
    calm, sees, less = by_metric["calm"], by_metric["sees"], by_metric[LESS_MOTION]
    assert calm.within_model.mean.low is not None and calm.within_model.mean.low > 0.4
    assert calm.amplitude_constant.value == pytest.approx(0, abs=0.12)
    assert sees.amplitude_constant.low is not None and sees.amplitude_constant.low > 0.5
    amplitude, ratings = calm_study().amplitude, calm_study().mean_rating("motion")
    assert less.spearman.value == pytest.approx(-stats.spearmanr(amplitude, ratings).statistic)
    assert less.amplitude_constant.value is None and "apart from the amplitude" in str(less.amplitude_constant.note)
    people = report.ceilings[0].amplitude_constant
    assert people.value is not None and 0 < people.value < report.ceilings[0].within_model.value  # type: ignore[operator]


def test_less_motion_prefers_the_clip_of_smaller_amplitude() -> None:
    study = calm_study(9)
    mean, amplitude = study.mean_rating("motion"), study.amplitude
    assert amplitude is not None
    right = [
        float((mean[i] > mean[j]) == (amplitude[i] < amplitude[j]))
        for i, j in combinations(range(len(mean)), 2)
        if study.prompts[i] == study.prompts[j] and abs(mean[i] - mean[j]) > 1e-12
    ]
    found = measure_preference_baselines(study, "motion", 20, 1)[-1]
    assert (found.name, found.accuracy.value, found.pairs) == (LESS_MOTION, pytest.approx(np.mean(right)), len(right))


def test_tables_have_the_column_and_the_row() -> None:
    report = align(calm_study(), resamples=R)
    for table in (brief_table(report, "motion", 9), main_table(report, "motion")):
        place = [column.name for column in table.columns].index("ρ amplitude constant")
        rows = {row.cells[0].text: row for row in table.rows}
        assert rows[LESS_MOTION].reference and rows[LESS_MOTION].cells[place].text == "–"
        value = next(pair for pair in report.alignments if pair.metric == "sees").amplitude_constant.value
        assert rows["sees"].cells[place].text.startswith(f"{value:.2f}")
    assert f"{LESS_MOTION} in" in " ".join(report.claims)


def test_without_amplitude_the_column_is_empty_with_its_reason() -> None:
    report = align(replace(calm_study(), amplitude=None), resamples=R)
    assert report.less_motion == ()
    for part in (*report.alignments, *report.ceilings):
        assert part.amplitude_constant.value is None and part.amplitude_constant.note == NO_AMPLITUDE
    assert any(NO_AMPLITUDE in line for line in report.problems)
    table = main_table(report, "motion")
    assert NO_AMPLITUDE in table.notes
    assert LESS_MOTION not in {row.cells[0].text for row in table.rows}


def test_where_the_amplitude_comes_from() -> None:
    clips, rated = (
        [f"{n}.mp4" for n in range(5)],
        {"clip": [f"{n}.mp4" for n in range(5)], "smoothness": [1, 2, 3, 4, 5]},
    )
    scores = {"clip": clips, "mss": [0.1, 0.2, 0.3, 0.4, 0.5], "pas": [0.5, 0.4, 0.3, 0.2, 0.1]}
    amplitude = {"clip": clips[::-1], "amplitude": [5.0, 4, 3, 2, None], "ssim": [1, 1, 1, 1, 0]}
    alone = read_study(scores, rated)
    assert alone.amplitude is None
    assert alone.amount_of_motion() == pytest.approx(scores["pas"])
    assert read_study(scores, rated, lower=["pas"]).amount_of_motion() == pytest.approx(scores["pas"])
    both = read_study([scores, amplitude], rated)
    assert "amplitude" not in both.scores
    assert both.amount_of_motion() == pytest.approx([np.nan, 2, 3, 4, 5], nan_ok=True)
    assert read_study({"clip": clips, "mss": [1, 2, 3, 4, 5]}, rated).amount_of_motion() is None
