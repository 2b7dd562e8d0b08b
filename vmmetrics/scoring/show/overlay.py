"""Overlays: outlines, tracks, skeletons and camera motion of a clip, small enough to store for every clip.

Written by ``score``, read by ``show`` and by pages that draw over a playing clip. One gzipped JSON
object per clip (docs/run-directory.md has the fields). Numbers are whole: label map pixels in outlines, quarters of a
clip pixel elsewhere, hundredths in scores. Points of an outline, and the positions of a track from frame to frame, are
written as differences, which compress to a third.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError, cannot
from vmmetrics.perception.scene import Camera, Objects, PointTracks, Poses, SceneObject
from vmmetrics.scoring.pictures import overlay_path, packed, unpacked
from vmmetrics.scoring.show.findings import Perceived
from vmmetrics.types import BoolArray, FloatArray, IntArray
from vmmetrics.utils.schema import convert
from vmmetrics.utils.storage.opening import read_regular

FORMAT = 1
TRACKS_PER_OBJECT = 36
"""Tracks kept of each object, evenly chosen: as many as a picture shows."""
MOST_OBJECTS = 255
"""Largest id: those of a label map."""
_UNIT = 0.25  # clip pixels, of places of points
_SHARE = 100  # of scores
_MOST_FRAMES, _MOST_SIDE = 100_000, 16_384


def encode_overlay(clip: Clip, perceived: Perceived) -> bytes:
    """Return the bytes of an overlay; the same bytes for the same input.

    Args:
        clip: The clip.
        perceived: Perception results.
    """
    return packed(overlay_of(clip, perceived))


def overlay_of(clip: Clip, perceived: Perceived) -> dict[str, Any]:
    """Return an overlay as JSON types."""
    overlay: dict[str, Any] = {"format": FORMAT, "frames": len(clip), "size": [clip.width, clip.height]}
    if (objects := perceived.objects) is not None:
        overlay["map"] = [objects.labels.shape[2], objects.labels.shape[1]]
        overlay["scale"] = list(objects.scale)
        overlay["objects"] = [_object(objects, item) for item in objects.objects]
        overlay["tracks"] = [_tracks(number, tracks) for number, tracks in sorted(perceived.tracks.items())]
    if perceived.poses is not None:
        overlay["people"] = [_person(perceived.poses, person) for person in range(perceived.poses.keypoints.shape[1])]
    if perceived.camera is not None:
        homographies = perceived.camera.homographies.reshape(-1, 9).tolist()
        overlay["camera"] = {
            "kinds": list(perceived.camera.kinds),
            "homographies": [[float(f"{value:.6g}") for value in row] for row in homographies],
            "inliers": np.round(perceived.camera.inliers, 3).tolist(),
        }
    return overlay


def _object(objects: Objects, item: SceneObject) -> dict[str, Any]:
    described = {"id": item.id, "label": item.label, "present": _marks(item.present), "occluded": _marks(item.occluded)}
    outlines = []
    for labels in objects.labels:  # rings around its mask and the holes in it
        mask = (labels == item.id).astype(np.uint8)
        rings, _ = cv2.findContours(mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
        outlines.append([_differences(ring[:, 0].astype(np.int64)).ravel().tolist() for ring in rings])
    return {**described, "left": None if item.left is None else _marks(item.left), "outlines": outlines}


def _tracks(number: int, tracks: PointTracks) -> dict[str, Any]:
    count = tracks.xy.shape[1]
    chosen = np.linspace(0, count - 1, min(TRACKS_PER_OBJECT, count)).astype(int)
    points = np.rint(tracks.xy[:, chosen] / _UNIT).astype(np.int64)
    return {
        "object": number,
        "query_frames": tracks.query_frames[chosen].tolist(),
        "visible": [_marks(tracks.visible[:, point]) for point in chosen],
        "xy": [_differences(points[:, column]).ravel().tolist() for column in range(len(chosen))],
    }


def _person(poses: Poses, person: int) -> dict[str, Any]:
    """Return a person: per frame 34 coordinates, 17 scores and the box, or null where it is absent."""
    visible = np.isfinite(poses.boxes[:, person, 0])
    joints = np.rint(np.nan_to_num(poses.keypoints[:, person]) / _UNIT).astype(np.int64).reshape(len(visible), -1)
    scores = np.rint(np.nan_to_num(poses.scores[:, person]) * _SHARE).astype(np.int64)
    boxes = np.rint(np.nan_to_num(poses.boxes[:, person]) / _UNIT).astype(np.int64)
    rows = zip(visible, joints.tolist(), scores.tolist(), boxes.tolist(), strict=True)
    return {"frames": [[*joint, *score, *box] if seen else None for seen, joint, score, box in rows]}


def _differences(points: IntArray) -> IntArray:
    """Return (N, 2) points as the first and the steps from each to the next."""
    return np.diff(points, axis=0, prepend=np.zeros((1, 2), np.int64))


def _marks(of_frames: BoolArray) -> str:
    """Return a letter a frame, 1 or 0."""
    return "".join("1" if mark else "0" for mark in of_frames)


# Reading.


@dataclass(frozen=True, slots=True)
class _Object:
    id: int
    label: str
    present: str
    occluded: str
    left: str | None
    outlines: tuple[tuple[tuple[int, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class _Tracks:
    object: int
    query_frames: tuple[int, ...]
    visible: tuple[str, ...]
    xy: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _Person:
    frames: tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class _Camera:
    kinds: tuple[str, ...]
    homographies: tuple[tuple[float, ...], ...]
    inliers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Overlay:
    format: int
    frames: int
    size: tuple[int, int]
    map: tuple[int, int] | None = None
    scale: tuple[float, float] | None = None
    objects: tuple[_Object, ...] = ()
    tracks: tuple[_Tracks, ...] = ()
    people: tuple[_Person, ...] | None = None
    camera: _Camera | None = None


def read_overlay(run: Path, sha256: str) -> Perceived | None:
    """Return the stored overlay of the clip with this hash, or None.

    Masks are those kept, tracks up to :data:`TRACKS_PER_OBJECT` of each object; ``moving`` and ``silhouettes`` are
    not kept.

    Raises:
        SetupError: The file is damaged, of a later version or unreadable.
    """
    path = overlay_path(run, sha256)
    try:
        data = read_regular(path) if path.is_file() else None
    except OSError as error:
        raise cannot("read", path, error) from error
    if not data:  # empty: truncated by a crash
        return None
    try:
        return decode_overlay(data)
    except ValueError as error:
        raise SetupError(f"{path} is damaged: {error}; delete it to have it drawn again") from error


def decode_overlay(data: bytes) -> Perceived:
    """Return the perception results that :func:`encode_overlay` encoded.

    Raises:
        ValueError: It is not an overlay of this version.
    """
    overlay = convert(_Overlay, unpacked(data))
    if overlay.format != FORMAT:
        raise ValueError(f"format {overlay.format}, expected {FORMAT}")
    if not 0 < overlay.frames <= _MOST_FRAMES:
        raise ValueError(f"expected 1 to {_MOST_FRAMES} frames but got {overlay.frames}")
    objects = None if overlay.map is None else _read_objects(overlay, overlay.map)
    tracks = {tracks.object: _read_tracks(tracks, overlay.frames) for tracks in overlay.tracks}
    poses = None if overlay.people is None else _read_poses(overlay.people, overlay.frames)
    return Perceived(objects, tracks, poses, None if overlay.camera is None else _read_camera(overlay.camera))


def _read_objects(overlay: _Overlay, size: tuple[int, int]) -> Objects:
    if not all(0 < side <= _MOST_SIDE for side in size) or overlay.frames * size[0] * size[1] > 2**32:
        raise ValueError(f"map: expected a size but got {size[0]} x {size[1]}")
    labels = np.zeros((overlay.frames, size[1], size[0]), np.uint8)
    items = []
    for item in overlay.objects:
        if not 0 < item.id <= MOST_OBJECTS or len(item.outlines) != overlay.frames:
            raise ValueError(f"objects: expected an id and outlines of {overlay.frames} frames")
        left = None if item.left is None else _read_marks(item.left, overlay.frames)
        seen, hidden = _read_marks(item.present, overlay.frames), _read_marks(item.occluded, overlay.frames)
        items.append(SceneObject(item.id, item.label, seen, hidden, left))
        for frame, rings in enumerate(item.outlines):
            if rings:  # their own pixels are filled, too
                cv2.fillPoly(labels[frame], [_points(ring, np.int64(1)).astype(np.int32) for ring in rings], item.id)
    return Objects(labels, tuple(items), overlay.scale or (1.0, 1.0))


def _points(differences: Sequence[int], unit: Any) -> FloatArray:
    """Return (N, 2) points in pixels."""
    if len(differences) % 2:
        raise ValueError("expected pairs of x and y")
    steps = np.asarray(differences, np.int64).reshape(-1, 2)
    return np.asarray(np.clip(np.cumsum(steps, axis=0), -(2**24), 2**24) * unit)


def _read_tracks(tracks: _Tracks, frames: int) -> PointTracks:
    if not len(tracks.query_frames) == len(tracks.visible) == len(tracks.xy):
        raise ValueError("tracks: expected query_frames, visible and xy of as many points")
    if not tracks.xy:
        return PointTracks.none(frames)
    points = [_points(xy, _UNIT) for xy in tracks.xy]
    if any(len(xy) != frames for xy in points):
        raise ValueError(f"tracks: expected positions in {frames} frames")
    visible = np.stack([_read_marks(marks, frames) for marks in tracks.visible], axis=1)
    return PointTracks(np.stack(points, axis=1), visible, np.asarray(tracks.query_frames, np.int64))


def _read_poses(people: Sequence[_Person], frames: int) -> Poses:
    keypoints, scores = np.full((frames, len(people), 17, 2), np.nan), np.zeros((frames, len(people), 17))
    boxes = np.full((frames, len(people), 4), np.nan)
    for index, person in enumerate(people):
        if len(person.frames) != frames:
            raise ValueError(f"people: expected {frames} frames but got {len(person.frames)}")
        for frame, row in enumerate(person.frames):
            if row is None:
                continue
            if len(row) != 34 + 17 + 4:
                raise ValueError(f"people: expected 55 numbers a frame but got {len(row)}")
            keypoints[frame, index] = np.reshape(row[:34], (17, 2)) * _UNIT
            scores[frame, index] = np.clip(np.asarray(row[34:51]) / _SHARE, 0, 1)
            boxes[frame, index] = np.asarray(row[51:]) * _UNIT
    return Poses(keypoints, scores, boxes)


def _read_camera(camera: _Camera) -> Camera:
    if not len(camera.kinds) == len(camera.homographies) == len(camera.inliers):
        raise ValueError("camera: expected as many kinds, homographies and inliers")
    if any(len(row) != 9 for row in camera.homographies):
        raise ValueError("camera: expected 9 numbers a homography")
    homographies = np.asarray(camera.homographies, np.float64).reshape(-1, 3, 3)
    return Camera(homographies, camera.kinds, np.asarray(camera.inliers, np.float64))


def _read_marks(marks: str, frames: int) -> BoolArray:
    if len(marks) != frames or not set(marks) <= {"0", "1"}:
        raise ValueError(f"expected {frames} letters 0 and 1")
    return np.array([mark == "1" for mark in marks], np.bool_)
