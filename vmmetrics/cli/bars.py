"""Consoles and bars; commands may have them at hand before anything heavy is loaded."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

FILE_WIDTH = 160
"""Columns where output goes to a file or pipe, which has no width of its own."""


def open_consoles() -> tuple[Console, Console]:
    """Consoles for results (stdout) and for progress and errors (stderr)."""
    from rich.console import Console

    output, messages = Console(), Console(stderr=True)
    for console in (output, messages):
        if not console.is_terminal:
            console.width = FILE_WIDTH
    return output, messages


def count(number: int, thing: str) -> str:
    """A number of things.

    >>> count(1, "clip"), count(2, "clip")
    ('1 clip', '2 clips')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def agreed(messages: Console) -> bool:
    """Ask whether to send what was just estimated; no where there is nobody to ask."""
    import typer

    try:
        if typer.confirm("Go on?", err=True):
            return True
    except typer.Abort:
        messages.print()
    messages.print("nothing was sent; --yes goes on without asking", markup=False)
    return False


class Bar:
    """A progress bar that is taken off the screen at the end, however that comes.

    Args:
        console: Where.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
