"""A misbehaving endpoint and a misbehaving mirror of weights: every reply that a socket can bear."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable

from benchmarks.campaign.loopback import stay_on_loopback
from benchmarks.campaign.results import Campaign
from tests.reliability.watched import GIB, Limits, command, watched

KEY = "sk-never-to-be-shown-0123456789"
LIMITS = Limits(cpu=30, idle=45, memory=2 * GIB, wall=60)
TITLE = b"\x1b]0;title\x07"
DRIP_SECONDS = 300.0

WEIGHTS = ("sam2.1-hiera-large", "rtmpose-m-body7")
"""One set whose files a mirror lists, and one in an archive."""

Play = Callable[[socket.socket, bytes], None]


def _head(status: bytes = b"200 OK", *headers: bytes) -> bytes:
    return b"\r\n".join([b"HTTP/1.1 " + status, *headers, b"", b""])


def _whole(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    return _head(status, b"Content-Length: %d" % len(body), b"Connection: close", *headers) + body


def _content(text: str, **more: object) -> bytes:
    reply = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], **more}
    return json.dumps(reply).encode()


def _drip(head: bytes, byte: bytes = b" ") -> Play:
    def play(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(head)
        until = time.monotonic() + DRIP_SECONDS
        while time.monotonic() < until:
            connection.sendall(byte)
            time.sleep(0.5)

    return play


def _endless(head: bytes, block: bytes) -> Play:
    def play(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(head)
        for _ in range(3000):
            connection.sendall(block)

    return play


def _echo(make: Callable[[bytes], bytes]) -> Play:
    """Send back what the request said of the key."""

    def play(connection: socket.socket, request: bytes) -> None:
        lines = [line for line in request.split(b"\r\n") if line.lower().startswith(b"authorization")]
        connection.sendall(make(lines[0] if lines else b"none"))

    return play


def _reset(connection: socket.socket, _request: bytes) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


LONG_NUMBER = b"9" * 5000
REPLIES: dict[str, bytes | Play] = {
    "nothing": b"",
    "reset": _reset,
    "noise": os.urandom(2000),
    "TLS": b"\x16\x03\x01\x02\x00\x01",
    "HTTP/0.9": b"hello",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "escape in status": b"HTTP/1.1 500 " + TITLE + b"\r\nContent-Length: 0\r\n\r\n",
    "escape for a status line": TITLE + b"\r\n\r\n",
    "key for a status line": _echo(lambda key: TITLE + b" " + key + b"\r\n\r\n"),
    "key in status": _echo(lambda key: b"HTTP/1.1 500 " + key + b"\r\nContent-Length: 0\r\n\r\n"),
    "key in a header": _echo(lambda key: b"HTTP/1.1 200 OK\r\n" + key * 1000 + b"\r\n\r\n"),
    "key in an error": _echo(lambda key: _whole(key, status=b"400 Bad")),
    "key across 2000 bytes": _echo(lambda key: _whole(b"x" * (2000 - len(key) + 9) + key, status=b"400 Bad")),
    "key in a reply": _echo(lambda key: _whole(_content(key.decode()))),
    "key, quoted": _echo(lambda key: _whole(json.dumps({"error": key.decode()}).encode(), status=b"401 No")),
    "status 999": _head(b"999 X", b"Content-Length: 0"),
    "status -1": _head(b"-1 X", b"Content-Length: 0"),
    "status of 5000 digits": _head(LONG_NUMBER, b"Content-Length: 0"),
    "status of letters": _head(b"abc X"),
    "100 for ever": _endless(b"", _head(b"100 Continue")),
    "204": _head(b"204 None"),
    "redirect": _head(b"302 Found", b"Location: http://127.0.0.1:9/"),
    "redirect to a file": _head(b"307 Found", b"Location: file:///etc/hostname"),
    "redirect to no address": _head(b"302 Found", b"Location: http://[::1", b"Content-Length: 0"),
    "redirect to itself": _head(b"302 Found", b"Location: /", b"Content-Length: 0"),
    "length of letters": _head(b"200 OK", b"Content-Length: abc") + b"{}",
    "negative length": _head(b"200 OK", b"Content-Length: -5") + b"{}",
    "length of 5000 digits": _head(b"200 OK", b"Content-Length: " + LONG_NUMBER) + b"{}",
    "two lengths": _head(b"200 OK", b"Content-Length: 2", b"Content-Length: 9") + b"{}",
    "too short": _head(b"200 OK", b"Content-Length: 5000") + b"{",
    "negative chunk": _head(b"200 OK", b"Transfer-Encoding: chunked") + b"-5\r\nhello\r\n0\r\n\r\n",
    "chunk of letters": _head(b"200 OK", b"Transfer-Encoding: chunked") + b"xyz\r\nhello\r\n0\r\n\r\n",
    "chunk of 2^64": _head(b"200 OK", b"Transfer-Encoding: chunked") + b"ffffffffffffffff\r\nhello",
    "chunk without end": _head(b"200 OK", b"Transfer-Encoding: chunked") + b"5\r\nhello\r\n",
    "chunk of 5000 digits": _head(b"200 OK", b"Transfer-Encoding: chunked") + b"1" * 5000 + b"\r\nx",
    "header of 1 MB": _head(b"200 OK", b"X: " + b"x" * 10**6),
    "100,000 headers": _head(b"200 OK", *[b"X: y"] * 100_000),
    "header without colon": _head(b"200 OK", b"hello") + b"{}",
    "NUL in a header": _head(b"200 OK", b"X: \0") + b"{}",
    "gzip": _whole(b"\x1f\x8b\x08" + bytes(100), b"Content-Encoding: gzip"),
    "drip in the status": _drip(b"HTTP/1.1 200 ", b"x"),
    "drip in the head": _drip(b"HTTP/1.1 200 OK\r\nX: ", b"x"),
    "drip in the body": _drip(_head(b"200 OK", b"Content-Length: 100000")),
    "drip without length": _drip(_head(b"200 OK")),
    "silence": _drip(b"", b""),
    "3 GB": _endless(_head(b"200 OK"), b" " * 10**6),
    "3 GB of headers": _endless(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 60000 + b"\r\n"),
    "web page": _whole(b"<!doctype html><html>", b"Content-Type: text/html"),
    "empty": _whole(b""),
    "null": _whole(b"null"),
    "list": _whole(b"[]"),
    "deep": _whole(b"[" * 1_000_000),
    "latin-1": _whole(b'{"choices":"\xe9"}'),
    "NaN": _whole(_content("x", usage={"prompt_tokens": float("nan")})),
    "long number": _whole(b'{"choices":' + LONG_NUMBER + b"}"),
    "tokens 10^4000": _whole(_content("{}")[:-1] + b',"usage":{"prompt_tokens":1' + b"0" * 4000 + b"}}"),
    "tokens -5": _whole(_content("{}", usage={"prompt_tokens": -5, "completion_tokens": "x"})),
    "choices is a number": _whole(b'{"choices":5}'),
    "no choices": _whole(b'{"choices":[]}'),
    "choice is null": _whole(b'{"choices":[null]}'),
    "message is text": _whole(b'{"choices":[{"message":"x"}]}'),
    "content is a number": _whole(b'{"choices":[{"message":{"content":5}}]}'),
    "content is a list": _whole(b'{"choices":[{"message":{"content":[5,{"text":null}]}}]}'),
    "content is deep": _whole(_content("[" * 100_000)),
    "content of 3 MB": _whole(_content("x" * 3_000_000)),
    "content of escapes": _whole(_content(TITLE.decode())),
    "content of surrogates": _whole(b'{"choices":[{"message":{"content":"\\ud800"}}]}'),
    "500": _whole(b"boom", status=b"500 Error"),
    "401": _whole(b"no", status=b"401 No"),
    "413": _whole(b"large", status=b"413 Large"),
}
REPLIES |= {
    f"Retry-After {value.decode('latin-1')[:12]}": _head(b"429 X", b"Retry-After: " + value, b"Content-Length: 0")
    for value in (b"nan", b"inf", b"-5", b"1e400", LONG_NUMBER, TITLE, b"Fri, 31 Dec 9999 23:59:59 GMT", b"x")
}


def serve(reply: bytes | Play) -> tuple[int, Callable[[], None]]:
    """Answer every request on a port of this machine in one way; the port, and what stops it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        with connection:
            try:
                connection.settimeout(DRIP_SECONDS)
                request = connection.recv(1 << 16)
                if callable(reply):
                    reply(connection, request)
                else:
                    connection.sendall(reply)
                    connection.shutdown(socket.SHUT_WR)
                    connection.recv(1 << 16)
            except OSError:
                return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1], listener.close


