"""How a run of clips looks while it goes: a bar on a terminal, a line per clip elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from vmmetrics.cli.terminal import Bar
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.table import cell

SLOW_ON_BAR, SLOW_IN_LINES = 10.0, 60.0
"""Seconds from which on the slowest clip is shown, on the bar and in a line of its own."""


class LiveProgress(Bar):
    """Shows clips done, failures so far and the time that is left.

    Args:
        console: Where.
        metrics: The metrics of the run.
    """

    def __init__(self, console: Console, metrics: Sequence[str]) -> None:
        super().__init__(console)
        self._metrics = metrics
        self._failed = self._scored = 0
        self._slow = ""  # what the bar shows to have been at work for long
        self._announced: set[str] = set()

    def begin(self, total: int, settled: int) -> None:
        """Start the bar; ``settled`` clips were done before."""
        if settled:
            self._console.print(f"{settled} of {total} clips were scored before")
        status = TextColumn("{task.fields[status]}", markup=False)
        self.start(total, settled, BarColumn(), MofNCompleteColumn(), status)

    def advance(self, record: Record) -> None:
        """Count a clip."""
        self._done += 1
        self._scored += 1
        self._failed += record.failed
        self._slow = ""  # what is slowest now shows within a second
        if record.failed:
            text = f"failed: {record.clip}: {reasons(record)}"
            self._console.print(text, style="red", soft_wrap=True)
        if not self.show(status=self._status()) and not record.failed:
            scores = " ".join(f"{m.upper()} {cell(record, m)}" for m in self._metrics)
            line = f"[{self._done}/{self._total}] {record.clip}  {scores}  {self._status()}"
            self._console.print(line, soft_wrap=True)

    def wait(self, name: str, seconds: float) -> None:
        """Show for how long the slowest clip has been at work: on the bar, or elsewhere in one line for each clip."""
        self._slow = f"{name} for {_clock(seconds)}" if self._bar is not None and seconds >= SLOW_ON_BAR else ""
        if not self.show(status=self._status()) and seconds >= SLOW_IN_LINES and name not in self._announced:
            self._announced.add(name)
            self._console.print(f"{name}: at work for {_clock(seconds)} so far")

    def _status(self) -> str:
        left = self._total - self._done
        parts = [] if left else ["done"]
        if left and self._scored:
            parts = [f"{_clock((time.monotonic() - self._start) / self._scored * left)} left"]
        if self._failed:
            parts.append(f"{self._failed} failed")
        return ", ".join([*parts, self._slow] if self._slow else parts)


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
