"""Tiny clips on disk, and the fake suite in place of the real one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).parent)]  # worker processes find the fake suite there too

MakeClips = Callable[..., Path]


@pytest.fixture
def fake_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmmetrics.scoring.settings.SUITE", "fake_suite:FakeSuite")


@pytest.fixture
def make_clips(tmp_path: Path) -> MakeClips:
    """Write 4-frame clips under ``tmp_path/folder``; names may hold a folder, values follow from the order."""

    def make(*names: str, folder: str = "clips", value: int = 10) -> Path:
        root = tmp_path / folder
        for number, name in enumerate(names):
            path = root / f"{name}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            frames = np.full((4, 16, 24, 3), value + 7 * number, np.uint8)
            frames += np.arange(4, dtype=np.uint8)[:, None, None, None]
            np.save(path, frames)
        return root

    return make
