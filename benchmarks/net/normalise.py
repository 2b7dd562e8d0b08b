"""Take out of texts and values what differs from one start to the next: times, places, machines, hashes of the code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VOLATILE = frozenset({"started", "session", "mtime_ns", "machine", "pid", "elapsed", "worker", "ended"})
"""Keys of JSON objects whose values are those of one start."""

COLUMNS = frozenset({"seconds", "started"})
"""The same of columns of tables."""

GONE = "<volatile>"

PATTERNS = tuple(
    (re.compile(pattern), with_)
    for pattern, with_ in (
        (r" at 0x[0-9a-f]{8,16}\b", " at <address>"),
        (r"(-(?:embedded|vmbench|baselines)-[a-z]+)-[0-9a-f]{8}\b", r"\1-<configuration>"),
        (r"\b(\d+\.\d+\.\d+)\+[0-9a-f]{8}\b", r"\1+<code>"),
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", "<time>"),
        (r"\b\d+:\d\d(:\d\d)? left\b", "<time> left"),
        (r"\b\d[\d,]*(\.\d+)? s\b(?!econd)", "<seconds> s"),
        (r"\b\d+(\.\d+)? (s|min|h|seconds|minutes|hours) left\b", "<time> left"),
        (r"in \d+(\.\d+)? (s|seconds|min|minutes|ms)\b", "in <time>"),
        (r"\bseconds=\d+(\.\d+)?", "seconds=<seconds>"),
    )
)


CODE = re.compile("[0-9a-f]{8}")
WAITING = re.compile(r": at work for \d+:\d\d so far$")
"""A line that only a slow start has."""


class Normaliser:
    """Replaces folders by names, then what the patterns find.

    Attributes:
        places: Folders and what stands for them, the longest first.
    """

    def __init__(self, places: Mapping[Path, str]) -> None:
        pairs = [(str(path), name) for path, name in places.items()]
        self.places = sorted(pairs, key=lambda pair: -len(pair[0]))

    def text(self, text: str) -> str:
        """Return a text without what is volatile."""
        for path, name in self.places:
            text = text.replace(path, name)
        for pattern, with_ in PATTERNS:
            text = pattern.sub(with_, text)
        return text

    def lines(self, text: str) -> list[str]:
        """Return the lines of a text without what is volatile; a carriage return ends one too."""
        return self.text(text).replace("\r\n", "\n").replace("\r", "\n").split("\n") if text else []

    def value(self, value: Any) -> Any:
        """Return a JSON value without what is volatile."""
        if isinstance(value, dict):
            kept = {k: v for k, v in value.items() if not _spent(k, v)}
            return {self.text(k): gone(v) if _volatile(k, v) else self.value(v) for k, v in kept.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value if not (isinstance(item, str) and WAITING.search(item))]
        return self.text(value) if isinstance(value, str) else value


def _volatile(key: str, value: Any) -> bool:
    """Say whether a value is one of this start, or names the code by its hash."""
    return key in VOLATILE or (key == "baselines" and isinstance(value, str) and CODE.fullmatch(value) is not None)


def _spent(key: str, value: Any) -> bool:
    """Say whether a value is time spent, which is left out where it is 0; seconds of a clip are lists or whole."""
    return key == "seconds" and isinstance(value, str) and (value.startswith("float ") or value == GONE)


def gone(value: Any) -> Any:
    """Return the shape of a value, with every leaf but None taken out."""
    if isinstance(value, dict):
        return {key: gone(item) for key, item in value.items()}
    if isinstance(value, list):
        return [GONE]
    return value if value is None else GONE
