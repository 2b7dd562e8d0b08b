"""What the tests of the run use, and the command line in this process."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("run_conftest", Path(__file__).parents[1] / "scoring" / "conftest.py")
assert _spec and _spec.loader
_shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shared)
sys.path[:0] = [str(Path(__file__).parents[1] / "scoring"), str(Path(__file__).parents[2])]

fake_suite = _shared.fake_suite
make_clips = _shared.make_clips

RunCommand = Callable[..., int]


@pytest.fixture
def vmmetrics(fake_suite: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunCommand:
    """Run the command with some arguments in ``tmp_path``; the exit code. Without ``--jobs`` it scores here."""
    from vmmetrics.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vmmetrics.cli.running.DEFAULT_JOBS", 0)

    def run(*arguments: object) -> int:
        try:
            main([str(a) for a in arguments])
        except SystemExit as stop:
            return int(stop.code or 0)
        return 0

    return run
