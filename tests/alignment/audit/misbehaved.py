"""Scorers that strain their process; each takes a path, and those on a file named ``bad`` do it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def _bad(path: str) -> bool:
    return "bad" in Path(path).name


def _length(path: str) -> float:
    return float(len(Path(path).name))


def hangs(path: str) -> float:
    while _bad(path):
        time.sleep(60)
    return _length(path)


def exits(path: str) -> float:
    if _bad(path):
        os._exit(7)
    return _length(path)


def leaves(path: str) -> float:
    if _bad(path):
        sys.exit("enough")
    return _length(path)


def is_killed(path: str) -> float:
    if _bad(path):
        os.kill(os.getpid(), signal.SIGSEGV)
    return _length(path)


def chatters(path: str) -> float:
    """A gigabyte to the standard output, of which the first part alone is kept; a line in any case."""
    print("scoring", path, flush=True)
    if _bad(path):
        for _ in range(1024):
            os.write(1, b"rubbish\n" * (1 << 17))
    return _length(path)


def fills_the_disk(path: str) -> float:
    """Files, each below the limit of one."""
    number = 0
    while _bad(path):
        Path(f"part-{number}").write_bytes(bytes(1 << 20))
        number += 1
    return _length(path)


def fills_a_file(path: str) -> float:
    if _bad(path):
        with Path("big").open("wb") as file:
            while True:
                file.write(bytes(1 << 20))
    return _length(path)


def eats(path: str) -> float:
    held = []
    while _bad(path):
        held.append(b"x" * (8 << 20))
    return _length(path)


def eats_in_parts(path: str) -> float:
    """Memory in children, each below the limit of a process."""
    if _bad(path):
        code = "held = b'x' * (120 << 20); import time; time.sleep(600)"
        children = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
        [child.wait() for child in children]
    return _length(path)


def forks(path: str) -> float:
    """A child that goes on after the call; its number stands in the file ``<path>.pid``."""
    if child := os.fork():
        Path(f"{path}.pid").write_text(str(child))
        return _length(path)
    while True:
        time.sleep(60)


def forks_and_exits(path: str) -> float:
    forks(path)
    os._exit(3)


def writes(path: str) -> float:
    """A file in the working folder and one among temporary files; says where."""
    import tempfile

    Path("mine.txt").write_text("x")
    with tempfile.NamedTemporaryFile(delete=False) as file:
        Path(f"{path}.places").write_text(json.dumps([str(Path("mine.txt").absolute()), file.name]))
    return _length(path)


def prints_answers(path: str) -> float:
    for answer in ({"answers": [{"scores": {"": 99}}]}, {"ready": {}}, {"error": "x"}):
        print(json.dumps(answer), flush=True)
        print(json.dumps(answer), file=sys.stderr, flush=True)
        os.write(1, json.dumps(answer).encode() + b"\n")
    subprocess.run([sys.executable, "-c", "print('{\"answers\": []}')"], check=True)
    return _length(path)


def reads_its_input(path: str) -> float:
    return _length(path) + len(sys.stdin.read())


def strange(path: str) -> object:
    """A name, or an error, with half of a surrogate pair."""
    if _bad(path):
        raise ValueError("broken \udc80 text\x00\x1b[31m")
    return {"na\udc80me": 1.0}
