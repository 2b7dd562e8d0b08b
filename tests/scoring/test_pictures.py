"""What a run keeps for looking: a poster of every clip, and overlays where they are asked for."""

from __future__ import annotations

import base64
import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vmmetrics.errors import SetupError
from vmmetrics.scoring.api import score
from vmmetrics.scoring.merge import merge
from vmmetrics.scoring.pictures import keep_overlay, overlay_path, packed, unpacked
from vmmetrics.scoring.scored_clip import recall
from vmmetrics.scoring.show.capture import poster_of
from vmmetrics.scoring.show.overlay import read_overlay
from vmmetrics.video import read_clip

pytestmark = pytest.mark.usefixtures("fake_suite")


def posters(run: Path) -> dict[str, Image.Image]:
    lines = [json.loads(line) for line in (run / "posters.jsonl").read_text().splitlines()]
    return {line["clip"]: Image.open(io.BytesIO(base64.b64decode(line["webp"]))) for line in lines}


def test_every_clip_has_a_poster_of_its_middle(make_clips: Any, tmp_path: Path) -> None:
    clips = make_clips("a")
    frames = np.zeros((5, 400, 800, 3), np.uint8)
    frames[2, :, :400] = 200
    np.save(clips / "b.npy", frames)
    score(clips, metrics=("mss",), out=tmp_path / "run")
    made = posters(tmp_path / "run")
    assert set(made) == {"a.npy", "b.npy"}
    picture = np.asarray(made["b.npy"].convert("RGB"))
    assert picture.shape == (160, 320, 3)
    assert abs(int(picture[80, 80, 1]) - 200) < 4 and picture[80, 240].max() < 4
    assert poster_of(read_clip(clips / "b.npy")) == poster_of(read_clip(clips / "b.npy"))


def test_overlays_are_kept_where_they_are_few(make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmmetrics.scoring.run.KEPT_OVERLAYS", 1)
    for names, asked, kept in ((("a",), None, 1), (("a", "b"), None, 0), (("a",), False, 0), (("a", "b"), True, 2)):
        folder = tmp_path / f"{len(names)} {asked}"
        score([make_clips(*names) / f"{name}.npy" for name in names], metrics=("tcs",), out=folder, keep_overlays=asked)
        assert len(list(folder.glob("overlays/*/*"))) == kept


def test_what_the_models_saw_is_kept_and_drawn_without_them(
    make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips, run = make_clips("a"), tmp_path / "run"
    score(clips, metrics=("tcs",), out=run, keep_overlays=True)
    before = recall(run, "a.npy").perceived
    assert before.objects is not None and before.poses is None
    score(clips, metrics=("tcs", "ois"), out=run, keep_overlays=True)  # adds people, keeps the objects
    monkeypatch.setattr("vmmetrics.scoring.settings.Settings.build", None)
    after = recall(run, "a.npy").perceived
    assert after.objects is not None and after.poses is not None
    assert (after.objects.labels == before.objects.labels).all()


def test_a_shard_brings_its_pictures(make_clips: Any, tmp_path: Path) -> None:
    clips = make_clips("a", "b", "c")
    parts = [tmp_path / "1", tmp_path / "2"]
    for number, part in enumerate(parts, 1):
        score(clips, metrics=("tcs",), out=part, keep_overlays=True, shard=(number, 2))
    merged = merge(parts, tmp_path / "whole")
    assert set(posters(tmp_path / "whole")) == {"a.npy", "b.npy", "c.npy"}
    assert all(overlay_path(tmp_path / "whole", str(record.sha256)).is_file() for record in merged.table)


def test_a_picture_that_fails_costs_no_score(make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise ValueError("no")

    monkeypatch.setattr("vmmetrics.scoring.show.capture.encode_overlay", fail)
    (record,) = score(make_clips("a"), metrics=("tcs",), out=tmp_path / "run", keep_overlays=True)
    assert record.error is None and record.scores
    assert [note for note in record.notes if note.startswith("no overlay: ValueError: no")]


def test_overlays_are_joined_and_damage_gives_way(tmp_path: Path) -> None:
    sha256 = "ab" * 32
    keep_overlay(tmp_path, sha256, packed({"format": 1, "people": [], "frames": 3}))
    keep_overlay(tmp_path, sha256, packed({"format": 1, "objects": [], "frames": 3}))
    path = overlay_path(tmp_path, sha256)
    assert unpacked(path.read_bytes()) == {"format": 1, "people": [], "frames": 3, "objects": []}
    path.write_bytes(gzip.compress(b"5"))
    keep_overlay(tmp_path, sha256, packed({"format": 1}))
    assert unpacked(path.read_bytes()) == {"format": 1}


def test_a_merge_follows_no_links_of_a_foreign_run_and_waits_for_no_disk(
    make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, secret = tmp_path / "run", tmp_path / "secret"
    score(make_clips("a", "b"), metrics=("mss",), out=run)
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    for number in range(20):
        keep_overlay(run, f"{number:02d}" * 32, packed({"format": 1, "frames": number}))
    assert not synced
    secret.write_text("mine")
    overlay_path(run, "00" * 32).with_name(f"{'00' * 31}01.json.gz").symlink_to(secret)
    overlay_path(run, "ff" * 32).parent.symlink_to(overlay_path(run, "01" * 32).parent)
    merge([run], tmp_path / "whole")
    kept = sorted(path.relative_to(run) for path in (run / "overlays").rglob("*") if not path.is_symlink())
    there = sorted(path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole" / "overlays").rglob("*"))
    assert there == [path for path in kept if not (run / path.parent).is_symlink()]
    assert len(synced) < 20


def test_a_hash_that_is_none_leads_nowhere(tmp_path: Path) -> None:
    for wrong in ("../" * 30, "", "AB" * 32, "ab" * 32 + "\n", f"{'ab' * 30}/../"):
        with pytest.raises(SetupError, match="damaged: sha256: expected 64 hex digits"):
            read_overlay(tmp_path, wrong)


def test_an_overlay_that_the_power_took_is_none(tmp_path: Path) -> None:
    keep_overlay(tmp_path, "ab" * 32, b"")
    assert read_overlay(tmp_path, "ab" * 32) is None
