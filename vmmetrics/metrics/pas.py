"""PAS, perceptible amplitude: from point tracks on all moving regions, relative to the camera's motion.

Without a segmented object the motion is spread over the frame, and its dense flow is measured instead.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from vmmetrics.functional import perceptible_amplitude_score
from vmmetrics.functional.pas import frame_amplitude_score, project
from vmmetrics.perception.own_motion import own_motion_of, perceived_step
from vmmetrics.perception.points import KEY_SECONDS, moving_queries
from vmmetrics.perception.scene import PointTracks, Scene
from vmmetrics.types import AmplitudeResult, BoolArray, FloatArray, Protocol

BARELY_MOVING = 0.25
"""Least speed of a point, as a share of the speed-weighted mean, for it to lie on a moving object.

Slower points lie on background within the rim of a mask, or on a region falsely segmented as moving.
"""

UPSTREAM_GRID = 900
"""Points of the released code's 30 x 30 grid over the frame."""


def measure(scene: Scene, protocol: Protocol) -> AmplitudeResult:
    """Score the perceptible amplitude of a clip.

    Args:
        scene: The clip.
        protocol: ``"vmmetrics"``: points on all moving regions, queried throughout the clip; without an object the
            motion of the frame that the camera does not explain.
            ``"vmbench"``: the released code's grid over the objects of the first frame and over the rest; with the
            published models its whole control flow.

    Returns:
        Score and amplitude, as of :func:`~vmmetrics.functional.perceptible_amplitude_score`.
    """
    clip, released = scene.clip, scene.models.released
    size = (float(clip.width), float(clip.height))
    if scene.no_subject is not None:
        return AmplitudeResult(None, scene.no_subject)
    if released is not None and protocol == "vmbench":
        on_subject, rest = scene.once("released amplitude tracks", lambda: released.amplitude_tracks(scene))
        return perceptible_amplitude_score(
            None if on_subject is None else on_subject.xy, rest.xy, size, protocol=protocol
        )
    if protocol == "vmbench":
        subject, background = _upstream_tracks(scene)
        return perceptible_amplitude_score(subject.xy, background.xy, size, protocol=protocol)
    if len(clip) == 1:
        return perceptible_amplitude_score(np.zeros((1, 0, 2)), None, size, fps=clip.fps, protocol=protocol)
    if released is not None and not scene.objects.objects:
        return AmplitudeResult(None, "the subject is not detected")
    step = perceived_step(clip)
    if not scene.objects.objects:
        motion = own_motion_of(scene)
        result = frame_amplitude_score(motion.length, motion.lost, motion.camera, size, fps=clip.fps / step)
        return _in_every_frame(result, step, len(clip))
    # All independently moving regions, queried every KEY_SECONDS and tracked through the clip.
    tracks = scene.track("moving", moving_queries(scene))
    starts = range(0, len(clip) - step, step)
    camera = np.stack([scene.camera.between(start, start + step) for start in starts])
    middle = (np.arange(len(camera)) + 0.5) * step
    near = np.abs(middle[:, None] - tracks.query_frames) <= KEY_SECONDS * clip.fps
    xy, visible = tracks.xy[::step], tracks.visible[::step]
    moving = _moving_points(xy, visible, camera, near)
    result = perceptible_amplitude_score(
        xy[:, moving], None, size, subject_visibility=visible[:, moving], camera=camera, fps=clip.fps / step
    )
    return _in_every_frame(result, step, len(clip))


def _in_every_frame(result: AmplitudeResult, step: int, frames: int) -> AmplitudeResult:
    """Expand series and events from every ``step``-th frame to all ``frames``, each value repeated over its step."""
    after = np.full(frames, np.nan)
    series = {name: np.append(np.repeat(values, step), after)[:frames] for name, values in result.series.items()}
    events = tuple(replace(e, frames=tuple(range(frames)) if e.frames else ()) for e in result.events)
    return replace(result, series=MappingProxyType(series), events=events)


def _moving_points(tracks: FloatArray, visible: BoolArray, camera: FloatArray, near: BoolArray) -> BoolArray:
    """Return (N,) bool, the points that move relative to the camera in the steps ``near`` (T-1, N) their query."""
    own = np.linalg.norm(tracks[1:] - project(camera, tracks[:-1]), axis=2)
    seen = visible[1:] & visible[:-1] & near
    count = seen.sum(0)
    speed = (own * seen).sum(0) / np.maximum(count, 1)
    usual = np.square(speed).sum() / max(float(speed.sum()), 1e-9)
    moving: BoolArray = (count > 0) & (speed >= BARELY_MOVING * usual)
    return moving if moving.any() else np.ones_like(moving)


def _upstream_tracks(scene: Scene) -> tuple[PointTracks, PointTracks]:
    """Return the tracks of the released code's grid in the first frame, inside and outside the objects' masks."""
    objects = scene.objects
    mask = objects.labels[0] > 0
    side = int(np.sqrt(UPSTREAM_GRID))
    # CoTracker's regular grid has a margin of 1/64 of the width.
    margin = scene.clip.width / 64
    x, y = np.meshgrid(
        np.linspace(margin, scene.clip.width - margin, side), np.linspace(margin, scene.clip.height - margin, side)
    )
    points = np.column_stack([np.zeros(x.size), x.ravel(), y.ravel()])
    columns, rows = ((points[:, 1:] + 0.5) / np.array(objects.scale)).astype(int).T
    inside = mask[np.minimum(rows, mask.shape[0] - 1), np.minimum(columns, mask.shape[1] - 1)]
    return scene.track("vmbench:subject", points[inside]), scene.track("vmbench:background", points[~inside])
