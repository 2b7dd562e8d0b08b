"""OIS from poses to score: who is judged, and what silhouettes add to landmarks."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from vmmetrics.clip import Clip
from vmmetrics.functional.limbs import OUTER_PARTS, PARTS, silhouette_deviations
from vmmetrics.metrics import ois
from vmmetrics.perception.embedded.flow import DISFlow
from vmmetrics.perception.scene import Camera, Models, Objects, Poses, Scene

FRAMES = 30
STANDING = np.array(
    [
        *[(50, 20), (52, 18), (48, 18), (54, 19), (46, 19), (62, 40), (38, 40), (66, 62), (34, 62), (68, 85), (32, 85)],
        *[(58, 90), (42, 90), (59, 127), (41, 127), (60, 164), (40, 164)],
    ],
    dtype=float,
)
JOINTS = [7, 8, 13, 14]
ENDS = [9, 10, 15, 16]


class GivenPoses:
    def __init__(self, poses: Poses) -> None:
        self.poses = poses

    def estimate(self, scene: Scene) -> Poses:
        return self.poses


class NoObjects:
    def segment(self, scene: Scene) -> Objects:
        return Objects(np.zeros((len(scene.clip), 8, 8), np.uint8), (), (1.0, 1.0))


class GivenCamera:
    """A camera that shifts what it sees by (x, y) pixels a frame, or whose motion is unknown."""

    def __init__(self, shift: tuple[float, float] = (0.0, 0.0), kind: str = "translation") -> None:
        self.shift, self.kind = shift, kind

    def estimate(self, scene: Scene) -> Camera:
        pairs = len(scene.clip) - 1
        homographies = np.tile(np.eye(3), (pairs, 1, 1))
        homographies[:, :2, 2] = self.shift
        return Camera(homographies, (self.kind,) * pairs, np.ones(pairs))


def scene_with(poses: Poses, num_frames: int = FRAMES, camera: GivenCamera | None = None, side: int = 32) -> Scene:
    clip = Clip(np.zeros((num_frames, side, side, 3), np.uint8), np.arange(num_frames) / 24, 24.0)
    models = Models(DISFlow(), camera or GivenCamera(), NoObjects(), None, GivenPoses(poses), None)  # type: ignore[arg-type]
    return Scene(clip, models)


def body(people: int = 1, size: float = 2.0, seed: int = 0) -> Poses:
    """People standing with landmark noise of 0.01 torso lengths, and silhouettes that fit them."""
    rng = np.random.default_rng(seed)
    keypoints = np.repeat(STANDING[None, None] * size, FRAMES, axis=0) + np.arange(people)[:, None, None] * 200
    keypoints = keypoints + rng.normal(0, 0.5 * size, (FRAMES, people, 17, 2))
    bones = np.linalg.norm(keypoints[:, :, ENDS] - keypoints[:, :, JOINTS], axis=-1)
    silhouettes = np.stack([1.4 * bones, 1.4 * bones, np.ones_like(bones)], axis=-1)
    boxes = np.concatenate([keypoints.min(axis=2), keypoints.max(axis=2)], axis=-1)
    return Poses(keypoints, np.full((FRAMES, people, 17), 0.95), boxes, silhouettes=silhouettes)


def deviations(poses: Poses) -> dict[str, np.ndarray]:
    silhouettes = cast(np.ndarray, poses.silhouettes)
    return silhouette_deviations(poses.keypoints[:, 0], poses.scores[:, 0], *np.moveaxis(silhouettes[:, 0], -1, 0))


def test_a_whole_body_scores_one() -> None:
    result = ois.measure(scene_with(body(people=2)), "vmmetrics")
    assert result.score == 1
    assert result.events == ()


def test_nobody_small_people_and_one_frame_are_missing_with_their_reason() -> None:
    nobody = Poses(np.zeros((FRAMES, 0, 17, 2)), np.zeros((FRAMES, 0, 17)), np.zeros((FRAMES, 0, 4)))
    assert (ois.measure(scene_with(nobody), "vmmetrics").missing or "").startswith("no person; ")
    assert ois.measure(scene_with(nobody), "vmbench").missing == "no person"
    assert "too small" in (ois.measure(scene_with(body(size=0.5)), "vmmetrics").missing or "")
    assert "one frame" in (ois.measure(scene_with(body(), num_frames=1), "vmmetrics").missing or "")
    tiny = scene_with(body(), side=31)
    assert (
        ois.measure(tiny, "vmmetrics").missing == "frames of 31 by 31 pixels are too small to judge: at least 32 a side"
    )
    assert ois.measure(tiny, "vmbench").score is not None


def test_small_people_are_left_out_and_absence_is_no_size() -> None:
    large, small = body(), body(size=0.5)
    both = np.concatenate([large.keypoints, small.keypoints], axis=1)
    both[5:9, 0] = np.nan
    assert ois.large_enough(both).tolist() == [True, False]


@pytest.mark.parametrize("limb", range(4))
@pytest.mark.parametrize("factor", [1.5, 2.0])
def test_a_stretched_limb_is_found_though_landmarks_shrink_it(limb: int, factor: float) -> None:
    poses = body()
    silhouettes = cast(np.ndarray, poses.silhouettes)
    silhouettes[10:20, 0, limb, :2] *= factor
    start, end = JOINTS[limb], ENDS[limb]
    poses.keypoints[10:20, 0, end] += 0.2 * (poses.keypoints[10:20, 0, end] - poses.keypoints[10:20, 0, start])
    result = ois.measure(scene_with(poses), "vmmetrics")
    assert [event.target for event in result.events] == [OUTER_PARTS[limb]]
    assert abs(result.events[0].frames[0] - 10) <= 2
    assert abs(result.events[0].frames[-1] - 19) <= 2
    assert result.events[0].reason == "silhouette too long"


@pytest.mark.parametrize("limb", range(4))
def test_a_limb_gone_is_found_though_landmarks_are_unsure(limb: int) -> None:
    poses = body()
    silhouettes = cast(np.ndarray, poses.silhouettes)
    silhouettes[8:21, 0, limb] = (5.0, 8.0, 0.1)
    poses.scores[8:21, 0, ENDS[limb]] = 0.1
    found = deviations(poses)["missing"][:, list(PARTS).index(OUTER_PARTS[limb])]
    np.testing.assert_array_equal(np.flatnonzero(found > 1), np.arange(8, 21))
    assert ois.measure(scene_with(poses), "vmmetrics").events[0].reason == "missing"


def test_a_limb_hidden_before_the_body_is_not_gone() -> None:
    poses = body()
    poses.scores[8:21, 0, 9] = 0.1  # unsure, but what surrounds the elbow is body
    assert not any((found > 1).any() for found in deviations(poses).values())


def test_turning_towards_the_camera_is_no_fault() -> None:
    poses = body()
    silhouettes = cast(np.ndarray, poses.silhouettes)
    shorter = np.linspace(1, 0.5, FRAMES)
    bone = poses.keypoints[:, 0, 9] - poses.keypoints[:, 0, 7]
    poses.keypoints[:, 0, 9] = poses.keypoints[:, 0, 7] + bone * shorter[:, None]
    silhouettes[:, 0, 0, :2] *= shorter[:, None]
    assert ois.measure(scene_with(poses), "vmmetrics").score == 1


def test_faults_of_one_or_two_frames_are_noise() -> None:
    poses = body()
    silhouettes = cast(np.ndarray, poses.silhouettes)
    silhouettes[10:12, 0, 0, :2] *= 2
    silhouettes[15:17, 0, 1] = (5.0, 8.0, 0.1)
    assert not any((found > 1).any() for found in deviations(poses).values())


def test_without_silhouettes_landmarks_alone_are_judged() -> None:
    poses = body()
    plain = Poses(poses.keypoints, poses.scores, poses.boxes)
    assert ois.limb_evidence(plain) == {}
    assert ois.measure(scene_with(plain), "vmmetrics").score == 1


def test_vmbench_takes_the_first_person_and_no_silhouettes() -> None:
    poses = body(people=2)
    silhouettes = cast(np.ndarray, poses.silhouettes)
    silhouettes[10:20, :, :, :2] *= 3
    poses.keypoints[10:20, 1, 9] += 300
    assert ois.measure(scene_with(poses), "vmbench").score == 1


def carried(poses: Poses, shift: tuple[float, float]) -> Poses:
    """People carried over the frame by (x, y) pixels a frame, without a step."""
    along = np.arange(FRAMES)[:, None, None, None] * np.array(shift)
    return Poses(poses.keypoints + along, poses.scores, poses.boxes)


def test_people_who_slide_over_the_ground_are_at_fault_unless_it_is_the_camera() -> None:
    poses = carried(body(), (10.0, 0.0))  # 2.4 torso lengths a second
    result = ois.measure(scene_with(poses), "vmmetrics")
    assert {event.reason for event in result.events} == {"slides or floats"}
    assert {event.target for event in result.events} == {"left thigh", "left calf", "right thigh", "right calf"}
    panned = scene_with(poses, camera=GivenCamera((10.0, 0.0)))
    assert ois.measure(panned, "vmmetrics").score == 1


def test_where_the_camera_is_unknown_nothing_is_said_of_the_ground() -> None:
    unknown = scene_with(carried(body(), (10.0, 0.0)), camera=GivenCamera(kind="unknown"))
    assert ois.measure(unknown, "vmmetrics").score == 1
