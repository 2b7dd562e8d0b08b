"""One session of a run: what is left to do, done, and kept, clip by clip."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from vmmetrics.scoring.directory import RunDirectory
from vmmetrics.scoring.engine import Engine
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.work import Task, identify

_POLL_SECONDS = 0.2  # between two looks at clips that another process has in hand
_TICK_SECONDS = 1.0  # between two words about the clip that has been at work longest


class Listener(Protocol):
    """Is told how a session goes; needs every one of these methods."""

    def begin(self, total: int, settled: int) -> None:
        """There are ``total`` clips, ``settled`` of them scored by an earlier session."""

    def warn(self, warnings: Sequence[str]) -> None:
        """The run directory has been found damaged, and mended."""

    def advance(self, record: Record) -> None:
        """A clip was scored or failed."""

    def wait(self, name: str, seconds: float) -> None:
        """Called about every second: the slowest clip, or loading its models, has been at work for ``seconds``."""


class MemoryStore:
    """Keeps records as a run directory does, for as long as the process lives; nobody else to share with."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}

    def refresh(self) -> None:
        """Nobody else writes."""

    def claim(self, key: str) -> bool:  # noqa: ARG002
        """Nobody else claims."""
        return True

    def release(self, key: str) -> None:
        """Nobody else waits."""

    def append(self, record: Record, events: Mapping[str, Any]) -> Record:  # noqa: ARG002
        """Keep the record."""
        self.records[record.key] = record
        return record


class Session:
    """Works through tasks with an engine and keeps every outcome.

    A clip is settled when each metric wanted is scored or missing for its present content, prompt, subject and
    tags. What failed before this session began is tried once more; what fails during it, here or in a process that
    shares the store, is not.

    Args:
        tasks: The clips, each with every metric wanted.
        engine: Who scores.
        store: Who keeps.
        listener: Who is told, or None.
    """

    def __init__(
        self, tasks: Sequence[Task], engine: Engine, store: MemoryStore | RunDirectory, listener: Listener | None = None
    ) -> None:
        self._tasks = tasks
        self._engine = engine
        self._store = store
        self._listener = listener
        self._earlier = dict(store.records)
        self._next_wait = time.monotonic() + _TICK_SECONDS

    def run(self) -> list[Record]:
        """Score what is not settled; return the record of every task, in the order of the tasks."""
        pending = deque(task for task in self._tasks if self._wanted(task))
        if self._listener:
            self._listener.begin(len(self._tasks), len(self._tasks) - len(pending))
        try:
            while pending or self._engine.busy:
                self._hand_out(pending)
                if self._engine.busy:
                    # Clips that others have in hand are looked at again whenever something of ours is done.
                    others = self._engine.free and pending
                    self._keep(_POLL_SECONDS if others else _TICK_SECONDS)
                    self._tell_slowest()
                elif pending:
                    time.sleep(_POLL_SECONDS)
        except KeyboardInterrupt:
            self._drain()
            raise
        self._store.refresh()  # raises where what was kept has been removed
        return [self._store.records[task.key] for task in self._tasks]

    def _keep(self, seconds: float) -> None:
        """Wait so long for outcomes, and keep them."""
        for outcome in self._engine.collect(seconds):
            record = self._store.append(outcome.record, outcome.events)
            self._store.release(outcome.task.key)
            self._tell(record)

    def _drain(self) -> None:
        """Keep what is at work, as long as the engine grants; another interrupt ends that."""
        until = time.monotonic() + (seconds := self._engine.drain())
        if seconds and self._engine.busy and self._listener:
            self._listener.warn([f"stopping: clips at work have {seconds:g} s to end; Ctrl-C again stops at once"])
        while self._engine.busy and time.monotonic() < until:
            self._keep(_POLL_SECONDS)

    def _hand_out(self, pending: deque[Task]) -> None:
        """Submit clips while a worker is free, passing over those that another process has in hand."""
        for _ in range(len(pending)):
            if not self._engine.free:
                return
            task = pending.popleft()
            if not self._store.claim(task.key):
                pending.append(task)
                continue
            self._store.refresh()
            wanted = self._wanted(task)
            if wanted:
                self._engine.submit(task.only(wanted), pending[0] if pending else None)
            else:  # another process was faster
                self._store.release(task.key)
                self._tell(self._store.records[task.key])

    def _wanted(self, task: Task) -> tuple[str, ...]:
        """The metrics that a clip still needs."""
        record = self._store.records.get(task.key)
        if record is None:
            return task.metrics
        tried_now = record is not self._earlier.get(task.key)
        if record.error is not None and not tried_now:
            return task.metrics  # not read again to compare
        if not _describes(record, task):
            return task.metrics
        if record.error is not None:
            return ()
        settled = record.settled() | (set(record.errors) if tried_now else set())
        return tuple(metric for metric in task.metrics if metric not in settled)

    def _tell_slowest(self) -> None:
        now = time.monotonic()
        if self._listener and self._engine.slowest and now >= self._next_wait:
            self._listener.wait(*self._engine.slowest)
            self._next_wait = now + _TICK_SECONDS

    def _tell(self, record: Record) -> None:
        if self._listener:
            self._listener.advance(record)


def _describes(record: Record, task: Task) -> bool:
    """Whether a record is of the clip as it is now: content, prompt, subject and tags."""
    subject = None if task.subject is None else (task.subject.noun, task.subject.phrase)
    theirs = None if record.subject is None else (record.subject.get("noun"), record.subject.get("phrase"))
    if (record.prompt, theirs) != (task.prompt, subject) or record.tags != task.tags:
        return False
    if record.sha256 is None:  # it was no clip, and is not hashed
        return record.error is not None
    try:
        return record.sha256 == identify(task)
    except OSError:
        return False
