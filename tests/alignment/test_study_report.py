from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from tests.alignment.made_study import crossed_study, study_of
from vmmetrics.alignment.levels import NO_AMPLITUDE
from vmmetrics.alignment.results import Matrix
from vmmetrics.alignment.study import Matching, Preferences, Study
from vmmetrics.alignment.study_report import align
from vmmetrics.alignment.study_results import StudyReport
from vmmetrics.errors import SetupError
from vmmetrics.utils.statistics.bootstrap import Estimate
from vmmetrics.utils.statistics.correlation import spearman

R = 60
NAN = np.nan


def made(**noise: float) -> Study:
    return crossed_study(10, 4, seed=6, metric_noise=noise or {"sharp": 0.5, "blunt": 2.0})


def numbers(value: Any) -> Iterator[float]:
    """Every float of a report; the matrix says with NaN that there is none."""
    if isinstance(value, Matrix):
        return
    if isinstance(value, Estimate) and value.value is None:
        assert value.note and value.low is None and value.high is None
    if is_dataclass(value):
        for field in fields(value):
            yield from numbers(getattr(value, field.name))
    elif isinstance(value, dict):
        for part in value.values():
            yield from numbers(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, float):
        yield value


def sound(report: StudyReport) -> StudyReport:
    assert all(math.isfinite(number) for number in numbers(report))
    json.dumps(report.to_json(), allow_nan=False)
    return report


def test_a_study_is_reported_whole() -> None:
    report = sound(align(made(), resamples=R))
    assert (report.clips, report.prompts, report.models) == (40, 10, 4)
    assert [(a.metric, a.dimension) for a in report.alignments] == [
        ("sharp", "motion"),
        ("blunt", "motion"),
        ("average", "motion"),
    ]
    assert report.facing == {"sharp": ("motion",), "blunt": ("motion",)}
    assert {frozenset((d.first, d.second)) for d in report.differences} == {
        frozenset(pair) for pair in (("sharp", "blunt"), ("sharp", "average"), ("blunt", "average"))
    }
    assert [c.dimension for c in report.ceilings] == [a.dimension for a in report.agreements] == ["motion"]
    assert [b.dimension for b in report.baselines] == ["motion"]
    assert report.matrix.names == ("sharp", "blunt", "average", "motion")
    # too few pairs here to fit on, and the scores are without amplitude
    assert not [line for line in report.problems if "generator unseen" not in line and NO_AMPLITUDE not in line]
    assert [a.combination for a in report.ablations] == ["equal weights", "fitted"]
    assert all(set(a.left_out) == {"sharp", "blunt"} for a in report.ablations)
    assert not any(p.name == "average" for p in report.preferences)  # the equal weights are among them
    assert [p.dimension for p in report.powers] == ["motion"]
    assert report.settings["resamples"] == R
    study = made()
    for name, alignment in zip(study.scores, report.alignments, strict=False):
        assert alignment.spearman.value == spearman(study.scores[name], study.mean_rating("motion"))
        assert alignment.missing == 0
        assert set(alignment.within_model.groups) == set(alignment.without_model) == set(study.models)


def test_the_same_seed_gives_the_same_report_and_the_order_of_clips_none_other() -> None:
    study = made()
    turn = np.random.default_rng(0).permutation(40)
    moved = replace(
        study,
        clips=tuple(study.clips[k] for k in turn),
        prompts=tuple(study.prompts[k] for k in turn),
        models=tuple(study.models[k] for k in turn),
        scores={name: scores[turn] for name, scores in study.scores.items()},
        ratings={name: ratings[turn] for name, ratings in study.ratings.items()},
    )
    first, again, other = align(study, resamples=R), align(study, resamples=R), align(moved, resamples=R)
    assert first.to_json() == again.to_json()
    for one, two in zip(first.alignments, other.alignments, strict=True):
        for name in ("spearman", "kendall_b", "pearson", "model_level"):
            here, there = getattr(one, name), getattr(two, name)
            assert (here.value, here.low, here.high) == pytest.approx((there.value, there.low, there.high), abs=1e-9)
        assert one.within_model.mean.low == pytest.approx(two.within_model.mean.low, abs=1e-12)
    assert align(study, resamples=R, seed=1).alignments[0].spearman.low != first.alignments[0].spearman.low


def test_several_dimensions_have_an_average() -> None:
    study = made()
    rng = np.random.default_rng(0)
    looks = np.clip(study.ratings["motion"] + rng.integers(-1, 2, (40, 3)), 1, 5)
    study = replace(
        study,
        ratings={**study.ratings, "looks": looks},
        raters={"motion": ("a", "b", "c"), "looks": ("a", "b", "c")},
        pairing={"sharp": ("motion",), "blunt": ("looks",)},
    )
    report = sound(align(study, resamples=R))
    assert [(a.metric, a.dimension) for a in report.alignments] == [
        ("sharp", "motion"),
        ("sharp", "average"),
        ("blunt", "looks"),
        ("blunt", "average"),
        ("average", "average"),
    ]
    assert [c.dimension for c in report.ceilings] == ["motion", "looks", "average"]
    assert [a.dimension for a in report.agreements] == ["motion", "looks"]
    assert any("average judgement" in line for line in report.settings["averages"])


