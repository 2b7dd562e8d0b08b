"""A build from its first unit to its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.custom import line_of
from vmmetrics.understanding.construction.folder import QUESTIONS, REJECTED, REVIEW, SUMMARY, BuildFolder
from vmmetrics.understanding.construction.option_statistics import guesses
from vmmetrics.understanding.construction.outcomes import UNREACHABLE, Outcome, Rejection, first_of_each
from vmmetrics.understanding.construction.recipe import Recipe
from vmmetrics.understanding.construction.reviewing import Decision, review_lines, reviewed
from vmmetrics.understanding.construction.shuffling import balanced
from vmmetrics.understanding.construction.viewing import letters_of
from vmmetrics.utils.endpoint import GIVE_UP, THREADS, NoAnswerError


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
    rejected: tuple[Rejection, ...]
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


def remaining(recipe: Recipe, folder: BuildFolder) -> list[str]:
    """Units that are not done."""
    return [unit for unit in recipe.places if unit not in folder.outcomes]


def run(recipe: Recipe, folder: BuildFolder, threads: int = THREADS) -> Iterator[Outcome]:
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


def _worked(recipe: Recipe, units: Sequence[str], threads: int) -> Generator[Outcome]:
    client = recipe.pool
    if client is None:
        for unit in units:
            yield recipe.work(unit)
        return
    with closing(client.work_through(recipe.work, units, threads)) as done:
        for _, outcome in done:
            yield outcome


def finish(recipe: Recipe, folder: BuildFolder, seed: int, decisions: Sequence[Decision] | None = None) -> Built:
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
