"""What a command says before it works for long: a folder that takes no file, and what so little cannot tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.understanding.synthetic.suite import write_suite

Captured = pytest.CaptureFixture[str]


def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("models are loaded")


@pytest.mark.parametrize(
    ("command", "loads"),
    [
        (["score", "clips"], "vmmetrics.scoring.run.prepare"),
        (["baselines", "clips"], "vmmetrics.scoring.run.prepare"),
        (["probe", "clips"], "vmmetrics.alignment.probe.session.sources_of"),
        (
            ["understand", "run", "synthetic", "--model", "random", "--data", "suite"],
            "vmmetrics.understanding.harness.models.open_model",
        ),
    ],
)
@pytest.mark.parametrize("given", [True, False])
def test_a_folder_that_takes_no_file_is_said_before_models_are_loaded(
    command: list[str],
    loads: str,
    given: bool,
    vmmetrics: Any,
    make_clips: Any,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_clips("a")
    if command[0] == "understand":
        list(write_suite(Path("suite"), 9))
    monkeypatch.setattr(loads, never)
    Path("taken").write_text("a file, where a folder is needed")
    for name in ("vmmetrics-runs", "vmmetrics-probe", "vmmetrics-understand"):
        Path(name).write_text("as well")
    before = sorted(Path().rglob("*"))
    assert vmmetrics(*command, *(["--out", "taken/run"] if given else [])) == 2
    said = capsys.readouterr().err
    assert "Cannot write" in said
    assert "Not a directory" in said
    assert sorted(Path().rglob("*")) == before


def test_a_probe_of_too_few_clips_says_so_first(vmmetrics: Any, tmp_path: Path, capsys: Captured) -> None:
    for clips, warned in ((1, True), (4, False)):
        folder = tmp_path / str(clips)
        folder.mkdir()
        for seed in range(clips):
            frames = np.random.default_rng(seed).integers(0, 255, (4, 32, 32, 3)).astype(np.uint8)
            np.save(folder / f"{seed}.npy", frames)
        cases = ["--defects", "blur", "--strengths", "1", "--invariances", "none", "--no-rates", "--no-charts"]
        assert vmmetrics("probe", folder, "--metrics", "ssim", *cases, "--out", f"out{clips}") == 0
        first = capsys.readouterr().err.splitlines()[0]
        assert first.startswith("warning: 1 clip: too few for an interval") == warned
        assert warned or first == "8 cases"


@pytest.mark.parametrize(("clips", "models", "warned"), [(6, 1, "models: 1"), (2, 3, "prompts: 2"), (6, 3, None)])
def test_a_study_too_small_is_said_before_its_figures(
    clips: int, models: int, warned: str | None, vmmetrics: Any, tmp_path: Path, capsys: Captured
) -> None:
    rng = np.random.default_rng(0)
    names = [(f"m{model}", f"m{model}/{clip}.mp4", clip) for model in range(models) for clip in range(clips)]
    scores = ["clip,mss", *(f"{name},{rng.random():.3f}" for _, name, _ in names)]
    rated = ["clip,model,prompt,quality"]
    rated += [f"{name},{model},{prompt},{rng.integers(1, 6)}" for model, name, prompt in names]
    (tmp_path / "scores.csv").write_text("\n".join(scores))
    (tmp_path / "ratings.csv").write_text("\n".join(rated))
    assert vmmetrics("align", "scores.csv", "ratings.csv", "--pair", "mss=quality", "--resamples", 20) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert [line for line in warnings if warned and warned in line] if warned else warnings == []


def test_questions_about_too_few_videos_are_said_before_they_are_asked(vmmetrics: Any, capsys: Captured) -> None:
    list(write_suite(Path("suite"), 9))
    asked = ["understand", "run", "synthetic", "--model", "random", "--data", "suite"]
    assert vmmetrics(*asked, "--limit", 1) == 0
    said = capsys.readouterr().err
    assert "warning: all questions are about one video: no interval can be given" in said
