"""People and their keypoints, from BlazePose full: :class:`~vmmetrics.perception.scene.PoseEstimator`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmmetrics.functional.limbs import exchanged
from vmmetrics.perception.embedded.pose.blazepose import BlazePoseNetworks, Landmarks, Pyramid
from vmmetrics.perception.embedded.pose.tracking import PeopleTracker, PersonTrack, torso
from vmmetrics.perception.scene import Poses, Scene
from vmmetrics.types import BoolArray, FloatArray, IntArray
from vmmetrics.utils.weights.manifest import weight_path

# Left-right consistency over time: the landmark network confuses the sides in single frames.


GROUPS = ((1, 2), (3, 4)), ((5, 6), (11, 12)), ((7, 8), (9, 10)), ((13, 14), (15, 16))
"""Pairs of COCO keypoints that are exchanged together: face, trunk, arms, legs."""
FREE = 0.15
"""Movement of a keypoint between frames, torso lengths, without a cost."""
FLIPPED = 0.01
"""Cost of a frame with exchanged sides, torso lengths of movement beyond :data:`FREE`."""


def exchanged_sides(keypoints: FloatArray, scores: FloatArray, torso: float) -> IntArray:
    """Return for each frame the order of the keypoints under which left stays left over time.

    Per group, dynamic programming over two states (as detected, exchanged): the least sum of score-weighted movement
    beyond :data:`FREE`.

    Args:
        keypoints: (N, 17, 2) pixels, in the frames in which the person is visible.
        scores: (N, 17) in 0..1.
        torso: Torso length in pixels.

    Returns:
        (N, 17) int, index into the keypoints of each frame.
    """
    order = np.tile(np.arange(keypoints.shape[1]), (len(keypoints), 1))
    for pairs in GROUPS:
        joints = [joint for pair in pairs for joint in pair]
        swapped = [joint for pair in pairs for joint in reversed(pair)]
        points = np.stack([keypoints[:, joints], keypoints[:, swapped]], axis=1) / torso
        weights = np.stack([scores[:, joints], scores[:, swapped]], axis=1)
        moved = np.linalg.norm(points[1:, None] - points[:-1, :, None], axis=-1)
        trust = np.minimum(weights[1:, None], weights[:-1, :, None])
        leap = (np.maximum(moved - FREE, 0) * trust).sum(axis=-1)  # (N-1, from, to)
        order[:, joints] = np.where(exchanged(leap, FLIPPED)[:, None], swapped, joints)
    return order


# Silhouettes of forearms and calves from the person mask, since the landmark network always returns a regular body.

OUTER_LIMBS = ((5, 7, 9), (6, 8, 10), (11, 13, 15), (12, 14, 16))
"""COCO keypoints (root, joint, end) of the left and right arm, left and right leg; the outer limb is joint to end."""
TRUNK = (5, 6, 12, 11)
"""COCO keypoints of the trunk, around its outline."""
STEP = 0.025
FARTHEST = 2.0
"""Step and length of the sampled rays, torso lengths: a forearm with hand doubled reaches 1.6."""
RAY_GAP, FAN_GAP = 4, 2
"""Largest gap, samples, within a silhouette along the bone, and along other directions."""
BACKWARDS = np.deg2rad(50)
"""Angle to the limb's root, radians, below which a direction leads into the body."""
NEAR = 0.12
"""Distance, torso lengths, within which a silhouette may be the trunk's or another limb's; half a limb's width."""
COVERED = 0.5
"""Least mask probability of a point on the person."""


