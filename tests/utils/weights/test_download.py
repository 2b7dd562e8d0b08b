from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_checkpoints import BODY
from weights_server import Server

from vmmetrics.errors import SetupError
from vmmetrics.utils.weights import download as module
from vmmetrics.utils.weights.download import download, get


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.0)


def test_a_file_comes_whole(server: Server, tmp_path: Path) -> None:
    server.put("/a.bin", BODY)
    told: list[tuple[int, int | None]] = []
    part = download(f"{server.url}/a.bin", tmp_path / "a.bin", progress=lambda *now: told.append(now))
    assert part == tmp_path / "a.bin.part"
    assert part.read_bytes() == BODY
    assert told[-1] == (len(BODY), len(BODY))


def test_a_cut_connection_goes_on_where_it_ended(server: Server, tmp_path: Path) -> None:
    server.put("/a.bin", BODY, cuts=[30_000, 20_000])
    assert download(f"{server.url}/a.bin", tmp_path / "a.bin").read_bytes() == BODY
    assert server.ranges("/a.bin") == [None, "bytes=30000-", "bytes=50000-"]


def test_another_process_goes_on_where_one_gave_up(server: Server, tmp_path: Path) -> None:
    served = server.put("/a.bin", BODY, cuts=[40_000, 0, 0, 0, 0])
    with pytest.raises(SetupError, match=r"gave up after 5 tries\. 40000 bytes are in .*a\.bin\.part"):
        download(f"{server.url}/a.bin", tmp_path / "a.bin")
    assert not served.cuts
    assert download(f"{server.url}/a.bin", tmp_path / "a.bin").read_bytes() == BODY
    assert server.ranges("/a.bin")[-1] == "bytes=40000-"


def test_a_file_that_changed_meanwhile_is_begun_anew(server: Server, tmp_path: Path) -> None:
    server.put("/a.bin", BODY, cuts=[40_000, 0, 0, 0, 0, 0])
    with pytest.raises(SetupError):
        download(f"{server.url}/a.bin", tmp_path / "a.bin")
    new = b"new" * 50_000
    server.put("/a.bin", new, etag='"2"')
    assert download(f"{server.url}/a.bin", tmp_path / "a.bin").read_bytes() == new


def test_a_shorter_file_meanwhile_is_begun_anew(server: Server, tmp_path: Path) -> None:
    server.put("/a.bin", BODY, cuts=[40_000, 0, 0, 0, 0, 0])
    with pytest.raises(SetupError):
        download(f"{server.url}/a.bin", tmp_path / "a.bin")
    server.put("/a.bin", b"short")  # under the same tag
    assert download(f"{server.url}/a.bin", tmp_path / "a.bin").read_bytes() == b"short"


def test_what_had_come_whole_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    server.put("/a.bin", BODY)
    download(f"{server.url}/a.bin", tmp_path / "a.bin")
    assert download(f"{server.url}/a.bin", tmp_path / "a.bin").read_bytes() == BODY
    assert server.ranges("/a.bin") == [None, f"bytes={len(BODY)}-"]


@pytest.mark.parametrize("how", [{"ranges": False}, {"etag": None}, {"etag": 'W/"weak"'}])
def test_a_server_without_ranges_or_versions_starts_over(
    server: Server, tmp_path: Path, how: dict[str, object]
) -> None:
    server.put("/a.bin", BODY, cuts=[30_000], **how)
    assert download(f"{server.url}/a.bin", tmp_path / "a.bin").read_bytes() == BODY


def test_redirects_are_followed_and_tokens_stay_with_their_host(server: Server, tmp_path: Path) -> None:
    elsewhere = Server()
    try:
        elsewhere.put("/b.bin", BODY, cuts=[1000])
        server.put("/a.bin", b"", moved=f"{elsewhere.url}/b.bin")
        headers = {"Authorization": "Bearer secret"}
        assert download(f"{server.url}/a.bin", tmp_path / "a.bin", headers).read_bytes() == BODY
        assert [a.headers.get("authorization") for a in server.asked] == ["Bearer secret"] * 2
        assert [a.headers.get("authorization") for a in elsewhere.asked] == [None] * 2
        assert elsewhere.ranges("/b.bin") == [None, "bytes=1000-"]
    finally:
        elsewhere.close()


def test_a_redirect_within_the_host_keeps_the_token(server: Server, tmp_path: Path) -> None:
    server.put("/b.bin", BODY)
    server.put("/a.bin", b"", moved="/b.bin")
    download(f"{server.url}/a.bin", tmp_path / "a.bin", {"Authorization": "Bearer secret"})
    assert server.asked[-1].headers["authorization"] == "Bearer secret"


def test_out_of_tls_is_not_followed() -> None:
    import urllib.request

    request = urllib.request.Request("https://host/a.bin")
    with pytest.raises(SetupError, match="not encrypted"):
        module._Redirects().redirect_request(request, None, 302, "", None, "http://host/a.bin")  # type: ignore[arg-type]


