"""Models by name: endpoints that behave and misbehave, recorded answers in every form, guesses."""

from __future__ import annotations

import base64
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests import endpoint_server as server
from vmmetrics.errors import SetupError
from vmmetrics.models.answer_rows import answers_in
from vmmetrics.models.endpoint import EndpointModel, encoded
from vmmetrics.models.frames import NO_FRAMES, Frames
from vmmetrics.models.protocol import Model
from vmmetrics.models.questions import Question, Shown
from vmmetrics.models.recorded import RecordedModel
from vmmetrics.understanding.harness.models import ModelSettings, open_model
from vmmetrics.utils.endpoint import wire
from vmmetrics.utils.endpoint.messages import CostLimitError, NoAnswerError, RejectedError, Turn

QUESTION = Question("q1", "v", "Which way?", ("left", "right"), 1)
TURNS = (Turn("system", "Look."), Turn("user", "Which way?\nA. left\nB. right"))
FRAMES = Frames(
    np.stack([np.full((32, 48, 3), level, np.uint8) for level in (20, 120, 220)]),
    Shown((0.0, 0.5, 2.0), "made"),
    (0.0, 0.5, 2.0),
    1.0,
)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[EndpointModel, Any]]]:
    monkeypatch.setattr(wire, "LONGEST_PAUSE", 0.0)
    stops = []

    def start(*steps: Any, answer: Any = None, **settings: Any) -> tuple[EndpointModel, Any]:
        script = server.Script(list(steps), answer)
        url, stop = server.serve(script)
        stops.append(stop)
        model = open_model(ModelSettings(f"endpoint:org/model@{url}", **settings), [QUESTION], tmp_path / "replies")
        assert isinstance(model, EndpointModel)
        return model, script

    yield start
    for stop in stops:
        stop()


def content(script: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = script.requests[-1][1]["messages"][-1]["content"]
    return found


def test_frames_go_to_an_endpoint_as_pictures_before_the_question(served: Any) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 2}
    model, script = served(server.completion("B", usage=usage), prices=(1.0, 10.0))
    found = model.answer(QUESTION, TURNS, FRAMES)
    assert (found.text, found.error) == ("B", None)
    assert found.usage == {"input_tokens": 1000, "output_tokens": 2, "cost": pytest.approx(1020e-6)}
    times, *pictures, words = content(script)
    assert times == {"type": "text", "text": "Shown: 3 of its frames, at 0, 0.5, 2 s."}
    assert words == {"type": "text", "text": TURNS[1].text}
    levels = []
    for picture in pictures:
        data = base64.b64decode(picture["image_url"]["url"].removeprefix("data:image/jpeg;base64,"))
        with av.open(io.BytesIO(data)) as opened:
            levels.append(next(opened.decode(video=0)).to_ndarray(format="gray").mean())
    np.testing.assert_allclose(levels, [20, 120, 220], atol=3)
    assert script.requests[0][1]["model"] == "org/model"
    assert "response_format" not in script.requests[0][1]


def test_nothing_is_asked_twice_and_another_frame_is_another_question(served: Any) -> None:
    model, script = served(server.completion("A"))
    for _ in range(2):
        model.answer(QUESTION, TURNS, FRAMES)
        model.answer(QUESTION, TURNS, NO_FRAMES)
    assert len(script.requests) == 2
    assert script.requests[-1][1]["messages"][-1]["content"] == TURNS[1].text  # blind: words alone
    other = Frames(FRAMES.pictures[::-1].copy(), FRAMES.shown, FRAMES.times, 1.0)
    model.answer(QUESTION, TURNS, other)
    assert len(script.requests) == 3


