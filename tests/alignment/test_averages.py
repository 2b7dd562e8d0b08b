from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from vmmetrics.alignment.levels import correlation_matrix
from vmmetrics.alignment.study import Matching, Preferences, Study, with_averages
from vmmetrics.alignment.study_report import without_models
from vmmetrics.errors import SetupError

NAN = np.nan


def study(**changes: object) -> Study:
    made = Study(
        clips=tuple("abcd"),
        prompts=tuple("ppqq"),
        models=("x", "real", "x", "y"),
        scores={"m": np.array([0.1, 0.5, NAN, 1.0]), "n": np.array([0.3, 0.7, 0.2, 0.0])},
        ratings={
            "motion": np.array([[1.0, 2], [3, 4], [5, 5], [2, 2]]),
            "looks": np.array([[3.0, 2], [1, 2], [5, 1], [4, 3]]),
        },
        raters={"motion": ("r", "s"), "looks": ("r", "s")},
        pairing={"m": ("motion",), "n": ("looks",)},
        matching=Matching(4, notes=("by name",)),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_average_of_two_judgements_and_of_two_metrics() -> None:
    found, notes = with_averages(study())
    assert found.ratings["average"].tolist() == [[2, 2], [2, 3], [5, 3], [3, 2.5]]  # per rater
    assert found.raters["average"] == ("r", "s")
    assert found.scores["average"] == pytest.approx([0.2, 0.6, NAN, 0.5], nan_ok=True)
    assert found.pairing == {"m": ("motion", "average"), "n": ("looks", "average"), "average": ("average",)}
    assert notes[0].startswith("average judgement: mean of motion, looks")
    assert "mean of the scores of m, n" in notes[1]


def test_other_raters_or_gaps_leave_the_average_of_the_means() -> None:
    for change in (
        {"raters": {"motion": ("r", "s"), "looks": ("r", "t")}},
        {
            "ratings": {
                "motion": np.array([[1.0, NAN], [NAN, 2.0], [3, 4], [NAN, NAN]]),
                "looks": study().ratings["looks"],
            }
        },
    ):
        given = study(**change)
        found, _ = with_averages(given)
        expected = (given.mean_rating("motion") + given.mean_rating("looks")) / 2
        assert found.mean_rating("average") == pytest.approx(expected, nan_ok=True)
        assert found.raters["average"] == ()


def test_scores_beyond_zero_to_one_are_standardised() -> None:
    given = study(scores={"m": np.array([10.0, 20, NAN, 60]), "n": np.array([0.3, 0.7, 0.2, 0.0])})
    found, notes = with_averages(given)
    rows = [0, 1, 3]
    expected = (stats.zscore(given.scores["m"][rows]) + stats.zscore(given.scores["n"][rows])) / 2
    assert found.scores["average"][rows] == pytest.approx(expected)
    assert "standardised" in notes[1]


def test_one_dimension_and_one_metric_have_no_average() -> None:
    single, notes = with_averages(study(pairing={"m": ("motion",)}))
    assert "average" not in single.ratings and "average" not in single.scores and notes == ()
    both, _ = with_averages(study(pairing={"m": ("motion",), "n": ("motion",)}))
    assert "average" not in both.ratings
    assert both.pairing["average"] == ("motion",)


def test_models_are_left_out_of_everything() -> None:
    pairs = Preferences(np.array([0, 2, 0]), np.array([1, 3, 3]), np.array([1, -1, 0]), ("r", "s", "t"))
    found = without_models(study(preferences={"motion": pairs}), ("real",))
    assert (found.clips, found.prompts, found.models) == (("a", "c", "d"), ("p", "q", "q"), ("x", "x", "y"))
    assert found.scores["n"].tolist() == [0.3, 0.2, 0.0]
    assert found.ratings["motion"].tolist() == [[1, 2], [5, 5], [2, 2]]
    kept = found.preferences["motion"]
    assert (kept.left.tolist(), kept.right.tolist(), kept.outcome.tolist()) == ([1, 0], [2, 2], [-1, 0])
    assert kept.raters == ("s", "t")
    assert found.matching.notes == ("left out: 1 clips of real", "by name")


def test_a_model_that_is_not_there_is_an_error() -> None:
    with pytest.raises(SetupError, match=r"\(real, x, y\) but got reel"):
        without_models(study(), ("reel",))


def test_matrix_is_scipys_on_the_clips_that_both_have() -> None:
    found = correlation_matrix(study(), ["m", "n"], ["motion"])
    assert found.names == ("m", "n", "motion") and found.metrics == 2
    rows = [0, 1, 3]
    m, n, motion = (
        values[rows] for values in (study().scores["m"], study().scores["n"], study().mean_rating("motion"))
    )
    assert found.values[0, 1] == found.values[1, 0] == pytest.approx(stats.spearmanr(m, n).statistic)
    assert found.values[0, 2] == pytest.approx(stats.spearmanr(m, motion).statistic)
    assert found.counts.tolist() == [[3, 3, 3], [3, 4, 4], [3, 4, 4]]
    assert np.diag(found.values).tolist() == [1, 1, 1]


def test_matrix_of_a_constant_has_gaps() -> None:
    flat = study(scores={"m": np.full(4, 0.5), "n": np.array([NAN, NAN, 1, 2])})
    found = correlation_matrix(flat, ["m", "n"], ["motion"])
    assert np.isnan(found.values[0]).all() and np.isnan(found.values[1]).all()
    assert found.values[2, 2] == 1


def test_baselines_beside_the_five_metrics_leave_the_average_alone() -> None:
    scores = {"cas": np.array([0.2, 0.4]), "mss": np.array([0.6, 1.0]), "ssim": np.array([9.0, -3.0])}
    ratings = {"motion": np.array([[1.0], [2.0]])}
    made = study(
        clips=("a", "b"), prompts=("p", "q"), models=("", ""), scores=scores, ratings=ratings, raters={},
        pairing=dict.fromkeys(scores, ("motion",)),
    )  # fmt: skip
    found, notes = with_averages(made)
    assert found.scores["average"] == pytest.approx([0.4, 0.7])
    assert notes == ("average metric: mean of the scores of cas, mss, on clips that have all",)
