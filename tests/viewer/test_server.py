"""Server of a report: byte ranges, the report's own files and linked videos, and nothing else."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viewer.made_videos import FRAMES, write_video
from vmmetrics.errors import SetupError
from vmmetrics.viewer.page import call
from vmmetrics.viewer.server import ReportServer, asked_range

CONTENT = bytes(range(256)) * 40


def write_index(report: Path, bases: list[str], clips: list[tuple[str, int | str]]) -> None:
    (report / "data").mkdir(parents=True, exist_ok=True)
    columns = {"name": [name for name, _ in clips], "media": [media for _, media in clips]}
    (report / "data" / "index.js").write_text(call("index", {"bases": bases, "clips": columns}), "utf-8")


@pytest.fixture
def report(tmp_path: Path) -> Path:
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
def running(report: Path) -> Iterator[ReportServer]:
    with ReportServer(report) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def server(report: Path) -> Iterator[ReportServer]:
    with running(report) as started:
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


def test_the_report_is_at_no_path_that_can_be_guessed(report: Path) -> None:
    with running(report) as one, running(report) as other:
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
    asked = asked_range(f"bytes={first}-{last}", size)
    if last >= first:
        assert asked is not None and content[slice(*asked)] == content[first : last + 1]
    else:
        assert asked is None


def test_what_is_no_report_or_damaged_is_an_error(report: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="not a report"):
        ReportServer(tmp_path)
    (report / "data" / "index.js").write_text("vmReport.index({});")
    with pytest.raises(SetupError, match="damaged"):
        ReportServer(report)
    with running_on_a_port(report) as port, pytest.raises(SetupError, match="choose another"):
        ReportServer(report, port)


@contextmanager
def running_on_a_port(report: Path) -> Iterator[int]:
    write_index(report, [], [])
    with running(report) as server:
        yield server.port


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_ends_it_cleanly(report: Path) -> None:
    code = "import sys; from pathlib import Path; from vmmetrics.viewer.server import serve; serve(Path(sys.argv[1]))"
    command = [sys.executable, "-u", "-c", code, str(report)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20) == ("", "") and process.returncode == 0


PAGE = "<!doctype html><title>v</title><video src='{}' preload=auto muted></video>"
SEEK = """async (time) => {
    const video = document.querySelector("video");
    if (video.readyState < 1) await new Promise((done) => video.addEventListener("loadedmetadata", done));
    const seeked = new Promise((done) => video.addEventListener("seeked", done));
    video.currentTime = time;
    await seeked;
    return [video.currentTime, video.seekable.end(0), video.error];
}"""


@pytest.mark.browser
@pytest.mark.parametrize("url", ["media/v.mp4", "../../../clips/v.mp4"])
def test_chromium_seeks(report: Path, tmp_path: Path, url: str) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    path = tmp_path / "clips" / "v.mp4"
    write_video(path, "libx264")
    (report / "media" / "v.mp4").write_bytes(path.read_bytes())
    write_index(report, [], [("v", "../../../clips/v.mp4")])
    (report / "index.html").write_text(PAGE.format(url))
    with running(report) as server, playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(server.url)
        for frame in (12, 3, 14, 0):
            time = (frame + 0.5) / 8
            assert page.evaluate(SEEK, time) == [pytest.approx(time), pytest.approx(FRAMES / 8), None]
        browser.close()
