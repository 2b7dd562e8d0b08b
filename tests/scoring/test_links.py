"""Folders of symlinks are scored, and what they lead to is hashed only where it is a clip."""

from __future__ import annotations

import hashlib
import os
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from tests.bad_inputs import moving_frames, write_pictures, write_video
from vmmetrics.alignment.probe import Plan, probe
from vmmetrics.cas.label.videoreward import reward_clips
from vmmetrics.scoring.api import score
from vmmetrics.scoring.merge import merge
from vmmetrics.scoring.records import read_records
from vmmetrics.video import discover
from vmmetrics.video.content import fingerprint
from vmmetrics.video.prompts import Prompts

pytestmark = pytest.mark.usefixtures("fake_suite")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A snapshot as Hugging Face keeps it: names that lead to blobs without suffixes, outside of the folder."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "main"
    blobs.mkdir()
    (snapshot / "frames").mkdir(parents=True)
    np.save(tmp_path / "array.npy", moving_frames(4))
    write_video(tmp_path / "video.mp4", moving_frames(4))
    for name in ("video.mp4", "array.npy"):
        (tmp_path / name).rename(blobs / name.partition(".")[0])
        (snapshot / name).symlink_to(Path("../../blobs") / name.partition(".")[0])
    for number, picture in enumerate(sorted(write_pictures(tmp_path / "pictures", moving_frames(3)).iterdir())):
        picture.rename(blobs / f"picture{number}")
        (snapshot / "frames" / picture.name).symlink_to(Path("../../../blobs") / f"picture{number}")
    return snapshot


def test_a_cache_of_symlinks_is_scored(cache: Path) -> None:
    table = score(cache)
    assert [(record.clip, record.error) for record in table] == [
        ("array.npy", None), ("frames", None), ("video.mp4", None)]  # fmt: skip
    assert [record.frames for record in table] == [4, 3, 4]
    assert table[2].sha256 == hashlib.sha256((cache.parents[1] / "blobs" / "video").read_bytes()).hexdigest()


def test_symlinks_that_lead_out_can_be_refused(cache: Path) -> None:
    (cache / "own.mp4").symlink_to("own")
    (cache / "video.mp4").resolve().rename(cache / "own")
    table = score(cache, follow_links=False)
    errors = {record.clip: record.error or "" for record in table}
    assert errors["own.mp4"] == ""  # it leads to another name within the folder
    assert "The symlink array.npy leads out of the folder given" in errors["array.npy"]
    assert "The symlink 0000.png leads out of the folder given" in errors["frames"]
    assert all(record.sha256 is None for record in table if record.error)
    assert not any(record.error for record in score([cache / "array.npy"], follow_links=False))  # named outright


def test_what_is_no_clip_is_not_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret, clips = tmp_path / "secret", tmp_path / "clips"
    secret.write_text("root:x:0:0:root:/root:/bin/bash\n" * 9)
    clips.mkdir()
    frames = write_pictures(clips / "frames", moving_frames(2))
    (frames / "0002.png").symlink_to(secret)
    for suffix in (".mp4", ".npy", ".pt", ".gif", ".webp", ".mkv"):
        (clips / f"link{suffix}").symlink_to(secret)
        os.mkfifo(clips / f"pipe{suffix}")
        (clips / f"zero{suffix}").symlink_to("/dev/zero")
    module = import_module("vmmetrics.video.content")  # the package has a function of this name
    monkeypatch.setattr(module, "_file_sha256", lambda path: pytest.fail(f"{path} was hashed"))
    for step in reward_clips(discover([clips]), Prompts(), Mock(), "a", tmp_path / "rewards.jsonl"):
        assert step.error
    probed = probe(str(clips), lambda clip: 0.0, plan=Plan(defects=("blur",), rates=False))
    assert len(probed.failures) == 19
    table = score(clips, out=tmp_path / "run")
    assert len(table) == 19
    assert all(record.error and record.sha256 is None for record in table)
    again = score(clips, out=tmp_path / "run")  # nor is it when the run resumes
    assert [record.error for record in again] == [record.error for record in table]


def test_a_symlink_beside_the_frames_is_not_hashed(tmp_path: Path) -> None:
    frames = write_pictures(tmp_path / "clip", moving_frames(2))
    alone = fingerprint(frames)
    (tmp_path / "secret").write_text("secret")
    (frames / "notes.txt").symlink_to(tmp_path / "secret")
    assert fingerprint(frames) == alone
    (frames / "0002.png").symlink_to("0001.png")
    assert fingerprint(frames) != alone


def test_a_file_without_a_size_is_not_read_for_its_hash(tmp_path: Path) -> None:
    if not Path("/proc/version").exists():
        pytest.skip("needs /proc")
    (tmp_path / "a.mp4").symlink_to("/proc/version")
    assert fingerprint(tmp_path / "a.mp4") == hashlib.sha256().hexdigest()
    assert score(tmp_path)[0].error == "The file is empty"


def test_a_refused_clip_is_tried_once_per_start_and_scored_when_it_is_replaced(tmp_path: Path, make_clips: Any) -> None:
    clips = make_clips("a")
    (clips / "b.npy").write_text("no clip")
    table = score(clips, out=tmp_path / "run")
    assert table[1].error and table[1].sha256 is None
    lines = (tmp_path / "run" / "scores.jsonl").read_text().count("\n")
    assert score(clips, out=tmp_path / "run")[1].error == table[1].error
    assert (tmp_path / "run" / "scores.jsonl").read_text().count("\n") == lines + 1
    (clips / "b.npy").write_bytes((clips / "a.npy").read_bytes())
    table = score(clips, out=tmp_path / "run")
    assert table[1].error is None and table[1].sha256 == table[0].sha256
    (clips / "b.npy").unlink()
    (clips / "b.npy").symlink_to("/dev/zero")  # and what was scored may be refused later
    table = score(clips, out=tmp_path / "run")
    assert "regular file" in (table[1].error or "") and table[1].sha256 is None


def test_merging_prefers_a_score_to_a_refusal(tmp_path: Path, make_clips: Any) -> None:
    clips = make_clips("a", "b")
    score(clips, out=tmp_path / "one")
    (clips / "b.npy").rename(tmp_path / "b.npy")
    (clips / "b.npy").write_text("no clip")
    score(clips, out=tmp_path / "two")
    for runs in (("one", "two"), ("two", "one")):
        merge([tmp_path / run for run in runs], tmp_path / f"merged-{runs[0]}")
        records = read_records(tmp_path / f"merged-{runs[0]}")
        assert [(record.clip, record.error) for record in records] == [("a.npy", None), ("b.npy", None)]
