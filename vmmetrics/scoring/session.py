"""One session of a run: selects the clips to score, submits them and stores the outcomes."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import inf
from typing import Any, Protocol

from vmmetrics.errors import VMMetricsError
from vmmetrics.metrics.registry import in_order, label, version_of
from vmmetrics.scoring.directory import RunDirectory
from vmmetrics.scoring.engine import Engine
from vmmetrics.scoring.index import KEYS, Entry, input_hash, kind_of, state_text
from vmmetrics.scoring.pictures import Pictures
from vmmetrics.scoring.record import Record, State
from vmmetrics.scoring.tasks import Task, identify, state_of

_POLL_SECONDS = 0.2  # between two looks at clips that another process has in hand
_TICK_SECONDS = 1.0  # between two progress messages


class Listener(Protocol):
    """Callbacks for the progress of a session; all methods are required."""

    def begin(self, total: int, settled: int) -> None:
        """Called once with the number of clips and of those settled by an earlier session."""

    def warn(self, warnings: Sequence[str]) -> None:
        """Called with warnings, such as repairs of the run directory."""

    def advance(self, record: Record) -> None:
        """Called for every clip that was scored or failed."""

    def wait(self, name: str, seconds: float, share: float | None) -> None:
        """Called about every second with the slowest clip, or its loading of models.

        Args:
            name: The clip, or ``"loading models"``.
            seconds: Seconds so far.
            share: Share done, 0..1; None where it is not known.
        """


class MemoryStore:
    """Store of records in memory, with the interface of :class:`~vmmetrics.scoring.directory.RunDirectory`."""

    begun = 0

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}

    def begin(self, settled: int) -> None:
        """Do nothing: no other process reads the store."""

    def refresh(self) -> None:
        """Do nothing: no other process writes."""

    def claim(self, key: str) -> bool:  # noqa: ARG002
        """Return True: no other process claims clips."""
        return True

    def release(self, key: str) -> None:
        """Do nothing: no other process waits."""

    def check_names(self, clips: Mapping[str, str]) -> None:
        """Do nothing: the clips are those of one call."""

    def entries(self, keys: Sequence[str]) -> dict[str, Entry]:
        """Return the entries of clips."""
        return {key: Entry.of(self._records[key]) for key in keys if key in self._records}

    def newest(self, key: str) -> Record | None:
        """Return the record of a clip, or None."""
        return self._records.get(key)

    def records(self, keys: Iterable[str]) -> list[Record]:
        """Return the records of clips, in the order of their keys."""
        return [self._records[key] for key in keys]

    def append(self, record: Record, events: Mapping[str, Any], pictures: Pictures) -> Record:  # noqa: ARG002
        """Keep the record."""
        self._records[record.key] = record
        return record

    def note_state(self, key: str, sha256: str, state: State) -> None:
        """Do nothing: states are for later sessions."""

    def commit_due(self) -> float:
        """Nothing waits."""
        return inf

    def commit(self) -> None:
        """Nothing waits."""


class Session:
    """Scores tasks with an engine and stores every outcome.

    A clip is settled when each of its metrics is scored or missing for its present content, prompt, subject and
    tags, in the present version (:func:`vmmetrics.metrics.registry.version_of`).
    What failed before this session is tried once more; what fails during it, here or in a process that shares
    the store, is not.

    Args:
        tasks: The clips, each with all its metrics.
        engine: The engine.
        store: Store of the records.
        listener: Receives progress, or None.
        verify: Hash every clip, also where its file looks as it did when it was scored.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        engine: Engine,
        store: MemoryStore | RunDirectory,
        listener: Listener | None = None,
        verify: bool = False,
    ) -> None:
        self._tasks = tasks
        self._engine = engine
        self._store = store
        self._listener = listener
        self._verify = verify
        self._next_wait = time.monotonic() + _TICK_SECONDS
        self._current: dict[str, frozenset[str]] = {}  # the metrics of a kind whose scores mean what they would now

    def run(self) -> Sequence[Record]:
        """Score the tasks that are not settled; return the records of all, in the order of the tasks."""
        try:
            self._run()
            self._store.commit()
        except BaseException:  # Ctrl-C as well: scores so far are stored, and the cause is raised
            with contextlib.suppress(OSError, VMMetricsError):
                self._store.commit()
            raise
        self._store.refresh()  # raises where what was kept has been removed
        return self._store.records(task.key for task in self._tasks)

    def _run(self) -> None:
        pending = deque(self._pending())
        settled = len(self._tasks) - len(pending)
        self._store.begin(settled)
        if self._listener:
            self._listener.begin(len(self._tasks), settled)
        try:
            while pending or self._engine.busy:
                self._hand_out(pending)
                due = self._store.commit_due()
                if self._engine.busy:
                    # Clips claimed by other processes are checked after each result.
                    others = self._engine.free and pending
                    self._keep(min(_POLL_SECONDS if others else _TICK_SECONDS, due))
                    now = time.monotonic()
                    if self._listener and self._engine.slowest and now >= self._next_wait:
                        self._listener.wait(*self._engine.slowest)
                        self._next_wait = now + _TICK_SECONDS
                elif pending:
                    time.sleep(_POLL_SECONDS)
        except KeyboardInterrupt:
            self._drain()
            raise

    def _keep(self, seconds: float) -> None:
        """Wait for outcomes up to a timeout, and store them."""
        for outcome in self._engine.collect(seconds):
            record = self._store.append(outcome.record, outcome.events, outcome.pictures)
            self._store.release(outcome.task.key)
            self._tell(record)

    def _drain(self) -> None:
        """Store the outcomes of running tasks for as long as the engine grants; another interrupt stops them."""
        until = time.monotonic() + (seconds := self._engine.drain())
        if seconds and self._engine.busy and self._listener:
            self._listener.warn(
                [f"stopping: running clips have {seconds:g} s to finish; press Ctrl-C again to stop at once"]
            )
        while self._engine.busy and time.monotonic() < until:
            self._keep(_POLL_SECONDS)

    def _pending(self) -> Iterator[Task]:
        """Yield the tasks that are not settled."""
        rest = iter(self._tasks)
        changed: set[str] = set()
        clips = 0
        while block := list(islice(rest, KEYS)):
            self._store.check_names({task.key: task.clip for task in block})
            entries = self._store.entries([task.key for task in block])
            for task in block:
                entry = entries.get(task.key)
                if needed := self._metrics_to_score(task, entry):
                    metrics = set() if entry is None else (entry.settled - self._settled(entry)).intersection(needed)
                    changed |= metrics
                    clips += bool(metrics)
                    yield task
        if changed and self._listener:
            names = ", ".join(f"{label(metric)} (now version {version_of(metric)})" for metric in in_order(changed))
            number = "1 clip is" if clips == 1 else f"{clips} clips are"
            self._listener.warn([f"{number} scored again, because metric versions have changed: {names}"])

    def _hand_out(self, pending: deque[Task]) -> None:
        """Submit clips while a worker is free, except those that another process has claimed."""
        for _ in range(len(pending)):
            if not self._engine.free:
                return
            task = pending.popleft()
            if not self._store.claim(task.key):
                pending.append(task)
                continue
            self._store.refresh()
            metrics = self._metrics_to_score(task, self._store.entries([task.key]).get(task.key))
            if metrics:
                self._engine.submit(task.only(metrics), pending[0] if pending else None)
            else:  # another process was faster
                self._store.release(task.key)
                if (record := self._store.newest(task.key)) is not None:
                    self._tell(record)

    def _metrics_to_score(self, task: Task, entry: Entry | None) -> tuple[str, ...]:
        """Return the metrics that a clip still needs, given its entry."""
        if entry is None:
            return task.metrics
        tried_now = entry.offset >= self._store.begun
        if entry.failed and not tried_now:
            return task.metrics  # not read again to compare
        if not self._describes(entry, task):
            return task.metrics
        if entry.failed:
            return ()
        settled = self._settled(entry) | (entry.errors if tried_now else frozenset())
        return tuple(metric for metric in task.metrics if metric not in settled)

    def _settled(self, entry: Entry) -> frozenset[str]:
        """Return the metrics that need no more work: scored or missing, as they would be now."""
        if entry.kind not in self._current:
            versions = kind_of(entry.kind).versions.items()
            self._current[entry.kind] = frozenset(m for m, version in versions if version == version_of(m))
        return self._current[entry.kind]

    def _describes(self, entry: Entry, task: Task) -> bool:
        """Return True if an entry matches the clip's present content, prompt, subject and tags."""
        subject = None if task.subject is None else (task.subject.noun, task.subject.phrase)
        if entry.input != input_hash(task.prompt, subject, task.tags):
            return False
        if entry.sha256 is None:  # it was no clip, and is not hashed
            return entry.failed
        try:
            state, settled = state_of(task)
            if task.uri is not None:  # not read here; a list without states says: unchanged
                return state is None or state_text(state) == entry.state
            if state is not None and state_text(state) == entry.state and not self._verify:
                return True
            same = entry.sha256 == identify(task)
        except OSError:
            return False
        if same and settled and state is not None and state_text(state) != entry.state:
            self._store.note_state(task.key, entry.sha256, state)
        return same

    def _tell(self, record: Record) -> None:
        if self._listener:
            self._listener.advance(record)
