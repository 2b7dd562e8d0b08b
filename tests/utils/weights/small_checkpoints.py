"""Checkpoints that are small, and a listener that remembers."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from hashlib import sha256

from vmmetrics.utils.weights.fetch import FetchListener
from vmmetrics.utils.weights.manifest import Published, PublishedFile

BODY = bytes(range(256)) * 400
"""102,400 bytes that tell their place."""


def safetensors(values: int = 1000) -> bytes:
    """A file in the format: one tensor of so many bytes."""
    header = json.dumps({"w": {"dtype": "U8", "shape": [values], "data_offsets": [0, values]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(i % 251 for i in range(values))


Publish = Callable[..., Published]


def file(path: str, body: bytes | None = None, **other: object) -> PublishedFile:
    """A file whose size and hash are published where its body is given."""
    known = {} if body is None else {"bytes": len(body), "sha256": sha256(body).hexdigest()}
    return PublishedFile(path, **{**known, **other})


class Heard:
    """A listener that keeps what it was told."""

    def __init__(self, agrees: bool = True) -> None:
        self.said: list[str] = []
        self.notices: list[str] = []
        self.progress: list[tuple[str, int, int | None]] = []
        self._agrees = agrees
        self.listener = FetchListener(self.said.append, self._agree, self._bar)

    def _agree(self, entry: Published) -> bool:
        self.notices.append(entry.notice or "")
        return self._agrees

    def _bar(self, name: str, path: str) -> Callable[[int, int | None], None]:
        return lambda done, total: self.progress.append((f"{name}/{path}", done, total))
