"""A run that is killed at any step at which it changes the disk goes on to the end as if nothing had been."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.reliability import durable, watched
from tests.reliability.journals import faults_of_files, leftovers, parse_lines, scores_of, stuck_locks


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    folder = tmp_path / "clips"
    folder.mkdir()
    for number in range(3):
        frames = np.full((4, 16, 24, 3), 10 + 7 * number, np.uint8)
        np.save(folder / f"c{number}.npy", frames + np.arange(4, dtype=np.uint8)[:, None, None, None])
    return folder


def with_fake_suite() -> None:
    import vmmetrics.run.settings

    vmmetrics.run.settings.SUITE = "fake_suite:FakeSuite"


def score(clips: Path, out: Path, kill_at: int = 0) -> watched.Ended:
    def before() -> None:
        with_fake_suite()
        if kill_at:
            durable.kill_at(kill_at)

    return watched.run_command("score", clips, "--out", out, before=before)


def count(clips: Path, out: Path) -> list[str]:
    def work() -> list[str]:
        with_fake_suite()
        steps = durable.count_steps()
        watched.command(["score", clips, "--out", out])
        return steps

    return list(watched.watched(work).value)


def test_score_recovers_from_a_kill_at_every_step(clips: Path, tmp_path: Path) -> None:
    import vmmetrics.run.local  # noqa: F401  (once, for all the processes that are forked here)

    steps = count(clips, tmp_path / "whole")
    assert len(steps) >= 40
    expected = scores_of(tmp_path / "whole")
    assert len(expected) == 3
    wrong = []
    for number, step in enumerate(steps, start=1):
        out = tmp_path / f"at-{number}"
        killed = score(clips, out, number)
        faults = [] if killed.code == -9 else [f"not killed: {killed.output[-200:]}"]
        finished = scores_of(out)
        faults += faults_of_files(out)
        resumed = score(clips, out)
        faults += [] if resumed.value == 0 else [f"exit code {resumed.value}: {resumed.output[-200:]}"]
        faults += faults_of_files(out) + [f"left {name}" for name in leftovers(out)] + stuck_locks(out)
        if any(scores_of(out).get(clip) != record for clip, record in finished.items()) or scores_of(out) != expected:
            faults.append("other scores")
        if len(parse_lines(out / "scores.jsonl")[0]) != 3:
            faults.append("a clip was scored twice")
        if len((out / "scores.csv").read_text().splitlines()) != 4:
            faults.append("the table is not whole")
        if not {line["clip"] for line in parse_lines(out / "events.jsonl")[0]} >= set(expected):
            faults.append("events are missing")
        wrong += [f"step {number}, {step}: {fault}" for fault in faults]
    assert not wrong, "\n".join(wrong)
