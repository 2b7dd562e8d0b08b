"""``score``, ``report`` and ``align`` where Python has no module, function or signal that POSIX alone has.

A stand-in for Windows: what is removed is what Windows lacks, but for what multiprocessing itself uses on this system.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
COMMANDS = (
    ("score", str(CLIP), "--metrics", "mss", "--jobs", "0", "--out", "here"),
    ("score", str(CLIP), "--metrics", "mss", "--jobs", "1", "--out", "worker"),
    ("report", "here", "--out", "page"),
    ("align", "scores.csv", "ratings.csv", "--resamples", "200", "--out", "study"),
)
PROGRAM = """
import json, sys
from vmmetrics.cli.main import main

for words in json.load(sys.stdin):
    try:
        main(words)
    except SystemExit as stop:
        if stop.code:
            sys.exit(f"{words}: {stop.code}")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands were run without POSIX, in one process."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "sitecustomize.py").write_text(WITHOUT)
    scores, ratings = ["clip,model,mss"], ["clip,rater,rating"]
    for number in range(12):
        scores.append(f"{number}.mp4,{'ab'[number % 2]},{number / 12}")
        ratings += [f"{number}.mp4,{rater},{1 + (number + rater) % 5}" for rater in range(3)]
    (folder / "scores.csv").write_text("\n".join(scores))
    (folder / "ratings.csv").write_text("\n".join(ratings))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps(COMMANDS), cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("run", ["here", "worker"])
def test_score(folder: Path, run: str) -> None:
    assert json.loads((folder / run / "scores.jsonl").read_text().splitlines()[0])["scores"] == {"mss": 1.0}


def test_report_and_align(folder: Path) -> None:
    assert (folder / "page" / "index.html").is_file()
    assert (folder / "study" / "page.html").is_file()
