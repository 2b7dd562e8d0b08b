"""Reports of runs: what is read from the run directories, and the folder that is written."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vmmetrics.metrics.registry import in_order
from vmmetrics.scoring.leaderboard import INDEX
from vmmetrics.scoring.pictures import POSTERS, Poster, overlay_path
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import opened_events
from vmmetrics.utils.storage.atomic import making
from vmmetrics.utils.storage.journal import iterate_with_text
from vmmetrics.viewer.columns import Columns, metric_info
from vmmetrics.viewer.comparisons import comparisons_of
from vmmetrics.viewer.details import CLIPS_PER_SHARD, detail_of, results_of
from vmmetrics.viewer.named_runs import read_runs
from vmmetrics.viewer.page import call, page, script, style


def write_report(runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> Path:
    """Write a report (first sketch)."""
    sources = [Path(run) for run in ([runs] if isinstance(runs, str | os.PathLike) else runs)]
    target = Path(out)
    warnings: list[str] = []
    stored = read_runs([str(source) for source in sources])
    records = [run.records for run in stored]
    headers = [run.header for run in stored]
    starts = [0, *accumulate(map(len, records))]
    rows = [{r.key: start + n for n, r in enumerate(rs)} for start, rs in zip(starts, records, strict=False)]
    keys = in_order({m for rs in records for r in rs for m in {*r.scores, *r.missing, *r.errors}})
    indexed = any(r.motion_index is not None for rs in records for r in rs)
    metrics = [*([INDEX] if indexed else []), *keys]
    tags = sorted({tag for rs in records for r in rs for tag in r.tags}, key=lambda tag: (tag != "pattern", tag))
    columns, bases = Columns(metrics, tags), []
    if target.exists():
        shutil.rmtree(target)
    with making(target) as folder:
        for name in ("app", "data", "posters", "overlays"):
            (folder / name).mkdir()
        shard: list[dict[str, Any]] = []
        for number, run in enumerate(sources):
            posters = {(p["path"] or p["clip"], p["sha256"]): p["webp"] for p, _ in iterate_with_text(run / POSTERS, like=Poster)}
            with opened_events(run, warnings) as events_of:
                for record in records[number]:
                    row = len(columns)
                    results = results_of(record, events_of(record), warnings)
                    poster = posters.get((record.key, record.sha256))
                    if poster:
                        (folder / "posters" / f"{row:06}.webp").write_bytes(base64.b64decode(poster))
                    overlay = record.sha256 and overlay_path(run, record.sha256)
                    has_overlay = bool(overlay and overlay.is_file())
                    if overlay and has_overlay:
                        text = call("overlay", row, base64.b64encode(overlay.read_bytes()).decode())
                        (folder / "overlays" / f"{row:06}.js").write_text(text)
                    reasons = [(e.metric, e.reason) for r in results.values() for e in r.events if e.excuse is None]
                    media: int | str = -1 - columns.reasons["no video"]
                    if record.path:
                        media = quote(os.path.relpath(record.path, target.absolute()))
                    columns.add(record, number, stored[number].model_name(record.model), reasons, media, bool(poster), has_overlay)
                    shard.append(detail_of(record, results, record.size))
                    if len(shard) == CLIPS_PER_SHARD:
                        _write_shard(folder, row // CLIPS_PER_SHARD, shard)
                        shard = []
        if shard:
            _write_shard(folder, (len(columns) - 1) // CLIPS_PER_SHARD, shard)
        index = {
            "format": 1,
            "title": "Motion report",
            "provenance": {"vmmetrics": "", "notes": [], "total": len(columns), "shown": len(columns), "left_out": []},
            "runs": [
                {
                    "name": run.title, "label": header["configuration"].get("label", ""), "preset": header["configuration"].get("preset", ""),
                    "protocol": header["configuration"].get("protocol", ""), "comparable": False, "clips": len(rs), "failed": 0,
                    "versions": {}, "vmmetrics": [], "begun": None, "ended": None, "notes": [], "group": 0,
                }
                for run, header, rs in zip(stored, headers, records, strict=True)
            ],
            "metrics": [metric_info(key) for key in metrics],
            **columns.to_json(),
            "bases": bases,
            **comparisons_of(stored, rows),
            "shard": CLIPS_PER_SHARD,
        }  # fmt: skip
        (folder / "data" / "index.js").write_text(call("index", index))
        (folder / "app" / "report.js").write_text(script())
        (folder / "app" / "report.css").write_text(style())
        (folder / "index.html").write_text(page())
    return target


def _write_shard(folder: Path, number: int, clips: list[dict[str, Any]]) -> None:
    (folder / "data" / f"detail-{number:03}.js").write_text(call("detail", number, clips))
