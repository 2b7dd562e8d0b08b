"""Outcomes are written together: soon enough, in order, and once."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.scoring import directory as module
from vmmetrics.scoring.directory import RunDirectory
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import read_records
from vmmetrics.scoring.scorer import Outcome
from vmmetrics.scoring.session import Session
from vmmetrics.scoring.tasks import Task
from vmmetrics.utils.storage.journal import Journal

EVENTS: dict[str, Any] = {"pas": {"events": [], "series": {}}}


def record(number: int) -> Record:
    return Record(f"{number}.mp4", None, f"/x/{number}.mp4", "ab", "embedded", "vmmetrics", {"pas": 0.5})


def lines(run: Path) -> int:
    return (run / "scores.jsonl").read_bytes().count(b"\n") if (run / "scores.jsonl").exists() else 0


def test_sixty_four_are_written_with_two_syncs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, int]] = []
    write = Journal.write

    def spy(self: Journal, data: bytes) -> None:
        written.append((self.path.name, data.count(b"\n")))
        write(self, data)

    monkeypatch.setattr(Journal, "write", spy)
    with RunDirectory(tmp_path, {}, {}, delay=60) as run:
        for number in range(101):
            run.append(record(number), EVENTS)
        assert written[:2] == [("events.jsonl", 1), ("scores.jsonl", 1)]  # nothing was written just before
        assert written[2:] == [("events.jsonl", 64), ("scores.jsonl", 64)]
        assert run.newest("/x/100.mp4") == record(100)  # although it waits
    assert written[4:] == [("events.jsonl", 36), ("scores.jsonl", 36)]
    assert len(read_records(tmp_path)) == 101


class Slow:
    """An engine that is done with one clip at once and then, for as long as it is asked to wait, with none."""

    slowest = None
    free = property(lambda self: 2 - len(self.tasks))
    busy = property(lambda self: len(self.tasks))

    def __init__(self, run: Path) -> None:
        self.tasks: list[Task] = []
        self.run, self.seen, self.first = run, 0, 0.0

    def submit(self, task: Task, following: Task | None = None) -> None:
        self.tasks.append(task)

    def collect(self, timeout: float | None = None) -> Sequence[Outcome]:
        assert timeout is not None
        if len(self.tasks) == 2:
            self.first = time.monotonic()
            return [self._done()]
        time.sleep(timeout)
        if time.monotonic() - self.first < 0.8:
            return []
        self.seen = lines(self.run)
        return [self._done()]

    def _done(self) -> Outcome:
        task = self.tasks.pop(0)
        return Outcome(task, Record(task.clip, None, task.key, "ab", "embedded", "vmmetrics"), EVENTS)

    def close(self) -> None: ...


def test_a_slow_clip_keeps_no_other_from_the_disk(tmp_path: Path) -> None:
    engine = Slow(tmp_path)
    tasks = [Task(f"{n}", None, Path(f"/x/{n}"), ("pas",)) for n in range(2)]
    with RunDirectory(tmp_path, {}, {}) as run:
        Session(tasks, engine, run).run()
    assert engine.seen == 1  # the first was there before the second was done, 0.8 s later
    assert lines(tmp_path) == 2


def test_a_claim_is_held_until_the_outcome_is_on_the_disk(tmp_path: Path) -> None:
    with RunDirectory(tmp_path, {}, {}, delay=60) as run:
        run.append(record(0), EVENTS)  # is written at once: what follows waits
        assert run.claim("/x/1.mp4")
        run.append(record(1), EVENTS)
        run.release("/x/1.mp4")
        assert not run.claim("/x/1.mp4")
        run.commit()
        assert run.claim("/x/1.mp4")


def test_an_interrupted_commit_writes_no_line_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunDirectory(tmp_path, {}, {}, delay=60) as run:
        for number in range(4):  # the first is written at once
            run.append(record(number), EVENTS)
        fsync, calls = os.fsync, []

        def interrupt(descriptor: int) -> None:
            fsync(descriptor)
            calls.append(descriptor)
            if len(calls) == 2:  # of events.jsonl, and now of scores.jsonl
                raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr("vmmetrics.utils.storage.journal.os.fsync", interrupt)
            run.commit()
        assert lines(tmp_path) == 4
        run.append(record(4), EVENTS)
        run.commit()
        assert lines(tmp_path) == 5
    assert len(read_records(tmp_path)) == 5


def test_without_a_delay_each_is_written_at_once(tmp_path: Path) -> None:
    with RunDirectory(tmp_path, {}, {}, delay=0.0) as run:
        for number in range(3):
            run.append(record(number), EVENTS)
            assert lines(tmp_path) == number + 1
    assert module.GROUP_SECONDS == 0.5
