"""PAS, perceptible amplitude: follows points on everything that moves by itself, against the camera's motion."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from vmmetrics.functional import perceptible_amplitude_score
from vmmetrics.perception.points import grid_queries, object_tracks
from vmmetrics.perception.protocols import PointTracks
from vmmetrics.perception.scene import Scene
from vmmetrics.types import AmplitudeResult, BoolArray, FloatArray, Protocol

PERCEIVED_RATE = 12.0
"""Steps per second that motion is measured in, as near as whole frames allow.

From frame to frame at 30 a second the tracker's jitter, and trembling that no viewer sees, add up; and a clip at half
the frame rate is measured in the same steps.
"""

FEW_VISIBLE = 0.25
"""Share of an object's points below which those left no longer stand for the whole object in sight."""

FEWEST_POINTS = 4
"""Points that even the smallest object counts with; otherwise points are as many as its area has a claim to."""

MAX_EXTRA_QUERIES = 2
"""Times that an object which turned or was hidden is given new points."""

UPSTREAM_GRID = 900
"""The released code's 30 x 30 grid over the frame; what falls inside the mask is kept."""


def measure(scene: Scene, protocol: Protocol) -> AmplitudeResult:
    """Score the perceptible amplitude of a clip.

    Args:
        scene: The clip.
        protocol: ``"vmmetrics"``: points on every object that moves by itself, wherever it is first seen well, and
            again where most of them were lost. ``"vmbench"``: the released code's grid over the objects of the first
            frame and over the rest.
    """
    clip = scene.clip
    size = (float(clip.width), float(clip.height))
    if protocol == "vmbench":
        subject, background = _upstream_tracks(scene)
        return perceptible_amplitude_score(subject.xy, background.xy, size, protocol=protocol)
    if len(clip) == 1:
        return perceptible_amplitude_score(np.zeros((1, 0, 2)), None, size, fps=clip.fps, protocol=protocol)
    tracks, visible = _subject_tracks(scene)
    step = max(1, min(round(clip.fps / PERCEIVED_RATE), len(clip) - 1))
    result = perceptible_amplitude_score(
        tracks[::step],
        None,
        size,
        subject_visibility=visible[::step],
        camera=_camera_over(scene.camera.homographies, step),
        fps=clip.fps / step,
        protocol=protocol,
    )
    return _in_every_frame(result, step, len(clip))


def _camera_over(homographies: FloatArray, step: int) -> FloatArray:
    """Join the camera's motion of every ``step`` frame pairs into one; pairs left over at the end are dropped."""
    joined = [np.eye(3)] * (len(homographies) // step)
    for i, matrix in enumerate(homographies[: len(joined) * step]):
        joined[i // step] = matrix @ joined[i // step]
    return np.stack(joined)


def _in_every_frame(result: AmplitudeResult, step: int, frames: int) -> AmplitudeResult:
    """Bring series and events from every ``step``-th frame to all ``frames``, holding each value over its step."""
    series = {name: np.repeat(values, step)[:frames] for name, values in result.series.items()}
    for name, values in series.items():
        series[name] = np.append(values, np.full(frames - len(values), np.nan))
    events = tuple(replace(e, frames=tuple(range(frames)) if e.frames else ()) for e in result.events)
    return replace(result, series=MappingProxyType(series), events=events)


def _subject_tracks(scene: Scene) -> tuple[FloatArray, BoolArray]:
    """(T, N, 2) and (T, N) of the points of all objects, as dense on one object as on another."""
    frames = len(scene.clip)
    labels = scene.objects.labels
    found: list[tuple[PointTracks, int]] = []
    for item_id, tracks in object_tracks(scene).items():
        for some in (tracks, *_extra_tracks(scene, item_id, tracks)):
            area = int((labels[some.query_frames[0]] == item_id).sum()) if some.query_frames.size else 0
            found.append((some, area))
    density = min((tracks.xy.shape[1] / area for tracks, area in found if area), default=0.0)
    xy: list[FloatArray] = [np.zeros((frames, 0, 2))]
    visible: list[BoolArray] = [np.zeros((frames, 0), np.bool_)]
    for tracks, area in found:
        count = tracks.xy.shape[1]
        kept = min(count, max(FEWEST_POINTS, round(density * area)))
        some_points = np.linspace(0, count - 1, kept).round().astype(int)
        xy.append(tracks.xy[:, some_points])
        visible.append(tracks.visible[:, some_points])
    return np.concatenate(xy, 1), np.concatenate(visible, 1)


def _extra_tracks(scene: Scene, item_id: int, tracks: PointTracks) -> list[PointTracks]:
    """New points for an object where it is in sight and most of its first points are not."""
    objects = scene.objects
    area = (objects.labels == item_id).sum((1, 2))
    share = tracks.visible.mean(1)
    extra: list[PointTracks] = []
    for _ in range(MAX_EXTRA_QUERIES):
        lacking = np.where(share < FEW_VISIBLE, area, 0)
        frame = int(np.argmax(lacking))
        # A sliver at the border of the picture, or of a mask about to end, is not worth new points.
        if lacking[frame] < 0.5 * area.max():
            break
        queries = grid_queries(objects.labels[frame] == item_id, objects.scale, frame, tracks.visible.shape[1])
        extra.append(scene.track(f"object:{item_id}@{frame}", queries))
        share = np.maximum(share, extra[-1].visible.mean(1))
    return extra


def _upstream_tracks(scene: Scene) -> tuple[PointTracks, PointTracks]:
    """Tracks of the released code's grid in the first frame: inside the objects' masks, and outside of them."""
    objects = scene.objects
    mask = objects.labels[0] > 0
    side = int(np.sqrt(UPSTREAM_GRID))
    # CoTracker's regular grid keeps a margin of 1/64 of the width.
    margin = scene.clip.width / 64
    x, y = np.meshgrid(
        np.linspace(margin, scene.clip.width - margin, side), np.linspace(margin, scene.clip.height - margin, side)
    )
    points = np.column_stack([np.zeros(x.size), x.ravel(), y.ravel()])
    columns, rows = ((points[:, 1:] + 0.5) / np.array(objects.scale)).astype(int).T
    inside = mask[np.minimum(rows, mask.shape[0] - 1), np.minimum(columns, mask.shape[1] - 1)]
    return scene.track("vmbench:subject", points[inside]), scene.track("vmbench:background", points[~inside])
