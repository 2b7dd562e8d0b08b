"""Batching of questions that several threads ask of one model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Generic, TypeVar

S = TypeVar("S")
R = TypeVar("R")
Asked = TypeVar("Asked")
Got = TypeVar("Got")


class Batcher(Generic[Asked, Got]):
    """Runs work on several items at once and answers their requests in batches, once each item waits or is done.

    Which items make a batch depends on their order alone, so that a run is reproducible.

    Args:
        answer: Answers several requests; returns one answer or error for each, in their order.
        size: Items at once.
    """

    def __init__(self, answer: Callable[[Sequence[Asked]], Sequence[Got | Exception]], size: int) -> None:
        self._answer = answer
        self._size = size
        self._lock = threading.Lock()
        self._waiting: list[tuple[Asked, Future[Got]]] = []
        self._working = 0

    def ask(self, request: Asked) -> Got:
        """Return the answer to a request, or raise its error; outside :meth:`work_through` it is a batch of one."""
        future: Future[Got] = Future()
        with self._lock:
            self._waiting.append((request, future))
            self._answer_if_all_wait()
        return future.result()

    def work_through(self, work: Callable[[S], R], items: Iterable[S]) -> Generator[tuple[S, R]]:
        """Run work that asks, over each item.

        Yields:
            The item and what ``work`` returned, in the order of the items.
        """
        waiting = iter(items)
        if self._size == 1:  # in this thread, where it can be interrupted
            for item in waiting:
                yield item, work(item)
            return
        with ThreadPoolExecutor(self._size, thread_name_prefix="batch") as pool:
            while batch := list(islice(waiting, self._size)):
                self._working = len(batch)
                futures = [pool.submit(self._done, work, item) for item in batch]
                for item, future in zip(batch, futures, strict=True):
                    yield item, future.result()

    def _done(self, work: Callable[[S], R], item: S) -> R:
        try:
            return work(item)
        finally:
            with self._lock:
                self._working -= 1
                self._answer_if_all_wait()

    def _answer_if_all_wait(self) -> None:
        """Answer the pending requests once no running item can add one; the caller holds the lock."""
        if not self._waiting or len(self._waiting) < self._working:
            return
        requests, futures = zip(*self._waiting, strict=True)
        self._waiting = []
        answers: Sequence[Got | BaseException]
        try:
            answers = self._answer(requests)
        except BaseException as error:  # each thread that asked has to hear of it
            answers = [error] * len(futures)
        for future, answer in zip(futures, answers, strict=True):
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)
