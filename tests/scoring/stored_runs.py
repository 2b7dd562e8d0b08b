"""Run directories with made-up scores and without clips, for what is computed of scores alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.metrics import METRICS
from vmmetrics.scoring.prompt_scores import Run
from vmmetrics.scoring.record import Record

CONFIGURATION = {
    "preset": "embedded", "protocol": "vmmetrics", "models": {"flow": "DIS"}, "weights": {"a": "00"},
    "comparable": False, "label": "preset embedded: not comparable", "versions": {"av": "18"},
}  # fmt: skip


def five(value: float) -> dict[str, float]:
    return dict.fromkeys(METRICS, value)


def clip(name: str, scores: Mapping[str, float], prompt: str | None = None, **other: Any) -> Record:
    model = name.partition("/")[0] if "/" in name else None
    other.setdefault("sha256", f"of {name}")
    return Record(
        name, model, f"/x/{name}", preset="embedded", protocol="vmmetrics", scores=scores, prompt=prompt, **other
    )


def write(path: Path, records: Sequence[Record], header: Mapping[str, Any] | None = None, **configuration: Any) -> str:
    path.mkdir(parents=True, exist_ok=True)
    metrics = sorted({metric for record in records for metric in (*record.scores, *record.missing, *record.errors)})
    run = {"format": 1, "configuration": {**CONFIGURATION, **configuration}, "metrics": metrics, "sessions": []}
    (path / "run.json").write_text(json.dumps({**run, **(header or {})}))
    (path / "scores.jsonl").write_text("".join(json.dumps(record.to_json()) + "\n" for record in records))
    return str(path)


def random_clips(models: Sequence[str], prompts: int, seed: int = 0, missing: float = 0.0) -> list[Record]:
    """Return a clip of every model and prompt with random scores, a share of which is missing."""
    rng = np.random.default_rng(seed)
    clips = []
    for number, model in enumerate(models):
        for prompt in range(prompts):
            values = np.clip(rng.normal(0.5 + 0.03 * number, 0.1, len(METRICS)), 0, 1)
            scores = {metric: float(v) for metric, v in zip(METRICS, values, strict=True) if rng.random() >= missing}
            clips.append(clip(f"{model}/{prompt:04}.mp4", scores, f"prompt {prompt}"))
    return clips


def rows_of(runs: Sequence[Run]) -> list[dict[str, int]]:
    """Return positions of clips by key where the index holds all clips in the order of the runs."""
    rows: list[dict[str, int]] = []
    for run in runs:
        start = sum(map(len, rows))
        rows.append({record.key: start + number for number, record in enumerate(run.records)})
    return rows
