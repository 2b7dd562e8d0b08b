"""Details of clips: events with their cost, series and facts, in shards that the page loads when a clip is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vmmetrics.scoring.record import Record, result_from_json
from vmmetrics.types import Event, MetricResult
from vmmetrics.utils.schema import plain

CLIPS_PER_SHARD = 256


def results_of(record: Record, lines: Mapping[str, Any], warnings: list[str]) -> dict[str, MetricResult]:
    """Return the stored results of a clip by metric; damaged ones are left out with a warning."""
    results: dict[str, MetricResult] = {}
    for metric, line in lines.items():
        try:
            results[metric] = result_from_json(metric, line, record.scores.get(metric), record.missing.get(metric))
        except ValueError as error:
            warnings.append(f"events.jsonl, {metric} of {record.clip}, {error}; left out, score the clip again")
    return results


def detail_of(record: Record, results: Mapping[str, MetricResult], pixels: Sequence[int] | None) -> dict[str, Any]:
    """Return one clip of a shard (``ClipDetail`` in ``page/types.d.ts``).

    Args:
        record: The clip.
        results: Its results.
        pixels: Width and height that boxes are in, or None.
    """
    cas = results.get("cas")
    return {
        "size": record.size,
        "pixels": pixels,
        "timestamps": record.timestamps,
        "seconds": round(record.seconds, 2),
        "codec": record.codec,
        "sha256": record.sha256,
        "path": None,
        "prompt_source": record.prompt_source,
        "subject": None if record.subject is None else record.subject.get("phrase"),
        "notes": list(record.notes),
        "events": [_event(event) for result in results.values() for event in result.events],
        "series": {
            metric: {name: plain(values, _short) for name, values in result.series.items()}
            for metric, result in results.items()
        },
        "probabilities": list(getattr(cas, "probabilities", ())) or None,
        "saliency": [
            {"frame": look.frame, "gain": [list(row) for row in look.gain], "reason": look.reason}
            for look in getattr(cas, "looks", ())
        ],
        "lost": {},
        "ratings": {},
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "metric": event.metric,
        "frames": runs_of(event.frames),
        "reason": event.reason,
        "target": event.target,
        "box": event.box,
        "magnitude": event.magnitude,
        "threshold": event.threshold,
        "cost": 0 if event.excuse else None,
        "excuse": event.excuse,
    }


def runs_of(frames: Sequence[int]) -> list[tuple[int, int]]:
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


def _short(value: float) -> float | None:
    return float(f"{value:.4g}") if value == value else None  # noqa: PLR0124 - NaN
