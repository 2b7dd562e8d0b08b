"""LiteRT networks, opened without the notice that the library writes to stderr once a process."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

_NOTICE = b"INFO: "  # prefix of the library's log lines that report no trouble
_lock = Lock()
_opened = False  # it writes the line once a process


def open_network(path: Path, threads: int | None) -> Any:
    """Open a ``.tflite`` network with its tensors allocated.

    Args:
        path: The file.
        threads: Threads to use, None for LiteRT's choice; the results do not depend on it.

    Returns:
        A LiteRT interpreter.

    Raises:
        ValueError: The file is not a network.
    """
    from ai_edge_litert.interpreter import Interpreter

    def opened() -> Any:
        network = Interpreter(model_path=str(path), num_threads=threads)
        network.allocate_tensors()
        return network

    global _opened
    with _lock:  # the first of several threads
        if _opened:
            return opened()
        with _without_notices():
            network = opened()
        _opened = True
        return network


@contextlib.contextmanager
def _without_notices() -> Iterator[None]:
    """Buffer the process's stderr, then write it without the notices.

    The library has no switch for its log and bypasses :data:`sys.stderr`, so the file descriptor is redirected.
    """
    with tempfile.TemporaryFile() as aside:
        try:
            stderr_copy = os.dup(2)
        except OSError:  # stderr is closed: nobody would read it
            yield
            return
        try:
            os.dup2(aside.fileno(), 2)
            yield
        finally:
            os.dup2(stderr_copy, 2)
            os.close(stderr_copy)
            aside.seek(0)
            with contextlib.suppress(OSError):
                os.write(2, b"".join(line for line in aside if not line.startswith(_NOTICE)))
