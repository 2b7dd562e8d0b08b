from __future__ import annotations

import base64
import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event

import cv2
import numpy as np
import pytest

from vmmetrics.alignment.baselines.judge import (
    DIMENSIONS,
    REFUSED,
    EndpointJudge,
    JudgeSettings,
    Panel,
    read_levels,
    schema,
    show,
)
from vmmetrics.alignment.baselines.suite import measure
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.metrics import METRICS
from vmmetrics.scoring.records import read_records
from vmmetrics.utils.endpoint import wire
from vmmetrics.utils.endpoint.messages import Reply, Turn
from vmmetrics.utils.endpoint.wire import Pace

_spec = importlib.util.spec_from_file_location("judge_server", Path(__file__).with_name("judge_server.py"))
server = importlib.util.module_from_spec(_spec)
sys.modules["judge_server"] = server
_spec.loader.exec_module(server)

KEY = "sk-never-to-be-written-0123456789"
NAMES = {f"judge_{key}" for key in METRICS}


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """What was slept between tries."""
    slept: list[float] = []

    class Noted(Event):
        def wait(self, timeout: float | None = None) -> bool:
            slept.append(timeout or 0.0)
            return self.is_set()

    monkeypatch.setattr(wire, "Event", Noted)
    return slept


@pytest.fixture
def judged(tmp_path, monkeypatch, pauses, translated):
    """Rate a clip by a server that answers with the given steps; the table, and what was asked."""
    monkeypatch.setenv("VMMETRICS_JUDGE_KEY", KEY)
    stops = []

    def rate(*steps, out=None, cache="cache", prompt=None, **settings):
        script = server.Script(list(steps))
        url, stop = server.serve(script)
        stops.append(stop)
        judge = JudgeSettings("some-model", url=settings.pop("url", url), cache=str(tmp_path / cache), **settings)
        clip = Clip(translated(6), np.arange(6) / 8, 8.0, name="a clip", prompt=prompt)
        table = measure([clip], only=["vlm_judge"], resources={"vlm_judge": judge}, out=out)
        return table[0], script.requests

    yield rate
    for stop in stops:
        stop()
    written = [file for file in tmp_path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert not written  # the key of no test is ever on the disk


def test_a_clip_is_rated_in_five_dimensions_by_one_request(judged):
    record, requests = judged(server.good(), prompt="a dog runs", frames=4, side=96)
    assert record.scores == {f"judge_{key}": float(level) for key, level in server.GOOD.items()}
    ((headers, body),) = requests
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert (body["path"], body["model"], body["temperature"]) == ("/v1/chat/completions", "some-model", 0)
    assert body["response_format"]["json_schema"]["schema"] == schema()
    *pictures, text = body["messages"][1]["content"]
    assert "a dog runs" in text["text"] and "0.00, 0.25, 0.38, 0.62" in text["text"]
    assert all(f"- {key}: " in text["text"] for key in METRICS)
    data = [base64.b64decode(p["image_url"]["url"].removeprefix("data:image/jpeg;base64,")) for p in pictures]
    shapes = [cv2.imdecode(np.frombuffer(d, np.uint8), cv2.IMREAD_COLOR).shape for d in data]
    assert shapes == [(72, 96, 3)] * 4


@pytest.mark.parametrize(
    "trouble",
    [
        (429, {"Retry-After": "0"}, b"slow down"),
        (500, {}, b"oops"),
        (503, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, b""),
        (200, {}, b'{"choices": [{"message"'),
        (200, {}, b'{"choices": []}'),
        (200, {}, b"<html>login</html>"),
        server.truncated,
        server.hang_up,
    ],
)
def test_what_may_pass_is_tried_again(judged, pauses, trouble):
    record, requests = judged(trouble, trouble, server.good())
    assert set(record.scores) == NAMES
    assert len(requests) == 3
    assert pauses == [1.0, 2.0]


def test_an_endpoint_may_ask_for_patience(judged, pauses):
    judged((429, {"Retry-After": "7"}, b""), (429, {"Retry-After": "86400"}, b""), server.good())
    assert pauses == [7.0, wire.LONGEST_PAUSE]


def test_no_answer_is_a_failure_and_is_tried_again_next_time(judged, tmp_path):
    record, requests = judged((500, {}, b"down"), out=tmp_path / "run")
    assert set(record.errors) == NAMES
    assert "6 tries: status 500: down" in record.errors["judge_cas"]
    assert len(requests) == wire.TRIES  # once for the clip, not once per dimension
    url = json.loads((tmp_path / "run" / "run.json").read_text())["parts"]["judge_cas"]["url"]
    assert url.startswith("http://127.0.0.1")


@pytest.mark.parametrize(
    "refusal",
    [
        server.completion(None, refusal="I won't."),
        server.completion("", finish="content_filter"),
        server.completion("I’m sorry, but I can't assist with that."),
    ],
)
def test_a_refusal_is_counted_and_not_argued_with(judged, refusal):
    record, requests = judged(refusal)
    assert set(record.missing.values()) == {REFUSED}
    assert set(record.missing) == NAMES
    assert len(requests) == 1


def test_a_bad_answer_is_asked_for_again_in_the_same_conversation(judged):
    record, requests = judged(server.completion('{"cas": 9}'), server.good(ois=None))
    assert record.scores["judge_cas"] == 4
    assert record.missing == {"judge_ois": "the judge found nothing to rate"}
    *_, said, again = requests[1][1]["messages"]
    assert said == {"role": "assistant", "content": '{"cas": 9}'}
    assert "mss is missing" in again["content"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("The motion is good.", "no JSON object"),
        ("", "it was empty"),
        (json.dumps(server.GOOD | {"cas": 7}), "cas: expected at most 5"),
        (json.dumps(server.GOOD | {"cas": "4"}), "cas: expected integer or null"),
        (json.dumps({"cas": 4}), "mss is missing"),
        (json.dumps([1, 2]), "no JSON object"),
    ],
)
def test_answers_that_stay_bad_are_counted(judged, content, why):
    record, requests = judged(server.completion(content))
    assert set(record.missing.values()) == {f"the judge's answer was unusable: {why}"}
    assert len(requests) == 3


