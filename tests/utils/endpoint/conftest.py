"""The misbehaving server, and a client that speaks to it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from vmmetrics.utils.endpoint import wire
from vmmetrics.utils.endpoint.client import Client
from vmmetrics.utils.endpoint.messages import EndpointSettings

_spec = importlib.util.spec_from_file_location("endpoint_server", Path(__file__).parents[2] / "endpoint_server.py")
assert _spec and _spec.loader
_server = sys.modules["endpoint_server"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_server)

KEY = "sk-never-to-be-written-0123456789"


@pytest.fixture
def server() -> Any:
    return _server


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was slept between tries."""
    slept: list[float] = []

    class Noting(Event):
        def wait(self, timeout: float | None = None) -> bool:
            slept.append(timeout or 0.0)
            return self.is_set()

    monkeypatch.setattr(wire, "Event", Noting)
    return slept


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Client, Any]]]:
    """A client and the script of its server; the key is never on the disk."""
    monkeypatch.setenv("VMMETRICS_ENDPOINT_KEY", KEY)
    stops = []

    def start(*steps: Any, answer: Any = None, cache: str = "replies", max_cost: float | None = None, **settings: Any):
        script = _server.Script(list(steps), answer)
        url, stop = _server.serve(script)
        stops.append(stop)
        asked = EndpointSettings(url, "some-model", **settings)
        return Client(asked, tmp_path / cache, max_cost, first_pause=0.001), script

    yield start
    for stop in stops:
        stop()
    assert not [f for f in tmp_path.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]
