"""The file for people: a line a question, in which they write ``keep`` or ``drop``, and what comes of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.custom import line_of
from vmmetrics.understanding.construction.outcomes import Rejection
from vmmetrics.utils.rows import read_rows
from vmmetrics.utils.storage.journal import Line

KEEP, DROP = "keep", "drop"
_FILLED = ("decision", "note", "reviewer")


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody decided about a question.

    Attributes:
        key: Of what was judged, :func:`key_of`.
        decision: "keep" or "drop".
        note: Why.
        reviewer: Who; may be empty.
    """

    key: str
    decision: str
    note: str = ""
    reviewer: str = ""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Questions parted by what people decided.

    Attributes:
        kept: Those that nobody dropped, in order.
        dropped: Those that somebody dropped.
        undecided: How many of the kept nobody decided upon.
        strange: Decisions about something that is not among the questions: edited since, or of another build.
    """

    kept: tuple[Question, ...]
    dropped: tuple[Rejection, ...]
    undecided: int
    strange: int


def key_of(question: Question) -> str:
    """What a decision is about: a hash of id, video, text, options whatever their order, and right option."""
    right = None if question.answer is None else question.options[question.answer]
    told = json.dumps([question.id, question.video, question.text, sorted(question.options), right], ensure_ascii=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def review_line(question: Question, folder: Path) -> Line:
    """The line that a person completes: ``decision``, ``note`` and ``reviewer`` are empty.

    Args:
        question: As it is published.
        folder: Where the line will stand.
    """
    empty = {"key": key_of(question), "decision": "", "note": "", "reviewer": ""}
    shown = line_of(question, folder)
    right = "" if question.answer is None else question.options[question.answer]
    return empty | {name: value for name, value in shown.items() if name != "reference"} | {"right": right}


def review_lines(questions: Iterable[Question], path: Path) -> list[Line]:
    """The lines of a review file for some questions; what people wrote into the file that is there stays.

    Also what they wrote about questions that are not among these, at the end: the next build may have them again.

    Args:
        questions: All that can be decided upon.
        path: The file.

    Raises:
        SetupError: The file that is there cannot be read.
    """
    before = read_rows(path) if path.exists() else []
    filled = {
        str(row["key"]): row
        for row in before
        if isinstance(row, Mapping) and row.get("key") and any(row.get(name) for name in _FILLED)
    }
    lines = []
    for question in questions:
        line = review_line(question, path.parent)
        written = filled.pop(line["key"], {})
        lines.append(line | {name: written.get(name, "") for name in _FILLED})
    return [*lines, *map(dict, filled.values())]


def read_decisions(paths: Iterable[Path]) -> list[Decision]:
    """The decisions in some review files; lines that nobody decided upon are left out.

    Raises:
        SetupError: A file cannot be read, or a line decides something else than to keep or to drop.
    """
    found = []
    for path in paths:
        for number, row in enumerate(read_rows(path), start=1):
            if not isinstance(row, Mapping) or not row.get("key"):
                raise SetupError(f"{path}: entry {number} is no line of a review file: it has no key")
            decision = str(row.get("decision") or "").strip().lower()
            if not decision:
                continue
            if decision not in (KEEP, DROP):
                raise SetupError(f"{path}: entry {number}: expected {KEEP} or {DROP} but got {decision!r}")
            more = (str(row.get(name) or "").strip() for name in ("note", "reviewer"))
            found.append(Decision(str(row["key"]), decision, *more))
    return found


def reviewed(questions: Sequence[Question], decisions: Sequence[Decision]) -> Reviewed:
    """Take out what somebody dropped; what nobody decided upon stays."""
    by_key: dict[str, list[Decision]] = {}
    for decision in decisions:
        by_key.setdefault(decision.key, []).append(decision)
    kept, dropped, undecided = [], [], 0
    for question in questions:
        own = by_key.pop(key_of(question), [])
        against = [decision for decision in own if decision.decision == DROP]
        if against:
            reasons = (" ".join(f"{d.reviewer or 'a reviewer'}: {d.note or 'dropped'}".split()) for d in against)
            dropped.append(Rejection(question, "review", tuple(reasons)))
        else:
            kept.append(question)
            undecided += not own
    return Reviewed(tuple(kept), tuple(dropped), undecided, sum(map(len, by_key.values())))