def run(campaign: Campaign) -> None:
    """Ask the endpoint, and fetch weights, once for each reply."""
    stay_on_loopback()
    for name, reply in REPLIES.items():
        _ask(campaign, name, reply)
        for weights in WEIGHTS:
            _fetch(campaign, name, reply, weights)


def _ask(campaign: Campaign, name: str, reply: bytes | Play) -> None:
    key = f"endpoint: {name}"
    if campaign.done(key):
        return

    cache = campaign.scratch / f"replies-{len(campaign.cases)}"

    def work() -> list[str]:
        from vmmetrics.errors import VMMetricsError
        from vmmetrics.utils.endpoint import wire
        from vmmetrics.utils.endpoint.client import Client
        from vmmetrics.utils.endpoint.messages import EndpointSettings, Turn

        os.environ["VMMETRICS_ENDPOINT_KEY"] = KEY
        wire.TRIES, wire.LONGEST_PAUSE = 2, 0.5
        port, _ = serve(reply)
        prices = {"input_price": 1.0, "output_price": 1.0}
        settings = EndpointSettings(f"http://127.0.0.1:{port}/v1", "m", timeout=4.0, **prices)
        try:
            answer = Client(settings, cache, first_pause=0.01).say([Turn("user", "hello")])
        except VMMetricsError as error:
            return ["refused", str(error)]
        return ["answered", repr(answer)[:5000]]

    ended = watched(work, LIMITS)
    outcome, words = ended.value or ("", "")
    fault = ended.trouble or ("" if ended.value else f"exit code {ended.code}: {ended.output[-150:]}")
    if KEY[:16] in words + ended.output:
        fault = fault or f"shows the key: {words[:200]!r}"
    if outcome == "refused" and any(mark in words for mark in ("\x1b", "\x07", "\x9b")):
        fault = fault or f"raw escapes: {words[:200]!r}"
    campaign.add("endpoint", key, fault, outcome)


