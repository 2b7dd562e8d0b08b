"""How far a run is, from its journal and ``run.json`` alone: nothing is locked, and others may go on writing."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from vmmetrics.scoring.header import read_run_json
from vmmetrics.utils.storage.journal import Journal

WINDOW_SECONDS = 600.0
"""Outcomes of so long ago make the rate."""
_UNKNOWN = "not recorded"  # who scored, in runs of earlier versions


@dataclass(frozen=True, slots=True)
class _Line:
    """Fields of a line of ``scores.jsonl`` that are counted."""

    clip: str
    path: str | None = None
    error: str | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    worker: str | None = None
    ended: str | None = None


@dataclass(slots=True)
class NodeStatus:
    """What one machine did.

    Attributes:
        node: Its name.
        processes: Processes that scored there.
        done: Clips whose newest record is from there, the failed ones included.
        failed: The failed ones.
        last: When the last of them ended, UTC, or None.
    """

    node: str
    processes: int = 0
    done: int = 0
    failed: int = 0
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class RunStatus:
    """How far a run is.

    Attributes:
        run: The directory.
        started: When its last session began.
        ended: Whether that did all it was started for; one at work, stopped or killed did not.
        clips: Clips of that session; None where it was not recorded.
        scored: Clips scored.
        failed: Clips that failed, or one of whose metrics did.
        per_minute: Clips a minute of the last :data:`WINDOW_SECONDS`, or of the session if it ended; None for none.
        last: When the last clip ended, or None.
        nodes: Machines, by name.
        warnings: What was found damaged, in words.
    """

    run: Path
    started: datetime
    ended: bool
    clips: int | None
    scored: int
    failed: int
    per_minute: float | None
    last: datetime | None
    nodes: tuple[NodeStatus, ...]
    warnings: tuple[str, ...] = ()

    @property
    def missing(self) -> int | None:
        """Clips without an outcome; None where it is not recorded how many there are."""
        return None if self.clips is None else max(0, self.clips - self.scored - self.failed)

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the missing clips take at the present rate; None where that is not known."""
        if not self.per_minute or self.missing is None or self.ended:
            return None
        return 60 * self.missing / self.per_minute


class StatusReader:
    """Reads a run again and again, each time what was added.

    Args:
        run: Run directory.

    Raises:
        SetupError: It is none.
    """

    def __init__(self, run: Path) -> None:
        read_run_json(run)
        self._run = run
        self._journal = Journal(run / "scores.jsonl")
        self._newest: dict[int, tuple[str, bool]] = {}  # hash of a clip's key: worker, and whether it failed
        self._last: dict[str, datetime] = {}  # of a worker
        self._recent: deque[datetime] = deque()

    def read(self, now: datetime | None = None) -> RunStatus:
        """Return how far the run is.

        Args:
            now: The time; None asks the clock.

        Raises:
            SetupError: The run was removed or is damaged.
        """
        now = datetime.now(UTC) if now is None else now
        session = read_run_json(self._run)["sessions"][-1:] or [{}]
        started = _time(session[0].get("started")) or now
        ended = _time(session[0].get("ended"))
        for line in self._journal.read_as(_Line):
            self._count(line)
        nodes = self._nodes()
        failed = sum(node.failed for node in nodes)
        scored = sum(node.done for node in nodes) - failed
        clips = session[0].get("clips")
        return RunStatus(
            self._run, started, ended is not None, None if clips is None else max(int(clips), scored + failed), scored,
            failed, self._per_minute(started, ended or now), max(self._last.values(), default=None), nodes,
            tuple(self._journal.warnings()),
        )  # fmt: skip

    def _count(self, line: _Line) -> None:
        worker = line.worker or _UNKNOWN
        self._newest[hash(line.path or line.clip)] = worker, line.error is not None or bool(line.errors)
        if (moment := _time(line.ended)) is not None:
            self._last[worker] = max(moment, self._last.get(worker, moment))
            self._recent.append(moment)

    def _per_minute(self, started: datetime, until: datetime) -> float | None:
        """Clips a minute, without those of earlier sessions."""
        begin = max(started, until - timedelta(seconds=WINDOW_SECONDS))
        while self._recent and self._recent[0] < begin:
            self._recent.popleft()
        lasted = (until - begin).total_seconds()
        return round(60 * len(self._recent) / lasted, 3) if self._recent and lasted > 0 else None

    def _nodes(self) -> tuple[NodeStatus, ...]:
        done = Counter(worker for worker, _ in self._newest.values())
        failed = Counter(worker for worker, broke in self._newest.values() if broke)
        nodes: dict[str, NodeStatus] = {}
        for worker in sorted({*done, *self._last}):
            name = worker.rpartition(":")[0] or worker
            node = nodes.setdefault(name, NodeStatus(name))
            node.processes += worker != _UNKNOWN
            node.done += done[worker]
            node.failed += failed[worker]
            moment = self._last.get(worker)
            node.last = moment if node.last is None or (moment and moment > node.last) else node.last
        return tuple(nodes.values())


def _time(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
