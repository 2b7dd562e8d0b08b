"""A server, an empty weights folder, and checkpoints that are small."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vmmetrics.utils.weights import manifest
from vmmetrics.utils.weights.manifest import Published, PublishedFile

sys.path[:0] = [str(Path(__file__).parent)]

from small_checkpoints import Heard, Publish  # noqa: E402
from weights_server import Server  # noqa: E402


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty weights folder, the one of the environment; nothing forbids the (loopback) network."""
    folder = tmp_path / "weights"
    monkeypatch.setenv("VMMETRICS_WEIGHTS", str(folder))
    for name in ("VMMETRICS_OFFLINE", "HF_HUB_OFFLINE", "HF_ENDPOINT", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("vmmetrics.utils.weights.download.PAUSE", 0.0)
    return folder


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Make a checkpoint known: ``publish(name, file(...), ...)``."""
    known: dict[str, Published] = {}
    monkeypatch.setattr(manifest, "load_published", lambda: known)

    def make(name: str, *files: PublishedFile, sets: tuple[str, ...] = ("small",), **other: object) -> Published:
        known[name] = Published(name, sets, "a test", files=files, **{"licence": "Apache-2.0", **other})
        return known[name]

    return make


@pytest.fixture
def heard() -> Heard:
    return Heard()
