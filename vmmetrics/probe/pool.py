"""Cases worked on here or in worker processes; one that brings its process down is named and passed over."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import connection
from typing import Any

from vmmetrics.probe.metrics import Source
from vmmetrics.probe.plan import Plan
from vmmetrics.probe.work import Work, answer, head, key_of

Line = dict[str, Any]


def answers(todo: Sequence[Work], sources: Sequence[Source], plan: Plan, jobs: int) -> Iterator[Line]:
    """Yield the line of every case, in the order they are done.

    Args:
        todo: The cases, those of a clip one after another.
        sources: The metrics; functions must be importable by workers where ``jobs`` is more than one.
        plan: How.
        jobs: Worker processes; 1 works in this process.

    Raises:
        SetupError: A metric cannot run here.
    """
    if jobs <= 1:
        yield from (answer(work, sources, plan) for work in todo)
        return
    rest = {work.key: work for work in todo}
    while rest:
        suspects: list[Work] = []
        for item in _in_pool(list(rest.values()), sources, plan, jobs):
            if isinstance(item, Work):
                suspects.append(item)
            else:
                del rest[key_of(item)]
                yield item
        for work in suspects:  # in hand when a process died: each alone, to see which it was
            del rest[work.key]
            yield next((line for line in _in_pool([work], sources, plan, 1) if isinstance(line, dict)), _died(work))


def _died(work: Work) -> Line:
    return {**head(work), "error": "the worker process died on this case, most likely for using too much memory"}


_todo: Sequence[Work] = ()
_sources: Sequence[Source] = ()
_plan = Plan()


def _begin(todo: Sequence[Work], sources: Sequence[Source], plan: Plan) -> None:
    """Take over, in a worker, all there is to do.

    Only numbers go through the executor's pipe afterwards: a clip of arrays fills it, and where a worker dies meanwhile
    the executor of Python 3.11.2 waits for ever (cpython issue 94777).
    """
    global _todo, _sources, _plan
    _todo, _sources, _plan = todo, sources, plan
    _leave_with_parent()


def _answer(number: int) -> Line:
    return answer(_todo[number], _sources, _plan)


def _leave_with_parent() -> None:
    """Have this worker end when its parent is killed; it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101  (this runs in a worker)

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _in_pool(todo: Sequence[Work], sources: Sequence[Source], plan: Plan, jobs: int) -> Iterator[Line | Work]:
    """Yield lines; where a process dies, the cases that were in hand, and end."""
    context = multiprocessing.get_context("spawn")  # forking a process with running threads can deadlock
    coming = iter(enumerate(todo))
    with ProcessPoolExecutor(jobs, context, _begin, (todo, sources, plan)) as pool:
        running: dict[Future[Line], Work] = {}
        try:
            while True:
                for number, work in islice(coming, 2 * jobs - len(running)):
                    running[pool.submit(_answer, number)] = work
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    line = future.result()
                    del running[future]
                    yield line
        except BrokenProcessPool:
            yield from running.values()
        finally:
            pool.shutdown(cancel_futures=True)
