"""Replies that are none, or come too slowly, and what of a server's words may be kept."""

from __future__ import annotations

import base64
import html
import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import astuple
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from vmmetrics.errors import SetupError
from vmmetrics.utils.endpoint import wire
from vmmetrics.utils.endpoint.client import AskedQuestion
from vmmetrics.utils.endpoint.messages import EndpointSettings, NoAnswerError, Turn, estimated_tokens
from vmmetrics.utils.endpoint.wire import Endpoint

KEY = "sk-never-to-be-written-0123456789"
ANSWER = b'{"choices": [{"message": {"content": "{}"}}]}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
QUESTION = AskedQuestion("q", (Turn("user", "Is this a dog?"),), {"type": "object"})


def raw(data: bytes) -> Callable[[Any], None]:
    """Send bytes, whatever HTTP says."""
    return lambda handler: handler.wfile.write(data)


def drip(before: bytes, drop: bytes = b" ") -> Callable[[Any], None]:
    """Send a byte now and then, without an end."""

    def step(handler: Any) -> None:
        handler.wfile.write(before)
        for _ in range(200):
            handler.wfile.write(drop)
            threading.Event().wait(0.05)

    return step


@pytest.fixture
def why(served, monkeypatch) -> Callable[..., str]:
    """Why a question was not answered by a server that sends a step alone; without the key, on one plain line."""
    monkeypatch.setattr(wire, "TRIES", 1)

    def asked(step: Any, **options: Any) -> str:
        client, _ = served(step, **options)
        answer = client.ask(QUESTION)
        assert answer.kind in ("unreachable", "unusable") and answer.why is not None
        assert answer.why.isprintable() and "never" not in answer.why
        return answer.why

    return asked


def test_a_status_line_neither_tells_the_key_nor_drives_a_terminal(why):
    line = f"\x1b]0;PWN\x07 you sent Bearer {KEY}\r\n\r\n".encode()
    assert why(raw(line)).endswith("BadStatusLine: ]0;PWN you sent Bearer ***")


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("before", [1985, 65536 - 20])
def test_a_key_across_the_place_where_words_are_cut(why, status, before):
    assert "sk-" not in why((status, {}, b" " * before + KEY.encode() + b" " * 70_000))


@pytest.mark.parametrize(
    "form",
    [
        quote(KEY.replace("-", "+")).replace("%2B", "%2d"),
        f"Bearer%20{KEY}".upper(),
        json.dumps(json.dumps(KEY)),
        "".join(f"\\u{ord(c):04x}" for c in KEY),
        "".join(f"&#{ord(c)};" for c in KEY),
        base64.b64encode(f"Bearer {KEY}".encode()).decode(),
        base64.b64encode(f"user:{KEY}@host".encode()).decode(),
    ],
)
def test_a_key_in_the_forms_in_which_servers_repeat_it(why, form):
    assert "***" in (said := why((500, {}, f"you sent {form} here".encode())))
    assert "here" in said and form[20:30] not in said


def test_a_key_that_needs_escapes(why, monkeypatch):
    key = 'never/to+be"written&seen'
    monkeypatch.setenv("VMMETRICS_ENDPOINT_KEY", key)
    forms = [json.dumps(key).replace("/", "\\/"), html.escape(key), quote(key, safe="")]
    assert why((500, {}, " ".join(forms).encode())).endswith('"***" *** ***')


def test_a_key_that_a_model_repeats_is_not_kept(served, server, tmp_path):
    client, _ = served(server.completion(json.dumps({"headers": f"Bearer {KEY}", "line": "a\nb"})))
    assert client.ask(QUESTION).value == {"headers": "Bearer ***", "line": "a\nb"}
    assert list((tmp_path / "replies").iterdir())  # and the fixture looks into them


def test_a_placeholder_for_a_key_is_left_in_replies(served, server, monkeypatch):
    monkeypatch.setenv("VMMETRICS_ENDPOINT_KEY", "EMPTY")
    client, _ = served(server.completion('{"place": "an empty street"}'))
    assert client.ask(QUESTION).value == {"place": "an empty street"}


def test_the_status_line_of_an_error_is_not_repeated(served, server):
    client, _ = served(raw(f"HTTP/1.1 401 \x1b]0;PWN {KEY}\r\nContent-Length: 0\r\n\r\n".encode()))
    with pytest.raises(SetupError) as caught:
        client.ask(QUESTION)
    assert "never" not in str(caught.value) and "PWN" not in str(caught.value)


