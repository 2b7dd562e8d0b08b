"""Overlays that a run did not keep are drawn again; those that it kept are drawn without a model."""

from __future__ import annotations

import shutil
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from vmmetrics.cli.main import main
from vmmetrics.errors import ClipError
from vmmetrics.scoring.api import score
from vmmetrics.scoring.pictures import overlay_path
from vmmetrics.scoring.records import read_records
from vmmetrics.viewer.pictures import redraw, seconds_per_clip


@pytest.fixture(autouse=True)
def _fake_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmmetrics.scoring.settings.SUITE", "tests.scoring.fake_suite:FakeSuite")


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    for number, name in enumerate(("one/a", "two/a")):
        path = tmp_path / "clips" / f"{name}.npy"
        path.parent.mkdir(parents=True)
        np.save(path, np.full((4 + number, 16, 24, 3), 90, np.uint8))
    return tmp_path / "clips"


def test_a_redrawn_overlay_is_the_one_that_scoring_keeps(clips: Path, tmp_path: Path) -> None:
    score(clips, metrics=("tcs", "ois"), out=tmp_path / "kept", keep_overlays=True)
    score(clips, metrics=("tcs", "ois"), out=tmp_path / "run", keep_overlays=False)
    assert not (tmp_path / "run" / "overlays").exists()
    for record in read_records(tmp_path / "run"):
        kept = overlay_path(tmp_path / "kept", str(record.sha256)).read_bytes()
        assert redraw(tmp_path / "run", record) == kept


def test_clips_of_one_name_are_told_apart(clips: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        score(clips / folder, metrics=("tcs",), out=tmp_path / folder)
    shutil.copytree(tmp_path / "one", tmp_path / "run")  # as runs could be before a name was refused to a second clip
    with (tmp_path / "run" / "scores.jsonl").open("ab") as file:
        file.write((tmp_path / "two" / "scores.jsonl").read_bytes())
    records = read_records(tmp_path / "run")
    assert [record.clip for record in records] == ["a.npy", "a.npy"]
    drawn = [redraw(tmp_path / "run", record) for record in records]
    assert len(set(drawn)) == 2  # of 4 and 5 frames


def test_differences_of_the_models_are_warned_of_and_a_lost_clip_is_an_error(
    clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score(clips, metrics=("tcs",), out=tmp_path / "run", keep_overlays=False)
    first, second = read_records(tmp_path / "run")
    monkeypatch.setattr("tests.scoring.fake_suite.FakeSuite.weights", {"fake": "11ff"})
    warnings: list[str] = []
    redraw(tmp_path / "run", first, warnings)
    assert len(warnings) == 1 and "weights.fake" in warnings[0]
    Path(str(second.path)).unlink()
    with pytest.raises(ClipError, match="no longer at"):
        redraw(tmp_path / "run", second)


def show(run: Path, picture: Path) -> bytes:
    with pytest.raises(SystemExit) as stop:
        main(["show", str(run), "one/a.npy", "--out", str(picture)])
    assert not stop.value.code
    return picture.read_bytes()


def test_show_draws_a_kept_overlay_without_models(clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    score(clips, metrics=("tcs", "ois"), out=tmp_path / "run", keep_overlays=True)
    with_models = show(tmp_path / "run", tmp_path / "a.png")
    monkeypatch.setattr("vmmetrics.scoring.settings.Settings.build", None)
    assert show(tmp_path / "run", tmp_path / "b.png") == with_models
    shutil.rmtree(tmp_path / "run" / "overlays")
    with pytest.raises(TypeError):  # there is no model to load
        main(["show", str(tmp_path / "run"), "one/a.npy", "--out", str(tmp_path / "c.png")])


def test_the_estimate_is_of_the_clips_own_times(clips: Path, tmp_path: Path) -> None:
    score(clips, metrics=("tcs",), out=tmp_path / "run")
    records = read_records(tmp_path / "run")
    assert seconds_per_clip(records) == median(record.seconds for record in records)
    assert seconds_per_clip([]) == 0
