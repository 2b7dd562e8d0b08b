"""Leaderboards of a report, as ``Board`` of ``page/types.d.ts``."""

from __future__ import annotations

import math
from typing import Any

from vmmetrics.scoring.leaderboard import Board, Cell, Row, Step

DIGITS = 4
"""Decimals of statistics; their scale is that of the leaderboard."""


def rounded(value: float | None) -> float | None:
    """Return a statistic with :data:`DIGITS` decimals; None for none, and for what is infinite, as JSON has no word."""
    return None if value is None or not math.isfinite(value) else round(value, DIGITS) + 0.0  # no -0.0


def p_value(p: float | None) -> float | None:
    """Return a p value with four significant digits; None for none."""
    return None if p is None else float(f"{p:.4g}")


def board_to_json(board: Board) -> dict[str, Any]:
    """Return a leaderboard as JSON."""
    return {
        "label": board.label,
        "comparable": board.comparable,
        "columns": list(board.columns),
        "by": board.by,
        "prompts": board.prompts,
        "notes": list(board.notes),
        "rows": [_row(row) for row in board.rows],
        "steps": [_step(step) for step in board.steps],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "model": row.model,
        "rank": row.rank,
        "prompts": row.prompts,
        "clips": row.clips,
        "shares": [rounded(share) for share in row.shares],
        "cells": {column: _cell(cell) for column, cell in row.cells.items()},
    }


def _cell(cell: Cell) -> dict[str, Any]:
    ends = {name: rounded(getattr(cell, name)) for name in ("mean", "low", "high")}
    return {**ends, "prompts": cell.prompts, "without": dict(cell.without)}


def _step(step: Step) -> dict[str, Any]:
    return {
        "above": step.above,
        "below": step.below,
        **{name: rounded(getattr(step, name)) for name in ("difference", "low", "high")},
        **{name: p_value(getattr(step, name)) for name in ("p", "p_holm")},
        "prompts": step.prompts,
    }
