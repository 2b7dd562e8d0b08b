"""Progress of a run, from its journal and ``run.json`` alone: takes no lock, so that the run can go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from vmmetrics.scoring.index import SCORES
from vmmetrics.scoring.records import read_run_json
from vmmetrics.utils.schema import convert_json
from vmmetrics.utils.storage.journal import Journal

WINDOW_SECONDS = 600.0
"""Seconds of outcomes over which the rate is taken."""
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
    """Clips scored by one machine.

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
    """Progress of a run.

    Attributes:
        run: The directory.
        started: When its last session began.
        ended: True if it finished; False while it runs, or after it was stopped or killed.
        clips: Clips of that session; None where it was not recorded.
        scored: Those of them that are scored, before it began or since; None until it knows what was scored before.
        failed: Those that failed since it began, or one of whose metrics did; None as for ``scored``.
        per_minute: Clips a minute of the last :data:`WINDOW_SECONDS`, or of the session if it ended; None for none.
        last: When the last clip ended, or None.
        nodes: Machines, by name.
        warnings: Texts on damaged lines.
    """

    run: Path
    started: datetime
    ended: bool
    clips: int | None
    scored: int | None
    failed: int | None
    per_minute: float | None
    last: datetime | None
    nodes: tuple[NodeStatus, ...]
    warnings: tuple[str, ...] = ()

    @property
    def to_do(self) -> int | None:
        """Clips without an outcome, 0 when the session has ended; None where it is not known how many there are."""
        if self.ended:
            return 0
        if self.clips is None or self.scored is None or self.failed is None:
            return None
        return max(0, self.clips - self.scored - self.failed)

    @property
    def seconds_left(self) -> float | None:
        """Seconds that those clips take at the present rate; None where that is not known."""
        if not self.per_minute or self.to_do is None or self.ended:
            return None
        return 60 * self.to_do / self.per_minute


class _Outcome(NamedTuple):
    """Fields of a clip's newest line that are counted; shared between clips."""

    worker: str
    failed: bool
    since: bool  # the session began


class StatusReader:
    """Reads a run again and again, each time what was added.

    Args:
        run: Run directory.

    Raises:
        SetupError: It is not a run directory.
    """

    def __init__(self, run: Path) -> None:
        read_run_json(run)
        self._run = run
        self._reset((0, None))

    def _reset(self, session: tuple[int, int | None]) -> None:
        """Begin to count anew for a session: its number, and where its lines begin."""
        self._session = session
        self._journal = Journal(self._run / SCORES)
        self._offset = self._lines = 0
        self._newest: dict[int, _Outcome] = {}  # by the hash of a clip's key: of a million clips some 80 MB
        self._counts: Counter[_Outcome] = Counter()
        self._shared: dict[_Outcome, _Outcome] = {}
        self._last: dict[str, datetime] = {}  # of a worker
        self._recent: list[datetime] = []

    def read(self, now: datetime | None = None) -> RunStatus:
        """Return the progress of the run.

        Args:
            now: The time; None asks the clock.

        Raises:
            SetupError: The run was removed or is damaged.
        """
        now = datetime.now(UTC) if now is None else now
        sessions = read_run_json(self._run)["sessions"]
        session = sessions[-1] if sessions else {}
        started = _time(session.get("started")) or now
        ended = _time(session.get("ended"))
        settled, offset = _begin_of(session)
        if (len(sessions), offset) != self._session:
            self._reset((len(sessions), offset))
        until = ended or now
        begin = max(started, until - timedelta(seconds=WINDOW_SECONDS))
        self._read_new(offset, begin)
        # outcomes of a node whose clock is ahead count from their time on
        self._recent = [moment for moment in self._recent if moment >= begin]
        recent, lasted = sum(moment <= until for moment in self._recent), (until - begin).total_seconds()
        scored = failed = clips = None
        if settled is not None:
            done = sum(number for outcome, number in self._counts.items() if outcome.since)
            failed = sum(number for outcome, number in self._counts.items() if outcome.since and outcome.failed)
            scored = settled + done - failed
        if session.get("clips") is not None:
            clips = max(int(session["clips"]), (scored or 0) + (failed or 0))
        return RunStatus(
            self._run, started, ended is not None, clips, scored, failed,
            round(60 * recent / lasted, 3) if recent and lasted > 0 else None,
            max(self._last.values(), default=None), self._nodes(), tuple(self._journal.warnings()),
        )  # fmt: skip

    def _read_new(self, offset: int | None, begin: datetime) -> None:
        """Count the lines that were added, and keep when those ended that count for the rate."""
        for raw in self._journal.raw_lines(self._offset):
            self._offset, self._lines = raw.end, self._lines + 1
            try:
                line = convert_json(_Line, raw.text)
            except ValueError as error:
                self._journal.damaged.append((self._lines, str(error)))
                continue
            worker = line.worker or _UNKNOWN
            failed = line.error is not None or bool(line.errors)
            self._count(
                hash(line.path or line.clip), _Outcome(worker, failed, offset is not None and raw.start >= offset)
            )
            if (moment := _time(line.ended)) is not None:
                self._last[worker] = max(moment, self._last.get(worker, moment))
                if moment >= begin:
                    self._recent.append(moment)

    def _count(self, key: int, outcome: _Outcome) -> None:
        if (before := self._newest.get(key)) is not None:
            self._counts[before] -= 1
        outcome = self._shared.setdefault(outcome, outcome)
        self._newest[key] = outcome
        self._counts[outcome] += 1

    def _nodes(self) -> tuple[NodeStatus, ...]:
        done: Counter[str] = Counter()
        failed: Counter[str] = Counter()
        for outcome, number in self._counts.items():
            done[outcome.worker] += number
            failed[outcome.worker] += number * outcome.failed
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


def _begin_of(session: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the clips settled before a session (None if unknown), and the offset at which its lines begin."""
    begin = session.get("begin", {"settled": 0, "offset": 0})
    numbers = (begin.get("settled"), begin.get("offset")) if isinstance(begin, Mapping) else ()
    settled, offset = (n if type(n) is int and n >= 0 else None for n in numbers or (None, None))
    return (settled, offset) if settled is not None and offset is not None else (None, None)


def _time(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
