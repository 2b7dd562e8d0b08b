"""Own change: photographs moved as a whole have none, whatever is on top; things that move have some."""

from __future__ import annotations

import io
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from vmmetrics.clip import Clip
from vmmetrics.functional import still_factor
from vmmetrics.perception.own_change import own_change
from vmmetrics.video import read_clip

SAMPLES = Path(__file__).parents[1] / "data" / "samples"
FRAMES = 24
SIZE = (360, 240)
TIMES = np.linspace(-1, 1, FRAMES)


@pytest.fixture(scope="module")
def photograph():
    frame = read_clip(next(iter(sorted((SAMPLES / "cogvideo").glob("*.*"))))).frames[0]
    return cv2.resize(frame, (450, 300), interpolation=cv2.INTER_AREA)


def moved(image, motion):
    """Frames of ``image`` seen through ``motion(t)``, a homography from frame to image; t in -1..1."""
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    return np.stack(
        [cv2.warpPerspective(image, motion(t), SIZE, flags=flags, borderMode=cv2.BORDER_REFLECT) for t in TIMES]
    )


def about_the_middle(linear):
    here, there = np.eye(3), np.eye(3)
    here[:2, 2], there[:2, 2] = (-180, -120), (225, 150)
    return there @ linear @ here


def pan(t):
    return np.array([[1, 0, 45 + 40 * t], [0, 1, 30 + 8 * t], [0, 0, 1.0]])


def zoom(t):
    return about_the_middle(np.diag([1 - 0.12 * t, 1 - 0.12 * t, 1.0]))


def turn(t):
    c, s = np.cos(0.1 * t), np.sin(0.1 * t)
    return about_the_middle(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]))


def tilt(t):
    return about_the_middle(np.array([[1, 0, 0], [0, 1, 0], [4e-4 * t, 2e-4 * t, 1.0]]))


def shake(t):
    random = np.random.default_rng(round(100 * t) + 100)
    return np.array([[1, 0, 45 + random.normal(0, 3)], [0, 1, 30 + random.normal(0, 3)], [0, 0, 1.0]])


def grain(frames):
    noise = np.random.default_rng(0).normal(0, 8, frames.shape[:3])[..., None]
    return np.clip(frames + noise, 0, 255).astype(np.uint8)


def drift(frames):
    return np.clip(frames * (1 + 0.1 * TIMES[:, None, None, None]), 0, 255).astype(np.uint8)


def compressed(frames):
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as output:
        stream = output.add_stream("libx264", rate=24, options={"crf": "28", "x264-params": "mbtree=0:threads=1"})
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for frame in frames:
            output.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        output.mux(stream.encode())
    file.seek(0)
    with av.open(file) as stored:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in stored.decode(video=0)])


def change_of(frames):
    return own_change(Clip(frames, np.arange(len(frames)) / 24, 24.0, name="made"))


@pytest.mark.parametrize("motion", [pan, zoom, turn, tilt, shake])
def test_a_photograph_moved_as_a_whole_has_no_own_change(photograph, motion):
    assert still_factor(change_of(moved(photograph, motion))) <= 0.6


@pytest.mark.parametrize("disturb", [grain, drift, compressed])
@pytest.mark.parametrize("motion", [pan, zoom])
def test_nor_with_grain_light_or_compression(photograph, motion, disturb):
    assert still_factor(change_of(disturb(moved(photograph, motion)))) <= 0.6


def test_nor_in_two_layers(photograph):
    picture = photograph[::-1]
    frames = moved(photograph, pan)
    mask = np.zeros(photograph.shape[:2], np.uint8)
    cv2.ellipse(mask, (225, 190), (80, 90), 0, 0, 360, 255, -1)

    def faster(t):
        return pan(1.4 * t)

    front, matte = moved(picture, faster), moved(mask, faster)
    assert still_factor(change_of(np.where(matte[..., None] > 127, front, frames))) <= 0.6


def test_a_rigid_thing_before_a_camera_at_rest_counts(photograph):
    frames = moved(photograph, lambda _: pan(0))
    for frame, t in zip(frames, TIMES, strict=True):
        left = 160 + round(60 * t)
        frame[90:150, left : left + 40] = photograph[200:260, 300:340]
    assert still_factor(change_of(frames)) == 1


def test_things_that_move_apart_before_a_panning_camera_count(photograph):
    frames = moved(photograph, pan)
    for frame, t in zip(frames, TIMES, strict=True):
        for x, y, across, down in ((60, 60, 50, 0), (180, 120, 0, -60), (300, 180, -50, 30)):
            centre = round(x + across * t), round(y + down * t)
            cv2.circle(frame, centre, 22, (250, 250, 250), -1)
            cv2.circle(frame, centre, 8, (10, 10, 90), -1)
    assert still_factor(change_of(frames)) == 1


@pytest.mark.slow
def test_never_less_with_a_larger_thing(photograph):
    frames = moved(photograph, pan)
    random = np.random.default_rng(0)

    def boiling(side):
        out = frames.copy()
        for frame in out:
            patch = cv2.resize(random.integers(0, 256, (4, 4, 3)).astype(np.uint8), (side, side))
            frame[100 : 100 + side, 150 : 150 + side] = patch
        return change_of(out)

    changes = [boiling(side) for side in (8, 16, 32, 64)]
    assert changes == sorted(changes)
    share = 64**2 / (SIZE[0] * SIZE[1])
    assert share < changes[-1] < 2.2 * share  # what it covers in the other frame counts, too


@pytest.mark.parametrize("gain", [1.0, 0.3, 0.12])
def test_in_the_dark_less_of_a_difference_counts(photograph, gain):
    frames = moved(photograph, lambda _: pan(0))
    for frame, t in zip(frames, TIMES, strict=True):
        left = 160 + round(60 * t)
        frame[90:150, left : left + 40] = photograph[200:260, 300:340]
    assert still_factor(change_of((frames * gain).astype(np.uint8))) == 1
    assert still_factor(change_of((moved(photograph, pan) * gain).astype(np.uint8))) <= 0.6


@pytest.mark.parametrize("disturb", [lambda frames: frames, grain])
def test_small_photographs_have_none_either(photograph, disturb):
    small = np.stack([cv2.resize(f, (180, 120), interpolation=cv2.INTER_AREA) for f in moved(photograph, pan)])
    assert still_factor(change_of(disturb(small))) <= 0.85


def test_frames_alone_and_tiny_clips():
    assert change_of(np.full((1, 32, 32, 3), 9, np.uint8)) is None
    assert change_of(np.full((8, 32, 32, 3), 9, np.uint8)) is None  # a third of a second: unknown
    assert change_of(np.full((16, 16, 400, 3), 9, np.uint8)) == 0
