"""Run cases of a tree, each in a folder of its own, and write what they did."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.net.capture import captured
from benchmarks.net.case import PROBES, ROOT, Case
from benchmarks.net.normalise import Normaliser
from benchmarks.net.standin import served

LIMIT = 1800
"""Seconds that one command may take."""

UNDER_WAY: set[subprocess.Popen[bytes]] = set()
"""Commands that end with this process."""


def compute_all(cases: Sequence[Case], tree: Path, out: Path, jobs: int, again: bool) -> int:
    """Record each case that is not there yet; return an exit code."""
    if not (tree / "vmmetrics").is_dir():
        print(f"{tree} holds no package vmmetrics")
        return 2
    todo = [case for case in cases if again or not _file(out, case).exists()]
    print(f"{len(cases)} cases, {len(cases) - len(todo)} there, {len(todo)} to do", flush=True)
    # A folder of the same length for every tree: what is wrapped by the width of the terminal is wrapped alike.
    scratch = Path(tempfile.gettempdir()) / f"net-{hashlib.sha256(str(out).encode()).hexdigest()[:8]}"
    _check_tree(tree)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    began = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(lambda case: _tried(case, tree, out, scratch), todo))
    shutil.rmtree(scratch, ignore_errors=True)
    print(f"{time.monotonic() - began:.0f} s in all", flush=True)
    return int(not all(done))


def _stop(*_: object) -> None:
    """End what is under way and leave; records are written whole or not at all."""
    for child in list(UNDER_WAY):
        child.terminate()
    os._exit(130)


def _check_tree(tree: Path) -> None:
    """Make sure that the tree's own package answers, and build matplotlib's list of fonts once."""
    code = "import vmmetrics, matplotlib.font_manager; print(vmmetrics.__file__)"
    there = tempfile.gettempdir()  # not the current folder, which would go first
    status = subprocess.run(
        [sys.executable, "-c", code], cwd=there, env=_environment(tree, Path.home()), capture_output=True,
        text=True, check=True,
    ).stdout.strip()  # fmt: skip
    if not Path(status).resolve().is_relative_to(tree):
        raise SystemExit(f"{status} would answer, not {tree}")


def _file(out: Path, case: Case) -> Path:
    return out / case.family / f"{case.name}.json"


def _tried(case: Case, tree: Path, out: Path, scratch: Path) -> bool:
    """Record a case and print how long it took; one whose inputs cannot be made does not stop the others."""
    began = time.monotonic()
    try:
        _record(case, tree, out, scratch)
    except Exception as error:
        print(f"FAILED  {case.key}: {type(error).__name__}: {error}", flush=True)
        return False
    print(f"{time.monotonic() - began:7.1f} s  {case.key}", flush=True)
    return True


def _record(case: Case, tree: Path, out: Path, scratch: Path) -> None:
    folder = scratch / case.family / case.name
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("in", "out", "home"):
        (folder / part).mkdir(parents=True)
    for source in case.inputs:
        source(folder / "in")
    normaliser = Normaliser({folder: "<WORK>", tree: "<TREE>", ROOT: "<NET>", Path(sys.prefix): "<VENV>"})
    with ExitStack() as stack:
        if case.endpoint:
            stack.enter_context(served(case.port))
        commands = [_run(command, case, tree, folder, normaliser) for command in case.commands]
    record = {"case": case.key, "commands": commands, "files": captured(folder, normaliser)}
    file = _file(out, case)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1, ensure_ascii=False))
    part.replace(file)
    shutil.rmtree(folder, ignore_errors=True)


def _environment(tree: Path, home: Path, columns: int = 160) -> dict[str, str]:
    fonts = Path(tempfile.gettempdir()) / "net-matplotlib"
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(tree),
        "PYTHONPYCACHEPREFIX": str(fonts.with_name("net-bytecode")),  # not in the tree
        "PYTHONHASHSEED": "0",
        "COLUMNS": str(columns),
        "LINES": "50",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "MPLCONFIGDIR": str(fonts),
        "VMMETRICS_ENDPOINT_KEY": "net-key",
        "VMMETRICS_JUDGE_KEY": "net-key",
    }


def _run(command: str, case: Case, tree: Path, folder: Path, normaliser: Normaliser) -> dict[str, Any]:
    words = shlex.split(command.replace("{url}", f"http://127.0.0.1:{case.port}/v1"))
    output = b""
    if len(words) > 2 and words[-2] == "<":
        output, words = (folder / words[-1]).read_bytes(), words[:-2]
    program = [str(PROBES / f"{words[0][1:]}.py"), *words[1:]] if words[0][0] == "@" else ["-m", "vmmetrics", *words]
    environment = _environment(tree, folder / "home", case.columns)
    child = subprocess.Popen(
        [sys.executable, *program], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    UNDER_WAY.add(child)
    try:
        shown = child.communicate(output, LIMIT)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return {"command": command, "exit": "took too long", "stdout": [], "stderr": []}
    finally:
        UNDER_WAY.discard(child)
    out, err = (normaliser.lines(text.decode(errors="backslashreplace")) for text in shown)
    return {"command": command, "exit": child.returncode, "stdout": out, "stderr": err}
