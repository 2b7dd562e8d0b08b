"""An OpenAI-compatible endpoint that answers as it is told, request by request, and misbehaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = tuple[int, dict[str, str], bytes] | Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Script:
    """What is answered, in turn; the last thing again and again.

    Attributes:
        steps: (status, headers, body), or a function that writes to the handler itself.
        answer: Instead of steps: from the body of a request to a step.
        requests: Every request: headers, and the body as JSON.
        most: Requests that were in hand at one time.
    """

    steps: list[Any] = field(default_factory=list)
    answer: Callable[[dict[str, Any]], Any] | None = None
    requests: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)
    most: int = 0
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, headers: dict[str, str], body: dict[str, Any]) -> Any:
        with self._lock:
            self.requests.append((headers, body))
            self._now += 1
            self.most = max(self.most, self._now)
            if self.answer is None:
                return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        return self.answer(body)

    def end(self) -> None:
        with self._lock:
            self._now -= 1


def completion(
    content: Any, *, finish: str = "stop", refusal: str | None = None, usage: Any = None
) -> tuple[int, dict[str, str], bytes]:
    message = {"role": "assistant", "content": content, "refusal": refusal}
    body: dict[str, Any] = {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if usage is not None:
        body["usage"] = usage
    return 200, {}, json.dumps(body).encode()


def truncated(handler: BaseHTTPRequestHandler) -> None:
    """Promise more bytes than come."""
    body = completion("x" * 500)[2]
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[:60])


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    """Close without a word."""
    handler.close_connection = True


def slow(seconds: float, then: Any) -> Callable[[BaseHTTPRequestHandler], None]:
    """Say nothing for a while."""

    def step(handler: BaseHTTPRequestHandler) -> None:
        threading.Event().wait(seconds)  # time.sleep may be somebody's fixture
        send(handler, then)

    return step


def send(handler: BaseHTTPRequestHandler, step: Any) -> None:
    if callable(step):
        step(handler)
        return
    status, headers, data = step
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def serve(script: Script) -> tuple[str, Callable[[], None]]:
    """Start a server; its address and what stops it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            step = script.begin(dict(self.headers), json.loads(body or b"{}") | {"path": self.path})
            try:
                send(self, step)
            except (BrokenPipeError, ConnectionResetError):  # the client had no patience
                self.close_connection = True
            finally:
                script.end()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()

    def stop() -> None:
        server.shutdown()
        server.server_close()

    return f"http://127.0.0.1:{server.server_port}/v1", stop