def test_a_video_part_has_the_frames_at_the_times_that_are_told(served: Any) -> None:
    model, script = served(server.completion("A"), form="video")
    model.answer(QUESTION, TURNS, FRAMES)
    (part, _) = content(script)
    data = base64.b64decode(part["video_url"]["url"].removeprefix("data:video/mp4;base64,"))
    with av.open(io.BytesIO(data)) as opened:
        found = [(frame.time, frame.to_ndarray(format="gray").mean()) for frame in opened.decode(video=0)]
        rate, length = opened.streams.video[0].average_rate, opened.duration / 1e6
    np.testing.assert_allclose([time for time, _ in found], [0, 0.5, 2.0], atol=2e-3)
    assert np.all(np.diff([level for _, level in found]) > 80)
    # servers work with the mean rate: three frames over 2 s, so 1 s each, the last too
    assert (rate, length) == (1, pytest.approx(3))
    one = Frames(FRAMES.pictures[:1], Shown((0.0,), "made"), (0.0,), 1.0)
    model.answer(QUESTION, TURNS, one)
    assert [part["type"] for part in content(script)] == ["text", "image_url", "text"]


def test_frames_close_together_and_of_odd_sides_make_a_video() -> None:
    told = tuple(place / 10_000 for place in range(4))
    found = encoded(Frames(np.zeros((4, 33, 47, 3), np.uint8), Shown(told, "made"), told, 1e4))
    with av.open(io.BytesIO(found.data)) as opened:
        assert [round(frame.time, 5) for frame in opened.decode(video=0)] == pytest.approx(told, abs=1e-5)


def test_an_endpoint_that_misbehaves_is_asked_again(served: Any) -> None:
    model, script = served(
        (503, {}, b"busy"), server.truncated, server.hang_up, (429, {"Retry-After": "0"}, b""), server.completion("B")
    )
    assert model.answer(QUESTION, TURNS, FRAMES).text == "B"
    assert len(script.requests) == 5


def test_what_an_endpoint_does_not_answer_is_told_apart(served: Any) -> None:
    model, _ = served((500, {}, b"down"))
    with pytest.raises(NoAnswerError):
        model.answer(QUESTION, TURNS, FRAMES)
    model, _ = served((400, {}, b"maximum context length exceeded"))
    with pytest.raises(RejectedError, match="context length"):
        model.answer(QUESTION, TURNS, NO_FRAMES)
    model, _ = served((401, {}, b"who are you"))
    with pytest.raises(SetupError, match="key"):
        model.answer(QUESTION, TURNS[1:], NO_FRAMES)


