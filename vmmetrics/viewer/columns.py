"""Columns of the report's index: clips with texts that repeat stored once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from vmmetrics.metrics.registry import METRICS, find, label
from vmmetrics.scoring.anchors import Place
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.summary import INDEX
from vmmetrics.types import INDEX_NEEDS
from vmmetrics.viewer.selection import Row
from vmmetrics.viewer.texts import legible

T = TypeVar("T", bound=Hashable)
DIGITS = 4
"""Decimals of scores from 0 to 1, and significant digits less 2 of others: as many as tables show."""
_PLAIN = ("name", "run", "model", "prompt", "frames", "fps", "failed", "events", "media", "poster", "overlay")


class Codes(Generic[T]):
    """Values that repeat, by position in order of first use."""

    def __init__(self) -> None:
        self._codes: dict[T, int] = {}

    def __getitem__(self, value: T) -> int:
        return self._codes.setdefault(value, len(self._codes))

    def values(self) -> list[T]:
        """Return the values."""
        return list(self._codes)


class Columns:
    """Columns of clips, filled clip by clip; their fields are described in ``page/types.d.ts``.

    Args:
        metrics: Descriptions of the scores (:func:`metric_info`).
        tags: Names of the tags.
    """

    def __init__(self, metrics: Sequence[Mapping[str, Any]], tags: Sequence[str]) -> None:
        self._metrics, self._tags = [str(metric["key"]) for metric in metrics], tags
        self._fractions = {metric["key"] for metric in metrics if metric["range"] == [0, 1]}
        self.models, self.prompts, self.reasons = Codes[str](), Codes[str](), Codes[str]()
        self.events = Codes[tuple[str, str]]()
        self._clips: dict[str, list[Any]] = {name: [] for name in _PLAIN}
        self._scores: dict[str, list[float | None]] = {metric: [] for metric in self._metrics}
        self._missing: dict[str, dict[str, dict[str, Any]]] = {metric: {} for metric in self._metrics}
        self._places: dict[str, dict[str, tuple[int, int, float]]] = {}
        self._collapsed: list[int] = []
        self._of_tags: dict[str, list[str | float | None]] = {tag: [] for tag in tags}

    def __len__(self) -> int:
        return len(self._clips["name"])

    def add(
        self, row: Row, *, faults: Iterable[tuple[str, str]], media: int | str, poster: bool, overlay: bool,
        places: Mapping[str, Place],
    ) -> None:  # fmt: skip
        """Append a clip.

        Args:
            row: The clip.
            faults: Metric and reason of its events that cost points.
            media: Place of its video, as ``clips.media``.
            poster: True if it has a poster.
            overlay: True if it has an overlay.
            places: Places of its scores among real footage.
        """
        record = row.record
        values = {
            "name": row.name,
            "run": row.run,
            "model": self.models[row.model],
            "prompt": -1 if record.prompt is None else self.prompts[legible(record.prompt)],
            "frames": frames_of(record),
            "fps": fps_of(record),
            "failed": -1 if record.error is None else self.reasons[row.text(record.error)],
            "events": [self.events[fault] for fault in dict.fromkeys(faults)],
            "media": media,
            "poster": int(poster),
            "overlay": int(overlay),
        }
        if record.counts_as_zero:
            self._collapsed.append(len(self))
        number = str(len(self))
        for name, value in values.items():
            self._clips[name].append(value)
        scores = {**record.scores, INDEX: record.motion_index} if record.error is None else {}
        for metric, place in places.items():
            self._places.setdefault(metric, {})[number] = (place.above, place.sources, place.half_width)
        for metric in self._metrics:
            score = scores.get(metric)
            self._scores[metric].append(None if score is None else self._rounded(metric, score))
            if score is None and record.error is None and (why := _why_missing(record, metric)) is not None:
                reason, kind = why
                self._missing[metric][number] = {"reason": self.reasons[row.text(reason)], "kind": kind}
        for tag in self._tags:
            value = record.tags.get(tag)
            self._of_tags[tag].append(row.text(value) if isinstance(value, str) else value)

    def add_scores(self, columns: Mapping[str, list[float | None]]) -> None:
        """Add whole columns of scores by key, such as ratings."""
        self._scores.update(columns)

    def _rounded(self, metric: str, score: float) -> float:
        return round(score, DIGITS) if metric in self._fractions else float(f"{score:.{DIGITS + 2}g}")

    def to_json(self) -> dict[str, Any]:
        """Return models, prompts, reasons, events, tags and clips of the index."""
        tags: list[dict[str, Any]] = []
        columns: dict[str, list[Any]] = {}
        for tag, values in self._of_tags.items():
            if any(isinstance(value, str) for value in values):
                codes = Codes[str]()
                words = (value if value is None or isinstance(value, str) else f"{value:g}" for value in values)
                columns[tag] = [None if word is None else codes[word] for word in words]
                tags.append({"name": legible(tag), "values": codes.values()})
            else:
                columns[tag] = list(values)
                tags.append({"name": legible(tag), "values": None})
        clips = {**self._clips, "scores": self._scores, "missing": self._missing, "tags": columns}
        clips |= {"places": self._places, "collapsed": self._collapsed}
        return {
            "models": self.models.values(),
            "prompts": self.prompts.values(),
            "reasons": self.reasons.values(),
            "events": [{"metric": metric, "reason": reason} for metric, reason in self.events.values()],
            "tags": tags,
            "clips": clips,
        }


def frames_of(record: Record) -> int | None:
    """Return the number of frames, or None where no clip can have that."""
    return record.frames if record.frames is not None and record.frames > 0 else None


def fps_of(record: Record) -> float | None:
    """Return the frames per second, or None where no clip can have that."""
    return round(record.fps, 4) if record.fps is not None and record.fps > 0 else None


def _why_missing(record: Record, metric: str) -> tuple[str, str] | None:
    """Return reason and kind of a missing score; None where it was not asked for."""
    if metric in record.errors:
        return record.errors[metric], "failed"
    if metric in record.missing:
        return record.missing[metric], "not applicable" if metric in record.not_applicable else "missing"
    if metric == INDEX:
        without = [label(part) for part in INDEX_NEEDS if part not in record.scores]
        return (f"no {' and no '.join(without)}", "missing") if without else None
    return None


def metric_info(key: str, described: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the description of a score for the page (``MetricInfo`` in ``page/types.d.ts``).

    Args:
        key: Its key.
        described: What the run records of a custom metric or baseline.
    """
    metric, stated = find(key), described or {}
    if key == INDEX:
        ends: list[float] | None = [0, 1]
    else:
        ends = _range(metric.range if metric is not None else stated.get("range"))
    title = "motion index" if key == INDEX else metric.title if metric is not None else str(stated.get("title", key))
    lower = stated.get("lower_is_better", metric is not None and not metric.higher_is_better)
    return {
        "key": key,
        "label": "INDEX" if key == INDEX else label(key),
        "title": legible(title),
        "range": ends,
        "lower_is_better": bool(lower),
        "low_is_fault": key == INDEX or metric is None or metric.low_is_fault or metric.is_index,
        "colour": "index" if key == INDEX else key if key in METRICS else "own",
        "meaning": "" if metric is None else metric.meaning,
        "kind": "index" if key == INDEX else "metric" if key in METRICS else "own",
        "unit": legible(str(stated.get("unit", "0..1" if ends == [0, 1] else ""))),
    }


def _range(stated: Any) -> list[float] | None:
    """Return least and largest score, or None where they are not two finite ascending numbers."""
    if not isinstance(stated, list | tuple) or len(stated) != 2:
        return None
    low, high = stated
    is_range = all(type(end) in (int, float) and abs(end) <= 1e15 for end in stated) and low < high
    return [low, high] if is_range else None
