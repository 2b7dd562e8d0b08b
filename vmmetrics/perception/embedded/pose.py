"""People and their keypoints, from BlazePose full: :class:`~vmmetrics.perception.protocols.PoseEstimator`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmmetrics.perception.embedded.blazepose import BlazePoseNetworks, Landmarks, Pyramid
from vmmetrics.perception.embedded.pose_sides import exchanged_sides
from vmmetrics.perception.embedded.pose_silhouette import OUTER_LIMBS, silhouettes
from vmmetrics.perception.embedded.pose_tracking import PeopleTracker, SearchSettings, Track, torso
from vmmetrics.perception.protocols import Poses
from vmmetrics.perception.scene import Scene
from vmmetrics.types import FloatArray
from vmmetrics.weights import weight_path

COCO = (0, 2, 5, 7, 8, 11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28)
"""BlazePose landmark of each COCO keypoint: nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles."""
DEFAULT_THREADS = 2
CALIBRATION = (1.24, 2.66)
"""Offset and slope of P(error < 0.1 torso) over the logit of the heatmap peak, fitted by benchmarks/pose_truth.py."""


class BlazePose:
    """BlazePose full on every frame, with people searched in overlapping tiles and followed through the clip.

    Args:
        threads: Threads per network, None for two; the results do not depend on it.
        settings: How hard to look for people.
    """

    def __init__(self, threads: int | None = None, settings: SearchSettings | None = None) -> None:
        self._networks = BlazePoseNetworks(
            weight_path("blazepose-detector"),
            weight_path("blazepose-landmarks-full"),
            DEFAULT_THREADS if threads is None else threads,
        )
        self._settings = settings or SearchSettings()

    def people(self, scene: Scene) -> list[Track]:
        """Return the people of the clip with everything the landmark network says about them."""
        frames = [Pyramid(frame) for frame in scene.clip.frames]
        return PeopleTracker(self._networks, frames, scene.clip.fps, self._settings).run()

    def estimate(self, scene: Scene) -> Poses:
        """Return the people of the clip, the one seen best and longest first."""
        return assemble(self.people(scene), len(scene.clip), (scene.clip.width, scene.clip.height))


def assemble(people: Sequence[Track], num_frames: int, frame_size: tuple[int, int]) -> Poses:
    """Turn tracks into arrays over frames and persons; ``frame_size`` is (width, height)."""
    shape = (num_frames, len(people))
    keypoints = np.full((*shape, len(COCO), 2), np.nan)
    scores = np.zeros((*shape, len(COCO)))
    boxes = np.full((*shape, 4), np.nan)
    outlines = np.full((*shape, len(OUTER_LIMBS), 3), np.nan)
    last = np.array(frame_size) - 1.0
    for person, track in enumerate(people):
        frames = sorted(track.poses)
        found = [track.poses[frame] for frame in frames]
        xy = np.stack([pose.xy[list(COCO)] for pose in found])
        outside = ((xy < 0) | (xy > last)).any(axis=-1)
        score = np.where(outside, 0.0, np.stack([keypoint_scores(pose) for pose in found]))
        size = float(np.median([torso(pose) for pose in found]))
        order = exchanged_sides(xy, score, size)
        keypoints[frames, person] = np.take_along_axis(xy, order[..., None], axis=1)
        scores[frames, person] = np.take_along_axis(score, order, axis=1)
        for frame, pose in zip(frames, found, strict=True):
            outlines[frame, person] = silhouettes(pose, keypoints[frame, person], size)
        corners = np.stack([np.clip(xy.min(axis=1), 0, last), np.clip(xy.max(axis=1), 0, last)], axis=1)
        boxes[frames, person] = corners.reshape(-1, 4)
    return Poses(keypoints, scores, boxes, silhouettes=outlines)


def keypoint_scores(pose: Landmarks) -> FloatArray:
    """(17,) probability that each COCO keypoint is within 0.1 torso lengths of where it should be.

    The height of the heatmap says how exact a landmark is; whether it is seen at all, or guessed from the rest of the
    body, only the network's visibility does.
    """
    index = list(COCO)
    peak = np.clip(pose.peak[index], 1e-3, 1 - 1e-3)
    within = 1 / (1 + np.exp(-(CALIBRATION[0] + CALIBRATION[1] * np.log(peak / (1 - peak)))))
    probability: FloatArray = pose.flag * pose.visibility[index] * within
    return probability
