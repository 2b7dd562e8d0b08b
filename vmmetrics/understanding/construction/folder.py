"""A folder of made questions: one journal that only grows, and files made from it that are replaced whole.

``units.jsonl`` has a line for every video (or, for gates, question) that is done, with what passed and what did not;
``build.json`` says with what. ``questions.jsonl``, ``rejected.jsonl``, ``review.jsonl`` and ``summary.json`` are made
from it whenever a build ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from vmmetrics.errors import SetupError
from vmmetrics.run.atomic import write_atomically, write_json
from vmmetrics.run.journal import Journal, Line, encode
from vmmetrics.run.lock import ByteLocks
from vmmetrics.run.provenance import differences
from vmmetrics.understanding.construction.outcomes import Outcome, read_outcome
from vmmetrics.understanding.questions import Question

FORMAT = 1
"""Version of the layout, in ``build.json``."""
QUESTIONS, REJECTED, REVIEW, SUMMARY = "questions.jsonl", "rejected.jsonl", "review.jsonl", "summary.json"
_UNITS = "units.jsonl"
_BEFORE = ("build.lock", "replies")
"""What a build that was stopped at its very beginning may leave without ``build.json``; anything else is others'."""


class BuildFolder:
    """The folder, opened by one process at a time: to start a build, or to go on with the one that is there.

    Args:
        path: Made if absent.
        configuration: What outcomes depend on, ready for JSON.
        places: By unit, something that knows the video's file and times now.
        digest: Hash of what the input says of a unit.

    Attributes:
        path: Where.
        outcomes: What is done, by unit.
        warnings: What was found damaged, in words.

    Raises:
        SetupError: Another process writes there, it holds another build or other files, or cannot be written.
    """

    def __init__(
        self,
        path: Path,
        configuration: Mapping[str, Any],
        places: Mapping[str, Question],
        digest: Callable[[str], str],
    ) -> None:
        self.path = path
        self._digest = digest
        self.warnings: list[str] = []
        self.outcomes: dict[str, Outcome] = {}
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not (path / "build.json").exists() and any(
                f.name not in _BEFORE and not f.name.startswith(".") for f in path.iterdir()
            ):
                raise SetupError(f"{path} holds files that are of no build; choose an empty or new folder for --out")
            self._locks = ByteLocks(path / "build.lock")
        except OSError as error:
            raise SetupError(f"Cannot write questions to {path}: {error.strerror}") from error
        try:
            if not self._locks.try_acquire(0):
                raise SetupError(f"Another process writes questions to {path}")
            self._join(configuration)
            self._journal = Journal(path / _UNITS)
            self._read(places)
        except BaseException:
            self.close()
            raise

    def _join(self, configuration: Mapping[str, Any]) -> None:
        path = self.path / "build.json"
        if not path.exists():
            write_json(path, {"format": FORMAT, "configuration": configuration})
            return
        try:
            before = json.loads(path.read_text("utf-8"))["configuration"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SetupError(f"{path} cannot be read: {error}") from error
        different = differences(json.loads(json.dumps(configuration)), before)
        if different:
            raise SetupError(
                f"{self.path} was built with other settings:\n  "
                + "\n  ".join(different)
                + "\nchoose another folder for --out, or build with those"
            )

    def _read(self, places: Mapping[str, Question]) -> None:
        cut = self._journal.cut_torn_tail()
        if cut:
            self.warnings.append(f"{_UNITS}: cut {cut} bytes of a line that was never finished")
        for line in self._journal.read_new():
            try:
                outcome = read_outcome(line, places)
            except ValueError as error:
                self.warnings.append(f"{_UNITS}: a line was passed over ({error}); its unit is done again")
                continue
            if outcome.unit in places and line.get("input") != self._digest(outcome.unit):
                self.outcomes.pop(outcome.unit, None)  # its input changed since
            else:
                self.outcomes[outcome.unit] = outcome
        numbers = self._journal.damaged
        self.warnings += [f"{_UNITS} line {number} is damaged; its unit is done again" for number in numbers]

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

    def close(self) -> None:
        """Drop the lock."""
        self._locks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *how: object) -> None:
        self.close()
