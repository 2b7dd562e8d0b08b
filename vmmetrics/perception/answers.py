"""What the abilities of a scene hand back: flow, camera, objects, tracks, poses.

All coordinates are pixels of ``scene.clip.frames``, x right and y down, pixel centres at integers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vmmetrics.types import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class Flow:
    """Dense motion between consecutive frames, at a working resolution.

    Attributes:
        images: (T, h, w) uint8 grey frames at the working resolution.
        forward: (T-1, h, w, 2) float32, working pixels: where a pixel of frame t is in frame t+1, minus itself.
        backward: (T-1, h, w, 2) float32, working pixels: where a pixel of frame t+1 was in frame t, minus itself.
        forward_valid: (T-1, h, w) bool, forward and backward agree there (not occluded, not lost).
        backward_valid: (T-1, h, w) bool, likewise for ``backward``.
        scale: (sx, sy): clip pixels per working pixel. Working x corresponds to clip x = (x + 0.5) * sx - 0.5.
    """

    images: NDArray[np.uint8]
    forward: FloatArray
    backward: FloatArray
    forward_valid: BoolArray
    backward_valid: BoolArray
    scale: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Camera:
    """Global motion per frame pair.

    Attributes:
        homographies: (T-1, 3, 3) float64, clip pixels of frame t to clip pixels of frame t+1.
        kinds: T-1 of ``"homography"``, ``"affine"``, ``"translation"``, ``"still"`` or ``"unknown"`` (identity; no
            model could be trusted, a cut for example).
        inliers: (T-1,) float64, share of the background that follows the model.
    """

    homographies: FloatArray
    kinds: tuple[str, ...]
    inliers: FloatArray


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One object with an identity over the clip.

    Attributes:
        id: 1-based, its value in :attr:`Objects.labels`.
        label: What it is as far as known (``"person"``, ``"object"``, a detector's phrase).
        present: (T,) bool, seen in that frame.
        occluded: (T,) bool, not seen but explained: hidden behind something.
        left: (T,) bool, not seen but explained: out of the frame; None where the segmenter does not say.
    """

    id: int
    label: str
    present: BoolArray
    occluded: BoolArray
    left: BoolArray | None = None

    @property
    def first_frame(self) -> int:
        """Index of the first frame in which the object is seen."""
        return int(np.argmax(self.present))


@dataclass(frozen=True, slots=True)
class Objects:
    """The moving objects (or detected subjects) of a clip.

    Attributes:
        labels: (T, h, w) uint8 map at a working resolution: 0 background, else the object's id.
        objects: One entry per id.
        scale: (sx, sy) clip pixels per map pixel, as in :class:`Flow`.
        moving: (T, h, w) bool, what moves by itself in that very frame, part of an object or not; None where the model
            does not say.
    """

    labels: NDArray[np.uint8]
    objects: tuple[SceneObject, ...]
    scale: tuple[float, float]
    moving: BoolArray | None = None


@dataclass(frozen=True, slots=True)
class PointTracks:
    """Points followed through a clip.

    Attributes:
        xy: (T, N, 2) float64 clip pixels; an estimate also where invisible.
        visible: (T, N) bool.
        query_frames: (N,) int, the frame each point was given in.
    """

    xy: FloatArray
    visible: BoolArray
    query_frames: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Poses:
    """People with stable identity. P may be 0.

    Attributes:
        keypoints: (T, P, 17, 2) float64 clip pixels in COCO order, NaN where the person is absent.
        scores: (T, P, 17) float64 in 0..1, probability that the keypoint is within 0.1 torso lengths; 0 where absent.
        boxes: (T, P, 4) float64 x0, y0, x1, y1, NaN where absent.
        notes: What the user should know of how they were found.
        silhouettes: (T, P, 4, 3) float64, NaN where not known, or None where the model has no masks: for left and
            right forearm, left and right calf, the clip pixels from elbow or knee along the bone to where the person's
            silhouette ends, the farthest it goes from there in any direction away from the body, and the share of
            the bone that lies on it.
    """

    keypoints: FloatArray
    scores: FloatArray
    boxes: FloatArray
    notes: tuple[str, ...] = field(default=())
    silhouettes: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class ReleasedObject:
    """One identity as the released TCS keeps it: looked for at key frames alone.

    Attributes:
        present: (C,) bool, among the masks that a key frame's chunk starts with.
        boxes: (C, 4) float64 clip pixels x0, y0, x1, y1 of those masks, NaN where there is none or it is empty.
        ordinal: The first key frame in which it is present, as a place in the list of key frames.
        tracks: Its points, taken in the *frame* of that number (Q13); None where it never comes or goes.
    """

    present: BoolArray
    boxes: FloatArray
    ordinal: int
    tracks: PointTracks | None


@dataclass(frozen=True, slots=True)
class ReleasedObjects:
    """Every identity that the released TCS gave out.

    Attributes:
        key_frames: (C,) int64 frame indices.
        objects: One entry per identity.
    """

    key_frames: NDArray[np.int64]
    objects: tuple[ReleasedObject, ...]
