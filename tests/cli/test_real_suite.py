"""Once with the real models: a generated clip from the command to its picture, the same from one process or two."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vmmetrics.cli.main import main
from vmmetrics.prompts.clips.makers import write_video
from vmmetrics.scoring.api import score
from vmmetrics.scoring.records import read_events, read_records
from vmmetrics.video import read_clip

CLIP = Path(__file__).parents[1] / "data" / "samples" / "zeroscope" / "woman-walks-and-sits.mp4"


@pytest.mark.slow
def test_from_clip_to_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    clip = tmp_path / CLIP.name
    whole = read_clip(CLIP)
    write_video(clip, whole.frames[4:16], whole.fps)
    main_returns(["score", str(clip), "--out", "run"])
    (worker,) = read_records(tmp_path / "run")
    (here,) = score(clip, out=tmp_path / "here")
    assert worker.scores == here.scores
    assert worker.amplitude == here.amplitude
    assert not worker.failed
    assert {*worker.scores, *worker.missing} == {"cas", "mss", "ois", "pas", "tcs"}
    assert read_events(tmp_path / "run", worker) == read_events(tmp_path / "here", here)
    main_returns(["show", "run", clip.name, "--out", "page.png"])
    assert (tmp_path / "page.png").stat().st_size > 50_000


def test_a_dry_run_lists_only_what_its_metrics_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = {}
    for metric in ("mss", "ois", "cas"):
        main_returns(["score", str(CLIP), "--metrics", metric, "--dry-run", "--format", "json", "-o", str(tmp_path)])
        shown = json.loads(capsys.readouterr().out)
        listed[metric] = {row["for"] for row in shown["models"]} | {
            row["file"].partition("-")[0] for row in shown["weights"]
        }
    assert listed["mss"] >= {"quality", "flow", "efficientnet"}
    assert listed["mss"].isdisjoint({"pose", "plausibility", "blazepose", "cas"})
    assert listed["ois"] >= {"pose", "blazepose"} and "cas" not in listed["ois"]
    assert listed["cas"] >= {"plausibility", "cas", "efficientnet"} and "pose" not in listed["cas"]


def main_returns(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
