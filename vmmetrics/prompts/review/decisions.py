"""Review decisions: one line each in an append-only file; undoing appends a line too."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, refusing
from vmmetrics.prompts.entry import PromptEntry, Tags
from vmmetrics.utils.schema import convert
from vmmetrics.utils.storage.journal import Journal, Line
from vmmetrics.utils.storage.lock import JOURNAL, ByteLocks, Locked
from vmmetrics.utils.storage.opening import open_regular

# The fields of an entry that a reviewer can correct.

_TAG = "tags."
_TAGS = tuple(part.name for part in fields(Tags))
TEXTS = (
    "subject", "subject_noun", "place", "action", "before", "outcome", "action_lemma", "subject_class", "pattern",
    "second_pattern",
)  # fmt: skip
FIELDS = (*TEXTS, *(f"{_TAG}{name}" for name in _TAGS))
"""Fields of an entry that can be corrected: all but index, prompt (edited instead), twin, forms and provenance."""


def field_named(name: str) -> str:
    """Return the field with a name; "tags." may be left out.

    Raises:
        ValueError: There is none.

    >>> field_named("outcome"), field_named("speed")
    ('outcome', 'tags.speed')
    """
    full = f"{_TAG}{name}" if name in _TAGS else name
    if full not in FIELDS:
        raise ValueError(f"expected a field ({', '.join(FIELDS)}) but got {name!r}")
    return full


def value_of(entry: PromptEntry, field: str) -> str:
    """Return a field of the entry as text; empty if it has no tags."""
    if not field.startswith(_TAG):
        return str(getattr(entry, field))
    value = getattr(entry.tags, field.removeprefix(_TAG), "")
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def corrected(entry: PromptEntry, corrections: Mapping[str, str]) -> PromptEntry:
    """Return the entry with other values.

    Args:
        entry: The entry.
        corrections: Values by field, as text.

    Raises:
        ValueError: The field cannot hold the value, or the entry has no tags.
    """
    for field, value in corrections.items():
        if not value:
            raise ValueError(f"expected a value for {field}")
        name = field.removeprefix(_TAG)
        change: dict[str, Any] = {name: value}
        if name == field:
            entry = replace(entry, **change)
            continue
        if entry.tags is None:
            raise ValueError("the entry has no tags to correct")
        if name == "seconds":
            try:
                number = float(value)
            except ValueError:
                raise ValueError(f"Expected seconds to be a number but got {value!r}") from None
            change[name] = int(number) if number.is_integer() else number  # whole ones as such: lists have them so
        entry = replace(entry, tags=replace(entry.tags, **change))
    return entry


KEEP, EDIT, DROP = "keep", "edit", "drop"
VERDICTS = (KEEP, EDIT, DROP)
SKIP, SET, UNDO = "skip", "set", "undo"
"""Decisions other than verdicts: ``skip`` puts an entry off, ``set`` corrects a field whatever the verdict, ``undo``
reverts the reviewer's last line about an entry."""

REASONS: Mapping[str, tuple[str, str]] = {
    "1": ("english", "not natural English"),
    "2": ("shots", "not one continuous shot"),
    "3": ("unseen", "the motion cannot be seen or checked"),
    "4": ("still", "hardly anything moves"),
    "5": ("implausible", "cannot happen, or not there"),
    "6": ("duplicate", "too like another prompt"),
    "7": ("fields", "subject, action, place or tags do not fit the text"),
    "8": ("vague", "says too little"),
    "9": ("unsafe", "not fit for everybody"),
}
"""Preset reasons for dropping: key, name in the file, meaning."""

_FIRST_BYTES = b'{"reviewer":'  # every line begins so, a torn one too
_LEAST_SECONDS = 0.05  # half of what the fastest need to press a key at a sign; scripts took up to 0.022
_KEY_DIGITS = 16  # 64 bits: among a million entries two share a key with a chance of 3e-8


class Rule(StrEnum):
    """Rule that resolves reviewers' disagreement.

    ``unanimous``: none, all must agree. ``any-drop``: a single drop decides. ``majority``: the outcome of more than
    half of the reviewers.

    For a corrected field only reviewers who corrected it and whose outcome won count, as others may have overlooked
    it. ``majority`` takes the value of more than half of them; otherwise they must agree.
    """

    UNANIMOUS = "unanimous"
    ANY_DROP = "any-drop"
    MAJORITY = "majority"


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """A line of the decision file.

    Attributes:
        reviewer: Name of the reviewer.
        when: UTC, ISO 8601.
        key: Of the entry, :func:`key_of`.
        index: Of the entry in the list reviewed; lists are renumbered, so it only helps the reader.
        prompt: The text that was judged.
        decision: One of :data:`VERDICTS`, ``"skip"``, ``"set"`` or ``"undo"``.
        reason: Why it was dropped: a name of :data:`REASONS`, free text, or ``"name: free text"``.
        edited: The new text of an edited prompt.
        seconds: From showing the entry to the decision; 0 where commands came from a script.
        field: Of a correction: one of :data:`vmmetrics.prompts.review.decisions.FIELDS`.
        value: New value, as text.
    """

    reviewer: str
    when: str
    key: str
    index: str
    prompt: str
    decision: str
    reason: str = ""
    edited: str = ""
    seconds: float = 0.0
    field: str = ""
    value: str = ""

    def __post_init__(self) -> None:
        if self.decision not in (*VERDICTS, SKIP, SET, UNDO):
            raise ValueError(f"unknown decision {self.decision!r}")
        if self.decision == SET:
            if self.field not in FIELDS:
                raise ValueError(f"unknown field {self.field!r}")
            corrected(PromptEntry("", "-", "", "", "", "", tags=Tags()), {self.field: self.value})

    def to_json(self) -> Line:
        """Return the line as an object without empty fields."""
        return {name: value for name, value in asdict(self).items() if value != "" or name == "index"}

    @property
    def timed(self) -> bool:
        """True if a person took time over the decision; False for a script."""
        return self.seconds >= _LEAST_SECONDS

    @property
    def text(self) -> str | None:
        """The prompt after this verdict; None if it is dropped."""
        return {KEEP: self.prompt, EDIT: self.edited}.get(self.decision)


