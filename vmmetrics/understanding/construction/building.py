"""Build of a question set, from its units of work to its files."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.models.protocol import OneByOne
from vmmetrics.models.questions import LETTERS, Question
from vmmetrics.understanding.benchmarks.custom import line_of, read_question
from vmmetrics.understanding.construction.options import balanced, guesses
from vmmetrics.understanding.construction.recipe import UNREACHABLE, QuestionRecipe, UnitOutcome, rejected_line
from vmmetrics.utils.endpoint.client import GIVE_UP
from vmmetrics.utils.endpoint.messages import NoAnswerError
from vmmetrics.utils.schema import plain
from vmmetrics.utils.storage.atomic import write_atomically, write_json
from vmmetrics.utils.storage.job_folder import ExclusiveFolder
from vmmetrics.utils.storage.journal import Journal, Line, encode
from vmmetrics.utils.tables import read_rows

# A folder of made questions: one journal that only grows, and files made from it that are replaced whole.
#
# ``units.jsonl`` has a line for every video (or, for gates, question) that is done, with what passed and what did not;
# ``build.json`` says with what. ``questions.jsonl``, ``rejected.jsonl``, ``review.jsonl`` and ``summary.json`` are made
# from it whenever a build ends.

_UNITS, _REVIEW = "units.jsonl", "review.jsonl"


class BuildFolder(ExclusiveFolder):
    """The folder of a build, new or to resume.

    Args:
        path: Made if absent.
        recipe: The recipe.

    Attributes:
        outcomes: Outcomes by unit.

    Raises:
        SetupError: See :class:`~vmmetrics.utils.storage.job_folder.ExclusiveFolder`.
    """

    HOLDS, RECORD, LOCK = "questions", "build.json", "build.lock"

    def __init__(self, path: Path, recipe: QuestionRecipe) -> None:
        self._recipe = recipe
        super().__init__(path, recipe.configuration)

    def _read(self) -> None:
        self._journal = Journal(self.path / _UNITS)
        units = self._recipe.units
        read = {outcome.unit: outcome for outcome in self._lines_as(self._journal, UnitOutcome)}  # the last counts
        self.outcomes = {
            key: one for key, one in read.items() if key in units and one.input == self._recipe.digest(key)
        }

    @property
    def remaining(self) -> list[str]:
        """Return the units that are not done."""
        return [unit for unit in self._recipe.units if unit not in self.outcomes]

    def run(self, threads: int) -> Iterator[UnitOutcome]:
        """Run the remaining units; outcomes to be retried are not stored.

        Args:
            threads: Units at once, where an endpoint is asked.

        Yields:
            Each outcome, once it is on the disk.

        Raises:
            NoAnswerError: So many units in a row got no reply that a model counts as gone.
            VMMetricsError: Any error that stops the build; outcomes in flight are yielded first.
        """
        work, pool = self._recipe.work, self._recipe.pool
        todo = self.remaining
        silent = 0
        with closing(
            OneByOne().work_through(work, todo) if pool is None else pool.work_through(work, todo, threads)
        ) as done:
            for unit, outcome in done:
                if outcome.final:
                    self._journal.append([{name: value for name, value in plain(outcome).items() if value != ""}])
                    self.outcomes[unit] = outcome
                yield outcome
                silent = silent + 1 if outcome.status == UNREACHABLE else 0
                if silent >= GIVE_UP:
                    raise NoAnswerError(f"No reply to {silent} units in a row, the last: {outcome.why}")

    def finish(self, seed: int, decisions: Mapping[str, list[str]] | None) -> tuple[Line, tuple[int, int] | None]:
        """Write the files: without repeats and questions that people dropped, with balanced letters.

        Args:
            seed: Of the letters.
            decisions: From :func:`read_decisions`; None without a review.

        Returns:
            The content of ``summary.json``, among it ``units``, what became of them: status to how many, "to do" for
            those that are not done; and ``rejected_by``, how many questions each stage and rule rejected, of which one
            may be rejected for several. And how many questions nobody decided upon, and how many decisions are about
            something else (edited since, or of another build); None without a review.
        """
        makes, units = self._recipe.makes, self._recipe.units
        outcomes = [self.outcomes[unit] for unit in units if unit in self.outcomes]
        rejected = [dict(line) for outcome in outcomes for line in outcome.rejected]
        accepted = [
            replace(question, path=unit.path, start=unit.start, end=unit.end)  # as they are now
            for outcome in outcomes
            for line in outcome.accepted
            if (unit := units[outcome.unit]) and (question := read_question(line, [], Counter()))
        ]
        judged = dict(decisions or {})
        first: dict[tuple[str, ...], str] = {}
        decided, survivors, undecided = [], [], 0
        for question in accepted:
            content = (question.text, question.options[question.answer or 0]) if makes else (question.id,)
            key = first.setdefault((question.video, *(" ".join(text.lower().split()) for text in content)), question.id)
            if key != question.id:
                rejected.append(rejected_line(question, "repeat", [f"the same question and answer as {key}"]))
                continue
            own = judged.pop(key_of(question), [])
            if any(own):
                rejected.append(rejected_line(question, "review", filter(None, own)))
                decided.append(question)
            else:  # what nobody decided upon stays
                survivors.append(question)
                undecided += not own
        questions = balanced(survivors, seed) if makes else survivors
        statuses = dict(Counter(outcome.status for outcome in outcomes))
        todo = len(units) - len(outcomes)
        summary = _summary(questions, rejected, statuses | ({"to do": todo} if todo else {}))
        for name, lines in (
            ("questions.jsonl", [line_of(question, self.path) for question in questions]),
            ("rejected.jsonl", rejected),
            (_REVIEW, review_lines([*questions, *decided], self.path / _REVIEW)),
        ):
            write_atomically(self.path / name, b"".join(map(encode, lines)))
        write_json(self.path / "summary.json", summary)
        return summary, None if decisions is None else (undecided, sum(map(len, judged.values())))


def _summary(questions: Sequence[Question], rejected: Sequence[Mapping[str, Any]], units: dict[str, int]) -> Line:
    reasons: Counter[str] = Counter()
    for stage, texts in ((line["rejected"]["stage"], line["rejected"]["reasons"]) for line in rejected):
        rules = {f"{stage}: {text.partition(':')[0]}" for text in texts}
        reasons.update(rules if stage == "checks" else [stage])
    views: dict[str, dict[str, Counter[str]]] = {}  # of each filter and model: whether it filters
    for reference in (*(q.reference for q in questions), *(line.get("reference", {}) for line in rejected)):
        for stage, answers in reference.get("views", {}).items():
            for view in answers:
                views.setdefault(stage, {}).setdefault(view["model"], Counter())[_kind(view)] += 1
    letters = Counter(question.letter for question in questions)
    return {
        "units": units,
        "questions": len(questions),
        "rejected": len(rejected),
        "rejected_by": dict(reasons.most_common()),
        "letters": {of: letters[of] for of in LETTERS[: max((len(q.options) for q in questions), default=0)]},
        "guessers": {
            name: {k: round(v, 4) for k, v in asdict(guess).items()} for name, guess in guesses(questions).items()
        },
        "views": views,
    }


def _kind(view: Mapping[str, Any]) -> str:
    if view.get("error"):
        return "no answer"
    if view.get("right"):
        return "right"
    return "wrong" if "chosen" in view else "not understood"


# The file for people: a line a question, in which they write ``keep`` or ``drop``, and what comes of it.

KEEP, DROP = "keep", "drop"
_FILLED = ("decision", "note", "reviewer")


def key_of(question: Question) -> str:
    """Return the key of a review decision: a hash of id, video, text, right option and the set of options."""
    right = None if question.answer is None else question.options[question.answer]
    text = json.dumps([question.id, question.video, question.text, sorted(question.options), right], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def review_lines(questions: Iterable[Question], path: Path) -> list[Line]:
    """Return lines for people to complete: ``decision``, ``note`` and ``reviewer`` empty, or as in an existing file.

    Also what they wrote about questions that are not among these, at the end: the next build may have them again.

    Args:
        questions: All that can be decided upon, as published.
        path: The file.

    Raises:
        SetupError: The file that is there cannot be read.
    """
    filled = {
        str(row["key"]): row
        for row in (read_rows(path) if path.exists() else [])
        if isinstance(row, Mapping) and row.get("key") and any(row.get(name) for name in _FILLED)
    }
    lines = []
    for question in questions:
        key = key_of(question)
        written = filled.pop(key, {})
        shown = {name: value for name, value in line_of(question, path.parent).items() if name != "reference"}
        right = "" if question.answer is None else question.options[question.answer]
        lines.append({"key": key, **{name: written.get(name, "") for name in _FILLED}, **shown, "right": right})
    return [*lines, *map(dict, filled.values())]


def read_decisions(paths: Iterable[Path]) -> dict[str, list[str]]:
    """Read the decisions in some review files; undecided lines are left out.

    Returns:
        By what was judged (:func:`key_of`), for each decision upon it why it drops; empty where it keeps.

    Raises:
        SetupError: A file cannot be read, or a line decides something else than to keep or to drop.
    """
    decisions: dict[str, list[str]] = {}
    for path in paths:
        for number, row in enumerate(read_rows(path), start=1):
            if not isinstance(row, Mapping) or not row.get("key"):
                raise SetupError(f"{path}: entry {number} is not a line of a review file: it has no key")
            decision, note, reviewer = (str(row.get(name) or "").strip() for name in _FILLED)
            if decision and decision.lower() not in (KEEP, DROP):
                raise SetupError(f"{path}: entry {number}: expected {KEEP} or {DROP} but got {decision.lower()!r}")
            why = " ".join(f"{reviewer or 'a reviewer'}: {note or 'dropped'}".split())
            if decision:
                decisions.setdefault(str(row["key"]), []).append(why if decision.lower() == DROP else "")
    return decisions
