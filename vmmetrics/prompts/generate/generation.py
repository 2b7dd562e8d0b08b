"""Candidate prompts for combinations: written and verified by a language model, or written by grammar."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from vmmetrics.prompts.checks import faults
from vmmetrics.prompts.entry import PATTERNS, Metadata, PromptEntry
from vmmetrics.prompts.files import row_of
from vmmetrics.prompts.generate import writing
from vmmetrics.prompts.generate.combine import Combination, Combiner
from vmmetrics.prompts.generate.rules import conform
from vmmetrics.utils.endpoint.client import THREADS, AskedQuestion, Client
from vmmetrics.utils.endpoint.messages import CostEstimate
from vmmetrics.utils.schema import plain
from vmmetrics.utils.storage.job_folder import ExclusiveFolder
from vmmetrics.utils.storage.journal import Journal
from vmmetrics.utils.text.inflection import ing_form

# A folder of generated candidates: it only grows, and what is in it survives being killed anywhere.
#
# ``candidates.jsonl`` is a prompt list like any other; ``rejected.jsonl`` has what was written and did not pass, each
# with its reasons; ``combinations.jsonl`` has a line for every combination that is done, ``generation.json`` with what.


@dataclass(frozen=True)
class RejectedPrompt:
    """A rejected candidate.

    Attributes:
        entry: The candidate.
        stage: Stage that rejected it: "checks", "review" or "repeat".
        reasons: Why.
    """

    entry: PromptEntry
    stage: str
    reasons: Sequence[str]


@dataclass(frozen=True)
class CombinationOutcome:
    """Outcome of one combination.

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
    rejected: Sequence[RejectedPrompt] = ()


