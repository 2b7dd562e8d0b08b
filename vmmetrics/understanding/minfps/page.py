"""Local browser page on which a person decides if a question is answerable at a rate.

Whoever asks (:class:`~vmmetrics.understanding.minfps.asking.PersonAnnotator`) waits in :meth:`Page.ask`; threads of the
server hand the question out and the answer in. Nothing is kept here: the journal is its caller's.
"""

from __future__ import annotations

import io
import json
import re
import secrets
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Self

from vmmetrics.models.questions import Question
from vmmetrics.understanding.minfps import in_words
from vmmetrics.utils.web import Deadline, TimedReader

_HTML: Final = Path(__file__).with_suffix(".html")
_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
"""Host names of this machine; requests under other names (DNS rebinding) are refused."""
_LONGEST: Final = 20.0  # seconds that a browser waits for news before it asks again
_LARGEST: Final = 200  # bytes of an answer
_READ: Final = 1 << 16  # bytes of anything else that are read
_LAST: Final = 1.5  # seconds that replies on their way have when the page is closed


class Page:
    """Shows questions to a person in a browser, one at a time.

    Args:
        questions: All that will be asked about, in order.

    Attributes:
        url: Its address; the key in it keeps out whoever else is on this machine.
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        self._numbers = {question.id: number for number, question in enumerate(questions, start=1)}
        self._news = threading.Condition()
        self._state: dict[str, Any] = {"version": 0, "status": "preparing"}
        self._clip = b""
        self._answerable: bool | None = None
        self.key = secrets.token_urlsafe(16)
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/{self.key}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def ask(self, question: Question, path: Path, rate: float) -> bool:
        """Show a question, and wait for the verdict.

        Args:
            question: With its options.
            path: The clip at the rate, an MP4 file.
            rate: Frames per second.
        """
        asked = {"question": question.text, "options": list(question.lettered), "rate": in_words(rate)}
        position = {"number": self._numbers[question.id], "total": len(self._numbers)}
        with self._news:
            self._clip, self._answerable = path.read_bytes(), None
            self._tell("asking", **asked, **position)
            while not self._news.wait_for(lambda: self._answerable is not None, 1.0):
                pass  # without an end, Windows would not take Ctrl-C
            answerable, self._clip = self._answerable, b""
            self._tell("preparing")
            return bool(answerable)

    def answer(self, version: Any, answerable: Any) -> bool:
        """Record a verdict; return True if it is on the current question and the first."""
        with self._news:
            current = type(version) is int and version == self._state["version"]  # True is 1, and no version
            about = current and self._state["status"] == "asking" and self._answerable is None
            if about and isinstance(answerable, bool):
                self._answerable = answerable
                self._news.notify_all()
                return True
            return False

    def state(self, after: int) -> dict[str, Any]:
        """Return the page's state once it differs from a version, or unchanged after a timeout."""
        with self._news:
            self._news.wait_for(lambda: self._state["version"] != after, _LONGEST)
            return self._state

    def clip(self, version: int) -> bytes:
        """Return the clip of a version; empty if another is shown."""
        with self._news:
            return self._clip if version == self._state["version"] else b""

    def close(self, status: str = "done") -> None:
        """Show the end ("done" or "stopped") in the browser and stop serving, in at most two seconds."""
        with self._news:
            self._tell(status)
        self._server.shutdown()
        self._server.server_close()
        self._server.finish(_LAST)
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *how: object) -> None:
        self.close("done" if kind is None else "stopped")

    def _tell(self, status: str, **more: Any) -> None:
        self._state = {"version": self._state["version"] + 1, "status": status, **more}
        self._news.notify_all()


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # of no use to anybody once the page is closed

    def __init__(self, page: Page) -> None:
        self.page = page
        self._open: set[socket.socket] = set()
        self._fewer = threading.Condition()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a request in a thread, and track its connection."""
        with self._fewer:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close the connection of a finished request."""
        super().shutdown_request(request)
        with self._fewer:
            self._open.discard(request)
            self._fewer.notify_all()

    def finish(self, seconds: float) -> None:
        """Let pending replies complete (the last one reports the end), then close open connections."""
        with self._fewer:
            self._fewer.wait_for(lambda: not self._open, seconds)
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that disconnected; report other errors."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 2  # seconds for a request to come whole: browsers open connections that they do not use

    def setup(self) -> None:
        """Limit the time to read the whole request."""
        super().setup()
        self.rfile = io.BufferedReader(TimedReader(self.connection, self.rfile.detach(), Deadline(self.timeout)))

    def do_GET(self) -> None:
        path = self._path()
        match = re.search(r"[?&](?:after|version)=([0-9]{1,9})(?:&|$)", self.path)
        version = int(match[1]) if match else -1
        if path == "":
            nonce = secrets.token_urlsafe(16)
            self._reply(_HTML.read_text("utf-8").replace("NONCE", nonce).encode(), "text/html; charset=utf-8", nonce)
        elif path == "state":
            self._reply_json(self.server.page.state(version))
        elif path == "clip":
            clip = self.server.page.clip(version)
            self._reply(clip, "video/mp4") if clip else self._refuse(HTTPStatus.CONFLICT)
        elif path is not None:
            self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        size = int(length) if length.isdecimal() and len(length) < 10 else 0
        body = self.rfile.read(min(size, _READ))  # whoever is refused without being read sees no reason
        path = self._path()
        if path is None:
            return None
        # a browser sends another site's answer with that site's name, or not as JSON
        origin = self.headers.get("Origin")
        if origin not in (None, f"http://{self.headers['Host']}"):
            return self._refuse(HTTPStatus.FORBIDDEN)
        if path != "answer" or self.headers.get_content_type() != "application/json":
            return self._refuse(HTTPStatus.BAD_REQUEST)
        if size > _LARGEST:
            return self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            posted = json.loads(body)
            accepted = self.server.page.answer(posted["version"], posted["answerable"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return self._refuse(HTTPStatus.BAD_REQUEST)
        return self._reply_json({}) if accepted else self._refuse(HTTPStatus.CONFLICT)

    def _path(self) -> str | None:
        """Return the requested path after the key; None for a request without it, which is refused."""
        host = re.sub(r":\d+$", "", self.headers.get("Host", ""))
        _, key, *rest = [*self.path.partition("?")[0].split("/", 2), ""]
        authorised = secrets.compare_digest(key.encode(), self.server.page.key.encode())
        if host not in _NAMES or not authorised or len(rest) < 2:
            self._refuse(HTTPStatus.FORBIDDEN)
            return None
        return rest[0]

    def _reply_json(self, value: Any) -> None:
        self._reply(json.dumps(value).encode(), "application/json")

    def _refuse(self, status: HTTPStatus) -> None:
        self._reply(status.phrase.encode(), "text/plain", status=status)

    def _reply(self, body: bytes, kind: str, nonce: str = "", status: HTTPStatus = HTTPStatus.OK) -> None:
        own = f"script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; " if nonce else ""
        rest = "connect-src 'self'; media-src blob:; img-src data:; base-uri 'none'; frame-ancestors 'none'"
        self.connection.settimeout(self.timeout)  # reading left it what remained of its own time
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", f"default-src 'none'; {own}{rest}"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing to the terminal."""
