"""A folder of generated candidates: it only grows, and what is in it survives being killed anywhere.

``candidates.jsonl`` is a prompt list like any other; ``rejected.jsonl`` has what was written and did not pass, each
with its reasons; ``combinations.jsonl`` has a line for every combination that is done, ``generation.json`` with what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vmmetrics.mmpg.entry import PromptEntry
from vmmetrics.mmpg.files import row_of
from vmmetrics.mmpg.generate.combine import Combination
from vmmetrics.run.folder import SoleFolder
from vmmetrics.run.journal import Journal, Line


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


class Candidates(SoleFolder):
    """The folder: to start a generation, or to go on with the one that is there.

    Args:
        path: Made if absent.
        configuration: What the candidates depend on, ready for JSON.

    Attributes:
        done: Keys of the combinations that are done.
        lines: Their lines in ``combinations.jsonl``.

    Raises:
        SetupError: See :class:`~vmmetrics.run.folder.SoleFolder`.
    """

    HOLDS, RECORD, LOCK = "candidates", "generation.json", "generation.lock"

    def _read(self) -> None:
        self._journals = {name: Journal(self.path / f"{name}.jsonl") for name in _JOURNALS}
        lines = {name: self._lines(journal, _JOURNALS[name]) for name, journal in self._journals.items()}
        self.lines = lines["combinations"]
        self.done = {line["combination"] for line in self.lines}
        self._known_entries = {line["index"] for line in (*lines["candidates"], *lines["rejected"])}
        self._texts = {_same(line["prompt"]): line["index"] for line in lines["candidates"]}

    def add(self, outcome: Outcome) -> Outcome:
        """Keep the outcome of a combination; when this returns it is on the disk. An unreachable one is not kept.

        Returns:
            The outcome as kept: a candidate with the words of an earlier one is among the rejected.
        """
        if outcome.status == "unreachable":
            return outcome
        kept = self._without_repeats(outcome)
        fresh = [entry for entry in kept.accepted if entry.index not in self._known_entries]
        rejected = [rejection for rejection in kept.rejected if rejection.entry.index not in self._known_entries]
        self._journals["rejected"].append(_rejected_line(rejection) for rejection in rejected)
        self._journals["candidates"].append(row_of(entry) for entry in fresh)
        line = _combination_line(kept)
        self._journals["combinations"].append([line])  # last: where this line stands, the candidates stand too
        self._known_entries |= {entry.index for entry in fresh} | {rejection.entry.index for rejection in rejected}
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


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What is taken from a line of ``candidates.jsonl`` and ``rejected.jsonl``."""

    index: str
    prompt: str


@dataclass(frozen=True, slots=True)
class _Combination:
    """What is taken from a line of ``combinations.jsonl``."""

    combination: str
    status: str
    pattern: str = ""
    lemma: str = ""
    accepted: int = 0
    rejected: int = 0


_JOURNALS = {"candidates": _Candidate, "rejected": _Candidate, "combinations": _Combination}


def _same(text: str) -> str:
    return " ".join(text.lower().split())


def _rejected_line(rejection: Rejection) -> Line:
    return row_of(rejection.entry) | {"rejected": {"stage": rejection.stage, "reasons": list(rejection.reasons)}}


def _combination_line(outcome: Outcome) -> Line:
    counts = {"accepted": len(outcome.accepted), "rejected": len(outcome.rejected)}
    named = {"combination": outcome.combination.key, "number": outcome.combination.number, "status": outcome.status}
    return named | ({"why": outcome.why} if outcome.why else {}) | counts | outcome.combination.described()
