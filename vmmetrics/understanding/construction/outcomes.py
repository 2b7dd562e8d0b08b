"""What became of a video or a question that a recipe worked on, and the lines it is kept as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.custom import line_of, read_question
from vmmetrics.utils.storage.journal import Line

WRITTEN, LEFT_OUT, REFUSED, UNUSABLE = "written", "left out", "refused", "unusable"
"""Final: questions were made (perhaps none passed); the recipe's rules leave it out; the model gave nothing of use."""
UNREACHABLE, NO_VIDEO = "unreachable", "no video"
"""Not kept, and tried again by the same command: the model could not be reached; the video cannot be read."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A question that did not pass.

    Attributes:
        question: It, the right option marked.
        stage: What rejected it: "checks", "first frame", "blind", ...
        reasons: Why, in words.
    """

    question: Question
    stage: str
    reasons: tuple[str, ...]

    def to_json(self) -> Line:
        """The line: the question's, and why it was rejected."""
        return line_of(self.question) | {"rejected": {"stage": self.stage, "reasons": list(self.reasons)}}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one unit of work: a video, or for gates a question.

    Attributes:
        unit: Its key.
        status: One of the words above.
        why: Of any status but "written"; of that, what could not be had.
        accepted: Questions that passed.
        rejected: Questions that did not.
    """

    unit: str
    status: str = WRITTEN
    why: str = ""
    accepted: tuple[Question, ...] = ()
    rejected: tuple[Rejection, ...] = ()

    @property
    def final(self) -> bool:
        """Whether it is kept; otherwise it is tried again."""
        return self.status not in (UNREACHABLE, NO_VIDEO)

    def to_json(self) -> Line:
        """The line of the journal."""
        line: Line = {"unit": self.unit, "status": self.status} | ({"why": self.why} if self.why else {})
        line["accepted"] = [line_of(question) for question in self.accepted]
        return line | {"rejected": [rejection.to_json() for rejection in self.rejected]}


def read_outcome(line: Mapping[str, Any], where: Mapping[str, Question]) -> Outcome:
    """Read a line of the journal.

    Args:
        line: It.
        where: By unit, something that knows the video's file and times now, whatever they were when the line was
            written.

    Raises:
        ValueError: It is no outcome.
    """
    try:
        unit = str(line["unit"])
        accepted = tuple(_found(row, where.get(unit)) for row in line["accepted"])
        rejected = tuple(
            Rejection(_found(row, where.get(unit)), row["rejected"]["stage"], tuple(row["rejected"]["reasons"]))
            for row in line["rejected"]
        )
        return Outcome(unit, str(line["status"]), str(line.get("why", "")), accepted, rejected)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no outcome: {error}") from error


def _found(row: Any, known: Question | None) -> Question:
    question = read_question(row, [], Counter())
    if question is None:
        raise ValueError("no question")
    return question if known is None else replace(question, path=known.path, start=known.start, end=known.end)


def noted(question: Question, name: str, value: Any) -> Question:
    """The question with a note in its reference: how it came about, what a filter found."""
    return replace(question, reference={**question.reference, name: value})


def first_of_each(questions: Sequence[Question]) -> tuple[list[Question], list[Rejection]]:
    """Those that are not the same question about the same video as one before, and those that are."""
    seen: dict[tuple[str, str, str], str] = {}
    kept, repeated = [], []
    for question in questions:
        right = question.options[question.answer or 0]
        key = (question.video, _same(question.text), _same(right))
        first = seen.setdefault(key, question.id)
        if first == question.id:
            kept.append(question)
        else:
            repeated.append(Rejection(question, "repeat", (f"the same question and answer as {first}",)))
    return kept, repeated


def _same(text: str) -> str:
    return " ".join(text.lower().split())
