"""Resumable download of one file over HTTP.

huggingface_hub throws away what has arrived when a download fails (``_download_to_tmp_and_move`` in its version 2.4),
which is too much to lose of a file of 10 GB, and waits for a listing without a bound.
"""

from __future__ import annotations

import http.client
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, refusing
from vmmetrics.utils import web
from vmmetrics.utils.storage.addresses import masked
from vmmetrics.utils.weights.folder import PARTIAL

Progress = Callable[[int, int | None], None]
"""Called with the bytes done and in all."""

TRIES = 5
"""Tries that together bring less than :data:`FLOOR` before it is given up."""
PAUSE = 1.0
"""Seconds before the second try; doubled for each further one."""
TIMEOUT = 30.0
"""Seconds for a whole small answer, the head of a large one, and each further :data:`FLOOR` bytes of that."""
FLOOR = 1 << 17
"""Bytes in :data:`TIMEOUT` below which a download has stalled and is tried again: 4 KB a second."""
_BLOCK = 1 << 20
_AGAIN = {408, 425, 429, 500, 502, 503, 504}  # answers that may be others in a moment
_RANGE = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18}|\*)")
_LENGTH = re.compile("[0-9]{1,18}")


class _CutOffError(OSError):
    """The server ended before the file did."""


class _TooLargeError(Exception):
    """The server sends more than the file has."""


