"""What a model behind an endpoint is told of times, how many tokens it gets, and what else is sent with a question."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import endpoint_server as server
from tests.bad_inputs import write_video
from vmmetrics.models.endpoint import EndpointModel
from vmmetrics.models.frames import NO_FRAMES, FramePolicy, Frames, frames_shown
from vmmetrics.models.questions import Question
from vmmetrics.understanding.harness.models import ModelSettings, open_model
from vmmetrics.utils.endpoint import wire
from vmmetrics.utils.endpoint.messages import CostLimitError, EndpointSettings, TooLongError, Turn

CHOICE = Question("q1", "v", "Which way?", ("left", "right"), 1)
CAPTION = Question("q2", "v", "Describe.")
TURNS = (Turn("user", "Which way?\nA. left\nB. right"),)
THOUGHT = "<think>The man turns, so perhaps "
VLLM = (
    b'{"object":"error","message":"\'max_tokens\' or \'max_completion_tokens\' is too large: %d. This model\'s maximum '
    b'context length is 4096 tokens and your request has 1900 input tokens (%d > 4096 - 1900)."}'
)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[EndpointModel, Any]]]:
    monkeypatch.setattr(wire, "LONGEST_PAUSE", 0.0)
    stops = []

    def start(answer: Any, **settings: Any) -> tuple[EndpointModel, Any]:
        script = server.Script(answer=answer)
        url, stop = server.serve(script)
        stops.append(stop)
        model = open_model(ModelSettings(f"endpoint:m@{url}", **settings), [CHOICE], tmp_path / "replies")
        assert isinstance(model, EndpointModel)
        return model, script

    yield start
    for stop in stops:
        stop()


@pytest.fixture
def frames(tmp_path: Path) -> Callable[[str], Frames]:
    """Frames of a clip of 4 s at 10 frames a second by a policy."""
    clip = write_video(tmp_path / "a.mp4", np.full((40, 32, 32, 3), 90, np.uint8))
    return lambda policy: frames_shown(clip, FramePolicy.parse(policy))


def limits(script: Any) -> list[int]:
    return [body["max_tokens"] for _, body in script.requests]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("4 uniform", "Video: 4 s, 10 frames per second. Shown: 4 of its frames, at 0.5, 1.5, 2.5, 3.5 s."),
        ("2 fps at most 2", "Video: 4 s, 10 frames per second. Shown: 2 of its frames, at 1, 3 s."),
        # four times slower: every frame at four times its second
        ("4 uniform slowed 4", "Video: 16 s, 2.5 frames per second. Shown: 4 of its frames, at 2, 6, 10, 14 s."),
        ("single", "Video: 4 s, 10 frames per second. Shown: 1 of its frames, at 2 s."),
    ],
)
def test_the_times_of_frames_are_told_before_the_pictures(served: Any, frames: Any, policy: str, words: str) -> None:
    model, script = served(lambda body: server.completion("B"))
    said = model.answer(CHOICE, TURNS, frames(policy))
    assert said.times_text == words
    first, *pictures, last = script.requests[0][1]["messages"][-1]["content"]
    assert first == {"type": "text", "text": words}
    assert {part["type"] for part in pictures} == {"image_url"}
    assert last["text"] == TURNS[0].text


def test_a_part_of_a_file_has_its_own_length(tmp_path: Path) -> None:
    clip = write_video(tmp_path / "a.mp4", np.full((40, 32, 32, 3), 90, np.uint8))
    words = frames_shown(clip, FramePolicy("uniform", 2), 1.0, 3.0).words()
    assert words == "Video: 2 s, 10 frames per second. Shown: 2 of its frames, at 0.5, 1.5 s."


def test_what_is_not_told_is_another_question_and_another_model(served: Any, frames: Any, tmp_path: Path) -> None:
    told, script = served(lambda body: server.completion("B"))
    spec = f"endpoint:m@{told.client.settings.url}"
    untold = open_model(ModelSettings(spec, times=False), [CHOICE], tmp_path / "replies")
    for model in (told, untold, told, untold):
        said = model.answer(CHOICE, TURNS, frames("4 uniform"))
        assert (said.times_text is None) == (model is untold)
    assert len(script.requests) == 2
    assert (told.identity["times"], untold.identity["times"]) == ("in words", "not told")
    assert told.answer(CHOICE, TURNS, NO_FRAMES).times_text is None
    assert script.requests[-1][1]["messages"][-1]["content"] == TURNS[0].text
    video = open_model(ModelSettings(spec, "video"), [CHOICE], tmp_path / "replies")
    assert video.identity["times"] == "in the video"
    assert video.answer(CHOICE, TURNS, frames("4 uniform")).times_text is None


def thinks(tokens: int, answer: str = "B", cut: str | None = THOUGHT) -> Callable[[dict[str, Any]], Any]:
    """Answers once it may write more than so many tokens; before that it is cut off, in a thought or without text."""

    def reply(body: dict[str, Any]) -> Any:
        limit = body["max_tokens"]
        if limit <= tokens:
            usage = {"prompt_tokens": 100, "completion_tokens": limit}
            return server.completion(cut, finish="length", usage=usage)
        usage = {"prompt_tokens": 100, "completion_tokens": tokens + 1}
        return server.completion(f"{THOUGHT}so.</think>{answer}", usage=usage)

    return reply


@pytest.mark.parametrize("cut", [THOUGHT, None, "", "First I look where the man is, and then"])
def test_a_reply_cut_off_in_its_thought_is_asked_for_once_more_with_more_tokens(served: Any, cut: str | None) -> None:
    model, script = served(thinks(10_000, cut=cut), prices=(1.0, 10.0))
    said = model.answer(CHOICE, TURNS, NO_FRAMES)
    assert limits(script) == [8192, 4 * 8192]
    assert said.text.endswith("</think>B")
    cost = (200 * 1 + (8192 + 10_001) * 10) / 1e6
    assert said.usage == {"input_tokens": 200, "output_tokens": 18_193, "cost": pytest.approx(cost), "again": 1}
    assert model.answer(CHOICE, TURNS, NO_FRAMES) == said
    assert len(script.requests) == 2  # both replies are kept


def test_a_thought_without_an_end_is_cut_twice_and_named(served: Any) -> None:
    model, script = served(thinks(10**9), tokens=100)
    said = model.answer(CHOICE, TURNS, NO_FRAMES)
    assert limits(script) == [100, 400]
    assert said.usage == {"input_tokens": 200, "output_tokens": 500, "cut": 1, "thinking": 1, "again": 1}


def test_a_description_that_is_long_is_not_asked_for_again(served: Any) -> None:
    model, script = served(lambda body: server.completion("<think>So.</think>A man wal", finish="length"))
    assert model.answer(CAPTION, TURNS, NO_FRAMES).usage == {"cut": 1}
    assert limits(script) == [8192]


def test_a_context_shorter_than_the_limit_gets_what_fits(served: Any) -> None:
    def short(body: dict[str, Any]) -> Any:
        wanted = body["max_tokens"]
        return (400, {}, VLLM % (wanted, wanted)) if wanted > 4096 - 1900 else server.completion("B")

    model, script = served(short)
    said = model.answer(CHOICE, TURNS, NO_FRAMES)
    assert (said.text, said.usage) == ("B", {"fewer": 2048})
    assert limits(script) == [8192, 2048]
    assert not any("max_completion_tokens" in body for _, body in script.requests)  # it is the number, not the name
    model, script = served(lambda body: (400, {}, VLLM % (1, 1)))
    with pytest.raises(TooLongError, match="maximum context length"):
        model.answer(CAPTION, TURNS, NO_FRAMES)
    assert limits(script) == [8192, 2048, 512]


def test_a_model_that_writes_no_more_keeps_what_it_said(served: Any) -> None:
    def most(body: dict[str, Any]) -> Any:
        if body["max_tokens"] > 8192:
            return 400, {}, b"max_tokens is too large: 32768. This model supports at most 8192 completion tokens"
        return server.completion(THOUGHT, finish="length")

    model, script = served(most)
    assert model.answer(CHOICE, TURNS, NO_FRAMES).usage == {"cut": 1, "thinking": 1}
    assert limits(script) == [8192, 32768]


def test_the_newer_name_of_the_limit_is_still_learnt(served: Any) -> None:
    def newer(body: dict[str, Any]) -> Any:
        if "max_tokens" in body:
            return (
                400,
                {},
                b"Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            )
        return server.completion("B")

    model, script = served(newer)
    assert model.answer(CHOICE, TURNS, NO_FRAMES).text == "B"
    assert script.requests[-1][1]["max_completion_tokens"] == 8192


def test_a_long_answer_is_waited_for(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = served(thinks(10**9), tokens=10_000)
    waited = []
    opener = model.client._endpoint._opener
    send = opener.open
    monkeypatch.setattr(
        opener, "open", lambda request, timeout: (waited.append(timeout), send(request, timeout=timeout))[1]
    )
    model.answer(CHOICE, TURNS, NO_FRAMES)
    assert waited == [500, 2000]  # 20 tokens a second
    assert ModelSettings("endpoint:m@http://h", tokens=16).endpoint().timeout == 180


def test_the_second_asking_counts_towards_the_bound_on_the_cost(served: Any) -> None:
    model, script = served(thinks(10**9), tokens=100, prices=(0.0, 1000.0), max_cost=0.3)  # 0.1 once, 0.4 again
    with pytest.raises(CostLimitError):
        model.answer(CHOICE, TURNS, NO_FRAMES)
    assert limits(script) == [100]


def test_reasoning_options_go_with_every_request(served: Any) -> None:
    extra = '{"chat_template_kwargs": {"enable_thinking": true}, "top_k": 20}'
    model, script = served(lambda body: server.completion("B"), effort="high", extra=extra)
    model.answer(CHOICE, TURNS, NO_FRAMES)
    body = script.requests[0][1]
    assert (body["reasoning_effort"], body["chat_template_kwargs"], body["top_k"]) == (
        "high", {"enable_thinking": True}, 20,
    )  # fmt: skip
    assert model.identity["extra"] == json.loads(extra) | {"reasoning_effort": "high"}
    assert "extra" not in EndpointSettings("http://h", "m").part()  # replies kept before there were any stay valid


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"extra": "low"}, "JSON object"),
        ({"extra": "[1]"}, "JSON object"),
        ({"extra": '{"top_p": NaN}'}, "JSON object"),
        ({"extra": '{"max_tokens": 9}'}, "'max_tokens'.*setting of its own"),
        ({"extra": '{"messages": []}'}, "'messages'"),
        ({"effort": "high, please"}, "a word"),
        ({"effort": "high", "extra": '{"reasoning_effort": "low"}'}, "once"),
        ({"extra": '{"api_key": "sk-never-to-be-written"}'}, "no API key"),
    ],
)
def test_further_fields_that_cannot_be(settings: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VMMETRICS_ENDPOINT_KEY", "sk-never-to-be-written")
    with pytest.raises(ValueError, match=said) as caught:
        ModelSettings("endpoint:m@http://h", **settings)
    assert "sk-never" not in str(caught.value)


@pytest.mark.parametrize("settings", [{"effort": "low"}, {"extra": "{}"}])
def test_reasoning_options_are_for_endpoints(settings: Any) -> None:
    with pytest.raises(ValueError, match="endpoints"):
        ModelSettings("random", **settings)


@pytest.mark.parametrize("settings", [{"batch_size": 2}, {"dtype": "float16"}, {"device": "cpu"}])
def test_batches_and_devices_are_for_local_models(settings: Any) -> None:
    with pytest.raises(ValueError, match="local models"):
        ModelSettings("endpoint:m@http://h", **settings)
