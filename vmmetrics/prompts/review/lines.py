"""Review by lines of commands, for scripts and systems without single keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console
from rich.text import Text

from vmmetrics.errors import SetupError
from vmmetrics.prompts.review.decisions import REASONS, reason_text, tidy, value_of
from vmmetrics.prompts.review.reviewing import Review
from vmmetrics.prompts.review.screen import LINE_HELP, decision_text, line_help, reasons_line, show
from vmmetrics.utils.display.markup import clean

_SHORT = {
    "k": "keep", "e": "edit", "f": "set", "d": "drop", "s": "skip", "u": "undo", "b": "undo",
    "back": "undo", "/": "find", "n": "next", "g": "go", "a": "on", "?": "help", "q": "quit",
}  # fmt: skip
_DECIDING = ("keep", "edit", "set", "drop", "skip", "undo")
_PRESET = tuple(name for name, _ in REASONS.values())
_PRINTING = ("show", "find", "next", "on")
_NOT_SHOWN = "the entry it would fall on was not shown; name its index, or say go INDEX or next before"


class LineReview:
    """Does what the lines say. An entry may be named by its index, so that a decision cannot land on another.

    Args:
        review: The session.
        console: Where it is printed.
        show_others: Whether what others decided is shown.
        reader: Whether somebody reads along: then the entry is shown after each line. Without, each decision is
            answered by a line, and an entry is shown where it is asked for.

    Attributes:
        done: Lines done, empty ones apart.
        warned: Warnings printed: what the checks find wrong with edits and corrections.
    """

    def __init__(self, review: Review, console: Console, show_others: bool = False, reader: bool = False) -> None:
        self._review = review
        self._console = console
        self._show_others = show_others
        self._reader = reader
        self._found: list[int] = []
        self._seen = False  # whether the entry that a decision without an index would fall on was asked for
        self._due = False  # whether it is still to be printed, unless the next line decides
        self._reasons_told = False
        self.done = 0
        self.warned = 0
        self._commands: dict[str, Callable[[str], None]] = {
            "keep": self._keep, "edit": self._edit, "set": self._set, "drop": self._drop, "skip": self._skip,
            "undo": self._undo, "show": self._print, "go": self._go, "find": self._find, "next": self._next,
            "on": self._on, "help": self._help,
        }  # fmt: skip

    def run(self, lines: Iterable[str]) -> None:
        """Work through lines, until ``quit`` or their end; empty ones do nothing.

        Raises:
            SetupError: A line is no command, or cannot be done now. What came before it stands.
        """
        self._print("")
        for number, line in enumerate(lines, start=1):
            word, _, rest = line.strip().partition(" ")
            if line.strip().startswith("/"):
                word, rest = "/", line.strip()[1:]
            name = _SHORT.get(word, word)
            if name == "quit":
                break
            if name:
                self._do(name, tidy(rest), f"line {number}")
        self._print_due()

    def _do(self, name: str, rest: str, where: str) -> None:
        if self._due and name not in _DECIDING and (name, rest) != ("show", ""):
            self._print_due()
        self._due = False
        try:
            if name not in self._commands:
                raise ValueError(f"expected one of {', '.join(form for form, _ in LINE_HELP)}")
            self._commands[name](rest)
        except ValueError as error:
            told = "1 line before it was" if self.done == 1 else f"{self.done} lines before it were"
            raise SetupError(f"{where}: {tidy(name)}: {error}; {told} done, none after it") from error
        self.done += 1
        for warning in self._review.warnings():
            self._tell(warning)
        if self._reader and name not in _PRINTING:
            self._print("")

    def _keep(self, index: str) -> None:
        self._decide(self._named(index), self._review.keep, "keep")

    def _skip(self, index: str) -> None:
        self._decide(self._named(index), self._review.skip, "put off")

    def _edit(self, words: str) -> None:
        index, text = self._parted(words)
        if not text:
            raise ValueError("expected the new text")
        first = text.partition(" ")[0]
        if index is None and _is_number(first):
            raise ValueError(f"no entry has the index {first}; before a text that begins with a number name the index")
        if index is not None and not index.startswith("0") and not (text[0].isupper() or text[0].isdigit()):
            raise ValueError(f"{index} is an index; if the text begins with it, name the index before it")
        position = self._position(index)
        self._turn_to(position)
        wrong = self._review.warnings_of(text)
        same = text == self._review.entries[position].prompt
        self._decide(position, lambda: self._review.edit(text), "keep" if same else f"edit: {text}")
        self._warn(position, wrong)

    def _set(self, words: str) -> None:
        first, _, rest = words.partition(" ")
        index, more = (first, rest) if _is_number(first) else (None, words)
        field, _, value = more.partition(" ")
        if not value:
            raise ValueError("expected a field and its value")
        position = self._position(index)
        self._turn_to(position)
        entry = self._review.with_corrections()
        before = self._review.warnings_of(entry.prompt)
        name = self._review.correct(field, value)
        self._seen = index is None
        self._say(position, f"set {name}: {value} (was {value_of(entry, name) or 'empty'})")
        self._warn(position, [what for what in self._review.warnings_of(entry.prompt) if what not in before])

    def _drop(self, words: str) -> None:
        index, more = self._parted(words)
        first, _, rest = more.partition(" ")
        if not first or (first == "o" and not rest):
            raise ValueError("expected a reason")
        if _is_number(first) and first not in REASONS:
            raise ValueError(f"{first} is neither an index of the list nor a reason ({reasons_line()})")
        reason = rest if first == "o" else reason_text(first, rest)
        position = self._position(index)
        self._decide(position, lambda: self._review.drop(reason), f"drop: {reason}")
        if first != "o" and reason.partition(":")[0] not in _PRESET and not self._reasons_told:
            self._reasons_told = True
            self._tell(f"{first!r} is no preset reason ({reasons_line()}); taken as words of your own, as after o")

    def _undo(self, index: str) -> None:
        taken = self._review.undo(self._named(index) if index else None)
        self._seen = False
        self._tell("nothing to take back" if taken is None else f"{taken.index}  taken back: {decision_text(taken)}")

    def _find(self, words: str) -> None:
        self._found = self._review.find(words)
        if not self._found:
            raise ValueError("nothing found")
        self._next("")

    def _next(self, _: str) -> None:
        if not self._found:
            self._on("")
            return
        position, *rest = self._found
        self._found = [*rest, position]
        self._review.show(position)
        self._print("")

    def _go(self, index: str) -> None:
        position = self._review.at_index(index)
        if position is None:
            raise ValueError(f"no entry has the index {index!r}")
        self._review.show(position)
        self._seen = self._due = True

    def _on(self, _: str) -> None:
        if self._seen or self._review.own() is not None:
            self._review.go_on()
        self._print("")

    def _help(self, _: str) -> None:
        self._console.print(line_help())

    def _print(self, index: str) -> None:
        """Print the entry shown, or first go to one."""
        if index:
            self._go(index)
        self._seen, self._due = True, False
        self._console.rule(style="dim")
        show(self._console, self._review, self._show_others, "; ".join(self._review.warnings()))

    def _print_due(self) -> None:
        if self._due:
            self._print("")

    def _named(self, index: str) -> int:
        """Position of the entry with an index, or of the one shown."""
        if index and not _is_number(index):
            raise ValueError(f"expected an index or nothing but got {index!r}")
        return self._position(index or None)

    def _position(self, index: str | None) -> int:
        if index is None and not self._seen:
            raise ValueError(_NOT_SHOWN)
        position = self._review.current if index is None else self._review.at_index(index)
        if position is None:
            raise ValueError("no entry is shown" if index is None else f"no entry has the index {index}")
        return position

    def _parted(self, words: str) -> tuple[str | None, str]:
        """The index that the words begin with, and the rest: digits only, just as the list has them."""
        first, _, rest = words.partition(" ")
        if not (_is_number(first) and self._review.has_index(first)):
            return None, words
        if first in REASONS:
            raise ValueError(
                f"{first} is an index of this list and a reason's digit; go {first} before, name the reason"
            )
        return first, rest

    def _turn_to(self, position: int) -> None:
        if position != self._review.current:
            self._review.show(position)

    def _decide(self, position: int, decide: Callable[[], None], said: str) -> None:
        self._turn_to(position)
        decide()
        self._seen = False
        self._say(position, said)

    def _warn(self, position: int, wrong: Iterable[str]) -> None:
        for what in wrong:
            self._say(position, f"warning: {what}")
            self.warned += 1

    def _say(self, position: int, text: str) -> None:
        self._tell(f"{self._review.entries[position].index}  {text}")

    def _tell(self, text: str) -> None:
        self._console.print(Text(clean(text)), soft_wrap=True)


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()
