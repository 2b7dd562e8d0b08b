"""An OpenAI-compatible endpoint that answers as it is told, request by request, and misbehaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GOOD = {"cas": 4, "mss": 5, "ois": 3, "pas": 2, "tcs": 1}


@dataclass
class Script:
    """What is answered, in turn; the last thing again and again.

    Attributes:
        steps: (status, headers, body) or a function that writes to the handler itself.
        requests: Every request: headers, and the body as JSON.
    """

    steps: list[Any] = field(default_factory=list)
    requests: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)


def completion(content: Any, *, finish: str = "stop", refusal: str | None = None) -> tuple[int, dict[str, str], bytes]:
    message = {"role": "assistant", "content": content, "refusal": refusal}
    body = {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    return 200, {}, json.dumps(body).encode()


def good(**changed: Any) -> tuple[int, dict[str, str], bytes]:
    return completion(json.dumps(GOOD | changed))


def truncated(handler: BaseHTTPRequestHandler) -> None:
    """Promise more bytes than come."""
    body = good()[2]
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[:60])


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    """Close without a word."""
    handler.close_connection = True


def serve(script: Script) -> tuple[str, Callable[[], None]]:
    """Start a server; its address and what stops it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            script.requests.append((dict(self.headers), json.loads(body or b"{}") | {"path": self.path}))
            step = script.steps.pop(0) if len(script.steps) > 1 else script.steps[0]
            if callable(step):
                step(self)
                return
            status, headers, data = step
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()

    def stop() -> None:
        server.shutdown()
        server.server_close()

    return f"http://127.0.0.1:{server.server_port}/v1", stop
