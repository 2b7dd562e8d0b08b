"""A worker on a node of a cluster, called here."""

from __future__ import annotations

from typing import Any, cast

from tests.engines.handlers import Obedient
from vmmetrics.engines.node import NodeWorker, packed


def test_the_seconds_of_an_item_are_those_of_all_its_parts() -> None:
    worker = NodeWorker(b"", {})
    worker._handler = cast("Any", Obedient())
    (piece,) = packed(("work in parts", 0.1))
    kind, _, _, seconds, _ = worker.work(piece)
    assert kind == "answer"
    assert seconds >= 0.2
    assert worker.clock()[0] < 0.2
