"""A settled clip is hashed again only where its file may have changed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vmmetrics.scoring import session
from vmmetrics.scoring.api import score
from vmmetrics.scoring.run import Start, prepare, run
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.tasks import tasks_of_paths
from vmmetrics.video.content import file_state, is_settled, state

pytestmark = pytest.mark.usefixtures("fake_suite")
LONG_AGO = 10**18


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The clips that a start hashed to compare."""
    seen: list[str] = []
    identify = session.identify
    monkeypatch.setattr(session, "identify", lambda task: (seen.append(task.clip), identify(task))[1])
    return seen


def age(path: Path, by_seconds: int = 0) -> None:
    os.utime(path, ns=(LONG_AGO + by_seconds * 10**9,) * 2)


@pytest.fixture
def clips(make_clips: Any) -> Path:
    folder: Path = make_clips("a", "b")
    for clip in folder.iterdir():
        age(clip)
    return folder


def test_what_looks_as_it_did_is_not_hashed(clips: Path, tmp_path: Path, hashed: list[str]) -> None:
    for _ in range(2):
        score(clips, out=tmp_path / "run")
    assert hashed == []
    run(prepare(Settings()), tasks_of_paths([clips], Settings().metrics)[0], Start(verify=True), tmp_path / "run")
    assert hashed == ["a.npy", "b.npy"]


def test_a_touched_file_is_hashed_once_and_not_scored(clips: Path, tmp_path: Path, hashed: list[str]) -> None:
    first = score(clips, out=tmp_path / "run")
    age(clips / "a.npy", 60)
    for _ in range(2):
        assert score(clips, out=tmp_path / "run")[0].seconds == first[0].seconds
    assert hashed == ["a.npy"]
    assert (tmp_path / "run" / "scores.jsonl").read_bytes().count(b"\n") == 2


def test_another_content_of_the_same_size_and_time_is_for_verify(
    clips: Path, tmp_path: Path, make_clips: Any, hashed: list[str]
) -> None:
    before = score(clips, out=tmp_path / "run")[0].scores["pas"]
    make_clips("a", "b", value=90)
    for clip in clips.iterdir():
        age(clip)
    assert score(clips, out=tmp_path / "run")[0].scores["pas"] == before
    table = run(
        prepare(Settings()), tasks_of_paths([clips], Settings().metrics)[0], Start(verify=True), tmp_path / "run"
    )
    assert table[0].scores["pas"] > before


def test_a_file_as_young_as_its_clock_is_coarse_is_not_taken_at_its_word(make_clips: Any) -> None:
    clip = make_clips("a") / "a.npy"
    assert not is_settled(state(clip))
    assert score(clip)[0].state is None
    os.utime(clip, ns=(time.time_ns() - 3 * 10**9,) * 2)
    assert is_settled(state(clip))
    assert score(clip)[0].state == {"bytes": clip.stat().st_size, "mtime_ns": str(clip.stat().st_mtime_ns)}


def test_of_a_folder_of_frames_every_file_counts(tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    folder.mkdir()
    for number in range(3):
        Image.fromarray(np.full((8, 8, 3), number, np.uint8)).save(folder / f"{number:03d}.png")
        age(folder / f"{number:03d}.png")
    first = file_state(state(folder))
    assert first["files"] == 3
    age(folder / "001.png", -60)  # older than before: no sum or maximum tells
    second = file_state(state(folder))
    assert second != first
    (folder / "002.png").rename(folder / "003.png")
    assert file_state(state(folder)) not in (first, second)
