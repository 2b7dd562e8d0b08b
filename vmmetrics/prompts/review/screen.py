"""Review screen as text that fits any width, and review by commands, one a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.review import decisions
from vmmetrics.prompts.review.decisions import REASONS, ReviewDecision, tidy
from vmmetrics.prompts.review.reviewing import Review
from vmmetrics.utils.display.markup import clean

KEYS = "k keep  e edit  f field  d drop  s skip  u undo  / find  g go  ? help  q quit"

HELP = (
    ("k", "keep the prompt as it is"),
    ("e", "edit it here; Enter keeps the new text, an empty line or Ctrl-C leaves it"),
    ("f", "correct a field: subject, subject_noun, place, action, outcome, a tag, ..."),
    ("d", "drop it, with a reason: a digit, or o for words of your own"),
    ("s", "skip: it comes again at the end"),
    ("u", "undo the last decision or correction, of an earlier session too (also b and backspace)"),
    ("/", "find words in text, subject, action, place or index; n goes to the next"),
    ("g", "go to the entry with an index"),
    ("a", "go to the next undecided entry"),
    ("q", "quit; run the same command again to resume"),
)

LINE_HELP = (
    ("keep [INDEX]", "keep the prompt as it is (k)"),
    ("edit [INDEX] TEXT", "give it this text (e)"),
    ("set [INDEX] FIELD VALUE", f"correct a field: {', '.join(decisions.FIELDS)} (f)"),
    ("drop [INDEX] REASON [WORDS]", "drop it: a reason below by digit or name, with words; or: o WORDS (d)"),
    ("skip [INDEX]", "skip it; it comes again at the end (s)"),
    ("undo [INDEX]", "undo your last decision or correction, or the last of that entry (u)"),
    ("show [INDEX]", "print the entry, or that with an index"),
    ("go INDEX", "go to the entry with an index; it is printed unless the next line decides (g)"),
    ("find WORDS", "print the next entry that holds the words (/)"),
    ("next", "the next match; without a search the next undecided entry (n)"),
    ("on", "the next undecided entry (a)"),
    ("help", "this (?)"),
    ("quit", "quit; so does the end of the input (q)"),
)
"""Commands, one a line: form, meaning and short name."""


def reasons_line() -> str:
    """Return the preset reasons with their keys, in one line."""
    return "  ".join(f"{key} {name}" for key, (name, _) in REASONS.items()) + "  o other words"


def help_screen(title: str = "Keys", meanings: tuple[tuple[str, str], ...] = HELP) -> RenderableType:
    """Print all keys or commands, and the reasons."""
    keys = _grid([(key, Text(meaning)) for key, meaning in meanings])
    reasons = _grid([(f"{key} {name}", Text(meaning)) for key, (name, meaning) in REASONS.items()])
    return Group(Text(title, "bold"), keys, Text(), Text("Reasons to drop", "bold"), reasons)


def show(console: Console, review: Review, show_others: bool, message: str) -> None:
    """Print the current entry with all details.

    Args:
        console: Where.
        review: The session.
        show_others: True to show others' decisions.
        message: Said below, in one line or more; may be empty.
    """
    progress = review.progress()
    head = [
        f"{progress.done}/{progress.total} {clean(review.reviewer)}",
        f"{progress.kept} kept, {progress.edited} edited, {progress.dropped} dropped, {progress.skipped} skipped",
    ]
    if progress.pace is not None and progress.seconds_left is not None:
        hours, minutes = divmod(max(1, round(progress.seconds_left / 60)), 60)
        left = f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"
        head.append(f"{progress.pace:.0f} s each, {left} left")
    parts: list[RenderableType] = [Text("  ·  ".join(head), "dim"), Rule(style="dim")]
    if review.entry is None:
        parts.append(
            Padding(Text("Every entry of the list is decided. u undoes the last decision, q quits.", "bold"), 1)
        )
    else:
        parts += _entry(review.entry, review.with_corrections(), review.corrections())
        own = review.own()
        verdicts = [*([own] if own else []), *(review.others() if show_others else [])]
        if verdicts:
            parts += [Text(), _grid([(clean(d.reviewer), Text(decision_text(d), "yellow")) for d in verdicts])]
    if message:
        parts += [Text(), Text("\n".join(map(clean, message.split("\n"))), "cyan")]
    console.print(Group(*parts))


def decision_text(decision: ReviewDecision) -> str:
    """Format a decision as one line."""
    if decision.decision == decisions.SET:
        return f"set {decision.field}: {clean(decision.value)}"
    if decision.decision == decisions.EDIT:
        return f"edit: {clean(decision.edited)}"
    if decision.decision == decisions.DROP and decision.reason:
        return f"drop: {clean(decision.reason)}"
    return decision.decision


def _entry(listed: PromptEntry, entry: PromptEntry, corrections: Iterable[str]) -> list[RenderableType]:
    title = Text.assemble((clean(entry.index), "bold"), "  ", (clean(entry.pattern), "dim"))
    tags = entry.tags
    tags_text = tags and (
        f"{tags.subjects} · interaction {tags.interaction} · camera {tags.camera} · {tags.speed} · "
        f"amplitude {tags.amplitude} · skeleton {tags.skeleton} · {tags.seconds:g} s"
    )
    rows = [
        ("subject", Text(f"{clean(entry.subject)} ({clean(entry.subject_noun)})")),
        ("action", Text(clean(entry.action))),
        ("place", Text(clean(entry.place))),
        ("outcome", Text(clean(entry.outcome) or "-")),
        ("tags", Text(tags_text or "-")),
        ("words", Text(str(len(entry.prompt.split())))),
    ]
    was = [f"{field} was {clean(decisions.value_of(listed, field)) or 'empty'}" for field in corrections]
    if was:
        rows.append(("corrected", Text("; ".join(was), "yellow")))
    return [title, Padding(Text(clean(entry.prompt), "bold"), (1, 2)), _grid(rows)]


def _grid(rows: list[tuple[str, Text]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(Text(name), value)
    return grid


# Review by lines of commands, for scripts and systems without single keys.

_SHORT = {
    "k": "keep", "e": "edit", "f": "set", "d": "drop", "s": "skip", "u": "undo", "b": "undo",
    "back": "undo", "/": "find", "n": "next", "g": "go", "a": "on", "?": "help", "q": "quit",
}  # fmt: skip
_PRESET = tuple(name for name, _ in REASONS.values())


class LineReview:
    """Review by lines of commands. An index may name the entry, so that a decision cannot apply to another.

    Args:
        review: The session.
        console: Where it is printed.
        show_others: True to show others' decisions.
        reader: True if a person reads the output: the entry is then shown after each line. Otherwise each decision
            prints one line, and entries are shown on request.

    Attributes:
        done: Lines done, empty ones apart.
        warned: Warnings printed: what the checks find wrong with edits and corrections.
    """

    def __init__(self, review: Review, console: Console, show_others: bool = False, reader: bool = False) -> None:
        self._review = review
        self._console = console
        self._show_others = show_others
        self._reader = reader

        self._seen = False  # whether the entry that a decision without an index would fall on was asked for
        self._named = False  # whether the last line named its entry, or came back to it: the next one's is not plain
        self._due = False  # whether it is still to be printed, unless the next line decides
        self._reasons_listed = False
        self.done = 0
        self.warned = 0
        self._commands: dict[str, Callable[[str], None]] = {
            "keep": lambda index: self._decide(self._turn_to(index), review.keep, "keep"),
            "skip": lambda index: self._decide(self._turn_to(index), review.skip, "skipped"),
            "help": lambda _: console.print(help_screen("Commands, one a line", LINE_HELP)),
            "edit": self._edit, "set": self._set, "drop": self._drop, "undo": self._undo, "show": self._print,
            "go": self._go, "find": self._find, "next": self._next, "on": self._on,
        }  # fmt: skip

    def run(self, lines: Iterable[str]) -> None:
        """Process lines until ``quit`` or their end; empty ones are ignored.

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
        if self._due:
            self._print("")

    def _do(self, name: str, rest: str, where: str) -> None:
        if self._due and name not in ("keep", "edit", "set", "drop", "skip", "undo") and (name, rest) != ("show", ""):
            self._print("")
        self._due = False
        try:
            if name not in self._commands:
                raise ValueError(f"expected one of {', '.join(form for form, _ in LINE_HELP)}")
            if name in ("keep", "skip", "undo") and rest and not _is_number(rest):
                raise ValueError(f"expected an index or nothing but got {rest!r}")
            self._commands[name](rest)
        except ValueError as error:
            before = "1 line before it was" if self.done == 1 else f"{self.done} lines before it were"
            raise SetupError(f"{where}: {tidy(name)}: {error}; {before} applied, none after it") from error
        self.done += 1
        for warning in self._review.warnings():
            self._tell(warning)
        if self._reader and name not in ("show", "find", "next", "on"):
            self._print("")

    def _edit(self, words: str) -> None:
        index, text = self._parted(words)
        if not text:
            raise ValueError("expected the new text")
        first = text.partition(" ")[0]
        if not index and _is_number(first):
            raise ValueError(f"no entry has the index {first}; before a text that begins with a number name the index")
        if index and not index.startswith("0") and not (text[0].isupper() or text[0].isdigit()):
            raise ValueError(f"{index} is an index; if the text begins with it, name the index before it")
        position = self._turn_to(index)
        wrong = self._review.warnings_of(text)
        same = text == self._review.entries[position].prompt
        self._decide(position, lambda: self._review.edit(text), "keep" if same else f"edit: {text}")
        self._warn(position, wrong)

    def _set(self, words: str) -> None:
        first, _, rest = words.partition(" ")
        index, more = (first, rest) if _is_number(first) else ("", words)
        field, _, value = more.partition(" ")
        if not value:
            raise ValueError("expected a field and its value")
        position = self._turn_to(index)
        entry = self._review.with_corrections()
        name, wrong = self._review.correct(field, value)
        self._seen = not index
        self._say(position, f"set {name}: {value} (was {decisions.value_of(entry, name) or 'empty'})")
        self._warn(position, wrong)

    def _drop(self, words: str) -> None:
        index, more = self._parted(words)
        first, _, rest = more.partition(" ")
        if not first or (first == "o" and not rest):
            raise ValueError("expected a reason")
        if _is_number(first) and first not in REASONS:
            raise ValueError(f"{first} is neither an index of the list nor a reason ({reasons_line()})")
        reason = rest if first == "o" else decisions.reason_text(first, rest)
        self._decide(self._turn_to(index), lambda: self._review.drop(reason), f"drop: {reason}")
        if first != "o" and reason.partition(":")[0] not in _PRESET and not self._reasons_listed:
            self._reasons_listed = True
            self._tell(f"{first!r} is not a preset reason ({reasons_line()}); recorded as your own words, as after o")

    def _undo(self, index: str) -> None:
        undone = self._review.undo(self._position(index) if index else None)
        self._seen, self._named = False, True
        self._tell("nothing to undo" if undone is None else f"{undone.index}  undone: {decision_text(undone)}")

    def _find(self, words: str) -> None:
        if not self._review.find(words):
            raise ValueError("nothing found")
        self._next("")

    def _next(self, _: str) -> None:
        if not self._review.matches:
            self._on("")
            return
        self._review.show_match()
        self._print("")

    def _go(self, index: str) -> None:
        position = self._review.at_index(index)
        if position is None:
            raise ValueError(f"no entry has the index {index!r}")
        self._review.show(position)
        self._seen = self._due = True

    def _on(self, _: str) -> None:
        if self._seen or self._review.own() is not None:
            self._review.show_next_undecided()
        self._print("")

    def _print(self, index: str) -> None:
        """Print the current entry, or go to one first."""
        if index:
            self._go(index)
        self._seen, self._due = True, False
        self._console.rule(style="dim")
        show(self._console, self._review, self._show_others, "; ".join(self._review.warnings()))

    def _position(self, index: str) -> int:
        """Return the position of the entry with an index; without one, of the current entry if it was printed."""
        if not index and not self._seen and self._named:
            raise ValueError("ambiguous after a line with an index; add the index, or give go INDEX or next first")
        position = self._review.at_index(index) if index else self._review.current
        if position is None:
            raise ValueError(f"no entry has the index {index}" if index else "every entry of the list is decided")
        self._named = bool(index)
        return position

    def _parted(self, words: str) -> tuple[str, str]:
        """Split off an index at the start of the words: only digits, exactly as in the list."""
        first, _, rest = words.partition(" ")
        if not _is_number(first) or all(entry.index != first for entry in self._review.entries):
            return "", words
        if first in REASONS:
            raise ValueError(
                f"{first} is an index of this list and a reason's digit; go {first} before, name the reason"
            )
        return first, rest

    def _turn_to(self, index: str) -> int:
        position = self._position(index)
        if position != self._review.current:
            self._review.show(position)
        return position

    def _decide(self, position: int, decide: Callable[[], None], message: str) -> None:
        decide()
        self._seen = False
        self._say(position, message)

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
