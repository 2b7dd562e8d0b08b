"""Files in object stores and on web servers: listing, reading, downloading with a hash, uploading.

``http`` and ``https`` go through the standard library, everything else through fsspec. Every step is tried again, with
jitter, where another try can mend it. No user name, password or query of an address gets into a message.
"""

from __future__ import annotations

import errno
import hashlib
import random
import re
import time
import urllib.error
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from vmmetrics.errors import SetupError, VMMetricsError, install, os_reason
from vmmetrics.utils import web
from vmmetrics.utils.storage.addresses import PACKAGES, WEB, is_web, masked, safe_name
from vmmetrics.utils.storage.state import FileState, state_of_headers, state_of_info
from vmmetrics.utils.weights.download import FLOOR, TIMEOUT, open_url

TRIES = 5
"""Tries of one step, the first included."""
PAUSE = 0.5
"""Seconds before the second try, doubled for each further one and times 0.5 to 1.5 by chance."""
LOOK_UP = 60.0
"""Seconds for the state of a file, all tries together, and the last of them to its end."""
PIECE = 8 * 2**20
"""Bytes of a file asked for at once."""

_AGAIN = {408, 425, 429, 500, 502, 503, 504}  # answers of a server that may be others in a moment
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError)
_CUT = {"ClientPayloadError", "ContentLengthError", "TransferEncodingError"}  # of aiohttp, which gives some a code 400
_CHAIN = 5  # causes of an error that are looked at

_look_up_seconds = [LOOK_UP]
T = TypeVar("T")


class RemoteError(OSError):
    """A file at an address cannot be fetched; the text has the reason and no secret."""


class ChangedError(RemoteError):
    """The file at an address is not, or not any more, the one that was expected."""


class _TruncatedError(OSError):
    """Fewer bytes arrived than the store stated."""


def check_address(uri: str) -> None:
    """Check that the packages to read an address are installed.

    Raises:
        SetupError: Its scheme is not known, or a package is missing; the text names the command that installs it.
    """
    if not is_web(uri):
        _store(uri)


@contextmanager
def looking_up(seconds: float | None) -> Iterator[None]:
    """Bound what :func:`state_of` takes, its tries together, and the wait for the head of any answer meanwhile."""
    _look_up_seconds.append(seconds or LOOK_UP)
    try:
        yield
    finally:
        _look_up_seconds.pop()


def state_of(uri: str) -> FileState | None:
    """Ask for the state of a file; None where the address is a folder.

    Raises:
        RemoteError: There is nothing, or it cannot be fetched.
    """
    if is_web(uri):
        return _retried(uri, lambda: _state_on_web(uri), _look_up_seconds[-1])
    store, path = _store(uri)
    seconds = _look_up_seconds[-1]
    info = _retried(uri, lambda: _info(store, path, seconds), seconds)
    return None if info.get("type") == "directory" else state_of_info(info)


def files_below(uri: str, *, deep: bool = True) -> Iterator[tuple[str, FileState]]:
    """List the files below a folder, one folder after the other; those in it alone where not ``deep``.

    Yields:
        Path below the folder, with ``/``, and state. Names that lead elsewhere (``..``) are skipped.

    Raises:
        RemoteError: It cannot be listed.
    """
    store, top = _store(uri)
    top = top.rstrip("/")
    folders = [top]
    while folders:
        folder = folders.pop()
        infos = list(_retried(uri, lambda: store.ls(folder, detail=True)))  # noqa: B023 - called at once
        infos.reverse()
        while infos:  # what was yielded is held no longer: a folder may have a million files
            info = infos.pop()
            name = str(info["name"]).rstrip("/")
            inside = name[len(top) + 1 :]
            if not name.startswith(f"{top}/") or {"", ".", ".."} & set(inside.split("/")) or "\0" in inside:
                continue
            if info.get("type") != "directory":
                yield inside, state_of_info(info)
            elif deep and name != folder:
                folders.append(name)


