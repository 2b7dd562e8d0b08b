"""Server on the loopback interface, from the standard library, with deadlines and bounds on what anybody can hold open.

A door subclasses :class:`Handler` and answers GET, and POST where it takes something; the rules are those of
:mod:`vmmetrics.utils.request_rules`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BufferedReader
from socket import AF_INET, AF_INET6, SHUT_RDWR, create_server, socket
from socketserver import TCPServer, ThreadingMixIn
from threading import BoundedSemaphore, Condition
from typing import IO, Any

from vmmetrics.errors import SetupError, os_reason
from vmmetrics.utils import request_rules
from vmmetrics.utils.request_rules import HOST, RefusedError
from vmmetrics.utils.web import Deadline, TimedReader

_CONNECTIONS = 256  # at work at once
_REFUSED_BODY = 1 << 16  # bytes of a refused body that are read: a client reset while it sends sees no reason


class LoopbackServer(ThreadingMixIn, TCPServer):
    """Server with a thread per connection.

    Args:
        handler: Answers.
        port: Port; 0 takes a free one.

    Attributes:
        port: Its port.

    Raises:
        SetupError: The port is taken.
    """

    allow_reuse_address = os.name == "posix"
    daemon_threads = True
    block_on_close = False  # browsers keep connections open
    request_queue_size = 512  # connections that wait to be taken

    def __init__(self, handler: type[Handler], port: int = 0) -> None:
        self._slots = BoundedSemaphore(_CONNECTIONS)
        self._open: set[socket] = set()
        self._fewer = Condition()
        self.waiting: dict[socket, None] = {}  # connections whose request has not come whole, the oldest first
        try:
            super().__init__((HOST, port), handler)
        except (OSError, OverflowError) as error:
            reason = os_reason(error) if isinstance(error, OSError) else str(error)
            raise SetupError(f"Cannot serve on port {port}: {reason}; choose another") from error
        self.port = int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Hand a connection to a thread; if all are taken, the one that has asked nothing for longest is closed."""
        if not self._slots.acquire(blocking=False):
            for oldest in list(self.waiting)[:1]:
                if self.waiting.pop(oldest, oldest) is None:  # else its request has come meanwhile
                    with suppress(OSError):
                        oldest.shutdown(SHUT_RDWR)  # its thread ends
            if not self._slots.acquire(timeout=1.0):
                super().shutdown_request(request)
                return
        with self._fewer:
            self._open.add(request)
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread can be started
            self._slots.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer the requests of a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.waiting.pop(request, None)
            self._slots.release()

    def shutdown_request(self, request: Any) -> None:
        """Close the connection of a finished request."""
        super().shutdown_request(request)
        with self._fewer:
            self._open.discard(request)
            self._fewer.notify_all()

    def finish(self, seconds: float) -> None:
        """Stop serving: replies on their way have so many seconds, then their connections are closed."""
        self.shutdown()
        self.server_close()
        with self._fewer:
            self._fewer.wait_for(lambda: not self._open, seconds)
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that went away; report other errors."""
        if not isinstance(sys.exception(), OSError | ValueError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of a connection.

    Attributes:
        policy: Sources of the Content-Security-Policy of its answers.
        head_seconds: Seconds until a request has come, its head and body included.
        idle_seconds: Seconds for an answer to be taken; of a file, without a byte taken.
        largest: Bytes of a body that are taken by POST; 0 for none.
    """

    server: LoopbackServer
    policy = "default-src 'none'"
    head_seconds = idle_seconds = 20.0
    largest = 0
    server_version, sys_version = "vmmetrics", ""

    def get(self) -> None:
        """Answer GET and HEAD.

        Raises:
            RefusedError: There is no such answer.
        """
        raise RefusedError(HTTPStatus.NOT_FOUND)

    def post(self, body: bytes | None) -> None:  # noqa: ARG002
        """Answer POST.

        Args:
            body: What was sent; None where it is larger than :attr:`largest`.

        Raises:
            RefusedError: It is not taken.
        """
        raise RefusedError(HTTPStatus.NOT_FOUND)

    def setup(self) -> None:
        """Bound the time for a request."""
        super().setup()
        self._deadline = Deadline(self.head_seconds)
        raw = self.connection.makefile("rb", buffering=0)
        self.rfile = BufferedReader(TimedReader(self.connection, raw, self._deadline))

    def handle_one_request(self) -> None:
        """Answer a request; the connection is closed if it takes too long to come."""
        self.server.waiting[self.connection] = None
        self._deadline.renew(self.head_seconds)
        super().handle_one_request()

    def do_GET(self) -> None:
        """Answer by :meth:`get`."""
        self._answer(self.get)

    def do_HEAD(self) -> None:
        """Answer by :meth:`get`, without a body."""
        self._answer(self.get)

    def do_POST(self) -> None:
        """Answer by :meth:`post`, where bodies are taken."""
        if not self.largest:
            return self.send_error(HTTPStatus.NOT_IMPLEMENTED)
        size = request_rules.body_size(self.headers.get("Content-Length"))
        body = self.rfile.read(min(size, _REFUSED_BODY))
        return self._answer(partial(self.post, body if size <= self.largest else None))

    def _answer(self, make: Callable[[], None]) -> None:
        self.server.waiting.pop(self.connection, None)
        if self.headers.get("Content-Length") or self.headers.get("Transfer-Encoding"):
            self.close_connection = True  # what is left of a body is not read
        self.connection.settimeout(self.idle_seconds)  # reading left what remained of its own time
        try:
            make()
        except RefusedError as refusal:
            self.send_error(refusal.status)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer with an error that quotes nothing of the request."""
        self.close_connection = True
        phrase = f"{int(code)} {HTTPStatus(code).phrase}\n"
        self.reply(phrase.encode(), "text/plain; charset=utf-8", HTTPStatus(code), {"Connection": "close"})

    def reply(
        self,
        body: bytes,
        kind: str,
        status: HTTPStatus = HTTPStatus.OK,
        fields: dict[str, str] | None = None,
        policy: str | None = None,
    ) -> None:
        """Send an answer; ``policy`` is another one than :attr:`policy`."""
        self._head(status, {"Content-Type": kind, **(fields or {})}, len(body), policy)
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_file(self, file: IO[bytes], kind: str) -> None:
        """Send a file, or the part of it that is asked for."""
        size = os.fstat(file.fileno()).st_size
        fields = {"Content-Type": kind, "Accept-Ranges": "bytes"}
        start, stop = 0, size
        part = request_rules.byte_range(self.headers.get("Range"), size)
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

    def _head(self, status: HTTPStatus, fields: dict[str, str], length: int, policy: str | None = None) -> None:
        self.send_response(status)
        rules = request_rules.headers(self.policy if policy is None else policy)
        for name, value in {**fields, "Content-Length": str(length), **rules}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def listener(host: str, port: int) -> socket:
    """Return a socket that listens.

    Raises:
        SetupError: The address is taken, or there is none.
    """
    try:
        return create_server((host, port), family=AF_INET6 if ":" in host else AF_INET)
    except (OSError, OverflowError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else str(error)
        raise SetupError(f"Cannot serve on {host}, port {port}: {reason}; choose another") from error
