from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

_place = Path(__file__).parents[1] / "alignment" / "baselines" / "judge_server.py"
_spec = importlib.util.spec_from_file_location("judge_server", _place)
assert _spec and _spec.loader
judge_server = sys.modules["judge_server"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(judge_server)

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
    arguments = ["baselines", clips, "--metrics", "ssim,frame_difference", "--out", "run"]
    assert vmmetrics(*arguments) == 0
    shown = capsys.readouterr()
    row = next(line for line in shown.out.splitlines() if line.split()[:1] == ["frame_difference"])
    assert "lower" in row and "levels of 255" in row
    assert "needs 3 prompts" in row and ".." not in row  # of two clips the ends would be the two
    assert "one" in shown.out and "two" in shown.out
    assert "ssim missing in 1 of 3 clips: one frame" in shown.out
    assert "vmmetrics align RUN run RATINGS" in shown.err
    assert "[3/3]" in shown.err
    assert json.loads(Path("run/run.json").read_text())["lower_is_better"] == ["frame_difference"]
    assert vmmetrics(*arguments) == 0
    assert "3 of 3 clips were scored before" in capsys.readouterr().err


def test_exit_codes(vmmetrics: Any, clips: Path, capsys: Captured) -> None:
    (clips / "one" / "broken.mp4").write_bytes(b"no film")
    assert vmmetrics("baselines", clips, "--metrics", "ssim") == 3
    assert "failed: one/broken.mp4" in capsys.readouterr().err
    assert vmmetrics("baselines", clips, "--metrics", "ssim", "--allow-failures") == 0
    assert len(list(Path("vmmetrics-runs").iterdir())) == 1  # the same place, found again
    for wrong, said in ((["--metrics", "psnr"], "psnr"), (["--shard", "3/2"], "1 <= i <= n")):
        assert vmmetrics("baselines", clips, *wrong) == 2
        assert said in capsys.readouterr().err
    assert vmmetrics("baselines", "nowhere") == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--weights", "raft"], "NAME=PATH"),
        (["--weights", "amt=x.pth"], "NAME=PATH"),
        (["--judge-url", "http://x/v1"], "need --judge"),
        (["--judge", "m", "--judge-url", "http://x/v1?key=1"], "without a key"),
        (["--metrics", "vlm_judge"], "--judge MODEL"),
        (["--metrics", "ssim", "--weights", "raft=x.pth"], "leaves out raft"),
        (["--judge", "nowhere/model"], "not found at"),
    ],
)
def test_what_models_need_is_said(
    options: list[str], said: str, vmmetrics: Any, clips: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vmmetrics.alignment.baselines.judge.require", lambda *_: None)
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(AutoModelForImageTextToText=0, AutoProcessor=0))
    assert vmmetrics("baselines", clips, *options) == 2
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not Path("vmmetrics-runs").exists()


def test_a_judge_beside_the_others(
    vmmetrics: Any, clips: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-in-the-environment-alone")
    monkeypatch.setenv("VMMETRICS_WEIGHTS", str(tmp_path / "cache" / "weights"))
    refusal = judge_server.completion("I'm sorry, I can't help with that.")
    script = judge_server.Script([judge_server.good(), refusal])
    url, stop = judge_server.serve(script)
    judge = ["--judge", "some-model", "--judge-url", url, "--judge-frames", "2", "--judge-key-env", "MY_KEY"]
    command = ["baselines", clips, "--metrics", "vlm_judge,ssim", *judge, "--out", "run"]
    assert vmmetrics(*command) == 0
    shown = capsys.readouterr().out
    refused = "judge_cas, judge_mss, judge_ois, judge_pas, judge_tcs missing in 1 of 3 clips"
    assert f"{refused}: the judge refused to rate the clip" in " ".join(shown.split())
    assert len(script.requests) == 2  # a clip of one frame is not shown
    assert script.requests[0][0]["Authorization"] == "Bearer sk-in-the-environment-alone"
    assert vmmetrics(*command) == 0
    assert vmmetrics(*command[:-1], "another") == 0  # what was answered is known
    stop()
    assert len(script.requests) == 2
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any("judge" in file.parts for file in files)
    assert not [file for file in files if b"environment-alone" in file.read_bytes()]


def test_help_names_them_all(vmmetrics: Any, capsys: Captured) -> None:
    from vmmetrics.alignment.baselines.catalogue import CPU, FAMILIES

    assert vmmetrics("baselines", "--help") == 0
    shown = "".join(capsys.readouterr().out.replace("│", " ").split())
    assert all(name in shown for name in (*(b.name for b in CPU), *FAMILIES))


def test_there_is_nothing_to_draw(vmmetrics: Any, clips: Path, capsys: Captured) -> None:
    vmmetrics("baselines", clips, "--metrics", "ssim", "--out", "run")
    assert vmmetrics("show", "run", "one/a.npy", "--out", "x.png") == 2
    assert "nothing to draw" in capsys.readouterr().err
