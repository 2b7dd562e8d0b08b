"""Questions on a cluster: a batch whose worker died is asked one by one, so that one question alone fails."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from vmmetrics.engines.connection import Cluster
from vmmetrics.engines.pool import Result
from vmmetrics.understanding.harness import cluster_model


class Pool:
    """Takes batches; its worker dies on one question."""

    def __init__(self, *_: Any) -> None:
        self.batches: list[Any] = []
        self.sizes: list[int] = []

    free = 1
    busy = property(lambda self: len(self.batches))

    def configuration(self) -> dict[str, Any]:
        return {"name": "model", "sees": True, "identity": {}}

    def submit(self, batch: Any) -> None:
        self.batches.append(batch)
        self.sizes.append(len(batch))

    def collect(self, timeout: float) -> list[Any]:
        batches, self.batches = self.batches, []
        return [
            Result(batch, None, "The worker process died")
            if "q3" in [question.id for question in batch]
            else Result(batch, [f"answer to {question.id}" for question in batch])
            for batch in batches
        ]


def test_one_question_does_not_cost_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_model, "RayPool", Pool)
    settings: Any = SimpleNamespace(model=SimpleNamespace(batch_size=4))
    model = cluster_model.ClusterModel(settings, 1, Cluster())
    questions = [SimpleNamespace(id=f"q{number}") for number in range(6)]
    found = {question.id: answer for question, answer in model.work_through(lambda question: question, questions)}
    assert sorted(found) == [question.id for question in questions]
    assert [name for name, answer in found.items() if answer != f"answer to {name}"] == ["q3"]
    assert found["q3"].answered.error == "The worker process died"
    assert sorted(model._pool.sizes) == [1, 1, 1, 1, 2, 4]
