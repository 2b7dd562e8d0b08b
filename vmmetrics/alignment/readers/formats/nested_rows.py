"""Rows under a key, such as LGVQ's under ``data``, which call a model ``code``; or ratings in a list of each clip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vmmetrics.alignment.readers.columns import CLIP, normalised
from vmmetrics.alignment.readers.source_table import Rows, is_rows

_AROUND_ROWS = frozenset({"data", "annotations", "results", "items", "samples", "rows", "videos", "ratings", "records"})


def detect(content: Any) -> bool:
    """Return True if one key holds all rows, or in rows one key holds rows of their own."""
    if not isinstance(content, Mapping):
        return is_rows(content) and len(_keys_inside(content)) == 1
    nested = [value for value in content.values() if isinstance(value, Mapping) or is_rows(value)]
    return len(_keys_around(content)) == 1 and len(nested) == 1


def rows(content: Any, _: str) -> Rows:
    """Return the rows, with what lies around a list of ratings in each of its ratings."""
    if isinstance(content, Mapping):
        inside = content[_keys_around(content)[0]]
        is_code = all("code" in row and "filename" in row and "model" not in row for row in inside)
        return [
            {("model" if is_code and name == "code" else name): of for name, of in row.items()} for row in inside
        ], ""
    (key,) = _keys_inside(content)
    unfolded = []
    for row in content:
        shared = {name: value for name, value in row.items() if name != key}
        listed = row.get(key)
        unfolded += [
            {**rating, **{name: of for name, of in shared.items() if name in CLIP or name not in rating}}
            for rating in (listed if is_rows(listed) else ())
        ]
    return unfolded, f"{key}: a row for each of what is listed there"


def _keys_around(content: Mapping[str, Any]) -> list[str]:
    return [key for key, value in content.items() if normalised(str(key)) in _AROUND_ROWS and is_rows(value)]


def _keys_inside(content: list[Mapping[str, Any]]) -> set[str]:
    return {key for row in content for key in _keys_around(row)}
