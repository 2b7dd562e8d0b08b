"""Server of a report: byte ranges, the report's own files and linked videos, and nothing else."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viewer.made_videos import FRAMES, PLAYABLE, UNPLAYABLE, record_of
from vmmetrics.errors import SetupError
from vmmetrics.utils.request_rules import byte_range
from vmmetrics.viewer.media import MediaFolder
from vmmetrics.viewer.page import call
from vmmetrics.viewer.server import ReportServer

CONTENT = bytes(range(256)) * 40


def write_index(folder: Path, bases: list[str], clips: list[tuple[str, int | str]]) -> None:
    (folder / "data").mkdir(parents=True, exist_ok=True)
    columns = {"name": [name for name, _ in clips], "media": [media for _, media in clips]}
    (folder / "data" / "index.js").write_text(call("index", {"bases": bases, "clips": columns}), "utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A report two folders below some clips, of which it links four."""
    folder = tmp_path / "out" / "deep" / "report"
    for name in (
        "clips/m/a.mp4",
        "clips/m/secret.mp4",
        "out/b 猫#.webm",
        "clips/notes.txt",
        "out/deep/report/media/c.mp4",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(CONTENT)
    linked: list[tuple[str, int | str]] = [
        ("m/a.mp4", 0), ("b", "../../b%20%E7%8C%AB%23.webm"), ("c", "media/c.mp4"), ("d", -1),
        ("gone", "../gone.mp4"), ("notes", "../../../clips/notes.txt"), ("sly", "media/../../../../clips/m/secret.mp4"),
    ]  # fmt: skip
    write_index(folder, ["../../../clips/"], linked)
    (folder / "index.html").write_text("<title>report</title>")
    (folder / ".hidden.js").write_text("1")
    (folder / "out.mp4").symlink_to(tmp_path / "clips" / "m" / "secret.mp4")
    return folder


@contextmanager
def running(folder: Path) -> Iterator[ReportServer]:
    with ReportServer(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def server(folder: Path) -> Iterator[ReportServer]:
    with running(folder) as started:
        yield started


def ask(
    server: ReportServer, url: str, method: str = "GET", **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Ask for a URL relative to the page, as a browser resolves it; headers with ``_`` for ``-``."""
    return ask_path(server, urlsplit(urljoin(server.url, url)).path, method, **headers)


def ask_path(server: ReportServer, path: str, method: str = "GET", **headers: str):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("index.html", "text/html; charset=utf-8"),
        ("data/index.js", "text/javascript; charset=utf-8"),
        ("media/c.mp4", "video/mp4"),
        ("../../../clips/m/a.mp4", "video/mp4"),
        ("../../b%20%E7%8C%AB%23.webm", "video/webm"),
    ],
)
def test_files_of_the_report_and_linked_videos_are_served(server: ReportServer, url: str, kind: str) -> None:
    status, headers, body = ask(server, url)
    assert (status, headers["Content-Type"], headers["X-Content-Type-Options"]) == (200, kind, "nosniff")
    assert int(headers["Content-Length"]) == len(body) > 0
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    status, headers, nothing = ask(server, url, "HEAD")
    assert (status, int(headers["Content-Length"]), nothing) == (200, len(body), b"")


UNREACHABLE = (
    ". media media/ no.html .hidden.js out.mp4 index.html%00 %2e%2e/ media/..%2f ../index.html ../gone.mp4 "
    "../../../clips/m/secret.mp4 ../../../clips/ ../../../clips/notes.txt ../../gone.mp4 ../../../../../../etc/passwd "
    "..%2f..%2f..%2fclips/m/secret.mp4 media/..%2f..%2f..%2f..%2fclips/m/secret.mp4"
)


@pytest.mark.parametrize("url", UNREACHABLE.split())
def test_nothing_else_is_reachable(server: ReportServer, url: str) -> None:
    prefix = server.prefix
    for path in (prefix, prefix + "media//c.mp4", prefix + url, urlsplit(urljoin(server.url, url)).path, "/" + url):
        status, _, body = ask_path(server, path)
        assert status == 404 and b"secret" not in body and len(body) < 100, path


def test_the_report_is_at_no_path_that_can_be_guessed(folder: Path) -> None:
    with running(folder) as one, running(folder) as other:
        assert one.prefix != other.prefix and one.prefix.count("/") == 5  # links lead three folders upwards
        assert ask_path(one, other.prefix + "index.html")[0] == 404
        for path in ("/", "/index.html", "/data/index.js", "/clips/m/a.mp4", "//index.html", "*"):
            assert ask_path(one, path)[0] == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}", ""]
)
def test_names_that_were_made_ours_are_refused(server: ReportServer, host: str) -> None:
    status, _, body = ask(server, "index.html", Host=host.format(port=server.port))
    assert status == 421 and b"report" not in body


def test_loopback_names_are_served_and_a_request_without_a_name_is_not(server: ReportServer) -> None:
    assert ask(server, "index.html", Host=f"localhost:{server.port}")[0] == 200
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.putrequest("GET", server.prefix + "index.html", skip_host=True)
    connection.endheaders()
    assert connection.getresponse().status == 421
    connection.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(server: ReportServer, method: str) -> None:
    status, headers, body = ask(server, "index.html", method)
    assert status == 501 and b"<title>" not in body and headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-", 206, CONTENT),
        ("bytes=10-19", 206, CONTENT[10:20]),
        ("bytes=-7", 206, CONTENT[-7:]),
        ("bytes=10000-999999", 206, CONTENT[10000:]),
        ("bytes=10240-", 416, b""),
        ("bytes=-0", 416, b""),
        ("bytes=5-2", 200, CONTENT),
        ("bytes=0-1,4-5", 200, CONTENT),
        ("lines=0-1", 200, CONTENT),
        ("bytes=99999999999999999999-", 200, CONTENT),
    ],
)
def test_parts_of_a_video_are_served(server: ReportServer, asked: str, status: int, part: bytes) -> None:
    answer, headers, body = ask(server, "../../../clips/m/a.mp4", Range=asked)
    assert (answer, body) == (status, part)
    if status == 206:
        start = CONTENT.rindex(part) if asked == "bytes=-7" else int(asked[6:].split("-")[0])
        assert headers["Content-Range"] == f"bytes {start}-{start + len(part) - 1}/{len(CONTENT)}"
    if status == 416:
        assert headers["Content-Range"] == f"bytes */{len(CONTENT)}"


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_ranges_are_those_of_the_bytes_that_exist(first: int, last: int, size: int) -> None:
    content = bytes(range(size))
    asked = byte_range(f"bytes={first}-{last}", size)
    if last >= first:
        assert asked is not None and content[slice(*asked)] == content[first : last + 1]
    else:
        assert asked is None


def test_what_is_no_report_or_damaged_is_an_error(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="not a report"):
        ReportServer(tmp_path)
    (folder / "data" / "index.js").write_text("vmReport.index({});")
    with pytest.raises(SetupError, match="damaged"):
        ReportServer(folder)
    with running_on_a_port(folder) as port, pytest.raises(SetupError, match="choose another"):
        ReportServer(folder, port)


@contextmanager
def running_on_a_port(folder: Path) -> Iterator[int]:
    write_index(folder, [], [])
    with running(folder) as server:
        yield server.port


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_ends_it_cleanly(folder: Path) -> None:
    code = "import sys; from pathlib import Path; from vmmetrics.viewer.server import serve; serve(Path(sys.argv[1]))"
    command = [sys.executable, "-u", "-c", code, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20) == ("", "") and process.returncode == 0


PAGE = "<!doctype html><title>v</title><video src='{}' preload=auto muted></video>"
SEEK = """async (time) => {
    const video = document.querySelector("video");
    if (video.readyState < 1) await new Promise((done) => video.addEventListener("loadedmetadata", done));
    if (video.readyState < 2) await new Promise((done) => video.addEventListener("loadeddata", done));
    const seeked = new Promise((done) => video.addEventListener("seeked", done));
    const shown = new Promise((done) => video.requestVideoFrameCallback(done));
    video.currentTime = time;
    await seeked;
    await Promise.race([shown, new Promise((done) => setTimeout(done, 500))]);
    const canvas = Object.assign(document.createElement("canvas"), { width: 96, height: 64 });
    canvas.getContext("2d").drawImage(video, 0, 0);
    const row = canvas.getContext("2d").getImageData(0, 32, 96, 1).data;
    return [...Array(96).keys()].filter((x) => row[4 * x] > 200 && row[4 * x + 1] < 90);
}"""
"""Columns of the disc in the middle row of the picture at a time."""


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["h264", "vp9", "gif of uneven times", "frames"])
def test_chromium_seeks_to_every_frame_at_its_scored_time(
    kind: str, folder: Path, tmp_path: Path, browser: Any
) -> None:
    record = record_of({**UNPLAYABLE, **PLAYABLE}[kind](tmp_path / "clips"), "v")
    url = str(MediaFolder(folder, folder).place(record).url)
    assert url.startswith("../../../clips/") == (kind in PLAYABLE)
    write_index(folder, [], [("v", url)])
    (folder / "index.html").write_text(PAGE.format(url))
    times = np.array(record.timestamps or np.arange(FRAMES) / float(record.fps or 1))
    with running(folder) as server, browser.new_page() as page:
        page.goto(server.url)
        for frame in (12, 3, 14, 0, 1, 7, 13, 8):
            end = times[frame + 1] if frame + 1 < FRAMES else times[frame] + 0.02
            columns = page.evaluate(SEEK, (times[frame] + end) / 2)
            assert np.mean(columns) == pytest.approx(10 + 5 * frame, abs=1.5), frame


@pytest.mark.browser
def test_a_served_report_shows_a_clip_with_its_overlay(report: Path, browser: Any) -> None:
    faults: list[str] = []
    with running(report) as server, browser.new_page() as page:
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("requestfailed", lambda asked: faults.append(asked.url))
        page.goto(server.url)
        page.wait_for_selector("html[data-ready]")
        row = page.evaluate("vm.data.index.clips.overlay.findIndex((there, row) => there && vm.data.media(row).url)")
        page.goto(f"{server.url}#view=clip&clip={page.evaluate('(row) => vm.data.id(row)', row)}")
        page.wait_for_selector("video[src]")
        page.wait_for_function("document.querySelector('video[src]').readyState >= 2")  # it seeks meanwhile
        assert page.evaluate("document.querySelector('video[src]').duration") > 0
        assert page.evaluate("async (row) => (await vm.data.overlay(row)).frames", row) > 0
        assert page.evaluate("async (row) => (await vm.data.detail(row)).events.length", row) > 0
    assert not faults


def test_many_connections_at_once_are_all_answered(server: ReportServer) -> None:
    head = (
        f"GET {server.prefix}index.html HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n".encode()
    )
    waiting = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(200)]
    for connection in waiting:
        connection.sendall(head)
    for connection in waiting:
        with connection:
            assert connection.recv(12) == b"HTTP/1.1 200"


def test_a_head_that_drips_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmmetrics.utils.server.Handler.head_seconds", 0.5)
    with running(folder) as server, socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        start = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() < start + 5:
                connection.sendall(b"X")
                connection.settimeout(0.1)
                with suppress(TimeoutError):
                    if not connection.recv(1000):
                        break
        assert time.monotonic() < start + 3


def test_connections_that_ask_nothing_make_room_for_one_that_asks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vmmetrics.utils.server._CONNECTIONS", 4)
    with running(folder) as server:
        silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(12)]
        for connection in silent:
            with suppress(OSError):
                connection.sendall(b"GET / HTTP/1.1\r\n")
        assert all(ask(server, "index.html")[0] == 200 for _ in range(6))
        for connection in silent:
            connection.close()


def test_a_linked_clip_that_becomes_a_link_is_not_followed(server: ReportServer, tmp_path: Path) -> None:
    assert ask(server, "../../../clips/m/a.mp4")[0] == 200
    (tmp_path / "clips" / "m" / "a.mp4").unlink()
    (tmp_path / "clips" / "m" / "a.mp4").symlink_to("/etc/passwd")
    assert ask(server, "../../../clips/m/a.mp4")[0] == 404