def test_missing_scores_are_counted_per_metric() -> None:
    study = made()
    study.scores["blunt"][:7] = NAN
    study.ratings["motion"][6:9] = NAN
    report = sound(align(study, resamples=R))
    assert [a.missing for a in report.alignments] == [0, 6, 6]
    assert [a.spearman.n for a in report.alignments] == [37, 31, 31]
    assert report.clips == 37


def test_models_can_be_left_out() -> None:
    report = sound(align(made(), exclude_models=("model0",), resamples=R))
    assert (report.clips, report.models) == (30, 3)
    assert "left out: 10 clips of model0" in report.matching
    assert report.settings["left out"] == ["model0"]
    assert all("model0" not in a.within_model.groups for a in report.alignments)
    with pytest.raises(SetupError):
        align(made(), exclude_models=("nobody",))
    with pytest.raises(SetupError, match="sharp, blunt"):
        align(made(), against="nothing")


def test_what_was_asked_for_and_is_not_there_is_said() -> None:
    report = sound(align(replace(made(), pairing={"sharp": ("motion", "taste"), "dull": ("motion",)}), resamples=R))
    assert report.problems[:2] == (
        "dull: there are no scores of this name",
        "sharp × taste: there are no judgements of this name",
    )
    assert [(a.metric, a.dimension) for a in report.alignments] == [("sharp", "motion")]


def test_pairs_alone_are_judgements() -> None:
    pairs = Preferences(np.array([0, 2, 4]), np.array([1, 3, 5]), np.array([1, -1, 1]), ("", "", ""))
    study = study_of(np.empty((6, 0)), {"m": np.array([3, 1, 2, 5, 1, 0.0])}, prompts=tuple("aabbcc"))
    report = sound(align(replace(study, ratings={}, raters={}, preferences={"motion": pairs}), resamples=R))
    assert report.alignments == ()
    assert [p.accuracy.value for p in report.preferences if p.name == "m"] == [1.0]
    assert report.clips == 6


def ratings(*values: float) -> np.ndarray:
    return np.array(values, float)[:, None]


EDGES: dict[str, tuple[Study, str]] = {
    "empty": (Study((), (), (), {"m": np.zeros(0)}, {"motion": np.zeros((0, 3))}, matching=Matching(0)), "3 clips"),
    "one clip": (study_of(ratings(3), {"m": np.array([0.5])}), "there are 1"),
    "two clips": (study_of(np.array([[1.0, 2], [3, 3]]), {"m": np.array([0.5, 0.7])}), "there are 2"),
    "constant scores": (study_of(ratings(1, 2, 3, 4), {"m": np.full(4, 0.3)}), "the scores are all the same"),
    "constant ratings": (
        study_of(np.full((6, 3), 4.0), {"m": np.arange(6.0)}, prompts=tuple("aabbcc"), models=tuple("xyxyxy")),
        "the judgements are all the same",
    ),
    "scores NaN": (study_of(ratings(1, 2, 3, 4), {"m": np.full(4, NAN)}), "there are 0"),
    "ratings NaN": (study_of(np.full((5, 2), NAN), {"m": np.arange(5.0)}), "there are 0"),
    "infinite scores": (study_of(ratings(1, 2, 3, 4), {"m": np.array([np.inf, 1, -np.inf, 2])}), "there are 2"),
    "one rater": (study_of(ratings(1, 3, 2, 5, 4), {"m": np.arange(5.0)}), "the models of the clips are not known"),
    "one prompt": (
        study_of(np.array([[1.0, 2], [2, 2], [4, 3], [5, 5]]), {"m": np.arange(4.0)}, prompts=("p",) * 4),
        "the models of the clips are not known",
    ),
    "one model": (
        study_of(np.array([[1.0, 2], [2, 2], [4, 3], [5, 5]]), {"m": np.arange(4.0)}, models=("x",) * 4),
        "there is a single model",
    ),
    "no metrics": (study_of(ratings(1, 2, 3, 4), {}), "there are no scores"),
    "no judgements": (Study(("a",), ("p",), ("",), {"m": np.ones(1)}, {}), "there are no judgements"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", EDGES)
def test_what_cannot_be_computed_is_said_and_the_rest_is(name: str) -> None:
    study, expected = EDGES[name]
    report = sound(align(study, resamples=20))
    assert any(expected in line for line in report.problems)
    assert len(set(report.problems)) == len(report.problems)
    if name in ("one rater", "one prompt", "one model"):
        alignment = report.alignments[0]
        assert alignment.spearman.value is not None and alignment.kendall_b.value is not None
        assert (alignment.spearman.low is None) == (name == "one prompt")


def test_problems_are_told_once() -> None:
    study = made(one=0.5, two=1.0, three=2.0)
    study = replace(study, models=("",) * 40, scores={**study.scores, "flat": np.full(40, 0.5)}, pairing={})
    problems = align(study, resamples=20).problems
    unknown = [line for line in problems if "models of the clips are not known" in line and "within model" in line]
    assert unknown[0].startswith("one × motion, two × motion, three × motion, average × motion (within model")
    assert "flat × motion: the scores are all the same" in problems
    assert sum("the scores are all the same" in line for line in problems) == 1
    assert len(problems) <= 10
