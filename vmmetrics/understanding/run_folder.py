"""The folder of a run: it only grows, and what is in it survives being killed anywhere.

``run.json`` says with what, ``answers.jsonl`` has a line for every answer (the last to a question counts), ``replies``
what an endpoint said. ``scores.jsonl``, ``figures.json``, ``figures.csv`` and ``table.md`` are made from them at will.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.run.folder import SoleFolder
from vmmetrics.run.journal import Journal
from vmmetrics.run.provenance import now
from vmmetrics.understanding.replies import Answered
from vmmetrics.utils.schema import check, read_json

FORMAT = 1
"""Version of the layout, in ``run.json``."""
KIND = "understanding"
"""What ``run.json`` calls the run; a run of scores has no kind."""


class RunFolder(SoleFolder):
    """The folder: to start a run, or to go on with the one that is there.

    Args:
        path: Made if absent.
        configuration: What the answers depend on, ready for JSON.
        session: What to record about this start.

    Attributes:
        answers: The last answer to each question, by its key.

    Raises:
        SetupError: See :class:`~vmmetrics.run.folder.SoleFolder`.
    """

    HOLDS, RECORD, LOCK, FORMAT = "answers", "run.json", "run.lock", FORMAT

    def __init__(self, path: Path, configuration: Mapping[str, Any], session: Mapping[str, Any]) -> None:
        self._session = session
        self.answers: dict[str, Answered] = {}
        super().__init__(path, configuration)

    def _started(self, record: dict[str, Any]) -> bool:
        record["kind"] = KIND
        record.setdefault("sessions", []).append({"started": now(), **self._session})
        return True

    def _known(self) -> dict[str, Any]:
        return read_run(self.path)

    def _read(self) -> None:
        self._journal = Journal(self.path / "answers.jsonl")
        self.answers = {answered.question: answered for answered in self._lines_as(self._journal, Answered)}

    def add(self, answers: Sequence[Answered]) -> None:
        """Keep answers; when this returns they are on the disk."""
        self._journal.append(answered.to_json() for answered in answers)
        self.answers |= {answered.question: answered for answered in answers}

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Record what came of this start."""
        self.record["sessions"][-1] |= {"ended": now(), **summary}
        self._save(self.record)


def read_run(path: Path) -> dict[str, Any]:
    """Read ``run.json``.

    Raises:
        SetupError: There is none of an understanding run, it is damaged, or a later version wrote it.
    """
    file = path / "run.json"
    if not file.is_file():
        raise SetupError(f"{path} holds no run: it has no run.json")
    run: dict[str, Any] = check(dict[str, Any], read_json(file), file)
    if run.get("kind") != KIND or run.get("format") != FORMAT:
        raise SetupError(f"{path} holds no run of 'understand', or one of another version (format {FORMAT} expected)")
    check(_Header, run, file)
    if not run["sessions"]:
        raise SetupError(f"{file} is damaged: it does not say what was run")
    return run


@dataclass(frozen=True, slots=True)
class _Frames:
    policy: str


@dataclass(frozen=True, slots=True)
class _Model:
    name: str


@dataclass(frozen=True, slots=True)
class _Configuration:
    benchmark: str
    data: Mapping[str, str]
    model: _Model
    frames: _Frames | None = None


@dataclass(frozen=True, slots=True)
class _Session:
    data: str | None = None
    videos: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class _Header:
    """What is taken from ``run.json``."""

    configuration: _Configuration
    sessions: tuple[_Session, ...]


def read_answers(path: Path) -> tuple[dict[str, Answered], list[str]]:
    """The last answer to each question of a run, and what was found damaged."""
    journal = Journal(path / "answers.jsonl")
    answers = {answered.question: answered for answered in journal.read_as(Answered)}
    return answers, journal.warnings()
