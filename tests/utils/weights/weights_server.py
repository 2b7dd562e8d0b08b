"""A web server on loopback that serves bytes from memory, and misbehaves on request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


@dataclass
class Served:
    """One file.

    Attributes:
        body: What it holds.
        cuts: Bytes after which the next answers break off, one per request.
        ranges: Whether parts can be asked for.
        etag: What names its version, or None for a server that says nothing.
        status: Another answer than 200, for so many requests.
        moved: Where it is instead.
        instead: Answers instead; writes to the handler itself.
    """

    body: bytes = b""
    cuts: list[int] = field(default_factory=list)
    ranges: bool = True
    etag: str | None = '"1"'
    status: list[int] = field(default_factory=list)
    moved: str | None = None
    instead: Callable[[BaseHTTPRequestHandler], object] | None = None


@dataclass
class Asked:
    path: str
    headers: dict[str, str]


class Server:
    """Files by path, and what was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, Served] = {}
        self.asked: list[Asked] = []
        handler = type("Handler", (_Handler,), {"owner": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def put(self, path: str, body: bytes, **how: object) -> Served:
        self.files[path] = Served(body, **how)
        return self.files[path]

    def put_repository(self, repository: str, revision: str, files: dict[str, bytes], commit: str = "c" * 40) -> None:
        """What the Hugging Face hub would serve: the listing, and the files below their commit."""
        siblings = []
        for name, body in files.items():
            self.put(f"/{repository}/resolve/{commit}/{name}", body)
            lfs = {"sha256": sha256(body).hexdigest(), "size": len(body), "pointerSize": 130}
            large = not name.endswith(".json")
            siblings.append({"rfilename": name, "size": len(body), "blobId": "0", **({"lfs": lfs} if large else {})})
        listing = {"id": repository, "sha": commit, "siblings": siblings, "tags": [], "private": False}
        self.put(f"/api/models/{repository}/revision/{revision}", json.dumps(listing).encode())

    def ranges(self, path: str) -> list[str | None]:
        return [a.headers.get("range") for a in self.asked if a.path == path]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: Server

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.owner.asked.append(Asked(path, {k.lower(): v for k, v in self.headers.items()}))
        served = self.owner.files.get(path)
        if served is None:
            self._answer(404, b"no such file")
        elif served.status:
            self._answer(served.status.pop(0), b"not now")
        elif served.instead is not None:
            self.close_connection = True
            with suppress(ConnectionError):  # the client had enough
                served.instead(self)
        elif served.moved is not None:
            self._answer(302, b"", {"Location": served.moved})
        else:
            self._serve(served)

    def _serve(self, served: Served) -> None:
        headers = {} if served.etag is None else {"ETag": served.etag}
        start, whole = 0, len(served.body)
        wanted = self.headers.get("Range")
        if wanted and served.ranges and self.headers.get("If-Range") in (None, served.etag):
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= whole:
                self._answer(416, b"", {**headers, "Content-Range": f"bytes */{whole}"})
                return
            headers["Content-Range"] = f"bytes {start}-{whole - 1}/{whole}"
        body = served.body[start:]
        cut = served.cuts.pop(0) if served.cuts else None
        self._answer(206 if start else 200, body, headers, cut)

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None, cut: int | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:cut])
        if cut is not None:
            self.close_connection = True

    do_HEAD = do_GET  # noqa: N815 - the base class's name

    def log_message(self, *_: object) -> None:
        """Keep quiet."""
