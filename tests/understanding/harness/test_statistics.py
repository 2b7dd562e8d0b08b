"""Clustered means and paired tests, against a second implementation and figures worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vmmetrics.models.questions import Question
from vmmetrics.understanding.harness.benchmark import Scored
from vmmetrics.understanding.harness.statistics import (
    PAIR_CHANCE,
    accuracy_figures,
    clustered_mean,
    differences,
    figure,
    grouped,
    pair_figures,
    pairs_of,
    part,
    where_answered,
)


def _asked(*rows: tuple[str, str, float | None, bool]) -> tuple[list[Question], list[Scored]]:
    """Questions and what they got, from (video, task, value, answered)."""
    questions = [
        Question(str(i), video, "?", ("a", "b", "c", "d"), 0, {"task": (task,)})
        for i, (video, task, *_) in enumerate(rows)
    ]
    scored = [Scored(str(i), value, answered=answered) for i, (*_, value, answered) in enumerate(rows)]
    return questions, scored


def test_the_standard_error_is_that_of_a_cluster_robust_regression() -> None:
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(3)
    videos = rng.integers(25, size=120)
    values = (rng.random(120) < 0.3 + 0.4 * (videos % 2)).astype(float)
    fit = sm.OLS(values, np.ones((120, 1))).fit(cov_type="cluster", cov_kwds={"groups": videos})
    found = clustered_mean(values.tolist(), [str(v) for v in videos])
    assert found.error == pytest.approx(float(fit.bse[0]), rel=1e-9)
    assert found.value == pytest.approx(values.mean())
    low, high = found.low, found.high
    assert low is not None and high is not None
    assert (high - low) / 3.92 == pytest.approx(found.error, rel=0.15)  # the check that the error is there for


def test_questions_of_one_video_do_not_count_as_many() -> None:
    values = [1.0, 0.0] * 20
    apart = clustered_mean(values, [str(i) for i in range(40)])
    alike = clustered_mean([1.0] * 20 + [0.0] * 20, [str(i // 10) for i in range(40)])
    assert apart.value == alike.value == 0.5
    assert alike.high - alike.low > 2.5 * (apart.high - apart.low)  # type: ignore[operator]
    assert (alike.n, alike.clusters) == (40, 4)
    assert "rough" in alike.note


@pytest.mark.slow
def test_intervals_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for trial in range(120):
        level = rng.beta(2, 2, size=60)  # mean 0.5
        values = (rng.random((60, 5)) < level[:, None]).astype(float)
        found = clustered_mean(values.ravel().tolist(), [str(i // 5) for i in range(300)], 300, trial)
        hits += found.low <= 0.5 <= found.high  # type: ignore[operator]
    assert 105 <= hits <= 119  # 114 expected, 2.4 its deviation


def test_a_single_video_has_no_interval_and_no_question_no_mean() -> None:
    one = clustered_mean([1.0, 0.0], ["a", "a"])
    assert (one.value, one.low, one.error) == (0.5, None, None)
    assert "single video" in one.note
    two = clustered_mean([1.0, 0.0], ["a", "b"])
    assert (two.value, two.low, two.high) == (0.5, None, None) and "it takes 3 videos" in two.note
    assert clustered_mean([], []).value is None
    assert "alike" in clustered_mean([1.0, 1.0], ["a", "b"]).note
    rounded = clustered_mean([0.1] * 9, ["a"] * 3 + ["b"] * 6)
    assert (rounded.error, "alike" in rounded.note) == (0, True)
    videos = [str(i) for i in range(20)]
    assert "rough interval: under 20 videos" in clustered_mean([0.0, *[1.0] * 18], videos[:19]).note
    assert clustered_mean([0.0, *[1.0] * 19], videos).note == ""


def test_where_all_are_alike_the_interval_is_exact() -> None:
    binomtest = pytest.importorskip("scipy.stats").binomtest
    for value in (0, 1):
        asked, got = _asked(*[(f"v{i // 2}", "X", value, True) for i in range(10)])
        found = figure(asked, got)
        interval = binomtest(5 * value, 5).proportion_ci(0.95, "exact")  # five videos, not ten questions
        assert (found.low, found.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
        assert "exact" in found.note
    nothing = _asked(("a", "X", 0, False), ("b", "X", 0, False))
    assert figure(*nothing, "answered_accuracy", where_answered).note == "nothing was answered"


def test_what_was_not_understood_is_wrong_in_one_measure_and_left_out_of_the_other() -> None:
    asked, got = _asked(("a", "X", 1, True), ("a", "X", 0, False), ("b", "Y", 0, True), ("c", "Y", None, True))
    everything, answered, x, y = accuracy_figures(asked, got, ["task"], order=["X", "Y"])
    assert (everything.value, everything.n, everything.answered) == (pytest.approx(1 / 3), 3, pytest.approx(2 / 3))
    assert (answered.value, answered.n) == (0.5, 2)
    assert everything.chance == 0.25
    assert everything.clusters == 2
    assert (x.name, x.value, x.answered, y.name, y.value, y.n) == ("X", 0.5, 0.5, "Y", 0.0, 1)


def test_a_question_counts_in_each_of_its_categories_in_the_order_wanted() -> None:
    questions = [
        Question("1", "v", "?", groups={"kind": ("B", "A")}),
        Question("2", "v", "?", groups={"kind": ("A",)}),
        Question("3", "v", "?"),
    ]
    assert grouped(questions, "kind") == {"B": [0], "A": [0, 1]}
    scored = [Scored("1", 1.0, parts={"recall": 0.5}), Scored("2", 0.0), Scored("3", 0.0)]
    names = [f.name for f in accuracy_figures(questions, scored, ["kind"], order=["A"])]
    assert names == ["all", "all", "A", "B"]
    only = figure(questions, scored, "recall", part("recall"))
    assert (only.value, only.n, only.chance) == (0.5, 1, None)


def test_chance_follows_the_number_of_options() -> None:
    questions = [Question("1", "v", "?", ("a", "b"), 0), Question("2", "w", "?", ("a", "b", "c", "d"), 0)]
    scored = [Scored("1", 1.0), Scored("2", 0.0)]
    assert accuracy_figures(questions, scored)[0].chance == 0.375


def test_two_models_are_compared_on_the_same_questions_video_by_video() -> None:
    asked, first = _asked(*[(f"v{i}", "X" if i < 4 else "Y", 0, True) for i in range(8)])
    second = [Scored(s.question, float(i < 4)) for i, s in enumerate(first)]
    everything, x, y = differences(asked, first, second, ["task"])
    assert (everything.difference, everything.only_first, everything.only_second) == (0.5, 0, 4)
    # four videos differ, all one way: 2 of the 16 patterns of signs are as far out
    assert everything.p == everything.p_holm == x.p == 0.125
    assert (x.p_holm, y.p, y.p_holm) == (0.25, 1.0, 1.0)
    assert (x.name, x.first, x.second, x.low, x.high) == ("X", 0.0, 1.0, 1.0, 1.0)


def test_ten_questions_of_one_video_are_one_piece_of_evidence() -> None:
    asked, first = _asked(*[("v", "X", 0, True)] * 10)
    second = [Scored(s.question, 1.0) for s in first]
    (found,) = differences(asked, first, second)
    assert (found.difference, found.p, found.low) == (1.0, 1.0, None)


def test_a_question_is_compared_where_both_have_a_value() -> None:
    asked, first = _asked(("a", "X", 1, True), ("b", "X", 1, False), ("c", "X", None, True))
    second = [Scored("0", 0.0), Scored("1", 1.0), Scored("2", 1.0)]
    (found,) = differences(asked, first, second)
    assert (found.n, found.difference) == (2, -0.5)
    assert differences(asked[2:], first[2:], second[2:], ["task"]) == []


def _twins(rows: list[tuple[str, str | None, str, float | None]]) -> tuple[list[Question], list[Scored]]:
    """Questions and what they got, from (video, its twin, model, value); of twins the first by name moves left."""
    questions = [
        Question(
            str(i), video, "Left?", ("Yes", "No"), int(video > str(twin)), reference={"pair": twin, "model": model}
        )
        for i, (video, twin, model, _) in enumerate(rows)
    ]
    return questions, [Scored(str(i), value) for i, (*_, value) in enumerate(rows)]


def test_a_pair_is_right_where_both_of_one_model_and_sample_are() -> None:
    questions, scored = _twins([
        ("1", "2", "m", 1.0), ("1", "2", "m", 1.0), ("1", "2", "n", 1.0), ("3", None, "m", 1.0), ("5", "6", "m", 1.0),
        ("2", "1", "m", 1.0), ("2", "1", "m", 0.0), ("2", "1", "n", None), ("4", "3", "m", 1.0), ("6", "5", "m", 0.0),
        ("6", "5", "m", 1.0),  # a second sample without a twin
    ])  # fmt: skip
    pairs, values = pairs_of(questions, scored)
    assert [(pair.id, pair.video) for pair in pairs] == [
        ("0 & 5", "1 & 2"), ("1 & 6", "1 & 2"), ("2 & 7", "1 & 2"), ("4 & 9", "5 & 6")
    ]  # fmt: skip
    assert [value.value for value in values] == [1.0, 0.0, None, 0.0]
    shown = figure(pairs, values)
    assert (shown.value, shown.n, shown.clusters) == (pytest.approx(1 / 3), 3, 2)
    questions[0] = replace(questions[0], groups={"contrast": ("direction",)})
    figures = pair_figures(questions, scored)
    assert [(f.group, f.name, f.measure, f.value, f.chance) for f in figures] == [
        ("all", "all", "pairs", pytest.approx(1 / 3), 0.25), ("contrast", "direction", "pairs", 1.0, 0.25)
    ]  # fmt: skip
    assert "left out: 2 without a clip of the twin" in figures[0].note  # "4", and the second "6"
    assert pair_figures(questions[3:4], scored[3:4]) == []


def test_what_is_right_of_both_clips_is_no_pair() -> None:
    questions, scored = _twins([("1", "2", "m", 1.0), ("2", "1", "m", 0.0), ("1", "2", "m", 1.0), ("2", "1", "m", 1.0)])
    questions[2:] = [replace(question, text="Is there a ball?", answer=0) for question in questions[2:]]
    assert [pair.id for pair in pairs_of(questions, scored)[0]] == ["0 & 1"]
    (shown,) = pair_figures(questions, scored)
    assert (shown.value, shown.n) == (0.0, 1)
    assert "left out: 2 without" in shown.note and "or with its right answer" in shown.note


def test_always_yes_gets_no_pair_right_and_guessing_a_quarter() -> None:
    rows = [(f"{i}{side}", f"{i}{'ba'[k]}", "m", None) for i in range(4000) for k, side in enumerate("ab")]
    questions, _ = _twins(rows)
    right = [1.0 if question.video.endswith("a") else 0.0 for question in questions]
    drawn = np.random.default_rng(0).integers(2, size=len(questions)).astype(float).tolist()
    for answers, expected in ((right, 0.0), (drawn, PAIR_CHANCE)):
        pairs, values = pairs_of(questions, [Scored(q.id, v) for q, v in zip(questions, answers, strict=True)])
        assert figure(pairs, values).value == pytest.approx(expected, abs=0.025)
