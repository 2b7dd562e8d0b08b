"""How a run looks while it goes: a bar on a terminal, a line per clip elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from vmmetrics.cli.bars import Bar, count, open_consoles
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.table import cell
from vmmetrics.utils.storage.journal import Line

SLOW_ON_BAR, SLOW_IN_LINES = 10.0, 60.0
"""Seconds from which on the slowest clip is shown, on the bar and in a line of its own."""

__all__ = ["Bar", "CaseProgress", "LiveProgress", "count", "open_consoles", "reasons"]


class LiveProgress(Bar):
    """Shows clips done, failures so far and the time that is left.

    Args:
        console: Where.
        metrics: The metrics of the run.
        jobs: Worker processes.
    """

    def __init__(self, console: Console, metrics: Sequence[str], jobs: int) -> None:
        super().__init__(console)
        self._metrics = metrics
        self._jobs = jobs
        self._total = self._done = self._failed = self._scored = 0
        self._slow = ""  # what the bar shows to have been at work for long
        self._slow_seconds = 0.0
        self._announced: set[str] = set()

    def warn(self, warnings: Sequence[str]) -> None:
        """Say what was found damaged."""
        for warning in warnings:
            self._console.print(f"warning: {warning}", style="yellow")

    def begin(self, total: int, settled: int) -> None:
        """Start the bar; ``settled`` clips were done before."""
        self._total, self._done, self._start = total, settled, time.monotonic()
        if settled:
            self._console.print(f"{settled} of {total} clips were scored before")
        if self._console.is_terminal:
            columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[status]}", markup=False))
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task("", total=total, completed=settled, status="")
            self._bar.start()

    def advance(self, record: Record) -> None:
        """Count a clip."""
        self._done += 1
        self._scored += 1
        self._failed += record.failed
        self._slow = ""  # what is slowest now shows within a second
        if record.failed:
            text = f"failed: {record.clip}: {reasons(record)}"
            self._console.print(text, style="red", soft_wrap=True)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, status=self._status())
        elif not record.failed:
            scores = " ".join(f"{m.upper()} {cell(record, m)}" for m in self._metrics)
            line = f"[{self._done}/{self._total}] {record.clip}  {scores}  {self._status()}"
            self._console.print(line, soft_wrap=True)

    def wait(self, name: str, seconds: float) -> None:
        """Show for how long the slowest clip has been at work: on the bar, or elsewhere in one line for each clip."""
        if self._bar is not None and self._task is not None:
            self._slow, self._slow_seconds = name if seconds >= SLOW_ON_BAR else "", seconds
            self._bar.update(self._task, status=self._status())
        elif seconds >= SLOW_IN_LINES and name not in self._announced:
            self._announced.add(name)
            self._console.print(f"{name}: at work for {_clock(seconds)} so far")

    def _status(self) -> str:
        left = self._total - self._done
        parts = [] if left else ["done"]
        if left and self._scored:
            parts = [f"{_clock((time.monotonic() - self._start) / self._scored * left)} left"]
        if self._failed:
            parts.append(f"{self._failed} failed")
        if self._bar is not None and self._slow:
            parts.append(f"{self._slow} for {_clock(self._slow_seconds)}")
        return ", ".join(parts)


def reasons(record: Record) -> str:
    """Why a clip failed, in one line."""
    return record.error or "; ".join(f"{metric.upper()}: {text}" for metric, text in record.errors.items())


def _clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> _clock(75), _clock(3725)
    ('1:15', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class CaseProgress(Bar):
    """Shows cases done and the time that is left: a bar on a terminal, a line for every tenth elsewhere."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._total = self._done = self._new = 0

    def begin(self, total: int, settled: int) -> None:
        """Start; ``settled`` cases were done before."""
        self._total, self._done, self._start = total, settled, time.monotonic()
        before = f", {settled} of them done before" if settled else ""
        self._console.print(f"{total} cases{before}")
        if self._console.is_terminal:
            columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task("", total=total, completed=settled)
            self._bar.start()

    def advance(self, line: dict[str, Any]) -> None:
        """Count a case, and say what went wrong with it."""
        self._done += 1
        self._new += 1
        wrong = [line["error"]] if "error" in line else [f"{m}: {why}" for m, why in line.get("errors", {}).items()]
        for why in wrong:
            text = f"failed: {line['clip']}, {line['kind']} {line['strength']:.3g}: {why}"
            self._console.print(text, style="red", soft_wrap=True)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done)
        elif self._done * 10 // self._total > (self._done - 1) * 10 // self._total:
            left = (time.monotonic() - self._start) / self._new * (self._total - self._done)
            self._console.print(f"[{self._done}/{self._total}] {left / 60:.0f} min left")


# How making clips looks while it goes: a bar on a terminal, a line per clip elsewhere.


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
