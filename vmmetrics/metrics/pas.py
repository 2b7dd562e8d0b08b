"""PAS, perceptible amplitude: follows points on everything that moves by itself, against the camera's motion."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from vmmetrics.functional import perceptible_amplitude_score
from vmmetrics.functional.pas import project
from vmmetrics.perception.points import KEY_SECONDS, moving_queries
from vmmetrics.perception.scene import PointTracks, Scene
from vmmetrics.types import AmplitudeResult, BoolArray, FloatArray, Protocol

PERCEIVED_RATE = 12.0
"""Steps per second that motion is measured in, as near as whole frames allow.

From frame to frame at 30 a second the tracker's jitter, and trembling that no viewer sees, add up; and a clip at half
the frame rate is measured in the same steps.
"""

BARELY_MOVING = 0.25
"""Share of the usual own speed (each point weighed by its own) below which a point is not on what moves.

Such a point is on the background that the rim of a mask lets in, or on a piece taken for moving that hardly does.
"""

UNKNOWN_SHARE, EXPLAINED_SHARE = 0.5, 0.3
"""Share of frame pairs without a camera motion that explains this much of the background, from which on not to have
found a thing does not mean that nothing moves.

In 20 of 85 clips, mostly generated, nothing was found: in 8, jumbled from frame to frame, cameras explained at most
0.13 of the background (median over pairs), in the others 0.61 to 1.
"""

UPSTREAM_GRID = 900
"""The released code's 30 x 30 grid over the frame; what falls inside the mask is kept."""


def measure(scene: Scene, protocol: Protocol) -> AmplitudeResult:
    """Score the perceptible amplitude of a clip.

    Args:
        scene: The clip.
        protocol: ``"vmmetrics"``: points on everything that moves by itself, taken all along the clip.
            ``"vmbench"``: the released code's grid over the objects of the first frame and over the rest; with the
            published models its whole control flow.
    """
    clip, released = scene.clip, scene.models.released
    size = (float(clip.width), float(clip.height))
    if scene.no_subject is not None:
        return AmplitudeResult(None, scene.no_subject)
    if released is not None and protocol == "vmbench":
        found, rest = scene.once("released amplitude tracks", lambda: released.amplitude_tracks(scene))
        return perceptible_amplitude_score(None if found is None else found.xy, rest.xy, size, protocol=protocol)
    if protocol == "vmbench":
        subject, background = _upstream_tracks(scene)
        return perceptible_amplitude_score(subject.xy, background.xy, size, protocol=protocol)
    if len(clip) == 1:
        return perceptible_amplitude_score(np.zeros((1, 0, 2)), None, size, fps=clip.fps, protocol=protocol)
    if released is not None and not scene.objects.objects:
        return AmplitudeResult(None, "the subject is not found")
    # Everything that moves by itself, taken every KEY_SECONDS and followed through the clip.
    tracks = PointTracks.none(len(clip))
    if scene.objects.objects:
        tracks = scene.track("moving", moving_queries(scene))
    elif _camera_unknown(scene) >= UNKNOWN_SHARE:
        return AmplitudeResult(None, "the picture changes too much from frame to frame to tell what moves by itself")
    step = max(1, min(round(clip.fps / PERCEIVED_RATE), len(clip) - 1))
    camera = _camera_over(scene.camera.homographies, step)
    middle = (np.arange(len(camera)) + 0.5) * step
    near = np.abs(middle[:, None] - tracks.query_frames) <= KEY_SECONDS * clip.fps
    xy, visible = tracks.xy[::step], tracks.visible[::step]
    kept = _on_what_moves(xy, visible, camera, near)
    result = perceptible_amplitude_score(
        xy[:, kept], None, size, subject_visibility=visible[:, kept], camera=camera, fps=clip.fps / step
    )
    return _in_every_frame(result, step, len(clip))


def _camera_unknown(scene: Scene) -> float:
    """Share of the frame pairs in which no motion of the camera explains the picture."""
    camera = scene.camera
    unknown = (np.array(camera.kinds) == "unknown") | (camera.inliers < EXPLAINED_SHARE)
    return float(unknown.mean())


def _camera_over(homographies: FloatArray, step: int) -> FloatArray:
    """Join the camera's motion of every ``step`` frame pairs into one; pairs left over at the end are dropped."""
    joined = [np.eye(3)] * (len(homographies) // step)
    for i, matrix in enumerate(homographies[: len(joined) * step]):
        joined[i // step] = matrix @ joined[i // step]
    return np.stack(joined)


def _in_every_frame(result: AmplitudeResult, step: int, frames: int) -> AmplitudeResult:
    """Bring series and events from every ``step``-th frame to all ``frames``, holding each value over its step."""
    after = np.full(frames, np.nan)
    series = {name: np.append(np.repeat(values, step), after)[:frames] for name, values in result.series.items()}
    events = tuple(replace(e, frames=tuple(range(frames)) if e.frames else ()) for e in result.events)
    return replace(result, series=MappingProxyType(series), events=events)


def _on_what_moves(tracks: FloatArray, visible: BoolArray, camera: FloatArray, near: BoolArray) -> BoolArray:
    """(N,) points that move by themselves in the steps ``near`` (T-1, N) the frame they were taken from."""
    own = np.linalg.norm(tracks[1:] - project(camera, tracks[:-1]), axis=2)
    seen = visible[1:] & visible[:-1] & near
    count = seen.sum(0)
    speed = (own * seen).sum(0) / np.maximum(count, 1)
    usual = np.square(speed).sum() / max(float(speed.sum()), 1e-9)
    kept: BoolArray = (count > 0) & (speed >= BARELY_MOVING * usual)
    return kept if kept.any() else np.ones_like(kept)


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
