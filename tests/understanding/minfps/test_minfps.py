"""minFPS: the procedure, its annotators, their journals and what is made of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests import endpoint_server as server
from tests.bad_inputs import write_video
from vmmetrics.cli.app import understand as app
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.models.frames import Frames
from vmmetrics.models.protocol import ModelAnswer, OneByOne
from vmmetrics.models.questions import LETTERS, Question
from vmmetrics.understanding import registry
from vmmetrics.understanding.minfps import (
    NEVER,
    QuestionRate,
    agreement,
    bucket_of,
    distributions,
    search,
)
from vmmetrics.understanding.minfps.asking import (
    Asked,
    extent_of,
    frames_at,
    model_annotator,
    person_annotator,
    rates_found,
    reader_annotator,
)
from vmmetrics.understanding.synthetic import suite
from vmmetrics.utils.endpoint import wire
from vmmetrics.utils.endpoint.messages import RejectedError, Turn
from vmmetrics.video import read_clip

CUSTOM = registry.find("custom")
NOTA = "None of the above"


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """Two seconds of 20 frames, each brighter than the one before."""
    levels = (10 * np.arange(1, 21)).astype(np.uint8)
    return write_video(tmp_path / "v.mp4", np.tile(levels[:, None, None, None], (1, 32, 48, 3)))


@pytest.fixture
def question(clip: Path) -> Question:
    return Question("q", "v", "What?", ("rises", "falls", "turns", "stays", NOTA), 2, {}, clip)


class Knowing(OneByOne):
    """Answers right where it is shown enough frames, by their number; else the first option."""

    sees = True
    name = "knowing"

    def __init__(self, frames: int, error: str | Exception | None = None) -> None:
        self.frames, self.error, self.identity = frames, error, {"knows": frames}
        self.asked: list[tuple[str, ...]] = []

    def answer(self, question: Question, turns: list[Turn], frames: Frames) -> ModelAnswer:
        self.asked.append(question.options)
        assert question.options[0] in turns[-1].text
        if isinstance(self.error, Exception):
            raise self.error
        right = LETTERS[question.answer or 0] if len(frames.pictures) >= self.frames else "A"
        return ModelAnswer(right, self.error)


def test_the_procedure_by_hand() -> None:
    assert search(lambda rate: rate >= 3, 30, 10).tried == ((1, False), (2, False), (3, True))
    halving = search(lambda rate: rate >= 0.25, 30, 10)
    assert halving.tried == ((1, True), (0.5, True), (0.25, True), (0.125, False))
    assert halving.min_fps == 0.25
    assert search(lambda rate: rate >= 5, 4.5, 10).tried[-1] == (4.5, False)
    assert search(lambda rate: rate >= 5, 4.5, 10).min_fps is None
    one_frame = search(lambda rate: True, 30, 3)
    assert one_frame.tried == ((1, True), (0.5, True), (0.25, True))  # 0.25 fps shows one frame of 3 seconds


def by_definition(answerable: Callable[[float], bool], native: float, seconds: float) -> float | None:
    """The procedure in FPS-Bench's words, over all rates that it could try."""
    first = min(1.0, native)
    upwards = [*(float(n) for n in range(2, 100) if n < native - 1e-6), native]
    if not answerable(first):
        return next((rate for rate in upwards if rate > first and answerable(rate)), None)
    halves = [first]
    while halves[-1] * seconds > 1 + 1e-6:
        halves.append(halves[-1] / 2)
    return next((rate for rate, half in pairwise(halves) if not answerable(half)), halves[-1])


@given(
    st.sampled_from([0.5, 1, 24, 29.97, 60]), st.floats(0.3, 60), st.integers(0, 99), st.floats(0, 1), st.floats(0, 40)
)
def test_the_procedure_is_the_one_defined(native: float, seconds: float, seed: int, noise: float, truth: float) -> None:
    """For answerers who know from a rate on, and for others: each rate at which they err is drawn."""

    def answerable(rate: float) -> bool:
        return (rate >= truth) != (random.Random(f"{seed} {rate}").random() < noise / 2)

    found = search(answerable, native, seconds)
    assert found.min_fps == by_definition(answerable, native, seconds)
    assert found.min_fps is None or dict(found.tried)[found.min_fps]
    assert len(dict(found.tried)) == len(found.tried)  # none is asked twice