def test_what_came_instead_of_an_answer_is_quoted_without_the_key(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VMMETRICS_ENDPOINT_KEY", "sk-0123")
    model, _ = served((200, {}, b"<html>\x1b[2J sk-0123\n gateway</html>"))
    with pytest.raises(NoAnswerError, match=r"but: <html> \[2J \*\*\* gateway</html>$"):
        model.answer(QUESTION, TURNS, FRAMES)


def test_refusals_and_cut_answers_are_recorded(served: Any) -> None:
    model, _ = served(server.completion(None, refusal="no"), server.completion("It all beg", finish="length"))
    assert model.answer(QUESTION, TURNS, FRAMES).error == "the model refused"
    cut = model.answer(QUESTION, TURNS, NO_FRAMES)
    assert (cut.text, cut.error, cut.usage["cut"]) == ("It all beg", None, 1)


def test_the_bound_on_the_cost_holds_before_anything_is_sent(served: Any) -> None:
    model, script = served(server.completion("A"), prices=(100.0, 100.0), max_cost=0.01)
    with pytest.raises(CostLimitError):
        model.answer(QUESTION, TURNS, FRAMES)
    assert script.requests == []
    estimate = model.estimate([TURNS] * 10, 3, 5)
    assert estimate.requests == 10
    assert estimate.input_tokens > 10 * 3 * 500
    assert estimate.cost == pytest.approx((estimate.input_tokens + 50) * 1e-4)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ('{"a": "B", "b": "(C) left"}', {"a": "B", "b": "(C) left"}),
        ('{"a": {"prediction": "B"}, "b": {"raw_response": "C"}}', {"a": "B", "b": "C"}),
        ('[{"id": "a", "prediction": "B"}, {"id": 2, "output": "C"}]', {"a": "B", "2": "C"}),
        ('{"id": "a", "prediction": "", "raw_response": "So: B"}\n\n{"id": "b", "raw_response": "C"}\n',
         {"a": "So: B", "b": "C"}),
        ('{"u1": "(A) x"}\n{"u2": "B"}\n{"u1": "C"}', {"u1": "(A) x", "u2": "B"}),  # MotionBench, a key twice
        ('{"u1": " "}\n{"u1": "C"}', {"u1": "C"}),
        ('{"clip": [{"task_type": "AS", "correct_answer": "x", "output": "y", "judge": false}, {"output": "z"}]}',
         {"clip_0": "y", "clip_1": "z"}),  # FAVOR-Bench's results
        ('[{"clip.mp4": "A man walks."}, {"other": "He sits."}]', {"clip": "A man walks.", "other": "He sits."}),
        ('{"TUNA_0001": "A caption."}', {"TUNA_0001": "A caption."}),
        ('{"question": "q1", "text": "B", "shown": {"seconds": [0.5]}}\n', {"q1": "B"}),  # our own
        ('\ufeff{"a": "B", "zz": NaN}', {"a": "B"}),
        ('{"question": "q1", "text": "B\u2028\x85so"}\n{"question": "q2", "text": "C"}\n',
         {"q1": "B\u2028\x85so", "q2": "C"}),
        ('{"question": "q1", "error": "gone"}\n{"question": "q2", "text": "C"}\n', {"q2": "C"}),
        ('[{"id": 7.0, "prediction": "B"}, {"id": 8.0, "prediction": NaN}]', {"7": "B"}),
        ('{"clip.mp4": "B"}', {"clip.mp4": "B"}),  # a question's own key may end so
    ],
)  # fmt: skip
def test_recorded_answers_in_every_form(tmp_path: Path, text: str, answers: dict[str, str]) -> None:
    (tmp_path / "answers").write_text(text, encoding="utf-8")
    questions = [Question(key, "v", "?") for key in answers]
    model = open_model(ModelSettings(f"recorded:{tmp_path / 'answers'}"), questions, tmp_path)
    assert {q.id: model.answer(q, TURNS, NO_FRAMES).text for q in questions} == answers
    assert model.answer(Question("zz", "v", "?"), TURNS, NO_FRAMES).error == "no recorded answer"


def test_recorded_answers_in_a_table(tmp_path: Path) -> None:
    file = tmp_path / "answers.tsv"
    file.write_text('index\tprediction\n0\tB\n1\t"C\tso"\n')
    assert {row.key: row.text for row in answers_in(file)} == {"0": "B", "1": "C\tso"}


