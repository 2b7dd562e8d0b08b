"""What a reviewer sees: an entry and how far it is, as text that fits any width."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from vmmetrics.prompts.entry import PromptEntry, Tags
from vmmetrics.prompts.review.decisions import DROP, EDIT, FIELDS, REASONS, SET, ReviewDecision, value_of
from vmmetrics.prompts.review.reviewing import Progress, Review
from vmmetrics.utils.display.markup import clean

KEYS = "k keep  e edit  E editor  f field  d drop  s skip  u undo  / find  n next  g go  ? help  q quit"

HELP = (
    ("k", "keep the prompt as it is"),
    ("e", "edit it here; Enter keeps the new text, an empty line or Ctrl-C leaves it"),
    ("E", "edit it in $VISUAL or $EDITOR"),
    ("f", "correct a field: subject, subject_noun, place, action, outcome, a tag, ..."),
    ("d", "drop it, with a reason: a digit, or o for words of your own"),
    ("s", "skip: it comes again at the end"),
    ("u", "undo the last decision or correction, of an earlier session too (also b and backspace)"),
    ("/", "find words in text, subject, action, place or index; n goes to the next"),
    ("g", "go to the entry with an index"),
    ("a", "go on with the next entry that is not decided"),
    ("q", "quit; the same command goes on here"),
)

LINE_HELP = (
    ("keep [INDEX]", "keep the prompt as it is (k)"),
    ("edit [INDEX] TEXT", "give it this text (e)"),
    ("set [INDEX] FIELD VALUE", f"correct a field: {', '.join(FIELDS)} (f)"),
    ("drop [INDEX] REASON [WORDS]", "drop it: a reason below by digit or name, with words; or: o WORDS (d)"),
    ("skip [INDEX]", "put it off (s)"),
    ("undo [INDEX]", "take back your last decision or correction, or the last of that entry (u)"),
    ("show [INDEX]", "print the entry, or that with an index"),
    ("go INDEX", "go to the entry with an index; it is printed unless the next line decides (g)"),
    ("find WORDS", "print the next entry that holds the words (/)"),
    ("next", "the next one found; without a search the next that is not decided (n)"),
    ("on", "the next that is not decided (a)"),
    ("help", "this (?)"),
    ("quit", "leave; so does the end of the input (q)"),
)
"""Commands of a line: form, meaning and short name."""


def reasons_line() -> str:
    """The preset reasons with their keys, in one line."""
    return "  ".join(f"{key} {name}" for key, (name, _) in REASONS.items()) + "  o other words"


def help_screen() -> RenderableType:
    """Every key, and what the reasons mean."""
    return _help("Keys", HELP)


def line_help() -> RenderableType:
    """Every command of a line, and what the reasons mean."""
    return _help("Commands, one a line", LINE_HELP)


def _help(title: str, meanings: tuple[tuple[str, str], ...]) -> RenderableType:
    keys = _grid([(key, Text(meaning)) for key, meaning in meanings])
    reasons = _grid([(f"{key} {name}", Text(meaning)) for key, (name, meaning) in REASONS.items()])
    return Group(Text(title, "bold"), keys, Text(), Text("Reasons to drop", "bold"), reasons)


def screen(review: Review, show_others: bool, message: str) -> RenderableType:
    """Everything about the entry shown.

    Args:
        review: The session.
        show_others: Whether what others decided is shown.
        message: Said below, in one line or more; may be empty.
    """
    entry = review.entry
    parts: list[RenderableType] = [_head(review.progress(), review.reviewer), Rule(style="dim")]
    if entry is None:
        parts.append(Padding(Text("Every entry of the list is decided. u takes the last back, q leaves.", "bold"), 1))
    else:
        parts += _entry(entry, review.with_corrections(), review.corrections())
        own = review.own()
        said = [own] if own else []
        said += review.others() if show_others else []
        if said:
            parts += [Text(), _grid([(clean(d.reviewer), Text(decision_text(d), "yellow")) for d in said])]
    if message:
        parts += [Text(), Text("\n".join(map(clean, message.split("\n"))), "cyan")]
    return Group(*parts)


def decision_text(decision: ReviewDecision) -> str:
    """What was decided, in one line."""
    if decision.decision == SET:
        return f"set {decision.field}: {clean(decision.value)}"
    if decision.decision == EDIT:
        return f"edit: {clean(decision.edited)}"
    if decision.decision == DROP and decision.reason:
        return f"drop: {clean(decision.reason)}"
    return decision.decision


def _head(progress: Progress, reviewer: str) -> Text:
    parts = [
        f"{progress.done}/{progress.total} {clean(reviewer)}",
        f"{progress.kept} kept, {progress.edited} edited, {progress.dropped} dropped, {progress.skipped} put off",
    ]
    if progress.pace is not None and progress.seconds_left is not None:
        parts.append(f"{progress.pace:.0f} s each, {_minutes(progress.seconds_left)} left")
    return Text("  ·  ".join(parts), "dim")


def _entry(listed: PromptEntry, entry: PromptEntry, corrections: Iterable[str]) -> list[RenderableType]:
    title = Text.assemble((clean(entry.index), "bold"), "  ", (clean(entry.pattern), "dim"))
    words = len(entry.prompt.split())
    rows = [
        ("subject", Text(f"{clean(entry.subject)} ({clean(entry.subject_noun)})")),
        ("action", Text(clean(entry.action))),
        ("place", Text(clean(entry.place))),
        ("outcome", Text(clean(entry.outcome) or "-")),
        ("tags", Text(_tags(entry.tags))),
        ("words", Text(str(words))),
    ]
    was = [f"{field} was {clean(value_of(listed, field)) or 'empty'}" for field in corrections]
    if was:
        rows.append(("corrected", Text("; ".join(was), "yellow")))
    return [title, Padding(Text(clean(entry.prompt), "bold"), (1, 2)), _grid(rows)]


def _tags(tags: Tags | None) -> str:
    if tags is None:
        return "-"
    return (
        f"{tags.subjects} · interaction {tags.interaction} · camera {tags.camera} · {tags.speed} · "
        f"amplitude {tags.amplitude} · skeleton {tags.skeleton} · {tags.seconds:g} s"
    )


def _grid(rows: list[tuple[str, Text]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(Text(name), value)
    return grid


def _minutes(seconds: float) -> str:
    """Hours and minutes.

    >>> _minutes(50), _minutes(4000)
    ('1 min', '1 h 07 min')
    """
    hours, minutes = divmod(max(1, round(seconds / 60)), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"


def show(console: Console, review: Review, show_others: bool, message: str) -> None:
    """Print the entry shown."""
    console.print(screen(review, show_others, message))
