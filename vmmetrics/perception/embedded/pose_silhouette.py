"""What the person mask says about forearms and calves, where the landmark network only shows a regular body."""

from __future__ import annotations

import numpy as np

from vmmetrics.perception.embedded.blazepose import Landmarks
from vmmetrics.types import BoolArray, FloatArray

OUTER_LIMBS = ((5, 7, 9), (6, 8, 10), (11, 13, 15), (12, 14, 16))
"""COCO keypoints (root, joint, end) of the left and right arm, left and right leg; the outer limb is joint to end."""
TRUNK = (5, 6, 12, 11)
STEP = 0.025
FARTHEST = 2.0
"""Rays are sampled in steps of, and up to, these torso lengths: a forearm with hand doubled reaches 1.6."""
RAY_GAP, FAN_GAP = 4, 2
"""Samples that may miss the mask along the bone, and along other directions, before the silhouette has ended."""
BACKWARDS = np.deg2rad(50)
"""Directions closer than this to the limb's root lead into the body, not along a limb."""
NEAR = 0.12
"""Torso lengths from the trunk or another bone within which a silhouette may be theirs; half a limb's width."""
COVERED = 0.5


def silhouettes(pose: Landmarks, keypoints: FloatArray, torso: float) -> FloatArray:
    """Measure the silhouette of the four outer limbs.

    Args:
        pose: The person, with its mask.
        keypoints: (17, 2) pixels, left and right as decided over time.
        torso: Torso length in pixels.

    Returns:
        (4, 3): pixels from the joint along the bone to where the mask ends, NaN where what lies past the end may
        belong to the trunk or another limb; the longest such distance in any direction away from the body; share of
        the bone that lies on the mask.
    """
    out = np.full((len(OUTER_LIMBS), 3), np.nan)
    for limb, (root, joint, end) in enumerate(OUTER_LIMBS):
        start, bone = keypoints[joint], keypoints[end] - keypoints[joint]
        length = max(float(np.hypot(*bone)), 1e-6)
        steps = np.arange(STEP, FARTHEST, STEP) * torso
        ray = start + bone / length * steps[:, None]
        along = _extent(pose.covered(ray) > COVERED, RAY_GAP) * STEP * torso
        beyond = ray[(steps > 1.1 * length) & (steps <= along)]
        if not _near_body(beyond, keypoints, limb, NEAR * torso):
            out[limb, 0] = along
        out[limb, 1] = _farthest(pose, start, keypoints[root] - start, steps) * STEP * torso
        out[limb, 2] = (pose.covered(start + bone * np.linspace(0.2, 1, 9)[:, None]) > COVERED).mean()
    return out


def _farthest(pose: Landmarks, start: FloatArray, backwards: FloatArray, steps: FloatArray) -> int:
    angles = np.deg2rad(np.arange(0, 360, 10))
    turn = angles - np.arctan2(backwards[1], backwards[0])
    angles = angles[np.abs((turn + np.pi) % (2 * np.pi) - np.pi) > BACKWARDS]
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    points = start + directions[:, None] * steps[:, None]
    covered = pose.covered(points.reshape(-1, 2)).reshape(points.shape[:2]) > COVERED
    return max(_extent(ray, FAN_GAP) for ray in covered)


def _extent(covered: BoolArray, gap: int) -> int:
    """Number of samples to the last covered one before more than ``gap`` are not."""
    last = np.maximum.accumulate(np.where(covered, np.arange(len(covered)), -1))
    ended = np.arange(len(covered)) - last > gap
    return int(last[np.argmax(ended)] if ended.any() else last[-1]) + 1


def _near_body(points: FloatArray, keypoints: FloatArray, limb: int, distance: float) -> bool:
    if len(points) == 0:
        return False
    corners = keypoints[list(TRUNK)]
    edges = np.roll(corners, -1, axis=0) - corners
    offsets = points[:, None] - corners
    turns = edges[:, 0] * offsets[..., 1] - edges[:, 1] * offsets[..., 0]
    if ((turns > 0).all(axis=1) | (turns < 0).all(axis=1)).any():
        return True
    bones = list(zip(corners, np.roll(corners, -1, axis=0), strict=True))
    for other, (root, joint, end) in enumerate(OUTER_LIMBS):
        if other != limb:
            bones += [(keypoints[root], keypoints[joint]), (keypoints[joint], keypoints[end])]
    return any(_distance(points, a, b).min() < distance for a, b in bones)


def _distance(points: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """(N,) distances of points from the segment a to b."""
    along = np.clip((points - a) @ (b - a) / max(float((b - a) @ (b - a)), 1e-12), 0, 1)
    distance: FloatArray = np.linalg.norm(points - a - along[:, None] * (b - a), axis=1)
    return distance
