"""The program that times a run directory does its steps: it is not checked with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import run_directory


@pytest.mark.parametrize("clips", [300])
def test_every_step_is_measured(clips: int, tmp_path: Path) -> None:
    run = tmp_path / "run"
    steps = (getattr(run_directory, name) for name in run_directory.STEPS)
    found = [step(run, clips) for step in steps]
    assert all(found) and len({name for one in found for name in one}) > len(found)