def read_bytes(uri: str, most: int) -> bytes:
    """Read a small file: up to ``most`` bytes and one more, which shows that there are more.

    Raises:
        RemoteError: There is none, or it cannot be fetched.
    """

    def read() -> bytes:
        if not is_web(uri):
            store, path = _store(uri)
            content: bytes = store.cat_file(path, start=0, end=most + 1)
            return content
        data = b""
        with _opened(uri) as (_, pieces):
            while len(data) <= most and (piece := next(pieces, b"")):
                data += piece
        return data[: most + 1]

    return _retried(uri, read)


def download(uri: str, target: Path, expected: FileState, room: Callable[[int], None]) -> tuple[str, FileState]:
    """Download one file, hashing it on the way.

    Args:
        uri: Its address.
        target: Where to; there is nothing new where an error is raised.
        expected: State that it must have; unknown fields are None.
        room: Called with the bytes that the file is about to have, before they are written.

    Returns:
        SHA-256 (hex) of its bytes, and its state.

    Raises:
        ChangedError: It is another file than the one expected, or was replaced while it was read.
        RemoteError: It cannot be fetched.
        OSError: It cannot be written here.
    """
    try:
        return _retried(uri, lambda: _download(uri, target, expected, room))
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _download(uri: str, target: Path, expected: FileState, room: Callable[[int], None]) -> tuple[str, FileState]:
    digest, count = hashlib.sha256(), 0
    with _opened(uri) as (state, pieces):
        if state.differs(expected):
            raise ChangedError(
                f"It changed since it was listed (then {expected}, now {state}); add --relist to list it again"
            )
        with _writing(target):
            room(state.bytes or 0)
            file = target.open("r+b" if target.exists() else "wb")
        with file:
            for piece in pieces:
                digest.update(piece)
                count += len(piece)
                with _writing(target):
                    if state.bytes is None:
                        room(count)
                    file.write(piece)
                    file.flush()
            file.truncate()
    if state.bytes is not None and count != state.bytes:
        raise _TruncatedError(f"{count} of {state.bytes} bytes arrived")
    if not is_web(uri):  # which was one request; a file of a store is read in pieces
        store, path = _store(uri)
        now = state_of_info(store.info(path))
        if now.differs(state):
            raise ChangedError(f"It was replaced while it was read (first {state}, then {now})")
    return digest.hexdigest(), state


class _LocalError(Exception):
    """Failure of this machine, for which another try is no use."""


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _LocalError from OSError(error.errno, os_reason(error), str(target))


def upload(source: Path | bytes, uri: str, *, once: bool = False) -> None:
    """Upload one file, whole; ``once`` leaves one that is there as it is, where the store can tell.

    Raises:
        FileExistsError: ``once``, and there is one.
        RemoteError: It cannot be uploaded.
    """
    store, target = _store(uri)

    def put() -> None:
        if isinstance(source, Path):
            store.put_file(str(source), target)
        elif not once:
            store.pipe_file(target, source)
        elif store.exists(target):
            raise FileExistsError(errno.EEXIST, "There already", safe_name(uri))
        else:
            try:
                store.pipe_file(target, source, mode="create")
            except (NotImplementedError, TypeError):  # a store without conditional writes
                store.pipe_file(target, source)

    _retried(uri, put)


# How it is done: tries, stores, what they answer.


def _retried(uri: str, step: Callable[[], T], seconds: float = inf) -> T:
    """Return what a step returns, tried again while that may help and ``seconds`` have not passed.

    Raises:
        FileExistsError: As the step does.
        ChangedError: As the step does.
        RemoteError: It failed to the end.
    """
    end = time.monotonic() + seconds
    for number in range(TRIES):
        try:
            return step()
        except (RemoteError, FileExistsError, VMMetricsError):
            raise
        except _LocalError as error:
            raise error.__cause__ or error from None
        except Exception as error:  # whatever botocore, aiohttp and others raise
            # timeouts, cut connections, 5xx and throttling may pass; what the store refuses does not
            status, refused = _status(error), isinstance(error, (*_FINAL, NotImplementedError))
            passing = not refused if status is None else status in _AGAIN
            if number + 1 == TRIES or not passing or time.monotonic() >= end:
                tries = f" ({number + 1} tries)" if number else ""
                failure = RemoteError(f"{safe_name(uri)} cannot be fetched: {_reason(error, uri)}{tries}")
                raise failure from (FileNotFoundError() if isinstance(error, FileNotFoundError) else None)
        time.sleep(PAUSE * 2**number * random.uniform(0.5, 1.5))  # noqa: S311 - no secret hangs on it
    raise AssertionError


