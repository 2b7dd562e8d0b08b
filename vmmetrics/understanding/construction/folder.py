"""A folder of made questions: one journal that only grows, and files made from it that are replaced whole.

``units.jsonl`` has a line for every video (or, for gates, question) that is done, with what passed and what did not;
``build.json`` says with what. ``questions.jsonl``, ``rejected.jsonl``, ``review.jsonl`` and ``summary.json`` are made
from it whenever a build ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vmmetrics.models.questions import Question
from vmmetrics.understanding.construction.outcomes import Outcome, read_outcome
from vmmetrics.utils.storage.atomic import write_atomically, write_json
from vmmetrics.utils.storage.job_folder import SoleFolder
from vmmetrics.utils.storage.journal import Journal, Line, encode

QUESTIONS, REJECTED, REVIEW, SUMMARY = "questions.jsonl", "rejected.jsonl", "review.jsonl", "summary.json"
_UNITS = "units.jsonl"


class BuildFolder(SoleFolder):
    """The folder: to start a build, or to go on with the one that is there.

    Args:
        path: Made if absent.
        configuration: What outcomes depend on, ready for JSON.
        places: By unit, something that knows the video's file and times now.
        digest: Hash of what the input says of a unit.

    Attributes:
        outcomes: What is done, by unit.

    Raises:
        SetupError: See :class:`~vmmetrics.utils.storage.job_folder.SoleFolder`.
    """

    HOLDS, RECORD, LOCK = "questions", "build.json", "build.lock"

    def __init__(
        self,
        path: Path,
        configuration: Mapping[str, Any],
        places: Mapping[str, Question],
        digest: Callable[[str], str],
    ) -> None:
        self._places = places
        self._digest = digest
        self.outcomes: dict[str, Outcome] = {}
        super().__init__(path, configuration)

    def _read(self) -> None:
        self._journal = Journal(self.path / _UNITS)
        for line in self._lines(self._journal):
            try:
                outcome = read_outcome(line, self._places)
            except ValueError as error:
                self.warnings.append(f"{_UNITS}: a line was passed over ({error}); its unit is done again")
                continue
            if outcome.unit in self._places and line.get("input") != self._digest(outcome.unit):
                self.outcomes.pop(outcome.unit, None)  # its input changed since
            else:
                self.outcomes[outcome.unit] = outcome

    def add(self, outcome: Outcome) -> None:
        """Keep what became of a unit; when this returns it is on the disk. What is to be tried again is not kept."""
        if outcome.final:
            self._journal.append([{"input": self._digest(outcome.unit)} | outcome.to_json()])
            self.outcomes[outcome.unit] = outcome

    def replace_lines(self, name: str, lines: list[Line]) -> None:
        """Write one of the files that are made from the journal."""
        write_atomically(self.path / name, b"".join(encode(line) for line in lines))

    def replace_json(self, name: str, value: Any) -> None:
        """Likewise one of JSON."""
        write_json(self.path / name, value)
