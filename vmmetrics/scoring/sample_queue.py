"""Samples that wait in one queue for the workers of an engine, whoever asked for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Condition, Thread

from vmmetrics.errors import BusyError, SetupError, explain
from vmmetrics.scoring.engine import Engine
from vmmetrics.scoring.reward_groups import ScoredSample
from vmmetrics.scoring.tasks import Task

_WAIT_SECONDS = 0.2  # for outcomes while all workers have a sample
_IDLE_SECONDS = 0.02  # while some have none


class SampleQueue:
    """Hands samples to an engine in the order in which they came, from a thread of its own; thread-safe.

    Args:
        engine: Scores; closed with the queue.
        size: Samples that may wait beside those at work.
    """

    def __init__(self, engine: Engine, size: int) -> None:
        self._engine, self.size = engine, size
        self._waiting: deque[tuple[Task, Future[ScoredSample]]] = deque()
        self._at_work: dict[str, Future[ScoredSample]] = {}
        self._changed = Condition()
        self._end: SetupError | None = None
        self._thread = Thread(target=self._run, name="samples", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """Return how many samples wait."""
        return sum(not future.cancelled() for _, future in self._waiting.copy())

    @property
    def end(self) -> SetupError | None:
        """Reason why nothing is scored any more, or None."""
        return self._end

    def put(self, tasks: Sequence[Task]) -> list[Future[ScoredSample]]:
        """Queue samples with names of their own; cancelling a future leaves its sample out while it waits.

        Raises:
            BusyError: So many do not fit now.
            SetupError: Nothing is scored any more.
        """
        with self._changed:
            if self._end is not None:
                raise self._end
            self._waiting = deque(entry for entry in self._waiting if not entry[1].cancelled())
            if len(self._waiting) + len(tasks) > self.size:
                raise BusyError(f"{len(self._waiting)} samples wait and at most {self.size} can; send fewer, or later")
            futures = [Future[ScoredSample]() for _ in tasks]
            self._waiting.extend(zip(tasks, futures, strict=True))
            self._changed.notify()
        return futures

    def close(self) -> None:
        """Stop at once: samples that wait or are at work fail."""
        with self._changed:
            self._end = self._end or SetupError("The server stops")
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._hand_out():
                for outcome in self._engine.collect(_IDLE_SECONDS if self._engine.free else _WAIT_SECONDS):
                    sample = ScoredSample(outcome.record, outcome.events)
                    self._at_work.pop(outcome.task.clip).set_result(sample)
        except SetupError as error:
            self._end = error
        except Exception as error:
            self._end = SetupError(f"Scoring ended: {explain(error)}")
            raise
        finally:
            with self._changed:
                entries = [*self._at_work.values(), *(f for _, f in self._waiting if f.set_running_or_notify_cancel())]
                self._waiting.clear()
            for future in entries:
                future.set_exception(self._end or SetupError("Scoring ended"))
            self._engine.close()

    def _hand_out(self) -> bool:
        """Submit what the engine takes, once there is anything to do; return False after :meth:`close`."""
        tasks: list[Task] = []
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._at_work or self._end)
            while self._waiting and len(tasks) < self._engine.free and self._end is None:
                task, future = self._waiting.popleft()
                if future.set_running_or_notify_cancel():
                    self._at_work[task.clip] = future
                    tasks.append(task)
        for task in tasks:
            self._engine.submit(task)
        return self._end is None