def test_an_answer_cut_off_says_so(judged):
    record, _ = judged(server.completion('{"cas": 4, "ms', finish="length"))
    assert "cut off for its length" in record.missing["judge_cas"]


def test_an_endpoint_without_schemas_is_asked_in_words(judged):
    record, requests = judged((400, {}, b"unknown field response_format"), server.good())
    assert set(record.scores) == NAMES
    assert ["response_format" in body for _, body in requests] == [True, False]


def test_a_model_with_options_of_its_own_is_asked_its_way(judged):
    complaints = ("Unsupported parameter: 'max_tokens'", "'temperature' does not support 0 with this model")
    record, requests = judged(*((400, {}, text.encode()) for text in complaints), server.good())
    assert set(record.scores) == NAMES
    first, second, third = (body for _, body in requests)
    assert "max_tokens" in first and "max_tokens" not in second
    assert second["max_completion_tokens"] == third["max_completion_tokens"] == 1024
    assert "temperature" in second and "temperature" not in third
    record, requests = judged((400, {}, b"max_tokens is larger than the context"), cache="other")
    assert len(requests) == 2  # tried by its other name, then given up
    assert "status 400" in record.errors["judge_cas"]


@pytest.mark.parametrize(("status", "said"), [(401, "VMMETRICS_JUDGE_KEY"), (404, "status 404"), (400, "status 400")])
def test_what_cannot_pass_is_said_at_once_and_without_the_key(judged, status, said):
    record, requests = judged((status, {}, f"bad key {KEY}".encode()))
    assert said in record.errors["judge_cas"]
    assert KEY not in json.dumps(record.to_json())
    assert len(requests) == 1


def test_a_redirect_does_not_carry_the_key_away(judged):
    script = server.Script([server.good()])
    elsewhere, stop = server.serve(script)
    record, _ = judged((302, {"Location": f"{elsewhere}/chat/completions"}, b""))
    stop()
    assert "status 302" in record.errors["judge_cas"]
    assert script.requests == []


def test_nobody_there(judged):
    record, _ = judged(server.good(), url="http://127.0.0.1:9/v1")
    assert "no answer in 6 tries" in record.errors["judge_tcs"]


def test_replies_are_kept_by_all_they_depend_on():
    kept = JudgeSettings("some-model", "http://127.0.0.1:9/v1")
    judge = EndpointJudge(kept)
    turns = [Turn("user", "x", (b"picture",))]
    others = (replace(kept, frames=11), replace(kept, side=500), replace(kept, tokens=9), replace(kept, model="other"))
    keys = {Panel(judge, settings).key(turns) for settings in (kept, *others)}
    keys |= {Panel(judge, kept).key([Turn("user", *said)]) for said in (("y", (b"picture",)), ("x", (b"another",)))}
    assert len(keys) == 7
    indifferent = replace(kept, per_minute=3, cache="elsewhere", key_variable="OTHER")
    assert Panel(judge, indifferent).key(turns) == Panel(judge, kept).key(turns)