class Candidates(ExclusiveFolder):
    """The folder of a generation, new or to resume.

    Args:
        path: Made if absent.
        configuration: What the candidates depend on, as JSON values.

    Attributes:
        done: Keys of the combinations that are done.
        lines: Their lines in ``combinations.jsonl``.

    Raises:
        SetupError: See :class:`~vmmetrics.utils.storage.job_folder.ExclusiveFolder`.
    """

    HOLDS, RECORD, LOCK = "candidates", "generation.json", "generation.lock"

    def _read(self) -> None:
        self._journals = {name: Journal(self.path / f"{name}.jsonl") for name in _JOURNALS}
        lines = {name: self._lines(journal, _JOURNALS[name]) for name, journal in self._journals.items()}
        self.lines = lines["combinations"]
        self.done = {line["combination"] for line in self.lines}
        self._stored_indices = {line["index"] for line in (*lines["candidates"], *lines["rejected"])}
        self._texts = {_same(line["prompt"]): line["index"] for line in lines["candidates"]}

    def add(self, outcome: CombinationOutcome) -> CombinationOutcome:
        """Store the outcome of a combination, flushed to disk; an unreachable one is not stored.

        Returns:
            The outcome as kept: a candidate with the words of an earlier one is among the rejected.
        """
        if outcome.status == "unreachable":
            return outcome
        accepted: list[PromptEntry] = []
        rejected = list(outcome.rejected)
        for entry in outcome.accepted:
            first = self._texts.setdefault(_same(entry.prompt), entry.index)
            if first == entry.index:
                accepted.append(entry)
            else:
                rejected.append(RejectedPrompt(entry, "repeat", [f"the same words as {first}"]))
        self._journals["rejected"].append(
            row_of(rejection.entry) | {"rejected": {"stage": rejection.stage, "reasons": list(rejection.reasons)}}
            for rejection in rejected
            if rejection.entry.index not in self._stored_indices
        )
        self._journals["candidates"].append(row_of(e) for e in accepted if e.index not in self._stored_indices)
        combination = outcome.combination
        line = {"combination": combination.key, "number": combination.number, "status": outcome.status}
        line |= {"why": outcome.why} if outcome.why else {}
        line |= {"accepted": len(accepted), "rejected": len(rejected), **combination.described()}
        self._journals["combinations"].append([line])  # last: where this line stands, the candidates stand too
        self._stored_indices |= {entry.index for entry in (*accepted, *(rejection.entry for rejection in rejected))}
        self.done.add(combination.key)
        self.lines.append(line)
        return replace(outcome, accepted=accepted, rejected=rejected)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Fields read from a line of ``candidates.jsonl`` or ``rejected.jsonl``."""

    index: str
    prompt: str


@dataclass(frozen=True, slots=True)
class _Combination:
    """Fields read from a line of ``combinations.jsonl``."""

    combination: str
    status: str
    pattern: str = ""
    lemma: str = ""
    accepted: int = 0
    rejected: int = 0


_JOURNALS = {"candidates": _Candidate, "rejected": _Candidate, "combinations": _Combination}


def _same(text: str) -> str:
    return " ".join(text.lower().split())


WRITTEN_TOKENS = 150
"""Expected tokens of a candidate as JSON: our entries have 570 characters on average, four to a token."""
REVIEWED_TOKENS = 50
"""Expected tokens of a verification as JSON: 100 characters of keys, and as many of reason."""
_USUAL_PROMPT = "x" * 130
"""Placeholder for a prompt not yet written: 22 words have about so many characters."""


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """Settings of a generation.

    Attributes:
        count: Total number of combinations.
        candidates: Prompts to write for each.
        seed: Of the combinations, of the sampling and of the grammar.
        patterns: Requested motion patterns.
        camera_share: Share of the combinations that ask for a camera motion.
        temperature: Of the writing; the second pass is greedy.

    Raises:
        ValueError: A pattern is unknown, none is given, or a number is out of range.
    """

    count: int = 60
    candidates: int = 3
    seed: int = 0
    patterns: tuple[str, ...] = PATTERNS
    camera_share: float = 0.06
    temperature: float = 0.8

    def __post_init__(self) -> None:
        if self.count < 1 or self.candidates < 1:
            raise ValueError("Expected at least one combination and one candidate for each")
        if not 0 <= self.camera_share <= 1 or not 0 <= self.temperature <= 2:
            raise ValueError("Expected the camera's share in [0, 1] and the temperature in [0, 2]")
        unknown = [pattern for pattern in self.patterns if pattern not in PATTERNS]
        if unknown or not self.patterns:
            raise ValueError(f"Expected patterns among {', '.join(PATTERNS)} but got {', '.join(unknown) or 'none'}")

    def configuration(self, metadata: Metadata, client: Client | None) -> dict[str, Any]:
        """Return the settings that candidates depend on, as JSON values: all but the count, which may grow."""
        digest = hashlib.sha256(json.dumps(plain(metadata), sort_keys=True).encode()).hexdigest()
        part: dict[str, Any] = {"seed": self.seed, "candidates": self.candidates, "camera_share": self.camera_share}
        part |= {"patterns": list(self.patterns), "metadata": digest}
        if client is None:
            return part | {"method": "grammar"}
        part |= {"method": "model", "instructions": writing.VERSION, "temperature": self.temperature}
        return part | {name: getattr(client.settings, name) for name in ("url", "model", "tokens")}


@dataclass(frozen=True)
class GenerationPlan:
    """The combinations to write.

    Attributes:
        combinations: All combinations; fewer than requested if the metadata allow no more.
        settings: Settings of the generation.
    """

    combinations: Sequence[Combination]
    settings: GenerationSettings

    @classmethod
    def draw(cls, metadata: Metadata, settings: GenerationSettings) -> GenerationPlan:
        """Draw the combinations.

        Raises:
            SetupError: The metadata allow none.
        """
        combiner = Combiner(metadata, settings.seed, settings.patterns, settings.camera_share)
        return cls(list(islice(combiner, settings.count)), settings)

    def remaining(self, candidates: Candidates) -> list[Combination]:
        """Return the combinations not done yet."""
        return [combination for combination in self.combinations if combination.key not in candidates.done]

    def estimate(self, client: Client, candidates: Candidates) -> CostEstimate:
        """Estimate the cost of the remaining combinations: writing, and verifying every candidate."""
        count = self.settings.candidates
        todo = self.remaining(candidates)
        written = client.estimate((self._writing(c) for c in todo), count * WRITTEN_TOKENS)
        usual = [_USUAL_PROMPT] * count
        return written + client.estimate((writing.reviewing_question(c, usual) for c in todo), count * REVIEWED_TOKENS)

    def run(
        self, candidates: Candidates, client: Client | None, threads: int = THREADS
    ) -> Iterator[CombinationOutcome]:
        """Write the remaining combinations; each outcome is on disk when it is yielded.

        Args:
            candidates: The folder.
            client: Asks the model; None writes by grammar.
            threads: Combinations in hand at once, where a model is asked.

        Raises:
            VMMetricsError: As :meth:`vmmetrics.utils.endpoint.client.Client.ask`; what was done before is kept.
        """
        todo = self.remaining(candidates)
        if client is None:
            for combination in todo:
                yield candidates.add(self._by_grammar(combination))
            return
        with closing(client.work_through(partial(self._by_model, client), todo, threads)) as outcomes:
            for _, outcome in outcomes:
                yield candidates.add(outcome)

    def _by_model(self, client: Client, combination: Combination) -> CombinationOutcome:
        """Have candidates written, check them, and have the accepted ones verified."""
        answer = client.ask(self._writing(combination))
        if answer.value is None:
            return CombinationOutcome(combination, answer.kind, answer.why or "")
        if not answer.value["plausible"]:
            return CombinationOutcome(combination, "implausible", str(answer.value["why"]))
        provenance = {"method": "model", "model": client.settings.model, "instructions": writing.VERSION}
        written = [writing.written_by_model(candidate, combination) for candidate in answer.value["candidates"]]
        sound, rejected = self._checked(combination, written, provenance)
        if not sound:
            return CombinationOutcome(combination, "written", rejected=rejected)
        verdicts = client.ask(writing.reviewing_question(combination, [entry.prompt for entry in sound]))
        if verdicts.kind == "unreachable":  # what was written is kept as a reply, and costs nothing next time
            return CombinationOutcome(combination, verdicts.kind, verdicts.why or "")
        if verdicts.value is None:  # without a verdict none passes
            reasons = [[f"no verdict, {verdicts.kind}: {verdicts.why}"]] * len(sound)
        else:
            in_order = sorted(verdicts.value["verdicts"], key=lambda verdict: int(verdict["number"]))
            reasons = list(map(writing.faults_of, in_order))
        passed, failed = _parted(sound, "review", reasons)
        return CombinationOutcome(combination, "written", accepted=passed, rejected=[*rejected, *failed])

    def _by_grammar(self, combination: Combination) -> CombinationOutcome:
        texts = list(islice(writing.realise(combination, self.settings.seed), self.settings.candidates))
        if not texts:
            return CombinationOutcome(combination, "unusable", "no sentence pattern fits")
        action = combination.action
        doing = conform(action.complement, "ing")
        phrase = f"{ing_form(action.lemma)} {action.complement if doing is None else doing}".strip()
        same = {"subject": combination.noun_phrase, "action": phrase, "outcome": action.outcome}
        written = [{"prompt": text, "tags": combination.tags, **same} for text in texts]
        sound, rejected = self._checked(combination, written, {"method": "grammar"})
        return CombinationOutcome(combination, "written", accepted=sound, rejected=rejected)

    def _checked(
        self, combination: Combination, written: Sequence[Mapping[str, Any]], method: Mapping[str, Any]
    ) -> tuple[list[PromptEntry], list[RejectedPrompt]]:
        """Return entries of written candidates, each with a reproducible index of its own."""
        origin = {**method, "combination": combination.key, "seed": self.settings.seed}
        first = combination.number * self.settings.candidates + 1
        entries = [
            PromptEntry(index=f"{first + position:04d}", **combination.fields, **fields, provenance=origin)
            for position, fields in enumerate(written)
        ]
        return _parted(entries, "checks", list(map(faults, entries)))

    def _writing(self, combination: Combination) -> AskedQuestion[Combination]:
        own = self.settings
        return writing.writing_question(combination, own.candidates, own.seed, own.temperature)


def _parted(
    entries: Sequence[PromptEntry], stage: str, reasons: Sequence[Sequence[str]]
) -> tuple[list[PromptEntry], list[RejectedPrompt]]:
    """Split entries into accepted and rejected ones."""
    pairs = list(zip(entries, reasons, strict=True))
    return [e for e, wrong in pairs if not wrong], [RejectedPrompt(e, stage, wrong) for e, wrong in pairs if wrong]
