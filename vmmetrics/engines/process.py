"""Processes of workers: how one starts, lives with its parent, and is ended with the processes that it started."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

_GRACE_SECONDS = 2.0  # for a worker to exit before it is killed
_PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>


def kill(process: SpawnProcess) -> None:
    """Kill a worker, stopped or not, and the processes it started."""
    if hasattr(os, "killpg") and process.pid is not None and not _reaped(process.pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it leads no group yet, or none any more
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _reaped(process: int) -> bool:
    """Return True if a process was waited for; its number may then be that of another process or group."""
    try:
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    except AttributeError:  # macOS before Python 3.13
        pass
    return False


def end(process: SpawnProcess) -> int | None:
    """Wait for a worker to leave, kill what is left of it, and return its exit code."""
    wait([process.sentinel], _GRACE_SECONDS)  # does not reap it, unlike join()
    kill(process)
    process.join()
    return process.exitcode


def cause_of_death(code: int | None, log: Path | None, when: str = "on this clip") -> str:
    """Return why and when a worker died, from its exit code, and where its output is."""
    if code is not None and code < 0:
        names = {number.value: number.name for number in signal.Signals}
        cause = f"killed by signal {names.get(-code, -code)}"
        if -code == getattr(signal, "SIGKILL", None):
            cause += ", most likely for using too much memory: lower --max-memory or --jobs"
    else:
        cause = f"exit code {code}"
    return f"The worker process died {when} ({cause})" + (f"; its output is in {log}" if log else "")


@contextlib.contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Block SIGINT while a worker starts; the parent handles it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its start would let them through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def live_with_parent() -> None:
    """Lead a process group, to be killed as one, and end with the parent, also in the middle of an item."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101  (this runs in a worker)
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # ends a process that is stopped, too

    def leave() -> None:
        wait([parent.sentinel])
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()
