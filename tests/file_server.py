"""A web server on loopback that gives files away, and misbehaves as it is told, request by request."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class FileServer:
    """Files by path, and what befalls the next requests for them.

    Attributes:
        files: Path to (content, entity tag).
        faults: Path to what happens to its next GETs, in turn: a status (503), ``"cut"`` after half of the body,
            ``"drop"`` without an answer, or seconds of delay; None is no fault.
        requests: Method and path of each request, query included.
    """

    url: str = ""
    files: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    faults: dict[str, list[object]] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    authorization: list[str | None] = field(default_factory=list)

    def gets(self, path: str) -> int:
        return sum(method == "GET" and there.partition("?")[0] == path for method, there in self.requests)


@contextmanager
def serving() -> Iterator[FileServer]:
    served = FileServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            served.requests.append((self.command, self.path))
            served.authorization.append(self.headers["Authorization"])
            path = self.path.partition("?")[0]
            faults = served.faults.get(path)
            fault = faults.pop(0) if faults and self.command == "GET" else None
            if isinstance(fault, float):
                time.sleep(fault)
            if fault == "drop":
                self.close_connection = True
                return
            if isinstance(fault, int) or path not in served.files:
                self.send_response(fault if isinstance(fault, int) else 404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body, etag = served.files[path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{etag}"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
            self.close_connection = fault == "cut"

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            pass  # a client that went away

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
