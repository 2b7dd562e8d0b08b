"""Review with single keys on a terminal: one entry a screen."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from vmmetrics.errors import SetupError
from vmmetrics.mmpg.review.corrections import field_named, value_of
from vmmetrics.mmpg.review.decisions import REASONS, SKIP, reason_text, tidy
from vmmetrics.mmpg.review.keys import END, RESIZED, Keyboard
from vmmetrics.mmpg.review.reviewing import Review
from vmmetrics.mmpg.review.screen import KEYS, decision_text, help_screen, reasons_line, show

_QUIT = ("q", END)
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
        self._found: list[int] = []
        self._actions: dict[str, Callable[[], str]] = {
            "k": self._keep,
            "e": self._edit,
            "E": self._edit_outside,
            "f": self._correct,
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
        return self._edit_again(tidy(entry.prompt))

    def _edit_again(self, text: str) -> str:
        return self._take(self._keyboard.line("new text: ", text), self._edit_again)

    def _edit_outside(self) -> str:
        entry = self._review.entry
        assert entry is not None  # noqa: S101  (likewise)
        return self._edit_again_outside(tidy(entry.prompt))

    def _edit_again_outside(self, text: str) -> str:
        entry = self._review.with_corrections()
        told = {"subject": entry.subject, "action": entry.action, "place": entry.place, "outcome": entry.outcome}
        notes = "\n".join(f"{name}: {tidy(value)}" for name, value in told.items())
        try:
            edited = self._keyboard.in_editor(text, notes)
        except SetupError as error:
            return str(error)
        return self._take(edited, self._edit_again_outside)

    def _take(self, text: str | None, again: Callable[[str], str]) -> str:
        """Take a new text over; where the checks find something wrong with it, ask once."""
        edited = tidy(text or "")
        if not edited:
            return "left as it was"
        wrong = self._review.warnings_of(edited)
        if wrong:
            key = self._ask(f"{edited}\n" + "\n".join(f"warning: {what}" for what in wrong), _ANYWAY)
            if key == "e":
                return again(edited)
            if key != "y":
                return "left as it was"
        self._review.edit(edited)
        return ""

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
        try:
            position = self._review.at_index(tidy(self._keyboard.line("go to index: ") or ""))
        except ValueError as error:
            return str(error)
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