@pytest.mark.parametrize(
    ("before", "drop"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"a"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (HEAD + b"\r\n", b" "),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 100000\r\n\r\n", b" "),
    ],
)
def test_a_reply_that_drips_ends_at_the_deadline(why, before, drop):
    start = time.monotonic()
    said = why(drip(before, drop), timeout=0.3)
    assert time.monotonic() - start < 5  # of the 10 s that it drips
    assert "not complete after 0.3 s" in said or "status 500" in said


def test_a_server_that_does_not_read_what_is_sent_ends_at_the_deadline(monkeypatch):
    monkeypatch.setattr(wire, "TRIES", 1)
    with socket.create_server(("127.0.0.1", 0)) as listening:  # never accepted, so that its buffers fill
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        with pytest.raises(NoAnswerError, match=r"not complete|timed out"):
            Endpoint(EndpointSettings(url, "m", timeout=0.3)).reply([Turn("user", "x" * 20_000_000)])


@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
        HEAD + b"Content-Length: -5\r\n\r\n",
        HEAD + b"\r\n" + b"[" * 100_000,
        HEAD + b'\r\n{"choices": [{"message": {"content": ' + b"9" * 5000 + b"}}]}",
        HEAD + b"\r\nnull",
        b"HTTP/1.1 999999999999 X\r\n\r\n",
        b"hello",
        b"HTTP/1.1 429 X\r\nRetry-After: Mon, 01 Jan 0001 00:00:00 -0000\r\n\r\n",
        b"HTTP/1.1 429 X\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 -2359\r\n\r\n",
    ],
)
def test_what_is_no_reply_is_an_answer_with_a_reason(why, data):
    why(raw(data))


@pytest.mark.parametrize("stated", [10**4000, 10**18, -1, True, 1.5, "9", None, [1], {}])
def test_numbers_of_tokens_that_cannot_be_are_estimated(served, stated):
    body = json.loads(ANSWER) | {"usage": {"prompt_tokens": stated, "completion_tokens": stated}}
    client, _ = served((200, {}, json.dumps(body).encode()), input_price=1.0, output_price=2.0)
    assert client.ask(QUESTION).kind == "answered"
    assert (client.ledger.input_tokens, client.ledger.output_tokens) == (estimated_tokens(QUESTION.turns), 1)
    assert "1 replies" in str(client.ledger)


def test_half_of_a_character_is_kept_as_a_question_mark(served, server, tmp_path):
    client, script = served(server.completion('{"a": "\ud83d"}'))
    assert [client.ask(QUESTION).value for _ in range(2)] == [{"a": "?"}] * 2
    assert len(script.requests) == 1


lines = st.lists(
    st.sampled_from(
        [
            b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 500 \x1b\r\n", b"HTTP/9 2\r\n", b"HTTP/1.1 100 \r\n\r\n", b"\r\n",
            b": \r\n", b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"X: \xff;charset*=x''%ff\r\n",
            b"-1", b"5", b"ffffffffffffffff\r\n", b"0\r\n", b"\r\n\r\n", b" folded\r\n", b"\x00", b"A" * 70_000,
            ANSWER, KEY.encode(),
        ]
    )
    | st.binary(max_size=20),
    max_size=8,
)  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "usage", "prompt_tokens", "text", "finish_reason"]), inner
        )
    ),
    max_leaves=8,
)
fuzzed = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@fuzzed
@given(data=lines.map(b"".join))
def test_any_bytes_end_in_an_answer_of_some_kind(served_once, data):
    client, script = served_once
    script.steps[:] = [raw(data)]
    try:
        answer = client.ask(QUESTION)
    except SetupError as error:  # a status such as 404 stops a run
        assert str(error).isprintable() and KEY not in str(error)
    else:
        assert answer.why is None or (answer.why.isprintable() and KEY not in answer.why)


@fuzzed
@given(choice=json_values, usage=json_values)
@example(choice={"message": {"content": '{"a": 1e999}'}}, usage={"prompt_tokens": float("inf")})
def test_any_json_ends_in_an_answer_that_can_be_kept(served_once, choice, usage):
    client, script = served_once
    script.steps[:] = [(200, {}, json.dumps({"choices": [choice], "usage": usage}).encode())]
    json.dumps(astuple(client.ask(QUESTION)), allow_nan=False)
    str(client.ledger)


@pytest.fixture
def served_once(served, monkeypatch):
    """A client that asks once, keeps nothing and never gives up."""
    monkeypatch.setattr(wire, "TRIES", 1)
    monkeypatch.setattr("vmmetrics.utils.endpoint.client.GIVE_UP", 10**9)
    client, script = served(None, timeout=5.0, input_price=1.0, output_price=2.0)
    monkeypatch.setattr(client._cache, "get", lambda key: None)
    return client, script
