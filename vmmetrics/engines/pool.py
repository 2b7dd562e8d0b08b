"""Pool of worker processes; one that dies or hangs costs its item alone, and is replaced."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from vmmetrics.engines.process import cause_of_death, end, interrupts_deferred, kill, live_with_parent
from vmmetrics.errors import SetupError, explain
from vmmetrics.utils.progress import loading, on_loading, on_part, on_share

DEFAULT_TIMEOUT = 3600.0
"""Seconds that a worker may spend on one clip, or a window of a long one, once its models are loaded."""
LOADING_TIMEOUT = 3600.0
"""Seconds that a worker may take to start and to load its models."""
_DEATHS = 4  # in a row, for each worker, while models are loaded, that end the pool
_TICK_SECONDS = 0.2  # between two looks at the clocks

Item = TypeVar("Item")
Answer = TypeVar("Answer")
ItemIn = TypeVar("ItemIn", contravariant=True)
AnswerOut = TypeVar("AnswerOut", covariant=True)
Note = Callable[[Any], None]


class Handler(Protocol[ItemIn, AnswerOut]):
    """Handler of items, inside a worker."""

    def load(self, item: ItemIn) -> None:
        """Load the models of an item; its timeout starts afterwards, and pauses in ``utils.progress.loading``."""

    def handle(self, item: ItemIn, note: Note) -> AnswerOut:
        """Work on an item; ``note`` sends something ahead that stays known if the worker dies."""


@dataclass(frozen=True, slots=True)
class Result(Generic[Item, Answer]):
    """Outcome of one item.

    Attributes:
        answer: What the handler returned; None where its worker died or was killed.
        failure: Reason why there is no answer.
        note: What the handler noted, or None.
        seconds: Seconds that the worker spent on it.
        late: True if the worker was killed for taking too long.
        worker: Host and process of the worker, where it is not one of this machine.
    """

    item: Item
    answer: Answer | None
    failure: str = ""
    note: Any = None
    seconds: float = 0.0
    late: bool = False
    worker: str | None = None


class AtWork(NamedTuple, Generic[Item]):
    """The item longest at work.

    Attributes:
        seconds: Seconds at it so far, or of loading its models.
        loading: True while models are being loaded for it.
        share: Share that is done, 0..1; None where it is not known.
    """

    item: Item
    seconds: float
    loading: bool
    share: float | None = None


@dataclass(eq=False)
class _Worker(Generic[Item]):
    process: SpawnProcess
    connection: Connection
    item: Item | None = None
    note: Any = None
    share: float | None = None
    seconds: float = 0.0  # on this item, without loading
    since: float = 0.0  # of those, before the part in hand
    loading: bool = True
    loading_seconds: float = 0.0  # of this load
    ready: bool = False  # has loaded what the item needs: the clock of the item starts when it is handed over
    loaded: set[Hashable] = field(default_factory=set)
    late: bool = False


class Pool(Generic[Item, Answer]):
    """A fixed number of worker processes.

    Args:
        start: Makes the handler of a worker; must be importable there.
        jobs: Number of workers, at least 1; started when there is work for them.
        timeout: Seconds that an item may take; its worker is killed then.
        log: File for the stderr of the workers; None leaves it as it is.
        needs: Returns the models that an item needs; a worker that has loaded them must answer within ``timeout``.
        by_parts: True if ``timeout`` holds for each part of an item that a worker tells of (``utils.progress.part``).
    """

    def __init__(
        self,
        start: Callable[[], Handler[Item, Answer]],
        jobs: int,
        timeout: float = DEFAULT_TIMEOUT,
        log: Path | None = None,
        needs: Callable[[Item], Hashable] = lambda _: None,
        by_parts: bool = False,
    ) -> None:
        self._start_handler = start
        self._by_parts = by_parts
        self._jobs = jobs
        self._timeout = timeout
        self._log = log
        self._needs = needs
        self._context = multiprocessing.get_context("spawn")  # forking a process with running threads can deadlock
        self._workers: list[_Worker[Item]] = []
        self._lock = threading.Lock()  # guards the workers and their clocks
        self._deaths = 0  # in a row, while models were loaded
        self._trouble: SetupError | None = None
        self._closing = threading.Event()
        self._watch: threading.Thread | None = None

    @property
    def free(self) -> int:
        """Workers without an item, those not started yet included."""
        return self._jobs - self.busy

    @property
    def busy(self) -> int:
        """Workers with an item."""
        return sum(worker.item is not None for worker in self._workers)

    @property
    def slowest(self) -> AtWork[Item] | None:
        """The item longest at work; None where there is none."""
        busy = [w for w in self._workers if w.item is not None]
        worker = max(busy, key=lambda w: w.seconds, default=None)
        if worker is None or worker.item is None:
            return None
        if worker.loading:
            return AtWork(worker.item, worker.loading_seconds, loading=True)
        return AtWork(worker.item, worker.seconds, loading=False, share=worker.share)

    def submit(self, item: Item) -> None:
        """Hand an item to a free worker; call only while :attr:`free` is positive."""
        worker = self._idle()
        with self._lock:
            worker.item, worker.note, worker.share, worker.seconds, worker.since = item, None, None, 0.0, 0.0
            worker.loading, worker.loading_seconds = True, 0.0
            worker.ready = self._needs(item) in worker.loaded
        with contextlib.suppress(OSError):  # it died this moment: collect() will find the pipe closed
            worker.connection.send(item)

    def _idle(self) -> _Worker[Item]:
        for worker in self._workers:
            if worker.item is None:
                if not worker.late and not wait([worker.process.sentinel], 0):
                    return worker
                self._drop(worker)  # died between two items: neither is to blame
                break
        return self._start()

    def _start(self) -> _Worker[Item]:
        if self._watch is None:
            self._watch = threading.Thread(target=self._watch_clocks, name="worker clocks", daemon=True)
            self._watch.start()
        parent_end, child_end = self._context.Pipe()
        process = self._context.Process(target=_work, args=(child_end, self._start_handler, self._log), daemon=True)
        worker: _Worker[Item] = _Worker(process, parent_end)
        with interrupts_deferred():
            process.start()
            with self._lock:
                self._workers.append(worker)
        child_end.close()  # so that reading ends when the worker dies
        return worker

    def collect(self, timeout: float | None = None) -> Sequence[Result[Item, Answer]]:
        """Wait until something is done; empty where ``timeout`` seconds passed first, or nothing is whole yet.

        Raises:
            SetupError: A worker cannot load its models; the results that came with it are returned first.
        """
        working = {worker.connection: worker for worker in self._workers if worker.item is not None}
        results: list[Result[Item, Answer]] = []
        for connection in () if self._trouble else wait(list(working), timeout):
            assert isinstance(connection, Connection)  # noqa: S101  (nothing else is waited for)
            try:
                result = self._receive(working[connection])
            except SetupError as error:
                self._trouble = error
            else:
                results += [] if result is None else [result]
        if self._trouble and not results:
            raise self._trouble
        return results

    def _receive(self, worker: _Worker[Item]) -> Result[Item, Answer] | None:
        item = worker.item
        assert item is not None  # noqa: S101  (only busy workers are waited for)
        try:
            kind, value = worker.connection.recv()
        except (EOFError, OSError):
            return self._worker_died(worker, item)
        if kind == "loading":
            with self._lock:
                if not worker.late:  # its clocks tell what it was late with
                    worker.loading, worker.loading_seconds, worker.ready = value, 0.0, False
        elif kind == "loaded":
            worker.loaded.add(self._needs(item))
            self._deaths = 0
        elif kind == "note":
            worker.note = value
        elif kind == "share":
            worker.share = value
        elif kind == "part":
            worker.since = worker.seconds if self._by_parts else 0.0
        elif kind == "setup":
            raise value
        else:
            with self._lock:
                worker.item = None
            answer, failure = (None, value) if kind == "error" else (value, "")
            return Result(item, answer, failure, worker.note, round(worker.seconds, 3))
        return None

    def _worker_died(self, worker: _Worker[Item], item: Item) -> Result[Item, Answer] | None:
        if worker.late and worker.loading_seconds > LOADING_TIMEOUT:
            raise SetupError(f"A worker did not load its models within {LOADING_TIMEOUT:g} s; run it again")
        code = self._drop(worker)
        if not worker.late and self._needs(item) not in worker.loaded:  # no fault of the item
            self._deaths += 1
            if self._deaths >= _DEATHS * self._jobs:
                when = f"while it loaded its models, {self._deaths} times in a row"
                raise SetupError(cause_of_death(code, self._log, when))
            self.submit(item)
            return None
        failure = too_late(self._timeout) if worker.late else cause_of_death(code, self._log)
        return Result(item, None, failure, worker.note, round(worker.seconds, 3), worker.late)

    def _drop(self, worker: _Worker[Item]) -> int | None:
        """End a worker; return its exit code."""
        with self._lock:
            self._workers.remove(worker)
        worker.connection.close()
        return end(worker.process)

    def _watch_clocks(self) -> None:
        """Kill late workers; in a thread, since a pipe to a stopped process can block."""
        last = time.monotonic()
        while not self._closing.wait(_TICK_SECONDS):
            now = time.monotonic()
            passed, last = min(now - last, 5 * _TICK_SECONDS), now  # time in which this process was stopped is left out
            with self._lock:
                for worker in self._workers:
                    if worker.item is None or worker.late or wait([worker.connection], 0):
                        continue  # an answer over the size of the pipe is not written before it is read
                    if worker.loading and not worker.ready:
                        worker.loading_seconds += passed
                    else:
                        worker.seconds += passed
                    if worker.seconds - worker.since > self._timeout or worker.loading_seconds > LOADING_TIMEOUT:
                        worker.late = True
                        kill(worker.process)

    def close(self) -> None:
        """Stop the workers, the ones at work as well."""
        self._closing.set()
        if self._watch is not None:
            self._watch.join()
        for worker in self._workers:
            worker.connection.close()
            if worker.item is not None:
                kill(worker.process)
        for worker in self._workers:
            end(worker.process)


def usable_cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def too_late(timeout: float) -> str:
    """Return the failure of an item whose worker was killed after a timeout."""
    return f"It took longer than {timeout:g} s; raise --timeout if it needs more"


def checked_timeout(timeout: float | None, jobs: int) -> float | None:
    """Return the timeout of a clip in seconds for a number of workers; None without workers.

    Raises:
        ValueError: A timeout without workers, not above 0 or not finite.
    """
    if timeout is None:
        return DEFAULT_TIMEOUT if jobs else None
    if not jobs:
        raise ValueError("A timeout needs a worker that can be ended: set jobs to 1 or more")
    if not 0 < timeout < math.inf:
        raise ValueError(f"Expected a timeout above 0 and finite, in seconds, but got {timeout}")
    return timeout


def _work(connection: Connection, start: Callable[[], Handler[Any, Any]], log: Path | None) -> None:
    """Body of a worker: handle what comes through the pipe until it closes, which the parent's death does as well."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    live_with_parent()
    if log is not None:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(output, sys.stderr.fileno() if sys.stderr else 2)
    sending = threading.Lock()  # models may be loaded in any thread

    def send(kind: str, value: Any = None) -> None:
        with sending:
            connection.send((kind, value))

    on_loading(partial(send, "loading"))
    on_share(partial(send, "share"))
    on_part(partial(send, "part"))
    handler = start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            item = connection.recv()
            kind, value = reply(handler, item, send)
            try:
                send(kind, value)
            except (EOFError, OSError):
                raise
            except Exception as error:  # the answer cannot be pickled, and nothing of it was sent
                send("error", explain(error))


def reply(handler: Handler[Any, Any], item: Any, send: Callable[..., None]) -> tuple[str, Any]:
    """Work on an item: ``("answer", answer)``, ``("error", why)`` of the item, or ``("setup", SetupError)`` of all."""
    try:
        with loading():
            handler.load(item)
    except SetupError as error:
        return "setup", error
    except Exception as error:  # a broken installation, not the clip's fault
        return "setup", SetupError(f"The models cannot be loaded: {explain(error)}")
    send("loaded")
    try:
        return "answer", handler.handle(item, partial(send, "note"))
    except SetupError as error:
        return "setup", error
    except Exception as error:
        return "error", explain(error)
