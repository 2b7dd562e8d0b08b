"""Review with single keys on a terminal: one entry a screen."""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from rich.console import Console
from rich.text import Text

from vmmetrics.errors import SetupError, os_reason
from vmmetrics.prompts.review.decisions import REASONS, SKIP, field_named, reason_text, tidy, value_of
from vmmetrics.prompts.review.reviewing import Review
from vmmetrics.prompts.review.screen import KEYS, decision_text, help_screen, reasons_line, show

# Single keys, lines and an editor from a terminal; its modes are put back however it ends.

RESIZED = "resized"
"""Returned in place of a key where the window changed, or the program goes on after Ctrl-Z: time to draw anew."""
END = "end"
"""Returned where the terminal has gone, or for Ctrl-D."""
ESCAPE = "escape"
OTHER = "other"
"""A key without a meaning here, such as an arrow."""

_ESCAPE_SECONDS = 0.05  # what follows the escape byte of an arrow key comes at once, even over a network
_NAMES = {"\x1b": ESCAPE, "\x04": END, "\x7f": "backspace", "\x08": "backspace", "\r": "enter", "\n": "enter"}

_UTF8_FOLLOWING = ((0xF0, 3), (0xE0, 2), (0xC0, 1))  # bytes after one of at least this value, RFC 3629 section 3


def usable() -> bool:
    """Whether keys can be read: standard input and output are a terminal, on a system with termios."""
    try:
        import termios  # noqa: F401
    except ImportError:  # Windows
        return False
    return sys.stdin.isatty() and sys.stdout.isatty()


class Keyboard:
    """Keys from standard input. One byte at a time, so that what is typed ahead stays for whoever reads next."""

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()
        self._woken, self._wake = os.pipe()
        for end in (self._woken, self._wake):
            os.set_blocking(end, False)
        self._signals: dict[int, Any] = {}
        self._former_wake = -1
        self._modes: list[Any] = []

    def __enter__(self) -> Self:
        import termios

        self._modes = termios.tcgetattr(self._input)
        for number in (signal.SIGWINCH, signal.SIGCONT):
            self._signals[number] = signal.signal(number, self._on_signal)
        # written to even where a signal comes just before the wait for a key begins, and its handler only after it
        self._former_wake = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self._single_keys()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._as_found()
        for number, handler in self._signals.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._former_wake)
        os.close(self._woken)
        os.close(self._wake)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if number == signal.SIGCONT:
            self._single_keys()  # the shell has put its own modes back

    def _single_keys(self) -> None:
        import termios
        import tty

        with contextlib.suppress(termios.error):  # the terminal has gone: reading will say so
            tty.setcbreak(self._input, termios.TCSADRAIN)

    def _as_found(self) -> None:
        import termios

        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._input, termios.TCSADRAIN, self._modes)

    def key(self) -> str:
        """Wait for a key: a character, or one of the names above, ``"backspace"`` or ``"enter"``."""
        ready, _, _ = select.select([self._input, self._woken], [], [])
        if self._woken in ready:
            os.read(self._woken, 1024)
            return RESIZED
        first = self._byte()
        if first == b"\x1b" and self._more():  # an arrow or a function key, whose rest is swallowed
            kind = self._byte()
            while kind in (b"[", b"O") and self._more():
                # the byte that ends a control sequence, ECMA-48 section 5.4
                if 0x40 <= (self._byte() or b"~")[0] <= 0x7E:
                    break
            return OTHER
        if not first:
            return END
        more = next((count for least, count in _UTF8_FOLLOWING if first[0] >= least), 0)
        text = (first + b"".join(self._byte() for _ in range(more))).decode("utf-8", "replace")
        return _NAMES.get(text, text)

    def _byte(self) -> bytes:
        try:
            return os.read(self._input, 1)
        except OSError:  # the terminal has gone
            return b""

    def _more(self) -> bool:
        return bool(select.select([self._input], [], [], _ESCAPE_SECONDS)[0])

    @contextlib.contextmanager
    def _lent(self) -> Iterator[None]:
        """The terminal as it was found, for the block."""
        self._as_found()
        try:
            yield
        finally:
            self._single_keys()

    def line(self, prompt: str, text: str = "") -> str | None:
        """Let a line be edited.

        Args:
            prompt: Shown before it.
            text: What stands in it at first, where Python has readline.

        Returns:
            The line; None for Ctrl-C or Ctrl-D.
        """
        readline: Any = None
        with contextlib.suppress(ImportError):  # not offered everywhere
            readline = importlib.import_module("readline")
        if readline is not None:
            with contextlib.suppress(AttributeError):
                readline.set_auto_history(False)
            readline.set_startup_hook(lambda: readline.insert_text(text))
        try:
            with self._lent():
                return input(prompt)
        except (EOFError, KeyboardInterrupt):
            return None
        finally:
            if readline is not None:
                readline.set_startup_hook(None)

    def in_editor(self, text: str, notes: str) -> str:
        """Let a text be edited in ``$VISUAL`` or ``$EDITOR``; lines that begin with ``#`` are left out.

        Args:
            text: The text.
            notes: Shown below it.

        Raises:
            SetupError: There is no such program, or it failed.
        """
        named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        try:
            command = shlex.split(named) or ["vi"]
        except ValueError as error:
            raise SetupError(f"EDITOR cannot be split into words ({error}): {named}") from error
        comment = "".join(f"# {line}\n" for line in notes.splitlines())
        with tempfile.TemporaryDirectory(prefix="vmmetrics-review-") as folder:
            file = Path(folder) / "prompt.txt"
            file.write_text(f"{text}\n\n{comment}", encoding="utf-8", errors="backslashreplace")
            try:
                with self._lent():
                    done = subprocess.run([*command, str(file)], check=False)  # noqa: S603 - the user's own editor
            except OSError as error:
                raise SetupError(f"{command[0]} cannot be started ({os_reason(error)}); set EDITOR") from error
            if done.returncode:
                raise SetupError(f"{command[0]} ended with code {done.returncode}")
            lines = file.read_text("utf-8", errors="replace").splitlines()
        return " ".join(line for line in lines if not line.startswith("#"))


