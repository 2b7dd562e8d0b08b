"""The pose model: geometry against hand calculation, and people in the sample clips as one sees them there."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics import read_clip
from vmmetrics.clip import Clip
from vmmetrics.perception.embedded.pose.blazepose import (
    MASK_SIDE,
    BlazePoseNetworks,
    Landmarks,
    Pyramid,
    Region,
    anchor_centres,
    box_iou,
    refine,
    weighted_nms,
)
from vmmetrics.perception.embedded.pose.pose import (
    COCO,
    BlazePose,
    assemble,
    exchanged_sides,
    keypoint_scores,
    silhouettes,
)
from vmmetrics.perception.embedded.pose.tracking import (
    PersonTrack,
    probe_frames,
    quality,
    same_person,
    search_regions,
    steady,
    torso,
)
from vmmetrics.perception.scene import Models, Scene
from vmmetrics.utils.weights.manifest import weight_path

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
NO_MODELS = cast(Models, None)  # the pose model asks nothing of the others
MIRROR = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15]
STANDING = np.array(
    [
        *[(50, 20), (52, 18), (48, 18), (54, 19), (46, 19), (62, 40), (38, 40), (66, 62), (34, 62), (68, 82), (32, 82)],
        *[(58, 90), (42, 90), (59, 122), (41, 122), (60, 154), (40, 154)],
    ],
    dtype=float,
)


def made_pose(keypoints: np.ndarray, mask: np.ndarray | None = None, peak: float = 0.9, flag: float = 1.0) -> Landmarks:
    xy = np.zeros((39, 2))
    xy[list(COCO)] = keypoints
    blank = np.zeros((MASK_SIDE, MASK_SIDE), np.uint8)
    # mask pixels are image pixels: side and centre of the region match the mask's
    region = Region((MASK_SIDE - 1) / 2, (MASK_SIDE - 1) / 2, MASK_SIDE, 0.0)
    sure = np.ones(39)
    return Landmarks(xy, sure, np.full(39, peak), flag, blank if mask is None else mask, region)


def test_anchors_are_the_published_grid() -> None:
    anchors = anchor_centres()
    assert anchors.shape == (2254, 2)
    np.testing.assert_allclose(anchors[[0, 1, 2]], [[4 / 224, 4 / 224], [4 / 224, 4 / 224], [12 / 224, 4 / 224]])
    np.testing.assert_allclose(anchors[2 * 28 * 28], [8 / 224, 8 / 224])
    assert len(np.unique(anchors[-6 * 49 :], axis=0)) == 49


def test_region_spans_twice_the_alignment_radius_and_turns_with_the_body() -> None:
    upright = Region.from_alignment(np.array([100.0, 100.0]), np.array([100.0, 60.0]))
    assert (upright.x, upright.y, upright.side) == pytest.approx((100, 100, 2 * 40 * 1.25))
    assert upright.rotation == pytest.approx(0)
    lying = Region.from_alignment(np.array([100.0, 100.0]), np.array([140.0, 100.0]))
    assert lying.rotation == pytest.approx(np.pi / 2)
    # in the crop of a body lying with its head to the right, the head is up
    top_of_crop = lying.to_image(256) @ [127.5, 0.0, 1.0]
    assert top_of_crop[0] > 140
    assert top_of_crop[1] == pytest.approx(100)


@settings(max_examples=30)
@given(st.floats(20, 900), st.floats(-3.1, 3.1))
def test_crop_shows_what_lies_in_the_region(side: float, rotation: float) -> None:
    y, x = np.mgrid[:400, :400]
    frame = np.dstack([x * 255 / 399, y * 255 / 399, np.zeros_like(x)]).astype(np.uint8)
    region = Region(200, 210, min(side, 250), rotation)
    crop = Pyramid(frame).crop(region, 64)
    for corner in ((10, 10), (50, 20), (31, 45)):
        expected = region.to_image(64) @ [*corner, 1.0] * 255 / 399
        if expected.min() > 5 and expected.max() < 250:
            np.testing.assert_allclose(crop[corner[1], corner[0], :2], expected, atol=2.5)


def test_nms_merges_by_score() -> None:
    boxes = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [40, 40, 50, 50]], dtype=float)
    points = np.arange(24, dtype=float).reshape(3, 4, 2)
    merged = weighted_nms(np.array([0.6, 0.2, 0.9]), boxes, points)
    np.testing.assert_allclose(merged.scores, [0.9, 0.6])
    np.testing.assert_allclose(merged.points[1], 0.75 * points[0] + 0.25 * points[1])
    assert weighted_nms(np.zeros(0), np.zeros((0, 4)), np.zeros((0, 4, 2))).scores.size == 0


def test_iou_by_hand() -> None:
    others = np.array([[0, 0, 2, 2], [1, 1, 3, 3], [5, 5, 6, 6]], dtype=float)
    np.testing.assert_allclose(box_iou(np.array([0, 0, 2, 2.0]), others), [1, 1 / 7, 0])


def test_heatmap_moves_a_landmark_only_where_it_is_sure() -> None:
    heatmap = np.full((64, 64, 39), -20.0)
    heatmap[30, 20, 0] = heatmap[30, 22, 0] = 5.0
    heatmap[30, 20, 1] = -1.0
    xy = np.full((39, 2), 2.0)
    xy[:2] = (22.5 / 64, 31.5 / 64)
    moved, peak = refine(xy, heatmap)
    np.testing.assert_allclose(moved[0] * 64, [21, 30], atol=1e-3)
    np.testing.assert_allclose(moved[1:], xy[1:])
    np.testing.assert_allclose(peak[:3], [0.9933, 0.2689, 0], atol=1e-3)


@given(st.integers(40, 2000), st.integers(40, 2000))
def test_search_covers_every_pixel_by_small_tiles(width: int, height: int) -> None:
    side = 0.6 * min(width, height)
    tiles = [r for r in search_regions(width, height) if abs(r.side - side) < 1e-6]
    for length, centres in ((width, {t.x for t in tiles}), (height, {t.y for t in tiles})):
        edges = sorted((c - side / 2, c + side / 2) for c in centres)
        assert edges[0][0] <= 0 - 0.5 + 1e-6
        assert edges[-1][1] >= length - 0.5 - 1e-6
        assert all(b[0] <= a[1] - 0.4 * side for a, b in pairwise(edges))


@given(st.integers(1, 2000), st.integers(1, 100_000))
def test_regions_to_search_are_bounded_however_narrow_a_clip_is(short: int, long: int) -> None:
    assert len(search_regions(short, long)) == len(search_regions(long, short)) < 1000


@given(st.integers(1, 2000), st.floats(1, 120))
def test_probes_are_within_the_clip_and_bounded(count: int, fps: float) -> None:
    frames = probe_frames(count, fps)
    assert frames == sorted(set(frames))
    assert frames[0] >= 0
    assert frames[-1] < count
    assert min(count, 4) <= len(frames) <= 10


def test_steady_region_ignores_tremor_and_follows_motion() -> None:
    region = Region(100, 100, 200, 0.0)
    assert steady(region, Region(102, 99, 203, 0.02)) is region
    assert steady(region, Region(110, 100, 200, 0.0)).x == 110


def test_same_person_by_joint_distance() -> None:
    pose = made_pose(STANDING)
    assert same_person(pose, made_pose(STANDING + 10))
    assert not same_person(pose, made_pose(STANDING + 40))


def test_quality_needs_peaks_and_the_flag() -> None:
    assert quality(made_pose(STANDING, peak=0.9)) == pytest.approx(0.9)
    assert quality(made_pose(STANDING, peak=0.9, flag=0.1)) < 0.1


def test_scores_follow_the_calibration() -> None:
    scores = [keypoint_scores(made_pose(STANDING, peak=p))[9] for p in (0.2, 0.5, 0.9)]
    assert scores[0] < 0.2 < scores[1] < 0.9 < scores[2] <= 1


def test_sides_are_kept_when_legs_or_all_are_exchanged() -> None:
    rng = np.random.default_rng(3)
    truth = STANDING + rng.normal(0, 0.5, (20, 17, 2)) + np.arange(20)[:, None, None]
    found = truth.copy()
    legs = list(range(17))
    legs[13:17] = [14, 13, 16, 15]
    found[6:9] = found[6:9][:, legs]
    found[12:15] = found[12:15][:, MIRROR]
    order = exchanged_sides(found, np.ones((20, 17)), 50.0)
    np.testing.assert_allclose(np.take_along_axis(found, order[..., None], axis=1), truth)


def test_sides_are_left_alone_in_plain_motion() -> None:
    walk = np.repeat(STANDING[None], 30, axis=0)
    swing = 20 * np.sin(np.arange(30) / 4)[:, None]
    walk[:, [13, 15], 0] += swing
    walk[:, [14, 16], 0] -= swing
    assert (exchanged_sides(walk, np.ones((30, 17)), 50.0) == np.arange(17)).all()


def test_silhouette_ends_where_the_mask_ends() -> None:
    keypoints = np.array(STANDING) * 0.6 + [30, 10]
    mask = np.zeros((MASK_SIDE, MASK_SIDE), np.uint8)
    elbow, wrist = keypoints[7], keypoints[9]
    direction = (wrist - elbow) / np.linalg.norm(wrist - elbow)
    for step in np.arange(0, 24, 0.25):  # twice the forearm's 12 pixels
        x, y = np.rint(elbow + step * direction).astype(int)
        mask[y - 2 : y + 3, x - 2 : x + 3] = 255
    found = silhouettes(made_pose(keypoints, mask), keypoints, torso=30.0)
    assert found[0, 0] == pytest.approx(25, abs=2)
    assert found[0, 1] == pytest.approx(25, abs=2)
    assert found[0, 2] == 1
    assert found[1, 2] == 0  # the other arm has no mask
    assert found[1, 0] == pytest.approx(0, abs=0.1)


def test_gaps_and_corners_are_told() -> None:
    track = PersonTrack({0: made_pose(STANDING), 2: made_pose(STANDING + 1)})
    poses = assemble([track], 3, (100, 150))
    assert np.isnan(poses.keypoints[1]).all()
    assert (poses.scores[1] == 0).all()
    np.testing.assert_allclose(poses.boxes[0, 0], [32, 18, 68, 149])
    assert (poses.scores[0, 0, 15:] == 0).all()  # ankles lie below the picture
    assert assemble([], 3, (100, 150)).keypoints.shape == (3, 0, 17, 2)


@pytest.fixture(scope="module")
def walker() -> Clip:
    clip = read_clip(SAMPLES / "text2video-zero" / "woman-walks-and-sits.gif")
    return Clip(clip.frames[:8], clip.timestamps[:8], clip.fps)


@pytest.mark.slow
def test_the_woman_is_found_in_every_frame_whatever_the_threads(walker: Clip) -> None:
    one, two = (BlazePose(threads).estimate(Scene(walker, NO_MODELS)) for threads in (1, 2))
    assert one.keypoints.shape == (8, 1, 17, 2)
    assert np.isfinite(one.keypoints).all()
    assert np.median(one.scores) > 0.7
    np.testing.assert_array_equal(one.keypoints, two.keypoints)
    np.testing.assert_array_equal(one.scores, two.scores)
    nose, hips, ankles = one.keypoints[:, 0, 0, 1], one.keypoints[:, 0, 11, 1], one.keypoints[:, 0, 15, 1]
    assert (nose < hips).all()
    assert (hips < ankles).all()


@pytest.mark.slow
def test_a_mirrored_clip_gives_the_mirrored_person(walker: Clip) -> None:
    poses = BlazePose().estimate(Scene(walker, NO_MODELS))
    flipped = Clip(np.ascontiguousarray(walker.frames[:, :, ::-1]), walker.timestamps, walker.fps)
    mirrored = BlazePose().estimate(Scene(flipped, NO_MODELS)).keypoints[:, 0][:, MIRROR]
    mirrored[..., 0] = walker.width - 1 - mirrored[..., 0]
    sure = poses.scores[:, 0] > 0.8
    size = np.linalg.norm(poses.keypoints[:, 0, 5] - poses.keypoints[:, 0, 11], axis=-1).mean()
    distance = np.linalg.norm(mirrored - poses.keypoints[:, 0], axis=-1)[sure] / size
    assert np.median(distance) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("size", [(7, 3), (64, 64), (120, 300)])
def test_nobody_in_noise_and_darkness(size: tuple[int, int]) -> None:
    frames = np.random.default_rng(0).integers(0, 255, (3, *size, 3)).astype(np.uint8)
    frames[1] = 0
    poses = BlazePose().estimate(Scene(Clip(frames, np.arange(3) / 8, 8.0), NO_MODELS))
    assert poses.keypoints.shape == (3, 0, 17, 2)


def test_cars_are_nobody() -> None:
    clip = read_clip(SAMPLES / "zeroscope" / "cars-drive-fast.mp4")
    assert BlazePose().estimate(Scene(clip, NO_MODELS)).keypoints.shape[1] == 0


def test_detector_places_the_woman(walker: Clip) -> None:
    networks = BlazePoseNetworks(weight_path("blazepose-detector"), weight_path("blazepose-landmarks-full"))
    frame = Pyramid(walker.frames[0])
    found = networks.detect(frame, Region(127.5, 127.5, 256, 0.0), 0.4)
    assert found.scores[0] > 0.7
    pose = networks.landmarks(frame, Region.from_alignment(found.points[0, 0], found.points[0, 1]))
    assert pose.flag > 0.9
    hips = pose.xy[[23, 24]].mean(axis=0)
    assert np.linalg.norm(hips - found.points[0, 0]) < 0.35 * torso(pose)
    assert pose.covered(hips[None])[0] > 0.5
