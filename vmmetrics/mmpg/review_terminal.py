"""Review with single keys on a terminal: one entry a screen."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from vmmetrics.errors import SetupError
from vmmetrics.mmpg.review_decisions import REASONS, SKIP, reason_text, tidy
from vmmetrics.mmpg.review_keys import END, RESIZED, Keyboard
from vmmetrics.mmpg.review_screen import KEYS, decision_text, help_screen, reasons_line, show
from vmmetrics.mmpg.reviewing import Review

_QUIT = ("q", END)


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
        self._found: list[int] = []
        self._actions: dict[str, Callable[[], str]] = {
            "k": self._keep,
            "e": self._edit,
            "E": self._edit_outside,
            "d": self._drop,
            "s": self._skip,
            "n": self._next,
            "a": self._go_on,
        }
        self._anywhere: dict[str, Callable[[], str]] = {
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
            if key in _QUIT:
                return
            action = self._anywhere.get(key) or (self._actions.get(key) if self._review.entry else None)
            if action is not None:
                self._message = action()
            elif key != RESIZED:
                self._message = "" if self._review.entry is None else "? shows what the keys do"

    def _draw(self, footer: str) -> None:
        self._message = "; ".join(filter(None, (self._message, *self._review.warnings())))
        self._console.clear()
        show(self._console, self._review, self._show_others, self._message)
        self._console.print(Text(footer, "dim"))

    def _keep(self) -> str:
        self._review.keep()
        return ""

    def _skip(self) -> str:
        self._review.skip()
        return ""

    def _edit(self) -> str:
        entry = self._review.entry
        assert entry is not None  # noqa: S101  (the action is offered only then)
        return self._take(self._keyboard.line("new text: ", tidy(entry.prompt)))

    def _edit_outside(self) -> str:
        entry = self._review.entry
        assert entry is not None  # noqa: S101  (likewise)
        notes = f"subject: {tidy(entry.subject)}\naction: {tidy(entry.action)}\nplace: {tidy(entry.place)}"
        try:
            return self._take(self._keyboard.in_editor(tidy(entry.prompt), notes))
        except SetupError as error:
            return str(error)

    def _take(self, text: str | None) -> str:
        edited = tidy(text or "")
        if not edited:
            return "left as it was"
        self._review.edit(edited)
        return ""

    def _drop(self) -> str:
        self._message = "why?"
        self._draw(reasons_line())
        key = self._keyboard.key()
        while key == RESIZED:
            self._draw(reasons_line())
            key = self._keyboard.key()
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
        self._found = self._review.find(text) if text else []
        return self._next() if text else ""

    def _next(self) -> str:
        if not self._found:
            return "nothing found"
        position, *rest = self._found
        self._found = [*rest, position]
        self._review.show(position)
        return f"{len(self._found)} found"

    def _go(self) -> str:
        position = self._review.at_index(tidy(self._keyboard.line("go to index: ") or ""))
        if position is None:
            return "no entry has that index"
        self._review.show(position)
        return ""

    def _go_on(self) -> str:
        self._review.go_on()
        return ""

    def _help(self) -> str:
        self._console.clear()
        self._console.print(help_screen())
        self._console.print(Text("any key goes back", "dim"))
        self._keyboard.key()
        return ""
