"""Left and right kept apart over time: the landmark network takes one for the other in single frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vmmetrics.types import FloatArray

IntArray = NDArray[np.int64]

GROUPS = ((1, 2), (3, 4)), ((5, 6), (11, 12)), ((7, 8), (9, 10)), ((13, 14), (15, 16))
"""Pairs of COCO keypoints that are mistaken together: face, trunk, arms, legs."""
FREE = 0.15
"""Torso lengths that a keypoint may move between frames without suspicion."""
FLIPPED = 0.01
"""Torso lengths of suspicious movement that a frame with exchanged sides must save."""


def exchanged_sides(keypoints: FloatArray, scores: FloatArray, torso: float) -> IntArray:
    """For each frame, the order of the keypoints under which left stays left over time.

    Per group, dynamic programming over two states (as found, exchanged): the least sum of score-weighted movement
    beyond :data:`FREE`.

    Args:
        keypoints: (N, 17, 2) of the frames in which the person is seen.
        scores: (N, 17).
        torso: Torso length in pixels.

    Returns:
        (N, 17) int, index into the keypoints of each frame.
    """
    order = np.tile(np.arange(keypoints.shape[1]), (len(keypoints), 1))
    for pairs in GROUPS:
        found = [joint for pair in pairs for joint in pair]
        swapped = [joint for pair in pairs for joint in reversed(pair)]
        points = np.stack([keypoints[:, found], keypoints[:, swapped]], axis=1) / torso
        weights = np.stack([scores[:, found], scores[:, swapped]], axis=1)
        states = _least_movement(points, weights)
        order[np.ix_(states == 1, found)] = swapped
    return order


def _least_movement(points: FloatArray, weights: FloatArray) -> IntArray:
    """(N, 2 states, K, 2) positions and (N, 2, K) weights to (N,) states of least suspicious movement."""
    moved = np.linalg.norm(points[1:, None] - points[:-1, :, None], axis=-1)
    trust = np.minimum(weights[1:, None], weights[:-1, :, None])
    leap = (np.maximum(moved - FREE, 0) * trust).sum(axis=-1)  # (N-1, from, to)
    cost = np.array([0.0, FLIPPED])
    came_from = np.zeros((len(points), 2), dtype=np.int64)
    for frame in range(1, len(points)):
        total = cost[:, None] + leap[frame - 1]
        came_from[frame] = np.argmin(total, axis=0)
        cost = total.min(axis=0) + np.array([0.0, FLIPPED])
    states = np.zeros(len(points), dtype=np.int64)
    states[-1] = int(np.argmin(cost))
    for frame in range(len(points) - 1, 0, -1):
        states[frame - 1] = came_from[frame, states[frame]]
    return states
