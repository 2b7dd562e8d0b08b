"""Statistics of a report: leaderboards, pairs of models, changes between runs, means by tag (``page/types.d.ts``)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.scoring.diff import MeanDifference, difference_of
from vmmetrics.scoring.leaderboard import Board, make_board
from vmmetrics.scoring.prompt_scores import PromptScores, Run, comparable_models, prompt_scores
from vmmetrics.scoring.summary import Summary
from vmmetrics.types import IntArray
from vmmetrics.utils.schema import plain
from vmmetrics.utils.statistics.paired import Difference, corrected, paired_differences

DIGITS = 6
"""Decimals of statistics; pages show three."""


def rounded(value: float | None) -> float | None:
    """Return a statistic with :data:`DIGITS` decimals; None for none, and for what is infinite, as JSON has no word."""
    return None if value is None or not math.isfinite(value) else round(value, DIGITS) + 0.0  # no -0.0


def p_value(p: float | None) -> float | None:
    """Return a p value with four significant digits; None for none."""
    return None if p is None else float(f"{p:.4g}")


def board_to_json(board: Board) -> dict[str, Any]:
    """Return a leaderboard as JSON."""
    fields = ("label", "comparable", "columns", "by", "prompts", "notes", "rows")
    steps = [{"above": step.above, "below": step.below, **_difference(step)} for step in board.steps]
    return {**{name: plain(getattr(board, name), rounded) for name in fields}, "steps": steps}


def _difference(difference: Difference | MeanDifference) -> dict[str, Any]:
    return {
        **{name: rounded(getattr(difference, name)) for name in ("difference", "low", "high")},
        **{name: p_value(getattr(difference, name)) for name in ("p", "p_holm")},
        "prompts": difference.prompts,
    }


MOST_MODELS = 20
"""Models of a board up to which every two are compared; of more, each with the next below it."""


def model_pairs(
    scores: PromptScores, order: Sequence[str], board: int, runs: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Compare models in pairs on common prompts: difference of the means over clips, 95 % interval, p of sign flips.

    Args:
        scores: Scores of the board's models.
        order: The models, best first.
        board: Position of the board.
        runs: Position of each model's run.

    Returns:
        The pairs, the one further up first; p is Holm-corrected over all pairs of a metric.
    """
    index = {model.name: number for number, model in enumerate(scores.models)}
    pairs = list(combinations(order, 2) if len(order) <= MOST_MODELS else pairwise(order))
    if not pairs:
        return []
    sides = np.array([[index[pair[side]] for pair in pairs] for side in (0, 1)])
    scored, clips = (
        of[sides].transpose(0, 3, 1, 2).reshape(2, -1, of.shape[1]) for of in (scores.scores, scores.clips)
    )
    compared = paired_differences(scored, clips)
    by_metric = {
        metric: list(map(_difference, corrected(compared[k * len(pairs) : (k + 1) * len(pairs)])))
        for k, metric in enumerate(scores.keys)
    }
    return [
        {
            "a": f"{runs[a]}/{a}",
            "b": f"{runs[b]}/{b}",
            "board": board,
            "metrics": {metric: column[number] for metric, column in by_metric.items()},
        }
        for number, (a, b) in enumerate(pairs)
    ]


def changes_of(runs: Sequence[Run], rows: Sequence[Mapping[str, int]]) -> list[dict[str, Any]]:
    """Compare every later run with the first, the baseline.

    Args:
        runs: The runs.
        rows: For every run, positions in the report's index by :attr:`~vmmetrics.scoring.record.Record.key`; pairs of
            clips that are not in it are left out.

    Returns:
        A change per later run; one whose scores are not comparable says why.
    """
    return [_change(runs, rows, after) for after in range(1, len(runs))]


def _change(runs: Sequence[Run], rows: Sequence[Mapping[str, int]], after: int) -> dict[str, Any]:
    change: dict[str, Any] = {"before": 0, "after": after, "refused": None, "notes": [], "paired_by": {}}
    change |= {"rows": [], "pairs": [], "gone": [], "new": []}
    try:
        difference = difference_of(runs[0], runs[after])
    except SetupError as error:
        return change | {"refused": _as_sentence(error)}
    return change | {
        "notes": list(difference.notes),
        "paired_by": dict(difference.paired_by),
        "rows": list(map(_mean_difference, difference.differences)),
        "pairs": [
            (before, rows[after][pair.after.key])
            for pair in difference.pairs
            if (before := rows[0].get(pair.before.key)) is not None and pair.after.key in rows[after]
        ],
        "gone": list(difference.gone),
        "new": list(difference.new),
    }


