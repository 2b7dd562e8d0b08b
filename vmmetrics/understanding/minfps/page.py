"""Local browser page on which a person decides if a question is answerable at a rate.

Whoever asks (:class:`~vmmetrics.understanding.minfps.asking.PersonAnnotator`) waits in :meth:`Page.ask`; threads of the
server hand the question out and the answer in. Nothing is kept here: the journal is its caller's.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Self

from vmmetrics.models.questions import Question
from vmmetrics.understanding.minfps import in_words
from vmmetrics.utils.request_rules import HOST, RefusedError, below_key, check_host, check_origin
from vmmetrics.utils.server import Handler, LoopbackServer

_HTML: Final = Path(__file__).with_suffix(".html")
_LONGEST: Final = 20.0  # seconds that a browser waits for news before it asks again
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
        self.url = f"http://{HOST}:{self._server.port}/{self.key}/"
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
        self._server.finish(_LAST)
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *how: object) -> None:
        self.close("done" if kind is None else "stopped")

    def _tell(self, status: str, **more: Any) -> None:
        self._state = {"version": self._state["version"] + 1, "status": status, **more}
        self._news.notify_all()


class _Server(LoopbackServer):
    def __init__(self, page: Page) -> None:
        self.page = page
        super().__init__(_Handler)


class _Handler(Handler):
    server: _Server
    head_seconds = idle_seconds = 2.0  # browsers open connections that they do not use
    largest = 200

    def get(self) -> None:
        path = self._path()
        match = re.search(r"[?&](?:after|version)=([0-9]{1,9})(?:&|$)", self.path)
        version = int(match[1]) if match else -1
        if path == "":
            nonce = secrets.token_urlsafe(16)
            sources = f"script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; media-src blob:"
            page = _HTML.read_text("utf-8").replace("NONCE", nonce).encode()
            self.reply(page, "text/html; charset=utf-8", policy=f"{self.policy}; {sources}; img-src data:")
        elif path == "state":
            self._reply_json(self.server.page.state(version))
        elif path == "clip" and (clip := self.server.page.clip(version)):
            self.reply(clip, "video/mp4")
        else:
            raise RefusedError(HTTPStatus.CONFLICT if path == "clip" else HTTPStatus.NOT_FOUND)

    def post(self, body: bytes | None) -> None:
        path = self._path()
        check_origin(self.headers.get("Origin"), self.headers["Host"])
        if path != "answer" or self.headers.get_content_type() != "application/json":
            raise RefusedError(HTTPStatus.BAD_REQUEST)  # no form of another site can send JSON
        if body is None:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            posted = json.loads(body)
            accepted = self.server.page.answer(posted["version"], posted["answerable"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise RefusedError(HTTPStatus.BAD_REQUEST) from error
        if not accepted:
            raise RefusedError(HTTPStatus.CONFLICT)
        self._reply_json({})

    def _path(self) -> str:
        """Return the requested path after the key."""
        check_host(self.headers.get_all("Host", []))
        return below_key(self.path, self.server.page.key)

    def _reply_json(self, value: Any) -> None:
        self.reply(json.dumps(value).encode(), "application/json")
