"""Client of the wire protocol of OpenAI-compatible endpoints, in pure standard library."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from threading import Event
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.utils import web
from vmmetrics.utils.endpoint import messages
from vmmetrics.utils.endpoint.messages import NoAnswerError, RejectedError, Reply, TooLongError, Turn


@dataclass
class Pace:
    """Keeps the requests of all threads apart.

    Attributes:
        per_minute: Most requests a minute; None for no bound.
    """

    per_minute: float | None
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def wait(self, stopped: threading.Event) -> None:
        """Sleep until the next request is due, or ``stopped`` is set."""
        if self.per_minute is None:
            return
        with self._lock:  # each takes a moment of its own, and sleeps until it without holding up who takes the next
            now = time.monotonic()
            due = max(now, self._next)
            self._next = due + 60 / self.per_minute
        if due > now:
            stopped.wait(due - now)


TRIES = 6
"""Requests for one reply before it is given up: with doubling pauses, half a minute of outage is sat out."""
FIRST_PAUSE = 1.0
"""Seconds before the second try; doubled after each."""
LONGEST_PAUSE = 60.0
"""Seconds that an endpoint may ask us to wait; beyond that the request fails and is tried again in the next run."""
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses worth another try: too many requests, timeouts, servers that are down or overloaded."""
OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "response_format": ("response_format", "json_schema", "structured output"),
    "max_tokens": ("max_tokens",),
    "temperature": ("temperature",),
    "seed": ("seed",),
}
"""Optional fields of a request, and words in errors about them. The request is then sent without the schema (the
question has it as text), with the newer name of the token limit, at the endpoint's temperature, or without a seed."""
REJECTING = frozenset({400, 413, 422})
"""Statuses that concern this one request: too long, too many pictures, an unknown option."""
LENGTHS = re.compile(
    r"context (?:length|window|size)|(?:input|prompt|model|sequence) (?:length|len)\b|too (?:large|long|many)|exceed"
    r"|at most \d|reduce the length",
    re.IGNORECASE,
)
"""Words by which endpoints say that a request with its answer is too long: vLLM, SGLang, llama.cpp and OpenAI name the
context; a bound on tokens that is too large is complained of in the words in which an unknown one is."""
FILTERED = ("content_filter", "content_policy", "content management policy")
"""Words of hosted endpoints that refuse a request by status 400, before any model sees it."""
LARGEST = 4_000_000
"""Bytes of a reply that are read; an answer has hundreds or thousands."""


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
    """Sends conversations to an endpoint; safe for several threads.

    Most callers want :class:`vmmetrics.utils.endpoint.client.Client`, which also keeps, counts and checks the replies.

    Args:
        settings: The endpoint and its model.
        first_pause: Seconds before the second try.

    Attributes:
        stopped: Event that ends all waiting requests at once; nothing more is sent.
    """

    def __init__(self, settings: messages.EndpointSettings, first_pause: float = FIRST_PAUSE) -> None:
        self.settings = settings
        self.stopped = Event()
        self._pace = Pace(settings.per_minute)
        self._first_pause = first_pause
        self._unknown: frozenset[str] = frozenset()
        self._opener = web.opener(_NoRedirects())

    def reply(
        self,
        turns: Sequence[Turn],
        shape: Mapping[str, Any] | None = None,
        options: Mapping[str, float] | None = None,
        limit: int | None = None,
    ) -> Reply:
        """Return the reply to a conversation; passing failures are tried again.

        Args:
            turns: The conversation so far.
            shape: JSON schema of the answer, an object at its root; None for free text.
            options: ``seed`` and ``temperature`` instead of the settings'.
            limit: Tokens of the answer instead of the settings'; where they are more, it is waited longer.

        Raises:
            NoAnswerError: No answer after :data:`TRIES` requests, or it was stopped.
            RejectedError: The endpoint does not take this request; ``TooLongError`` where it is too long.
            SetupError: It takes none, or not from us.
        """
        body = self._body(turns, shape) | dict(options or {}) | ({} if limit is None else {"max_tokens": limit})
        pause = self._first_pause
        reason = ""
        for attempt in range(TRIES):
            if attempt:
                self.stopped.wait(min(pause, LONGEST_PAUSE))
                pause *= 2
            try:
                return self._request(body)
            except _PassingError as error:
                reason = str(error)
                if error.pause is not None:
                    pause = max(pause, error.pause)
        raise NoAnswerError(f"no answer in {TRIES} tries: {reason}")

    def _request(self, body: Mapping[str, Any]) -> Reply:
        unknown = self._unknown  # what the endpoint complained of before
        sent = {name: value for name, value in body.items() if name not in unknown}
        if "max_tokens" in unknown:
            sent["max_completion_tokens"] = body["max_tokens"]
        headers = {"Content-Type": "application/json"}
        key = self.settings.key()
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        # the address is the user's own, and begins with http
        request = urllib.request.Request(self.settings.address, json.dumps(sent).encode(), headers)  # noqa: S310
        self._pace.wait(self.stopped)
        if self.stopped.is_set():
            raise NoAnswerError("stopped")
        timeout = self.settings.timeout * max(1.0, body["max_tokens"] / self.settings.tokens)
        try:
            with self._opener.open(request, timeout=timeout) as response:
                data = response.read(LARGEST)
        except urllib.error.HTTPError as error:
            return self._failed(error, sent, key)
        except web.MALFORMED as error:  # no connection, cut off, too slow, no HTTP
            raise _PassingError(f"{type(error).__name__}: {web.reason(error, key)}") from error
        try:
            return _reply(data, key)
        except web.MALFORMED as error:
            reason = f"no completion came back ({type(error).__name__}) but: {web.quoted(data, key)}"
            raise _PassingError(reason) from error

    def _body(self, turns: Sequence[Turn], shape: Mapping[str, Any] | None) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.settings.model,
            "messages": [_message(turn) for turn in turns],
            "max_tokens": self.settings.tokens,
        }
        options = {"temperature": self.settings.temperature, "seed": self.settings.seed}
        body |= {name: value for name, value in options.items() if value is not None}
        if shape is not None:
            schema = {"name": "answer", "strict": True, "schema": shape}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body | dict(self.settings.extra)

    def _failed(self, error: urllib.error.HTTPError, sent: Mapping[str, Any], key: str | None) -> Reply:
        """Raise the error of a status; a filter's is a refusal."""
        with error:
            try:
                text = web.quoted(error.read(web.SCANNED + 1), key)
            except web.MALFORMED:
                text = ""
        if error.code in PASSING:
            raise _PassingError(f"status {error.code}: {text}", _seconds(error.headers.get("Retry-After")))
        # of what this request had in it: another thread may have learned the same since
        unknown = {name for name, words in OPTIONAL.items() if name in sent and any(w in text.lower() for w in words)}
        long = error.code in REJECTING and LENGTHS.search(text) is not None
        unknown -= {"max_tokens"} if long else set()
        if error.code in REJECTING and any(word in text.lower() for word in FILTERED):
            return Reply("", refused=True)
        if error.code in REJECTING and unknown:
            self._unknown |= unknown
            raise _PassingError(f"status {error.code}: {text}")
        hint = f"; set the key in {self.settings.key_variable}" if error.code in (401, 403) else ""
        kind = TooLongError if long else RejectedError if error.code in REJECTING else SetupError
        raise kind(f"The model at {self.settings.address} answered with status {error.code}: {text}{hint}")


