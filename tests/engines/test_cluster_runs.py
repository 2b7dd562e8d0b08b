"""Whole runs on a cluster, their drivers killed, stopped and doubled: the table is that of a run on one machine."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.engines.connection import Cluster
from vmmetrics.prompts.clips.makers import write_video
from vmmetrics.scoring.api import score
from vmmetrics.scoring.filtering import filter_clips
from vmmetrics.scoring.records import read_events, read_records
from vmmetrics.understanding.harness.running import read_answers
from vmmetrics.video import read_clip

pytestmark = pytest.mark.ray
COMMAND = Path(__file__).parents[1] / "scoring" / "command.py"
DATA = Path(__file__).parents[1] / "data"


def make_clips(folder: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        frames = (
            np.full((4, 16, 24, 3), 10 + number % 200, np.uint8) + np.arange(4, dtype=np.uint8)[:, None, None, None]
        )
        folder.mkdir(exist_ok=True)
        np.save(folder / f"{name}.npy", frames)
    return folder


def start(machines: Any, log: Path, *arguments: object) -> subprocess.Popen[str]:
    there = ("--engine", "ray", "--address", machines.address, "--cpus-per-job", 1)
    command = [sys.executable, COMMAND, log, "score", *arguments, *there]
    before = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    return subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before
    )  # fmt: skip


def contents(run: Path) -> dict[str, Any]:
    """What a run found: every field but those that say where, when and how fast."""
    left_out = ("seconds", "worker", "ended", "state")  # the state is none where a file was written a moment before
    records = {r.clip: {k: v for k, v in r.to_json().items() if k not in left_out} for r in read_records(run)}
    return {r.clip: (records[r.clip], read_events(run, r)) for r in read_records(run)}


def lines(run: Path) -> list[dict[str, Any]]:
    path = run / "scores.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for_lines(run: Path, number: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 150
    while len(lines(run)) < number and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_sample_clips_get_the_scores_that_they_get_here(machines: Any, tmp_path: Path) -> None:
    clips = tmp_path / "clips"
    clips.mkdir()
    for name in ("zeroscope/woman-walks-and-sits", "cogvideo/cars-drive-fast"):
        whole = read_clip((DATA / "samples" / name).with_suffix(".mp4"))
        write_video(clips / f"{name.replace('/', '-')}.mp4", whole.frames[4:16], whole.fps)
    here = score(clips, metrics=("mss", "pas", "tcs"), out=tmp_path / "here", jobs=1)
    there = score(
        clips, metrics=("mss", "pas", "tcs"), out=tmp_path / "there", jobs=2, cluster=Cluster(machines.address)
    )
    assert not here.failed and not there.failed and len(there) == 2
    assert contents(tmp_path / "here") == contents(tmp_path / "there")
    assert table(tmp_path / "here") == table(tmp_path / "there")
    assert {record.worker for record in here}.isdisjoint({record.worker for record in there})


def test_filters_decide_as_they_do_here(machines: Any, tmp_path: Path) -> None:
    clips = make_clips(tmp_path / "clips", "a", "b", "c")
    there = Cluster(machines.address)
    filter_clips(clips, "exposure_drift > 0", out=tmp_path / "here")
    filtered = filter_clips(clips, "exposure_drift > 0", out=tmp_path / "there", jobs=2, cluster=there)
    assert filtered.counts["kept"] == 3
    assert contents(tmp_path / "here") == contents(tmp_path / "there")
    files = [(tmp_path / run / "decisions.jsonl").read_text() for run in ("here", "there")]
    assert files[0] == files[1]


def table(run: Path) -> list[dict[str, str]]:
    with (run / "scores.csv").open(newline="") as file:
        return [{name: cell for name, cell in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def test_a_driver_killed_five_times_ends_with_the_same_table(machines: Any, tmp_path: Path, fake_suite: None) -> None:
    names = [*(f"slow{n:02d}" for n in range(40)), "raise1", "badmss1"]
    clips, run, rng = make_clips(tmp_path / "clips", *names), tmp_path / "run", random.Random(18)
    for _ in range(5):
        process = start(machines, tmp_path / "log", clips, "-o", run, "-j", 2)
        wait_for_lines(run, len(lines(run)) + 1, process)
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.communicate()
        ended = time.monotonic()
        while machines.workers():
            assert time.monotonic() < ended + 5
            time.sleep(0.1)
    process = start(machines, tmp_path / "log", clips, "-o", run, "-j", 2)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 3, errors
    score(clips, out=tmp_path / "here")
    assert contents(run) == contents(tmp_path / "here")
    tried = Counter(line["clip"] for line in lines(run))
    assert all(tried[f"slow{n:02d}.npy"] == 1 for n in range(40))  # a failed one once for each start that got to it


def test_two_drivers_share_one_directory(machines: Any, tmp_path: Path, fake_suite: None) -> None:
    clips, run = make_clips(tmp_path / "clips", *(f"slow{n:02d}" for n in range(60))), tmp_path / "run"
    both = [start(machines, tmp_path / f"log{n}", clips, "-o", run, "-j", 2) for n in range(2)]
    outputs = [process.communicate(timeout=90) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert Counter(line["clip"] for line in lines(run)) == Counter(f"slow{n:02d}.npy" for n in range(60))
    assert len({line["worker"] for line in lines(run)}) >= 3  # of both


def test_ctrl_c_lets_clips_at_work_end_and_a_second_one_does_not(machines: Any, tmp_path: Path) -> None:
    slow = make_clips(tmp_path / "slow", *(f"slow{n:02d}" for n in range(60)))
    process = start(machines, tmp_path / "log", slow, "-o", tmp_path / "run", "-j", 2)
    wait_for_lines(tmp_path / "run", 1, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "running clips have 10 s to finish" in errors and "run the same command again to resume" in errors
    assert "Traceback" not in errors
    assert (tmp_path / "run" / "scores.csv").read_text().count("\n") == len(lines(tmp_path / "run")) + 1 < 60
    hanging = make_clips(tmp_path / "hanging", "a", "hang1", "hang2")
    process = start(machines, tmp_path / "log", hanging, "-o", tmp_path / "hung", "-j", 1)
    wait_for_lines(tmp_path / "hung", 1, process)
    time.sleep(1)  # until the next one is at work
    process.send_signal(signal.SIGINT)
    time.sleep(1.5)
    assert process.poll() is None
    again = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert time.monotonic() - again < 6


def test_a_model_on_the_nodes_answers_what_it_answers_here(machines: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vmmetrics", "understand"]
    subprocess.run([*command, "synthetic", "-o", str(tmp_path / "s"), "--count", "6"], check=True, capture_output=True)
    asked = [
        *command,
        "run",
        "synthetic",
        "--data",
        str(tmp_path / "s"),
        "--model",
        "frame-reader",
        "--frames",
        "12 fps",
    ]
    there = ["--engine", "ray", "--address", machines.address, "-j", "2"]
    for place, more in (("here", []), ("there", there)):
        ran = subprocess.run([*asked, "-o", str(tmp_path / place), *more], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
    here, found = (read_answers(tmp_path / place)[0] for place in ("here", "there"))
    assert {key: replace(answer, seconds=0) for key, answer in here.items()} == {
        key: replace(answer, seconds=0) for key, answer in found.items()
    }
    configurations = [json.loads((tmp_path / p / "run.json").read_text())["configuration"] for p in ("here", "there")]
    assert len(here) > 3 and configurations[0] == configurations[1]


def test_a_lost_head_ends_the_run_with_what_there_is_and_the_next_goes_on(
    machines: Any, tmp_path: Path, fake_suite: None
) -> None:
    """The last test: the cluster has no head afterwards."""
    clips, run = make_clips(tmp_path / "clips", *(f"slow{n:03d}" for n in range(200))), tmp_path / "run"
    process = start(machines, tmp_path / "log", clips, "-o", run, "-j", 2)
    wait_for_lines(run, 3, process)
    lost = time.monotonic()
    machines.remove(machines.cluster.head_node)
    _, errors = process.communicate(timeout=55)
    assert process.returncode == 3, errors
    assert time.monotonic() - lost < 45
    assert "The head of the Ray cluster" in errors and "run the same command again to resume" in errors
    done = len(lines(run))
    assert (run / "scores.csv").read_text().count("\n") == done + 1
    score(clips, out=run, jobs=2)
    assert Counter(line["clip"] for line in lines(run)) == Counter(f"slow{n:03d}.npy" for n in range(200))
