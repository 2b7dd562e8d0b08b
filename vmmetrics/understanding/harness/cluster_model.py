"""A model on a Ray cluster: each worker loads all of it and answers different questions."""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from vmmetrics.engines.cluster import RayPool
from vmmetrics.engines.connection import Cluster
from vmmetrics.engines.pool import DEFAULT_TIMEOUT, Note
from vmmetrics.models.frames import Frames
from vmmetrics.models.protocol import ModelAnswer, R, S
from vmmetrics.models.questions import Answered, LoadedBenchmark, Question
from vmmetrics.understanding import registry
from vmmetrics.understanding.harness.models import ModelSettings, open_model
from vmmetrics.understanding.harness.running import DECISIVE, AnswerOutcome, Asking
from vmmetrics.utils.endpoint.messages import Turn
from vmmetrics.utils.plugins import run_plugins
from vmmetrics.utils.storage.provenance import version_of
from vmmetrics.utils.tensors import DEVICE_VARIABLE

_SECONDS = 1.0  # between two looks at what has come
_Item = tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class QuestionSettings:
    """Settings that cluster nodes need to ask a model questions.

    Attributes:
        benchmark: Name of the benchmark.
        model: The model.
        shown: How questions are put: fields of :class:`~vmmetrics.understanding.harness.running.Asking` by name.
        plugins: Python files that register benchmarks; the same on every node.
    """

    benchmark: str
    model: ModelSettings
    shown: Mapping[str, Any]
    plugins: tuple[str, ...] = ()


class QuestionHandler:
    """Asks the questions in a worker.

    Args:
        settings: Benchmark, model and options.
    """

    def __init__(self, settings: QuestionSettings) -> None:
        self._settings = settings
        self._asking: Asking | None = None

    def configuration(self) -> Mapping[str, Any]:
        """Load the model; return its name and what its answers depend on in this worker."""
        settings = self._settings
        run_plugins(settings.plugins)
        model = open_model(settings.model, (), Path(tempfile.gettempdir()))  # none that keeps replies
        empty, benchmark = LoadedBenchmark(()), registry.find(settings.benchmark)
        self._asking = Asking(benchmark, empty, model, **settings.shown)
        versions = {name: version for name in DECISIVE if (version := version_of(name))}
        return {"name": model.name, "sees": model.sees, "identity": dict(model.identity), "versions": versions}

    def load(self, item: _Item) -> None:
        """Do nothing: single questions need no loading."""

    def ahead(self, item: _Item) -> None:
        """Do nothing: nothing is prefetched."""

    def handle(self, item: _Item, note: Note) -> list[AnswerOutcome]:  # noqa: ARG002
        """Ask some questions in a batch; return their outcomes in order."""
        assert self._asking is not None  # noqa: S101  (configuration() comes first)
        done = {question.id: outcome for question, outcome in self._asking.model.work_through(self._asking.ask, item)}
        return [done[question.id] for question in item]


class ClusterModel:
    """A local model with one copy per worker.

    Args:
        settings: Benchmark, model and options.
        jobs: Most workers.
        cluster: Which, and what a worker takes of it.
        say: Receives messages for the user.

    Raises:
        SetupError: Ray is not installed, the cluster cannot be reached, or no node can load the model.
    """

    def __init__(
        self, settings: QuestionSettings, jobs: int, cluster: Cluster, say: Callable[[str], None] = lambda _: None
    ) -> None:
        device = {DEVICE_VARIABLE: os.environ[DEVICE_VARIABLE]} if DEVICE_VARIABLE in os.environ else {}
        start = partial(QuestionHandler, settings)
        self._pool: RayPool[_Item, list[AnswerOutcome]]
        self._pool = RayPool(start, jobs, cluster, None, DEFAULT_TIMEOUT, device, say)
        self._at_once = settings.model.batch_size
        try:
            described = self._pool.configuration()
        except BaseException:
            self.close()
            raise
        self.name = str(described["name"])
        self.sees = bool(described["sees"])
        self.identity: Mapping[str, Any] = described["identity"]

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> ModelAnswer:
        """Not supported: the workers ask, see :meth:`work_through`."""
        raise NotImplementedError

    def work_through(self, work: Callable[[S], R], items: Iterable[S]) -> Generator[tuple[S, R]]:  # noqa: ARG002
        """Ask the questions on the workers, which run what ``work`` would run here.

        Yields:
            Each question and what came of it; where its worker died, an answer with the reason as error.
        """
        waiting: Iterator[Any] = iter(items)
        batches = deque(iter(lambda: tuple(islice(waiting, self._at_once)), ()))
        while batches or self._pool.busy:
            while batches and self._pool.free > 0:
                self._pool.submit(batches.popleft())
            for result in self._pool.collect(_SECONDS):
                if result.answer is None and len(result.item) > 1:  # to see which of them it was
                    batches.extend((question,) for question in result.item)
                    continue
                failed = [AnswerOutcome(Answered(question.id, error=result.failure)) for question in result.item]
                outcomes: Iterable[Any] = failed if result.answer is None else result.answer
                questions: Iterable[Any] = result.item
                yield from zip(questions, outcomes, strict=True)

    def close(self) -> None:
        """End the workers and leave the cluster."""
        self._pool.close()
