"""A folder of generated candidates: it only grows, and what is in it survives being killed anywhere.

``candidates.jsonl`` is a prompt list like any other; ``rejected.jsonl`` has what was written and did not pass, each
with its reasons; ``combinations.jsonl`` has a line for every combination that is done, ``generation.json`` with what.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from vmmetrics.errors import SetupError
from vmmetrics.mmpg.entry import PromptEntry
from vmmetrics.mmpg.files import row_of
from vmmetrics.mmpg.generate.combine import Combination
from vmmetrics.run.atomic import write_json
from vmmetrics.run.journal import Journal, Line
from vmmetrics.run.lock import ByteLocks
from vmmetrics.run.provenance import differences

FORMAT = 1
"""Version of the layout, in ``generation.json``."""
_OURS = ("generation.json", "candidates.jsonl", "rejected.jsonl", "combinations.jsonl", "generation.lock", "replies")


@dataclass(frozen=True)
class Rejection:
    """A candidate that did not pass.

    Attributes:
        entry: The candidate.
        stage: Who rejected it: "checks", "review" or "repeat".
        reasons: Why.
    """

    entry: PromptEntry
    stage: str
    reasons: Sequence[str]


@dataclass(frozen=True)
class Outcome:
    """What became of a combination.

    Attributes:
        combination: Which.
        status: "written"; "implausible", "refused" or "unusable", which is final; "unreachable", tried again next time.
        why: Of any other status than "written".
        accepted: Candidates that passed.
        rejected: Candidates that did not.
    """

    combination: Combination
    status: str
    why: str = ""
    accepted: Sequence[PromptEntry] = ()
    rejected: Sequence[Rejection] = ()


class Candidates:
    """The folder, opened by one process at a time: to start a generation, or to go on with the one that is there.

    Args:
        folder: Made if absent.
        configuration: What the candidates depend on, ready for JSON.

    Attributes:
        folder: Where.
        done: Keys of the combinations that are done.
        lines: Their lines in ``combinations.jsonl``.
        warnings: What was found damaged, in words.

    Raises:
        SetupError: Another process writes there, it holds another generation or other files, or cannot be written.
    """

    def __init__(self, folder: Path, configuration: Mapping[str, Any]) -> None:
        self.folder = folder
        self.warnings: list[str] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / "generation.json").exists() and any(f.name not in _OURS for f in folder.iterdir()):
                raise SetupError(f"{folder} holds other files and no candidates; choose an empty or new folder")
            self._locks = ByteLocks(folder / "generation.lock")
        except OSError as error:
            raise SetupError(f"Cannot write candidates to {folder}: {error.strerror}") from error
        try:
            if not self._locks.try_acquire(0):
                raise SetupError(f"Another process writes candidates to {folder}")
            self._join(configuration)
            self._journals = {name: Journal(folder / f"{name}.jsonl") for name in _JOURNALS}
            lines = {name: self._read(journal) for name, journal in self._journals.items()}
        except BaseException:
            self.close()
            raise
        self.lines = lines["combinations"]
        self.done = {str(line.get("combination")) for line in self.lines}
        self._known = {str(line.get("index")) for line in (*lines["candidates"], *lines["rejected"])}
        self._texts = {_same(str(line.get("prompt"))): str(line.get("index")) for line in lines["candidates"]}

    def _join(self, configuration: Mapping[str, Any]) -> None:
        path = self.folder / "generation.json"
        if not path.exists():
            write_json(path, {"format": FORMAT, "configuration": configuration})
            return
        try:
            kept = json.loads(path.read_text("utf-8"))
            before = kept["configuration"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SetupError(f"{path} cannot be read: {error}") from error
        different = differences(json.loads(json.dumps(configuration)), before)
        if different:
            raise SetupError(
                f"{self.folder} was generated with other settings:\n  "
                + "\n  ".join(different)
                + "\nchoose another folder for --out, or generate with those"
            )

    def _read(self, journal: Journal) -> list[Line]:
        cut = journal.cut_torn_tail()
        if cut:
            self.warnings.append(f"{journal.path.name}: cut {cut} bytes of a line that was never finished")
        lines = journal.read_new()
        self.warnings += [f"{journal.path.name} line {number} is damaged; passed over" for number in journal.damaged]
        return lines

    def add(self, outcome: Outcome) -> Outcome:
        """Keep the outcome of a combination; when this returns it is on the disk. An unreachable one is not kept.

        Returns:
            The outcome as kept: a candidate with the words of an earlier one is among the rejected.
        """
        if outcome.status == "unreachable":
            return outcome
        kept = self._without_repeats(outcome)
        fresh = [entry for entry in kept.accepted if entry.index not in self._known]
        rejected = [rejection for rejection in kept.rejected if rejection.entry.index not in self._known]
        self._journals["rejected"].append(_rejected_line(rejection) for rejection in rejected)
        self._journals["candidates"].append(row_of(entry) for entry in fresh)
        line = _combination_line(kept)
        self._journals["combinations"].append([line])  # last: where this line stands, the candidates stand too
        self._known |= {entry.index for entry in fresh} | {rejection.entry.index for rejection in rejected}
        self._texts |= {_same(entry.prompt): entry.index for entry in fresh}
        self.done.add(outcome.combination.key)
        self.lines.append(line)
        return kept

    def _without_repeats(self, outcome: Outcome) -> Outcome:
        accepted: list[PromptEntry] = []
        rejected = list(outcome.rejected)
        seen = dict(self._texts)
        for entry in outcome.accepted:
            first = seen.setdefault(_same(entry.prompt), entry.index)
            if first == entry.index:
                accepted.append(entry)
            else:
                rejected.append(Rejection(entry, "repeat", [f"the same words as {first}"]))
        return Outcome(outcome.combination, outcome.status, outcome.why, accepted, rejected)

    def close(self) -> None:
        """Drop the lock."""
        self._locks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_JOURNALS = ("candidates", "rejected", "combinations")


def _same(text: str) -> str:
    return " ".join(text.lower().split())


def _rejected_line(rejection: Rejection) -> Line:
    return row_of(rejection.entry) | {"rejected": {"stage": rejection.stage, "reasons": list(rejection.reasons)}}


def _combination_line(outcome: Outcome) -> Line:
    counts = {"accepted": len(outcome.accepted), "rejected": len(outcome.rejected)}
    named = {"combination": outcome.combination.key, "number": outcome.combination.number, "status": outcome.status}
    return named | ({"why": outcome.why} if outcome.why else {}) | counts | outcome.combination.described()
