"""Record of one clip: its line in ``scores.jsonl``, and its events in ``events.jsonl``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from vmmetrics.metrics import registry
from vmmetrics.types import (
    INDEX_NEEDS,
    Collapse,
    Event,
    FloatArray,
    MetricResult,
    PlausibilityResult,
    SaliencyMap,
    Tags,
    collapse_of,
    lasts_enough,
    seconds_of,
)
from vmmetrics.utils.schema import convert, convert_json, plain

State = Mapping[str, int | str]
Collapsed = Literal["zero", "skip"]
"""Whether the INDEX of collapsed clips (:attr:`Record.collapsed`) counts as 0, or is left out."""
FIRST_VERSION = 1
"""Version of scores without one: that of vmmetrics 0.1.0, which wrote format 1 of the run directory."""
EVEN_SECONDS = 0.001
"""Seconds, the tick to which Matroska and WebM round times."""
_DOWNSCALED = re.compile(r"downscaled from [0-9]{1,6}x[0-9]{1,6} to ([0-9]{1,6})x([0-9]{1,6}) ")
_SERIES_DIGITS = 6  # significant digits kept of a per-frame value: below the width of a line in any picture


@dataclass(frozen=True, slots=True)
class WindowScores:
    """Scores of one window of a clip that was scored in windows.

    Attributes:
        start: Its beginning, seconds from the first frame of the clip.
        end: Its end, seconds.
        frames: Number of its frames.
        scores: Score by metric, as of these frames alone.
        missing: Reason why there is no score, by metric.
        errors: Reason of the failure, by metric.
        own_change: As of :class:`Record`.
    """

    start: float
    end: float
    frames: int
    scores: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    own_change: float | None = None

    def with_metrics_of(self, older: WindowScores) -> WindowScores:
        """Return this window with the metrics of an older record of it that this one lacks."""
        own = {*self.scores, *self.missing, *self.errors}
        parts = ("scores", "missing", "errors")
        merged: dict[str, Any] = {p: {**_without(getattr(older, p), own), **getattr(self, p)} for p in parts}
        return replace(self, **merged, own_change=older.own_change if self.own_change is None else self.own_change)


def drift(windows: Sequence[WindowScores], metric: str) -> float | None:
    """Return the mean score of the last half of the windows less that of the first, each weighted by its seconds.

    Of an odd number of windows with a score, the one in the middle is in neither half.

    Returns:
        The drift in the unit of the score; None for fewer than two windows with a score.
    """
    scored = [window for window in windows if metric in window.scores]
    half = len(scored) // 2
    if not half:
        return None
    last, first = (
        np.average([w.scores[metric] for w in part], weights=[w.end - w.start for w in part])
        for part in (scored[-half:], scored[:half])
    )
    return round(float(last - first), 6)


@dataclass(frozen=True, slots=True)
class Record:
    """Scores and metadata of one clip, or the reason why it could not be scored.

    Attributes:
        clip: Path relative to the root given, or the name of an array.
        model: Folder of the clip where clips lie in one folder per model, or None.
        path: Absolute path, or None for an array.
        sha256: Of the file, of a frame folder (see :mod:`vmmetrics.video.content`) or of an array; None where
            no clip could be read.
        preset: Preset that scored it.
        protocol: Definition of the metrics.
        scores: Score by metric; only finite numbers.
        missing: Reason why there is no score, by metric. Missing is not failed.
        not_applicable: Missing metrics that do not apply to the motion of the prompt.
        errors: Reason of the failure, by metric.
        error: Reason why the clip as a whole failed, or None.
        amplitude: Mean subject displacement found by PAS, or None.
        own_change: Share of the frame that changes as no picture moved as a whole would
            (:func:`vmmetrics.perception.own_change.own_change`), or None where it was not measured.
        frames: Number of frames scored, or None where the clip could not be read.
        fps: Frames per second, or None.
        size: (width, height) in pixels as stored, or None.
        prompt: Text the clip was generated from, or None.
        prompt_source: Source of the prompt, or None.
        subject: ``noun``, ``phrase`` and ``source`` of the subject, or None.
        tags: Tags of the prompt list on the expected motion, its pattern first.
        notes: Assumptions and changes of the reader.
        worker: Host and process that scored it, as ``host:pid``, or None where that was not recorded.
        ended: Time of completion, UTC, or None.
        seconds: Time spent on the clip.
        score_version: Metric versions of the scores (:attr:`vmmetrics.metrics.registry.Metric.version`); a metric
            without one has that of format 1, :data:`FIRST_VERSION`.
        state: State of the file when it was hashed, to detect changes: ``bytes`` and ``mtime_ns`` of a
            file, ``files``, ``bytes`` and ``list`` of a folder of frames, ``etag`` of one elsewhere; None where only
            the hash tells.
        timestamps: Seconds of every frame from the first, to the microsecond; None where the frames are evenly spaced
            by ``fps``, to :data:`EVEN_SECONDS`.
        codec: Name of the codec the frames were stored with, or None.
        windows: The windows whose scores were combined (:mod:`vmmetrics.scoring.windows`); none of a clip that was
            scored whole.

    Raises:
        ValueError: ``own_change`` lies outside 0..1, or under protocol ``vmmetrics`` a score outside its range.
    """

    clip: str
    model: str | None
    path: str | None
    sha256: str | None
    preset: str
    protocol: str
    scores: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    not_applicable: tuple[str, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    amplitude: float | None = None
    frames: int | None = None
    fps: float | None = None
    size: tuple[int, int] | None = None
    prompt: str | None = None
    prompt_source: str | None = None
    subject: Mapping[str, str] | None = None
    tags: Tags = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    worker: str | None = None
    ended: str | None = None
    seconds: float = 0.0
    score_version: Mapping[str, int] = field(default_factory=dict)
    state: State | None = None
    timestamps: tuple[float, ...] | None = None
    codec: str | None = None
    own_change: float | None = None
    windows: tuple[WindowScores, ...] = ()

    @classmethod
    def from_line(cls, line: bytes) -> Record:
        """Return the record in a line of ``scores.jsonl``.

        Raises:
            ValueError: It is not JSON, or a field is wrong.
        """
        return convert_json(cls, line)

    def __post_init__(self) -> None:
        if self.own_change is not None and not 0 <= self.own_change <= 1:
            raise ValueError(f"Expected own_change in 0..1 but got {self.own_change}")
        if self.protocol == "vmmetrics":  # the released scores leave 0..1
            for key, score in self.scores.items():
                metric = registry.find(key)
                if metric is not None and not metric.range[0] <= score <= metric.range[1]:
                    raise ValueError(f"Expected {key} in {metric.range[0]:g}..{metric.range[1]:g} but got {score}")

    @property
    def failed(self) -> bool:
        """True if the clip or one of its metrics failed."""
        return self.error is not None or bool(self.errors)

    @property
    def fits(self) -> bool | None:
        """True if the clip lasts as long as the motion of its prompt needs; None where that is unknown."""
        if not self.frames or not self.fps or not seconds_of(self.tags):
            return None
        last = self.timestamps[-1] if self.timestamps else (self.frames - 1) / self.fps
        return lasts_enough(self.tags, last + 1 / self.fps, self.fps)

    @property
    def key(self) -> str:
        """Identifier of the clip within a run: its path or address, else its name."""
        return self.path if self.path is not None else self.clip

    @property
    def motion_index(self) -> float | None:
        """Overall index (:func:`vmmetrics.functional.motion_index`); None without CAS or MSS, or under ``vmbench``."""
        from vmmetrics.functional.motion_index import INDEX_METRICS, motion_index

        if self.protocol != "vmmetrics":
            return None  # the released scores leave 0..1
        scores = {metric: score for metric, score in self.scores.items() if metric in INDEX_METRICS}
        return motion_index(scores, self.own_change).score

    @property
    def scored_size(self) -> tuple[int, int] | None:
        """Width and height, pixels, at which it was scored where it was downscaled to fit the memory, or None."""
        matches = filter(None, map(_DOWNSCALED.match, self.notes))
        return next(((int(found[1]), int(found[2])) for found in matches), None)

    @property
    def index_remark(self) -> str | None:
        """Factor of the index below 1 and its reason, or None."""
        from vmmetrics.functional.motion_index import still_remark

        return None if self.motion_index is None else still_remark(self.own_change)

    @property
    def average(self) -> float | None:
        """Mean of the five scores; None where one is missing."""
        from vmmetrics.functional.motion_index import INDEX_METRICS, average

        return average({metric: self.scores[metric] for metric in INDEX_METRICS if metric in self.scores}).score

    @property
    def collapsed(self) -> Collapse | None:
        """Kind of content without motion to judge that the clip shows; None where there is motion, or it failed.

        The reasons of CAS and MSS say so, those of the other built-in metrics where neither was asked for; a metric of
        one's own may begin its reasons alike.
        """
        if self.protocol != "vmmetrics":
            return None  # the released code scores such clips
        asked = [metric for metric in INDEX_NEEDS if metric in self.scores or metric in self.missing]
        reasons = (self.missing.get(metric, "") for metric in asked or registry.METRICS)
        return next(filter(None, map(collapse_of, reasons)), None)

    @property
    def counts_as_zero(self) -> bool:
        """True for a collapsed clip of a run that computes CAS and MSS: its index counts as 0."""
        return self.collapsed is not None and self.missing.keys() >= {*INDEX_NEEDS}

    @property
    def index_or_zero(self) -> float | None:
        """The index, 0 where :attr:`counts_as_zero`; None for other clips without one."""
        return 0.0 if self.counts_as_zero else self.motion_index

    @property
    def unjudged(self) -> bool:
        """True if the clip has no index without having collapsed (:meth:`unjudged_in`)."""
        return self.unjudged_in("motion_index")

    def unjudged_in(self, metric: str) -> bool:
        """Return True if the clip failed in a metric, or has no CAS or MSS although it moves; such a clip is never 0.

        OIS, TCS, PAS and metrics of one's own may have nothing to judge in a good clip: they are unjudged only where
        they failed. The index is where CAS or MSS is, and in a run without these where any metric failed.
        """
        if self.error is not None:
            return True
        if metric == "motion_index":
            asked = {*INDEX_NEEDS} <= {*self.scores, *self.missing, *self.errors} and self.protocol == "vmmetrics"
            return any(map(self.unjudged_in, INDEX_NEEDS)) if asked else bool(self.errors)
        needed = metric in INDEX_NEEDS and metric in self.missing and metric not in self.not_applicable
        return metric in self.errors or (needed and self.collapsed is None)

    def settled(self) -> set[str]:
        """Return the metrics that need no more work: scored or missing."""
        return set() if self.error is not None else {*self.scores, *self.missing}

    def over(self, older: Record | None) -> Record:
        """Return this record with the scores and reasons of ``older`` for metrics that this one lacks.

        An older record of another input (changed file, prompt, subject or tags) adds nothing.
        """
        same = ("sha256", "prompt", "subject", "tags")
        if older is None or any(getattr(self, name) != getattr(older, name) for name in same):
            return self
        if self.error is not None or older.error is not None:
            return self
        own = {*self.scores, *self.missing, *self.errors}
        anew = {name for key in own if (metric := registry.find(key)) for name in metric.numbers}
        return replace(
            self,
            scores={**_without(older.scores, own), **self.scores},
            missing={**_without(older.missing, own), **self.missing},
            not_applicable=(*(m for m in older.not_applicable if m not in own), *self.not_applicable),
            errors={**_without(older.errors, own), **self.errors},
            amplitude=self.amplitude if "amplitude" in anew else older.amplitude,
            own_change=older.own_change if self.own_change is None else self.own_change,
            notes=tuple(dict.fromkeys((*older.notes, *self.notes))),
            seconds=round(self.seconds + older.seconds, 3),
            score_version={**_without(older.score_version, own), **self.score_version},
            windows=tuple(
                window.with_metrics_of(earlier) for window, earlier in zip(self.windows, older.windows, strict=False)
            ),
        )

    def upright_size(self, aspect: float) -> tuple[int, int] | None:
        """Return :attr:`size` turned as a picture of that width over height stands; None where it is not known."""
        if self.size is None or aspect == 1 or (aspect < 1) == (self.size[0] < self.size[1]):
            return self.size
        return self.size[1], self.size[0]

    @property
    def drift(self) -> dict[str, float]:
        """Drift over its windows by metric (:func:`drift`); empty for a clip that was scored whole."""
        drifts = {metric: drift(self.windows, metric) for metric in self.scores}
        return {metric: change for metric, change in drifts.items() if change is not None}

    def to_json(self) -> dict[str, Any]:
        """Return the line in ``scores.jsonl``; :func:`vmmetrics.utils.schema.convert` reads it back."""
        line = {name: dict(v) if isinstance(v := getattr(self, name), Mapping) else v for name in _FIELDS}
        return {**line, "windows": plain(list(self.windows))} if self.windows else line


_FIELDS = tuple(item.name for item in fields(Record) if item.name != "windows")  # which few have


def uneven_times(timestamps: FloatArray, fps: float) -> tuple[float, ...] | None:
    """Return (T,) seconds rounded to microseconds, or None where the frames are evenly spaced.

    >>> uneven_times(np.array([0, 0.042, 0.083]), 24.0), uneven_times(np.array([0, 0.1, 0.5]), 8.0)
    (None, (0.0, 0.1, 0.5))
    """
    if np.all(np.abs(timestamps - np.arange(len(timestamps)) / fps) <= EVEN_SECONDS):
        return None
    return tuple(round(float(time), 6) for time in timestamps)


def _without(values: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def result_to_json(result: MetricResult) -> dict[str, Any]:
    """Return the events and series of one metric, with what is None left out and NaN as null."""
    events = [{k: v for k, v in asdict(event).items() if v is not None and k != "metric"} for event in result.events]
    stored: dict[str, Any] = {
        "events": plain(events, _short),
        "series": {name: [_short(v) for v in np.asarray(s, float).tolist()] for name, s in result.series.items()},
    }
    stored |= {name: plain(value, _short) for name, value in result.details.items()}
    return stored


@dataclass(frozen=True, slots=True)
class _Stored:
    """Fields that :func:`result_to_json` writes."""

    events: tuple[Mapping[str, Any], ...]
    series: Mapping[str, tuple[float | None, ...]]
    probabilities: tuple[float, ...] | None = None
    view_scores: tuple[float, ...] = ()
    view_frames: tuple[tuple[int, int], ...] = ()
    looks: tuple[SaliencyMap, ...] = ()


def result_from_json(metric: str, line: Any, score: float | None, missing: str | None) -> MetricResult:
    """Return the stored :class:`~vmmetrics.types.MetricResult`, with the digits that were written.

    Raises:
        ValueError: It is not a stored result; the text names the field.
    """
    stored = convert(_Stored, line)
    events = convert(tuple[Event, ...], [{**event, "metric": metric} for event in stored.events])
    series: dict[str, FloatArray] = {
        name: np.array([math.nan if v is None else v for v in values], float) for name, values in stored.series.items()
    }
    if stored.probabilities is None:
        return MetricResult(score, missing, events, series)
    details = {name: getattr(stored, name) for name in ("probabilities", "view_scores", "view_frames", "looks")}
    return PlausibilityResult(score, missing, events, series, **details)


def _short(value: float) -> float | None:
    return float(f"{value:.{_SERIES_DIGITS}g}") if math.isfinite(value) else None
