"""Progress of a run of clips: a bar on a terminal, a line per clip elsewhere."""

from __future__ import annotations

import os
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from vmmetrics.cli.terminal import Bar, count, error
from vmmetrics.metrics.registry import label
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.table import cell
from vmmetrics.utils.storage.addresses import address_of, is_web, safe_name

SLOW_ON_BAR, SLOW_IN_LINES = 10.0, 60.0
"""Seconds after which the slowest clip is shown."""
_RECENT = 32  # clips from which the time left is estimated
_COUNT_SECONDS = 0.1  # between two counts of the clips found


@contextmanager
def finding(console: Console, paths: Iterable[str]) -> Iterator[Callable[[int], None]]:
    """Print which folders are searched for clips, and on a terminal the number of clips so far.

    Args:
        console: Where.
        paths: Folders and addresses, and files, which need no search.
    """
    there = [(path, address_of(path)) for path in paths]
    folders = [
        safe_name(address or path)
        for path, address in there
        if os.path.isdir(path) or (address and not is_web(address))  # noqa: PTH112 - Path's raises on long names
    ]
    text = f"finding clips in {', '.join(folders)} ..."
    if not folders or not console.is_terminal:
        if folders:
            console.print(text, soft_wrap=True)
        yield lambda _: None
        return
    shown = 0.0
    with console.status(text) as status:

        def update(clips: int) -> None:
            nonlocal shown
            if time.monotonic() - shown >= _COUNT_SECONDS:
                shown = time.monotonic()
                status.update(f"{text} {clips:,}")

        yield update


class LiveProgress(Bar):
    """Live display of clips done, failures so far and the time left.

    Args:
        console: Where.
        metrics: The metrics of the run.
        jobs: Clips worked on at once.
    """

    def __init__(self, console: Console, metrics: Sequence[str], jobs: int = 1) -> None:
        super().__init__(console)
        self._metrics = metrics
        self._jobs = jobs
        self._failed = 0
        self._clips, self._seconds = 0, 0.0  # of this session
        self._scored = array("d")  # seconds of those of them that did not fail
        self._ends: deque[float] = deque(maxlen=max(_RECENT, jobs) + 1)  # when the last of them were done
        self._slow = ""  # what the bar shows to have been at work for long
        self._said: dict[str, float] = {}  # clips at work for long, and after how many seconds it is said again
        self._share: tuple[str, float | None, float] = ("", None, 0.0)  # clip, share done, and its seconds then

    def begin(self, total: int, settled: int) -> None:
        """Start the bar; ``settled`` clips were done before."""
        if settled:
            self._console.print(f"{settled} of {total} clips were scored before")
        status = TextColumn("{task.fields[status]}", markup=False)
        self.start(total, settled, BarColumn(), MofNCompleteColumn(), status)

    def advance(self, record: Record) -> None:
        """Count a clip."""
        self._done += 1
        self._clips += 1
        self._seconds += record.seconds
        if not record.failed:
            self._scored.append(record.seconds)
        self._ends.append(time.monotonic())
        self._failed += record.failed
        self._slow = ""  # what is slowest now shows within a second
        if record.failed:
            text = f"failed: {record.clip}: {reasons(record)}"
            error(self._console, text)
        if not self.show(status=self._status()) and not record.failed:
            scores = " ".join(f"{label(m)} {cell(record, m)}" for m in self._metrics if cell(record, m))
            line = f"[{self._done}/{self._total}] {record.clip}  {scores}  {self._status()}"
            self._console.print(line, soft_wrap=True)

    def wait(self, name: str, seconds: float, share: float | None = None) -> None:
        """Show how long the slowest clip has been at work, the share done and the time left.

        On the bar, or elsewhere in a line for each clip, again whenever its time has doubled.
        """
        if self._share[:2] != (name, share):
            self._share = name, share, seconds
        done = self._part_done(seconds)
        self._slow = f"{name} for {clock(seconds)}{done}" if self._bar is not None and seconds >= SLOW_ON_BAR else ""
        if not self.show(status=self._status()) and seconds >= self._said.get(name, SLOW_IN_LINES):
            self._said[name] = 2 * seconds
            self._console.print(f"{name}: running for {clock(seconds)} so far{done}")

    def _part_done(self, seconds: float) -> str:
        """Return the share of the slowest clip that is done, and the time left as of when it last grew."""
        _, share, then = self._share
        if not share or share >= 1:
            return ""
        left = then / share - seconds
        return f", about {share:.0%} done" + (f", {clock(left)} left" if left > 0 else "")

    def _status(self) -> str:
        left = self._total - self._done
        parts = [] if left else ["done"]
        if left and self._clips:
            parts = [f"{clock(self._seconds_each() * left)} left"]
        if self._failed:
            parts.append(f"{self._failed} failed")
        return ", ".join([*parts, self._slow] if self._slow else parts)

    def _seconds_each(self) -> float:
        """Return how often a clip is done lately; the start of the workers, before the first, does not count.

        The first clip of each worker ends at about the same time: until they are past, clips are taken to be done no
        more often than all workers together would, but less often where fewer of them run.
        """
        jobs = max(1, self._jobs)
        lately = (self._ends[-1] - self._ends[0]) / max(1, len(self._ends) - 1)
        return lately if len(self._ends) > jobs else max(lately, self._seconds / self._clips / jobs)

    def summary(self) -> str:
        """Return how long the clips of this session took; empty where none was scored."""
        if not self._clips:
            return ""
        whole = clock(time.monotonic() - self._start)
        workers = f" with {count(self._jobs, 'worker')}" if self._jobs else ""
        each = f": {median(self._scored):.3g} s a clip (median)" if self._scored else ""
        return f"{count(self._clips, 'clip')} in {whole}{workers}{each}"


def reasons(record: Record) -> str:
    """Return why a clip failed, in one line."""
    return record.error or "; ".join(f"{label(metric)}: {text}" for metric, text in record.errors.items())


def clock(seconds: float) -> str:
    """Return hours, minutes and seconds.

    >>> clock(75), clock(3725)
    ('1:15', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
