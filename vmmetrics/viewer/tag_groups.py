"""Means by value of a tag, as ``TagGroup`` of ``page/types.d.ts``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vmmetrics.scoring.prompt_scores import Run
from vmmetrics.scoring.summary import Summary
from vmmetrics.types import IntArray
from vmmetrics.utils.statistics.paired import Mean
from vmmetrics.viewer.boards import rounded

DRAWN_GROUPS = 300
"""Groups up to which the intervals of small ones are drawn; of more, all are in closed form."""
MOST_OF_MODELS = 2000
"""Values of a tag times models of a run up to which there are means of each model."""
_FEW = 100  # scores of a group from which on its intervals are in closed form
_ANY = 2


def tag_groups(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return mean and 95 % interval of every metric by tag, value, run and model, on the metric's own scale.

    A run with several models has a group of all of them beside those of each. Tags with
    :data:`~vmmetrics.scoring.summary.MOST_VALUES` values in a run identify clips and have no groups there.
    """
    groups = [group for number, run in enumerate(runs) for group in _groups(number, run)]
    many = _FEW if len(groups) <= DRAWN_GROUPS else _ANY
    return [{**names, "means": _means(summary.mean(rows, many))} for names, summary, rows in groups]


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


def _means(means: dict[str, Mean]) -> dict[str, dict[str, Any]]:
    return {
        metric: {"mean": rounded(m.mean), "low": rounded(m.low), "high": rounded(m.high), "clips": m.clips}
        for metric, m in means.items()
    }
