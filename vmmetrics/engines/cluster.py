"""Pool of workers on the nodes of a Ray cluster; a worker that dies, hangs or loses its node costs no other item.

This process alone submits items, two or a few at a time to each worker. An item may be worked on twice, but its result
is returned once: answers of a worker that was given up are ignored.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic

from vmmetrics.engines.actors import Actors, ClusterActor, ClusterJob, cause_of
from vmmetrics.engines.connection import Cluster
from vmmetrics.engines.node import ClusterHandler, pieces_of, unpacked
from vmmetrics.engines.pool import DEFAULT_TIMEOUT, LOADING_TIMEOUT, Answer, AtWork, Item, Result, too_late
from vmmetrics.errors import SetupError, StoppedError

MAX_ITEM_BYTES = 10 * 10**6
"""Bytes sent to a worker for one item."""
DRAIN_SECONDS = 10.0
"""Seconds that running items get when the run is interrupted."""
DEPTHS = (2, 8)
"""Items queued at a worker: one at work and one to follow, or as many as it does in a second where they are short."""
_TICK_SECONDS = 0.2  # between two looks at clocks and nodes
_ELSEWHERE_SECONDS = 20.0  # that an item whose worker died waits for a worker on another node
_PING_SECONDS = 10.0  # between two calls to each worker: one whose connection is broken is not noticed without
_ASK_SECONDS = 2.0  # for a worker to say how long it has been at an item
_GET_SECONDS = 10.0  # for an answer that is there to be fetched
_SLOW = f"a worker did not load its models within {LOADING_TIMEOUT:g} s"
_MOVES = 10  # workers lost with their node or connection while at an item, after which it fails


class RayPool(Generic[Item, Answer]):
    """Workers on a Ray cluster, with the methods of :class:`~vmmetrics.engines.pool.Pool`.

    Args:
        start: Makes the handler of a worker; importable on every node, as are its arguments.
        jobs: Most workers; fewer while the cluster has no room, and more again as nodes join.
        cluster: The cluster, and the resources of a worker.
        expected: Configuration that the handler of every worker must state; a node with another is refused. None takes
            that of the first one.
        timeout: Seconds that an item may take; its worker is killed then.
        environment: Variables that workers get.
        say: Receives messages for the user: refused nodes, missing resources.
        ahead: True if something can be done for an item before its turn.

    Raises:
        SetupError: See :class:`~vmmetrics.engines.connection.Connection`.
    """

    def __init__(
        self,
        start: Callable[[], ClusterHandler],
        jobs: int,
        cluster: Cluster,
        expected: Mapping[str, Any] | None,
        timeout: float = DEFAULT_TIMEOUT,
        environment: Mapping[str, str] | None = None,
        say: Callable[[str], None] = lambda _: None,
        ahead: Callable[[Item], bool] = lambda _: False,
    ) -> None:
        self._ahead = ahead
        self._jobs, self._timeout, self._retries = jobs, timeout, cluster.retries
        self._queue: deque[ClusterJob[Item]] = deque()
        self._results: list[Result[Item, Answer]] = []
        self._draining = False
        self._trouble: SetupError | StoppedError | None = None
        self._seconds: float | None = None  # that an item takes, lately
        self._actors: Actors[Item] = Actors(start, cluster, expected, environment or {}, say)
        self._last = self._pinged = time.monotonic()

    @property
    def free(self) -> int:
        """Items it would take now: what each worker may have in hand, and one for each worker that is not there yet."""
        if self._draining:
            return 0
        ready = sum(actor.ready for actor in self._actors.all)
        return self._jobs + (self._depth - 1) * ready - self.busy

    @property
    def busy(self) -> int:
        """Items submitted and not collected."""
        return len(self._queue) + sum(len(actor.calls) for actor in self._actors.all) + len(self._results)

    @property
    def slowest(self) -> AtWork[Item] | None:
        """The item longest at work; None where there is none."""
        working = max((a for a in self._actors.all if a.calls), key=lambda a: a.seconds, default=None)
        if working is not None:
            return AtWork(working.calls[0][1].item, working.seconds, loading=False)
        loading = max(self._actors.all, key=lambda a: a.seconds, default=None)
        return AtWork(self._queue[0].item, loading.seconds, loading=True) if loading and self._queue else None

    def configuration(self) -> Mapping[str, Any]:
        """Return the configuration that all workers must state; where it is not known, that of a first worker.

        Raises:
            SetupError: No node can run workers.
            StoppedError: The head of the cluster is gone.
        """
        while self._actors.expected is None:
            if not self._actors.all and self._actors.can_start:
                self._actors.start()
            self.collect(0)
        return self._actors.expected

    @property
    def _depth(self) -> int:
        low, high = DEPTHS
        return low if not self._seconds else int(min(high, max(low, 1 / self._seconds)))

    def submit(self, item: Item) -> None:
        """Take an item; call only while :attr:`free` is positive."""
        if len(pickled := pickle.dumps(item)) > MAX_ITEM_BYTES:
            size = f"{len(pickled) / 1e6:.1f} MB to send to a worker, more than {MAX_ITEM_BYTES / 1e6:.0f} MB"
            self._results.append(
                Result(item, None, f"The clip takes {size}; write it to a file first, or use --engine local")
            )
        else:
            self._queue.append(ClusterJob(item, pieces_of(pickled)))

    def drain(self) -> float:
        """Take back what no worker was given, and return the seconds that the rest may take."""
        self._draining = True
        self._queue.clear()
        return DRAIN_SECONDS

    def collect(self, timeout: float | None = None) -> Sequence[Result[Item, Answer]]:
        """Wait until something is done; empty where ``timeout`` seconds passed first.

        Raises:
            SetupError: No node can run workers; the results that came with it are returned first.
            StoppedError: The head of the cluster does not answer; results that came with it are returned first.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                self._process()
            except SetupError as error:
                self._trouble = error
            if self._trouble is None and self._actors.connection.lost:
                self._trouble = StoppedError(
                    f"The head of the Ray cluster at {self._actors.connection.address} does not answer any more; "
                    "results so far are saved: once the cluster is up, run the same command again to resume"
                )
            if self._results or (self._trouble is None and until is not None and time.monotonic() >= until):
                results, self._results = self._results, []
                return results
            if self._trouble is not None:
                raise self._trouble

    def close(self) -> None:
        """Stop the workers, the ones at work as well, and leave the cluster."""
        self._actors.close()

    def _process(self) -> None:
        """Process the replies that have arrived, and submit more items unless draining."""
        ending = self._trouble is not None or self._actors.connection.lost
        self._receive(0 if self._results or ending else _TICK_SECONDS)
        if not ending:
            self._check_workers()
            self._hand_out()

    # Handing out.

    def _hand_out(self) -> None:
        if self._draining:
            return
        if len(self._actors.all) < min(self._jobs, self.busy) and self._actors.can_start:
            for _ in range(min(self._jobs, self.busy) - len(self._actors.all)):
                self._actors.start()
        for actor in self._actors.all:
            actor.reserved = any(job.alone for _, job in actor.calls)
        waiting = [job for job in self._queue if job.alone and not self._submit_alone(job)]
        usual = deque(job for job in self._queue if not job.alone)
        takers = [actor for actor in self._actors.all if actor.ready and not actor.reserved]
        for level in range(self._depth):
            for actor in takers:
                if usual and len(actor.calls) <= level:
                    self._give(actor, usual.popleft())
        self._queue = deque([*waiting, *usual])

    def _give(self, actor: ClusterActor[Item], job: ClusterJob[Item]) -> None:
        if not actor.calls:
            actor.seconds = 0.0
        *others, last = job.pieces
        for piece in others:
            actor.handle.take.remote(piece)
        actor.calls.append((actor.handle.work.remote(last), job))
        if len(actor.calls) == 2:
            self._announce(actor)

    def _announce(self, actor: ClusterActor[Item]) -> None:
        """Announce to a worker the item after the running one."""
        job = actor.calls[1][1] if len(actor.calls) > 1 else None
        if job is not None and len(job.pieces) == 1 and self._ahead(job.item):
            actor.handle.ahead.options(concurrency_group="watch").remote(job.pieces[0])

    def _submit_alone(self, job: ClusterJob[Item]) -> bool:
        """Give a job to a worker that has nothing else, on a node where it did not kill one if there is such."""
        tried = {node for node, _ in job.deaths}
        ready = [actor for actor in self._actors.all if actor.ready and not actor.reserved]
        elsewhere = [actor for actor in ready if actor.node not in tried]
        if tried and not elsewhere and time.monotonic() < job.since + _ELSEWHERE_SECONDS:
            coming = [actor for actor in self._actors.all if actor.node not in tried]
            if coming:
                return False
        actor = min(elsewhere or ready, key=lambda actor: len(actor.calls), default=None)
        if actor is None:
            return False
        actor.reserved = True
        if actor.calls:  # once these are done
            return False
        self._give(actor, job)
        return True

    # Taking in.

    def _receive(self, timeout: float) -> None:
        """Process all replies that have arrived; without any, wait for the first up to the timeout."""
        import ray

        waited = {actor.next: actor for actor in self._actors.all if actor.next is not None}
        if not waited:
            time.sleep(timeout)
            return
        done, _ = ray.wait(list(waited), num_returns=len(waited), timeout=0)
        if timeout and not done:
            done, _ = ray.wait(list(waited), timeout=timeout)
        for reference in done:
            self._take(waited[reference], reference)

    def _take(self, actor: ClusterActor[Item], reference: Any) -> None:
        """Process the answer of a worker, or its death."""
        import ray

        try:
            value = ray.get(reference, timeout=_GET_SECONDS)
        except ray.exceptions.RayTaskError as error:  # an answer all the same, which no handler should give
            text = str(error).strip().splitlines()[-1]
            if not actor.calls:
                self._actors.give_up(actor, "failed", text)
                return
            value = ("error", text, None, 0.0, 0)
        except ray.exceptions.RayError as error:
            self._worker_died(actor, error)
            return
        if not actor.calls:
            self._actors.prepare(actor, value)
            return
        kind, answer, note, seconds, left = value
        try:
            references = [actor.handle.rest.options(concurrency_group="watch").remote() for _ in range(left)]
            rest = ray.get(references, timeout=_GET_SECONDS)
        except ray.exceptions.RayError as error:  # it died meanwhile
            self._worker_died(actor, error)
            return
        _, job = actor.calls.popleft()
        actor.seconds = 0.0
        self._announce(actor)
        self._actors.note_answer(actor)
        self._seconds = seconds if self._seconds is None else 0.9 * self._seconds + 0.1 * seconds
        if kind == "answer":
            self._results.append(Result(job.item, unpacked([answer, *rest]), "", note, seconds, worker=actor.name))
        elif kind == "error":
            self._results.append(Result(job.item, None, answer, note, seconds, worker=actor.name))
        else:  # something is missing on its node
            self._requeue([job, *self._actors.drop(actor)])
            self._actors.give_up(actor, kind, answer)

    def _requeue(self, jobs: Sequence[ClusterJob[Item]]) -> None:
        """Put jobs that were not done before the others."""
        if not self._draining:
            self._queue.extendleft(reversed(jobs))

    # Deaths and lateness.

    def _worker_died(self, actor: ClusterActor[Item], error: Exception) -> None:
        """Process the death of a worker; if its node lives, its first item may be the cause."""
        import ray

        unreachable = ray.exceptions.ActorUnavailableError, ray.exceptions.GetTimeoutError
        lost = isinstance(error, unreachable) or not self._actors.node_lives(actor) or "node has died" in str(error)
        jobs = self._actors.drop(actor)
        if not jobs:
            if not lost and not actor.ready:
                reason = (
                    f"its workers die while they load their models ({cause_of(error)}){self._actors.printed(actor)}"
                )
                self._actors.give_up(actor, "died", reason if actor.greeting else str(error))
            return
        self._requeue(jobs[1:])  # they were not begun
        if not lost:
            self._retry_or_fail(actor, jobs[0], cause_of(error))
            return
        job = jobs[0]
        job.moves += 1
        if job.moves > _MOVES:
            reason = f"{job.moves} workers were lost while they scored this clip, the last on {actor.name}"
            self._results.append(Result(job.item, None, reason, worker=actor.name))
        else:
            self._requeue([job])

    def _retry_or_fail(self, actor: ClusterActor[Item], job: ClusterJob[Item], cause: str) -> None:
        """Retry a job whose worker died, alone on a worker; let it fail once its retries are used up."""
        if job.alone:
            job.deaths.append((str(actor.node), f"{actor.name}: {cause}"))
        job.alone, job.since = True, time.monotonic()
        if len(job.deaths) < self._retries:
            self._requeue([job])
            return
        causes = "; ".join(cause for _, cause in job.deaths)
        reason = f"The worker process died on this clip ({causes}){self._actors.printed(actor)}"
        self._results.append(Result(job.item, None, reason, worker=actor.name))

    def _check_workers(self) -> None:
        """Give up workers that are late or lost their node, and report missing resources."""
        now = time.monotonic()
        passed = min(now - self._last, 5 * _TICK_SECONDS)  # time in which this process was stopped is not counted
        self._last = now
        late = []
        if ping := now > self._pinged + _PING_SECONDS:
            self._pinged = now
        self._actors.update_nodes()
        for actor in list(self._actors.all):
            if not self._actors.node_lives(actor):
                self._worker_died(actor, RuntimeError("the node is gone"))
                continue
            if ping and actor.greeting is not None and actor.next is not None:
                actor.clock()
            actor.seconds += passed if actor.calls or actor.greeting is not None else 0.0
            if actor.calls and actor.seconds > self._timeout:
                late.append(actor)
            elif not actor.ready and actor.seconds > LOADING_TIMEOUT:
                self._actors.give_up(actor, "refused", _SLOW)
        if late:
            self._end_late(late)
        self._actors.say_room()

    def _end_late(self, late: Sequence[ClusterActor[Item]]) -> None:
        """Kill workers that exceed the timeout of an item, unless they were loading models."""
        import ray

        references = {actor.clock(): actor for actor in late}
        ray.wait(list(references), num_returns=len(references), timeout=_ASK_SECONDS)
        for reference, actor in references.items():
            try:
                actor.seconds, loading, note = ray.get(reference, timeout=0)
            except ray.exceptions.RayError:  # it, or its node, is stopped, or in code that lets no other thread run
                job, *rest = self._actors.drop(actor)
                self._requeue(rest)
                self._retry_or_fail(actor, job, f"no answer for {actor.seconds:.0f} s")
                continue
            if actor.seconds <= self._timeout and loading <= LOADING_TIMEOUT:
                continue
            job, *rest = self._actors.drop(actor)
            if loading > LOADING_TIMEOUT:
                self._requeue([job, *rest])
                self._actors.give_up(actor, "refused", _SLOW)
                continue
            self._requeue(rest)
            seconds = round(actor.seconds, 3)
            reason = too_late(self._timeout)
            self._results.append(Result(job.item, None, reason, note, seconds, True, actor.name))
