"""Networks of LiteRT, opened without the line that it writes to stderr at the first of a process."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

_NOTICE = b"INFO: "  # what lines of the library's log begin with that report no trouble
_lock = Lock()
_opened = False  # it writes the line once a process


def open_network(path: Path, threads: int | None) -> Any:
    """Open a ``.tflite`` network, ready to be fed.

    Args:
        path: The file.
        threads: Threads that it may use, None for its own choice; its results do not depend on it.

    Returns:
        A LiteRT interpreter.

    Raises:
        ValueError: The file is no network.
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
    """Hold back what is written to the process's stderr, then pass it on without the notices.

    The library has no switch for its log and writes past :data:`sys.stderr`, so the file descriptor is turned aside.
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
