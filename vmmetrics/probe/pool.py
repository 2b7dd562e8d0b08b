"""Cases worked on here or in worker processes; one that brings its process down is named and passed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from vmmetrics.probe.metrics import Source, load
from vmmetrics.probe.plan import Plan
from vmmetrics.probe.work import Work, answer, head
from vmmetrics.run.pool import Note, Pool, checked_timeout

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
        timeout: Seconds that a worker may spend on a case; None is :data:`~vmmetrics.run.pool.DEFAULT_TIMEOUT`.

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
