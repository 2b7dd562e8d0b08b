"""Statistics of a report: leaderboards, pairs of models, changes between runs, and means by tag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vmmetrics.scoring.leaderboard import make_board
from vmmetrics.scoring.prompt_scores import Run, comparable_models, prompt_scores
from vmmetrics.viewer.boards import board_to_json
from vmmetrics.viewer.changes import changes_of
from vmmetrics.viewer.model_pairs import MOST_MODELS, model_pairs
from vmmetrics.viewer.tag_groups import tag_groups


def comparisons_of(runs: Sequence[Run], rows: Sequence[Mapping[str, int]]) -> dict[str, list[dict[str, Any]]]:
    """Return ``boards``, ``pairs``, ``changes`` and ``groups`` of a report's index.

    Runs without a clip, or without preset and protocol, are on no board.

    Args:
        runs: The runs, named by :func:`vmmetrics.viewer.named_runs.read_runs`.
        rows: For every run, positions in the index by :attr:`~vmmetrics.scoring.record.Record.key`.
    """
    positions = {id(run): number for number, run in enumerate(runs)}
    ranked = [run for run in runs if run.records and {"preset", "protocol"} <= run.configuration.keys()]
    boards: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for models, notes in comparable_models(ranked):
        scores = prompt_scores(models)
        board = make_board(scores, remarks=notes)
        of_runs = {model.name: positions[id(model.run)] for model in models}
        pairs += model_pairs(scores, [row.model for row in board.rows], len(boards), of_runs)
        if len(models) > MOST_MODELS:
            board = replace(
                board, notes=(*board.notes, f"Of more than {MOST_MODELS} models only neighbours are paired.")
            )
        boards.append(board_to_json(board))
    return {"boards": boards, "pairs": pairs, "changes": changes_of(runs, rows), "groups": tag_groups(runs)}
