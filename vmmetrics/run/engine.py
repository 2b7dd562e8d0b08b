"""Where tasks are worked on: in this process, or in worker processes that may die without taking the run along."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Protocol

from vmmetrics.errors import SetupError
from vmmetrics.run.settings import Settings
from vmmetrics.run.work import Outcome, Scorer, Task, explain

_GRACE_SECONDS = 2.0  # for a worker to leave by itself before it is killed


class Engine(Protocol):
    """Takes tasks and hands back outcomes, in whatever order they are done."""

    @property
    def free(self) -> int:
        """How many tasks can be submitted now."""
        ...

    @property
    def busy(self) -> int:
        """How many tasks are in work."""
        ...

    def submit(self, task: Task, following: Task | None = None) -> None:
        """Start on a task, of which ``following`` most likely comes after; call only while :attr:`free` is positive."""
        ...

    def collect(self, timeout: float | None = None) -> Sequence[Outcome]:
        """Wait for outcomes; empty where ``timeout`` seconds passed first."""
        ...

    def close(self) -> None:
        """Stop; tasks in work are dropped."""
        ...


class InProcess:
    """Works on one task at a time, right here.

    Args:
        scorer: Scores.
        ahead: Whether the following clip is read meanwhile.
    """

    def __init__(self, scorer: Scorer, ahead: bool = False) -> None:
        self._scorer = scorer
        self._ahead = ahead
        self._task: Task | None = None
        self._following: Task | None = None

    @property
    def free(self) -> int:
        """One, unless a task was submitted and not collected."""
        return 0 if self._task else 1

    @property
    def busy(self) -> int:
        """One, if a task was submitted and not collected."""
        return 1 if self._task else 0

    def submit(self, task: Task, following: Task | None = None) -> None:
        """Keep the task until it is collected."""
        self._task, self._following = task, following if self._ahead else None

    def collect(self, timeout: float | None = None) -> Sequence[Outcome]:  # noqa: ARG002
        """Score the task that was submitted."""
        task, self._task = self._task, None
        return [self._scorer.score(task, self._following)] if task else []

    def close(self) -> None:
        """Nothing to stop."""


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Connection
    task: Task | None = None
    following: Task | None = None


class Workers:
    """A fixed number of worker processes, each with its own models; a dead one is replaced.

    Args:
        settings: How they score.
        jobs: How many, at least 1.
        log: File that takes what the libraries in the workers print; None leaves it on stderr.
        ahead: Whether a single worker reads the following clip meanwhile; of several, another one takes it.
    """

    def __init__(self, settings: Settings, jobs: int, log: Path | None = None, ahead: bool = False) -> None:
        self._settings = settings
        self._ahead = ahead and jobs == 1
        self._log = log
        self._context = multiprocessing.get_context("spawn")  # forking a process with running threads can deadlock
        self._jobs = jobs
        self._workers: list[_Worker] = []  # started when there is work for them

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._settings, self._log), daemon=True)
        process.start()
        theirs.close()  # so that reading ends when the worker dies
        return _Worker(process, ours)

    @property
    def free(self) -> int:
        """Workers without a task, those not started yet included."""
        return self._jobs - self.busy

    @property
    def busy(self) -> int:
        """Workers with a task."""
        return sum(worker.task is not None for worker in self._workers)

    def submit(self, task: Task, following: Task | None = None) -> None:
        """Hand a task to a free worker."""
        worker = self._idle()
        worker.task, worker.following = task, following if self._ahead else None
        with contextlib.suppress(OSError):  # it died this moment: collect() will find the pipe closed
            worker.connection.send((worker.task, worker.following))

    def _idle(self) -> _Worker:
        for worker in self._workers:
            if worker.task is None:
                if worker.process.is_alive():
                    return worker
                self._workers.remove(worker)  # died between two clips: neither is to blame
                break
        self._workers.append(self._start())
        return self._workers[-1]

    def collect(self, timeout: float | None = None) -> Sequence[Outcome]:
        """Wait for at least one outcome.

        Raises:
            SetupError: A worker cannot load its models.
        """
        working = {worker.connection: worker for worker in self._workers if worker.task is not None}
        ready = [self._receive(working[c]) for c in wait(list(working), timeout) if isinstance(c, Connection)]
        return [outcome for outcome in ready if outcome is not None]

    def _receive(self, worker: _Worker) -> Outcome | None:
        task = worker.task
        assert task is not None  # noqa: S101  (only busy workers are waited for)
        worker.task = None
        try:
            answer = worker.connection.recv()
        except (EOFError, OSError):
            return self._bury(worker, task)
        if isinstance(answer, SetupError):
            raise answer
        assert isinstance(answer, Outcome)  # noqa: S101  (the only other thing a worker sends)
        return answer

    def _bury(self, worker: _Worker, task: Task) -> Outcome | None:
        worker.connection.close()
        worker.process.join()
        code = worker.process.exitcode
        self._workers.remove(worker)
        if worker.following is not None:
            self.submit(task)  # alone, to see which of the two clips it died on
            return None
        return Outcome(task, task.record(self._settings, error=_cause_of_death(code, self._log)))

    def close(self) -> None:
        """Stop the workers, the ones at work as well."""
        for worker in self._workers:
            worker.connection.close()
            if worker.task is not None:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join(_GRACE_SECONDS)
            if worker.process.exitcode is None:
                worker.process.kill()
                worker.process.join()


def _cause_of_death(code: int | None, log: Path | None) -> str:
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = str(-code)
        cause = f"killed by signal {name}"
        if -code == getattr(signal, "SIGKILL", None):
            cause += ", most likely for using too much memory: lower --max-memory or --jobs"
    else:
        cause = f"exit code {code}"
    return f"The worker process died on this clip ({cause})" + (f"; its last words are in {log}" if log else "")


def _work(connection: Connection, settings: Settings, log: Path | None) -> None:
    """Body of a worker: score what comes through the pipe until it closes, which the parent's death does as well."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    if log is not None:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(descriptor, sys.stderr.fileno() if sys.stderr else 2)
    if settings.threads is not None:
        import cv2  # this process is ours, and several of them share the machine

        cv2.setNumThreads(settings.threads)
    scorer = Scorer(settings)
    with contextlib.suppress(EOFError, OSError):
        while True:
            task, following = connection.recv()
            connection.send(_answer(scorer, task, following))


def _answer(scorer: Scorer, task: Task, following: Task | None) -> Outcome | SetupError:
    try:
        scorer.suite(task.metrics)
    except SetupError as error:
        return error
    except Exception as error:  # a broken installation, not the clip's fault
        return SetupError(f"The models cannot be loaded: {explain(error)}")
    return scorer.score(task, following)
