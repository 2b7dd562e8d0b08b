from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def run(vmmetrics: Any, make_clips: Any) -> Path:
    make_clips("one/a", "two/a", "two/b", "raise")
    vmmetrics("score", "clips", "--out", "run")
    return Path("run")


def test_a_page_and_a_film(vmmetrics: Any, run: Path) -> None:
    assert vmmetrics("show", run, "two/a.npy", "--out", "page.png") == 0
    assert np.asarray(Image.open("page.png")).shape[1] == 1500
    assert vmmetrics("show", run, "b.npy", "--out", "film.mp4") == 0
    with av.open("film.mp4") as film:
        frames = list(film.decode(video=0))
    assert [round(float(frame.time), 3) for frame in frames] == [0, 0.125, 0.25, 0.375]
    assert frames[0].format.name == "yuv420p"
    assert not [p for p in Path().iterdir() if "partial" in p.name]


@pytest.mark.parametrize(
    ("clip", "said"),
    [
        ("a.npy", "Several clips are called a.npy: one/a.npy, two/a.npy"),
        ("two/c.npy", "did you mean two/"),
        ("raise.npy", "could not be scored, so there is nothing to draw: RuntimeError"),
    ],
)
def test_a_clip_that_cannot_be_shown(clip: str, said: str, vmmetrics: Any, run: Path, capsys: Captured) -> None:
    assert vmmetrics("show", run, clip, "--out", "page.png") == 2
    assert said in capsys.readouterr().err


def test_a_clip_that_moved_or_changed(vmmetrics: Any, run: Path, make_clips: Any, capsys: Captured) -> None:
    make_clips("one/a", value=77)
    Path("clips/two/b.npy").rename("clips/two/moved.npy")
    assert vmmetrics("show", run, "one/a.npy", "--out", "page.png") == 2
    assert "has changed since it was scored" in capsys.readouterr().err
    assert vmmetrics("show", run, "two/b.npy", "--out", "page.png") == 2
    assert "is no longer at" in capsys.readouterr().err
    assert not Path("page.png").exists()


def test_other_models_than_scored_are_said_to_be(vmmetrics: Any, run: Path, capsys: Captured) -> None:
    header = json.loads((run / "run.json").read_text())
    header["configuration"]["versions"]["av"] = "1.0"
    (run / "run.json").write_text(json.dumps(header))
    shutil.rmtree(run / "overlays")  # else no model is run
    assert vmmetrics("show", run, "two/a.npy", "--out", "page.png") == 0
    assert "versions.av" in capsys.readouterr().err


@pytest.mark.parametrize(("out", "said"), [("page.pdf", ".png or .mp4"), ("none/page.png", "does not exist")])
def test_wrong_outputs(out: str, said: str, vmmetrics: Any, run: Path, capsys: Captured) -> None:
    assert vmmetrics("show", run, "two/a.npy", "--out", out) == 2
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_no_run(vmmetrics: Any, tmp_path: Path, capsys: Captured) -> None:
    assert vmmetrics("show", tmp_path, "a", "--out", "page.png") == 2
    assert "not a run directory" in capsys.readouterr().err
