"""Rules for requests to a server on this machine, whoever serves them: host, key, origin, body, range and headers.

A page of another site can send requests to this machine: under a name that it made resolve to it (DNS rebinding,
refused by :func:`check_host`), or as a form or script of its own (:func:`check_origin`). Other users of the machine can
as well: an address has a key that they cannot guess (:func:`below_key`).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from http import HTTPStatus

HOST = "127.0.0.1"
"""Address that servers listen on."""
NAMES = (HOST, "localhost", "[::1]")
"""Host names of this machine."""
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_PORT = re.compile(r":\d+$")


class RefusedError(Exception):
    """A request is refused.

    Attributes:
        status: Status of the answer, which quotes nothing of the request.
    """

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


def headers(policy: str) -> dict[str, str]:
    """Return the headers of every answer: not kept, not sniffed, not framed, not read by other sites.

    Args:
        policy: Sources of the Content-Security-Policy; what only a header can forbid is added.
    """
    return {
        "Cache-Control": "no-store",
        "Content-Security-Policy": f"{policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


def check_host(given: Sequence[str], port: int | None = None, names: Sequence[str] = NAMES) -> str:
    """Return the one ``Host`` header of a request.

    Args:
        given: Its ``Host`` headers.
        port: Port that it must name; None for any, as behind a tunnel.
        names: Names that it may have.

    Raises:
        RefusedError: There is none, several, or it has another name.
    """
    allowed = [name if port is None else f"{name}:{port}" for name in names]
    if len(given) != 1 or (_PORT.sub("", given[0]) if port is None else given[0]) not in allowed:
        raise RefusedError(HTTPStatus.MISDIRECTED_REQUEST)
    return given[0]


def below_key(path: str, key: str) -> str:
    """Return the path below ``/KEY/``, without a query.

    Raises:
        RefusedError: It does not begin with the key.
    """
    parts = path.partition("?")[0].split("/", 2)
    if len(parts) < 3 or parts[0] or not secrets.compare_digest(parts[1].encode("utf-8", "replace"), key.encode()):
        raise RefusedError(HTTPStatus.FORBIDDEN)
    return parts[2]


def check_origin(origin: str | None, host: str, scheme: str = "http") -> None:
    """Refuse what another site's page sends, with that site's name; browsers name it with every POST.

    Raises:
        RefusedError: Its origin is another one.
    """
    if origin not in (None, f"{scheme}://{host}"):
        raise RefusedError(HTTPStatus.FORBIDDEN)


def body_size(length: str | None) -> int:
    """Return the bytes that a ``Content-Length`` header states, 0 where it states none."""
    return int(length) if length and length.isdecimal() and len(length) < 10 else 0


def byte_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return start and stop of the bytes that a ``Range`` header asks for.

    Returns:
        None where the whole file is to be sent (no, several or malformed ranges, RFC 9110, section 14.2); an empty
        range where it cannot be satisfied.

    >>> byte_range("bytes=2-5", 10), byte_range("bytes=-3", 10), byte_range("bytes=10-", 10)
    ((2, 6), (7, 10), (10, 10))
    """
    match = _RANGE.fullmatch(header or "")
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        return max(0, size - int(last)), size
    if last and int(last) < int(first):
        return None
    return min(int(first), size), min(int(last) + 1 if last else size, size)
