"""Every step at which a program changes what lies on the disk, counted; and a process that is killed at one of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

Step = Callable[[str], None]


class _Halved:
    """A file whose every write reaches the disk in two halves, with a step between them."""

    def __init__(self, file: Any, name: str, step: Step) -> None:
        self._file, self._name, self._step = file, name, step

    def write(self, data: Any) -> int:
        half = len(data) // 2
        self._file.write(data[:half])
        self._file.flush()
        self._step(f"half of a write to {self._name}")
        self._file.write(data[half:])
        return len(data)

    def __enter__(self) -> _Halved:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def watch_steps(step: Step) -> None:
    """Call ``step`` before and after each fsync and each rename, and in the middle of each write, in this process.

    For a forked process that ends soon: nothing is put back.
    """
    opening = Path.open

    def opened(path: Path, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        file = opening(path, mode, *arguments, **options)
        return _Halved(file, path.name, step) if set("wax") & set(mode) else file

    Path.open = opened  # type: ignore[method-assign, assignment]
    os.fsync = _between(os.fsync, "fsync", step)
    Path.replace = _between(Path.replace, "replace", step)  # type: ignore[method-assign]
    os.replace = _between(os.replace, "replace", step)


def _between(function: Callable[..., Any], name: str, step: Step) -> Callable[..., Any]:
    def stepped(*arguments: Any) -> Any:
        what = " ".join(argument.name for argument in arguments if isinstance(argument, Path))
        step(f"before {name} {what}".strip())
        value = function(*arguments)
        step(f"after {name} {what}".strip())
        return value

    return stepped


def count_steps() -> list[str]:
    """Watch the steps of this process; the list grows with them."""
    steps: list[str] = []
    watch_steps(steps.append)
    return steps


def kill_at(number: int) -> None:
    """Kill this process at one of its steps, the first being 1; what it does is written to stderr."""
    steps = 0

    def step(what: str) -> None:
        nonlocal steps
        steps += 1
        if steps == number:
            os.write(2, f"killed at step {number}: {what}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)

    watch_steps(step)
