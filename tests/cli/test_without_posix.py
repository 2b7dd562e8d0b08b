"""``score``, ``report`` and ``align`` where Python has no module, function or signal that POSIX alone has.

A stand-in for Windows: what is removed is what Windows lacks, but for what multiprocessing itself uses on this system.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIP = ROOT / "vmmetrics/scoring/verification_clips/real-smoke.mp4"
WITHOUT = """
import os, signal, sys, types
import fcntl as posix

for name in ("pthread_sigmask", "pthread_kill", "SIGHUP", "SIGALRM", "SIGWINCH", "SIGCONT", "SIGSTOP", "alarm"):
    delattr(signal, name)
import multiprocessing.popen_spawn_posix, multiprocessing.resource_tracker, subprocess  # as of this system
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
for name in (
    "fork", "forkpty", "killpg", "setpgid", "getpgid", "setsid", "waitid", "getuid", "geteuid", "getgid", "mkfifo",
    "sysconf", "sched_getaffinity", "O_NONBLOCK", "O_NOFOLLOW", "O_DIRECTORY", "fchown", "statvfs", "nice",
    "getloadavg", "pread", "posix_fallocate",
):
    delattr(os, name)

msvcrt = sys.modules["msvcrt"] = types.ModuleType("msvcrt")
msvcrt.LK_UNLCK, msvcrt.LK_NBLCK = 0, 2

def locking(descriptor, mode, count):
    way = posix.LOCK_EX | posix.LOCK_NB if mode else posix.LOCK_UN
    posix.lockf(descriptor, way, count, os.lseek(descriptor, 0, os.SEEK_CUR))

msvcrt.locking = locking
"""


pytestmark = pytest.mark.slow
Command = Callable[..., None]


@pytest.fixture
def vmmetrics(tmp_path: Path) -> Command:
    """Run a command without POSIX in ``tmp_path``."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}

    def run(*arguments: object) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "vmmetrics", *map(str, arguments)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    return run


def scored(tmp_path: Path) -> dict[str, float]:
    return json.loads((tmp_path / "run" / "scores.jsonl").read_text().splitlines()[0])["scores"]


def test_score_here_and_report(vmmetrics: Command, tmp_path: Path) -> None:
    vmmetrics("score", CLIP, "--metrics", "mss", "--jobs", 0, "--out", "run")
    assert scored(tmp_path) == {"mss": 1.0}
    vmmetrics("report", "run", "--out", "page")
    assert (tmp_path / "page" / "index.html").is_file()


def test_score_in_a_worker(vmmetrics: Command, tmp_path: Path) -> None:
    vmmetrics("score", CLIP, "--metrics", "mss", "--jobs", 1, "--out", "run")
    assert scored(tmp_path) == {"mss": 1.0}


def test_align(vmmetrics: Command, tmp_path: Path) -> None:
    scores, ratings = ["clip,model,mss"], ["clip,rater,rating"]
    for number in range(12):
        scores.append(f"{number}.mp4,{'ab'[number % 2]},{number / 12}")
        ratings += [f"{number}.mp4,{rater},{1 + (number + rater) % 5}" for rater in range(3)]
    (tmp_path / "scores.csv").write_text("\n".join(scores))
    (tmp_path / "ratings.csv").write_text("\n".join(ratings))
    vmmetrics("align", "scores.csv", "ratings.csv", "--resamples", 200, "--out", "study")
    assert any((tmp_path / "study").iterdir())
