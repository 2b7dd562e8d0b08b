"""People with an identity through the clip, from boxes and keypoints frame by frame.

The released OIS has no identities: it takes the best box of each frame, whoever that is. This is for
``protocol="vmmetrics"``: :class:`~vmmetrics.perception.scene.PoseEstimator`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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


class Sighting(NamedTuple):
    """Someone in a frame: box (5,) with its score, keypoints (17, 2) and their scores (17,)."""

    frame: int
    box: FloatArray
    points: FloatArray
    scores: FloatArray


Person = list[Sighting]
"""One person so far, in the order of the frames they were seen in."""


def _moved(person: Person, frame: int) -> FloatArray:
    """(2,) pixels from the last sighting to ``frame``, going on as between the last two."""
    if len(person) < 2:
        return np.zeros(2)
    (before, start, *_), (last, end, *_) = person[-2:]
    step = ((end[:2] + end[2:4]) - (start[:2] + start[2:4])) / (2 * (last - before))
    return np.asarray(step * (frame - last))


def _likeness(person: Person, other: Sighting) -> float:
    """0..1, how like this person another sighting in a later frame is: mean of boxes' and poses' likeness."""
    shift, last = _moved(person, other.frame), person[-1]
    mine = last.box[:4] + np.tile(shift, 2)
    shared = overlap(mine, other.box[:4])
    both = (last.scores > SEEN) & (other.scores > SEEN)
    if both.sum() < FEWEST:
        return shared
    area = np.sqrt(np.prod(mine[2:] - mine[:2]) * np.prod(other.box[2:4] - other.box[:2]))
    apart = ((last.points + shift - other.points) ** 2).sum(axis=-1)[both]
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
        points, scores, person_boxes = np.full((*shape, 2), np.nan), np.zeros(shape), np.full((*shape[:2], 4), np.nan)
        for p, person in enumerate(people):
            for sighting in person:
                points[sighting.frame, p], person_boxes[sighting.frame, p] = sighting.points, sighting.box[:4]
                scores[sighting.frame, p] = np.clip(sighting.scores, 0.0, 1.0)
        return Poses(points, scores, person_boxes, (NOTE,) if people else ())


def follow(boxes: Sequence[FloatArray], keypoints: Sequence[tuple[FloatArray, FloatArray]], fps: float) -> list[Person]:
    """Link sightings of consecutive frames, all pairs of a frame at once, where that makes them most alike.

    Args:
        boxes: Per frame (N, 5): x0, y0, x1, y1 in pixels and score.
        keypoints: Per frame (N, 17, 2) pixels and (N, 17) scores.
        fps: Frames per second.

    Returns:
        People seen in :data:`SHORTEST` frames or more (in all, where a clip is shorter), by the sum of their scores.
    """
    people: list[Person] = []
    patience = max(1, round(LONGEST_ABSENCE * fps))
    for frame, (frame_boxes, answers) in enumerate(zip(boxes, keypoints, strict=True)):
        sightings = [Sighting(frame, *one) for one in zip(frame_boxes, *answers, strict=True)]
        waiting = [person for person in people if frame - person[-1].frame <= patience]
        chosen = _linked(waiting, sightings)
        for i, sighting in enumerate(sightings):
            if i in chosen:
                chosen[i].append(sighting)
            else:
                people.append([sighting])
    lasting = [person for person in people if len(person) >= min(SHORTEST, len(boxes))]
    return sorted(lasting, key=lambda person: -float(sum(one.box[4] for one in person)))


def _linked(people: Sequence[Person], sightings: Sequence[Sighting]) -> dict[int, Person]:
    """Return the person of each sighting of a frame that continues one, by index of the sighting."""
    if not people or not sightings:
        return {}
    likeness: NDArray[np.float64] = np.array([[_likeness(person, one) for one in sightings] for person in people])
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
