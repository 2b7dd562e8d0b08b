"""Made-up indexes of reports (``ReportIndex`` in page/types.d.ts), for tests of what the page does with them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmetrics.viewer.columns import Codes, metric_info
from vmmetrics.viewer.page import call

METRICS = ("motion_index", "cas", "tcs")


@dataclass
class MadeRow:
    """One clip; a metric without a score has its reason in ``missing`` or is not scored."""

    name: str
    run: str = "run"
    model: str = "alpha"
    prompt: str | None = None
    frames: int | None = 16
    failed: str | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    events: Sequence[tuple[str, str]] = ()
    tags: Mapping[str, str | float] = field(default_factory=dict)

    def reason(self, metric: str) -> str | None:
        """Return why the clip has no score; None where it has one."""
        if metric in self.scores:
            return None
        return self.failed if self.failed is not None else self.missing.get(metric, "not scored")


def made_index(rows: Sequence[MadeRow], metrics: Sequence[str] = METRICS) -> dict[str, Any]:
    """Return the index of a report of the clips."""
    runs, models, prompts, reasons = Codes[str](), Codes[str](), Codes[str](), Codes[str]()
    events = Codes[tuple[str, str]]()
    names = sorted({name for row in rows for name in row.tags})
    texts = {name: any(isinstance(row.tags.get(name), str) for row in rows) for name in names}
    values = {name: Codes[str]() for name in names}
    clips: dict[str, Any] = {
        "name": [row.name for row in rows],
        "run": [runs[row.run] for row in rows],
        "model": [models[row.model] for row in rows],
        "prompt": [-1 if row.prompt is None else prompts[row.prompt] for row in rows],
        "frames": [row.frames for row in rows],
        "fps": [8.0] * len(rows),
        "failed": [-1 if row.failed is None else reasons[row.failed] for row in rows],
        "scores": {metric: [row.scores.get(metric) for row in rows] for metric in metrics},
        "missing": {
            metric: {
                str(n): {"reason": reasons[row.missing[metric]], "kind": "missing"}
                for n, row in enumerate(rows)
                if metric in row.missing
            }
            for metric in metrics
        },
        "events": [[events[event] for event in dict.fromkeys(row.events)] for row in rows],
        "tags": {
            name: [
                None if name not in row.tags else values[name][str(row.tags[name])] if texts[name] else row.tags[name]
                for row in rows
            ]
            for name in names
        },
        "media": [-1 - reasons["no video"]] * len(rows),
        "poster": [0] * len(rows),
        "overlay": [0] * len(rows),
    }
    return {
        "format": 1,
        "title": "Motion report",
        "provenance": {"vmmetrics": "", "notes": [], "total": len(rows), "shown": len(rows), "left_out": []},
        "runs": [
            {"name": name, "label": "", "preset": "", "protocol": "", "comparable": False, "clips": 0, "failed": 0,
             "versions": {}, "vmmetrics": [], "begun": None, "ended": None, "notes": [], "group": 0}
            for name in runs.values()
        ],
        "metrics": [metric_info(metric) for metric in metrics],
        "models": models.values(),
        "prompts": prompts.values(),
        "reasons": reasons.values(),
        "events": [{"metric": metric, "reason": reason} for metric, reason in events.values()],
        "tags": [{"name": name, "values": values[name].values() if texts[name] else None} for name in names],
        "bases": [], "clips": clips, "boards": [], "pairs": [], "changes": [], "groups": [], "shard": 256,
    }  # fmt: skip


def with_index(report: Path, folder: Path, index: dict[str, Any]) -> Path:
    """Return a copy of a report with another index."""
    shutil.copytree(report, folder)
    (folder / "data" / "index.js").write_text(call("index", index), "utf-8")
    return folder
