"""A probe from clips to lines: what is in the journal is not done again, each line on the disk once it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from vmmetrics.errors import ClipError, explain
from vmmetrics.probe.metrics import Source, describe
from vmmetrics.probe.plan import Plan
from vmmetrics.probe.pool import Line, answers
from vmmetrics.probe.work import Work, head, key_of
from vmmetrics.run.folder import SoleFolder
from vmmetrics.run.journal import Journal
from vmmetrics.run.provenance import decisive_versions
from vmmetrics.run.work import Task, identify
from vmmetrics.video.reader import check_header

FORMAT = 1
"""Version of the layout, in ``probe.json``."""
HEADER, LINES, LOCK = "probe.json", "cases.jsonl", "probe.lock"


class Listener(Protocol):
    """Is told how a probe goes."""

    def begin(self, total: int, settled: int) -> None:
        """So many cases there are, and so many were done before."""
        ...

    def advance(self, line: Line) -> None:
        """A case is done."""
        ...


@dataclass(frozen=True, slots=True)
class Session:
    """What is probed, with what, and how.

    Attributes:
        tasks: The clips.
        sources: The metrics.
        plan: What is done to the clips.
        jobs: Worker processes; 0 works in this process.
        timeout: Seconds that a worker may spend on a case; None is an hour.
    """

    tasks: Sequence[Task]
    sources: Sequence[Source]
    plan: Plan
    jobs: int = 0
    timeout: float | None = None

    def run(self, out: Path | None, listener: Listener | None = None) -> list[Line]:
        """Do every case that is not done yet, and return the lines of all.

        Args:
            out: Directory to keep the lines in and to resume from; None keeps nothing.
            listener: Is told of every case.

        Raises:
            SetupError: ``out`` holds another probe, is in use or cannot be written; or a metric cannot run here.
        """
        wanted, broken = self._work()
        if out is None:
            return [*broken, *self._do(wanted, None, listener, [])]
        with _Folder(out, self.configuration()) as folder:
            # Errors are tried again: a full disk or too little memory may be mended by now.
            kept = {key_of(line): line for line in folder.lines if "error" not in line}
            keys = {work.key for work in wanted}
            before = [line for key, line in kept.items() if key in keys]
            return [*broken, *self._do(wanted, folder.journal, listener, before)]

    def configuration(self) -> dict[str, Any]:
        """Return what every line depends on."""
        return {**self.plan.configuration([describe(s) for s in self.sources]), "versions": decisive_versions()}

    def _work(self) -> tuple[list[Work], list[Line]]:
        work, broken = [], []
        for task in self.tasks:
            cases = list(self.plan.cases())
            try:
                if task.path is not None:
                    check_header(task.path, task.root)
                sha256 = identify(task)
            except (OSError, ClipError) as error:
                broken.append({**head(Work(task, "", cases[0])), "error": explain(error)})
                continue
            work += [Work(task, sha256, case) for case in cases]
        return work, broken

    def _do(
        self, wanted: Sequence[Work], journal: Journal | None, listener: Listener | None, before: list[Line]
    ) -> list[Line]:
        lines = list(before)
        settled = {key_of(line) for line in before}
        todo = [work for work in wanted if work.key not in settled]
        if listener is not None:
            listener.begin(len(wanted), len(before))
        for line in answers(todo, self.sources, self.plan, self.jobs, self.timeout):
            lines.append(line)
            if journal is not None:
                journal.append([line])
            if listener is not None:
                listener.advance(line)
        place = {work.key: number for number, work in enumerate(wanted)}
        return sorted(lines, key=lambda line: place[key_of(line)])


@dataclass(frozen=True, slots=True)
class _Case:
    """Fields of a line of the journal; a case that failed as a whole has no scores."""

    clip: str
    sha256: str
    kind: str
    strength: float
    scores: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    fps: float | None = None


class _Folder(SoleFolder):
    """The directory of a probe, nobody else's until the end."""

    HOLDS, RECORD, LOCK, FORMAT = "cases", HEADER, LOCK, FORMAT

    def _read(self) -> None:
        self.journal = Journal(self.path / LINES)
        self.lines = self._lines(self.journal, _Case)
