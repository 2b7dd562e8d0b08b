from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for model in ("one", "two"):
        (tmp_path / "clips" / model).mkdir(parents=True)
        np.save(tmp_path / "clips" / model / "a.npy", rng.integers(0, 256, (3, 32, 40, 3), np.uint8))
    np.save(tmp_path / "clips" / "two" / "single.npy", rng.integers(0, 256, (1, 32, 40, 3), np.uint8))
    return tmp_path / "clips"


def test_a_table_of_means_and_a_run(vmmetrics: Any, clips: Path, capsys: Captured) -> None:
    arguments = ["baselines", clips, "--only", "ssim,frame_difference", "--out", "run"]
    assert vmmetrics(*arguments) == 0
    shown = capsys.readouterr()
    row = next(line for line in shown.out.splitlines() if line.split()[:1] == ["frame_difference"])
    assert "lower" in row and "levels of 255" in row
    assert "one" in shown.out and "two" in shown.out
    assert "SSIM missing in 1 of 3 clips: one frame" in shown.out
    assert "vmmetrics align RUN run RATINGS" in shown.err
    assert "[3/3]" in shown.err
    assert json.loads(Path("run/run.json").read_text())["lower_is_better"] == ["frame_difference"]
    assert vmmetrics(*arguments) == 0
    assert "3 of 3 clips were scored before" in capsys.readouterr().err


def test_exit_codes(vmmetrics: Any, clips: Path, capsys: Captured) -> None:
    (clips / "one" / "broken.mp4").write_bytes(b"no film")
    assert vmmetrics("baselines", clips, "--only", "ssim") == 3
    assert "failed: one/broken.mp4" in capsys.readouterr().err
    assert vmmetrics("baselines", clips, "--only", "ssim", "--allow-failures") == 0
    assert len(list(Path("vmmetrics-runs").iterdir())) == 1  # the same place, found again
    for wrong, said in ((["--only", "psnr"], "psnr"), (["--shard", "3/2"], "1 <= i <= n")):
        assert vmmetrics("baselines", clips, *wrong) == 2
        assert said in capsys.readouterr().err
    assert vmmetrics("baselines", "nowhere") == 2


def test_there_is_nothing_to_draw(vmmetrics: Any, clips: Path, capsys: Captured) -> None:
    vmmetrics("baselines", clips, "--only", "ssim", "--out", "run")
    assert vmmetrics("show", "run", "one/a.npy", "--out", "x.png") == 2
    assert "nothing to draw" in capsys.readouterr().err
