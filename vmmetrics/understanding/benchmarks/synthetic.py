"""The synthetic suite: exact answers, and the frame rate each needs known by construction.

``vmmetrics understand synthetic`` renders it; see :mod:`vmmetrics.understanding.synthetic`. Both protocols are one:
there is no released scorer.
"""

# ruff: noqa: ARG002 - of an interface

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Answered, Question
from vmmetrics.understanding.benchmarks import data_file
from vmmetrics.understanding.harness.benchmark import Figure, QuestionFile, Scored, Scoring
from vmmetrics.understanding.harness.choices import MultipleChoice, score_choice
from vmmetrics.understanding.harness.statistics import chance_of, figure
from vmmetrics.understanding.synthetic.suite import BUCKETS, FORMAT, QUESTIONS, TASKS

_DATA: Final = data_file("synthetic")
_SLACK: Final = 0.98
"""Factor of minFPS that allows for mean rates slightly off the requested one."""


class Synthetic(MultipleChoice):
    """The benchmark; see :class:`vmmetrics.understanding.harness.choices.MultipleChoice`."""

    name = "synthetic"
    title = "the suite"
    data = _DATA
    form = "{instruction}\n\n{text}\n{options}\n{asked}"
    groupings = ("task", "minFPS", "look")
    order = (*TASKS, *(name for *_, name in BUCKETS))

    def find(self, data: Path) -> Path:
        """Return the named question file, or the one that ``vmmetrics understand synthetic`` wrote in the folder.

        Raises:
            SetupError: None exists.
        """
        path = data / QUESTIONS if data.is_dir() else data
        if not path.is_file():
            raise SetupError(f"{path} is not there: 'vmmetrics understand synthetic --out {data}' renders the suite")
        return path

    def questions(self, source: QuestionFile) -> Iterable[Question]:
        """Read the suite's questions.

        Raises:
            SetupError: One is of something else, or of another version.
        """
        return [_question(row, source.folders[0], source.path) for row in source.rows]

    def score_one(self, question: Question, answered: Answered | None, protocol: Scoring) -> Scored:
        """Score an answer; one that is missing or not recognised is wrong."""
        detail: dict[str, Any] = {"min_fps": question.reference["min_fps"]}
        if question.reference["format"] > 1:  # of scores of the first version no older file says so
            detail["method"] = f"version {question.reference['format']} of the suite"
        if answered is not None and answered.shown is not None:
            fps = answered.shown.fps
            detail["shown"] = _DATA["enough" if fps is not None and fps >= _SLACK * detail["min_fps"] else "short"]
        return replace(score_choice(question, answered), detail=detail)

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Return accuracy over all, by task, by minFPS, and by whether enough frames were shown."""
        rows = super().figures(questions, scored, protocol)
        for name in (_DATA["enough"], _DATA["short"]):
            pairs = [(q, s) for q, s in zip(questions, scored, strict=True) if s.detail.get("shown") == name]
            if pairs:
                asked, got = [q for q, _ in pairs], [s for _, s in pairs]
                rows.append(figure(asked, got, group="shown", name=name, chance=chance_of(asked)))
        return rows


def _question(row: Any, folder: Path, source: Path) -> Question:
    try:
        if row["format"] not in range(1, FORMAT + 1):
            raise SetupError(
                f"{source}: written by a later version of vmmetrics; update vmmetrics, or render the suite again"
            )
        path = folder / row["video"]
        groups = {"task": (row["task"],), "minFPS": (row["bucket"],)}
        if row["format"] > 1:
            groups["look"] = (row["look"],)
        return Question(
            str(row["id"]), str(row["id"]), row["question"], tuple(row["options"]), int(row["answer"]),
            groups, path if path.is_file() else None,
            reference={name: row[name] for name in ("format", "min_fps", "fps", "frames", "reading")},
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise SetupError(
            f"{source}: a line is not a question of the suite ({error!r}); render the suite again"
        ) from error


BENCHMARK: Final = Synthetic()
