"""The interface of a benchmark."""

# ruff: noqa: ARG002 - an interface

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from vmmetrics.models.questions import Answered, LoadedBenchmark, Question
from vmmetrics.utils.endpoint.client import Client
from vmmetrics.utils.endpoint.messages import CostEstimate, Turn
from vmmetrics.utils.tables import find_file, nothing_found, read_rows, sha256_of

Scoring = Literal["vmmetrics", "upstream"]
"""Scoring protocol: ours, with the released code's faults fixed; or the released code's, decision for decision (except
the first step of FAVOR-Bench's descriptions, which is always ours)."""
HIDDEN: Final = "NA"
"""Right answer in a released file where the key is hidden; others leave it out."""
POLICY: Final = "adaptive"
"""Default frame policy: 2 frames per second under 16 s, else 1, as TUNA and FAVOR show to closed models."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Score of one question.

    Attributes:
        question: Its key.
        value: 1 or 0 for a right or wrong option, or a score in 0..1; None where it is not scored (hidden key).
        chosen: Index of the option that was understood, or None.
        answered: True if an answer was recognised.
        parts: Other scores of it by name, each in 0..1 unless the benchmark says otherwise.
        detail: Details of the score (matched events, order, ...), as JSON values.
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
        value: The number; None where it cannot be computed, and then ``note`` says why.
        low: Lower end of the 95 % interval, clustered by video; None where there is none.
        high: Upper end.
        n: Questions it is of.
        clusters: Videos they are about.
        answered: Share of them with an answer that was understood, 0..1.
        chance: Expected value of guessing; None if not applicable.
        note: Caveat.
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


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """Source of a benchmark's questions.

    Attributes:
        rows: Of the file.
        path: The file.
        folders: Where videos are looked for.
        problems: Problems as text, with counts.
        data: Folder of the data.
    """

    rows: Sequence[Any]
    path: Path
    folders: Sequence[Path]
    problems: Counter[str]
    data: Path


class Benchmark(ABC):
    """Base of benchmarks: loads questions, builds conversations, scores answers; optional abilities do nothing here.

    Attributes:
        name: As commands take it ("motionbench", "favor-mcq", ...).
        title: Name in messages.
        noun: Noun for the content of its file.
        data: Content of its data file; for the keys see :mod:`.benchmarks`.
        needs_judge: True if scoring needs a language model (``judge`` of :meth:`score`).
        cluster: What :attr:`Question.video` is, which intervals resample.
        unanswered: How a question without an answer counts, for the counts of a run.
        source: The plugin that registered it, with its hash; empty for ours.
    """

    name: str
    title: str = ""
    noun: str = "questions"
    data: Mapping[str, Any] = MappingProxyType({})
    needs_judge: bool = False
    cluster: str = "video"
    unanswered: str = "counted as wrong"
    source: Mapping[str, str] = MappingProxyType({})

    def questions(self, source: QuestionFile) -> Iterable[Question]:
        """Read the questions; what the file calls the right answer is ``answer`` of their reference.

        Problems are counted in ``source.problems``, but for repeated keys, missing videos and right answers that are
        hidden or match no option.
        """
        raise NotImplementedError

    def video_folders(self, beside: Path) -> list[Path]:
        """Return the default folders of videos; ``beside`` is the folder of the data."""
        return [beside]

    def find(self, data: Path) -> Path:
        """Return the file with the questions.

        Raises:
            SetupError: None exists.
        """
        return find_file(data, self.data["files"], f"{self.noun} of {self.title or self.name}")

    def load(self, data: Path, videos: Path | None = None) -> LoadedBenchmark:
        """Load the released file, or a table with its fields.

        Raises:
            SetupError: The file is missing, unreadable, or without questions.
        """
        path = self.find(data)
        problems: Counter[str] = Counter()
        folder = data if data.is_dir() else data.parent
        folders = [videos] if videos else self.video_folders(folder)
        by_key: dict[str, Question] = {}
        for question in self.questions(QuestionFile(read_rows(path, problems), path, folders, problems, folder)):
            problems["questions with a repeated key, left out"] += question.id in by_key
            by_key.setdefault(question.id, question)
        if not by_key:
            raise nothing_found(path, f"question of {self.title or self.name}", problems)
        usual = self.data.get("options")
        for question in by_key.values():
            problems["questions whose video is missing"] += question.path is None
            if question.options and question.answer is None:
                hidden = str(question.reference.get("answer") or HIDDEN).strip() in ("", HIDDEN)
                problems["hidden answers" if hidden else "right answers that match no option"] += 1
            problems[f"questions with other than {usual} options"] += usual not in (None, len(question.options))
        return LoadedBenchmark(tuple(by_key.values()), dict(+problems), {str(path): sha256_of(path)})

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:
        """Return the conversation without frames, which precede the last turn."""
        return (Turn("user", question.text),)

    @abstractmethod
    def score(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring, judge: Any = None
    ) -> list[Scored]:
        """Score the answers, one entry per question in order; pure, except for a judge."""

    @abstractmethod
    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Return the benchmark's table, in the order in which it is printed."""

    @property
    def policy(self) -> str:
        """Default frame policy of the benchmark."""
        return str(self.data.get("policy", POLICY))

    @property
    def references(self) -> Sequence[Reference]:
        """Return the published rows."""
        references = []
        for row in self.data.get("references", ()):
            figures: dict[tuple[str, str, str], float] = {}
            for scale, part in ((1, "figures"), (100, "percent")):
                for measure, groups in row.get(part, {}).items():
                    for group, values in groups.items():
                        figures |= {(measure, group, name): value / scale for name, value in values.items()}
            references.append(Reference(row["model"], row["source"], figures))
        return references

    def policy_for(self, question: Question) -> str | None:
        """Return the frame policy of a single question; None for the common one."""
        return None

    def read_answers(self, path: Path, protocol: Scoring = "vmmetrics") -> Mapping[str, Answered] | None:
        """Read recorded answers in the benchmark's own released form; None if it has none.

        Raises:
            SetupError: The file cannot be read.
        """
        return None

    def submission(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring = "vmmetrics"
    ) -> str | None:
        """Return the file for the benchmark's leaderboard; None if there is no leaderboard."""
        return None

    def judge_estimate(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], judge: Client
    ) -> CostEstimate | None:
        """Estimate the cost of judging; None if no model judges."""
        return None
