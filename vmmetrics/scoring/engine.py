"""Where tasks are worked on: in this process, or in worker processes that may die without taking the run along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from vmmetrics.engines.pool import DEFAULT_TIMEOUT, Note, Pool, Result
from vmmetrics.scoring.pictures import Pictures
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.work import Outcome, Scorer, Task

_Item = tuple[Task, Task | None]
_Answer = tuple[Record, Mapping[str, Any], Pictures]  # without the task, which may hold the frames of an array


class Engine(Protocol):
    """Takes tasks while one is :attr:`free`, and hands back outcomes in whatever order they are done."""

    @property
    def free(self) -> int:
        """How many tasks it would take now."""

    @property
    def busy(self) -> int:
        """How many tasks were submitted and not collected."""

    @property
    def slowest(self) -> tuple[str, float] | None:
        """Name and seconds of the clip longest at work, or of the loading of its models; None where not known."""

    def submit(self, task: Task, following: Task | None = None) -> None:
        """Take a task, of which ``following`` most likely comes after; call only while :attr:`free` is positive."""

    def collect(self, timeout: float | None = None) -> Sequence[Outcome]:
        """Wait until something is done, up to ``timeout`` seconds; may be empty.

        Raises:
            SetupError: The models cannot be loaded.
        """

    def close(self) -> None:
        """Stop what is at work."""


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
        self._task, self._following = task, following if self._ahead else None

    def collect(self, timeout: float | None = None) -> Sequence[Outcome]:  # noqa: ARG002
        """Score the task that was submitted."""
        task, self._task = self._task, None
        return [self._scorer.score(task, self._following)] if task else []

    def close(self) -> None:
        """Nothing to stop."""


class _ClipHandler:
    """Scores clips in a worker."""

    def __init__(self, settings: Settings) -> None:
        if settings.threads is not None:
            import cv2  # this process is ours, and several of them share the machine

            cv2.setNumThreads(settings.threads)
        self._scorer = Scorer(settings)

    def load(self, item: _Item) -> None:
        self._scorer.suite(item[0].metrics)

    def handle(self, item: _Item, note: Note) -> _Answer:
        task, following = item
        outcome = self._scorer.score(task, following, note)
        return outcome.record, outcome.events, outcome.pictures


class Workers:
    """A fixed number of worker processes, each with its own models; one that dies or takes too long is replaced.

    Args:
        settings: How they score.
        jobs: How many, at least 1.
        log: File that takes what the libraries in the workers print; None leaves it on stderr.
        ahead: Whether a single worker reads the following clip meanwhile; of several, another one takes it.
        timeout: Seconds that a clip may take once its models are loaded.
    """

    def __init__(
        self,
        settings: Settings,
        jobs: int,
        log: Path | None = None,
        ahead: bool = False,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        self._settings = settings
        self._ahead = ahead and jobs == 1
        start = partial(_ClipHandler, settings)
        self._pool: Pool[_Item, _Answer] = Pool(start, jobs, timeout, log, needs=lambda item: item[0].metrics)

    @property
    def free(self) -> int:
        """Workers without a task, those not started yet included."""
        return self._pool.free

    @property
    def busy(self) -> int:
        """Workers with a task."""
        return self._pool.busy

    @property
    def slowest(self) -> tuple[str, float] | None:
        """Name and seconds of the clip longest at work, or of the loading of its models."""
        slowest = self._pool.slowest
        if slowest is None:
            return None
        (task, _), seconds, loading = slowest
        return "loading models" if loading else task.clip, seconds

    def submit(self, task: Task, following: Task | None = None) -> None:
        """Hand a task, of which ``following`` most likely comes after, to a free worker."""
        self._pool.submit((task, following if self._ahead else None))

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
        known = {"sha256": result.note, "error": result.failure, "seconds": result.seconds}
        return Outcome(task, task.record(self._settings, **known))

    def close(self) -> None:
        """Stop the workers, the ones at work as well."""
        self._pool.close()