def silhouettes(pose: Landmarks, keypoints: FloatArray, torso: float) -> FloatArray:
    """Measure the silhouette of the four outer limbs.

    Args:
        pose: Landmarks of the person, with the mask.
        keypoints: (17, 2) pixels, left and right consistent over time.
        torso: Torso length in pixels.

    Returns:
        (4, 3): pixels from the joint along the bone to the end of the mask, NaN where the mask past the bone's end may
        be the trunk's or another limb's; the longest such distance in any direction away from the body; share of the
        bone that lies on the mask.
    """
    roots, joints, ends = np.array(OUTER_LIMBS).T
    start, bones = keypoints[joints], keypoints[ends] - keypoints[joints]
    lengths = np.maximum(np.hypot(bones[:, 0], bones[:, 1]), 1e-6)
    steps = np.arange(STEP, FARTHEST, STEP) * torso
    rays = start[:, None] + (bones / lengths[:, None])[:, None] * steps[:, None]
    along = _extents(_lies_on(pose, rays), RAY_GAP) * STEP * torso
    out = np.full((len(OUTER_LIMBS), 3), np.nan)
    for limb, ray in enumerate(rays):
        beyond = ray[(steps > 1.1 * lengths[limb]) & (steps <= along[limb])]
        if not _near_body(beyond, keypoints, limb, NEAR * torso):
            out[limb, 0] = along[limb]
    out[:, 1] = _farthest(pose, start, keypoints[roots] - start, steps) * STEP * torso
    out[:, 2] = _lies_on(pose, start[:, None] + bones[:, None] * np.linspace(0.2, 1, 9)[:, None]).mean(axis=1)
    return out


def _lies_on(pose: Landmarks, points: FloatArray) -> BoolArray:
    """Return whether ``points`` (..., 2) pixels lie on the person's mask."""
    return np.asarray(pose.covered(points.reshape(-1, 2)).reshape(points.shape[:-1]) > COVERED)


def _farthest(pose: Landmarks, start: FloatArray, backwards: FloatArray, steps: FloatArray) -> IntArray:
    """Return per limb the number of ``steps`` from ``start`` (L, 2) to where the mask ends, away from ``backwards``."""
    angles = np.deg2rad(np.arange(0, 360, 10))
    turn = angles - np.arctan2(backwards[:, 1], backwards[:, 0])[:, None]
    outwards = np.abs((turn + np.pi) % (2 * np.pi) - np.pi) > BACKWARDS
    rays = np.stack([np.cos(angles), np.sin(angles)], axis=-1)[:, None] * steps[:, None]
    extents = np.zeros(outwards.shape, np.int64)
    extents[outwards] = _extents(_lies_on(pose, (start[:, None, None] + rays)[outwards]), FAN_GAP)
    return np.asarray(extents.max(axis=1))


def _extents(covered: BoolArray, gap: int) -> IntArray:
    """Return per row of ``covered`` (N, S) how many samples lie before more than ``gap`` that are not."""
    index = np.arange(covered.shape[1])
    last = np.maximum.accumulate(np.where(covered, index, -1), axis=1)
    ended = index - last > gap
    end = np.where(ended.any(axis=1), ended.argmax(axis=1), -1)
    return np.asarray(last[np.arange(len(last)), end] + 1)


def _near_body(points: FloatArray, keypoints: FloatArray, limb: int, distance: float) -> bool:
    """Return whether any of ``points`` lies in the trunk or within ``distance`` of its edges and the other limbs."""
    if len(points) == 0:
        return False
    corners = keypoints[list(TRUNK)]
    after = np.roll(corners, -1, axis=0)
    edges, offsets = after - corners, points[:, None] - corners
    turns = edges[:, 0] * offsets[..., 1] - edges[:, 1] * offsets[..., 0]
    if ((turns > 0).all(axis=1) | (turns < 0).all(axis=1)).any():
        return True
    others = np.array([joints for other, joints in enumerate(OUTER_LIMBS) if other != limb])
    a = np.concatenate([corners, keypoints[others[:, 0]], keypoints[others[:, 1]]])
    b = np.concatenate([after, keypoints[others[:, 1]], keypoints[others[:, 2]]])
    return bool(_distances(points, a, b).min() < distance)


