"""Later runs against the first, as ``RunChange`` of ``page/types.d.ts``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.scoring.diff import MeanDifference, RunDifference, difference_of
from vmmetrics.scoring.prompt_scores import Run, scale_of
from vmmetrics.viewer.boards import p_value, rounded


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
        "rows": [_row(row, scale_of(row.metric, runs[after].own)) for row in difference.differences],
        "pairs": _pairs(difference, rows[0], rows[after]),
        "gone": list(difference.gone),
        "new": list(difference.new),
    }


def _as_sentence(error: SetupError) -> str:
    """Return an error's text in one line, without advice on options of the command line."""
    first, *lines = (str(line).strip() for line in error.args)
    if not lines:
        return first
    return f"{first.removesuffix(':').partition(';')[0]}: {'; '.join(lines)}"


def _row(row: MeanDifference, scale: float) -> dict[str, Any]:
    fields = ("before", "after", "difference", "low", "high")
    scaled = {name: rounded(None if (v := getattr(row, name)) is None else v * scale) for name in fields}
    counts = {name: getattr(row, name) for name in ("prompts", "clips", "lost", "gained")}
    ps = {name: p_value(getattr(row, name)) for name in ("p", "p_holm")}
    return {"metric": row.metric, "model": row.model, **scaled, **ps, **counts, "lower_is_better": row.lower_is_better}


def _pairs(difference: RunDifference, before: Mapping[str, int], after: Mapping[str, int]) -> list[tuple[int, int]]:
    keys = ((pair.before.key, pair.after.key) for pair in difference.pairs)
    return [(before[first], after[second]) for first, second in keys if first in before and second in after]
