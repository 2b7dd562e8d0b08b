"""HTTP with a deadline for each request, and server texts made safe to show and store."""

from __future__ import annotations

import base64
import contextlib
import html
import http.client
import io
import re
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, cast
from weakref import WeakSet

MALFORMED = (
    OSError, http.client.HTTPException, ValueError, TypeError, AttributeError, LookupError, ArithmeticError,
    AssertionError, RecursionError,
)  # fmt: skip
"""Errors that a request without a usable reply ends in: a chunk of negative size, for one, is a bare ValueError."""
QUOTED = 300
"""Characters of a server's text that a message quotes."""
LEAST_SECRET = 8
"""Characters of a key from which on it is masked in replies too; shorter ones ("EMPTY") are placeholders."""
SCANNED = 1 << 16
"""Bytes of a server's words among which a key is looked for; of these the first are then shown."""
_PIECE = 1 << 14  # bytes sent under one timeout: a TLS record
# What may stand between the characters of a key: ends of lines, control characters, and those that nobody sees.
_GAP = r"[\s\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*"
_LONGEST_FORM = 12  # characters that one character of a key takes at most in any encoding below


class Deadline:
    """A moment by which something must be done.

    Args:
        seconds: From now.
    """

    def __init__(self, seconds: float) -> None:
        self.renew(seconds)

    def renew(self, seconds: float) -> None:
        """Move it to so many seconds from now."""
        self._seconds, self._moment = seconds, time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left.

        Raises:
            TimeoutError: None are.
        """
        left = self._moment - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"too slow: not complete after {self._seconds:g} s")
        return left


class TimedReader(io.RawIOBase):
    """Bytes of a socket until a deadline; a timeout of the socket alone begins anew with each byte that drips in.

    Args:
        sock: A connected socket.
        raw: Its unbuffered file, which is closed with this one.
        deadline: For everything that is read.
    """

    def __init__(self, sock: socket.socket, raw: io.RawIOBase, deadline: Deadline) -> None:
        super().__init__()
        self._socket, self._raw, self._deadline = sock, raw, deadline

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read once.

        Raises:
            TimeoutError: The deadline has passed.
        """
        self._socket.settimeout(self._deadline.left())
        try:
            return cast("int | None", self._raw.readinto(buffer))
        except TimeoutError:
            self._deadline.left()  # says how long it was
            raise

    def close(self) -> None:
        """Close the socket's file too."""
        self._raw.close()
        super().close()


class Response(http.client.HTTPResponse):
    """A response whose head and body come before a deadline; who reads a long body may renew it."""

    def __init__(self, sock: socket.socket, *args: Any, deadline: Deadline, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.deadline = deadline
        self.fp = io.BufferedReader(TimedReader(sock, self.fp.detach(), deadline))

    def pieces(self, most: int, floor: int, seconds: float) -> Iterator[bytes]:
        """Yield the body as it comes, up to ``most`` bytes at a time; every ``floor`` bytes renew the deadline."""
        came = 0
        while data := self.read1(most):
            came += len(data)
            if came >= floor:
                self.deadline.renew(seconds)
                came = 0
            yield data


_connected: WeakSet[socket.socket] = WeakSet()
_connecting = threading.Lock()


def cut_off() -> None:
    """End the requests of all threads that are on their way; each fails as if the server had closed the connection."""
    with _connecting:
        connected = list(_connected)
    for sock in connected:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


class _Timed(http.client.HTTPConnection):
    """One request, sent and answered within the timeout."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline = Deadline(cast("float", self.timeout))
        self.response_class = partial(Response, deadline=self._deadline)  # type: ignore[assignment]

    def connect(self) -> None:
        super().connect()
        with _connecting:
            _connected.add(self.sock)

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        for start in range(0, len(data), _PIECE):
            self.sock.settimeout(self._deadline.left())
            super().send(data[start : start + _PIECE])


class _TimedTLS(_Timed, http.client.HTTPSConnection):
    pass


class _HTTP(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Timed, req)


class _HTTPS(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_TimedTLS, req)


def opener(redirects: urllib.request.HTTPRedirectHandler) -> urllib.request.OpenerDirector:
    """Return an opener of http and https alone, whose ``timeout`` is the deadline of a whole request.

    Args:
        redirects: Follows redirects, or does not.
    """
    director = urllib.request.OpenerDirector()
    request = urllib.request
    words = (request.ProxyHandler(), request.UnknownHandler(), request.HTTPDefaultErrorHandler())
    for handler in (*words, request.HTTPErrorProcessor(), _HTTP(), _HTTPS(), redirects):
        director.add_handler(handler)
    return director


def count(value: object, most: int) -> int | None:
    """Return a figure that a server states, or None where it is no integer from 0 to ``most``.

    >>> count(5, 10), count(True, 10), count(-1, 10), count(10**400, 10), count("5", 10)
    (5, None, None, None, None)
    """
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else None


def quoted(words: str | bytes, key: str | None = None) -> str:
    r"""Return a server's text as one short line, without the key and without control characters.

    Args:
        words: A body, a status line, a header, or the text of an error that quotes one.
        key: The secret that was sent, if any; it is masked before anything is cut.

    >>> quoted(b"\x1b]0;x\x07 you sent\n Bearer s%65cret-1", "secret-1")
    ']0;x you sent Bearer ***'
    """
    text = words[: SCANNED + 1].decode("utf-8", "replace") if isinstance(words, bytes) else words[: SCANNED + 1]
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    masked = mask(plain, key)
    if key and len(words) > SCANNED:  # the key may have begun at the cut, with a blank after each character
        masked = masked[: -(_LONGEST_FORM + 1) * len(key)]
    return masked[:QUOTED]


def reason(error: BaseException, key: str | None = None) -> str:
    """Return why a request brought no reply, as :func:`quoted`: the errors of the standard library quote servers."""
    cause = getattr(error, "reason", None)  # of a URLError, which may wrap another error
    return quoted(str(error if cause is None else cause) or type(error).__name__, key)


def mask(text: str, key: str | None) -> str:
    """Replace a key by ``***``: as it is, percent-encoded, with JSON or HTML escapes, in base64; in any case."""
    return _forms(key).sub("***", text) if key else text


@lru_cache(maxsize=4)
def _forms(key: str) -> re.Pattern[str]:
    plain = _GAP.join(f"(?:{'|'.join(_forms_of(c))})" for c in key)
    data = key.encode()
    encoded = (base64.b64encode(bytes(n) + data).decode()[-(-n * 8 // 6) : (n + len(data)) * 8 // 6] for n in range(3))
    # what is encoded together with the key changes its first and last character alone
    wrapped = (_GAP.join(map(re.escape, form)) for form in encoded if len(form) >= LEAST_SECRET)
    return re.compile("|".join([plain, *wrapped]), re.IGNORECASE)


def _forms_of(character: str) -> list[str]:
    code, escaped = ord(character), re.escape(character)
    named = html.escape(character)
    forms = [rf"\\{{0,3}}{escaped}", f"%(?:25)*{code:02x}", rf"\\{{1,3}}u{code:04x}", rf"\\{{1,3}}x{code:02x}"]
    return [*forms, f"&#0*{code};", f"&#x0*{code:x};", *([named] if named != character else [])]
