"""A build from its first unit to its files."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.custom import line_of
from vmmetrics.understanding.construction.options import balanced, guesses
from vmmetrics.understanding.construction.recipe import QuestionRecipe
from vmmetrics.understanding.construction.units import (
    UNREACHABLE,
    RejectedQuestion,
    UnitOutcome,
    first_of_each,
    read_outcome,
)
from vmmetrics.understanding.construction.viewing import letters_of
from vmmetrics.utils.endpoint import GIVE_UP, THREADS, NoAnswerError
from vmmetrics.utils.storage.atomic import write_atomically, write_json
from vmmetrics.utils.storage.job_folder import SoleFolder
from vmmetrics.utils.storage.journal import Journal, Line, encode
from vmmetrics.utils.tables import read_rows

# A folder of made questions: one journal that only grows, and files made from it that are replaced whole.
#
# ``units.jsonl`` has a line for every video (or, for gates, question) that is done, with what passed and what did not;
# ``build.json`` says with what. ``questions.jsonl``, ``rejected.jsonl``, ``review.jsonl`` and ``summary.json`` are made
# from it whenever a build ends.

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
        self, path: Path, configuration: Mapping[str, Any], places: Mapping[str, Question], digest: Callable[[str], str]
    ) -> None:
        self._places = places
        self._digest = digest
        self.outcomes: dict[str, UnitOutcome] = {}
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

    def add(self, outcome: UnitOutcome) -> None:
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


# The file for people: a line a question, in which they write ``keep`` or ``drop``, and what comes of it.

KEEP, DROP = "keep", "drop"
_FILLED = ("decision", "note", "reviewer")


@dataclass(frozen=True, slots=True)
class QuestionDecision:
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
    dropped: tuple[RejectedQuestion, ...]
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


def read_decisions(paths: Iterable[Path]) -> list[QuestionDecision]:
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
            found.append(QuestionDecision(str(row["key"]), decision, *more))
    return found


def reviewed(questions: Sequence[Question], decisions: Sequence[QuestionDecision]) -> Reviewed:
    """Take out what somebody dropped; what nobody decided upon stays."""
    by_key: dict[str, list[QuestionDecision]] = {}
    for decision in decisions:
        by_key.setdefault(decision.key, []).append(decision)
    kept, dropped, undecided = [], [], 0
    for question in questions:
        own = by_key.pop(key_of(question), [])
        against = [decision for decision in own if decision.decision == DROP]
        if against:
            reasons = (" ".join(f"{d.reviewer or 'a reviewer'}: {d.note or 'dropped'}".split()) for d in against)
            dropped.append(RejectedQuestion(question, "review", tuple(reasons)))
        else:
            kept.append(question)
            undecided += not own
    return Reviewed(tuple(kept), tuple(dropped), undecided, sum(map(len, by_key.values())))


@dataclass(frozen=True, slots=True)
class Built:
    """What a build has made so far.

    Attributes:
        questions: What passed everything, as published.
        rejected: What did not.
        statuses: What became of the units: status to how many; "to do" for those that are not done.
        undecided: Questions that nobody reviewed, where decisions were given; None where none were.
        strange: Decisions about something else.
    """

    questions: tuple[Question, ...]
    rejected: tuple[RejectedQuestion, ...]
    statuses: dict[str, int]
    undecided: int | None = None
    strange: int = 0

    @property
    def reasons(self) -> dict[str, int]:
        """How many questions each stage and rule rejected; one may be rejected for several."""
        counts: Counter[str] = Counter()
        for rejection in self.rejected:
            named = {reason.partition(":")[0] for reason in rejection.reasons} if rejection.stage == "checks" else {""}
            counts.update(f"{rejection.stage}: {name}" if name else rejection.stage for name in named)
        return dict(counts.most_common())

    def summary(self) -> dict[str, Any]:
        """Figures of it, ready for JSON."""
        guessed = {name: {k: round(v, 4) for k, v in asdict(g).items()} for name, g in guesses(self.questions).items()}
        return {
            "units": self.statuses,
            "questions": len(self.questions),
            "rejected": len(self.rejected),
            "rejected_by": self.reasons,
            "letters": letters_of(self.questions),
            "guessers": guessed,
            "views": self._views(),
        }

    def _views(self) -> dict[str, dict[str, dict[str, int]]]:
        """By filter and model, how many answers were right, wrong, not understood, or none: whether it filters."""
        found: dict[str, dict[str, Counter[str]]] = {}
        for question in (*self.questions, *(rejection.question for rejection in self.rejected)):
            for stage, views in question.reference.get("views", {}).items():
                for view in views:
                    found.setdefault(stage, {}).setdefault(view["model"], Counter())[_kind(view)] += 1
        return {stage: {model: dict(counts) for model, counts in models.items()} for stage, models in found.items()}


def _kind(view: Mapping[str, Any]) -> str:
    if view.get("error"):
        return "no answer"
    if view.get("right"):
        return "right"
    return "wrong" if "chosen" in view else "not understood"


def remaining(recipe: QuestionRecipe, folder: BuildFolder) -> list[str]:
    """Units that are not done."""
    return [unit for unit in recipe.places if unit not in folder.outcomes]


def run(recipe: QuestionRecipe, folder: BuildFolder, threads: int = THREADS) -> Iterator[UnitOutcome]:
    """Work on what is not done; each outcome is on the disk when it is yielded.

    Args:
        recipe: What is done.
        folder: Where it is kept.
        threads: Units at once, where an endpoint is asked.

    Raises:
        NoAnswerError: So many units in a row got no reply that a model counts as gone.
        VMMetricsError: What stops everything; what was on its way is yielded before.
    """
    silent = 0
    with closing(_worked(recipe, remaining(recipe, folder), threads)) as outcomes:
        for outcome in outcomes:
            folder.add(outcome)
            yield outcome
            silent = silent + 1 if outcome.status == UNREACHABLE else 0
            if silent >= GIVE_UP:
                raise NoAnswerError(f"No reply for {silent} in a row, the last: {outcome.why}")


def _worked(recipe: QuestionRecipe, units: Sequence[str], threads: int) -> Generator[UnitOutcome]:
    client = recipe.pool
    if client is None:
        for unit in units:
            yield recipe.work(unit)
        return
    with closing(client.work_through(recipe.work, units, threads)) as done:
        for _, outcome in done:
            yield outcome


def finish(
    recipe: QuestionRecipe, folder: BuildFolder, seed: int, decisions: Sequence[QuestionDecision] | None = None
) -> Built:
    """Make the files: repeats and what people dropped taken out, letters balanced over what is left.

    Args:
        recipe: Whose questions.
        folder: With the outcomes.
        seed: Of the letters.
        decisions: Of people; None where nobody was asked.
    """
    outcomes = [folder.outcomes[unit] for unit in recipe.places if unit in folder.outcomes]
    accepted = [question for outcome in outcomes for question in outcome.accepted]
    passed, repeated = first_of_each(accepted) if recipe.makes else (accepted, [])
    parted = reviewed(passed, decisions or ())
    questions = balanced(parted.kept, seed) if recipe.makes else list(parted.kept)
    rejected = [*(rejection for outcome in outcomes for rejection in outcome.rejected), *repeated, *parted.dropped]
    statuses = Counter(outcome.status for outcome in outcomes)
    todo = len(recipe.places) - len(outcomes)
    built = Built(tuple(questions), tuple(rejected), dict(statuses) | ({"to do": todo} if todo else {}))
    if decisions is not None:
        built = replace(built, undecided=parted.undecided, strange=parted.strange)
    folder.replace_lines(QUESTIONS, [line_of(question, folder.path) for question in questions])
    folder.replace_lines(REJECTED, [rejection.to_json() for rejection in rejected])
    dropped = [rejection.question for rejection in parted.dropped]
    folder.replace_lines(REVIEW, review_lines([*questions, *dropped], folder.path / REVIEW))
    folder.replace_json(SUMMARY, built.summary())
    return built
