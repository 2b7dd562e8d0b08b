"""Once with the real models: a generated clip from the command to its picture, the same from one process or two."""

from __future__ import annotations

from pathlib import Path

import pytest

from vmmetrics.cli.main import main
from vmmetrics.prompts.clips.makers import write_video
from vmmetrics.scoring.api import score
from vmmetrics.scoring.directory import read_events, read_records
from vmmetrics.video import read_clip

CLIP = Path(__file__).parents[1] / "data" / "samples" / "zeroscope" / "woman-walks-and-sits.mp4"


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


def main_returns(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
