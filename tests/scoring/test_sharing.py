"""Several processes, killed processes, several directories: nothing is lost and nothing is done twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.scoring.api import score
from vmmetrics.scoring.merge import merge
from vmmetrics.scoring.records import read_events, read_records

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("fake_suite"),
    pytest.mark.skipif(os.name != "posix", reason="kills processes"),
]
ROOT = Path(__file__).parents[2]


def start(tmp_path: Path, *arguments: object, log: str = "log") -> subprocess.Popen[str]:
    command = [sys.executable, str(Path(__file__).with_name("command.py")), str(tmp_path / log), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FAKE_SUITE_MEETING": str(tmp_path / "meeting")}
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )


def heed_interrupts() -> None:
    """A shell's background jobs ignore Ctrl-C and pass that on; the tests may be one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def contents(run: Path) -> dict[str, Any]:
    """What a run found, without how long it took."""
    return {
        r.clip: (r.sha256, r.scores, r.missing, r.errors, r.error, r.amplitude, read_events(run, r))
        for r in read_records(run)
    }


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_killed_at_any_moment_a_run_loses_the_clip_in_hand_and_half_a_second_at_most(
    make_clips: Any, tmp_path: Path
) -> None:
    clips, run = make_clips(*(f"slow{n:02d}" for n in range(9))), tmp_path / "run"
    rng = random.Random(5)
    killed_with: list[int] = []
    for _ in range(2):
        process = start(tmp_path, "score", clips, "--out", run)
        wait_until = count_lines(run / "scores.jsonl") + 1
        while count_lines(run / "scores.jsonl") < wait_until and process.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.35))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        killed_with.append(count_lines(run / "scores.jsonl"))
    assert killed_with == sorted(set(killed_with))  # every start got on from where the one before was
    finished = start(tmp_path, "score", clips, "--out", run)
    _, errors = finished.communicate(timeout=60)
    assert finished.returncode == 0, errors
    assert f"{killed_with[-1]} of 9 clips were scored before" in errors
    score(clips, out=tmp_path / "undisturbed")
    assert contents(run) == contents(tmp_path / "undisturbed")
    assert count_lines(run / "scores.jsonl") == 9
    started = Counter(line.split()[0] for line in (tmp_path / "log").read_text().splitlines())
    assert sum(started.values()) <= 9 + 2 * 2  # per kill the clip in hand, and one done in the half second before
    assert (run / "scores.csv").read_text().count("\n") == 10


