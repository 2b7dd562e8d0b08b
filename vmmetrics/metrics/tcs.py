"""TCS, temporal coherence: from the objects of a scene and their tracks, or from textured patches without an object."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vmmetrics.functional import ObjectHistory, temporal_coherence_score
from vmmetrics.functional.pas import FOLLOWED_SHARE
from vmmetrics.functional.tcs import LEFT
from vmmetrics.perception import points
from vmmetrics.perception.content import too_small
from vmmetrics.perception.own_motion import own_motion_of
from vmmetrics.perception.scene import Objects, PointTracks, ReleasedFlow, ReleasedObjects, Scene, SceneObject
from vmmetrics.perception.textured_patches import TexturedPatch, textured_patches
from vmmetrics.types import Box, Event, MetricResult, Protocol

LEAST_PATCHES = 4
"""Least number of textured patches, over all query frames, for a score."""


def measure(scene: Scene, protocol: Protocol) -> MetricResult:
    """Score whether the objects of a clip stay, unless there is a reason why they do not.

    Args:
        scene: The clip.
        protocol: ``"vmmetrics"`` (every frame, tracks queried at the first appearance) or ``"vmbench"`` (key frames
            every int(fps) − 1 frames, tracks queried at the chunk's ordinal, as the released code; with the published
            models its whole control flow).

    Returns:
        Score, 1 best; missing for one frame, and under ``"vmmetrics"`` for frames under 32 pixels. Events have the
        object's box in the last frame before a vanishing, or the first of an appearance.
    """
    clip, released = scene.clip, scene.models.released
    if len(clip) == 1:
        return MetricResult(None, "one frame: nothing can vanish or appear")
    if protocol == "vmmetrics" and (why := too_small(clip)) is not None:
        return MetricResult(None, why)
    if protocol == "vmbench" and points.released_step(clip.fps) < 1:
        return MetricResult(None, f"the released code needs 2 frames per second but the clip has {clip.fps:g}")
    if scene.no_subject is not None:
        return MetricResult(None, scene.no_subject)
    if released is not None and protocol == "vmbench":
        return _measure_released(scene, released)
    objects = scene.objects
    if not objects.objects:
        if protocol == "vmmetrics" and released is None:
            return _measure_patches(scene)
        return MetricResult(None, "no object")
    histories = _histories(scene) if protocol == "vmmetrics" else _released_histories(scene)
    result = temporal_coherence_score(
        histories, frame_size=(clip.width, clip.height), num_frames=len(clip), protocol=protocol
    )
    return replace(result, events=tuple(_with_box(event, objects) for event in result.events))


def _histories(scene: Scene) -> list[ObjectHistory]:
    """Return the history of every object in every frame.

    Where an object is absent, its points are invisible: the segmenter has searched for its whole appearance, and a
    point that matches there matches the background. Objects that are always visible need no points.
    """
    items = scene.objects.objects
    tracks = points.object_tracks(scene, points.intermittent_objects(scene.objects))
    frames = np.arange(len(scene.clip))
    no_points = PointTracks.none(len(frames))
    return [
        ObjectHistory(
            present=item.present,
            key_frames=frames,
            tracks=tracks.get(item.id, no_points).xy,
            visibility=tracks.get(item.id, no_points).visible & (item.present | item.occluded)[:, None],
            query_frame=item.first_frame,
            occluded=item.occluded if item.left is None else item.occluded | item.left,
        )
        for item in items
    ]


def _measure_patches(scene: Scene) -> MetricResult:
    """Score the temporal coherence of the textured patches of a scene without a moving object."""
    clip = scene.clip
    if own_motion_of(scene).followed_share().mean() < FOLLOWED_SHARE:
        return MetricResult(None, "no object, and too few points can be tracked between frames")
    patches = textured_patches(scene)
    if len(patches) < LEAST_PATCHES:
        return MetricResult(None, "no object, and too little texture to judge")
    frames = np.arange(len(clip))
    histories = [
        ObjectHistory(p.present, frames, p.xy, p.visible, p.query_frame, p.occluded, certain=True) for p in patches
    ]
    result = temporal_coherence_score(histories, frame_size=(clip.width, clip.height), num_frames=len(clip))
    return replace(result, events=tuple(_on_patch(event, patches, scene.flow.scale) for event in result.events))


def _on_patch(event: Event, patches: list[TexturedPatch], scale: tuple[float, float]) -> Event:
    """Return the event with the box and the name of its patch."""
    index = _object_index(event)
    frame = event.frames[0] - event.reason.startswith("vanish")
    return replace(event, target=f"patch {index + 1}", box=patches[index].box(frame, scale))


def _measure_released(scene: Scene, released: ReleasedFlow) -> MetricResult:
    """Score the identities of the released code's control flow; 1 without an identity, as released."""
    clip = scene.clip
    identities = scene.once("released objects", lambda: released.objects(scene))
    histories = []
    for item in identities.objects:
        tracks = item.tracks or PointTracks.none(len(clip))
        histories.append(ObjectHistory(item.present, identities.key_frames, tracks.xy, tracks.visible, item.ordinal))
    result = temporal_coherence_score(
        histories, frame_size=(clip.width, clip.height), num_frames=len(clip), protocol="vmbench"
    )
    return replace(result, events=tuple(replace(e, box=_released_box(e, identities)) for e in result.events))


