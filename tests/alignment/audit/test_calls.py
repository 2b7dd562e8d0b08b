"""Limits of a scorer's process: each misbehaviour spoils its own answer, and nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vmmetrics.alignment.audit.calls import Answer, Caller, Item, Limits
from vmmetrics.alignment.audit.target import Target

HERE = Path(__file__).parent
LIMITS = Limits(seconds=30, memory=256 << 20, file_size=4 << 20, folder_size=24 << 20)
NAMES = ("one", "bad", "three", "seventeen")


def misbehaved(name: str) -> Target:
    return Target("function", f"misbehaved:{name}", ("path",), "s", origin=str(HERE))


def asked(target: Target, folder: Path, limits: Limits = LIMITS) -> list[Answer]:
    with Caller(target, limits) as caller:
        return caller([Item(path=str(folder / name)) for name in NAMES], "path")


def alive(pid: int) -> bool:
    """Return True for a process that runs; one that ended and waits for its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in ("Z", "X")


def gone(pid: int, seconds: float = 10) -> bool:
    """Return True once a process has ended: kills take effect a moment later."""
    deadline = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


@pytest.mark.parametrize(
    ("scorer", "why", "failed"),
    [
        ("exits", "its process died (exit code 7)", True),
        ("leaves", "its process died (exit code 1)", True),
        ("is_killed", "its process died (signal SIGSEGV)", True),
        ("chatters", "OSError: [Errno 27] File too large", False),
        ("fills_the_disk", "it wrote more than 24 MiB", True),
        ("fills_a_file", "OSError: [Errno 27] File too large", False),
        ("eats", "MemoryError", False),
        ("strange", "ValueError: broken ? text", False),
    ],
)
def test_one_answer_is_spoilt(scorer: str, why: str, failed: bool, tmp_path: Path) -> None:
    one, bad, three, seventeen = asked(misbehaved(scorer), tmp_path)
    assert bad.scores == {}
    assert bad.refused is not None and bad.refused.startswith(why)
    assert bad.failed == failed
    for answer, length in ((one, 3), (three, 5), (seventeen, 9)):
        assert answer.refused is None
        assert answer.scores == ({"s": length} if scorer != "strange" else {"na?me": 1})


def test_hanging_call_is_ended(tmp_path: Path) -> None:
    one, bad, three, _ = asked(misbehaved("hangs"), tmp_path, Limits(seconds=3))
    assert (one.scores, bad, three.scores) == (
        {"s": 3},
        Answer(refused="it took longer than 3 s", failed=True),
        {"s": 5},
    )


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_children_counts(tmp_path: Path) -> None:
    one, bad, three, _ = asked(misbehaved("eats_in_parts"), tmp_path)
    assert (one.scores, three.scores) == ({"s": 3}, {"s": 5})
    assert bad == Answer(refused="it took more than 256 MiB of memory", failed=True)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("scorer", ["forks", "forks_and_exits"])
def test_children_end_with_the_caller(scorer: str, tmp_path: Path) -> None:
    answers = asked(misbehaved(scorer), tmp_path)
    why = None if scorer == "forks" else "its process died (exit code 3)"  # and not: took too long
    assert [answer.refused for answer in answers] == [why] * 4
    children = [int((tmp_path / f"{name}.pid").read_text()) for name in NAMES]
    assert [gone(child) for child in children] == [True] * 4


def test_own_folder_is_removed(tmp_path: Path) -> None:
    before = set(Path.cwd().iterdir())
    assert [answer.scores for answer in asked(misbehaved("writes"), tmp_path)] == [{"s": len(name)} for name in NAMES]
    places = [Path(place) for name in NAMES for place in json.loads((tmp_path / f"{name}.places").read_text())]
    assert len({place.parent for place in places}) == 1  # one folder for all that it writes
    assert not any(place.exists() or place.parent.exists() for place in places)
    assert set(Path.cwd().iterdir()) == before


@pytest.mark.parametrize("scorer", ["prints_answers", "reads_its_input"])
def test_standard_streams_are_not_the_channel(scorer: str, tmp_path: Path) -> None:
    assert [answer.scores for answer in asked(misbehaved(scorer), tmp_path)] == [{"s": len(name)} for name in NAMES]


def test_target_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "faulty.py").write_text("raise RuntimeError('no weights')")
    (tmp_path / "quits.py").write_text("import os; os._exit(5)")
    reasons = {}
    for text in ("faulty:f", "quits:f", "misbehaved:absent", "absent:f"):
        target = Target("function", text, ("path",), origin=str(HERE if text[0] in "ma" else tmp_path))
        with Caller(target, LIMITS) as caller:
            reasons[text] = caller.start()
            assert caller([Item(path="x")], "path")[0].failed
    assert reasons["faulty:f"] == "RuntimeError: no weights"
    assert reasons["quits:f"] == "its process died (exit code 5)"
    assert "absent" in str(reasons["misbehaved:absent"])
    assert "absent" in str(reasons["absent:f"])


WAITING = """
import sys
from pathlib import Path
from vmmetrics.alignment.audit.calls import Caller, Item, Limits
from vmmetrics.alignment.audit.target import Target
kind, text, origin, path = sys.argv[1:]
Caller(Target(kind, text, ("path",), origin=origin), Limits())([Item(path=path)], "path")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a process ends with its parent on Linux alone")
@pytest.mark.parametrize("kind", ["function", "command"])
def test_nothing_survives_a_kill_of_the_parent(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    code = f"import os, time; open({str(file)!r}, 'a').write(f'{{os.getpid()}} {{os.getppid()}}\\n'); time.sleep(600)"
    (tmp_path / "waits.py").write_text(f"def f(path):\n    exec({code!r})\n")
    (tmp_path / "wait.py").write_text(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}])\n")
    text = {"function": "waits:f", "command": f"{sys.executable} wait.py {{clip}}"}[kind]
    words = [sys.executable, "-c", WAITING, kind, text, str(tmp_path), str(tmp_path / "clip")]
    with subprocess.Popen(words) as parent:
        deadline = time.monotonic() + 30
        while not (file.exists() and file.read_text().endswith("\n")) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(parent.pid, signal.SIGKILL)
    pids = [int(pid) for pid in file.read_text().split()]
    pids.remove(parent.pid) if parent.pid in pids else None
    try:
        assert pids
        assert [gone(pid) for pid in pids] == [True] * len(pids)
    finally:
        for pid in filter(alive, pids):
            os.kill(pid, signal.SIGKILL)
