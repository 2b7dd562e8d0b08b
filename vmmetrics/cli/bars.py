"""Consoles and bars; commands may have them at hand before anything heavy is loaded."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


def open_consoles() -> tuple[Console, Console]:
    """Open consoles for results (stdout) and for progress and errors (stderr)."""
    from vmmetrics.cli.consoles import PlainConsole

    return PlainConsole(), PlainConsole(stderr=True)


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
    messages.print("nothing was sent; --yes goes on without asking")
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


class StepBar(Bar):
    """Steps done and the time that is left: a bar on a terminal, a line for every tenth elsewhere.

    Args:
        console: Where.
        total: Steps to be done; a bar for which they are not known yet is started later.
    """

    def __init__(self, console: Console, total: int = 0) -> None:
        super().__init__(console)
        self._total = self._done = 0
        if total:
            self.start(total)

    def start(self, total: int) -> None:
        """Begin, or begin anew, with so many steps."""
        self.stop()
        self._total, self._done = total, 0
        if self._console.is_terminal and total:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

            columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task("", total=total)
            self._bar.start()

    def step(self, steps: int = 1) -> None:
        """Count so many."""
        before = self._done
        self._done += steps
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done)
        elif self._done * 10 // self._total > before * 10 // self._total:
            self._console.print(f"[{self._done}/{self._total}]")