def _released_box(event: Event, identities: ReleasedObjects) -> Box | None:
    """Return the box at the key frame of an appearance, or at the last one before a vanishing."""
    item = identities.objects[_object_index(event)]
    key = int(np.searchsorted(identities.key_frames, event.frames[0])) - event.reason.startswith("vanish")
    x0, y0, x1, y1 = item.boxes[key].tolist()
    return None if np.isnan(x0) else (x0, y0, x1, y1)


def _object_index(event: Event) -> int:
    """Return the index of the object that :func:`temporal_coherence_score` names ``"object i"``."""
    return int(str(event.target).rpartition(" ")[2]) - 1


def _released_histories(scene: Scene) -> list[ObjectHistory]:
    """Return the history of every object at the released code's key frames, tracked from their ordinals (Q13)."""
    objects = scene.objects
    frames = points.released_key_frames(len(scene.clip), scene.clip.fps)
    histories = []
    for item in objects.objects:
        present = item.present[frames]
        if not present.any():
            continue  # visible between key frames only: unknown to the released code
        ordinal = int(np.argmax(present))
        seen = objects.labels[frames[ordinal]] == item.id
        queries = points.grid_queries(seen, objects.scale, ordinal)
        tracks = scene.track(f"object:{item.id}:vmbench", queries)
        histories.append(ObjectHistory(present, frames, tracks.xy, tracks.visible, ordinal))
    return histories


def _with_box(event: Event, objects: Objects) -> Event:
    """Return the event with the box of its object, and its excuse as leaving or occlusion by the segmenter."""
    item = objects.objects[_object_index(event)]
    frame = _seen_nearest(item, event.frames[0], before=event.reason.startswith("vanish"))
    gone = event.excuse is not None and item.left is not None and item.left[event.frames[0]]
    return replace(event, box=_box(objects, item, frame), excuse=LEFT if gone else event.excuse)


def _seen_nearest(item: SceneObject, frame: int, *, before: bool) -> int:
    """Return the last frame before ``frame`` in which the object is visible, or the first from it on."""
    seen = np.flatnonzero(item.present)
    position = int(np.searchsorted(seen, frame)) - before
    return int(seen[np.clip(position, 0, len(seen) - 1)])


def _box(objects: Objects, item: SceneObject, frame: int) -> Box | None:
    rows, columns = np.nonzero(objects.labels[frame] == item.id)
    if len(rows) == 0:
        return None
    sx, sy = objects.scale
    x0, x1, y0, y1 = columns.min() * sx, (columns.max() + 1) * sx, rows.min() * sy, (rows.max() + 1) * sy
    return float(x0 - 0.5), float(y0 - 0.5), float(x1 - 0.5), float(y1 - 0.5)