def _status(error: BaseException) -> int | None:
    """Return the HTTP status behind an error of urllib, aiohttp, botocore or gcsfs, or None."""
    cause: BaseException | None = error
    for _ in range(_CHAIN):
        if cause is None or type(cause).__name__ in _CUT:
            return None
        response = getattr(cause, "response", None)
        metadata = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
        status: Any
        for status in (getattr(cause, "status", None), getattr(cause, "code", None), metadata.get("HTTPStatusCode")):
            if isinstance(status, int | str) and re.fullmatch("[1-5][0-9][0-9]", str(status)):
                return int(status)
        cause = cause.__cause__ or cause.__context__
    return None


def _reason(error: Exception, uri: str) -> str:
    status = _status(error)
    if status is not None:
        hints = {401: ": log in there", 403: ": no access with these credentials", 404: ": there is no such file"}
        return f"the server says {status}{hints.get(status, '')}"
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if type(error).__name__ == "NoCredentialsError":
        return "no credentials here; set them as for the store's own tools"
    return web.quoted(masked(os_reason(error), uri)) or type(error).__name__


@cache
def _filesystem(scheme: str) -> Any:
    package = PACKAGES.get(scheme)
    if package is None:
        raise SetupError(f"Expected an address with {', '.join([*PACKAGES, *WEB])} but got {scheme}://")
    try:
        import fsspec

        # S3 has tries of its own, twice over: one that fails would be asked 125 times.
        options = {"config_kwargs": {"retries": {"max_attempts": 0}}} if package == "s3fs" else {}
        store = fsspec.filesystem(scheme, use_listings_cache=False, **options)
    except ImportError as error:
        raise SetupError(f"{scheme}:// needs {package}: {install('remote')}") from error
    if package == "s3fs":
        store.retries = 1
    return store


def _store(uri: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    store = _filesystem(uri.partition("://")[0])
    return store, str(store._strip_protocol(uri))


def _info(store: Any, path: str, seconds: float) -> Mapping[str, Any]:
    """Ask a store about a path, within ``seconds`` where it can be asked without waiting for the answer."""
    info: Mapping[str, Any]
    if getattr(store, "async_impl", False):
        from fsspec.asyn import sync

        info = sync(store.loop, store._info, path, timeout=seconds)
    else:
        info = store.info(path)
    return info


@contextmanager
def _opened(uri: str) -> Iterator[tuple[FileState, Iterator[bytes]]]:
    """Open a file: its state, and its content in pieces; a server that sends too little in a while is given up."""
    if is_web(uri):
        with _on_web(uri) as response:
            yield state_of_headers(response.headers), response.pieces(PIECE, FLOOR, TIMEOUT)
        return
    store, path = _store(uri)
    with store.open(path, "rb", block_size=PIECE, cache_type="none") as file:
        yield state_of_info(getattr(file, "details", None) or store.info(path)), iter(partial(file.read, PIECE), b"")


def _on_web(uri: str, method: str = "GET") -> web.Response:
    parts = urlsplit(uri)
    user, at, host = parts.netloc.rpartition("@")
    headers = {"Accept-Encoding": "identity"}
    if at:
        headers["Authorization"] = "Basic " + b64encode(unquote(user).encode()).decode()
    try:
        address = parts._replace(netloc=host, fragment="").geturl()
        return open_url(address, headers, method, min(TIMEOUT, _look_up_seconds[-1]))
    except SetupError as error:  # it leads to another kind of address
        raise RemoteError(masked(str(error))) from None


def _state_on_web(uri: str) -> FileState:
    try:
        with _on_web(uri, "HEAD") as response:
            return state_of_headers(response.headers)
    except urllib.error.HTTPError as error:
        if error.code in _AGAIN:
            raise
    with _on_web(uri) as response:  # an address signed for GET alone, or a server without HEAD
        return state_of_headers(response.headers)
