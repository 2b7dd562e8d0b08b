"""A judge behind an OpenAI-compatible endpoint: ``POST {url}/chat/completions``, nothing but the standard library."""

from __future__ import annotations

import base64
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from vmmetrics.baselines.judge.asking import JudgeSettings, Pace, Reply, Turn, key_of
from vmmetrics.baselines.judge.questions import schema
from vmmetrics.errors import ClipError, SetupError

TRIES = 6
"""Requests for one reply before it is given up: with doubling pauses, half a minute of outage is sat out."""
FIRST_PAUSE = 1.0
"""Seconds before the second try; doubled after each."""
LONGEST_PAUSE = 60.0
"""Seconds that an endpoint may ask us to wait; beyond that the clip fails and is tried again in the next run."""
TIMEOUT = 180.0
"""Seconds without a byte until a request counts as lost."""
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses that may pass: too many requests, timeouts, servers that are down or overloaded."""
OPTIONAL = ("response_format", "max_tokens", "temperature")
"""What not every endpoint knows. One that complains is asked without schema (the words of the question have to do), by
the newer name of the bound on tokens, or at its own temperature."""
LARGEST = 4_000_000
"""Bytes of a reply that are read; an answer has hundreds."""


class _PassingError(Exception):
    """Worth another try."""

    def __init__(self, why: str, pause: float | None = None) -> None:
        super().__init__(why)
        self.pause = pause


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Endpoint:
    """Asks a model behind an endpoint.

    Args:
        settings: Which, and where.
        first_pause: Seconds before the second try.
    """

    identity: Mapping[str, Any] = {"temperature": 0}

    def __init__(self, settings: JudgeSettings, first_pause: float = FIRST_PAUSE) -> None:
        if settings.url is None:
            raise ValueError("Expected an address but got None")
        self._settings = settings
        self._address = settings.url.rstrip("/") + "/chat/completions"
        self._pace = Pace(settings.per_minute)
        self._first_pause = first_pause
        self._unknown: set[str] = set()
        self._opener = urllib.request.build_opener(_NoRedirects)

    def reply(self, turns: Sequence[Turn]) -> Reply:
        """Answer what was said so far; what may pass is tried again.

        Raises:
            ClipError: No answer after :data:`TRIES` requests.
            SetupError: The endpoint does not take such requests, or not from us.
        """
        pause = self._first_pause
        why = ""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            try:
                return self._request(turns)
            except _PassingError as error:
                why = str(error)
                if error.pause is not None:
                    pause = max(pause, error.pause)
        raise ClipError(f"The judge gave no answer in {TRIES} tries: {why}")

    def _request(self, turns: Sequence[Turn]) -> Reply:
        body = {
            "model": self._settings.model,
            "messages": [_message(turn) for turn in turns],
            "max_completion_tokens" if "max_tokens" in self._unknown else "max_tokens": self._settings.tokens,
        }
        if "temperature" not in self._unknown:
            body["temperature"] = 0
        if "response_format" not in self._unknown:
            named = {"name": "ratings", "strict": True, "schema": schema()}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        headers = {"Content-Type": "application/json"}
        key = key_of(self._settings)
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        # the address is the user's own, and begins with http
        request = urllib.request.Request(self._address, json.dumps(body).encode(), headers)  # noqa: S310
        self._pace.wait()
        try:
            with self._opener.open(request, timeout=TIMEOUT) as response:
                data = response.read(LARGEST)
        except urllib.error.HTTPError as error:
            self._refused(error)
        except (OSError, http.client.HTTPException) as error:  # no connection, cut off, too slow
            raise _PassingError(f"{type(error).__name__}: {error}") from error
        return _reply(data)

    def _refused(self, error: urllib.error.HTTPError) -> NoReturn:
        """Say what an error status means."""
        with error:
            try:
                said = error.read(2000).decode("utf-8", "replace")
            except (OSError, http.client.HTTPException):
                said = ""
        key = key_of(self._settings)
        said = " ".join((said.replace(key, "***") if key else said).split())[:300]
        if error.code in PASSING:
            raise _PassingError(f"status {error.code}: {said}", _seconds(error.headers.get("Retry-After")))
        named = [option for option in OPTIONAL if option in said and option not in self._unknown]
        if error.code in (400, 422) and named:
            self._unknown.update(named)
            raise _PassingError(f"status {error.code}: {said}")
        hint = f"; set the key in {self._settings.key_variable}" if error.code in (401, 403) else ""
        raise SetupError(f"The judge at {self._address} answered with status {error.code}: {said}{hint}")


def _message(turn: Turn) -> dict[str, Any]:
    if not turn.pictures:
        return {"role": turn.role, "content": turn.text}
    urls = (f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}" for picture in turn.pictures)
    pictures = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {"role": turn.role, "content": [*pictures, {"type": "text", "text": turn.text}]}


def _reply(data: bytes) -> Reply:
    """Read a completion; one that is not whole is worth another try."""
    try:
        choice = json.loads(data)["choices"][0]
        message = choice["message"]
        content, refusal, reason = message.get("content"), message.get("refusal"), choice.get("finish_reason")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise _PassingError(f"no completion came back ({type(error).__name__})") from error
    if isinstance(content, list):  # some endpoints answer in parts
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    text = content if isinstance(content, str) else ""
    return Reply(text, refused=bool(refusal) or reason == "content_filter", cut=reason == "length")


def _seconds(header: str | None) -> float | None:
    """Seconds of a ``Retry-After``, no more than we are willing to wait; None where it names none."""
    try:
        return None if header is None else min(max(float(header), 0.0), LONGEST_PAUSE)
    except ValueError:  # a date
        return None
