"""The folder of a run: it only grows, and what is in it survives being killed anywhere.

``run.json`` says with what, ``answers.jsonl`` has a line for every answer (the last to a question counts), ``replies``
what an endpoint said. ``scores.jsonl``, ``figures.json``, ``figures.csv`` and ``table.md`` are made from them at will.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from vmmetrics.errors import SetupError
from vmmetrics.run.atomic import write_json
from vmmetrics.run.journal import Journal
from vmmetrics.run.lock import ByteLocks
from vmmetrics.run.provenance import differences, now
from vmmetrics.understanding.replies import Answered

FORMAT = 1
"""Version of the layout, in ``run.json``."""
KIND = "understanding"
"""What ``run.json`` calls the run; a run of scores has no kind."""


class RunFolder:
    """The folder, opened by one process at a time: to start a run, or to go on with the one that is there.

    Args:
        path: Made if absent.
        configuration: What the answers depend on, ready for JSON.
        session: What to record about this start.

    Attributes:
        path: Where.
        answers: The last answer to each question, by its key.
        warnings: What was found damaged, in words.

    Raises:
        SetupError: Another process writes there, it holds another run or other files, or cannot be written.
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any], session: Mapping[str, Any]) -> None:
        self.path = path
        self.answers: dict[str, Answered] = {}
        self.warnings: list[str] = []
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not (path / "run.json").exists() and any(_foreign(file) for file in path.iterdir()):
                raise SetupError(f"{path} holds other files and no run; choose an empty or new folder for --out")
            self._locks = ByteLocks(path / "run.lock")
        except OSError as error:
            raise SetupError(f"Cannot write a run to {path}: {error.strerror}") from error
        try:
            if not self._locks.try_acquire(0):
                raise SetupError(f"Another process is at work in {path}")
            self._join(configuration, session)
            self._journal = Journal(path / "answers.jsonl")
            cut = self._journal.cut_torn_tail()
            if cut:
                self.warnings.append(f"answers.jsonl: cut {cut} bytes of a line that was never finished")
            self.answers = _answers(self._journal, self.warnings)
        except BaseException:
            self.close()
            raise

    def _join(self, configuration: Mapping[str, Any], session: Mapping[str, Any]) -> None:
        run: dict[str, Any] = {"format": FORMAT, "kind": KIND, "configuration": configuration, "sessions": []}
        if (self.path / "run.json").exists():
            run = read_run(self.path)
            different = differences(json.loads(json.dumps(configuration)), run["configuration"])
            if different:
                raise SetupError(
                    f"{self.path} was asked otherwise:\n  " + "\n  ".join(different)
                    + "\nchoose another folder for --out, or ask as it was"
                )  # fmt: skip
        run["sessions"].append({"started": now(), **session})
        self._run = run
        self._save()

    def _save(self) -> None:
        try:
            write_json(self.path / "run.json", self._run)
        except OSError as error:
            raise SetupError(f"Cannot write to {self.path}: {error.strerror}") from error

    def add(self, answers: Sequence[Answered]) -> None:
        """Keep answers; when this returns they are on the disk."""
        self._journal.append(answered.to_json() for answered in answers)
        self.answers |= {answered.question: answered for answered in answers}

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Record what came of this start."""
        self._run["sessions"][-1] |= {"ended": now(), **summary}
        self._save()

    def close(self) -> None:
        """Drop the lock."""
        self._locks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_run(path: Path) -> dict[str, Any]:
    """Read ``run.json``.

    Raises:
        SetupError: There is none of an understanding run, it is damaged, or a later version wrote it.
    """
    try:
        run = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SetupError(f"{path} holds no run: it has no run.json") from error
    except (OSError, ValueError) as error:
        raise SetupError(f"{path / 'run.json'} cannot be read: {error}") from error
    if not isinstance(run, dict) or run.get("kind") != KIND or run.get("format") != FORMAT:
        raise SetupError(f"{path} holds no run of 'understand', or one of another version (format {FORMAT} expected)")
    return run


def read_answers(path: Path) -> tuple[dict[str, Answered], list[str]]:
    """The last answer to each question of a run, and what was found damaged."""
    warnings: list[str] = []
    return _answers(Journal(path / "answers.jsonl"), warnings), warnings


def _answers(journal: Journal, warnings: list[str]) -> dict[str, Answered]:
    found = {}
    for line in journal.read_new():
        try:
            answered = Answered.from_json(line)
        except (TypeError, AttributeError) as error:
            warnings.append(f"answers.jsonl: a line was passed over ({error})")
        else:
            found[answered.question] = answered
    warnings += [f"answers.jsonl line {number} is damaged and was passed over" for number in journal.damaged]
    return found


def _foreign(file: Path) -> bool:
    """Whether something in a folder without a run is anybody's: answers too, which nobody knows to what."""
    return file.name not in ("run.lock", "replies") and not file.name.startswith(".")