_TOO_LARGE = (
    "the server sends more than the {} bytes that were expected at most. Nothing was saved; use another mirror, or "
    "copies with --from-folder"
)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to http and https alone, not out of TLS, and with a token to no other host."""

    def redirect_request(self, req: urllib.request.Request, *args: Any, **more: Any) -> urllib.request.Request | None:
        newurl = args[-1]
        old, new = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        if new.scheme not in ("http", "https"):
            raise SetupError(
                f"{req.full_url} redirects to {web.quoted(newurl)}, which is not a web address; not followed"
            )
        if old.scheme == "https" and new.scheme != "https":
            raise SetupError(f"{req.full_url} redirects to {web.quoted(newurl)}, which is not encrypted; not followed")
        following = super().redirect_request(req, *args, **more)
        if following is not None and old.netloc != new.netloc:
            following.remove_header("Authorization")
        return following


def download(
    url: str,
    target: Path,
    headers: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    most: int | None = None,
) -> Path:
    """Download a file to ``target`` + ``.part``, for the caller to check and rename.

    Args:
        url: Address.
        target: Path of the complete file.
        headers: Further headers, such as ``Authorization``; that one goes to no other host.
        progress: Called with the bytes done and in all.
        most: Bytes that it may have; None for no bound.

    Returns:
        The file, complete as far as the server says.

    Raises:
        SetupError: The server refuses, cannot be reached, or ends too soon or stalls again and again; what has arrived
            is kept. Or the file is larger than it may be; nothing is kept.
    """
    part = target.with_name(target.name + PARTIAL)
    idle, before = 0, _size(part)
    while True:
        try:
            _resume(url, part, headers or {}, progress, most)
        except _TooLargeError as error:
            discard(part)
            raise SetupError(f"{url}: {error}") from error
        except urllib.error.HTTPError as error:
            if error.code not in _AGAIN:
                raise SetupError(f"{url}: {_reason(error, url)}") from error
            failure: Exception = error
        except web.MALFORMED as error:
            failure = error
        else:
            return part
        idle += 1
        if _size(part) >= before + FLOOR:
            idle, before = 0, _size(part)
        if idle == TRIES:
            raise SetupError(
                f"{url}: {_reason(failure, url)}; gave up after {TRIES} tries. {_size(part)} bytes are in {part}: run "
                "the same command again to resume"
            ) from failure
        time.sleep(PAUSE * 2**idle)


def discard(part: Path) -> None:
    """Remove the files of :func:`download`."""
    part.unlink(missing_ok=True)
    _mark_of(part).unlink(missing_ok=True)


def get(url: str, most: int, headers: Mapping[str, str] | None = None) -> bytes:
    """Download something small into memory.

    Args:
        url: Address.
        most: Bytes that it may have.
        headers: As for :func:`download`.

    Raises:
        SetupError: The server refuses, cannot be reached, is too slow, or sends more.
    """
    try:
        with open_url(url, headers or {}) as response:
            content = response.read(most + 1)
    except (urllib.error.HTTPError, *web.MALFORMED) as error:
        raise SetupError(f"{url}: {_reason(error, url)}") from error
    if len(content) > most:
        raise SetupError(f"{url}: {_TOO_LARGE.format(most)}")
    return content


def _resume(url: str, part: Path, headers: Mapping[str, str], progress: Progress | None, most: int | None) -> None:
    """Request the missing bytes of ``part`` once."""
    mark = _mark_of(part)
    validator = ""  # without one nobody knows whether the rest would be of the same file
    with suppress(OSError, ValueError):
        validator = mark.read_text(encoding="utf-8")
    have = _size(part) if validator else 0
    sent = dict(headers)
    if have:
        sent |= {"Range": f"bytes={have}-", "If-Range": validator}
    try:
        response = open_url(url, sent)
    except urllib.error.HTTPError as error:
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and have:
            if error.headers.get("Content-Range") == f"bytes */{have}":
                return
            discard(part)
            raise _CutOffError("the file has changed on the server") from error
        raise
    with response:
        start, total = _extent(response, have)
        if most is not None and total is not None and total > most:
            raise _TooLargeError(_TOO_LARGE.format(most))
        if start == 0:
            validator = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
            with refusing("write", part):  # at once: another try helps only with errors of the server
                discard(part)
                if validator and not validator.startswith("W/"):  # a weak one is not good enough for ranges
                    mark.write_text(validator, encoding="utf-8", errors="backslashreplace")
        with refusing("write", part):
            file = part.open("r+b" if start else "wb")
        with file:
            file.seek(start)
            done = start
            for block in response.pieces(_BLOCK, FLOOR, TIMEOUT):
                if most is not None and done + len(block) > most:
                    raise _TooLargeError(_TOO_LARGE.format(most))
                with refusing("write", part):
                    file.write(block)
                    file.flush()
                done += len(block)
                if progress is not None:
                    progress(done, total)
                if total is not None and done >= total:
                    break
            file.truncate()
    if total is not None and done < total:
        raise _CutOffError(f"the connection ended after {done} of {total} bytes")


def _extent(response: web.Response, have: int) -> tuple[int, int | None]:
    """Return the offset in the file at which a response starts, and the length of the file."""
    match = _RANGE.fullmatch(response.headers.get("Content-Range") or "")
    if response.status == http.client.PARTIAL_CONTENT:
        if match is None or int(match[1]) != have:
            raise _CutOffError("the server sent another part than requested")
        return have, None if match[2] == "*" else int(match[2])
    length = response.headers.get("Content-Length")
    if length is not None and _LENGTH.fullmatch(length) is None:
        raise _CutOffError("the server states an invalid length")
    return 0, None if length is None else int(length)


def open_url(url: str, headers: Mapping[str, str], method: str = "GET", timeout: float | None = None) -> web.Response:
    """Send one request; redirects are followed to http and https alone, not out of TLS.

    Raises:
        SetupError: The address, or one that it leads to, is not on the web.
    """
    scheme = urllib.parse.urlsplit(url).scheme
    if scheme not in ("http", "https"):
        raise SetupError(f"Expected an address that starts with https:// or http:// but got {url}")
    headers = {"User-Agent": "vmmetrics", **headers}
    request = urllib.request.Request(url, headers=headers, method=method)  # noqa: S310 - checked above
    response: web.Response = web.opener(_Redirects()).open(request, timeout=timeout or TIMEOUT)
    return response


def _mark_of(part: Path) -> Path:
    return part.with_name(part.name + ".etag")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _reason(error: Exception, url: str) -> str:
    if isinstance(error, urllib.error.HTTPError):
        hint = {
            401: "; log in with 'hf auth login', or set HF_TOKEN",
            403: "; its conditions may have to be agreed to on its web page, or a proxy forbids it",
            404: "; it has moved, or the mirror lacks it",
        }.get(error.code, "")
        return f"the server says {error.code} {web.quoted(error.reason)}{hint}"
    reason = masked(web.reason(error), url)
    return f"cannot be reached ({reason})" if isinstance(error, urllib.error.URLError) else reason
