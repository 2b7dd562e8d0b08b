"""minFPS: the procedure, its annotators, their journals and what is made of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from vmmetrics.cli.understand import app
from vmmetrics.endpoint import Turn
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.report.minfps_chart import minfps_chart
from vmmetrics.understanding.benchmarks import registry
from vmmetrics.understanding.frames import Frames
from vmmetrics.understanding.minfps import (
    NEVER,
    QuestionRate,
    agreement,
    bucket_of,
    distribution,
    distributions,
    search,
)
from vmmetrics.understanding.minfps_asking import (
    Asked,
    ModelAnnotator,
    OracleAnnotator,
    PersonAnnotator,
    extent_of,
    rates_found,
    reordered,
)
from vmmetrics.understanding.models.protocol import OneByOne, Said
from vmmetrics.understanding.questions import LETTERS, Question
from vmmetrics.understanding.synthetic.files import write_suite
from vmmetrics.video import read_clip


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    assert len(list(write_suite(folder, 4, 2))) == 4
    return folder


@pytest.fixture(scope="module")
def questions(suite: Path) -> list[Question]:
    return list(registry.find("synthetic").load(suite).questions)


class Knowing(OneByOne):
    """Answers right where it is shown enough frames, by their number; else the first option."""

    sees = True
    name = "knowing"

    def __init__(self, frames: int) -> None:
        self.frames, self.identity = frames, {"knows": frames}
        self.asked: list[tuple[str, ...]] = []

    def answer(self, question: Question, turns: list[Turn], frames: Frames) -> Said:
        self.asked.append(question.options)
        assert question.options[0] in turns[-1].text
        return Said(LETTERS[question.answer or 0] if len(frames.pictures) >= self.frames else "A")


def test_the_procedure_by_hand() -> None:
    assert search(lambda rate: rate >= 3, 30, 10).tried == ((1, False), (2, False), (3, True))
    halving = search(lambda rate: rate >= 0.25, 30, 10)
    assert halving.tried == ((1, True), (0.5, True), (0.25, True), (0.125, False))
    assert halving.min_fps == 0.25
    assert search(lambda rate: rate >= 5, 4.5, 10).tried[-1] == (4.5, False)
    assert search(lambda rate: rate >= 5, 4.5, 10).min_fps is None
    one_frame = search(lambda rate: True, 30, 3)
    assert one_frame.tried == ((1, True), (0.5, True), (0.25, True))  # 0.25 fps shows one frame of 3 seconds


@given(st.floats(0.02, 40), st.sampled_from([24.0, 25.0, 29.97, 60.0]), st.floats(0.5, 60))
def test_the_procedure_ends_where_the_truth_says(truth: float, native: float, seconds: float) -> None:
    found = search(lambda rate: rate >= truth, native, seconds).min_fps
    if truth > native:
        assert found is None
    elif truth > 1:
        assert found == min(np.ceil(truth), native)
    else:
        assert found is not None and found >= truth
        assert found / 2 < truth or found * seconds <= 1 + 1e-6


def test_the_oracle_finds_what_the_suite_was_made_with(questions: list[Question], tmp_path: Path) -> None:
    asked = Asked(tmp_path, OracleAnnotator(), {"suite": 2})
    found = list(asked.work_through(questions))
    for question, rate, why in found:
        assert why is None
        assert rate == question.reference["min_fps"], question.id
    assert [(q.question, q.min_fps, q.known) for q in rates_found(tmp_path, questions)] == [
        (q.id, q.reference["min_fps"], q.reference["min_fps"]) for q in questions
    ]


def test_the_oracle_takes_no_event_for_shown_that_frames_happen_to_meet(tmp_path: Path) -> None:
    list(write_suite(tmp_path, 6, 0))
    flash = next(q for q in registry.find("synthetic").load(tmp_path).questions if q.groups["task"] == ("flash",))
    rates = np.arange(1.0, 0.81 * flash.reference["min_fps"])
    assert not any(OracleAnnotator().answerable(flash, rate) for rate in rates)
    assert OracleAnnotator().answerable(flash, flash.reference["min_fps"])


def test_what_was_said_is_not_asked_again_and_others_questions_are_refused(
    questions: list[Question], tmp_path: Path
) -> None:
    calls: list[float] = []

    class Somebody:
        name, identity = "somebody", {"person": "somebody"}

        def answerable(self, question: Question, rate: float) -> bool:
            calls.append(rate)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return rate >= 3

    with pytest.raises(KeyboardInterrupt):
        list(Asked(tmp_path, Somebody(), {"data": 1}).work_through(questions[:1]))
    assert rates_found(tmp_path, questions) == []
    for _ in range(2):
        ((_, rate, _),) = Asked(tmp_path, Somebody(), {"data": 1}).work_through(questions[:1])
        assert rate == 3
    assert calls == [1, 2, 2, 3]
    with pytest.raises(SetupError, match="other questions"):
        Asked(tmp_path, Somebody(), {"data": 2})


def test_a_model_must_be_right_every_time_in_every_order(questions: list[Question]) -> None:
    question = questions[0]
    _, seconds = extent_of(question)
    model = Knowing(frames=int(3 * seconds))
    annotator = ModelAnnotator(model, registry.find("synthetic"), asks=4)
    assert annotator.answerable(question, 4.0)
    assert len(model.asked) == 4 and len(set(model.asked)) > 1
    assert all(sorted(options) == sorted(question.options) for options in model.asked)
    assert not annotator.answerable(question, 1.0)  # "A" is not right in all orders


def test_orders_keep_the_right_option_and_need_a_key() -> None:
    question = Question("q", "v", "?", ("a", "b", "c", "d"), 2)
    assert reordered(question, 0) == question
    for ask in range(1, 6):
        again = reordered(question, ask)
        assert again.options[again.answer or 0] == "c" and again == reordered(question, ask)
    with pytest.raises(SetupError, match="key"):
        reordered(Question("q", "v", "?", ("a", "b")), 1)


def test_a_person_is_shown_the_clip_at_the_rate(questions: list[Question], tmp_path: Path) -> None:
    seen = []

    def ask(question: Question, path: Path, rate: float) -> bool:
        clip = read_clip(path)
        pictures = clip.frames.astype(int)
        changes = int((np.abs(np.diff(pictures, axis=0)).max(axis=(1, 2, 3)) > 60).sum())
        seen.append((rate, clip.fps, len(clip) / clip.fps, changes))
        return True

    question = questions[0]
    _, seconds = extent_of(question)
    assert PersonAnnotator("ann", tmp_path / "clips", ask).answerable(question, 2.0)
    ((rate, fps, length, changes),) = seen
    assert rate == 2 and fps >= 24
    assert length == pytest.approx(np.ceil(2 * seconds) / 2, abs=0.1)
    assert changes <= np.ceil(2 * seconds)
    assert list((tmp_path / "clips").iterdir()) == []


def test_a_missing_video_is_told_and_the_others_go_on(questions: list[Question], tmp_path: Path) -> None:
    gone = Question("gone", "gone", "?", ("a", "b"), 0)
    with pytest.raises(ClipError):
        extent_of(gone)
    found = list(Asked(tmp_path, OracleAnnotator(), {}).work_through([gone, questions[0]]))
    assert found[0][2] is not None and found[1][2] is None


def test_the_minimum_over_annotators_counts() -> None:
    groups = {"task": ("count",)}
    found = [
        QuestionRate("a", {"x": 4.0, "y": 6.0}, groups),
        QuestionRate("b", {"x": None, "y": 8.0}, groups),
        QuestionRate("c", {"x": None, "y": None}, {"task": ("order",)}),
        QuestionRate("d", {"x": 0.5}, {}),
    ]
    assert [question.min_fps for question in found] == [4, 8, None, 0.5]
    whole, counts, order = distributions(found, "task")
    assert (whole.n, whole.never, whole.mean) == (4, 1, pytest.approx(12.5 / 3))
    assert whole.quartiles == (2.25, 4.0, 6.0)
    assert {name: n for name, n in whole.buckets.items() if n} == {"up to 1": 1, "4": 1, "8 to 10": 1, NEVER: 1}
    assert (counts.n, order.mean, order.quartiles) == (2, None, None)
    assert agreement(found) == pytest.approx(1 / 3)  # c: both say never
    assert agreement(found[3:]) is None
    assert bucket_of(10) == "8 to 10" and bucket_of(10.5) == "above 10"
    axes = minfps_chart([whole, counts, order], "t").axes
    assert [bar.get_height() for bar in axes[0].patches] == list(whole.buckets.values())
    assert len(axes[1].get_yticklabels()) == 1  # order has no rate to draw
    assert len(minfps_chart([distribution([])], "none").axes) == 1


def test_the_command_asks_two_annotators_and_goes_on(suite: Path, questions: list[Question], tmp_path: Path) -> None:
    runner, out = CliRunner(), tmp_path / "out"
    command = ["minfps", "synthetic", "--data", str(suite), "--out", str(out), "--limit", "1"]
    first = runner.invoke(app, [*command, "--by", "oracle", "--picture", str(tmp_path / "p.png")])
    assert first.exit_code == 0, first.output
    assert "as stated by the benchmark: 1 of 1" in first.output
    assert (tmp_path / "p.png").stat().st_size > 10_000
    stopped = runner.invoke(app, [*command, "--by", "person:Ann"], input="n\n")
    assert stopped.exit_code == 130
    person = runner.invoke(app, [*command, "--by", "person:Ann"], input="n\ny\n")
    assert person.exit_code == 0, person.output
    assert questions[0].options[0] in person.output
    (found,) = json.loads((out / "minfps.json").read_text())["questions"]
    known = questions[0].reference["min_fps"]
    assert found["by"] == {"oracle": known, "Ann": 3.0} and found["min_fps"] == min(known, 3.0)
    assert runner.invoke(app, [*command, "--by", "nobody"]).exit_code == 2
