"""How far a run is, read beside whoever writes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.cli.main import main
from vmmetrics.errors import SetupError
from vmmetrics.scoring.api import score
from vmmetrics.scoring.status import StatusReader

START = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)


def write_run(run: Path, lines: list[dict[str, Any]], ended: str | None = None) -> None:
    run.mkdir(exist_ok=True)
    session = {"started": START.isoformat(), "ended": ended, "clips": 10}
    header = {"format": 1, "configuration": {}, "metrics": ["mss"], "sessions": [session]}
    (run / "run.json").write_text(json.dumps(header))
    (run / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def note(run: Path, **about: Any) -> None:
    header = json.loads((run / "run.json").read_text())
    header["sessions"][-1] |= about
    (run / "run.json").write_text(json.dumps(header))


def line(clip: str, worker: str, minutes: float, **more: Any) -> dict[str, Any]:
    return {
        "clip": clip,
        "path": f"/c/{clip}",
        "worker": worker,
        "ended": str(START + timedelta(minutes=minutes)),
        **more,
    }


def test_counts_rate_and_time_left_are_those_of_the_journal(tmp_path: Path) -> None:
    run = tmp_path / "run"
    lines = [
        line("a", "n1:7", -30),  # of an earlier session: done, but not of the rate
        line("b", "n1:7", 1, error="broken"),
        line("c", "n2:8", 2, errors={"mss": "broken"}),
        line("d", "n2:9", 3),
        line("b", "n2:9", 4),  # scored after all
        {"clip": "e", "path": "/c/e"},  # of an earlier version
    ]
    write_run(run, lines)
    reader = StatusReader(run)
    found = reader.read(START + timedelta(minutes=8))
    assert (found.clips, found.scored, found.failed, found.to_do, found.ended) == (10, 4, 1, 5, False)
    assert found.per_minute == 4 / 8
    assert found.seconds_left == 5 / (4 / 8) * 60
    assert found.last == START + timedelta(minutes=4)
    by_node = {node.node: (node.processes, node.done, node.failed) for node in found.nodes}
    assert by_node == {"n1": (1, 1, 0), "n2": (2, 3, 1), "not recorded": (0, 1, 0)}
    with (run / "scores.jsonl").open("a") as file:
        file.write(json.dumps(line("f", "n1:7", 14)) + "\n" + '{"clip": "torn')
    found = reader.read(START + timedelta(minutes=15))
    assert (found.scored, found.to_do) == (5, 4)
    assert found.per_minute == 1 / 10  # of the last ten minutes, of which only f is


def test_a_session_that_adds_clips_to_a_large_run_misses_them(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_run(run, [line(f"old{n}", "n1:7", -30, **({"error": "x"} if n < 2 else {})) for n in range(20)])
    size = (run / "scores.jsonl").stat().st_size
    reader = StatusReader(run)
    note(run, begin=None)  # what of its ten clips is settled is not known yet
    found = reader.read(START)
    assert (found.clips, found.scored, found.failed, found.to_do, found.ended) == (10, None, None, None, False)
    note(run, begin={"settled": 3, "offset": size})
    found = reader.read(START)
    assert (found.clips, found.scored, found.failed, found.to_do) == (10, 3, 0, 7)
    with (run / "scores.jsonl").open("a") as file:
        for clip, error in (("new", None), ("old0", None), ("old1", "again")):  # the failed ones are tried once more
            file.write(json.dumps(line(clip, "n2:8", 1, error=error)) + "\n")
    for each in (reader, StatusReader(run)):
        found = each.read(START + timedelta(minutes=2))
        assert (found.clips, found.scored, found.failed, found.to_do) == (10, 5, 1, 4)
        assert {node.node: (node.done, node.failed) for node in found.nodes} == {"n1": (18, 0), "n2": (3, 1)}
    note(run, ended=str(START + timedelta(minutes=2)))
    assert (reader.read(START + timedelta(minutes=3)).to_do, found.per_minute) == (0, 1.5)


def test_a_session_notes_what_was_settled_before_it(make_clips: Any, tmp_path: Path, fake_suite: None) -> None:
    clips, run = make_clips("a", "b", "c"), tmp_path / "run"
    score(clips, out=run)
    make_clips("d", folder="more")
    score([clips / "a.npy", tmp_path / "more"], out=run)
    found = StatusReader(run).read()
    assert (found.clips, found.scored, found.failed, found.to_do, found.ended) == (2, 2, 0, 0, True)
    assert sum(node.done for node in found.nodes) == 4


def test_a_node_whose_clock_is_ahead_does_not_raise_the_rate(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_run(run, [line("ahead", "fast:1", 300), *(line(str(n), "n:1", n) for n in range(60))])
    reader = StatusReader(run)
    for _ in range(2):
        found = reader.read(START + timedelta(minutes=59, seconds=30))
        assert found.per_minute == 1  # 50 to 59; all 61 when the first one kept the others from being left out
    assert reader.read(START + timedelta(minutes=305)).per_minute == 0.1


def test_status_of_a_run_that_another_process_has_open(
    make_clips: Any, tmp_path: Path, fake_suite: None, capsys: pytest.CaptureFixture[str]
) -> None:
    clips, run = make_clips("a", "raise1", "hang"), tmp_path / "run"
    command = [sys.executable, str(Path(__file__).with_name("command.py")), str(tmp_path / "log"), "score"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen([*command, str(clips), "-o", str(run)], env=environment, stderr=subprocess.PIPE)
    try:
        while not (run / "scores.jsonl").exists() or (run / "scores.jsonl").read_bytes().count(b"\n") < 1:
            assert process.poll() is None
            time.sleep(0.01)
        with pytest.raises(SystemExit) as ended:
            main(["status", str(run), "--format", "json"])
    finally:
        process.kill()
        process.communicate()
    shown = json.loads(capsys.readouterr().out)
    assert shown["ended"] is False and shown["clips"] == 3 and shown["to_do"] >= 1
    assert ended.value.code == (3 if shown["failed"] else 0)


def test_a_finished_run_misses_nothing(make_clips: Any, tmp_path: Path, fake_suite: None) -> None:
    score(make_clips("a", "b"), out=tmp_path / "run", jobs=1)
    found = StatusReader(tmp_path / "run").read()
    assert (found.ended, found.scored, found.to_do, found.seconds_left) == (True, 2, 0, None)
    assert sum(node.done for node in found.nodes) == 2 and found.nodes[0].node == os.uname().nodename
    with pytest.raises(SetupError, match="not a run directory"):
        StatusReader(tmp_path)
