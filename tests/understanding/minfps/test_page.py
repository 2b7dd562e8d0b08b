"""The page that asks a person for minFPS, driven over HTTP as a browser drives it."""

from __future__ import annotations

import json
import re
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.bad_inputs import write_video
from vmmetrics.cli.app import understand as app
from vmmetrics.models.questions import Question
from vmmetrics.understanding.minfps.page import Page
from vmmetrics.video import read_clip

JSON = {"Content-Type": "application/json"}
QUESTION = Question("q", "v", "Which <b>way</b>?", ("rises", "falls"), 1)


class Browser:
    """Sends what a browser on the page sends."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.address, self.path = parts.netloc, parts.path

    def send(
        self, method: str, what: str, body: Any = None, path: str | None = None, **headers: str
    ) -> tuple[HTTPResponse, bytes]:
        connection = HTTPConnection(self.address, timeout=30)
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, (self.path if path is None else path) + what, sent, headers)
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        return reply, data

    def state(self, after: int = -1) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.send("GET", f"state?after={after}")[1])
        return found

    def asked(self) -> dict[str, Any]:
        """The next state that asks something."""
        state = self.state()
        while state["status"] == "preparing":
            state = self.state(state["version"])
        return state

    def answer(self, version: Any, answerable: Any) -> int:
        told = {"version": version, "answerable": answerable}
        origin = {"Origin": f"http://{self.address}"}
        return self.send("POST", "answer", told, **JSON, **origin)[0].status


@pytest.fixture
def page() -> Iterator[Page]:
    with Page([QUESTION]) as opened:
        yield opened


def asking(page: Page, pool: ThreadPoolExecutor, tmp_path: Path) -> Future[bool]:
    (tmp_path / "clip.mp4").write_bytes(b"a film")
    return pool.submit(page.ask, QUESTION, tmp_path / "clip.mp4", 0.5)


def test_a_question_is_put_and_one_answer_taken(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(page.url)
    assert browser.state() == {"version": 0, "status": "preparing"}
    reply, html = browser.send("GET", "")
    nonce = re.search(rb'<script nonce="([\w-]+)"', html)
    assert nonce is not None and b"NONCE" not in html and b"http" not in html  # nothing from elsewhere
    policy = reply.headers["Content-Security-Policy"]
    assert f"script-src 'nonce-{nonce[1].decode()}'" in policy and "default-src 'none'" in policy
    with ThreadPoolExecutor(1) as pool:
        said = asking(page, pool, tmp_path)
        state = browser.asked()
        assert state == {
            "version": 1, "status": "asking", "number": 1, "total": 1, "question": "Which <b>way</b>?",
            "options": ["A. rises", "B. falls"], "rate": "1 frame every 2 seconds",
        }  # fmt: skip
        assert browser.send("GET", "clip?version=1")[1] == b"a film"
        assert browser.send("GET", "clip?version=0")[0].status == 409
        for version, answerable in ((0, True), (1, "yes"), (1, None), ([1], True), (True, True), (1.0, True)):
            assert browser.answer(version, answerable) == 409
        assert not said.done()
        assert browser.answer(1, False) == 200
        assert browser.answer(1, True) == 409  # a second page, or a second press
        assert said.result(10) is False
        assert browser.state(1)["status"] == "preparing"
        arrived = threading.Event()
        state_of = page.state
        monkeypatch.setattr(page, "state", lambda after: (arrived.set(), state_of(after))[1])
        waiting = pool.submit(browser.state, 2)
        assert arrived.wait(10)
        page.close("stopped")
        assert waiting.result(10)["status"] == "stopped"


@pytest.mark.parametrize(
    ("headers", "path"),
    [
        ({"Host": "evil.example:80"}, None),  # a name made to point to this machine
        ({"Host": "[", **JSON}, None),
        ({"Origin": "http://evil.example"}, None),
        ({"Origin": "null"}, None),
        ({}, "/"),
        ({}, "/not-the-key/"),
        ({}, "//[/"),
    ],
)
def test_strangers_see_and_say_nothing(
    page: Page, tmp_path: Path, headers: dict[str, str], path: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    browser = Browser(page.url)
    with ThreadPoolExecutor(1) as pool:
        said = asking(page, pool, tmp_path)
        version = browser.asked()["version"]
        told, refused = {"version": version, "answerable": True}, 421 if "Host" in headers else 403
        assert browser.send("POST", "answer", told, path, **{**JSON, **headers})[0].status == refused
        if "Origin" not in headers:
            assert browser.send("GET", "state", None, path, **headers)[0].status == refused
        assert not said.done()
        assert browser.send("POST", "answer", told, Host="localhost:8000", **JSON)[0].status == 200  # a tunnel's end
        assert said.result(10)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("what", "body", "headers", "status"),
    [
        ("answer", b"{}", {"Content-Type": "text/plain"}, 400),  # what a form of another site can send
        ("answer", b"not JSON", JSON, 400),
        ("answer", b"[" * 150, JSON, 400),
        ("answer", b"[1]", JSON, 400),
        ("answer", b"{}", JSON, 400),
        ("answer", b" " * 1000, JSON, 413),
        ("state", b"{}", JSON, 400),
    ],
)
def test_what_is_no_answer_is_refused(page: Page, what: str, body: bytes, headers: dict[str, str], status: int) -> None:
    browser = Browser(page.url)
    assert browser.send("POST", what, body, **headers)[0].status == status
    assert browser.send("GET", "other")[0].status == 404
    assert browser.send("DELETE", "answer")[0].status == 501


@pytest.mark.parametrize(
    "head", [b"GET /x HTTP/1.1\r\nX: ", b"POST /x HTTP/1.1\r\nContent-Length: 1000\r\n\r\n", b"", b"GET "]
)
def test_a_stranger_who_drips_is_cut_off_and_keeps_nothing_open(
    page: Page, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    monkeypatch.setattr("vmmetrics.understanding.minfps.page._Handler.timeout", 0.3)
    with socket.create_connection((urlsplit(page.url).hostname, urlsplit(page.url).port)) as stranger:
        stranger.sendall(head)
        start = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() < start + 8 and not select.select([stranger], [], [], 0.05)[0]:
                stranger.sendall(b"a")
        assert time.monotonic() < start + 5


def test_closing_takes_two_seconds_whatever_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmmetrics.understanding.minfps.page._Handler.timeout", 20)
    page = Page([QUESTION])
    address = (urlsplit(page.url).hostname, urlsplit(page.url).port)
    strangers = [socket.create_connection(address) for _ in range(3)]
    try:
        strangers[0].sendall(b"GET /x HTTP/1.1\r\nX: ")
        assert Browser(page.url).state()["status"] == "preparing"  # all were accepted before
        start = time.monotonic()
        page.close()
        assert time.monotonic() < start + 5
        assert all(stranger.recv(10) == b"" for stranger in strangers)
    finally:
        for stranger in strangers:
            stranger.close()


@pytest.mark.slow
def test_killed_it_goes_on_at_the_terminal_with_what_was_said(tmp_path: Path) -> None:
    levels = (10 * np.arange(1, 21)).astype(np.uint8)
    write_video(tmp_path / "v.mp4", np.tile(levels[:, None, None, None], (1, 32, 48, 3)))
    line = {"id": "q", "video": "v", "text": "What?", "options": ["rises", "falls"], "answer": "B"}
    (tmp_path / "questions.jsonl").write_text(json.dumps(line) + "\n")
    command = ["minfps", "custom", "--data", str(tmp_path), "--out", str(tmp_path / "out"), "--annotator", "person:Ann"]
    code = "import sys; from vmmetrics.cli.main import main; main(sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "understand", *command, "--page"], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        told = next(line for line in process.stderr if "http://" in line)
        browser = Browser(re.search(r"http://127\.0\.0\.1:\d+/\S+/", told)[0])  # type: ignore[index]
        elsewhere = CliRunner().invoke(app, command)
        assert elsewhere.exit_code != 0 and "in use by another process" in str(elsewhere.exception)
        first = browser.asked()
        assert first["rate"] == "1 frame a second" and first["options"] == ["A. rises", "B. falls"]
        (tmp_path / "film.mp4").write_bytes(browser.send("GET", f"clip?version={first['version']}")[1])
        film = read_clip(tmp_path / "film.mp4")
        assert len(film) / film.fps == 2 and film.fps == 24
        assert browser.answer(first["version"], False) == 200
        state = browser.state(first["version"])
        while state["status"] == "preparing":
            state = browser.state(state["version"])
        assert state["rate"] == "2 frames a second"  # what was said before is on the disk
    finally:
        process.kill()
        process.wait()
    result = CliRunner().invoke(app, command, input="y\n")
    assert result.exit_code == 0, result.output
    assert "shows 2 frames a second" in result.output and "shows 1 frame" not in result.output
    (found,) = json.loads((tmp_path / "out" / "minfps.json").read_text())["questions"]
    assert found["by"] == {"Ann": 2.0}
