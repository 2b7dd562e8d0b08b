"""Results in the form of VBench's ``*_eval_results.json``, for what reads those.

Contract: the files that VBench 0.1.5 writes: ``{dimension: [mean, [{"video_path", "video_results"}, ...]]}``.
"""

from __future__ import annotations

import json
from math import fsum
from pathlib import Path
from typing import Any

from vmmetrics.scoring.anchors import INDEX
from vmmetrics.scoring.table import Table


def eval_results(table: Table) -> dict[str, list[Any]]:
    """Return a dimension ``vmmetrics_KEY`` per metric and the index; clips without a score are in no list of it."""
    results: dict[str, list[Any]] = {}
    for key in (*table.metrics, INDEX):
        scored = [(record, record.motion_index if key == INDEX else record.scores.get(key)) for record in table]
        clips: list[dict[str, Any]] = [{"video_path": record.path or record.clip, "video_results": score}
                 for record, score in scored if score is not None]  # fmt: skip
        if clips:
            results[f"vmmetrics_{key}"] = [fsum(clip["video_results"] for clip in clips) / len(clips), clips]
    return results


def write_eval_results(table: Table, path: str | Path) -> None:
    """Write :func:`eval_results` of a run to a file."""
    Path(path).write_text(json.dumps(eval_results(table), indent=1), "utf-8")
