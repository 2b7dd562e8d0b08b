"""Scores of a clip from those of its windows, read and scored one after the other.

A score is the mean over the windows, weighted by their seconds. Metrics that judge changes are also computed around
each edge of two windows; an event there that neither window has costs what it would cost in a window. CAS takes such
an overlap as one more view of a second. A window without motion to judge counts as 0 in CAS, or freezing would be free.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol as Interface
from typing import TypeVar

import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.functional import commonsense_adherence_score
from vmmetrics.functional.event_costs import event_costs
from vmmetrics.metrics.registry import find, label, registered
from vmmetrics.perception.scene import Scene
from vmmetrics.scoring.clip_scores import ClipScores, indexes
from vmmetrics.scoring.record import WindowScores, drift
from vmmetrics.types import AmplitudeResult, Event, FloatArray, MetricResult, PlausibilityResult, Protocol, collapse_of
from vmmetrics.utils.progress import part
from vmmetrics.video.windows import OVERLAP_SECONDS, WINDOW_SECONDS, Window

EDGE_SECONDS = 0.5
"""Distance from an edge within which events of the overlap count, as windows do not see all that near their ends; and
within which one of a window with the same reason is the same event."""
SERIES = "windows"
"""Name of the series with the score of the window that each frame is in."""
_OVERLAP_SHARE = 0.3  # of the time of a window, spent on the overlap before it
_NUMBERED = re.compile(r"(object|patch|person) ([0-9]+)")
_BAD = (1.0, 0.0, 0.0, 0.0, 0.0)  # probabilities of the levels of CAS that give 0

Seen = Callable[[Window, Scene, ClipScores, int], None]
"""Receives each window with its perception and scores, before they are freed, and the number of objects before it."""
_Result = TypeVar("_Result", bound=MetricResult)


class Windowed(Interface):
    """Interface of the class that scores windows: :class:`vmmetrics.Suite`."""

    metrics: tuple[str, ...]
    protocol: Protocol

    def scene(self, clip: Clip) -> Scene:
        """Return the shared perception of a window."""

    def score_scene(self, scene: Scene, metrics: Collection[str] | None = None) -> ClipScores:
        """Score a window, by some of the metrics."""


def score_windows(
    suite: Windowed, windows: Iterable[Window], count: int | None = None, seen: Seen | None = None
) -> Iterator[ClipScores]:
    """Yield the scores of each window, then those of the whole clip.

    Frames, objects and people in events have their numbers in the whole clip; objects and people are numbered anew in
    each window, after those of the windows before.

    Args:
        suite: The suite.
        windows: The windows in order; each is freed before the next one is asked for.
        count: Their number, for the progress; None where it is not known.
        seen: Called for each window.
    """
    across = {key for key, metric in registered().items() if metric.across and key in suite.metrics}
    whole = _Whole(suite)
    end: Window | None = None

    def share(of_window: float) -> float:
        return (len(whole.parts) + of_window) / count if count else 0.0

    for window in windows:
        if end is not None and across:
            with part(share(0.0), share(_OVERLAP_SHARE)):
                whole.overlaps.append(_overlap(suite, window.after(end), across))
        with part(share(0.0 if end is None else _OVERLAP_SHARE), share(1.0)):
            scene = suite.scene(window.clip)
            numbered = whole.numbered
            scores = whole.add(window, suite.score_scene(scene), scene)
            if seen is not None:
                seen(window, scene, scores, numbered)
        end = window.end()
        del window, scene
        yield scores
    yield whole.scores()


def _overlap(suite: Windowed, overlap: Window, across: set[str]) -> ClipScores:
    scores = suite.score_scene(suite.scene(overlap.clip), across)
    return replace(scores, name=overlap.text, results=_in_clip(scores.results, overlap.first, 0))


@dataclass(frozen=True, slots=True)
class _Part:
    """Scores of a window, with its place in the clip."""

    scores: ClipScores
    first: int
    window: WindowScores

    @property
    def seconds(self) -> float:
        return self.window.end - self.window.start


class _Whole:
    """Windows and overlaps that were scored, and the number of objects and people so far."""

    def __init__(self, suite: Windowed) -> None:
        self._suite = suite
        self.parts: list[_Part] = []
        self.overlaps: list[ClipScores] = []
        self.numbered = 0

    def add(self, window: Window, scores: ClipScores, scene: Scene) -> ClipScores:
        """Keep the scores of a window; return them with the numbers of frames and objects of the whole clip."""
        start, end = round(window.start, 6), round(window.start + window.seconds, 6)
        about = WindowScores(
            start, end, len(window.clip), scores.scores, scores.missing, dict(scores.errors), scores.own_change
        )
        results = _in_clip(scores.results, window.first, self.numbered)
        self.numbered += _most_numbered(scene, scores.results)
        scores = replace(scores, name=f"{scores.name}, {window.text}", results=results, windows=(about,))
        self.parts.append(_Part(scores, window.first, about))
        return scores

    def scores(self) -> ClipScores:
        """Combine them.

        Raises:
            ValueError: There is no window.
        """
        if not self.parts:
            raise ValueError("Expected at least one frame but got none")
        name = self.parts[0].scores.name.rpartition(", ")[0]
        if len(self.parts) == 1:
            return replace(self.parts[0].scores, name=name)
        results: dict[str, MetricResult] = {}
        errors: dict[str, str] = {}
        notes = [note for p in self.parts for note in p.scores.notes]
        for metric in self._suite.metrics:
            failed = [f"{_span(s)}: {s.errors[metric]}" for s in self._all() if metric in s.errors]
            if failed:
                errors[metric] = failed[0] + (f" (and {len(failed) - 1} more windows)" if len(failed) > 1 else "")
            else:
                results[metric] = self._combined(metric)
                lacking = [p for p in self.parts if metric in p.scores.missing]
                if lacking and results[metric].score is not None:
                    spans = ", ".join(_span(p.scores) for p in lacking)
                    notes.append(f"{label(metric)} is missing in {spans}: {lacking[0].scores.missing[metric]}")
        windows = tuple(p.window for p in self.parts)
        drifts = {metric: drift(windows, metric) for metric in results}
        texts = [f"{label(metric)} {change:+.3f}" for metric, change in drifts.items() if change is not None]
        notes.insert(
            0,
            f"scored in {len(windows)} windows of {WINDOW_SECONDS:g} s" + "; drift: " * bool(texts) + ", ".join(texts),
        )
        changes = [(p.window.own_change, p.seconds) for p in self.parts if p.window.own_change is not None]
        changed = round(_weighted(changes), 6) if changes else None
        return replace(
            self.parts[0].scores,
            name=name,
            results=results | indexes(results, results, changed),
            errors=errors,
            seconds=sum(s.seconds for s in self._all()),
            notes=tuple(dict.fromkeys(notes)),
            own_change=changed,
            windows=windows,
        )

    def _all(self) -> Iterator[ClipScores]:
        yield from (p.scores for p in self.parts)
        yield from self.overlaps

    def _combined(self, metric: str) -> MetricResult:
        """Return the result of a metric that failed in no window."""
        of_windows = [p.scores.results[metric] for p in self.parts]
        scored = [(p, r) for p, r in zip(self.parts, of_windows, strict=True) if r.score is not None]
        events = tuple(event for result in of_windows for event in result.events)
        series = self._series(of_windows)
        if not scored:
            return replace(
                of_windows[0], missing=_reason([str(r.missing) for r in of_windows]), events=events, series=series
            )
        views = [(p, r) for p, r in scored if isinstance(r, PlausibilityResult)]
        if views:
            return replace(self._plausibility(metric, views), series=series)
        score = _weighted([(float(r.score or 0.0), p.seconds) for p, r in scored])
        across = list(self._across(metric))
        total = self.parts[-1].window.end
        lost = sum(cost for _, cost in across) * WINDOW_SECONDS / total
        result = replace(
            scored[0][1],
            score=max(score - lost, 0.0) if lost else score,
            series=series,
            events=tuple(sorted((*events, *(event for event, _ in across)), key=lambda e: e.frames[:1])),
        )
        if isinstance(result, AmplitudeResult):
            amplitudes = [(r.amplitude or 0.0, p.seconds) for p, r in scored if isinstance(r, AmplitudeResult)]
            result = replace(result, amplitude=_weighted(amplitudes))
        return result

    def _series(self, results: Sequence[MetricResult]) -> dict[str, FloatArray]:
        """Return the series of the windows one after the other, NaN where one has none, and :data:`SERIES`."""
        names = dict.fromkeys(name for result in results for name in result.series)
        counts = [p.window.frames for p in self.parts]
        joined = {
            name: np.concatenate([r.series.get(name, np.full(n, np.nan)) for r, n in zip(results, counts, strict=True)])
            for name in names
        }
        values = [np.nan if result.score is None else result.score for result in results]
        return {**joined, SERIES: np.repeat(values, counts)}

    def _across(self, metric: str) -> Iterator[tuple[Event, float]]:
        """Yield the events at edges that no window has, with their cost in a window."""
        known = find(metric)
        for overlap, (before, after) in zip(self.overlaps, pairwise(self.parts), strict=False):
            result = overlap.results.get(metric)
            if result is None or known is None:
                continue
            rate = after.window.frames / after.seconds
            near = EDGE_SECONDS * rate + 0.5
            seen = [e for p in (before, after) for e in p.scores.results[metric].events if e.frames]
            costs = event_costs(known.division, result, round(WINDOW_SECONDS * rate), self._suite.protocol).costs
            new = [(e, cost or 0.0) for e, cost in zip(result.events, costs, strict=True) if e.frames]
            for event in seen:
                gaps = [abs(e.frames[0] - event.frames[0]) if e.reason == event.reason else near + 1 for e, _ in new]
                if min(gaps, default=near + 1) <= near:
                    del new[gaps.index(min(gaps))]
            for event, cost in new:
                if abs(event.frames[0] - after.first) <= near:
                    self.numbered += 1
                    yield _renumbered(event, 0, self.numbered), cost

    def _plausibility(self, metric: str, views: Sequence[tuple[_Part, PlausibilityResult]]) -> PlausibilityResult:
        """Return the plausibility by the mean probabilities; those of windows without motion to judge are "Bad"."""
        rows = [(r.probabilities, p.seconds) for p, r in views]
        rows += [(_BAD, p.seconds) for p in self.parts if collapse_of(p.scores.missing.get(metric, ""))]
        overlaps = [s.results.get(metric) for s in self.overlaps]
        rows += [
            (r.probabilities, OVERLAP_SECONDS)
            for r in overlaps
            if isinstance(r, PlausibilityResult) and r.probabilities
        ]
        mean = np.average([row for row, _ in rows], axis=0, weights=[seconds for _, seconds in rows])
        judged = commonsense_adherence_score(mean / mean.sum())
        worst = min((r for _, r in views), key=lambda r: r.score or 0.0)
        return replace(
            judged,
            events=(*judged.events, *(e for _, r in views for e in r.events if e.frames)),
            view_scores=tuple(score for _, r in views for score in r.view_scores),
            view_frames=tuple(frames for _, r in views for frames in r.view_frames),
            looks=worst.looks,
        )


def _span(scores: ClipScores) -> str:
    """Return the time of a window or an overlap, which its name ends with."""
    return scores.name.rpartition(", ")[2]


def _weighted(values: Sequence[tuple[float, float]]) -> float:
    """Return the mean of values, each with its weight."""
    numbers, weights = zip(*values, strict=True)
    return float(np.average(numbers, weights=weights))


def _reason(reasons: Sequence[str]) -> str:
    """Return why a metric is missing in all windows; the first reason comes first, which tells collapsed clips."""
    others = list(dict.fromkeys(reasons[1:]))
    if others == [reasons[0]]:
        return f"{reasons[0]}, in each of {len(reasons)} windows"
    return f"{reasons[0]}, in the first of {len(reasons)} windows; then {'; '.join(others[:2])}"


def _in_clip(results: dict[str, MetricResult], first: int, numbered: int) -> dict[str, MetricResult]:
    """Return results with frames counted from the clip's first, and objects after those of earlier windows."""
    return {metric: _shifted(result, first, numbered) for metric, result in results.items()}


def _shifted(result: _Result, first: int, numbered: int) -> _Result:
    moved = replace(result, events=tuple(_renumbered(event, first, numbered) for event in result.events))
    if isinstance(moved, PlausibilityResult):
        moved = replace(
            moved,
            view_frames=tuple((a + first, b + first) for a, b in moved.view_frames),
            looks=tuple(replace(look, frame=look.frame + first) for look in moved.looks),
        )
    return moved


def _renumbered(event: Event, first: int, numbered: int) -> Event:
    frames = tuple(frame + first for frame in event.frames)
    target = event.target and _NUMBERED.sub(lambda m: f"{m[1]} {int(m[2]) + numbered}", event.target)
    return replace(event, frames=frames, target=target)


def _most_numbered(scene: Scene, results: dict[str, MetricResult]) -> int:
    """Return the largest number of an object or person of a window."""
    texts = [event.target or "" for result in results.values() for event in result.events]
    numbers = [int(m[2]) for text in texts if (m := _NUMBERED.match(text))]
    with suppress(Exception):
        numbers += [item.id for item in scene.objects.objects] if scene.calls["objects"] else []
    return max(numbers, default=0)
