"""Review by lines of commands, for scripts and systems without a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console

from vmmetrics.errors import SetupError
from vmmetrics.mmpg.review_decisions import reason_text, tidy
from vmmetrics.mmpg.review_screen import decision_text, help_screen, show
from vmmetrics.mmpg.reviewing import Review

COMMANDS = "keep, edit TEXT, drop REASON [WORDS], skip, undo, find WORDS, next, go INDEX, on, help, quit"
_SHORT = {
    "k": "keep", "e": "edit", "d": "drop", "s": "skip", "u": "undo", "b": "undo", "back": "undo", "/": "find",
    "n": "next", "g": "go", "a": "on", "?": "help", "q": "quit",
}  # fmt: skip


class LineReview:
    """Does what the lines say, and prints the entry shown after each.

    Args:
        review: The session.
        console: Where it is printed.
        show_others: Whether what others decided is shown.
    """

    def __init__(self, review: Review, console: Console, show_others: bool = False) -> None:
        self._review = review
        self._console = console
        self._show_others = show_others
        self._found: list[int] = []
        self._commands: dict[str, Callable[[str], str]] = {
            "keep": self._keep, "edit": self._edit, "drop": self._drop, "skip": self._skip, "undo": self._undo,
            "find": self._find, "next": self._next, "go": self._go, "on": self._on, "help": self._help,
        }  # fmt: skip

    def run(self, lines: Iterable[str]) -> None:
        """Work through lines, until ``quit`` or their end; empty ones do nothing.

        Raises:
            SetupError: A line is no command, or cannot be done now. What came before it stands.
        """
        self._show("")
        for number, line in enumerate(lines, start=1):
            word, _, rest = line.strip().partition(" ")
            if line.strip().startswith("/"):
                word, rest = "/", line.strip()[1:]
            if not word:
                continue
            name = _SHORT.get(word, word)
            if name == "quit":
                return
            if name not in self._commands:
                raise SetupError(f"line {number}: expected one of {COMMANDS} but got {tidy(word)!r}")
            try:
                self._show(self._commands[name](tidy(rest)))
            except ValueError as error:
                raise SetupError(f"line {number}: {name}: {error}; what came before stands") from error

    def _show(self, message: str) -> None:
        self._console.rule(style="dim")
        said = "; ".join(filter(None, (message, *self._review.warnings())))
        show(self._console, self._review, self._show_others, said)

    def _keep(self, _: str) -> str:
        self._review.keep()
        return ""

    def _edit(self, text: str) -> str:
        if not text:
            raise ValueError("expected the new text")
        self._review.edit(text)
        return ""

    def _drop(self, words: str) -> str:
        first, _, rest = words.partition(" ")
        if not first:
            raise ValueError("expected a reason")
        self._review.drop(reason_text(first, rest))
        return ""

    def _skip(self, _: str) -> str:
        self._review.skip()
        return ""

    def _undo(self, _: str) -> str:
        taken = self._review.undo()
        return "nothing to take back" if taken is None else f"taken back: {decision_text(taken)}"

    def _find(self, words: str) -> str:
        self._found = self._review.find(words)
        return self._next("")

    def _next(self, _: str) -> str:
        if not self._found:
            raise ValueError("nothing found")
        position, *rest = self._found
        self._found = [*rest, position]
        self._review.show(position)
        return f"{len(self._found)} found"

    def _go(self, index: str) -> str:
        position = self._review.at_index(index)
        if position is None:
            raise ValueError(f"no entry has the index {index!r}")
        self._review.show(position)
        return ""

    def _on(self, _: str) -> str:
        self._review.go_on()
        return ""

    def _help(self, _: str) -> str:
        self._console.print(help_screen())
        return ""
