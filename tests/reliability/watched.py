"""Work in a forked process with bounds on CPU time, memory, and time without progress; the command line too."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one process.

    Attributes:
        cpu: Seconds of CPU time.
        idle: Seconds of wall time in which no CPU time passes: it waits for what never comes.
        memory: Resident bytes.
        wall: Seconds of wall time in all.
    """

    cpu: float = 40
    idle: float = 30
    memory: int = 6 * GIB
    wall: float = 600


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended.

    Attributes:
        value: What its function returned, through JSON; None where it did not get so far.
        code: Exit code; the negative number of the signal that ended it.
        exceeded: ``"cpu"``, ``"idle"``, ``"memory"`` or ``"wall"`` where it had to be killed; else empty.
        cpu: CPU seconds.
        peak: Highest resident bytes that were seen.
        output: What it and its children wrote to stdout and stderr.
    """

    value: Any
    code: int
    exceeded: str
    cpu: float
    peak: int
    output: str

    @property
    def trouble(self) -> str:
        """The bound it exceeded, its traceback or the signal that ended it; empty where it ended by itself."""
        if self.exceeded:
            return f"exceeds its bound on {self.exceeded}"
        if "Traceback (most recent call last)" in self.output:
            return "traceback: " + self.output.strip().splitlines()[-1][:200]
        return f"ended by signal {-self.code}" if self.code < 0 else ""


def watched(work: Callable[[], Any], limits: Limits | None = None) -> Ended:
    """Call ``work`` in a forked process, in a session of its own; whatever is left of that session is killed.

    Args:
        work: Called without arguments; its value must be JSON.
        limits: Bounds.
    """
    with tempfile.TemporaryFile() as result, tempfile.TemporaryFile() as output:
        pid = fork(lambda: _report(work, result.fileno()), output.fileno())
        try:
            code, exceeded, cpu, peak = _watch(pid, limits or Limits())
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        result.seek(0)
        output.seek(0)
        data = result.read()
        text = output.read().decode("utf-8", "backslashreplace")
    return Ended(json.loads(data) if data else None, code, exceeded, cpu, peak, text)


_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def fork(work: Callable[[], int], output: int | None = None) -> int:
    """Start ``work`` in a process that leads a session of its own; its value is the exit code.

    Args:
        work: Called without arguments.
        output: Descriptor for stdout and stderr; None for nowhere.

    Returns:
        The process number, which is that of the session and of the process group.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, _STOPPING
    )  # or one of them could meet the parent's handlers there
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid
    code = 1
    try:
        os.setsid()
        for number in _STOPPING:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        nowhere = os.open(os.devnull, os.O_RDWR)
        target = nowhere if output is None else output
        os.dup2(nowhere, 0)
        os.dup2(target, 1)
        os.dup2(target, 2)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115  (pytest puts objects of its own in their place)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
        code = work()
    except BaseException:  # this process must not go on in the code of its parent
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def command(arguments: Sequence[object]) -> int:
    """Run ``vmmetrics`` with some arguments in this process; return its exit code."""
    from vmmetrics.cli.main import main

    sys.argv = ["vmmetrics", *map(str, arguments)]
    try:
        main(sys.argv[1:])
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def run_command(*arguments: object, limits: Limits | None = None, before: Callable[[], None] | None = None) -> Ended:
    """Run ``vmmetrics`` in a watched process; the exit code is the value, too.

    Args:
        *arguments: Arguments of the command.
        limits: Bounds.
        before: Called in the process before the command.
    """

    def work() -> int:
        if before:
            before()
        return command(arguments)

    return watched(work, limits)


def processes(group: int) -> list[int]:
    """The processes of a group that are at work: no zombies."""
    return [pid for pid, fields in _all_processes() if int(fields[2]) == group and fields[0] != "Z"]


def children(pid: int) -> list[int]:
    """The processes that ``pid`` started and that are at work."""
    started: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            started += map(int, task.read_text().split())
    return [child for child in started if _state(child) not in ("Z", "")]


def _all_processes() -> Iterator[tuple[int, list[str]]]:
    """Number and ``/proc/N/stat`` behind the name, of every process: state, parent, group ..."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry.name), _stat(int(entry.name))


def _state(pid: int) -> str:
    """One letter, Z for a zombie; empty where there is no such process."""
    try:
        return _stat(pid)[0]
    except OSError:
        return ""


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _report(work: Callable[[], Any], descriptor: int) -> int:
    value = work()
    os.write(descriptor, json.dumps(value, allow_nan=False).encode())
    return value if isinstance(value, int) and 0 <= value < 256 else 0


def _watch(pid: int, limits: Limits) -> tuple[int, str, float, int]:
    begun = progress = time.monotonic()
    cpu = peak = 0.0
    ticks = os.sysconf("SC_CLK_TCK")
    pause = 0.001
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), "", cpu, int(peak)
        group_cpu = 0.0
        resident = 0
        for member in {pid, *children(pid)}:
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = _stat(member)
                group_cpu += (int(fields[11]) + int(fields[12])) / ticks
                resident += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        peak = max(peak, resident)
        now = time.monotonic()
        if group_cpu > cpu:
            cpu, progress = group_cpu, now
        over = {
            "cpu": cpu > limits.cpu,
            "idle": now - progress > limits.idle,
            "memory": peak > limits.memory,
            "wall": now - begun > limits.wall,
        }
        if any(over.values()):
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return -signal.SIGKILL, next(name for name, is_over in over.items() if is_over), cpu, int(peak)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
