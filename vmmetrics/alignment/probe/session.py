"""A probe from clips to lines: what is in the journal is not done again, each line on the disk once it is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from vmmetrics.alignment.probe.metrics import Source, describe, load
from vmmetrics.alignment.probe.plan import Plan
from vmmetrics.alignment.probe.work import Work, answer, head, key_of
from vmmetrics.engines.pool import Note, Pool, checked_timeout
from vmmetrics.errors import ClipError, explain
from vmmetrics.scoring.work import Task, identify
from vmmetrics.utils.storage.job_folder import SoleFolder
from vmmetrics.utils.storage.journal import Journal
from vmmetrics.utils.storage.provenance import decisive_versions
from vmmetrics.video.reader import check_header

# Cases worked on here or in worker processes; one that brings its process down is named and passed over.

Line = dict[str, Any]


def answers(
    todo: Sequence[Work], sources: Sequence[Source], plan: Plan, jobs: int, timeout: float | None = None
) -> Iterator[Line]:
    """Yield the line of every case, in the order they are done.

    Args:
        todo: The cases, those of a clip one after another.
        sources: The metrics; functions must be importable by workers.
        plan: How.
        jobs: Worker processes; 0 works in this process.
        timeout: Seconds that a worker may spend on a case; None is :data:`~vmmetrics.engines.pool.DEFAULT_TIMEOUT`.

    Raises:
        ValueError: A timeout without workers, not above 0 or not finite.
        SetupError: A metric cannot run here.
    """
    bound = checked_timeout(timeout, jobs)
    if bound is None:
        yield from (answer(work, sources, plan) for work in todo)
        return
    # Workers get the cases once, and then numbers: a clip of arrays would go through the pipe with each of its cases.
    pool: Pool[int, Line] = Pool(partial(_CaseHandler, todo, sources, plan), jobs, bound)
    numbers = iter(range(len(todo)))
    try:
        while True:
            for number in islice(numbers, pool.free):
                pool.submit(number)
            if not pool.busy:
                return
            for result in pool.collect():
                yield result.answer or {**head(todo[result.item]), "error": result.failure, "seconds": result.seconds}
    finally:
        pool.close()


class _CaseHandler:
    """Does cases in a worker."""

    def __init__(self, todo: Sequence[Work], sources: Sequence[Source], plan: Plan) -> None:
        self._todo, self._sources, self._plan = todo, sources, plan

    def load(self, number: int) -> None:  # noqa: ARG002  (all cases need the same)
        for source in self._sources:
            load(source)

    def handle(self, number: int, note: Note) -> Line:  # noqa: ARG002
        return answer(self._todo[number], self._sources, self._plan)


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
