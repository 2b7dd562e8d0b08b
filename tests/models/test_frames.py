"""Frames by time, against moments worked out by hand and frames whose level names them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.bad_inputs import write_video
from vmmetrics.errors import ClipError
from vmmetrics.models.frames import FramePolicy, count_frames, frames_shown, nearest
from vmmetrics.models.questions import Answered, Shown
from vmmetrics.utils.schema import convert


def video(path: Path, count: int, times: list[int] | None = None) -> Path:
    """Frame t has the level 4 t + 10 (up to 60); ten frames a second unless times (ms) are given."""
    frames = np.stack([np.full((32, 32, 3), 10 + 4 * (t % 60), np.uint8) for t in range(count)])
    return write_video(path, frames, options={"qp": "1"}, times=times)


def named(frames: Any) -> list[int]:
    return [round((level - 10) / 4) for level in frames.pictures.mean((1, 2, 3))]


@pytest.mark.parametrize(
    ("words", "frames"),
    [
        ("4 uniform", [5, 15, 25, 35]),  # middles of four parts of 4 s; 0.5 s is frame 5
        ("2 fps", [0, 5, 10, 15, 20, 25, 30, 35]),
        ("0.5 fps", [0, 20]),
        ("adaptive", [0, 5, 10, 15, 20, 25, 30, 35]),
        ("adaptive slowed 4", [0, 2, 5, 7, 10, 12, 15, 17, 20, 22, 25, 27, 30, 32, 35, 37]),  # 16 s: 1 fps of them
        ("2 fps slowed 2", [0, 2, 5, 7, 10, 12, 15, 17, 20, 22, 25, 27, 30, 32, 35, 37]),
        ("single", [20]),
        ("first", [0]),
        ("native", list(range(40))),
        ("native at most 4", [5, 15, 25, 35]),
        ("20 fps at most 2", [10, 30]),
    ],
)
def test_policies_by_hand(tmp_path: Path, words: str, frames: list[int]) -> None:
    found = frames_shown(video(tmp_path / "a.mp4", 40), FramePolicy.parse(words))
    # a moment half-way between two frames may be either
    assert np.abs(np.subtract(named(found), frames)).max() <= (words.endswith(("slowed 2", "slowed 4", "single")))
    np.testing.assert_allclose(found.shown.seconds, np.array(named(found)) / 10, atol=1e-6)
    assert found.shown.policy == words
    assert count_frames(FramePolicy.parse(words), tmp_path / "a.mp4") == len(frames)


def test_twenty_of_thirty_frames_a_second_are_twenty(tmp_path: Path) -> None:
    """Trap 30: a stride of round(30 / 20) = 2 frames gives 15, below the rate that was asked for."""
    path = video(tmp_path / "a.mkv", 90, [round(1000 * t / 30) for t in range(90)])
    shown = frames_shown(path, FramePolicy("fps", 20)).shown
    assert len(shown.seconds) == 60
    assert shown.fps == pytest.approx(20, rel=0.02)
    assert shown.limited is None


def test_more_than_there_is_is_shown_once_and_said(tmp_path: Path) -> None:
    path = video(tmp_path / "a.mp4", 10)
    found = frames_shown(path, FramePolicy("fps", 30))
    assert named(found) == list(range(10))
    assert found.shown.fps == pytest.approx(10)
    assert found.shown.limited == "10 of 30 frames wanted: the file has 10 in 1.00 s"
    assert "768 at most" not in found.shown.limited
    assert FramePolicy("fps", 1e12).requested(60) == 6e13  # counted, not made
    capped = frames_shown(path, FramePolicy("native", most=3))
    assert capped.shown.limited == "10 frames wanted, 3 at most"


def test_uneven_times_are_followed(tmp_path: Path) -> None:
    # half a second of many frames, then one that stays for a second
    path = video(tmp_path / "a.mkv", 12, [50 * t for t in range(10)] + [500, 1500])
    found = frames_shown(path, FramePolicy("fps", 2))  # 0, 0.5, 1.0 (0.5 and 1.5 are as near), 1.5
    assert named(found) == [0, 10, 11]
    assert found.shown.seconds == (0.0, 0.5, 1.5)


def test_a_part_of_a_file_has_its_own_clock(tmp_path: Path) -> None:
    path = video(tmp_path / "a.mp4", 50)
    found = frames_shown(path, FramePolicy("fps", 2), 2.0, 4.0)
    assert named(found) == [20, 25, 30, 35]
    assert found.shown.seconds == (0.0, 0.5, 1.0, 1.5)
    native = frames_shown(path, FramePolicy("native", slowed=2), 2.0, 2.5)
    assert named(native) == [20, 21, 22, 23, 24]  # the end is not part of it
    assert native.times == (0.0, 0.2, 0.4, 0.6, 0.8)
    assert native.fps == pytest.approx(5)
    late = frames_shown(path, FramePolicy("uniform", 2), 4.0, 7.0)
    assert late.shown.limited == "the clip should end at 7 s but the file ends at 5.00 s"
    assert named(frames_shown(path, FramePolicy("native"), 2.03, 2.05)) == [20]
    with pytest.raises(ClipError, match="begins at 9 s but the file ends at 5"):
        frames_shown(path, FramePolicy("native"), 9.0)
    with pytest.raises(ClipError, match="begins at 3 s but ends at 1 s"):
        frames_shown(path, FramePolicy("native"), 3.0, 1.0)


def test_what_was_assumed_of_a_file_is_recorded(tmp_path: Path) -> None:
    for number in range(3):
        Image.fromarray(np.full((32, 32, 3), 90, np.uint8)).save(tmp_path / f"{number}.png")
    shown = frames_shown(tmp_path, FramePolicy("native")).shown
    assert shown.notes == ("states no frame rate; 8 frames per second assumed",)
    kept = convert(Answered, json.loads(json.dumps(Answered("q", "A", shown).to_json())))
    assert kept.shown == shown
    assert "notes" not in Answered("q", "A", Shown((0.0,), "first")).to_json()["shown"]


@pytest.mark.parametrize("line", [{"text": "A"}, {"question": 5}, {"question": "q", "text": None}])
def test_a_line_that_is_no_answer(line: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"question|text"):
        convert(Answered, line)


def test_nothing_is_read_where_nothing_is_shown(tmp_path: Path) -> None:
    found = frames_shown(tmp_path / "absent.mp4", FramePolicy("none"))
    assert (len(found.pictures), found.shown.seconds, found.shown.policy) == (0, (), "none")


def test_large_frames_are_made_smaller_and_become_jpegs(tmp_path: Path) -> None:
    frames = np.full((4, 64, 128, 3), 90, np.uint8)
    found = frames_shown(write_video(tmp_path / "a.mp4", frames), FramePolicy("uniform", 2), side=64)
    assert found.pictures.shape == (2, 32, 64, 3)
    assert [data[:2] for data in found.jpegs()] == [b"\xff\xd8"] * 2


@pytest.mark.parametrize(
    "words", ["uniform", "8", "0 fps", "2.5 uniform", "8 adaptive", "every 3rd", "8 uniform 9", ""]
)
def test_what_is_no_policy(words: str) -> None:
    with pytest.raises(ValueError, match="Expected"):
        FramePolicy.parse(words)


@given(
    st.lists(st.floats(0.001, 0.5), min_size=2, max_size=60),
    st.sampled_from(["fps", "uniform", "adaptive"]),
    st.integers(1, 40),
    st.floats(0.25, 8),
)
def test_the_nearest_frame_is_chosen_and_none_twice(steps: list[float], kind: Any, number: int, slowed: float) -> None:
    times = np.cumsum(steps)
    seconds = float(times[-1])
    moments = FramePolicy(kind, number, slowed).moments(seconds)
    assert moments is not None
    assert np.all((moments >= 0) & (moments < seconds))
    chosen = nearest(times, np.arange(len(times)), moments)
    assert np.all(np.diff(chosen) > 0)
    best = np.abs(times[:, None] - moments).min(axis=0)
    assert np.all(np.abs(times[chosen][:, None] - moments).min(axis=0) <= best + 3e-6)
