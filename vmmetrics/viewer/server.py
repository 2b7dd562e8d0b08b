"""Server of one report on this machine, with byte ranges, without which browsers cannot seek in a video.

Reachable are the files of the report folder, and the videos outside of it that its index links, one by one. The report
lies below segments of a random token, as many as links lead upwards (``/T/T/T/index.html``), so that every link
(``../../clips/a.mp4``) has a URL of its own (``/T/clips/a.mp4``) that no other page and no other user can guess.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BufferedReader
from pathlib import Path
from socket import SHUT_RDWR, socket
from socketserver import TCPServer, ThreadingMixIn
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from vmmetrics.errors import SetupError, os_reason
from vmmetrics.utils import web
from vmmetrics.utils.storage.opening import open_regular, read_regular
from vmmetrics.viewer.page import values_of

HOST = "127.0.0.1"
_VIDEOS = {".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm"}
_TYPES = {
    **_VIDEOS, ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8", ".webp": "image/webp",
}  # fmt: skip
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    # Scripts and styles are restricted further by the policy in the page; this one adds what only a header can.
    "Content-Security-Policy": "default-src 'self' 'unsafe-inline' data: blob:; connect-src 'none'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_IDLE_SECONDS = 60.0  # without a byte of a file taken
_HEAD_SECONDS = 20.0  # until a request, its head included, has come
_CONNECTIONS = 256  # at work at once


def serve(folder: Path, port: int = 0, announce: Callable[[str], None] = print) -> None:
    """Serve a report on this machine until Ctrl-C.

    Args:
        folder: The report.
        port: Port; 0 takes a free one.
        announce: Receives the URL.

    Raises:
        SetupError: It is not a report, or the port is taken.
    """
    with ReportServer(folder, port) as server, suppress(KeyboardInterrupt):
        announce(server.url)
        server.serve_forever()


class ReportServer(ThreadingMixIn, TCPServer):
    """Server of a report on the loopback interface.

    Args:
        folder: The report.
        port: Port; 0 takes a free one.

    Attributes:
        url: URL of the page.

    Raises:
        SetupError: It is not a report, or the port is taken.
    """

    allow_reuse_address = os.name == "posix"
    daemon_threads = True
    block_on_close = False  # browsers keep connections open
    request_queue_size = 512  # connections that wait to be taken

    def __init__(self, folder: Path, port: int = 0) -> None:
        if not (folder / "index.html").is_file():
            raise SetupError(f"{folder} is not a report: it has no index.html")
        token = secrets.token_urlsafe(12)
        links = {link: levels for link in linked_videos(folder) if (levels := _levels(link))}
        depth = 1 + max(links.values(), default=0)
        self.root = folder.resolve()
        self.prefix = f"/{token}" * depth + "/"
        self.linked = {
            f"/{token}" * (depth - levels) + "/" + link.removeprefix("../" * levels): folder.absolute() / link
            for link, levels in links.items()
        }
        self._targets = {file: os.path.realpath(file) for file in self.linked.values()}
        self._slots = BoundedSemaphore(_CONNECTIONS)
        self.waiting: dict[socket, None] = {}  # connections without the head of a request yet, the oldest first
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = os_reason(error) if isinstance(error, OSError) else str(error)
            raise SetupError(f"Cannot serve on port {port}: {reason}; choose another") from error
        self.port = int(self.server_address[1])
        self.hosts = {f"{HOST}:{self.port}", f"localhost:{self.port}"}
        self.url = f"http://{HOST}:{self.port}{self.prefix}index.html"

    def file_at(self, path: str) -> Path | None:
        """Return the file at a decoded URL path, or None where there is none to be served."""
        if path in self.linked:
            file = self.linked[path]
            return file if os.path.realpath(file) == self._targets[file] else None  # a link to something else since
        if not path.startswith(self.prefix) or "\0" in path:
            return None
        parts = path.removeprefix(self.prefix).split("/")
        if any(part.startswith(".") or not part for part in parts):
            return None
        file = self.root.joinpath(*parts)
        return file if file.resolve().is_relative_to(self.root) and file.is_file() else None

    def process_request(self, request: Any, client_address: Any) -> None:
        """Hand a connection to a thread; if all are taken, the one that has asked nothing for longest is closed."""
        if not self._slots.acquire(blocking=False):
            for oldest in list(self.waiting)[:1]:
                self.waiting.pop(oldest, None)
                with suppress(OSError):
                    oldest.shutdown(SHUT_RDWR)  # its thread ends
            if not self._slots.acquire(timeout=1.0):
                self.shutdown_request(request)
                return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer the requests of a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.waiting.pop(request, None)
            self._slots.release()

    def handle_error(self, *_: object) -> None:
        """Ignore clients that went away."""


def linked_videos(folder: Path) -> Iterator[str]:
    """Yield the decoded relative paths of the videos that the index of a report links; none of a single file.

    Raises:
        SetupError: The index cannot be read.
    """
    path = folder / "data" / "index.js"
    try:
        if not path.exists():  # a report in one file
            return
        index = values_of(read_regular(path).decode())[0]
        for name, media in zip(index["clips"]["name"], index["clips"]["media"], strict=True):
            if isinstance(media, int) and media < 0:
                continue
            url = media if isinstance(media, str) else index["bases"][media] + quote(name, safe="/")
            link = os.fsdecode(unquote_to_bytes(url))
            if Path(link).suffix.lower() in _VIDEOS:
                yield link
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {os_reason(error)}; write the report again") from error
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise SetupError(f"{path} is damaged; write the report again") from error


def _levels(link: str) -> int:
    """Return the number of folders that a link leads upwards; 0 too for one that does so further on."""
    parts = link.split("/")
    levels = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    return 0 if ".." in parts[levels:] else levels


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    server: ReportServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "vmmetrics", ""

    def setup(self) -> None:
        super().setup()
        self._deadline = web.Deadline(_HEAD_SECONDS)
        raw = self.connection.makefile("rb", buffering=0)
        self.rfile = BufferedReader(web.TimedReader(self.connection, raw, self._deadline))

    def handle_one_request(self) -> None:
        """Answer a request; the connection is closed if its head takes too long."""
        self.server.waiting[self.connection] = None
        self._deadline.renew(_HEAD_SECONDS)
        super().handle_one_request()

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer with an error that quotes nothing of the request."""
        body = f"{code} {HTTPStatus(code).phrase}\n".encode()
        self.close_connection = True
        self._head(code, {"Content-Type": "text/plain; charset=utf-8", "Connection": "close"}, len(body))
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, code: int, fields: dict[str, str], length: int) -> None:
        self.send_response(code)
        for name, value in {**fields, "Content-Length": str(length), **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()

    def _answer(self) -> None:
        self.server.waiting.pop(self.connection, None)
        self.connection.settimeout(_IDLE_SECONDS)
        if self.headers.get("Content-Length") or self.headers.get("Transfer-Encoding"):
            self.close_connection = True  # bodies are not read
        if self.headers.get_all("Host") not in [[host] for host in self.server.hosts]:  # another name was made ours
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return
        file = self.server.file_at(os.fsdecode(unquote_to_bytes(self.path.partition("?")[0])))
        try:
            opened = None if file is None else open_regular(file)
        except (OSError, ValueError):  # NUL in the name
            opened = None
        if file is None or opened is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with opened:
            self._send(opened, _TYPES.get(file.suffix.lower(), "application/octet-stream"))

    def _send(self, file: Any, content_type: str) -> None:
        size = os.fstat(file.fileno()).st_size
        fields = {"Content-Type": content_type, "Accept-Ranges": "bytes"}
        start, stop = 0, size
        part = asked_range(self.headers.get("Range"), size)
        if part is not None:
            start, stop = part
            if start >= stop:
                self._head(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, {"Content-Range": f"bytes */{size}"}, 0)
                return
            fields["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        self._head(HTTPStatus.OK if part is None else HTTPStatus.PARTIAL_CONTENT, fields, stop - start)
        if self.command == "HEAD" or start == stop:
            return
        self.wfile.flush()
        if self.connection.sendfile(file, start, stop - start) < stop - start:  # it was cut meanwhile
            self.close_connection = True


def asked_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return start and stop of the bytes that a ``Range`` header asks for.

    Returns:
        None where the whole file is to be sent (no, several or malformed ranges, RFC 9110, section 14.2); an empty
        range where it cannot be satisfied.

    >>> asked_range("bytes=2-5", 10), asked_range("bytes=-3", 10), asked_range("bytes=10-", 10)
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
