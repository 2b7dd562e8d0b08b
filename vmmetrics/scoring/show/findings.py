"""Content of a picture of a clip: its results, and the masks, tracks and poses behind them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import cast, get_args

import numpy as np

from vmmetrics.errors import VMMetricsError
from vmmetrics.functional.event_costs import EventCosts, event_costs
from vmmetrics.metrics.cas import explained
from vmmetrics.metrics.registry import find
from vmmetrics.perception.points import object_tracks
from vmmetrics.perception.scene import Camera, Objects, PointTracks, Poses, Scene
from vmmetrics.scoring.anchors import INDEX, Place, rounded
from vmmetrics.types import Event, MetricResult, PlausibilityResult, Protocol

LEAST_CHARGE = 0.01
"""Loss of score (0..1) from which unsteadiness is shown."""


@dataclass(frozen=True)
class Findings:
    """The results of one clip.

    Attributes:
        title: Name of the clip.
        label: Preset, protocol, and comparability of the scores.
        results: Result by metric.
        errors: Why a metric failed.
        prompt: Text the clip was generated from, or None.
        places: Places of the scores among real footage and uncertainties, by metric.
        no_anchor: Reasons why scores have none, or "".
        index: Overall index, or None.
        index_remark: Factor of the index below 1 and its reason, or None.
    """

    title: str
    label: str
    results: Mapping[str, MetricResult]
    errors: Mapping[str, str] = field(default_factory=dict)
    prompt: str | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    no_anchor: str = ""
    index: float | None = None
    index_remark: str | None = None

    @property
    def scores(self) -> dict[str, str]:
        """Scores by metric, rounded to their uncertainty, the index last with its factor."""
        numbers = {metric: result.score for metric, result in self.results.items()} | {INDEX: self.index}
        widths = {metric: place.half_width for metric, place in self.places.items()}
        shown = {metric: rounded(score, widths.get(metric)) for metric, score in numbers.items() if score is not None}
        if INDEX in shown and self.index_remark:
            shown[INDEX] += f" {self.index_remark.partition(':')[0]}"
        return shown

    @property
    def events(self) -> list[Event]:
        """All events in order of time, those that cost points before those that were excused."""
        events = [event for result in self.results.values() for event in result.events]
        events += _unsteadiness(self.results)
        return sorted(events, key=lambda e: (e.excuse is not None, e.frames[:1], e.metric))

    @property
    def faults(self) -> list[Event]:
        """The events that cost points and belong to frames."""
        return [event for event in self.events if event.excuse is None and event.frames]


def costs_of(metric: str, result: MetricResult, frames: int | None, protocol: str) -> EventCosts:
    """Return the loss of a stored score divided among its events; undivided where the record does not tell enough."""
    if frames is None or protocol not in get_args(Protocol):
        return EventCosts(tuple(None if event.excuse is None else 0.0 for event in result.events), 0.0, 0.0)
    known = find(metric)
    return event_costs(None if known is None else known.division, result, frames, cast("Protocol", protocol))


def _unsteadiness(results: Mapping[str, MetricResult]) -> list[Event]:
    """Return an event for the points lost to unsteadiness over the whole clip, which has no frames of its own."""
    events = []
    for metric, result in results.items():
        known = find(metric)
        if known is None or "unsteadiness" not in result.series:  # the series of protocol vmmetrics alone
            continue
        charged = event_costs(known.division, result, len(result.series["unsteadiness"]), "vmmetrics").unexplained
        if charged >= LEAST_CHARGE:
            events.append(Event(metric, (), "content changes from frame to frame", magnitude=charged))
    return events


@dataclass(frozen=True)
class Perceived:
    """Perception results that the metrics used.

    Attributes:
        objects: Objects with masks, or None.
        tracks: Tracks by object id.
        poses: People, or None.
        camera: Camera motion, or None.
    """

    objects: Objects | None = None
    tracks: Mapping[int, PointTracks] = field(default_factory=dict)
    poses: Poses | None = None
    camera: Camera | None = None

    def scaled(self, scale: tuple[float, float]) -> Perceived:
        """Return this in the pixels of a clip of another size, ``scale`` of them per pixel, x and y."""
        x, y = scale
        objects, poses, camera = self.objects, self.poses, self.camera
        if objects is not None:
            objects = replace(objects, scale=(objects.scale[0] * x, objects.scale[1] * y))
        if poses is not None:
            poses = replace(poses, keypoints=poses.keypoints * scale, boxes=poses.boxes * [x, y, x, y])
        if camera is not None:
            to = np.diag([x, y, 1.0])
            camera = replace(camera, homographies=to @ camera.homographies @ np.linalg.inv(to))
        tracks = {number: replace(points, xy=points.xy * scale) for number, points in self.tracks.items()}
        return Perceived(objects, tracks, poses, camera)


def scaled_result(result: MetricResult, scale: tuple[float, float]) -> MetricResult:
    """Return a result with the boxes of its events in the pixels of a clip of another size."""
    x, y = scale
    boxes = [e.box and (e.box[0] * x, e.box[1] * y, e.box[2] * x, e.box[3] * y) for e in result.events]
    events = (replace(event, box=box) for event, box in zip(result.events, boxes, strict=True))
    return replace(result, events=tuple(events))


def explain(scene: Scene, results: dict[str, MetricResult]) -> dict[str, MetricResult]:
    """Return the results with CAS explained where scoring left that out, because the clip scored well enough."""
    result = results.get("cas")
    if not isinstance(result, PlausibilityResult) or not result.events or result.looks:
        return results
    with suppress(VMMetricsError):
        return {**results, "cas": explained(scene, result)}
    return results


def perceive(scene: Scene, results: Mapping[str, MetricResult]) -> Perceived:
    """Compute the perception results behind the metrics with a score; failed ones are left out.

    Args:
        scene: The clip.
        results: Result by metric.
    """
    scored = [find(key) for key, result in results.items() if result.score is not None]
    needs = {need for metric in scored if metric is not None for need in metric.needs}
    objects, poses, camera = None, None, None
    tracks: Mapping[int, PointTracks] = {}
    if needs & {"objects", "subject"}:
        with suppress(VMMetricsError):
            objects, tracks = scene.objects, object_tracks(scene)
    if "poses" in needs:
        with suppress(VMMetricsError):
            poses = scene.poses
    if "camera" in needs:
        with suppress(VMMetricsError):
            camera = scene.camera
    return Perceived(objects, tracks, poses, camera)
