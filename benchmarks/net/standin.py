"""A stand-in for a language model behind an OpenAI-compatible endpoint: the same answer to the same request, always.

Where a request has a schema, the answer is made from it; elsewhere it is a letter or a sentence. What is said follows
from a hash of the request, so some answers are of no use to the commands: refusing them can be observed too.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SENTENCES = (
    "A",
    "B. because it moves",
    "The answer is C.",
    "(D)",
    "A man opens the door and walks in. Then he sits down. The camera pans left.",
)


class _Server(ThreadingHTTPServer):
    allow_reuse_address = True
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        reply = json.dumps(completion(body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        pass


def completion(body: dict[str, Any]) -> dict[str, Any]:
    """Answer a request."""
    seed = hashlib.sha256(json.dumps(body.get("messages"), sort_keys=True).encode()).digest()
    schema = _schema(body)
    text = json.dumps(_made(schema, seed)) if schema else SENTENCES[seed[0] % len(SENTENCES)]
    message = {"role": "assistant", "content": text}
    return {
        "id": "net",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100 + seed[1], "completion_tokens": 10 + seed[2] % 10},
    }


def _schema(body: dict[str, Any]) -> dict[str, Any] | None:
    form = body.get("response_format") or {}
    found = form.get("json_schema", {}).get("schema")
    return {**found, "$root": found} if found else None


def _made(schema: dict[str, Any], seed: bytes, root: dict[str, Any] | None = None) -> Any:
    """Make a value of a schema, its choices by the seed."""
    root = schema.get("$root", root) or schema
    if "$ref" in schema:
        return _made(root["$defs"][schema["$ref"].rpartition("/")[2]], seed, root)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return _made(schema[several][seed[3] % len(schema[several])], seed, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][seed[4] % len(schema["enum"])]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: _made(part, _next(seed, name), root) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        count = max(schema.get("minItems", 1), min(2, schema.get("maxItems", 2)))
        return [_made(schema.get("items", {"type": "string"}), _next(seed, str(n)), root) for n in range(count)]
    if kind in ("integer", "number"):
        low = schema.get("minimum", 1)
        return low + seed[5] % max(1, schema.get("maximum", low + 5) - low + 1)
    return {"boolean": seed[6] % 4 > 0, "null": None}.get(kind, SENTENCES[seed[7] % len(SENTENCES)])


def _next(seed: bytes, name: str) -> bytes:
    return hashlib.sha256(seed + name.encode()).digest()


@contextmanager
def served(port: int) -> Iterator[None]:
    """Answer at a port, waiting for it where another computation has it."""
    for _ in range(600):
        try:
            server = _Server(("127.0.0.1", port), _Handler)
            break
        except OSError:
            time.sleep(0.5)
    else:
        raise RuntimeError(f"Expected port {port} to be free")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
