"""What a benchmark is to the harness; each is one module of :mod:`vmmetrics.understanding.benchmarks`.

A module has a ``<name>.toml`` beside it with everything that is data: title, paper, licence, categories with their
published counts, the prompt, the default frame policy, published reference rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from vmmetrics.models.questions import Answered, Loaded, Question
from vmmetrics.utils.endpoint import Turn

Scoring = Literal["vmmetrics", "upstream"]
"""Ours, the released code's traps mended one by one; or the released code's, decision for decision."""


@dataclass(frozen=True, slots=True)
class Scored:
    """What one question got.

    Attributes:
        question: Its key.
        value: 1 or 0 for a right or wrong option, or a score in 0..1; None where it is not scored (hidden key).
        chosen: Index of the option that was understood, or None.
        answered: Whether an answer was understood.
        parts: Other scores of it by name, each in 0..1 unless the benchmark says otherwise.
        detail: What people want to see of how it came about (matched events, order, ...), ready for JSON.
    """

    question: str
    value: float | None
    chosen: int | None = None
    answered: bool = True
    parts: Mapping[str, float] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a benchmark.

    Attributes:
        group: Grouping ("task"), or "all".
        name: Value in it ("MR"), or "all".
        measure: "accuracy", "answered_accuracy", "f1", ...
        value: The number; None where it cannot be had, and then ``note`` says why.
        low: Lower end of the 95 % interval, clustered by video; None where there is none.
        high: Upper end.
        n: Questions it is of.
        clusters: Videos they are about.
        answered: Share of them with an answer that was understood, 0..1.
        chance: What guessing gives; None where that means nothing.
        note: What must be known to read it.
        error: Standard error, clustered by video, computed without resampling: a check on the interval.
    """

    group: str
    name: str
    measure: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    clusters: int = 0
    answered: float | None = None
    chance: float | None = None
    note: str = ""
    error: float | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A published row, shown beside ours.

    Attributes:
        model: Of which model.
        source: Where it was published.
        figures: (measure, group, name) to value, named and scaled as our figures are.
    """

    model: str
    source: str
    figures: Mapping[tuple[str, str, str], float]


class Benchmark(Protocol):
    """Reads, asks and scores one benchmark.

    A benchmark may also have ``references``, a sequence of :class:`Reference`, and ``policy``, the frame policy it is
    asked under if no other is wanted (``"8 uniform"``); or both in its data file, see :mod:`.benchmarks`. Where that
    depends on the question it has ``policy_for``, from a question to its policy, or to None where the common one holds.
    It may read recorded answers in its own released form, ``read_answers(path, protocol)``, and write what its
    leaderboard takes, ``submission(questions, answers, protocol)``, as text. One that a model judges has
    ``judge_estimate(questions, answers, judge)``, what that would take, for an endpoint's client.
    """

    name: str
    """As commands take it ("motionbench", "favor-mcq", "favor-caption", "tuna-mcq", "tuna-cap", "fpsbench", ...)."""
    needs_judge: bool
    """Whether scoring asks a language model (and :meth:`score` needs ``judge``)."""

    def load(self, data: Path, videos: Path | None = None) -> Loaded:
        """Read the released files below ``data`` (a folder or the file itself).

        Raises:
            SetupError: Nothing of this benchmark is there; the text says what was looked for.
        """
        ...

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:
        """What is said to the model, without the frames: these are put before the last turn."""
        ...

    def score(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring, judge: Any = None
    ) -> list[Scored]:
        """One entry per question, in their order. Pure, but for the judge of those that need one."""
        ...

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """The benchmark's table, in the order in which it is printed."""
        ...