def test_two_processes_share_one_directory(make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clips, run = make_clips(*(f"meet{n:02d}" for n in range(8))), tmp_path / "run"
    both = [start(tmp_path, "score", clips, "--out", run, "--jobs", 0, log=f"log{n}") for n in range(2)]
    outputs = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    mine, theirs = ((tmp_path / f"log{n}").read_text().splitlines() for n in range(2))
    assert len(mine) + len(theirs) == 8  # each clip once
    assert mine
    assert theirs
    assert count_lines(run / "scores.jsonl") == 8
    monkeypatch.setenv("FAKE_SUITE_MEETING", str(tmp_path / "meeting"))
    score(clips, out=tmp_path / "alone")
    assert contents(run) == contents(tmp_path / "alone")
    assert all("meet07.npy" in output for output, _ in outputs)  # both show the whole table


def test_a_partner_takes_over_what_a_killed_process_had_in_hand(make_clips: Any, tmp_path: Path) -> None:
    clips, run = make_clips(*(f"slow{n}" for n in range(6))), tmp_path / "run"
    both = [start(tmp_path, "score", clips, "--out", run, "--jobs", 0, log=f"log{n}") for n in range(2)]
    while count_lines(run / "scores.jsonl") < 2 and both[0].poll() is None:
        time.sleep(0.01)
    os.kill(both[0].pid, signal.SIGKILL)
    both[0].communicate()
    _, errors = both[1].communicate(timeout=60)
    assert both[1].returncode == 0, errors
    assert {r.clip for r in read_records(run)} == {f"slow{n}.npy" for n in range(6)}


def test_ctrl_c_keeps_what_was_scored(make_clips: Any, tmp_path: Path) -> None:
    clips, run = make_clips(*(f"slow{n:02d}" for n in range(30))), tmp_path / "run"
    process = start(tmp_path, "score", clips, "--out", run)
    while count_lines(run / "scores.jsonl") < 2 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the same command again to resume" in errors
    assert "Traceback" not in errors
    assert (run / "scores.csv").read_text().count("\n") == count_lines(run / "scores.jsonl") + 1 >= 3


def test_scores_do_not_depend_on_the_number_of_workers(make_clips: Any, tmp_path: Path) -> None:
    clips = make_clips("a", "b", "c", "badmss", "noone")
    for jobs in (0, 2):
        score(clips, out=tmp_path / str(jobs), jobs=jobs)
    assert contents(tmp_path / "0") == contents(tmp_path / "2")


def test_a_worker_that_dies_costs_its_clip_alone(make_clips: Any, tmp_path: Path) -> None:
    table = score(make_clips("a", "kill1", "b", "kill2", "c"), jobs=2, out=tmp_path / "run")
    by_name = {record.clip: record for record in table}
    assert [name for name, record in by_name.items() if record.failed] == ["kill1.npy", "kill2.npy"]
    assert "killed by signal SIGKILL" in (by_name["kill1.npy"].error or "")
    assert by_name["kill1.npy"].sha256 is not None  # it was read before it killed
    assert all(len(by_name[f"{n}.npy"].scores) == 4 for n in "abc")


def test_shards_together_are_the_whole(make_clips: Any, tmp_path: Path) -> None:
    clips = make_clips(*(f"m{n % 2}/c{n}" for n in range(11)))
    parts = [tmp_path / f"part{n}" for n in (1, 2, 3)]
    sizes = [len(score(clips, out=part, shard=(n, 3))) for n, part in enumerate(parts, 1)]
    assert sum(sizes) == 11
    assert min(sizes) >= 1
    score(clips, out=tmp_path / "whole")
    merged = merge(parts, tmp_path / "merged")
    assert merged.duplicates == merged.conflicts == ()
    assert contents(tmp_path / "merged") == contents(tmp_path / "whole")
    assert (tmp_path / "merged" / "scores.csv").exists()
    assert json.loads((tmp_path / "merged" / "run.json").read_text())["merged_from"] == [str(p) for p in parts]
    assert len(score(clips, out=tmp_path / "merged")) == 11  # a merged run is a run
    assert count_lines(tmp_path / "merged" / "scores.jsonl") == 11


def test_merging_fills_gaps_and_keeps_the_first(
    make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = make_clips("a", "badmss")
    score(clips, out=tmp_path / "one")
    monkeypatch.setenv("FAKE_SUITE_MENDED", "1")
    score(clips, out=tmp_path / "two")
    line = json.loads((tmp_path / "two" / "scores.jsonl").read_text().splitlines()[0])
    line["scores"]["pas"] += 0.5
    with (tmp_path / "two" / "scores.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    merged = merge([tmp_path / "one", tmp_path / "two"], tmp_path / "both")
    assert merged.duplicates == ("a.npy", "badmss.npy")
    assert merged.conflicts == ("a.npy",)
    assert merged.table[0].scores["pas"] == pytest.approx(line["scores"]["pas"] - 0.5)
    assert merged.table[1].errors == {}
    assert "mss" in merged.table[1].scores
    assert read_events(tmp_path / "both", merged.table[1])["mss"]["events"]


def test_runs_of_different_configurations_do_not_merge(make_clips: Any, tmp_path: Path) -> None:
    clips = make_clips("a")
    score(clips, out=tmp_path / "one")
    score(clips, out=tmp_path / "two", protocol="vmbench")
    with pytest.raises(SetupError, match=r"protocol: vmbench \(.*two\), vmmetrics \(.*one\)"):
        merge([tmp_path / "one", tmp_path / "two"], tmp_path / "both")
    assert not (tmp_path / "both").exists()
    with pytest.raises(SetupError, match="already exists"):
        merge([tmp_path / "one"], tmp_path / "two")
    with pytest.raises(SetupError, match="not a run directory"):
        merge([clips], tmp_path / "both")


def test_merging_names_damaged_events_and_takes_the_present_folder(
    make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = make_clips("a")
    score(clips, out=tmp_path / "one")
    with (tmp_path / "one" / "events.jsonl").open("ab") as file:
        file.write(b"x\n")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    merged = merge([tmp_path / "one"], Path())
    assert len(merged.warnings) == 1 and "events.jsonl line 2 is damaged" in merged.warnings[0]
    assert merged.table.label == "" or "preset" in merged.table.label
    assert (tmp_path / "here" / "scores.csv").exists() and merged.table.path == tmp_path / "here"