def _message(turn: Turn) -> dict[str, Any]:
    parts = [_part("image", "image/jpeg", picture) for picture in turn.pictures]
    if turn.video is not None:
        parts.append(_part("video", turn.video.kind, turn.video.data))
    if turn.before:
        parts.insert(0, {"type": "text", "text": turn.before})
    content = [*parts, {"type": "text", "text": turn.text}] if parts else turn.text
    return {"role": turn.role, "content": content}


def _part(name: str, kind: str, data: bytes) -> dict[str, Any]:
    """Return a file as part of a message; videos in the form of vLLM and SGLang, which others use."""
    url = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return {"type": f"{name}_url", f"{name}_url": {"url": url}}


def _reply(data: bytes, key: str | None) -> Reply:
    """Read a completion; any error means that it is not one, or incomplete."""
    body = json.loads(data)
    choice = body["choices"][0]
    message = choice["message"]
    content, refusal, reason = message.get("content"), message.get("refusal"), choice.get("finish_reason")
    if isinstance(content, list):  # some endpoints answer in parts
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    text = content.encode("utf-8", "replace").decode() if isinstance(content, str) else ""  # no half of a pair
    if key is not None and len(key) >= web.LEAST_SECRET:
        text = web.mask(text, key)  # replies are kept
    usage = body.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    return Reply(
        text,
        refused=bool(refusal) or reason == "content_filter",
        cut=reason == "length",
        input_tokens=messages.tokens(usage.get("prompt_tokens")),
        output_tokens=messages.tokens(usage.get("completion_tokens")),
    )


def _seconds(header: str | None) -> float | None:
    """Return the seconds of a ``Retry-After`` (number or date), at most :data:`LONGEST_PAUSE`; None for other text."""
    if header is None:
        return None
    try:
        pause = float(header)
    except ValueError:
        try:
            pause = parsedate_to_datetime(header).timestamp() - time.time()
        except web.MALFORMED:  # a year 1, for one, overflows
            return None
    return min(max(pause, 0.0), LONGEST_PAUSE)
