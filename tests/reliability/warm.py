"""Start commands by the thousand: a parent that has imported what they import, and workers that are forked from it."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from multiprocessing import popen_fork
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext, ForkProcess
from pathlib import Path
from typing import Any

from tests.reliability.watched import watched


def import_what(work: Callable[[], Any]) -> None:
    """Do some work in a forked process, and import here what it has imported there; nothing is loaded or run here."""

    def names() -> list[str]:
        with contextlib.suppress(SystemExit):
            work()
        return list(sys.modules)

    for name in watched(names).value or []:
        if name not in sys.modules and not name.startswith("__m"):
            with contextlib.suppress(Exception):
                import_module(name)


def build_commands_once() -> None:
    """Have typer build the commands from their signatures once, for all processes that are forked from here."""
    import typer.main

    from vmmetrics.cli.app import app

    typer.main.get_command = functools.cache(typer.main.get_command)
    typer.main.get_command(app)


def fork_workers() -> None:
    """Have ``multiprocessing`` fork the workers of this process, where it would start Python for each.

    A worker keeps none of the files that its parent has open, as one that was spawned: or it would hold the pipe open
    whose end tells it that its parent is gone.
    """
    multiprocessing.get_context = lambda _method=None: _Context()  # type: ignore[assignment]


class _Popen(popen_fork.Popen):
    def _launch(self, process: Any) -> None:
        parent_reads, child_writes = os.pipe()
        child_reads, parent_writes = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            for number in (signal.SIGTERM, signal.SIGHUP):  # handlers of its parent are not those of a spawned one
                signal.signal(number, signal.SIG_DFL)
            connections = [argument for argument in process._args if isinstance(argument, Connection)]
            keep = {0, 1, 2, child_reads, child_writes, *(connection.fileno() for connection in connections)}
            for entry in list(Path("/proc/self/fd").iterdir()):
                if int(entry.name) not in keep:
                    with contextlib.suppress(OSError):
                        os.close(int(entry.name))
            os._exit(process._bootstrap(parent_sentinel=child_reads))
        os.close(child_writes)
        os.close(child_reads)
        self.sentinel = parent_reads
        self._parent_writes = parent_writes  # closed with this process


class _Process(ForkProcess):
    @staticmethod
    def _Popen(process: Any) -> _Popen:  # noqa: N802  (the name that multiprocessing asks for)
        return _Popen(process)


class _Context(ForkContext):
    Process = _Process
