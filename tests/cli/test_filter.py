from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """A clip that moves, one that is held, and one of a single frame."""
    wide = np.random.default_rng(0).integers(60, 200, (18, 50)).repeat(4, 0).repeat(4, 1)
    folder = tmp_path / "clips"
    folder.mkdir()
    frames = np.stack([wide[:, 2 * n : 2 * n + 128] for n in range(16)]).astype(np.uint8)[..., None].repeat(3, -1)
    np.save(folder / "panned.npy", frames)
    np.save(folder / "held.npy", frames[:1].repeat(16, 0))
    np.save(folder / "single.npy", frames[:1])
    return folder


def test_clips_that_fit_are_listed_and_the_list_goes_on(vmmetrics: Any, clips: Path, capsys: Captured) -> None:
    arguments = ["filter", clips, "--keep", "frozen_share < 0.5", "--out", "run", "--jobs", "0"]
    assert vmmetrics(*arguments) == 3  # one clip is undecided
    shown = capsys.readouterr()
    assert "frozen_share < 0.5 is false (1)" in shown.out
    assert "no frozen_share: one frame" in shown.out
    assert "1 of 3 clips are undecided: neither kept nor dropped" in shown.err
    assert vmmetrics(*arguments, "--allow-failures") == 0
    assert "3 of 3 clips were scored before" in capsys.readouterr().err
    assert vmmetrics("filter", "run/kept.jsonl", "--keep", "pan > 0.05", "--out", "two", "--format", "json") == 0
    decisions = json.loads(capsys.readouterr().out)
    assert [row["clip"] for row in decisions["decisions"]] == ["panned.npy"]


def test_shards_merged_are_listed_without_measuring_again(vmmetrics: Any, clips: Path, capsys: Captured) -> None:
    arguments = ["filter", clips, "--keep", "aspect > 0", "--jobs", "0", "--allow-failures"]
    for part in (1, 2):
        assert vmmetrics(*arguments, "--shard", f"{part}/2", "--out", f"part{part}") == 0
    assert "merge the shards" in capsys.readouterr().err
    assert vmmetrics("merge", "part1", "part2", "--out", "whole") == 0
    capsys.readouterr()
    assert vmmetrics(*arguments, "--out", "whole") == 0
    assert "3 of 3 clips were scored before" in capsys.readouterr().err
    kept = [json.loads(line).get("name") for line in Path("whole/kept.jsonl").read_text().splitlines()[1:]]
    assert kept == ["held.npy", "panned.npy"]


def test_every_decision_stands_in_csv(vmmetrics: Any, clips: Path, capsys: Captured) -> None:
    vmmetrics("filter", clips, "--keep", 'camera == "pan"', "--out", "run", "--format", "csv", "--jobs", "0")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["clip"]: row["decision"] for row in rows} == {
        "held.npy": "dropped", "panned.npy": "kept", "single.npy": "undecided"
    }  # fmt: skip
    assert float(rows[1]["pan"]) == pytest.approx(2 * 8 / 128, rel=0.1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--keep", "speed > 1"], "nknown name 'speed'"),
        (["--keep", "cuts =="], "at the end of the condition"),
        (["--keep", "cuts == 0", "--device", "cuda"], "--device"),
        ([], "--keep"),
    ],
)
def test_wrong_use_is_refused(vmmetrics: Any, clips: Path, capsys: Captured, wrong: list[str], said: str) -> None:
    assert vmmetrics("filter", clips, *wrong) == 2
    assert said in capsys.readouterr().err
    assert not Path("vmmetrics-runs").exists()


def test_a_dry_run_measures_nothing(vmmetrics: Any, clips: Path, capsys: Captured) -> None:
    assert vmmetrics("filter", clips, "--keep", "cuts == 0", "--dry-run") == 0
    assert "3 clips; metrics: amplitude" in capsys.readouterr().out
    assert not Path("vmmetrics-runs").exists()


def test_the_mirror_has_the_list(vmmetrics: Any, clips: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    assert (
        vmmetrics("filter", clips / "held.npy", "--keep", "cuts == 0", "--out", "run", "--mirror", "memory://m/run")
        == 0
    )
    copied = fsspec.filesystem("memory").find("/m/run")
    assert {"kept.jsonl", "decisions.jsonl", "filter.json"} <= {Path(name).name for name in copied}
