"""A probe from clips to lines: what is in the journal is not done again, each line on the disk once it is made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vmmetrics.errors import SetupError
from vmmetrics.probe.metrics import Source, describe
from vmmetrics.probe.plan import Plan
from vmmetrics.probe.pool import Line, answers
from vmmetrics.probe.work import Work, head, key_of
from vmmetrics.run.atomic import write_json
from vmmetrics.run.journal import Journal
from vmmetrics.run.lock import JOURNAL, ByteLocks
from vmmetrics.run.provenance import decisive_versions, differences
from vmmetrics.run.work import Task, explain, identify

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
        jobs: Worker processes; 1 works in this process.
    """

    tasks: Sequence[Task]
    sources: Sequence[Source]
    plan: Plan
    jobs: int = 1

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
        with _opened(out, self.configuration()) as journal:
            # Errors are tried again: a full disk or too little memory may be mended by now.
            kept = {key_of(line): line for line in journal.read_new() if _is_line(line) and "error" not in line}
            keys = {work.key for work in wanted}
            before = [line for key, line in kept.items() if key in keys]
            return [*broken, *self._do(wanted, journal, listener, before)]

    def configuration(self) -> dict[str, Any]:
        """Return what every line depends on."""
        return {**self.plan.configuration([describe(s) for s in self.sources]), "versions": decisive_versions()}

    def _work(self) -> tuple[list[Work], list[Line]]:
        work, broken = [], []
        for task in self.tasks:
            cases = list(self.plan.cases())
            try:
                sha256 = identify(task)
            except OSError as error:
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
        for line in answers(todo, self.sources, self.plan, self.jobs):
            lines.append(line)
            if journal is not None:
                journal.append([line])
            if listener is not None:
                listener.advance(line)
        place = {work.key: number for number, work in enumerate(wanted)}
        return sorted(lines, key=lambda line: place[key_of(line)])


def _is_line(line: Line) -> bool:
    return {"clip", "sha256", "kind", "strength"} <= line.keys()


@contextmanager
def _opened(out: Path, configuration: dict[str, Any]) -> Iterator[Journal]:
    """The journal of a directory, made or gone on with, and nobody else's until the end."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        if not (out / HEADER).exists() and any(f for f in out.iterdir() if f.name not in (LOCK, LINES)):
            raise SetupError(f"{out} holds other files and no probe; choose an empty or new folder for --out")
        locks = ByteLocks(out / LOCK)
    except OSError as error:
        raise SetupError(f"Cannot write a probe to {out}: {error.strerror}") from error
    try:
        if not locks.try_acquire(JOURNAL):
            raise SetupError(f"Another process is probing into {out}")
        _join(out / HEADER, configuration)
        journal = Journal(out / LINES)
        journal.cut_torn_tail()
        yield journal
    finally:
        locks.close()


def _join(path: Path, configuration: dict[str, Any]) -> None:
    if path.exists():
        try:
            header = json.loads(path.read_text(encoding="utf-8"))
            before = header["configuration"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SetupError(f"{path} cannot be read: {error}") from error
        if header.get("format") != FORMAT:
            raise SetupError(f"{path} was written by another version of vmmetrics (format {FORMAT} expected)")
        different = differences(json.loads(json.dumps(configuration)), before)
        if different:
            raise SetupError(
                f"{path.parent} was probed with another configuration:\n  " + "\n  ".join(different)
                + "\nchoose another folder for --out"
            )  # fmt: skip
        return
    write_json(path, {"format": FORMAT, "configuration": configuration})