@pytest.mark.parametrize(("status", "hint"), [(404, "has moved"), (401, "HF_TOKEN"), (403, "agreed"), (410, "410")])
def test_a_refusal_is_final_and_says_what_to_do(server: Server, tmp_path: Path, status: int, hint: str) -> None:
    server.put("/a.bin", BODY, status=[status])
    with pytest.raises(SetupError, match=f"says {status}.*") as found:
        download(f"{server.url}/a.bin", tmp_path / "a.bin")
    assert hint in str(found.value)
    assert len(server.asked) == 1


def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.put("/a.bin", BODY, status=[503, 429])
    assert download(f"{server.url}/a.bin", tmp_path / "a.bin").read_bytes() == BODY


def test_nobody_there(tmp_path: Path) -> None:
    server = Server()
    server.close()
    with pytest.raises(SetupError, match="cannot be reached"):
        download(f"{server.url}/a.bin", tmp_path / "a.bin")


def test_only_the_web(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="https://"):
        download("file:///etc/passwd", tmp_path / "a.bin")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("ftp://127.0.0.1/a.bin", "not a web address; not followed"),
        ("file:///etc/passwd", "not allowed"),
        ("data:,a", "not allowed"),
        ("http://[::1", "Invalid IPv6 URL"),
        ("a b\x1b", "control characters|404"),
    ],
)
def test_a_redirect_leads_nowhere_but_to_the_web(server: Server, tmp_path: Path, place: str, said: str) -> None:
    server.put("/a.bin", b"", moved=place)
    with pytest.raises(SetupError, match=said) as caught:
        download(f"{server.url}/a.bin", tmp_path / "a.bin")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        b"HTTP/1.1 206 Part\r\nContent-Range: bytes 0-" + b"9" * 5000 + b"/" + b"9" * 5000 + b"\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello",
        b"\x1b]0;PWN\x07\r\n\r\n",
        b"HTTP/1.1 403 \x1b]0;PWN\x07\r\n\r\n",
    ],
)
def test_an_answer_that_is_none_is_a_message_on_one_plain_line(server: Server, tmp_path: Path, head: bytes) -> None:
    server.put("/a.bin", b"", instead=lambda handler: handler.wfile.write(head))
    with pytest.raises(SetupError) as caught:
        download(f"{server.url}/a.bin", tmp_path / "a.bin")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("stated", [b"Content-Length: 1000\r\n", b""])
def test_a_file_larger_than_it_may_be_is_not_kept(server: Server, tmp_path: Path, stated: bytes) -> None:
    answer = b'HTTP/1.1 200 OK\r\nETag: "1"\r\n' + stated + b"\r\n" + b"x" * 1000
    server.put("/a.bin", b"", instead=lambda handler: handler.wfile.write(answer))
    with pytest.raises(SetupError, match="more than the 999 bytes"):
        download(f"{server.url}/a.bin", tmp_path / "a.bin", most=999)
    assert not list(tmp_path.iterdir())
    assert download(f"{server.url}/a.bin", tmp_path / "a.bin", most=1000).stat().st_size == 1000


def dripping(before: bytes, drop: bytes) -> Callable[[Any], None]:
    """Send so many bytes now and then, for ten seconds."""

    def answer(handler: Any) -> None:
        handler.wfile.write(b'HTTP/1.1 200 OK\r\nETag: "1"\r\n' + before)
        for _ in range(200):
            handler.wfile.write(drop)
            threading.Event().wait(0.05)

    return answer


@pytest.mark.parametrize("before", [b"X: ", b"\r\n", b"Content-Length: 1000000\r\n\r\n"])
def test_a_download_that_drips_is_given_up(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes
) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.2)
    monkeypatch.setattr(module, "TRIES", 2)
    server.put("/a.bin", b"", instead=dripping(before, b"x"))
    start = time.monotonic()
    with pytest.raises(SetupError, match=r"not complete after 0\.2 s; gave up after 2 tries"):
        download(f"{server.url}/a.bin", tmp_path / "a.bin")
    with pytest.raises(SetupError, match=r"not complete after 0\.2 s"):
        get(f"{server.url}/a.bin", 1000)
    assert time.monotonic() - start < 8


def test_a_slow_download_that_does_not_stall_goes_on(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.5)
    monkeypatch.setattr(module, "FLOOR", 1000)
    body = b"".join(b"%09d " % n for n in range(2000))

    def answer(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n")
        for start in range(0, 20_000, 1000):
            handler.wfile.write(body[start : start + 1000])
            threading.Event().wait(0.05)

    server.put("/a.bin", b"", instead=answer)
    assert download(f"{server.url}/a.bin", tmp_path / "a.bin").read_bytes() == body
    assert len(server.asked) == 1


def test_something_small_is_small(server: Server) -> None:
    server.put("/list", b"x" * 1000)
    assert get(f"{server.url}/list", 1000) == b"x" * 1000
    with pytest.raises(SetupError, match="more than the 999 bytes"):
        get(f"{server.url}/list", 999)