def _as_sentence(error: SetupError) -> str:
    """Return an error's text in one line, without advice on options of the command line."""
    first, *lines = (str(line).strip() for line in error.args)
    if not lines:
        return first
    return f"{first.removesuffix(':').partition(';')[0]}: {'; '.join(lines)}"


def _mean_difference(row: MeanDifference) -> dict[str, Any]:
    means = {name: rounded(getattr(row, name)) for name in ("before", "after")}
    others = {name: getattr(row, name) for name in ("clips", "lost", "gained", "lower_is_better")}
    return {"metric": row.metric, "model": row.model, **means, **_difference(row), **others}


DRAWN_GROUPS = 300
"""Groups up to which the intervals of small ones are drawn; of more, all are in closed form."""
MOST_OF_MODELS = 2000
"""Values of a tag times models of a run up to which there are means of each model."""
_FEW = 100  # scores of a group from which on its intervals are in closed form
_ANY = 2


def tag_groups(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return mean and 95 % interval of every metric by tag, value, run and model.

    A run with several models has a group of all of them beside those of each. Tags with
    :data:`~vmmetrics.scoring.summary.MOST_VALUES` values in a run identify clips and have no groups there.
    """
    groups = [group for number, run in enumerate(runs) for group in _groups(number, run)]
    many = _FEW if len(groups) <= DRAWN_GROUPS else _ANY
    return [{**names, "means": plain(summary.mean(rows, many), rounded)} for names, summary, rows in groups]


def _groups(number: int, run: Run) -> Iterator[tuple[dict[str, Any], Summary, IntArray]]:
    """Yield tag, value, model, run and size of each group of a run, and where its clips are."""
    summary = Summary(run.records)
    names = [run.model_name(record.model) for record in run.records]
    models, codes = np.unique(np.array(names, object).astype(str), return_inverse=True)
    for tag in summary.tags:
        values = summary.by_tag(tag)
        divided = models if len(values) * len(models) <= MOST_OF_MODELS else ()
        for value, rows in values.items():
            of_models = [(str(model), rows[codes[rows] == code]) for code, model in enumerate(divided)]
            everyone = [(None, rows)] if len(models) > 1 else []
            for model, of_model in (*everyone, *of_models):
                if len(of_model):
                    text = {"tag": tag, "value": value_text(value), "model": model, "run": number}
                    yield {**text, "clips": len(of_model)}, summary, of_model


def value_text(value: str | float) -> str:
    """Return a value of a tag as text, numbers as JavaScript writes them.

    >>> value_text(3.0), value_text(0.5), value_text("slow")
    ('3', '0.5', 'slow')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def comparisons_of(
    runs: Sequence[Run], rows: Sequence[Mapping[str, int]], by: str | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Return ``boards``, ``pairs``, ``changes`` and ``groups`` of a report's index.

    Runs without a clip, or without preset and protocol, are on no board.

    Args:
        runs: The runs, named by :func:`vmmetrics.viewer.sources.read_runs`.
        rows: For every run, positions in the index by :attr:`~vmmetrics.scoring.record.Record.key`.
        by: Column that boards are ranked by; None takes the index where there can be one, else the average.
    """
    positions = {id(run): number for number, run in enumerate(runs)}
    ranked = [run for run in runs if run.records and {"preset", "protocol"} <= run.configuration.keys()]
    boards: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for models, notes in comparable_models(ranked):
        scores = prompt_scores(models)
        board = make_board(scores, by, notes)
        of_runs = {model.name: positions[id(model.run)] for model in models}
        pairs += model_pairs(scores, [row.model for row in board.rows], len(boards), of_runs)
        if len(models) > MOST_MODELS:
            board = replace(
                board, notes=(*board.notes, f"Of more than {MOST_MODELS} models only neighbours are paired.")
            )
        boards.append(board_to_json(board))
    return {"boards": boards, "pairs": pairs, "changes": changes_of(runs, rows), "groups": tag_groups(runs)}