def test_the_frame_reader_finds_what_the_suite_was_made_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flash = [item for item in suite.make(6, 0) if item.id.startswith("flash")]
    monkeypatch.setattr(suite, "make", lambda *_: flash)
    assert len(list(suite.write_suite(tmp_path / "suite", 1))) == 1
    questions = list(registry.find("synthetic").load(tmp_path / "suite").questions)
    with Asked(tmp_path, reader_annotator(), {"suite": 2}) as asked:
        found = [(question.id, rate, why) for question, rate, why in asked.work_through(questions)]
    assert found == [(q.id, q.reference["min_fps"], None) for q in questions]
    assert [(q.question, q.min_fps, q.known) for q in rates_found(tmp_path, questions)] == [
        (q.id, q.reference["min_fps"], q.reference["min_fps"]) for q in questions
    ]
    # frames from the clip's beginning alone happen to meet an event that the rate does not show
    below = questions[0].reference["min_fps"] * np.linspace(0.4, 0.98, 12)
    assert any(reader_annotator(phases=1).answerable(questions[0], float(rate)) for rate in below)


class Somebody:
    name, identity = "somebody", {"person": "somebody"}

    def __init__(self) -> None:
        self.calls: list[float] = []

    def answerable(self, question: Question, rate: float) -> bool:
        self.calls.append(rate)
        if len(self.calls) == 2:
            raise KeyboardInterrupt
        return rate >= 3


def test_what_was_said_is_not_asked_again_and_others_questions_are_refused(question: Question, tmp_path: Path) -> None:
    somebody = Somebody()
    with pytest.raises(KeyboardInterrupt), Asked(tmp_path, somebody, {"data": 1}) as asked:
        list(asked.work_through([question]))
    assert rates_found(tmp_path, [question]) == []
    for _ in range(2):
        with Asked(tmp_path, somebody, {"data": 1}) as asked:
            ((_, rate, _),) = asked.work_through([question])
        assert rate == 3
    assert somebody.calls == [1, 2, 2, 3]
    with pytest.raises(SetupError, match="other questions"):
        Asked(tmp_path, somebody, {"data": 2})
    with pytest.raises(SetupError, match=r"somebody.jsonl is about other questions"):  # whose ids may be the same
        Asked(tmp_path, reader_annotator(), {"data": 2})


def test_a_model_must_be_right_every_time_in_every_order(question: Question) -> None:
    model = Knowing(frames=8)
    annotator = model_annotator(model, CUSTOM, asks=4)
    assert annotator.answerable(question, 4.0)
    assert len(set(model.asked)) == len(model.asked) == 4
    assert all(sorted(options) == sorted(question.options) and options[-1] == NOTA for options in model.asked)
    assert not annotator.answerable(question, 3.0)  # "A" is not right in all orders
    with pytest.raises(SetupError, match="no key"):
        annotator.answerable(Question("q", "v", "?", ("a", "b"), path=question.path), 1.0)


@pytest.mark.parametrize("error", ["the model refused", RejectedError("too many pictures")])
def test_no_answer_is_no_rate(question: Question, tmp_path: Path, error: str | Exception) -> None:
    annotator = model_annotator(Knowing(2, error), CUSTOM, 4)
    with Asked(tmp_path, annotator, {}) as asked:
        ((_, rate, why),) = asked.work_through([question])
    assert rate is None and why == f"at 1 fps: {error}"
    assert rates_found(tmp_path, [question]) == [] and asked.verdicts == {}


def changes(path: Path) -> tuple[list[float], float]:
    """Seconds at which a film changes, and its length."""
    film = read_clip(path)
    levels = film.frames.mean((1, 2, 3))
    return [round(float(i + 1) / film.fps, 2) for i in np.flatnonzero(np.diff(levels) > 3)], len(film) / film.fps


def test_a_person_is_shown_the_clip_at_the_rate(question: Question, tmp_path: Path) -> None:
    seen = []

    def ask(_: Question, path: Path, rate: float) -> bool:
        seen.append((rate, *changes(path)))
        return True

    assert person_annotator("ann", tmp_path / "clips", ask).answerable(question, 2.0)
    assert seen == [(2, [0.5, 1.0, 1.5], 2.0)]
    assert list((tmp_path / "clips").iterdir()) == []


