"""Every two models of a leaderboard on their common prompts, as ``ModelPair`` of ``page/types.d.ts``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from vmmetrics.scoring.prompt_scores import PromptScores
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import percentile_interval
from vmmetrics.utils.statistics.paired import holm, resampled_means, sign_flip_ps
from vmmetrics.viewer.boards import p_value, rounded

MOST_MODELS = 20
"""Models of a board up to which every two are compared; of more, each with the next below it."""


def model_pairs(
    scores: PromptScores, order: Sequence[str], board: int, runs: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Compare models in pairs: mean difference over common prompts, 95 % interval, and p of a sign-flip test.

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
    above, below = ([index[pair[side]] for pair in pairs] for side in (0, 1))
    differences = scores.scores[above] - scores.scores[below]
    samples = resampled_means(differences)
    columns = [_column(differences[:, :, k], samples[:, :, k]) for k in range(len(scores.keys))]
    by_metric = dict(zip(scores.keys, columns, strict=True))
    return [
        {
            "a": f"{runs[a]}/{a}",
            "b": f"{runs[b]}/{b}",
            "board": board,
            "metrics": {metric: column[number] for metric, column in by_metric.items()},
        }
        for number, (a, b) in enumerate(pairs)
    ]


def _column(differences: FloatArray, samples: FloatArray) -> list[dict[str, Any]]:
    """Return one metric of every pair, from (M, P) differences and (R, M) means of samples."""
    common = (~np.isnan(differences)).sum(axis=1).tolist()
    ps = sign_flip_ps(np.nan_to_num(differences).T)
    raised = iter(holm([p for p, prompts in zip(ps, common, strict=True) if prompts]))
    column = []
    for number, prompts in enumerate(common):
        low, high = percentile_interval(samples[:, number]) if prompts > 1 else (None, None)
        mean = float(np.nanmean(differences[number])) if prompts else None
        column.append(
            {
                "difference": rounded(mean),
                "low": rounded(low),
                "high": rounded(high),
                "p": p_value(ps[number]) if prompts else None,
                "p_holm": p_value(next(raised)) if prompts else None,
                "prompts": prompts,
            }
        )
    return column
