"""Exit codes and last lines of what a pipeline runs."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scoring.stored_runs import clip, write

COMMAND = Path(__file__).parents[1] / "scoring" / "command.py"
ROOT = Path(__file__).parents[2]


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    search = os.pathsep.join([str(ROOT), str(COMMAND.parent)])
    environment = {**os.environ, "PYTHONPATH": search, "COLUMNS": "120"}
    command = [sys.executable, str(COMMAND), str(folder / "log"), *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_mean_under_a_threshold_ends_with_4_after_the_table(vmmetrics: Any, make_clips: Any, capsys: Any) -> None:
    make_clips("a/1", "a/noone", "b/1", "b/noone")  # OIS of the first of each: 13 and 27 of 255
    score = ("score", "clips", "--metrics", "ois", "--out", "run", "--fail-under")
    assert vmmetrics(*score, "OIS=0.1") == 4
    out, err = capsys.readouterr()
    assert "a/1.npy" in out
    assert err.splitlines()[-2:] == [  # a missing OIS is no failure
        "failed: OIS of a 0.0510 over 1 of 2 clips, 0.0490 under 0.1",
        "passed: OIS of b 0.1059 over 1 of 2 clips, 0.0059 above 0.1",
    ]
    assert vmmetrics(*score, "ois=0.05") == 0
    assert vmmetrics(*score, "pas=0.05") == 2
    assert "which are scored" in capsys.readouterr().err
    make_clips("a/raise", "c/1")
    for least, code in (("0.05", 3), ("0.06", 4)):  # of a threshold and a failure, the threshold
        assert vmmetrics(*score, f"ois={least}", "--fail-missing", "0.34") == code
        assert "1 of 6 clips failed" in capsys.readouterr().err
    assert vmmetrics(*score, "ois=0.05") == 4
    assert "failed: 1 of 3 clips of a failed in OIS; allowed: 10% (--fail-missing)" in capsys.readouterr().err


def test_two_runs_are_compared_and_a_worse_one_ends_with_4(
    vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: Any
) -> None:
    names = [f"{n}" for n in range(8)]
    for name, value in (("old", 40), ("dim", 10)):
        make_clips(*names, folder=name, value=value)
        assert vmmetrics("score", name, "--metrics", "mss,pas", "--out", f"runs/{name}") == 0
    capsys.readouterr()
    assert vmmetrics("diff", "runs/old", "runs/dim", "--fail-if-worse", "mss") == 4
    out, err = capsys.readouterr()
    assert "8 clips in both runs, paired 8 by name; 0 of them the same file" in out
    assert err == "failed: worse in MSS −0.118 [−0.118, −0.118] over 8 clips, p 0.008\n"
    assert vmmetrics("diff", "runs/dim", "runs/old", "--fail-if-worse", "any") == 0
    assert capsys.readouterr().err.startswith("passed: not shown to be worse in any metric: MSS +0.118")
    (tmp_path / "elsewhere").mkdir()
    assert vmmetrics("diff", "runs/old", "elsewhere") == 2
    assert capsys.readouterr().err == "vmmetrics: error: elsewhere is not a run directory: it has no run.json\n"
    assert vmmetrics("score", "old", "--metrics", "mss", "--protocol", "vmbench", "--out", "runs/other") == 0
    assert vmmetrics("diff", "runs/old", "runs/other") == 2
    assert "protocol: vmmetrics (runs/old), vmbench (runs/other)" in capsys.readouterr().err


def test_collapsed_clips_are_zero_or_skipped_by_a_gate(
    vmmetrics: Any, make_clips: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SUITE_CAS", "1")
    make_clips("1", "2", "still1", "still2", value=230)
    score = ("score", "clips", "--out", "run", "--fail-under", "INDEX=0.5", "--fail-missing", "0")
    assert vmmetrics(*score) == vmmetrics(*score, "--collapsed", "zero") == 4
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("failed: INDEX 0.4") and "over 4 of 4 clips, with 2 collapsed as 0" in line
    assert vmmetrics(*score, "--collapsed", "skip") == 0
    assert "over 2 of 4 clips" in capsys.readouterr().err.splitlines()[-1]


def test_collapsed_and_missing_clips_of_two_runs(vmmetrics: Any, tmp_path: Path, capsys: Any) -> None:
    scores = {"cas": 0.512, "mss": 1.0}
    reasons = {"good": None, "still": "nothing moves: all 9 frames show the same image", "short": "one frame"}
    for name, reason in reasons.items():
        missing = {} if reason is None else {"scores": {}, "missing": dict.fromkeys(scores, reason)}
        records = [clip(f"{n}.mp4", scores, f"prompt {n}") for n in range(8)]
        write(tmp_path / name, [replace(record, **missing) for record in records[:6]] + records[6:])
    write(tmp_path / "dead", [clip("0.mp4", {}, "prompt 0", error="empty"), *records[1:]])

    def ran(*arguments: str) -> tuple[int, str]:
        code = vmmetrics(*arguments)
        return code, capsys.readouterr().err

    still = ("diff", "good", "still", "--fail-if-worse", "INDEX")
    for zero in (still, (*still, "--collapsed", "zero")):
        code, said = ran(*zero)
        assert code == 4 and said.startswith("failed: worse in INDEX, collapsed as 0 −0.480")
    assert ran(*still, "--collapsed", "skip")[0] == ran(*still[:3], "--fail-missing", "0")[0] == 0
    assert ran("diff", "still", "still", "--fail-if-worse", "INDEX")[0] == 0

    short = ("diff", "good", "short")
    assert ran(*short) == (0, "")
    for more in (("--fail-missing", "0.7"), ("--fail-if-worse", "INDEX"), ("--fail-if-worse", "any")):
        code, said = ran(*short, *more)
        assert code == 4 and said.startswith("failed: INDEX missing now in 6 of 8 clips: 0.mp4, "), said
    assert ran(*short, "--fail-missing", "0.75")[1].startswith("passed: INDEX missing now in 6 of 8 clips: ")
    assert ran(*short, "--fail-if-worse", "INDEX", "--fail-missing", "0.75")[0] == 0

    dead = ("diff", "good", "dead", "--fail-if-worse")
    codes = [ran(*dead, metric, "--fail-missing", most)[0] for metric in ("INDEX", "mss") for most in ("0.12", "0.13")]
    assert codes == [4, 0, 4, 4]  # of INDEX a share may fail, of a metric that is named none
    write(tmp_path / "mss", [clip("0.mp4", {"mss": 1.0}, "prompt 0")])
    code, said = ran("diff", "good", "mss", "--fail-missing", "0.5")
    assert code == 2 and "--fail-missing: it counts clips without an INDEX" in said


def test_a_leaderboard_ranks_with_or_without_the_collapsed(vmmetrics: Any, tmp_path: Path, capsys: Any) -> None:
    still = dict.fromkeys(("cas", "mss"), "nothing moves: all 9 frames show the same image")
    records = [clip(f"steady/{n}.mp4", {"cas": 0.343, "mss": 1.0}, f"p{n}") for n in range(4)]
    records += [clip(f"bright/{n}.mp4", {"cas": 0.512, "mss": 1.0}, f"p{n}") for n in range(2)]
    records += [clip(f"bright/{n}.mp4", {}, f"p{n}", missing=still) for n in (2, 3)]
    write(tmp_path / "run", records)
    ranked = {"zero": ("steady", "INDEX, collapsed as 0"), "skip": ("bright", "INDEX")}
    for collapsed, (best, by) in ranked.items():
        assert vmmetrics("leaderboard", "run", "--no-published", "--collapsed", collapsed) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert f"1. {best}" in shown and f"ranked by {by}." in shown


@pytest.mark.usefixtures("fake_suite")
def test_a_run_says_what_it_looks_for_and_how_long_a_clip_took(make_clips: Any, tmp_path: Path) -> None:
    make_clips("1", "2")
    lines = ran(tmp_path, "score", "clips", "--metrics", "pas", "--out", "run").stderr.splitlines()
    assert lines[0] == "finding clips in clips ..."
    assert [line for line in lines if line.startswith("2 clips in 0:0") and line.endswith("s a clip (median)")]


def test_the_commands_of_the_page_can_be_run(vmmetrics: Any, make_clips: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SUITE_CAS", "1")
    page = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    commands = [line.strip().removeprefix("- run: ") for line in page.splitlines() if " vmmetrics " in line]
    commands = [command.split() for command in commands if command.startswith("vmmetrics ")]
    make_clips("1", "2", folder="samples")
    for name in ("runs/main", "runs/step-1000"):
        assert vmmetrics("score", "samples", "--out", name) == 0
    codes = [(command[1], vmmetrics(*command[1:])) for command in commands]
    assert codes == [("score", 4), ("diff", 0), ("score", 4), ("diff", 0)]  # the clips score 0.08
