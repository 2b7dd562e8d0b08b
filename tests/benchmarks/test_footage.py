"""Footage beside the checkout: windows, the seal, and means over repositories."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import footage, seal
from benchmarks.footage import LEAST_FRAMES, SHORT_SIDE, Recording, by_repository, clip_of, recordings, window
from vmmetrics.clip import Clip

ONE = Recording("a/b.mp4", "train", "A", "s", "r", "", "", "", "", "0")


def numbered(frames: int, fps: float = 24.0) -> Clip:
    """A clip whose frames show their index."""
    pictures = np.broadcast_to(np.arange(frames, dtype=np.uint8)[:, None, None, None], (frames, 8, 12, 3)).copy()
    return Clip(pictures, np.arange(frames) / fps, fps, name="numbered")


@pytest.mark.parametrize("at", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("speed", [1, 2, 3])
def test_a_window_has_the_same_length_and_rate_at_any_speed(speed, at):
    shown = window(numbered(200), speed, at=at)
    assert shown is not None
    assert (len(shown), shown.fps) == (48, 24.0)
    assert set(np.diff(shown.frames[:, 0, 0, 0].astype(int))) == {speed}
    first, last = shown.frames[[0, -1], 0, 0, 0].astype(int)
    assert first == round(at * (200 - 47 * speed - 1))
    assert last < 200


def test_windows_of_all_speeds_share_their_middle():
    middles = [np.mean(window(numbered(200), speed).frames[[0, -1], 0, 0, 0]) for speed in (1, 2, 3)]  # type: ignore[union-attr]
    np.testing.assert_allclose(middles, 99.5, atol=0.5)


def test_short_clips_give_shorter_windows_or_none():
    assert len(window(numbered(60))) == 20  # a third, so that three times as fast has as many
    assert len(window(numbered(60), 3)) == 20
    assert len(window(numbered(3 * LEAST_FRAMES), 3)) == LEAST_FRAMES
    assert window(numbered(3 * LEAST_FRAMES - 3), 3) is None
    assert window(numbered(LEAST_FRAMES - 1)) is None


def test_large_frames_are_downscaled_and_small_ones_kept():
    assert clip_of(np.zeros((2, 720, 1280, 3), np.uint8), 8.0, "x").frames.shape == (2, SHORT_SIDE, 640, 3)
    assert clip_of(np.zeros((2, 90, 120, 3), np.uint8), 8.0, "x").frames.shape == (2, 90, 120, 3)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(footage, "FOOTAGE", tmp_path)
    monkeypatch.setattr(seal, "LOG", tmp_path / "log.jsonl")
    names = ["file", "split", "licence_class", "source_id", "repo", "generator", "year", "pair", "role", "sha256"]
    with (tmp_path / "index.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        for split in ("train", "validation", "sealed", "open"):
            writer.writerow({"file": f"{split}.mp4", "split": split, "source_id": f"of {split}"})
    return tmp_path


def test_sealed_footage_is_refused_without_a_reason_and_logged_with_one(index):
    with pytest.raises(ValueError, match="a reason"):
        recordings("train", "sealed")
    assert not (index / "log.jsonl").exists()
    (item,) = recordings("sealed", reason="a last look")
    assert item.source == "of sealed"
    assert "a last look" in json.loads((index / "log.jsonl").read_text())["why"]


def test_recordings_are_those_of_the_splits(index):
    assert [item.name for item in recordings("train", "validation")] == ["train", "validation"]
    assert recordings("train")[0].path == index / "train.mp4"
    assert not (index / "log.jsonl").exists()


def test_repositories_weigh_equally():
    items = [replace(ONE, repo=repo) for repo in ("a", "a", "a", "b")]
    mean, low, high = by_repository([1.0, 2.0, np.nan, 4.0], items)
    assert mean == pytest.approx((1.5 + 4) / 2)
    assert (low, high) == (1.5, 4.0)  # a repository drawn twice in a quarter of the rounds each
    assert by_repository([3.0, 3.0], [ONE, ONE]) == (3.0, 3.0, 3.0)
