"""Rows of judgements from JSON of other tools: Label Studio, arena logs, UVE-Bench, lists of ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vmmetrics.alignment.readers.columns import CLIP, first_column, normalised
from vmmetrics.alignment.readers.label_studio import is_tasks, rows_of_tasks

Rows = tuple[Any, str]
"""Rows, or columns, and a note of what was read; "" where nothing had to be assumed."""

_VOTES = frozenset({"leftvote", "rightvote", "tievote", "bothbad_vote"})
_UVE = frozenset({"video_a", "video_b", "preference", "subaspects"})
_AROUND_ROWS = frozenset({"data", "annotations", "results", "items", "samples", "rows", "videos", "ratings", "records"})


def rows_of(content: Any, source: str) -> Rows | None:
    """Return rows of the first layout that the content has; None where it has none of them.

    Raises:
        SetupError: It has one, and what is in it cannot be read.
    """
    for layout in LAYOUTS:
        if (rows := layout(content, source)) is not None:
            return rows
    return None


def _label_studio(content: Any, source: str) -> Rows | None:
    return rows_of_tasks(content, source) if is_tasks(content) else None


def _arena(content: Any, _: str) -> Rows | None:
    """Return votes in the log of an arena (FastChat, GenAI-Arena): ``{"type": "leftvote", "models": [...]}`` a line."""
    if not _is_rows(content):
        return None
    votes = [row for row in content if str(row.get("type")) in _VOTES and _models_of(row)]
    if not votes:
        return None
    rows = []
    for row in votes:
        one, other = _models_of(row)
        rows.append({"model_a": one, "model_b": other, "winner": row["type"]})
    rest = len(content) - len(votes)
    return rows, f"Arena log: {len(votes)} votes" + (f"; {rest} lines are no votes and were left out" if rest else "")


def _models_of(row: Mapping[str, Any]) -> list[str]:
    """Return the two models of a line; where they were hidden from the voter, from the states of the conversations."""
    models, states = row.get("models"), row.get("states")
    if not isinstance(models, list) or len(models) != 2 or not all(models):
        models = [s.get("model_name") for s in states if isinstance(s, Mapping)] if isinstance(states, list) else []
    return [str(name) for name in models] if len(models) == 2 and all(models) else []


def _uve(content: Any, _: str) -> Rows | None:
    """Return UVE-Bench's annotations: a preference between two videos, for each of the aspects named beside it."""
    entries = list(content.values()) if isinstance(content, Mapping) else content
    if not _is_rows(entries) or not all(entry.keys() >= _UVE for entry in entries):
        return None
    rows = []
    for entry in entries:
        models = {f"model_{side}": _folder(entry[f"video_{side}"]) for side in "ab"}
        aspects = entry["subaspects"] if isinstance(entry["subaspects"], list) else [entry["subaspects"]]
        plain = {name: value for name, value in entry.items() if name != "subaspects"}
        rows += [{**plain, **models, "dimension": str(aspect)} for aspect in aspects]
    return rows, f"UVE-Bench: {len(entries)} pairs, a preference for each of their aspects"


def _folder(path: Any) -> str | None:
    """Return the first folder of a video, which is its model's."""
    first, slash, _ = str(path).partition("/")
    return first if slash else None


def _wrapped(content: Any, _: str) -> Rows | None:
    """Return rows under a key such as ``data``; LGVQ's call a model ``code``."""
    if not isinstance(content, Mapping):
        return None
    inside = [value for key, value in content.items() if normalised(str(key)) in _AROUND_ROWS and _is_rows(value)]
    nested = [value for value in content.values() if isinstance(value, Mapping) or _is_rows(value)]
    if len(inside) != 1 or len(nested) > 1:
        return None
    rows = inside[0]
    if all("code" in row and "filename" in row and "model" not in row for row in rows):
        rows = [{("model" if name == "code" else name): value for name, value in row.items()} for row in rows]
    return rows, ""


def _pandas(content: Any, _: str) -> Rows | None:
    """Return rows of the JSON of a pandas data frame: orients "columns" (the default), "split" and "table"."""
    if not isinstance(content, Mapping) or not content:
        return None
    if content.keys() == {"columns", "index", "data"}:
        return [dict(zip(content["columns"], row, strict=True)) for row in content["data"]], ""
    if content.keys() == {"schema", "data"} and _is_rows(content["data"]):
        return [{name: cell for name, cell in row.items() if name != "index"} for row in content["data"]], ""
    columns = list(content.values())
    if not all(isinstance(of, Mapping) and of and list(of) == list(columns[0]) for of in columns):
        return None
    numbered = list(columns[0]) == [str(row) for row in range(len(columns[0]))]
    is_table = first_column(map(str, content), CLIP) is not None
    return ({str(name): list(of.values()) for name, of in content.items()}, "") if numbered and is_table else None


def _ratings_inside(content: Any, _: str) -> Rows | None:
    """Return rows of clips with a list of ratings: ``{"video": "1.mp4", "ratings": [{"rater": "x", ...}]}``."""
    if not _is_rows(content):
        return None
    keys = {
        key for row in content for key, value in row.items() if normalised(str(key)) in _AROUND_ROWS and _is_rows(value)
    }
    if len(keys) != 1:
        return None
    key = keys.pop()
    rows = []
    for row in content:
        shared = {name: value for name, value in row.items() if name != key}
        listed = row.get(key)
        rows += [{**shared, **rating} for rating in (listed if _is_rows(listed) else ())]
    return rows, f"{key}: a row for each of what is listed there"


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)


LAYOUTS: tuple[Callable[[Any, str], Rows | None], ...] = (
    _label_studio,
    _arena,
    _uve,
    _pandas,
    _wrapped,
    _ratings_inside,
)
"""Layouts in the order tried; each returns None for other content."""
