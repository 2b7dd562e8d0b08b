"""Annotations of UVE-Bench: a preference between two videos, for each of the aspects named beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vmmetrics.alignment.readers.source_table import Rows, is_rows

_KEYS = frozenset({"video_a", "video_b", "preference", "subaspects"})


def detect(content: Any) -> bool:
    """Return True if every entry has UVE-Bench's keys."""
    entries = _entries(content)
    return is_rows(entries) and all(entry.keys() >= _KEYS for entry in entries)


def rows(content: Any, _: str) -> Rows:
    """Return a preference for each pair and aspect; a video's first folder is its model."""
    preferences = []
    for entry in _entries(content):
        paths = {side: str(entry[f"video_{side}"]).partition("/") for side in "ab"}
        models = {f"model_{side}": folder if slash else None for side, (folder, slash, _) in paths.items()}
        aspects = entry["subaspects"] if isinstance(entry["subaspects"], list) else [entry["subaspects"]]
        plain = {name: value for name, value in entry.items() if name != "subaspects"}
        preferences += [{**plain, **models, "dimension": str(aspect)} for aspect in aspects]
    return preferences, f"UVE-Bench: {len(_entries(content))} pairs, a preference for each of their aspects"


def _entries(content: Any) -> Any:
    return list(content.values()) if isinstance(content, Mapping) else content