def _distances(points: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return (N, B) distances of ``points`` (N, 2) from the segments ``a`` to ``b``, each (B, 2)."""
    way, offsets = b - a, points[:, None] - a
    along = np.clip((offsets * way).sum(-1) / np.maximum(np.square(way).sum(-1), 1e-12), 0, 1)
    apart = offsets - along[..., None] * way
    return np.asarray(np.hypot(apart[..., 0], apart[..., 1]))


COCO = (0, 2, 5, 7, 8, 11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28)
"""BlazePose landmark of each COCO keypoint: nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles."""
CALIBRATION = (1.24, 2.66)
"""Offset and slope of P(error < 0.1 torso) over the logit of the heatmap peak, fitted by benchmarks/pose_truth.py."""


class BlazePose:
    """BlazePose full on every frame, with people detected in overlapping tiles and tracked through the clip.

    Args:
        threads: Threads to use, None for two; the results do not depend on it. A network gets half of them, as other
            abilities run at the same time.
    """

    def __init__(self, threads: int | None = None) -> None:
        detector, landmarks = weight_path("blazepose-detector"), weight_path("blazepose-landmarks-full")
        self._networks = BlazePoseNetworks(detector, landmarks, max(1, (threads or 2) // 2))

    def people(self, scene: Scene) -> list[PersonTrack]:
        """Return the people of the clip with all outputs of the landmark network."""
        frames = [Pyramid(frame) for frame in scene.clip.frames]
        return PeopleTracker(self._networks, frames, scene.clip.fps).run()

    def estimate(self, scene: Scene) -> Poses:
        """Return the people of the clip, by descending quality times duration."""
        return assemble(self.people(scene), len(scene.clip), (scene.clip.width, scene.clip.height))


def assemble(people: Sequence[PersonTrack], num_frames: int, frame_size: tuple[int, int]) -> Poses:
    """Turn tracks into arrays over frames and persons; ``frame_size`` is (width, height)."""
    shape = (num_frames, len(people))
    keypoints = np.full((*shape, len(COCO), 2), np.nan)
    scores = np.zeros((*shape, len(COCO)))
    boxes = np.full((*shape, 4), np.nan)
    outlines = np.full((*shape, len(OUTER_LIMBS), 3), np.nan)
    last = np.array(frame_size) - 1.0
    for person, track in enumerate(people):
        frames = sorted(track.poses)
        poses = [track.poses[frame] for frame in frames]
        xy = np.stack([pose.xy[list(COCO)] for pose in poses])
        outside = ((xy < 0) | (xy > last)).any(axis=-1)
        score = np.where(outside, 0.0, np.stack([keypoint_scores(pose) for pose in poses]))
        size = float(np.median([torso(pose) for pose in poses]))
        order = exchanged_sides(xy, score, size)
        keypoints[frames, person] = np.take_along_axis(xy, order[..., None], axis=1)
        scores[frames, person] = np.take_along_axis(score, order, axis=1)
        for frame, pose in zip(frames, poses, strict=True):
            outlines[frame, person] = silhouettes(pose, keypoints[frame, person], size)
        corners = np.stack([np.clip(xy.min(axis=1), 0, last), np.clip(xy.max(axis=1), 0, last)], axis=1)
        boxes[frames, person] = corners.reshape(-1, 4)
    return Poses(keypoints, scores, boxes, silhouettes=outlines)


def keypoint_scores(pose: Landmarks) -> FloatArray:
    """Return (17,), the probability that each COCO keypoint is within 0.1 torso lengths of its true position.

    The peak of the heatmap measures a landmark's accuracy; only the network's visibility tells whether it is seen or
    inferred from the rest of the body.
    """
    index = list(COCO)
    peak = np.clip(pose.peak[index], 1e-3, 1 - 1e-3)
    within = 1 / (1 + np.exp(-(CALIBRATION[0] + CALIBRATION[1] * np.log(peak / (1 - peak)))))
    return np.asarray(pose.flag * pose.visibility[index] * within)
