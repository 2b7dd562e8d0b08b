"""What a session tells its listener."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from vmmetrics.scoring import session
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.scorer import Outcome
from vmmetrics.scoring.session import MemoryStore, Session
from vmmetrics.scoring.tasks import Task


class QuickEngine:
    """Returns from ``collect`` at once, with the outcome of its one task at the last call."""

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self._task: Task | None = None

    free = property(lambda self: 1 - self.busy)
    busy = property(lambda self: int(self._task is not None))
    slowest = property(lambda self: ("a", 1.0, None) if self._task else None)

    def submit(self, task: Task, following: Task | None = None) -> None:
        self._task = task

    def collect(self, timeout: float | None = None) -> Sequence[Outcome]:
        assert self._task is not None
        self._calls -= 1
        if self._calls:
            return []
        task, self._task = self._task, None
        return [Outcome(task, Record(task.clip, None, None, "0" * 64, "embedded", "vmmetrics"))]

    def close(self) -> None: ...


class Waiting:
    """A listener that keeps the names it is told to wait for."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def begin(self, total: int, settled: int) -> None: ...

    def warn(self, warnings: Sequence[str]) -> None: ...

    def advance(self, record: Record) -> None: ...

    def wait(self, name: str, seconds: float, share: float | None) -> None:
        self.names.append(name)


def test_the_slowest_clip_is_told_about_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Any = itertools.count(0, 0.125)
    monkeypatch.setattr(session, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    listener = Waiting()
    Session([Task("a", None, None, ("pas",))], QuickEngine(33), MemoryStore(), listener).run()
    assert len(listener.names) == 4  # 32 looks at the clock, 4 seconds