def test_where_the_file_stands_still_so_does_the_film(tmp_path: Path) -> None:
    """Frames at 0, 0.1, 0.2, then none until 1.5 s."""
    times = [0, 100, 200, 1500, 1600, 1700]
    frames = np.tile((40 * np.arange(1, 7)).astype(np.uint8)[:, None, None, None], (1, 32, 48, 3))
    path = write_video(tmp_path / "v.mp4", frames, times=times)
    question = Question("q", "v", "?", ("a", "b"), 0, {}, path)
    assert extent_of(question) == (pytest.approx(10), pytest.approx(1.8))  # not six frames in 1.8 seconds
    seen = []

    def ask(_: Question, film: Path, __: float) -> bool:
        seen.append(changes(film))
        return True

    assert person_annotator("ann", tmp_path / "clips", ask).answerable(question, 10.0)
    assert seen == [([0.1, 0.2, 1.5, 1.6, 1.7], pytest.approx(1.8))]


def test_more_frames_than_are_shown_would_be_another_rate(question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmmetrics.understanding.minfps.asking.MOST", 10)
    assert len(frames_at(question, 5.0).pictures) == 10
    with pytest.raises(ClipError, match="at 6 fps it has more than 10 frames"):
        frames_at(question, 6.0)


def test_a_missing_video_is_told_and_the_others_go_on(question: Question, tmp_path: Path) -> None:
    gone = Question("gone", "gone", "?", ("a", "b"), 0)
    with pytest.raises(ClipError):
        extent_of(gone)
    with Asked(tmp_path, model_annotator(Knowing(1), CUSTOM, 4), {}) as asked:
        found = list(asked.work_through([gone, question]))
    assert found[0][2] is not None and found[1][1:] == (0.5, None)


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


@pytest.fixture
def command(question: Question, tmp_path: Path) -> Callable[..., Any]:
    """``understand minfps`` over one question that states 3 fps; its result."""
    line = CUSTOM_LINE | {"path": str(question.path)}
    (tmp_path / "questions.jsonl").write_text(json.dumps(line) + "\n")

    def run(*options: str, said: str = "") -> Any:
        named = ["--data", str(tmp_path / "questions.jsonl"), "--out", str(tmp_path / "out")]
        return CliRunner().invoke(app, ["minfps", "custom", *named, *options], input=said)

    return run


CUSTOM_LINE = {"id": "q", "video": "v", "text": "What?", "options": ["rises", "falls"], "answer": "B",
               "reference": {"min_fps": 3}}  # fmt: skip


def test_the_command_asks_two_annotators_and_goes_on(command: Callable[..., Any], tmp_path: Path) -> None:
    stopped = command("--annotator", "person:Ann", said="n\n")
    assert stopped.exit_code == 130
    person = command("--annotator", "person:Ann", said="n\ny\n")
    assert person.exit_code == 0 and "as stated by the benchmark: 1 of 1" in person.output
    assert "shows 2 frames a second" in person.output and "A. rises" in person.output
    assert command("--annotator", "person:Bob", said="y\nn\n").exit_code == 0
    (found,) = json.loads((tmp_path / "out" / "minfps.json").read_text())["questions"]
    assert found["by"] == {"Ann": 3.0, "Bob": 1.0} and found["min_fps"] == 1.0
    assert command("--annotator", "nobody").exit_code == 2
    assert command("--annotator", "random", "--page").exit_code == 2


def test_an_endpoint_is_asked_once_its_cost_is_agreed_to(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VMMETRICS_ENDPOINT_KEY", "k")
    monkeypatch.setattr(wire.time, "sleep", lambda _: None)
    usage = {"prompt_tokens": 500, "completion_tokens": 1}
    script = server.Script(answer=lambda _: server.completion("The one that falls", usage=usage))
    url, stop = server.serve(script)
    options = ("--annotator", f"endpoint:m@{url}", "--price-per-million", "1", "1", "--max-cost", "0.05")
    declined = command(*options, said="n\n")
    assert declined.exit_code == 1 and script.requests == []
    # rates 1 to 10 of two seconds: 2 + 4 + ... + 20 frames in 10 requests
    assert "m, at most: 10 requests, about 84," in declined.output
    agreed = command(*options, "--yes")
    assert agreed.exit_code == 0, agreed.output
    # right at 1 and 0.5 fps, in both orders of two options; the other two asks find the replies kept
    assert len(script.requests) == 4 and "this time: 4 replies" in agreed.output
    again = command(*options)  # nothing is left to agree to
    assert again.exit_code == 0 and len(script.requests) == 4
    stop()
