"""What is kept of a clip's perception against what it was made from."""

from __future__ import annotations

import gzip
import json

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.clip import Clip
from vmmetrics.perception.scene import Camera, Objects, PointTracks, Poses, SceneObject
from vmmetrics.scoring.show.findings import Perceived
from vmmetrics.scoring.show.overlay import TRACKS_PER_OBJECT, decode_overlay, encode_overlay

FRAMES, WIDTH, HEIGHT = 12, 640, 360
CLIP = Clip(np.zeros((FRAMES, HEIGHT, WIDTH, 3), np.uint8), np.arange(FRAMES) / 8, 8.0, name="a.mp4")


def seen(seed: int = 0) -> Perceived:
    """A ring that moves, a blob beside it, points, a person who leaves, and a camera that pans."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((FRAMES, 90, 160), np.uint8)
    for frame in range(FRAMES):
        cv2.circle(labels[frame], (40 + 3 * frame, 45), 20, 1, -1)
        cv2.circle(labels[frame], (40 + 3 * frame, 45), 8, 0, -1)
        if frame > 4:
            cv2.ellipse(labels[frame], (110, 30 + frame), (25, 9), 15 * frame, 0, 360, 2, -1)
    present = np.stack([(labels == number).any((1, 2)) for number in (1, 2)])
    items = tuple(SceneObject(n + 1, f"thing {n}", present[n], ~present[n], None) for n in range(2))
    xy = rng.uniform(-20, WIDTH + 20, (1, 50, 2)) + np.cumsum(rng.normal(0, 3, (FRAMES, 50, 2)), axis=0)
    tracks = PointTracks(xy, rng.random((FRAMES, 50)) > 0.3, rng.integers(0, FRAMES, 50))
    keypoints = rng.uniform(0, HEIGHT, (FRAMES, 1, 17, 2))
    scores, boxes = rng.random((FRAMES, 1, 17)), rng.uniform(0, HEIGHT, (FRAMES, 1, 4))
    keypoints[9:], scores[9:], boxes[9:] = np.nan, 0, np.nan
    homographies = np.tile(np.eye(3), (FRAMES - 1, 1, 1))
    homographies[:, 0, 2] = rng.normal(0, 30, FRAMES - 1)
    camera = Camera(homographies, ("translation",) * (FRAMES - 1), rng.random(FRAMES - 1))
    return Perceived(Objects(labels, items, (4.0, 4.0)), {1: tracks}, Poses(keypoints, scores, boxes), camera)


@given(st.integers(0, 2**32 - 1))
def test_what_is_read_is_what_was_kept_to_an_eighth_of_a_pixel(seed: int) -> None:
    before = seen(seed)
    after = decode_overlay(encode_overlay(CLIP, before))
    assert before.objects and before.poses and before.camera
    assert after.objects and after.poses and after.camera
    for number in (1, 2):
        first, second = before.objects.labels == number, after.objects.labels == number
        assert (first == second).all()
    assert [item.label for item in after.objects.objects] == ["thing 0", "thing 1"]
    for one, other in zip(before.objects.objects, after.objects.objects, strict=True):
        assert (one.present == other.present).all() and (one.occluded == other.occluded).all() and other.left is None
    chosen = np.linspace(0, 49, TRACKS_PER_OBJECT).astype(int)
    np.testing.assert_allclose(after.tracks[1].xy, before.tracks[1].xy[:, chosen], atol=0.1251)
    assert (after.tracks[1].visible == before.tracks[1].visible[:, chosen]).all()
    assert (after.tracks[1].query_frames == before.tracks[1].query_frames[chosen]).all()
    np.testing.assert_allclose(after.poses.keypoints, before.poses.keypoints, atol=0.1251)
    np.testing.assert_allclose(after.poses.scores, before.poses.scores, atol=0.0051)
    np.testing.assert_allclose(after.poses.boxes, before.poses.boxes, atol=0.1251)
    np.testing.assert_allclose(after.camera.homographies, before.camera.homographies, rtol=1e-5)
    assert after.camera.kinds == before.camera.kinds


def test_the_hole_of_a_ring_stays_open() -> None:
    after = decode_overlay(encode_overlay(CLIP, seen()))
    assert after.objects
    assert after.objects.labels[0, 45, 40] == 0
    assert after.objects.labels[0, 45, 40 - 14] == 1


def test_a_clip_of_nothing_is_kept_and_the_same_clip_in_the_same_bytes() -> None:
    assert decode_overlay(encode_overlay(CLIP, Perceived())) == Perceived()
    assert encode_overlay(CLIP, seen()) == encode_overlay(CLIP, seen())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "format 2, expected 1"),
        ({"frames": 10**9}, "frames"),
        ({"map": [10**6, 10**6]}, "map"),
        ({"tracks": [{"object": 1, "query_frames": [0], "visible": ["1"], "xy": [[1, 2]]}]}, "positions in 12 frames"),
        ({"people": [{"frames": [[1, 2]] * FRAMES}]}, "55 numbers"),
        ({"objects": [{"id": 300, "label": "x", "present": "", "occluded": "", "left": None, "outlines": []}]}, "id"),
        ({"camera": {"kinds": ["still"], "homographies": [[1.0]], "inliers": [1.0]}}, "9 numbers"),
    ],
)
def test_damage_is_an_error_that_says_what(change: dict[str, object], said: str) -> None:
    overlay = json.loads(gzip.decompress(encode_overlay(CLIP, seen())))
    with pytest.raises(ValueError, match=said):
        decode_overlay(gzip.compress(json.dumps(overlay | change).encode()))


@pytest.mark.parametrize(
    "data",
    [b"", b"no gzip", gzip.compress(b"no JSON"), gzip.compress(b" " * 2**27)],
    ids=["empty", "text", "no JSON", "large"],
)
def test_what_is_no_overlay_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        decode_overlay(data)
    with pytest.raises(ValueError, match="cut off"):
        decode_overlay(encode_overlay(CLIP, seen())[:-20])
