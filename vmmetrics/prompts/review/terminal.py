"""Review with single keys on a terminal: one entry a screen."""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Any, Self

from rich.console import Console
from rich.text import Text

from vmmetrics.prompts.review.decisions import REASONS, SKIP, field_named, reason_text, tidy, value_of
from vmmetrics.prompts.review.reviewing import Review
from vmmetrics.prompts.review.screen import KEYS, decision_text, help_screen, reasons_line, show

# Single keys and lines from a terminal; its modes are put back however it ends.

RESIZED = "resized"
"""Returned instead of a key when the window was resized, or the program resumed after Ctrl-Z."""
END = "end"
"""Returned when the terminal is gone, or for Ctrl-D."""
ESCAPE = "escape"
OTHER = "other"
"""Returned for a key without a meaning here, such as an arrow."""

_ESCAPE_SECONDS = 0.05  # what follows the escape byte of an arrow key comes at once, even over a network
_SIGNAL_SECONDS = 0.1  # between two looks whether a signal came while no key did
_NAMES = {
    "": END, "\x1b": ESCAPE, "\x04": END, "\x7f": "backspace", "\x08": "backspace", "\r": "enter", "\n": "enter",
}  # fmt: skip

_UTF8_FOLLOWING = ((b"\xf0", 3), (b"\xe0", 2), (b"\xc0", 1))  # bytes after one of at least this, RFC 3629 section 3


def usable() -> bool:
    """Return True if keys can be read: standard input and output are a terminal with termios."""
    try:
        import termios  # noqa: F401
    except ImportError:  # Windows
        return False
    return sys.stdin.isatty() and sys.stdout.isatty()


class Keyboard:
    """Keys from standard input, read byte by byte so that type-ahead stays for the next reader."""

    def __enter__(self) -> Self:
        import termios

        self._input = sys.stdin.fileno()
        self._modes = termios.tcgetattr(self._input)
        self._changed = False  # the window, or the program was stopped for a while
        numbers = (signal.SIGWINCH, signal.SIGCONT)
        self._handlers = [(number, signal.signal(number, self._on_signal)) for number in numbers]
        self._set_modes(single_keys=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._set_modes(single_keys=False)
        for number, handler in self._handlers:
            signal.signal(number, handler)

    def _on_signal(self, number: int, _: object) -> None:
        self._changed = True
        if number == signal.SIGCONT:
            self._set_modes(single_keys=True)  # the shell has put its own modes back

    def _set_modes(self, *, single_keys: bool) -> None:
        import termios
        import tty

        with contextlib.suppress(termios.error):  # the terminal has gone: reading will say so
            if single_keys:
                tty.setcbreak(self._input, termios.TCSADRAIN)
            else:
                termios.tcsetattr(self._input, termios.TCSADRAIN, self._modes)

    def key(self) -> str:
        """Wait for a key: a character, or one of the names above, ``"backspace"`` or ``"enter"``."""
        while not self._typed(_SIGNAL_SECONDS):
            if self._changed:
                self._changed = False
                return RESIZED
        first = self._byte()
        if first == b"\x1b" and self._typed(_ESCAPE_SECONDS):  # an arrow or a function key, whose rest is swallowed
            kind = self._byte()
            while kind in (b"[", b"O") and self._typed(_ESCAPE_SECONDS):
                # the byte that ends a control sequence, ECMA-48 section 5.4
                if 0x40 <= (self._byte() or b"~")[0] <= 0x7E:
                    break
            return OTHER
        more = next((count for least, count in _UTF8_FOLLOWING if first >= least), 0)
        text = (first + b"".join(self._byte() for _ in range(more))).decode("utf-8", "replace")
        return _NAMES.get(text, text)

    def _byte(self) -> bytes:
        try:
            return os.read(self._input, 1)
        except OSError:  # the terminal has gone
            return b""

    def _typed(self, seconds: float) -> bool:
        return bool(select.select([self._input], [], [], seconds)[0])

    def line(self, prompt: str, text: str = "") -> str:
        """Edit a line.

        Args:
            prompt: Shown before it.
            text: Initial text, if Python has readline.

        Returns:
            The line, made tidy; empty for Ctrl-C or Ctrl-D.
        """
        readline: Any = None
        with contextlib.suppress(ImportError):  # not offered everywhere
            readline = importlib.import_module("readline")
            readline.set_auto_history(False)
            readline.set_startup_hook(lambda: readline.insert_text(text))
        self._set_modes(single_keys=False)
        try:
            return tidy(input(prompt))
        except (EOFError, KeyboardInterrupt):
            return ""
        finally:
            self._set_modes(single_keys=True)
            if readline is not None:
                readline.set_startup_hook(None)


_ANYWAY = "y keep it anyway  e edit again  any other key leaves the prompt unchanged"


class TerminalReview:
    """Review on the terminal: draws the current entry and handles keys.

    Args:
        review: The session.
        console: Where it is drawn.
        keyboard: Where keys come from.
        show_others: True to show others' decisions.
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
            "f": self._correct,
            "d": self._drop,
            "s": review.skip,
            "n": self._next,
            "a": review.show_next_undecided,
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
        """Accept a new text; if the checks report faults, show them and offer to edit again."""
        text = tidy(self._review.with_corrections().prompt)
        while text := self._keyboard.line("new text: ", text):
            wrong = self._review.warnings_of(text)
            key = "y"
            if wrong:
                key = self._ask("\n".join([text, *(f"warning: {what}" for what in wrong)]), _ANYWAY)
            if key == "y":
                self._review.edit(text)
                return ""
            if key != "e":
                break
        return "unchanged"

    def _correct(self) -> str:
        entry = self._review.with_corrections()
        try:
            name = self._keyboard.line("field (subject, place, speed, ...): ")
            field = field_named(name) if name else ""
            value = self._keyboard.line(f"{field}: ", tidy(value_of(entry, field))) if field else ""
            if not value:
                return "nothing corrected"
            _, new = self._review.correct(field, value)
        except ValueError as error:
            return str(error)
        return "\n".join([f"set {field}: {value}", *(f"warning: {what}" for what in new)])

    def _ask(self, message: str, footer: str) -> str:
        """Show a message, wait for a key and return it."""
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
            reason = self._keyboard.line("reason: ")
        if not reason:
            return "not dropped"
        self._review.drop(reason)
        return ""

    def _undo(self) -> str:
        undone = self._review.undo()
        if undone is None:
            return "nothing to undo"
        return f"undone: {'skipped' if undone.decision == SKIP else decision_text(undone)}"

    def _find(self) -> str:
        text = self._keyboard.line("find: ")
        self._review.matches = self._review.find(text) if text else []
        return self._next() if text else ""

    def _next(self) -> str:
        if not self._review.matches:
            return "nothing found"
        self._review.show_match()
        return f"{len(self._review.matches)} found"

    def _go(self) -> str:
        try:
            position = self._review.at_index(self._keyboard.line("go to index: "))
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