def key_of(entry: PromptEntry) -> str:
    """Return the key of an entry, independent of its position: a hash of text, subject, action and place."""
    text = json.dumps([entry.prompt, entry.subject, entry.action, entry.place], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_DIGITS]


def reason_text(key_or_name: str, more: str = "") -> str:
    """Return a preset reason by key or name, with any free text after it; other text is free text itself.

    >>> reason_text("3"), reason_text("unseen", "too dark"), reason_text("too", "dark")
    ('unseen', 'unseen: too dark', 'too dark')
    """
    names = {word: name for key, (name, _) in REASONS.items() for word in (key, name)}
    name = names.get(key_or_name.lower())
    if name is None:
        return tidy(f"{key_or_name} {more}")
    return f"{name}: {more.strip()}" if more.strip() else name


def tidy(text: str) -> str:
    r"""Return a text on one line without control characters.

    >>> tidy(" a dog\t runs\x1b[31m ")
    'a dog runs[31m'
    """
    return " ".join("".join(c for c in text if c.isprintable() or c.isspace()).split())


class DecisionFile(Locked):
    """The decision file, shared by every process that opened it; :meth:`append` flushes to disk.

    Beside it stays an empty ``.NAME.lock``, by which processes take turns. It may be deleted when no review runs; the
    last one out does not, since another may just be opening it, and the two would then hold different locks.

    Attributes:
        decisions: Every line so far, of all reviewers, in the file's order.
        warnings: Warnings about damaged lines.
    """

    def __init__(self, path: Path) -> None:
        self.decisions: list[ReviewDecision] = []
        self.warnings: list[str] = []
        with refusing("write", f"decisions to {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            _refuse_other_files(path)
            self._locks = ByteLocks(path.with_name(f".{path.name}.lock"))
        self._journal = Journal(path)
        self.refresh()

    def refresh(self) -> None:
        """Read what other processes appended since."""
        with self._locks.holding(JOURNAL):
            self._take_in()

    def append(self, decision: ReviewDecision) -> None:
        """Append a decision."""
        with self._locks.holding(JOURNAL):
            self._journal.append([decision.to_json()])
            self._take_in()

    def _take_in(self) -> None:
        lines = self._journal.read_new()
        self.decisions += _decisions(lines, self._journal.path)
        self.warnings += self._journal.warnings()


def read_decisions(paths: Iterable[Path]) -> list[ReviewDecision]:
    """Read the decisions of several files; an incomplete last line is left out.

    Raises:
        SetupError: A file cannot be read, or holds something else.
    """
    decisions: list[ReviewDecision] = []
    for path in paths:
        with refusing("read", path):
            if not path.is_file():
                raise SetupError(f"There is no file of review decisions at {path}")
            _refuse_other_files(path)
            decisions += _decisions(Journal(path).read_new(), path)
    return decisions


class Standing:
    """The decisions of one reviewer that were not undone.

    Attributes:
        lines: Those that stand, in the file's order: not what was taken back.
        by_key: The decision about each entry that has one, skips included, corrections not.
        corrections: The last correction of each field of an entry.
    """

    def __init__(self, decisions: Sequence[ReviewDecision], reviewer: str) -> None:
        own = [decision for decision in decisions if decision.reviewer == reviewer]
        self.lines: list[ReviewDecision] = []
        for decision in own:
            if decision.decision != UNDO:
                self.lines.append(decision)
                continue
            last = next((n for n in reversed(range(len(self.lines))) if self.lines[n].key == decision.key), None)
            if last is not None:
                del self.lines[last]
        judged = {line.key: line for line in self.lines if line.decision != SET}
        keys = dict.fromkeys(decision.key for decision in own)
        self.by_key = {key: judged[key] for key in keys if key in judged}
        self.corrections: defaultdict[str, dict[str, ReviewDecision]] = defaultdict(dict)
        for line in self.lines:
            if line.decision == SET:
                self.corrections[line.key][line.field] = line

    def verdicts(self) -> dict[str, ReviewDecision]:
        """Return the verdicts by entry."""
        return {key: decision for key, decision in self.by_key.items() if decision.decision in VERDICTS}


def reviews(decisions: Sequence[ReviewDecision]) -> dict[str, Standing]:
    """Return the standing decisions by reviewer, in the order in which they began."""
    return {name: Standing(decisions, name) for name in dict.fromkeys(decision.reviewer for decision in decisions)}


def _decisions(lines: Iterable[Line], path: Path) -> list[ReviewDecision]:
    try:
        return [convert(ReviewDecision, line) for line in lines]
    except ValueError as error:
        raise SetupError(f"{path} has lines that are not decisions ({error}); choose another file") from error


def _refuse_other_files(path: Path) -> None:
    """Refuse a file that is not a decision file, such as a list, before anything is appended to it."""
    if path.is_file():
        with open_regular(path) as file:
            head = file.read(len(_FIRST_BYTES))
        if not _FIRST_BYTES.startswith(head):
            raise SetupError(
                f"{path} is not a file of review decisions; choose another file, or a new name to start a review"
            )
