from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from vmmetrics.cli.main import main

TOYS = Path(__file__).parents[1] / "alignment" / "probe"
HARMLESS = ("--invariances", "mirror,brightness", "--harmless-strengths", "1")
OPTIONS = ("--metrics", "none", *HARMLESS, "--strengths", "0.5,1", "--defects")


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOYS))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four clips of two seconds of noise that drifts, at eight frames a second."""
    clips = tmp_path / "good"
    clips.mkdir()
    for seed in range(4):
        world = np.random.default_rng(seed).integers(0, 255, (48, 96, 3)).astype(np.uint8)
        np.save(clips / f"{seed}.npy", np.stack([world[:, t : t + 64] for t in range(16)]))
    return clips


def run(*arguments: object) -> int:
    try:
        main(["probe", *map(str, arguments)])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_tables_files_and_pictures(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    functions = ("--function", "toy_metrics:moving_share", "--function", "toy_metrics:sharpness")
    assert run(folder, "--out", out, *functions, *OPTIONS, "standstill,blur,boil") == 0
    shown = capsys.readouterr().out
    for text in ("standstill", "sharpness", "Smallest strength detected", "minFPS", "harmless changes"):
        assert text in shown
    report = json.loads((out / "report.json").read_text())
    assert report["clips"] == [f"{n}.npy" for n in range(4)]
    rows = list(csv.DictReader((out / "curves.csv").open()))
    assert len(rows) == 2 * 3 * 2
    noticed = {(r["metric"], r["defect"]): r["noticed_from"] for r in rows}
    assert noticed["moving_share", "standstill"] == "0.5"
    assert noticed["moving_share", "boil"] == ""
    assert "| standstill | PAS |" in (out / "report.md").read_text()
    for picture in ("heatmap", "curves", "minfps"):
        assert (out / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
    assert {"invariances.csv", "minfps.csv"} <= {f.name for f in out.iterdir()}


def test_a_failure_is_told_and_ends_with_3(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken.npy").write_bytes(b"no array")
    options = ("--function", "toy_metrics:raises", "--no-charts", *OPTIONS, "blur")
    assert run(folder, "--out", tmp_path / "out", *options) == 3
    told = capsys.readouterr()
    assert "cannot bear blur" in told.err
    assert "broken.npy" in told.out
    assert not (tmp_path / "out" / "heatmap.png").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--metrics", "none"), "at least one metric"),
        (("--metrics", "beauty"), "beauty"),
        (("--defects", "blurr"), "blurr"),
        (("--strengths", "0,1"), "strengths"),
        (("--strengths", "much"), "numbers"),
        (("--metrics", "none", "--function", "toy_metrics:absent"), "absent"),
    ],
)
def test_wrong_usage_ends_with_2(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options, text
) -> None:
    assert run(folder, "--out", tmp_path / "out", *options) == 2
    assert text.lower() in capsys.readouterr().err.lower()


def _children(parent: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _lives(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children")


@pytest.mark.slow
@pytest.mark.skipif(not CHILDREN.exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_probe_goes_on_where_it_was(folder: Path, tmp_path: Path, jobs: int) -> None:
    arguments = [folder, "--function", "toy_metrics:stalls", "--no-charts", "--no-rates", *OPTIONS, "blur,noise"]
    out = tmp_path / "out"
    journal = out / "cases.jsonl"
    command = [sys.executable, "-m", "vmmetrics", "probe", "--out", out, "--jobs", jobs, *arguments]
    path = os.pathsep.join([str(Path(__file__).parents[2]), str(TOYS)])
    victim = subprocess.Popen(
        [str(a) for a in command], env={**os.environ, "PYTHONPATH": path, "STALLS_AT_FOUR": str(journal)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 4):
        time.sleep(0.02)
        assert victim.poll() is None
    workers = _children(victim.pid)
    assert len(workers) >= 2 * (jobs > 1)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    while any(map(_lives, workers)):
        time.sleep(0.02)
    before = journal.read_bytes().count(b"\n")
    total = 4 * (1 + 2 + 2 * 2)  # clean, mirror and brightness, two defects at two strengths
    assert 4 <= before < total
    assert run("--out", out, *arguments) == 0
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    cases = [(line["clip"], line["kind"], line["strength"]) for line in lines]
    assert len(cases) == len(set(cases)) == total
    if jobs > 1:
        return
    whole = tmp_path / "whole"
    assert run("--out", whole, *arguments) == 0
    assert (whole / "curves.csv").read_text() == (out / "curves.csv").read_text()
