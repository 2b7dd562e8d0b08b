"""How making clips looks while it goes: a bar on a terminal, a line per clip elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from vmmetrics.cli.bars import Bar, count
from vmmetrics.utils.storage.journal import Line


class ClipProgress(Bar):
    """Shows clips made, and why others were not."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._total = self._done = 0

    def begin(self, total: int, made: int) -> None:
        """Start; ``made`` clips were there before."""
        self._total, self._done = total, made
        before = f", {made} of them there already" if made else ""
        self._console.print(f"{count(total, 'clip')}{before}")
        if self._console.is_terminal:
            columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task("", total=total, completed=made)
            self._bar.start()

    def warn(self, warnings: Sequence[str]) -> None:
        """Say what was found damaged."""
        for warning in warnings:
            self._console.print(f"warning: {warning}", style="yellow")

    def advance(self, line: Line) -> None:
        """Count a clip, and say why it failed."""
        self._done += 1
        name = str(line["clip"])
        if "error" in line:
            self._console.print(f"failed: {name}: {line['error']!s}", style="red", soft_wrap=True)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done)
        elif "error" not in line:
            self._console.print(f"[{self._done}/{self._total}] {name}  {line.get('seconds', 0):.1f} s")