class Silent:
    """A judge that says what it is told and counts."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.asked, self.identity = list(texts), 0, {}

    def reply(self, turns) -> Reply:
        self.asked += 1
        return Reply(self.texts.pop(0))


def test_a_clip_is_never_asked_about_twice(tmp_path, translated):
    clip = Clip(translated(4), np.arange(4) / 8, 8.0)
    settings = JudgeSettings("m", cache=str(tmp_path))
    judge = Silent("nonsense", json.dumps(server.GOOD))
    assert Panel(judge, settings).rate(clip).value == server.GOOD
    again = Silent()
    assert Panel(again, settings).rate(clip).value == server.GOOD
    assert (judge.asked, again.asked) == (2, 0)
    for file in tmp_path.iterdir():  # damaged files are asked for anew
        file.write_text("{")
    assert Panel(Silent(json.dumps(server.GOOD)), settings).rate(clip).value == server.GOOD


def test_one_frame_is_not_shown_to_a_judge(translated):
    judge = JudgeSettings("m", url="http://127.0.0.1:9/v1")
    frame = Clip(translated(1), np.zeros(1), 8.0)
    table = measure([frame], only=["vlm_judge"], resources={"vlm_judge": judge})
    assert set(table[0].missing.values()) == {"one frame: nothing to compare it with"}


def test_a_run_is_resumed_by_the_same_judge_only(judged, tmp_path):
    run = tmp_path / "run"
    judged(server.good(), out=run)
    with pytest.raises(SetupError, match=r"judge_cas\.(frames|url)"):
        judged(server.good(), out=run, frames=5)
    assert set(read_records(run)[0].scores) == NAMES


def test_frames_are_spread_over_time():
    times = np.array([0.0, 0.1, 0.2, 0.3, 2.0, 3.0])
    frames = np.arange(6, dtype=np.uint8)[:, None, None, None] * np.full((6, 40, 20, 3), 40, np.uint8)
    taken, pictures = show(Clip(frames, times, 2.0), 4, 16)
    assert taken == (0.0, 0.3, 2.0, 3.0)
    levels = [cv2.imdecode(np.frombuffer(p, np.uint8), cv2.IMREAD_COLOR) for p in pictures]
    assert [p.shape for p in levels] == [(16, 8, 3)] * 4
    assert [round(p.mean() / 40) for p in levels] == [0, 3, 4, 5]
    assert len(show(Clip(frames, times, 2.0), 99, 16)[0]) == 6


@pytest.mark.parametrize(
    ("url", "said"),
    [("ftp://x/v1", "http"), ("http://me:secret@x/v1", "without a key"), ("http://x/v1?key=secret", "without a key")],
)
def test_addresses_that_are_refused(url, said):
    with pytest.raises(ValueError, match=said):
        JudgeSettings("m", url=url)


def test_a_key_that_no_header_may_hold_is_not_quoted(monkeypatch):
    monkeypatch.setenv("VMMETRICS_JUDGE_KEY", "se\ncret")
    judge = EndpointJudge(JudgeSettings("m", url="http://127.0.0.1:9/v1"))
    with pytest.raises(SetupError) as caught:
        judge.reply([Turn("user", "x")])
    assert "cret" not in str(caught.value)


def test_requests_keep_their_distance(monkeypatch, pauses):
    monkeypatch.setattr("vmmetrics.utils.endpoint.wire.time.monotonic", lambda: 100.0)
    pace = Pace(per_minute=30)
    for _ in range(3):
        pace.wait(wire.Event())
    assert pauses == [2.0, 4.0]  # 100, 102 and 104 while the clock stands still
    Pace(None).wait(wire.Event())
    assert len(pauses) == 2


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(server.GOOD),
        "Sure!\n```json\n" + json.dumps(server.GOOD, indent=1) + "\n```",
        "<think>{maybe 3?}</think> " + json.dumps(server.GOOD | {"why": "x"}),
        json.dumps({key: float(level) for key, level in server.GOOD.items()}),
    ],
)
def test_answers_are_found_in_what_stands_around(text):
    value = read_levels(Reply(text)).value
    assert value is not None
    assert {key: value[key] for key in METRICS} == server.GOOD


def test_the_five_are_the_five():
    assert tuple(DIMENSIONS) == METRICS
