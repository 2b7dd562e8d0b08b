"""Parsing in several processes, in order and with a bound on what waits."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice

from vmmetrics.errors import SetupError
from vmmetrics.mmpg.extract.parsing import BATCH, CaptionParser, Found

_WAITING = 2
"""Batches under way for each process: one that it parses, one that it goes on with."""

_parser: CaptionParser | None = None


def parse_in_processes(
    captions: Iterable[str],
    jobs: int,
    model: str | None,
    nouns: Collection[str],
    places: Collection[str],
    verbs: Collection[str],
) -> Iterator[Found]:
    """What :meth:`~vmmetrics.mmpg.extract.parsing.CaptionParser.parse` finds, in the same order, by several processes.

    Args:
        captions: Read no further than the processes can follow.
        jobs: Processes.
        model: As for :class:`~vmmetrics.mmpg.extract.parsing.CaptionParser`.
        nouns: As there.
        places: As there.
        verbs: As there.

    Raises:
        SetupError: A process was killed, as a system does that runs out of memory.
    """
    context = multiprocessing.get_context("spawn")
    rest, waiting = iter(captions), deque[Future[list[Found]]]()
    start = (model, frozenset(nouns), frozenset(places), frozenset(verbs))
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=start) as pool:
        try:
            while True:
                while len(waiting) < _WAITING * jobs and (batch := list(islice(rest, BATCH))):
                    waiting.append(pool.submit(_parse, batch))
                if not waiting:
                    return
                yield from waiting.popleft().result()
        except BrokenProcessPool as error:
            raise SetupError("A process that parsed was killed; use fewer --jobs") from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _start(model: str | None, nouns: Collection[str], places: Collection[str], verbs: Collection[str]) -> None:
    global _parser
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that reads stops these
    _parser = CaptionParser(model, nouns, places, verbs)


def _parse(captions: list[str]) -> list[Found]:
    if _parser is None:
        raise RuntimeError("the process was not started by parse_in_processes")
    return list(_parser.parse(captions))
