"""The program that times a run directory can be run: it is not checked with the package."""

from __future__ import annotations

import subprocess
import sys


def test_every_step_is_measured() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.run_directory", "300"], capture_output=True, text=True, timeout=300
    )
    assert not done.returncode, done.stderr
    steps = [line.partition(":")[0] for line in done.stdout.splitlines()]
    assert steps[:-1] == ["write", "rebuild", "settled", "one", "tables", "join"]
    assert steps[-1].startswith("300 clips")
