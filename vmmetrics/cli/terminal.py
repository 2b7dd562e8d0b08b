"""Consoles and progress bars that escape foreign text; prompts for confirmation, refusals and interrupts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from vmmetrics.cli.stopping import EXIT_INTERRUPTED, stoppable
from vmmetrics.utils.display.markup import clean, spelled

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

EXIT_DECLINED = 1
"""Exit code: the answer to a question was no."""
EXIT_FAILURES = 3
"""Exit code: some items failed; missing scores are no failures."""
EXIT_WORSE = 4
"""Exit code: a threshold given by the user is not met."""
FILE_WIDTH = 160
"""Width in columns for output to a file or pipe."""
SECONDS_BETWEEN_LINES = 30.0
"""Seconds between lines of progress where there is no terminal."""


class PlainConsole(Console):
    r"""A console that takes every str for one line of plain text, and escapes what is not printable in it.

    There is no markup, no emoji code and no highlighting. What has several lines is printed as several objects with
    ``sep="\n"``, or as a rich Text: it keeps its lines, and its other control characters are escaped as well.

    Args:
        options: As rich's Console.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)
        if not self.is_terminal:
            self.width = FILE_WIDTH

    def render_str(self, text: str, **options: Any) -> Text:
        """Convert a str to a Text of one line."""
        return super().render_str(spelled(clean(text), self.encoding), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of an object; only rich's own control codes stay as they are."""
        for segment in super().render(renderable, options):
            if not segment.control and not self.encoding.startswith("utf"):
                segment = segment._replace(text=spelled(segment.text, self.encoding))
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text="\n".join(map(clean, segment.text.split("\n"))))


class Messages(PlainConsole):
    """The console of progress and errors; with --quiet of errors alone, see :func:`error`."""

    def __init__(self) -> None:
        super().__init__(stderr=True)
        self.only_errors = _quiet.get()
        self._unsaid: list[tuple[Any, ...]] = []

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, unless --quiet was asked for."""
        if not self.only_errors:
            super().print(*objects, **options)
        else:
            self._unsaid.append(objects)

    def catch_up(self) -> None:
        """Print what --quiet left out: a question needs what was said before it."""
        for objects in self._unsaid:
            super().print(*objects, soft_wrap=True)
        self._unsaid.clear()


_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def quietly(quiet: bool) -> Iterator[None]:
    """Open consoles for errors and the result only, in this block."""
    before = _quiet.set(quiet)
    try:
        yield
    finally:
        _quiet.reset(before)


def open_consoles() -> tuple[PlainConsole, Messages]:
    """Open consoles for results (stdout) and for progress and errors (stderr)."""
    return PlainConsole(), Messages()


def count(number: int, thing: str) -> str:
    """Return a number with its noun, in the plural where needed.

    >>> count(1, "clip"), count(2, "clip")
    ('1 clip', '2 clips')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def error(messages: Console, text: str, style: str = "red") -> None:
    """Print what failed, with --quiet too."""
    Console.print(messages, text, style=style, soft_wrap=True)


def warn(messages: Console, warnings: Iterable[str]) -> None:
    """Print warnings about damaged records."""
    for warning in warnings:
        messages.print(f"warning: {warning}", style="yellow")


def agree(messages: Console, yes: bool) -> None:
    """Ask to confirm an estimated cost, unless --yes was set; without a terminal the answer is no.

    Raises:
        typer.Exit: It is not to be sent.
    """
    try:
        if yes:
            return
        if isinstance(messages, Messages):
            messages.catch_up()
        if typer.confirm("Go on?", err=True):
            return
    except typer.Abort:
        messages.print()
    error(messages, "nothing was sent; use --yes to skip this question")
    raise typer.Exit(EXIT_DECLINED)


@contextmanager
def usage(option: str | None = None) -> Iterator[None]:
    """Make a usage error of what the library says about a value, for which an option may be named."""
    try:
        yield
    except ValueError as refused:
        raise typer.BadParameter(str(refused), param_hint=option) from refused


@contextmanager
def until_stopped(messages: Console, message: str) -> Iterator[None]:
    """End the command on Ctrl-C, SIGTERM and SIGHUP, and say what is kept."""
    with stoppable():
        try:
            yield
        except KeyboardInterrupt:
            messages.print(message)
            raise typer.Exit(EXIT_INTERRUPTED) from None


class Bar:
    """Steps done and the time that is left: a bar on a terminal, taken off the screen at the end however that comes.

    Args:
        console: Where.
        total: Steps to be done; a bar for which they are not known yet is started later.
    """

    def __init__(self, console: Console, total: int = 0) -> None:
        self._console = console
        self._bar: Progress | None = None
        self._phase, self._printed, self._first = "", 0.0, 0.0
        self.start(total)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, total: float, done: int = 0, *columns: ProgressColumn) -> None:
        """Begin, or restart, with this many steps."""
        self.stop()
        self._total, self._done, self._start = total, done, time.monotonic()
        if self._console.is_terminal and total and not _quiet.get():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

            shown = columns or (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*shown, console=self._console, transient=True)
            self._bar.add_task("", total=total, completed=done, status="")
            self._bar.start()

    def warn(self, warnings: Iterable[str]) -> None:
        """Print warnings about damaged records."""
        warn(self._console, warnings)

    def stop(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def show(self, **fields: Any) -> bool:
        """Update the bar; return True if there is one."""
        if self._bar is None:
            return False
        self._bar.update(self._bar.task_ids[0], **{"completed": self._done, **fields})
        return True

    def step(self, steps: int = 1, detail: str = "") -> None:
        """Count so many: a line for every tenth, with the detail, where there is no bar."""
        before = self._done
        self._done += steps
        if not self.show() and self._done * 10 // self._total > before * 10 // self._total:
            self._console.print(f"[{self._done}/{self._total}] {detail}".rstrip())

    def phase(self, what: str, done: float, total: float, detail: str = "") -> None:
        """Show how far a phase of the work is: where there is no bar in a line at its start and now and then."""
        now, share = time.monotonic(), done / total
        if what != self._phase:
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

            self._phase, self._printed, self._first = what, now - SECONDS_BETWEEN_LINES, share
            described = TextColumn("{task.description}")
            self.start(total, int(done), described, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        text = f"{what}{detail}"
        if not self.show(completed=done, description=text) and now - self._printed >= SECONDS_BETWEEN_LINES:
            self._printed = now
            gained = share - self._first  # a resumed run began further on
            left = f", {(now - self._start) * (1 - share) / gained / 60:.0f} min left" if gained > 0 else ""
            self._console.print(f"{text}: {share:.0%}{left}")
