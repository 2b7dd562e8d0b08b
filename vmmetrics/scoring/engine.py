"""Execution of tasks: in this process, or in worker processes whose death does not end the run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from vmmetrics.engines.cluster import RayPool
from vmmetrics.engines.connection import Cluster
from vmmetrics.engines.pool import Note, Pool, Result
from vmmetrics.scoring.pictures import Pictures
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.scorer import Outcome, Scorer
from vmmetrics.scoring.settings import Scoring, Settings
from vmmetrics.scoring.tasks import Task
from vmmetrics.utils.storage.remote import check_address
from vmmetrics.utils.tensors import DEVICE_VARIABLE

_Item = tuple[Task, Task | None]
_Answer = tuple[Record, Mapping[str, Any], Pictures]  # without the task, which may hold the frames of an array
ClipPool = Pool[_Item, _Answer] | RayPool[_Item, _Answer]
"""Worker processes of this machine, or workers of a cluster."""


class Engine(Protocol):
    """Takes tasks while :attr:`free` is positive, and returns outcomes in the order they are done."""

    @property
    def free(self) -> int:
        """Number of tasks that can be submitted now."""

    @property
    def busy(self) -> int:
        """Number of tasks submitted and not yet collected."""

    @property
    def slowest(self) -> tuple[str, float, float | None] | None:
        """Name of the clip that has been scored or loading longest, its seconds and share done; None if unknown."""

    def submit(self, task: Task, following: Task | None = None) -> None:
        """Take a task, of which ``following`` most likely comes after; call only while :attr:`free` is positive."""

    def collect(self, timeout: float | None = None) -> Sequence[Outcome]:
        """Wait until something is done, up to ``timeout`` seconds; may be empty.

        Raises:
            SetupError: The models cannot be loaded.
        """

    def drain(self) -> float:
        """Take no more tasks, and return the seconds that running ones get until :meth:`close`."""

    def close(self) -> None:
        """Stop running tasks."""


def _is_remote(task: Task | None) -> bool:
    return task is not None and task.uri is not None


class InProcess:
    """Scores one task at a time, in this process.

    Args:
        scorer: Scores.
        ahead: True if the following clip is read meanwhile.
    """

    def __init__(self, scorer: Scorer, ahead: bool = False) -> None:
        self._scorer = scorer
        self._ahead = ahead
        self._task: Task | None = None
        self._following: Task | None = None

    slowest = None
    """Not known while scoring in this process."""

    @property
    def free(self) -> int:
        """One, unless a task was submitted and not collected."""
        return 1 - self.busy

    @property
    def busy(self) -> int:
        """One, if a task was submitted and not collected."""
        return int(self._task is not None)

    def submit(self, task: Task, following: Task | None = None) -> None:
        """Keep the task until it is collected."""
        self._task, self._following = task, following if self._ahead or _is_remote(following) else None

    def collect(self, timeout: float | None = None) -> Sequence[Outcome]:  # noqa: ARG002
        """Score the task that was submitted."""
        task, self._task = self._task, None
        return [self._scorer.score(task, self._following)] if task else []

    def drain(self) -> float:
        """Nothing is at work between two calls."""
        return 0.0

    def close(self) -> None:
        """Nothing to stop."""


def whole_configuration(settings: Settings, suite: Scoring) -> dict[str, Any]:
    """Return the configuration that scores depend on, that of single metrics included."""
    return {**settings.configuration(suite), "parts": dict(settings.parts(suite))}


class _ClipHandler:
    """Scorer of clips in a worker; ``addresses`` has an example of each kind of remote address, to check first."""

    def __init__(self, settings: Settings, addresses: Sequence[str] = ()) -> None:
        if settings.threads is not None:
            import cv2  # this process is ours, and several of them share the machine

            cv2.setNumThreads(settings.threads)
        self._settings, self._addresses = settings, addresses
        self._scorer = Scorer(settings)

    def configuration(self) -> Mapping[str, Any]:
        """Check that clips can be fetched, and load the models; return what scores depend on here."""
        for address in self._addresses:
            check_address(address)
        if self._addresses:
            self._settings.scratch.sweep()
        return whole_configuration(self._settings, self._scorer.suite(self._settings.metrics))

    def load(self, item: _Item) -> None:
        self._scorer.suite(item[0].metrics)

    def ahead(self, item: _Item) -> None:
        self._scorer.read_ahead(item[0])

    def handle(self, item: _Item, note: Note) -> _Answer:
        task, following = item
        outcome = self._scorer.score(task, following, note)
        return outcome.record, outcome.events, outcome.pictures


class Workers:
    """Workers, each with its own models; one that dies or takes too long is replaced.

    Args:
        settings: How they score.
        pool: The workers.
        alone: True if there is a single worker, which then gets the following clip too; of several, another takes it.
        ahead: True if it reads that clip meanwhile; clips from addresses are fetched ahead in any case.
    """

    def __init__(self, settings: Settings, pool: ClipPool, *, alone: bool = False, ahead: bool = False) -> None:
        self._settings = settings
        self._alone, self._ahead = alone, ahead
        self._pool = pool

    @property
    def free(self) -> int:
        """Tasks that the workers would take now, those not started yet included."""
        return self._pool.free

    @property
    def busy(self) -> int:
        """Tasks submitted and not collected."""
        return self._pool.busy

    @property
    def slowest(self) -> tuple[str, float, float | None] | None:
        """Name, seconds and share done of the clip longest at work, or of the loading of its models."""
        slowest = self._pool.slowest
        if slowest is None:
            return None
        return "loading models" if slowest.loading else slowest.item[0].clip, slowest.seconds, slowest.share

    def submit(self, task: Task, following: Task | None = None) -> None:
        """Submit a task to the workers; ``following`` is most likely the next one."""
        ahead = self._alone and (self._ahead or _is_remote(following))
        self._pool.submit((task, following if ahead else None))

    def collect(self, timeout: float | None = None) -> Sequence[Outcome]:
        """Wait until something is done; may be empty.

        Raises:
            SetupError: A worker cannot load its models.
        """
        outcomes = [self._outcome(result) for result in self._pool.collect(timeout)]
        return [outcome for outcome in outcomes if outcome is not None]

    def _outcome(self, result: Result[_Item, _Answer]) -> Outcome | None:
        task, following = result.item
        if result.answer is not None:
            return Outcome(task, *result.answer)
        if following is not None and not result.late:
            self._pool.submit((task, None))  # alone, to see which of the two clips its worker died on
            return None
        fields = {"sha256": result.note, "error": result.failure, "seconds": result.seconds}
        fields |= {"worker": result.worker} if result.worker is not None else {}
        return Outcome(task, task.record(self._settings, **fields))

    def drain(self) -> float:
        """Take no more tasks; workers on a cluster may finish theirs."""
        return self._pool.drain() if isinstance(self._pool, RayPool) else 0.0

    def close(self) -> None:
        """Stop all workers, also in the middle of a task."""
        self._pool.close()


def local_workers(
    settings: Settings,
    jobs: int,
    timeout: float,
    log: Path | None = None,
    ahead: bool = False,
    by_windows: bool = False,
) -> Workers:
    """Return worker processes of this machine.

    Args:
        settings: How they score.
        jobs: How many, at least 1.
        timeout: Seconds that a clip may take once its models are loaded.
        log: File for the stderr of the workers; None leaves it as it is.
        ahead: True if the following clip is read meanwhile, where there is one worker.
        by_windows: True if each window of a long clip has ``timeout`` seconds; samples of a server do not.
    """
    start = partial(_ClipHandler, settings)
    pool: ClipPool = Pool(start, jobs, timeout, log, needs=lambda item: item[0].metrics, by_parts=by_windows)
    return Workers(settings, pool, alone=jobs == 1, ahead=ahead)


def cluster_workers(
    settings: Settings,
    jobs: int,
    timeout: float,
    cluster: Cluster,
    suite: Scoring,
    say: Callable[[str], None],
    addresses: Sequence[str] = (),
) -> Workers:
    """Return workers on a Ray cluster, each on a node that has what ``suite`` has here.

    Args:
        settings: How they score.
        jobs: Most workers.
        timeout: Seconds that a clip may take once its models are loaded.
        cluster: The cluster, and the resources of a worker.
        suite: The one of this process.
        say: Receives messages for the user.
        addresses: Of clips that are not in the nodes' folders, one of each kind.

    Raises:
        SetupError: Ray is not installed, or the cluster cannot be reached.
    """
    expected = json.loads(json.dumps(whole_configuration(settings, suite)))
    device = {DEVICE_VARIABLE: os.environ[DEVICE_VARIABLE]} if DEVICE_VARIABLE in os.environ else {}
    start = partial(_ClipHandler, settings, addresses)
    ahead = (lambda _: True) if suite.reads_ahead else lambda item: _is_remote(item[0])
    pool: ClipPool = RayPool(start, jobs, cluster, expected, timeout, device, say, ahead)
    return Workers(settings, pool)
