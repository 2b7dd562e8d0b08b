"""Answers of a study: an append-only journal, and the state that is rebuilt from it.

A line is a session that began, an answer, a withdrawal, a session as a whole that was merged, or the mark that a
rater's answers were removed. The first line holds the study as it was: another ``study.json`` is refused from then on.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, refusing
from vmmetrics.rating.study import RECORD, Study
from vmmetrics.rating.trials import Answer, Session
from vmmetrics.utils.schema import convert, convert_json, plain
from vmmetrics.utils.storage.atomic import write_atomically
from vmmetrics.utils.storage.journal import Journal, Line, decoded, encode, iterate_lines
from vmmetrics.utils.storage.lock import ByteLocks, Locked
from vmmetrics.utils.storage.provenance import differences, now

ANSWERS, PEOPLE, PACKS, LOCK = "answers.jsonl", "people.jsonl", "packs.jsonl", ".lock"
_COPIES_LOCK = ".copies.lock"  # of its own: whoever closes a file drops the process's locks on it
_ANSWER = b'{"kind":"answer",'  # how the line of an answer begins


@dataclass
class State:
    """What a journal says.

    Attributes:
        sessions: Sessions by id, in the order of their beginning.
        ids: Answers' ids to session and trial.
        forgotten: Raters whose answers were removed on their request: date and number of answers.
        marks: Keyed hashes of these raters (:func:`mark_of`), whose old files are not merged.
        configuration: The study as it was at the first session, or None.
        raters: Sessions by rater.
    """

    sessions: dict[str, Session] = field(default_factory=dict)
    ids: dict[str, tuple[str, int]] = field(default_factory=dict)
    forgotten: list[tuple[str, int]] = field(default_factory=list)
    marks: set[str] = field(default_factory=set)
    configuration: Mapping[str, Any] | None = None
    raters: dict[str, list[Session]] = field(default_factory=dict)

    def apply(self, line: Line | Answer) -> None:
        """Take in a line of the journal, or what it converts to.

        Raises:
            ValueError: It is none.
        """
        kind = "answer" if isinstance(line, Answer) else line.get("kind")
        if isinstance(line, Answer) or kind == "answer":
            answer = line if isinstance(line, Answer) else convert(Answer, line)
            session = self.sessions.get(answer.session)
            if answer.id in self.ids or session is None or answer.trial not in range(len(session.trials)):
                return
            session.changes += answer.trial in session.answers
            session.answers[answer.trial] = answer
            self.ids[answer.id] = (answer.session, answer.trial)
        elif kind == "session":
            session = convert(Session, line)
            if session.session not in self.sessions:
                self.sessions[session.session] = session
                self.raters.setdefault(session.rater, []).append(session)
        elif kind == "withdrawal":
            for session in self.of_rater(str(line.get("rater"))):
                session.withdrawn = True
        elif kind == "forgotten":
            self.forgotten.append((str(line.get("at")), int(line.get("answers", 0))))
            self.marks.update(map(str, line.get("marks", ())))
        elif kind == "merged":  # in the place of what is known of the session
            first, *others = convert(tuple[Line, ...], line["lines"])
            session = convert(Session, first)
            if (known := self.sessions.get(session.session)) is not None:
                known.answers, known.changes = {}, session.changes
                known.withdrawn |= session.withdrawn
                self.ids = {one: where for one, where in self.ids.items() if where[0] != known.session}
            for one in (first, *others):
                self.apply(one)
        elif kind == "study":
            self.configuration = line["configuration"]
        else:
            raise ValueError(f"a line of kind {kind!r}")

    def of_rater(self, rater: str) -> list[Session]:
        """Return the sessions of a rater."""
        return self.raters.get(rater, [])

    def votes(self, used: Iterable[Session]) -> Counter[str]:
        """Return the votes of each item in some sessions."""
        return Counter(
            trial.item for session in used for at, trial in enumerate(session.trials)
            if trial.is_vote and at in session.answers
        )  # fmt: skip


def read_packs(study: Study) -> dict[str, Line]:
    """Return the lines of the sessions that were given out as files, by id, as they were drawn."""
    return {line["session"]: line for line in iterate_lines(study.path / PACKS, like=Session)}


def given_out(study: Study, state: State) -> dict[str, Session]:
    """Return the sessions that were given out as files of which none was merged yet, by id."""
    return {name: convert(Session, line) for name, line in read_packs(study).items() if name not in state.sessions}


def mark_of(study: Study, rater: str) -> str:
    """Return what stays of a forgotten rater: who has neither the rater's id nor the study's secret learns nothing."""
    return hmac.new(
        study.keys["secret"].encode(), f"forgotten/{rater}".encode("utf-8", "replace"), hashlib.sha256
    ).hexdigest()


def read_state(study: Study, warnings: list[str] | None = None) -> State:
    """Read the answers of a study, also while a server writes them; no lock is taken.

    Raises:
        SetupError: ``study.json`` is another than at the first session.
    """
    journal = Journal(study.path / ANSWERS)
    state = _replayed(study, _lines(journal))
    if warnings is not None:
        warnings += journal.warnings()
    return state


def _lines(journal: Journal) -> Iterator[Line | Answer]:
    """Yield all lines, answers converted at once: parsed first they take twice as long."""
    for number, raw in enumerate(journal.raw_lines(0), 1):
        try:
            if raw.text.startswith(_ANSWER):
                with suppress(ValueError):  # of which the other way tells damage from what is no answer
                    yield convert_json(Answer, raw.text)
                    continue
            yield decoded(raw.text, Line)[0]
        except ValueError as error:
            journal.damaged.append((number, str(error)))


def _replayed(study: Study, lines: Iterable[Line | Answer]) -> State:
    state = State()
    for number, line in enumerate(lines, 1):
        try:
            state.apply(line)
        except (ValueError, KeyError, TypeError) as error:
            raise SetupError(f"{study.path / ANSWERS}, line {number} is none of a study: {error}") from error
    if state.configuration is not None:
        names = ("now", "at the first session")
        if changed := differences(study.configuration, state.configuration, names=names):
            raise SetupError(f"{study.path / RECORD} was changed after the first session; restore it:", *changed)
    return state


@contextmanager
def holding_copies(study: Study) -> Iterator[None]:
    """Hold what a study knows of its copies, also while it is served; not twice in one process.

    Raises:
        SetupError: It cannot be written.
    """
    with refusing("write", study.path):
        locks = ByteLocks(study.path / _COPIES_LOCK)
    try:
        with locks.holding(0):
            yield
    finally:
        locks.close()


class AnswerJournal(Locked):
    """The journal of a study, open to be written by one process.

    Attributes:
        study: The study.
        state: What it says so far.
        warnings: Texts on damaged lines.

    Raises:
        SetupError: Another process has it open, or ``study.json`` was changed.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        with refusing("write", study.path):
            self._locks = ByteLocks(study.path / LOCK)
        try:
            if not self._locks.try_acquire(0):
                raise SetupError(f"{study.path} is being served, or written, by another process")
            self._journal = Journal(study.path / ANSWERS)
            self.warnings = self._journal.mend()
            self.state = _replayed(study, self._journal.read_new())
            self.warnings += self._journal.warnings()
        except BaseException:
            self.close()
            raise

    def start(self) -> Sequence[Line]:
        """Return the line that fixes the study, to be written before the first session; none if it is there."""
        if self.state.configuration is not None:
            return []
        return [self.take({"kind": "study", "configuration": self.study.configuration})]

    def take(self, line: Mapping[str, Any]) -> Line:
        """Take a line into the state, and return it as it is to be written."""
        made: Line = {**plain(line), "at": line.get("at") or now()}
        self.state.apply(made)
        return made

    def write(self, lines: Iterable[Line]) -> None:
        """Append lines and return once they are on the disk.

        Raises:
            SetupError: The disk refuses them.
        """
        if made := list(lines):
            self._journal.append(made)

    def forget(self, rater: str, marks: Sequence[str]) -> int:
        """Remove the answers of a rater for good; a date and their number stay, and damaged lines of nobody's.

        The person's name goes first: after an interruption the answers still say whom to remove.

        Args:
            rater: The rater.
            marks: The rater's :func:`mark_of` in this study and those that exchange answers with it.

        Returns:
            How many answers were removed; 0 where the journal has none.
        """
        own = self.state.of_rater(rater)
        removed = sum(len(session.answers) + session.changes for session in own)
        has_page = any(pack["rater"] == rater for pack in read_packs(self.study).values())
        for name in (PEOPLE, PACKS):
            _rewrite(self.study.path / name, rater)
        if own or has_page:
            mark = encode({"kind": "forgotten", "at": now()[:10], "answers": removed, "marks": list(marks)})
            _rewrite(self.study.path / ANSWERS, rater, {session.session for session in own}, mark)
        self._journal = Journal(self.study.path / ANSWERS)
        self.state = _replayed(self.study, self._journal.read_new())
        return removed


def _rewrite(path: Path, rater: str, sessions: Collection[str] = (), end: bytes = b"") -> None:
    """Write a file again without the lines of a rater and the rater's sessions."""
    if path.exists():
        lines = path.read_bytes().splitlines(keepends=True)
        write_atomically(path, b"".join([*(line for line in lines if not _is_of(line, rater, sessions)), end]))
        path.chmod(0o600)


def _is_of(raw: bytes, rater: str, sessions: Collection[str]) -> bool:
    """Return True if a line is of a rater or a session; a damaged one if it has such an id anywhere."""
    try:
        line = decoded(raw, Line)[0]
    except ValueError:
        return any(f'"{one}"'.encode() in raw for one in (rater, *sessions))
    first = line["lines"][0] if line.get("kind") == "merged" else line
    return first.get("rater") == rater or first.get("session") in sessions
