"""All points of a clip in one pass of the tracker, and the camera from those on the background.

For ``protocol="vmmetrics"`` alone: points attend to each other, so points asked for together go elsewhere, by a little,
than each set by itself would. Which metrics are wanted makes no difference to what is asked together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from vmmetrics.functional.camera_motion import (
    MIN_POINTS_AFFINE,
    MIN_POINTS_HOMOGRAPHY,
    estimate_camera,
    project,
)
from vmmetrics.perception.points import (
    key_moments,
    moving_queries,
    object_queries,
    spread_queries,
    unsteady_objects,
)
from vmmetrics.perception.protocols import Camera, PointTracks
from vmmetrics.perception.scene import Scene
from vmmetrics.perception.vmbench.models import PointTracker
from vmmetrics.types import BoolArray, FloatArray

CAMERA_POINTS = 240
"""On the background, over all key frames: ten times what a homography needs, as much of it may be out of view."""

CLEAR_OF_OBJECTS = 1 / 40
"""Of the map's longer side that background points keep from objects, whose masks end a little early."""

FOLLOWS = 0.004
"""Of the frame's diagonal, 3.5 pixels of 720 x 480: a background point that misses the model by less follows it."""


@dataclass(frozen=True)
class SharedPoints:
    """A :class:`~vmmetrics.perception.protocols.Tracker`.

    Attributes:
        points: Who follows them.
    """

    points: PointTracker

    def track(self, scene: Scene, queries: FloatArray) -> PointTracks:
        """Track ``queries`` (N, 3): frame index, x, y in clip pixels; with all others if it is a set that is known."""
        sets, tracks = scene.once("all points", lambda: self._together(scene))
        start = 0
        for known in sets:
            stop = start + len(known)
            if np.array_equal(known, queries):
                return PointTracks(
                    tracks.xy[:, start:stop], tracks.visible[:, start:stop], tracks.query_frames[start:stop]
                )
            start = stop
        return self.points.points(scene.clip.frames, queries)

    def _together(self, scene: Scene) -> tuple[Sequence[FloatArray], PointTracks]:
        objects = scene.objects
        of_objects = [object_queries(objects, item) for item in unsteady_objects(objects)]
        sets = [background_queries(scene), moving_queries(scene), *of_objects]
        return sets, self.points.points(scene.clip.frames, np.concatenate(sets))


class BackgroundCamera:
    """A :class:`~vmmetrics.perception.protocols.CameraEstimator`: what the points on the background have in common."""

    def estimate(self, scene: Scene) -> Camera:
        """Return the camera motion of every frame pair."""
        tracks = scene.track("background", background_queries(scene))
        homographies, known = estimate_camera(tracks.xy, tracks.visible)
        shared: BoolArray = tracks.visible[:-1] & tracks.visible[1:]
        apart = np.linalg.norm(project(homographies, tracks.xy[:-1]) - tracks.xy[1:], axis=-1)
        follows = apart <= FOLLOWS * np.hypot(scene.clip.width, scene.clip.height)
        count = shared.sum(axis=1)
        inliers = (shared & follows).sum(axis=1) / np.maximum(count, 1)
        kinds = tuple(_kind(int(n)) if k else "unknown" for n, k in zip(count, known, strict=True))
        return Camera(homographies, kinds, inliers)


def background_queries(scene: Scene) -> FloatArray:
    """Return (N, 3) queries off all objects, taken all along the clip."""
    objects = scene.objects
    keys = key_moments(len(scene.clip), scene.clip.fps)
    reach = 1 + 2 * round(max(objects.labels.shape[1:]) * CLEAR_OF_OBJECTS)
    near = [cv2.dilate((objects.labels[key] > 0).astype(np.uint8), np.ones((reach, reach), np.uint8)) for key in keys]
    return spread_queries(np.stack(near) == 0, objects.scale, keys, CAMERA_POINTS)


def _kind(points: int) -> str:
    """What :func:`~vmmetrics.functional.camera_motion.estimate_camera` fits to so many points."""
    if points >= MIN_POINTS_HOMOGRAPHY:
        return "homography"
    return "affine" if points >= MIN_POINTS_AFFINE else "translation"