def _fetch(campaign: Campaign, name: str, reply: bytes | Play, weights: str) -> None:
    key = f"mirror: {weights}, {name}"
    if campaign.done(key):
        return
    home = campaign.scratch / f"weights-{len(campaign.cases)}"

    def work() -> int:
        from vmmetrics.utils.weights import download

        for constant, value in (("PAUSE", 0.01), ("TRIES", 2), ("TIMEOUT", 4)):
            if hasattr(download, constant):
                setattr(download, constant, value)
        os.environ.update(VMMETRICS_WEIGHTS=str(home), VMMETRICS_ENDPOINT_KEY=KEY)
        port, _ = serve(reply)
        return command(["weights", "fetch", weights, "--mirror", f"http://127.0.0.1:{port}", "--accept-licence"])

    ended = watched(work, LIMITS)
    fault = ended.trouble or ("" if ended.value in (0, 2, 3) else f"exit code {ended.code}: {ended.output[-200:]}")
    kept = [path for path in home.rglob("*") if path.is_file() and path.suffix in (".pth", ".safetensors")]
    if ended.value == 0 or kept:
        fault = fault or f"keeps {[path.name for path in kept]}"
    if "No such option" in ended.output:
        fault = fault or "asks nothing of the command"
    if "\x1b]" in ended.output:
        fault = fault or f"raw escapes: {ended.output[-200:]!r}"
    campaign.add(f"mirror: {weights}", key, fault, "refused")
