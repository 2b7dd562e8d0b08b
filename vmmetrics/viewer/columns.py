"""The index of a report: every clip as an entry of columns, with texts that repeat stored once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, Hashable, TypeVar

from vmmetrics.metrics.registry import METRICS, find, label
from vmmetrics.scoring.leaderboard import INDEX
from vmmetrics.scoring.record import Record

T = TypeVar("T", bound=Hashable)
DIGITS = 4
"""Decimals of scores: as many as tables show."""


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
        metrics: Keys of the scores.
        tags: Names of the tags.
    """

    def __init__(self, metrics: Sequence[str], tags: Sequence[str]) -> None:
        self._metrics, self._tags = metrics, tags
        self.models, self.prompts, self.reasons = Codes[str](), Codes[str](), Codes[str]()
        self.events = Codes[tuple[str, str]]()
        self._tag_values = {tag: Codes[str]() for tag in tags}
        plain = ("name", "run", "model", "prompt", "frames", "fps", "failed", "events", "media", "poster", "overlay")
        self._clips: dict[str, list[Any]] = {name: [] for name in plain}
        self._scores: dict[str, list[float | None]] = {metric: [] for metric in metrics}
        self._missing: dict[str, dict[str, dict[str, Any]]] = {metric: {} for metric in metrics}
        self._of_tags: dict[str, list[float | None]] = {tag: [] for tag in tags}
        self._numeric = dict.fromkeys(tags, True)

    def __len__(self) -> int:
        return len(self._clips["name"])

    def add(
        self, record: Record, run: int, model: str, reasons: Iterable[tuple[str, str]], media: int | str, poster: bool,
        overlay: bool,
    ) -> None:  # fmt: skip
        """Append a clip.

        Args:
            record: Its record.
            run: Position of its run.
            model: Its model as the leaderboard names it.
            reasons: Metric and reason of its events that cost points.
            media: Place of its video, as ``clips.media``.
            poster: True if it has a poster.
            overlay: True if it has an overlay.
        """
        row = str(len(self))
        values = {
            "name": record.clip,
            "run": run,
            "model": self.models[model],
            "prompt": -1 if record.prompt is None else self.prompts[record.prompt],
            "frames": record.frames,
            "fps": None if record.fps is None else round(record.fps, 4),
            "failed": -1 if record.error is None else self.reasons[record.error],
            "events": [self.events[event] for event in dict.fromkeys(reasons)],
            "media": media,
            "poster": int(poster),
            "overlay": int(overlay),
        }
        for name, value in values.items():
            self._clips[name].append(value)
        scores = dict(record.scores) if record.error is None else {}
        if record.motion_index is not None and record.error is None:
            scores[INDEX] = record.motion_index
        for metric in self._metrics:
            score = scores.get(metric)
            self._scores[metric].append(None if score is None else round(score, DIGITS))
            if score is None and record.error is None and (why := _missing(record, metric)) is not None:
                self._missing[metric][row] = {"reason": self.reasons[why[0]], "kind": why[1]}
        for tag in self._tags:
            value = record.tags.get(tag)
            if isinstance(value, str):
                self._numeric[tag] = False
            self._of_tags[tag].append(value)  # type: ignore[arg-type]

    def to_json(self) -> dict[str, Any]:
        """Return models, prompts, reasons, events, tags and clips of the index."""
        tags, columns = [], {}
        for tag in self._tags:
            codes = self._tag_values[tag]
            values = self._of_tags[tag]
            numeric = self._numeric[tag]
            columns[tag] = values if numeric else [None if v is None else codes[str(v)] for v in values]
            tags.append({"name": tag, "values": None if numeric else codes.values()})
        clips = {**self._clips, "scores": self._scores, "missing": self._missing, "tags": columns}
        return {
            "models": self.models.values(),
            "prompts": self.prompts.values(),
            "reasons": self.reasons.values(),
            "events": [{"metric": metric, "reason": reason} for metric, reason in self.events.values()],
            "tags": tags,
            "clips": clips,
        }


def _missing(record: Record, metric: str) -> tuple[str, str] | None:
    """Return reason and kind of a missing score; None where it was not asked for."""
    if metric in record.errors:
        return record.errors[metric], "failed"
    if metric in record.missing:
        return record.missing[metric], "not applicable" if metric in record.not_applicable else "missing"
    if metric == INDEX:
        without = [label(part) for part in ("cas", "mss") if part not in record.scores]
        return (f"no {' and no '.join(without)}", "missing") if without else None
    return None


def metric_info(key: str, described: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the description of a score for the page.

    Args:
        key: Its key.
        described: What the run says of a custom metric or baseline.
    """
    metric, stated = find(key), described or {}
    ends = (0.0, 1.0) if key == INDEX else metric.range if metric is not None else stated.get("range")
    return {
        "key": key,
        "label": "INDEX" if key == INDEX else label(key),
        "title": "motion index" if key == INDEX else metric.title if metric is not None else str(stated.get("title", key)),
        "range": None if ends is None else list(ends),
        "lower_is_better": bool(stated.get("lower_is_better", metric is not None and not metric.higher_is_better)),
        "low_is_fault": key == INDEX or metric is None or metric.low_is_fault,
        "colour": "index" if key == INDEX else key if key in METRICS else "own",
        "kind": "index" if key == INDEX else "metric" if key in METRICS else "own",
        "unit": str(stated.get("unit", "0..1" if ends is not None and tuple(ends) == (0, 1) else "")),
    }