_ANYWAY = "y keep it nonetheless  e edit again  any other key leaves the prompt as it was"


class TerminalReview:
    """Draws the entry shown, and does what the keys say.

    Args:
        review: The session.
        console: Where it is drawn.
        keyboard: Where keys come from.
        show_others: Whether what others decided is shown.
    """

    def __init__(self, review: Review, console: Console, keyboard: Keyboard, show_others: bool = False) -> None:
        self._review = review
        self._console = console
        self._keyboard = keyboard
        self._show_others = show_others
        self._message = ""
        self._actions: dict[str, Callable[[], str | None]] = {
            "k": review.keep,
            "e": self._edit,
            "E": self._edit_outside,
            "f": self._correct,
            "d": self._drop,
            "s": review.skip,
            "n": self._next,
            "a": review.go_on,
        }
        self._anywhere: dict[str, Callable[[], str | None]] = {
            **dict.fromkeys(("u", "b", "backspace"), self._undo),
            "/": self._find,
            "g": self._go,
            "?": self._help,
        }

    def run(self) -> None:
        """Review until the reviewer quits."""
        while True:
            self._draw(KEYS)
            key = self._keyboard.key()
            if key in ("q", END):
                return
            action = self._anywhere.get(key) or (self._actions.get(key) if self._review.entry else None)
            if action is not None:
                self._message = action() or ""
            elif key != RESIZED:
                self._message = "" if self._review.entry is None else "? shows what the keys do"

    def _draw(self, footer: str) -> None:
        self._message = "; ".join(filter(None, (self._message, *self._review.warnings())))
        self._console.clear()
        show(self._console, self._review, self._show_others, self._message)
        self._console.print(Text(footer, "dim"))

    def _edit(self) -> str:
        return self._edit_by(lambda text: self._keyboard.line("new text: ", text))

    def _edit_outside(self) -> str:
        entry = self._review.with_corrections()
        told = {"subject": entry.subject, "action": entry.action, "place": entry.place, "outcome": entry.outcome}
        notes = "\n".join(f"{name}: {tidy(value)}" for name, value in told.items())
        try:
            return self._edit_by(lambda text: self._keyboard.in_editor(text, notes))
        except SetupError as error:
            return str(error)

    def _edit_by(self, ask: Callable[[str], str | None]) -> str:
        """Take a new text over; where the checks find something wrong with it, say so and let it be edited again."""
        text = tidy(self._review.with_corrections().prompt)
        while text := tidy(ask(text) or ""):
            wrong = self._review.warnings_of(text)
            key = "y"
            if wrong:
                key = self._ask(f"{text}\n" + "\n".join(f"warning: {what}" for what in wrong), _ANYWAY)
            if key == "y":
                self._review.edit(text)
                return ""
            if key != "e":
                break
        return "left as it was"

    def _correct(self) -> str:
        entry = self._review.with_corrections()
        name = tidy(self._keyboard.line("field (subject, place, speed, ...): ") or "")
        if not name:
            return "nothing corrected"
        try:
            field = field_named(name)
            value = tidy(self._keyboard.line(f"{field}: ", tidy(value_of(entry, field))) or "")
            if not value:
                return "nothing corrected"
            before = set(self._review.warnings_of(entry.prompt))
            self._review.correct(field, value)
            new = [what for what in self._review.warnings_of(entry.prompt) if what not in before]
        except ValueError as error:
            return str(error)
        return "\n".join([f"set {field}: {value}", *(f"warning: {what}" for what in new)])

    def _ask(self, message: str, footer: str) -> str:
        """Show a message until a key comes; the key."""
        self._message = message
        self._draw(footer)
        key = self._keyboard.key()
        while key == RESIZED:
            self._draw(footer)
            key = self._keyboard.key()
        return key

    def _drop(self) -> str:
        key = self._ask("why?", reasons_line())
        reason = reason_text(key) if key in REASONS else ""
        if key == "o":
            reason = tidy(self._keyboard.line("reason: ") or "")
        if not reason:
            return "not dropped"
        self._review.drop(reason)
        return ""

    def _undo(self) -> str:
        taken = self._review.undo()
        if taken is None:
            return "nothing to take back"
        return f"taken back: {'put off' if taken.decision == SKIP else decision_text(taken)}"

    def _find(self) -> str:
        text = tidy(self._keyboard.line("find: ") or "")
        self._review.found = self._review.find(text) if text else []
        return self._next() if text else ""

    def _next(self) -> str:
        if not self._review.found:
            return "nothing found"
        self._review.show_found()
        return f"{len(self._review.found)} found"

    def _go(self) -> str:
        try:
            position = self._review.at_index(tidy(self._keyboard.line("go to index: ") or ""))
        except ValueError as error:
            return str(error)
        if position is None:
            return "no entry has that index"
        self._review.show(position)
        return ""

    def _help(self) -> str:
        self._console.clear()
        self._console.print(help_screen())
        self._console.print(Text("any key goes back", "dim"))
        self._keyboard.key()
        return ""