def test_lines_of_recorded_answers_that_were_cut_off_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"question": "q1", "text": "B"}\n{"question": "q2", "te')
    model = RecordedModel(file)
    assert model.answers == {"q1": "B"}
    assert model.problems == {"lines of recorded answers that are not JSON": 1}


def test_the_key_is_never_taken_for_answers(tmp_path: Path) -> None:
    file = tmp_path / "released.jsonl"
    file.write_text(json.dumps({"uid": "a", "question": "Which?", "answer": "B"}))
    assert not list(answers_in(file))


def test_recorded_answers_to_other_questions_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    file.write_text('{"TUNA_0001": "x"}')
    with pytest.raises(SetupError, match=r"'TUNA_0001'.*'q1'"):
        open_model(ModelSettings(f"recorded:{file}"), [QUESTION], tmp_path)
    file.write_text("A, B, C")
    with pytest.raises(SetupError, match="line 1"):
        open_model(ModelSettings(f"recorded:{file}"), [QUESTION], tmp_path)
    with pytest.raises(SetupError, match="Cannot read"):
        open_model(ModelSettings(f"recorded:{tmp_path / 'no'}"), [QUESTION], tmp_path)


def test_descriptions_may_go_by_their_video(tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    file.write_text('{"clip": "A man walks."}')
    described, asked = Question("TUNA_7", "clip", "Describe."), Question("q", "clip", "?", ("a", "b"), 0)
    model = open_model(ModelSettings(f"recorded:{file}"), [described], tmp_path)
    assert model.answer(described, TURNS, NO_FRAMES).text == "A man walks."
    assert model.answer(asked, TURNS, NO_FRAMES).error is not None


def guesses(model: Model, questions: list[Question]) -> list[str]:
    return [model.answer(q, TURNS, NO_FRAMES).text for q in questions]


def test_random_answers_are_seeded_and_spread(tmp_path: Path) -> None:
    questions = [Question(str(i), "v", "?", ("w", "x"), 0) for i in range(400)]
    first = guesses(open_model(ModelSettings("random"), questions, tmp_path), questions)
    again = guesses(open_model(ModelSettings("random:0"), questions[::-1], tmp_path), questions)
    other = guesses(open_model(ModelSettings("random:1"), questions, tmp_path), questions)
    assert first == again != other
    assert 160 <= Counter(first)["A"] <= 240
    # options that are listed without letters are answered in their words
    listed = open_model(ModelSettings("random"), questions, tmp_path)
    assert listed.answer(questions[0], (Turn("user", "One of: ['w', 'x']"),), NO_FRAMES).text in ("w", "x")
    with pytest.raises(SetupError, match="no options"):
        listed.answer(Question("c", "v", "Describe."), TURNS, NO_FRAMES)


def test_the_majority_letter_is_the_most_frequent_of_the_key(tmp_path: Path) -> None:
    questions = [Question(str(i), "v", "?", ("w", "x"), int(i < 6)) for i in range(10)]
    assert set(guesses(open_model(ModelSettings("majority"), questions, tmp_path), questions)) == {"B"}
    with pytest.raises(SetupError, match="key"):
        open_model(ModelSettings("majority"), [Question("1", "v", "?", ("w", "x"))], tmp_path)


@pytest.mark.parametrize(
    "wrong", ["gpt-4o", "endpoint:model", "endpoint:@http://x", "hf:", "random:x", "majority:A", "", "recorded:"]
)
def test_what_is_no_model(wrong: str) -> None:
    with pytest.raises(ValueError, match="Expected"):
        ModelSettings(wrong)


def test_prices_are_for_endpoints() -> None:
    with pytest.raises(ValueError, match="endpoints"):
        ModelSettings("random", prices=(1, 1))
    with pytest.raises(ValueError, match="positive"):
        ModelSettings("endpoint:m@http://host/v1", per_minute=float("nan"))
    with pytest.raises(SetupError, match="0 or more"):
        open_model(ModelSettings("endpoint:m@http://h", prices=(1, 1), max_cost=float("nan")), [], Path())
    with pytest.raises(ValueError, match="without a key"):
        ModelSettings("endpoint:m@http://u:secret@host/v1?key=1")


def test_replies_are_kept_under_what_they_depend_on_and_nothing_else(served: Any) -> None:
    model, script = served(server.completion("A"))
    spec = f"endpoint:org/model@{model.client.settings.url}"
    replies = model.client._cache.folder

    def asks(spec: str, **settings: Any) -> bool:
        """Whether anything is sent that was not sent before."""
        before = len(script.requests)
        for _ in range(2):
            open_model(ModelSettings(spec, **settings), [QUESTION], replies).answer(QUESTION, TURNS, FRAMES)
        return len(script.requests) == before + 1

    assert asks(spec)
    same: list[dict[str, Any]] = [
        {"per_minute": 1e6}, {"threads": 2}, {"prices": (1, 1), "max_cost": 9}, {"form": "images"},
        {"key_variable": "OTHER"},
    ]  # fmt: skip
    assert not any(asks(spec, **settings) for settings in same)
    assert not asks(spec + "/")
    other: list[dict[str, Any]] = [
        {"tokens": 9},
        {"temperature": 0.5},
        {"temperature": None},
        {"seed": 1},
        {"form": "video"},
        {"times": False},
        {"effort": "low"},
        {"effort": "high"},
        {"extra": '{"chat_template_kwargs": {"enable_thinking": false}}'},
    ]
    assert all(asks(spec, **settings) for settings in other)
    assert asks(spec.replace("org/model", "org/other"))
