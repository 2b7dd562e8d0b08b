"""What the tests of the run use, and the command line in this process."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

_spec = importlib.util.spec_from_file_location("run_conftest", Path(__file__).parents[1] / "scoring" / "conftest.py")
assert _spec and _spec.loader
_shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shared)
sys.path[:0] = [str(Path(__file__).parents[1] / "scoring"), str(Path(__file__).parents[2])]

fake_suite = _shared.fake_suite
make_clips = _shared.make_clips

RunCommand = Callable[..., int]


def run_command(*arguments: object) -> int:
    """Run the command in this process; its exit code. Without ``--jobs`` it scores here too."""
    from vmmetrics.cli.main import main

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vmmetrics.cli.running.DEFAULT_JOBS", 0)
        try:
            main([str(a) for a in arguments])
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


class Done(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def command_in(folder: Path, *arguments: object) -> Done:
    """Run the command in a folder, in this process, where no fixture of one test may capture what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command(*arguments)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture
def vmmetrics(fake_suite: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunCommand:
    """Return :func:`run_command`, in ``tmp_path`` and with the fake suite."""
    monkeypatch.chdir(tmp_path)
    return run_command
