"""Identities from boxes and keypoints: people who walk, cross, vanish, and those who are none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.clip import Clip
from vmmetrics.perception.scene import Models, Scene
from vmmetrics.perception.vmbench.adapters import people as module
from vmmetrics.perception.vmbench.adapters.people import FollowedPeople, follow, overlap

ACROSS = [0, -1, 1, -2, 2, -4, 4, -6, 6, -7, 7, -3, 3, -3, 3, -3, 3]
DOWN = [-9, -10, -10, -9, -9, -6, -6, -2, -2, 2, 2, 2, 2, 7, 7, 12, 12]
BODY = np.column_stack([ACROSS, DOWN]).astype(float)
"""A figure 22 high."""


def sighting(x: float, y: float, swing: float = 0.0, score: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
    """Box with score and keypoints of a figure at a place, its arms and legs swung aside."""
    points = BODY + np.array([x, y])
    points[[9, 10, 15, 16], 0] += swing
    return np.array([*points.min(0) - 1, *points.max(0) + 1, score]), points


class Fakes:
    """Sightings given in advance, per frame, as both finders."""

    def __init__(self, frames: Sequence[Sequence[tuple[np.ndarray, np.ndarray]]], height: float = 0.8) -> None:
        self.frames = frames
        self.height = height

    def boxes(self, frames: np.ndarray) -> list[np.ndarray]:
        return [np.array([box for box, _ in sightings]).reshape(-1, 5) for sightings in self.frames]

    def in_frames(self, frames: np.ndarray, boxes: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        points = [np.array([xy for _, xy in sightings]).reshape(-1, 17, 2) for sightings in self.frames]
        return [(xy, np.full(xy.shape[:2], self.height)) for xy in points]


def estimated(frames: Sequence[Sequence[tuple[np.ndarray, np.ndarray]]], height: float = 0.8, fps: float = 8.0):
    fakes = Fakes(frames, height)
    clip = Clip(np.zeros((len(frames), 64, 96, 3), np.uint8), np.arange(len(frames)) / fps, fps)
    nothing: dict[str, object] = dict.fromkeys(("flow", "camera", "segmenter", "tracker", "pose", "quality"))
    return FollowedPeople(fakes, fakes).estimate(Scene(clip, Models(**nothing)))


def test_one_who_walks():
    poses = estimated([[sighting(10 + 2 * t, 30, swing=t % 3)] for t in range(12)])
    assert poses.keypoints.shape == (12, 1, 17, 2)
    assert np.array_equal(poses.keypoints[:, 0, 0, 0], 10 + 2 * np.arange(12))
    assert np.all(poses.scores == 0.8)
    assert np.array_equal(poses.boxes[3, 0], sighting(16, 30)[0][:4])
    assert poses.notes == (module.NOTE,)


def test_two_who_cross_keep_their_identities():
    """They meet in the middle, and the detector's order changes with their scores."""
    frames = []
    for t in range(21):
        one, other = sighting(10 + 4 * t, 30, score=0.8 + 0.01 * (t % 2)), sighting(90 - 4 * t, 33, score=0.805)
        frames.append(sorted([one, other], key=lambda s: -s[0][4]))
    poses = estimated(frames)
    assert poses.keypoints.shape[1] == 2
    noses = poses.keypoints[:, :, 0, 0]
    first, second = (0, 1) if noses[0, 0] < noses[0, 1] else (1, 0)
    assert np.array_equal(noses[:, first], 10 + 4.0 * np.arange(21))
    assert np.array_equal(noses[:, second], 90 - 4.0 * np.arange(21))


def test_a_short_absence_is_bridged_and_left_empty():
    frames = [[] if t in (5, 6) else [sighting(10 + 3 * t, 30)] for t in range(14)]
    poses = estimated(frames)
    assert poses.keypoints.shape[1] == 1
    absent = np.isnan(poses.boxes[:, 0, 0])
    assert np.flatnonzero(absent).tolist() == [5, 6]
    assert np.all(np.isnan(poses.keypoints[absent]))
    assert np.all(poses.scores[absent] == 0)


def test_a_long_absence_is_not():
    frames = [[] if 5 <= t < 12 else [sighting(30, 30)] for t in range(20)]
    assert estimated(frames, fps=8).keypoints.shape[1] == 2
    assert estimated(frames, fps=24).keypoints.shape[1] == 1


def test_someone_elsewhere_is_someone_else():
    frames = [[sighting(15, 20)] if t < 6 else [sighting(75, 40)] for t in range(12)]
    assert estimated(frames).keypoints.shape[1] == 2


def test_a_glimpse_is_no_one():
    frames = [[sighting(20, 30)] + ([sighting(70, 30)] if t in (4, 5) else []) for t in range(12)]
    assert estimated(frames).keypoints.shape[1] == 1
    assert estimated(frames[4:6]).keypoints.shape[1] == 2  # nothing more could be seen of them


def test_the_one_seen_best_and_longest_comes_first():
    frames = [[sighting(70, 30, score=0.5)] + ([sighting(20, 30, score=0.9)] if t < 5 else []) for t in range(12)]
    poses = estimated(frames)
    assert np.isfinite(poses.boxes[:, 0, 0]).all()
    assert np.isfinite(poses.boxes[:, 1, 0]).sum() == 5


def test_no_one():
    poses = estimated([[]] * 5)
    assert poses.keypoints.shape == (5, 0, 17, 2)
    assert poses.boxes.shape == (5, 0, 4)
    assert poses.notes == ()


@pytest.mark.parametrize(("raw", "score"), [(1.7, 1.0), (-0.4, 0.0), (0.6, 0.6)])
def test_scores_are_cut_to_their_range(raw: float, score: float):
    poses = estimated([[sighting(20, 30)]] * 4, height=raw)
    assert np.all(poses.scores == score)


def test_poses_tell_people_in_one_place_apart():
    """Two in nearly the same box: only what their limbs do says who is who."""
    frames = []
    for t in range(10):
        pair = [sighting(40, 30, swing=6), sighting(40.5, 30, swing=-6)]
        frames.append(pair if t % 2 else pair[::-1])
    poses = estimated(frames)
    hands = poses.keypoints[:, :, 9, 0]
    assert np.all(hands == hands[0])


boxes = st.tuples(*(st.floats(0, 50) for _ in range(4))).map(lambda b: np.array([b[0], b[1], b[0] + b[2], b[1] + b[3]]))


@given(boxes, boxes)
@settings(max_examples=60)
def test_overlap_is_symmetric_and_a_share(one: np.ndarray, other: np.ndarray):
    assert overlap(one, other) == pytest.approx(overlap(other, one), abs=1e-12)
    assert 0 <= overlap(one, other) <= 1 + 1e-12


@given(st.lists(st.lists(st.tuples(st.floats(5, 90), st.floats(5, 60)), max_size=3), min_size=3, max_size=8))
@settings(max_examples=40)
def test_every_sighting_belongs_to_one_person_at_most(places: list[list[tuple[float, float]]]):
    frames = [[sighting(x, y) for x, y in of_frame] for of_frame in places]
    fakes = Fakes(frames)
    found = fakes.boxes(np.empty(0))
    followed = follow(found, fakes.in_frames(np.empty(0), found), fps=8)
    for person in followed:
        assert [one.frame for one in person] == sorted({one.frame for one in person})
        assert len(person) >= min(module.SHORTEST, len(frames))
    used = [(one.frame, id(one.box)) for person in followed for one in person]
    assert len(used) == len(set(used))
    assert len(used) <= sum(map(len, frames))
