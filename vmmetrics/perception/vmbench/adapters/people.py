"""People with an identity through the clip, from boxes and keypoints frame by frame.

The released OIS has no identities: it takes the best box of each frame, whoever that is. This is for
``protocol="vmmetrics"``: :class:`~vmmetrics.perception.scene.PoseEstimator`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from vmmetrics.functional.limbs import NUM_KEYPOINTS
from vmmetrics.perception.scene import Poses, Scene
from vmmetrics.perception.vmbench.adapters.rtm import RTMDetPersons, RTMPoseKeypoints
from vmmetrics.types import FloatArray

SIGMAS = 0.001 * np.array([26, 25, 25, 35, 35, 79, 79, 72, 72, 62, 62, 107, 107, 87, 87, 89, 89])
"""How far annotators of COCO place each keypoint apart, in square roots of the person's area."""
SEEN = 0.3
"""Score above which a keypoint tells who someone is; the released OIS' own threshold."""
FEWEST = 4
"""Keypoints that two poses must both show to be compared."""
SAME = 0.1
"""Likeness from which two sightings may be the same person: a fifth of their boxes shared, and the pose another."""
LONGEST_ABSENCE = 0.5
"""Seconds that someone may be missed and still be taken for the same: longer, and others have come to their place."""
SHORTEST = 3
"""Frames someone must be seen in: fewer say nothing of motion, and are mostly no people."""

NOTE = "keypoint scores are heights of RTMPose's answer, cut to 0..1: they rank keypoints, and are no probabilities"


@dataclass
class _Sightings:
    """One person so far: a row per frame they were seen in."""

    frames: list[int] = field(default_factory=list)
    boxes: list[FloatArray] = field(default_factory=list)
    points: list[FloatArray] = field(default_factory=list)
    scores: list[FloatArray] = field(default_factory=list)

    def add(self, frame: int, box: FloatArray, points: FloatArray, scores: FloatArray) -> None:
        self.frames.append(frame)
        self.boxes.append(box)
        self.points.append(points)
        self.scores.append(scores)

    def moved(self, frame: int) -> FloatArray:
        """(2,) pixels from the last sighting to ``frame``, going on as between the last two."""
        if len(self.frames) < 2:
            return np.zeros(2)
        (before, last), (start, end) = self.frames[-2:], self.boxes[-2:]
        step = ((end[:2] + end[2:4]) - (start[:2] + start[2:4])) / (2 * (last - before))
        return np.asarray(step * (frame - last))

    def likeness(self, frame: int, box: FloatArray, points: FloatArray, scores: FloatArray) -> float:
        """0..1, how like this person another sighting in a later frame is: mean of boxes' and poses' likeness."""
        shift = self.moved(frame)
        mine = self.boxes[-1][:4] + np.tile(shift, 2)
        shared = overlap(mine, box[:4])
        both = (self.scores[-1] > SEEN) & (scores > SEEN)
        if both.sum() < FEWEST:
            return shared
        area = np.sqrt(np.prod(mine[2:] - mine[:2]) * np.prod(box[2:4] - box[:2]))
        apart = ((self.points[-1] + shift - points) ** 2).sum(axis=-1)[both]
        alike = float(np.exp(-apart / (2 * max(area, 1.0) * (2 * SIGMAS[both]) ** 2)).mean())
        return 0.5 * (shared + alike)


class FollowedPeople:
    """People found in each frame, given identities.

    Args:
        persons: Finds boxes (RTMDet-m person).
        keypoints: Finds keypoints in them (RTMPose-m body7).
    """

    def __init__(self, persons: RTMDetPersons, keypoints: RTMPoseKeypoints) -> None:
        self._persons = persons
        self._keypoints = keypoints

    def estimate(self, scene: Scene) -> Poses:
        """Return the people of the clip, the one seen best and longest first."""
        clip = scene.clip
        boxes = self._persons.boxes(clip.frames)
        keypoints = self._keypoints.in_frames(clip.frames, boxes)
        people = follow(boxes, keypoints, clip.fps)
        shape = (len(clip.frames), len(people), NUM_KEYPOINTS)
        points, scores, places = np.full((*shape, 2), np.nan), np.zeros(shape), np.full((*shape[:2], 4), np.nan)
        for p, person in enumerate(people):
            points[person.frames, p] = person.points
            scores[person.frames, p] = np.clip(person.scores, 0.0, 1.0)
            places[person.frames, p] = [box[:4] for box in person.boxes]
        return Poses(points, scores, places, (NOTE,) if people else ())


def follow(
    boxes: Sequence[FloatArray], keypoints: Sequence[tuple[FloatArray, FloatArray]], fps: float
) -> list[_Sightings]:
    """Link sightings of consecutive frames, all pairs of a frame at once, where that makes them most alike.

    Args:
        boxes: Per frame (N, 5): x0, y0, x1, y1 in pixels and score.
        keypoints: Per frame (N, 17, 2) pixels and (N, 17) scores.
        fps: Frames per second.

    Returns:
        People seen in :data:`SHORTEST` frames or more (in all, where a clip is shorter), by the sum of their scores.
    """
    people: list[_Sightings] = []
    patience = max(1, round(LONGEST_ABSENCE * fps))
    for frame, (found, (points, scores)) in enumerate(zip(boxes, keypoints, strict=True)):
        waiting = [person for person in people if frame - person.frames[-1] <= patience]
        chosen = _linked(waiting, frame, found, points, scores)
        for i, box in enumerate(found):
            person = chosen.get(i)
            if person is None:
                person = _Sightings()
                people.append(person)
            person.add(frame, box, points[i], scores[i])
    lasting = [person for person in people if len(person.frames) >= min(SHORTEST, len(boxes))]
    return sorted(lasting, key=lambda person: -float(sum(box[4] for box in person.boxes)))


def _linked(
    people: Sequence[_Sightings], frame: int, boxes: FloatArray, points: FloatArray, scores: FloatArray
) -> dict[int, _Sightings]:
    """Who each sighting of a frame is, where that is someone known."""
    if not people or not len(boxes):
        return {}
    likeness: NDArray[np.float64] = np.array(
        [[person.likeness(frame, boxes[i], points[i], scores[i]) for i in range(len(boxes))] for person in people]
    )
    likeness[likeness < SAME] = 0.0
    rows, columns = linear_sum_assignment(likeness, maximize=True)
    return {int(i): people[row] for row, i in zip(rows, columns, strict=True) if likeness[row, i] > 0}


def overlap(one: FloatArray, other: FloatArray) -> float:
    """Area that two boxes x0, y0, x1, y1 share, over the area that they cover.

    >>> overlap(np.array([0.0, 0, 4, 2]), np.array([2.0, 0, 6, 2]))
    0.3333333333333333
    """
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    shared = float(np.prod(np.maximum(sides, 0.0)))
    covered = float(np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2])) - shared
    return shared / covered if covered > 0 else 0.0
