"""A run that is killed at any step at which it changes the disk goes on to the end as if nothing had been."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.reliability import durable, warm, watched
from tests.reliability.journals import faults_of_files, leftovers, parse_lines, scores_of, stuck_locks

pytestmark = pytest.mark.slow


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    folder = tmp_path / "clips"
    folder.mkdir()
    for number in range(3):
        frames = np.full((4, 16, 24, 3), 10 + 7 * number, np.uint8)
        np.save(folder / f"c{number}.npy", frames + np.arange(4, dtype=np.uint8)[:, None, None, None])
    return folder


def score(clips: Path, out: Path) -> int:
    """Score in this process; the number of clips that failed."""
    import vmmetrics.scoring.settings
    from vmmetrics.scoring.api import score

    vmmetrics.scoring.settings.SUITE = "fake_suite:FakeSuite"
    return len(score(clips, out=out).failed)


def score_and_die(clips: Path, out: Path, step: int) -> int:
    durable.kill_at(step)
    return score(clips, out)


def steps_of_score(clips: Path, out: Path) -> list[str]:
    steps = durable.count_steps()
    score(clips, out)
    return steps


def test_score_recovers_from_a_kill_at_every_step(clips: Path, tmp_path: Path) -> None:
    warm.import_what(lambda: score(clips, tmp_path / "first"))
    steps = watched.watched(lambda: steps_of_score(clips, tmp_path / "whole")).value
    assert len(steps) >= 40
    expected = scores_of(tmp_path / "whole")
    assert len(expected) == 3
    wrong = []
    for number, step in list(enumerate(steps, start=1))[::2]:
        out = tmp_path / f"at-{number}"
        killed = watched.watched(lambda out=out, number=number: score_and_die(clips, out, number))
        faults = [] if killed.code == -9 else [f"not killed: {killed.output[-200:]}"]
        finished = scores_of(out)
        faults += faults_of_files(out)
        resumed = watched.watched(lambda out=out: score(clips, out))
        faults += [] if resumed.value == 0 else [f"not resumed: {resumed.output[-200:]}"]
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
