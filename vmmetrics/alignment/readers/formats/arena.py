"""Logs of arenas (FastChat, GenAI-Arena): ``{"type": "leftvote", "models": [...]}`` a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vmmetrics.alignment.readers.source_table import Rows, is_rows

_VOTES = frozenset({"leftvote", "rightvote", "tievote", "bothbad_vote"})


def detect(content: Any) -> bool:
    """Return True if some lines are votes."""
    return is_rows(content) and any(map(_is_vote, content))


def rows(content: Any, _: str) -> Rows:
    """Return a preference between two models for each vote."""
    votes = [row for row in content if _is_vote(row)]
    sides = ("model_a", "model_b")
    preferences = [{**dict(zip(sides, _models_of(row), strict=True)), "winner": row["type"]} for row in votes]
    rest = len(content) - len(votes)
    note = f"Arena log: {len(votes)} votes" + (f"; {rest} lines are no votes and were left out" if rest else "")
    return preferences, note


def _is_vote(row: Mapping[str, Any]) -> bool:
    return str(row.get("type")) in _VOTES and bool(_models_of(row))


def _models_of(row: Mapping[str, Any]) -> list[str]:
    """Return the two models of a line; where they were hidden from the voter, from the states of the conversations."""
    models, states = row.get("models"), row.get("states")
    if not isinstance(models, list) or len(models) != 2 or not all(models):
        models = [s.get("model_name") for s in states if isinstance(s, Mapping)] if isinstance(states, list) else []
    return [str(name) for name in models] if len(models) == 2 and all(models) else []
