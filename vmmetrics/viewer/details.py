"""Details of clips: events with their cost, series and facts, in shards that the page loads when a clip is opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from vmmetrics.scoring.record import result_from_json
from vmmetrics.scoring.show.findings import costs_of
from vmmetrics.scoring.table import notes_of
from vmmetrics.types import Event, MetricResult
from vmmetrics.utils.schema import plain
from vmmetrics.viewer.columns import frames_of
from vmmetrics.viewer.selection import Row

CLIPS_PER_SHARD = 256
_POINTS = 100  # in a score of 1


def results_of(row: Row, lines: Mapping[str, Any], warnings: list[str]) -> dict[str, MetricResult]:
    """Return the stored results of a clip by metric; damaged ones are left out with a warning."""
    results: dict[str, MetricResult] = {}
    for metric, line in lines.items():
        try:
            stored = result_from_json(metric, line, row.record.scores.get(metric), row.record.missing.get(metric))
        except ValueError as error:
            warnings.append(f"events.jsonl, {metric} of {row.name}, {error}; left out, score the clip again")
        else:
            results[metric] = stored
    return results


def faults_of(results: Mapping[str, MetricResult], row: Row) -> list[tuple[str, str]]:
    """Return metric and reason of every event that cost points."""
    events = (event for result in results.values() for event in result.events)
    return [(event.metric, row.text(event.reason)) for event in events if event.excuse is None]


def detail_of(row: Row, results: Mapping[str, MetricResult], ratings: Mapping[str, Any]) -> dict[str, Any]:
    """Return one clip of a shard (``ClipDetail`` in ``page/types.d.ts``).

    Args:
        row: The clip.
        results: Its results.
        ratings: Mean and each rater's rating by dimension.
    """
    record, cas = row.record, results.get("cas")
    frames = frames_of(record)
    costs = {metric: costs_of(metric, result, frames, record.protocol) for metric, result in results.items()}
    times = list(record.timestamps or ())
    timed = times and len(times) == frames and times[0] >= 0 and all(a < b for a, b in pairwise(times))
    return {
        "size": _size(record.size),
        "pixels": _size(record.scored_size or record.size),  # that boxes and overlays are in
        "timestamps": times if timed else None,
        "seconds": round(record.seconds, 2),
        "codec": record.codec,
        "sha256": record.sha256,
        "path": row.text(record.path) if row.texts.show_paths and record.path else None,
        "prompt_source": None if record.prompt_source is None else row.text(record.prompt_source),
        "subject": None if record.subject is None else record.subject.get("phrase"),
        "notes": [row.text(note) for note in notes_of(record)],
        "events": [
            _event(event, cost, row, frames)
            for metric, result in results.items()
            for event, cost in zip(result.events, costs[metric].costs, strict=True)
        ],
        "series": {
            metric: {name: [_short(value) for value in values.tolist()] for name, values in result.series.items()}
            for metric, result in results.items()
        },
        "probabilities": plain(list(getattr(cas, "probabilities", ())), _short) or None,
        "saliency": [
            {"frame": look.frame, "gain": plain(look.gain, _short), "reason": row.text(look.reason)}
            for look in getattr(cas, "looks", ())
        ],
        "lost": {
            metric: {"points": _points(cost.lost), "unexplained": _points(cost.unexplained)}
            for metric, cost in costs.items()
            if cost.lost
        },
        "ratings": dict(ratings),
    }


def _points(cost: float) -> float:
    return round(_POINTS * cost, 3)


def _event(event: Event, cost: float | None, row: Row, frames: int | None) -> dict[str, Any]:
    return {
        "metric": event.metric,
        "frames": runs_of(frame for frame in event.frames if frame >= 0 and (frames is None or frame < frames)),
        "reason": row.text(event.reason),
        "target": None if event.target is None else row.text(event.target),
        "box": None if event.box is None else [round(side, 1) for side in event.box],
        "magnitude": _short_or_none(event.magnitude),
        "threshold": _short_or_none(event.threshold),
        "cost": None if cost is None else _points(cost),
        "excuse": None if event.excuse is None else row.text(event.excuse),
    }


def runs_of(frames: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending frames as first and last frame of every run.

    >>> runs_of((1, 2, 3, 7))
    [(1, 3), (7, 7)]
    """
    runs: list[tuple[int, int]] = []
    for frame in frames:
        if runs and frame == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], frame)
        else:
            runs.append((frame, frame))
    return runs


def _size(size: Sequence[int] | None) -> list[int] | None:
    return None if size is None or min(size) < 1 else list(size)


def _short_or_none(value: float | None) -> float | None:
    return None if value is None else _short(value)


def _short(value: float) -> float | None:
    return float(f"{value:.4g}") if value == value else None  # NaN
