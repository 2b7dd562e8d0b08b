"""Our own suite: exact answers, and the frame rate that each takes known by construction.

``vmmetrics understand synthetic`` renders it; see :mod:`vmmetrics.understanding.synthetic`. Both protocols are one:
there is no released scorer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Answered, Loaded, Question, Shown
from vmmetrics.understanding.benchmarks.registry import data_of
from vmmetrics.understanding.harness.benchmark import Figure, Scored, Scoring
from vmmetrics.understanding.harness.letters import score_choice
from vmmetrics.understanding.harness.statistics import accuracy_figures, chance_of, figure
from vmmetrics.understanding.synthetic.files import FORMAT, QUESTIONS
from vmmetrics.understanding.synthetic.suite import BUCKETS, TASKS
from vmmetrics.utils.endpoint import Turn
from vmmetrics.utils.rows import read_rows, sha256_of

_DATA: Final = data_of("synthetic")
_SLACK: Final = 0.98
"""Of minFPS: the mean rate of frames that sit on a file's own is a little off the rate asked for."""


class Synthetic:
    """The benchmark; see :class:`vmmetrics.understanding.harness.benchmark.Benchmark`."""

    name = "synthetic"
    needs_judge = False

    def load(self, data: Path, videos: Path | None = None) -> Loaded:
        """Read a folder that ``vmmetrics understand synthetic`` wrote, or its file of questions.

        Raises:
            SetupError: There is none, or another version wrote it.
        """
        path = data / QUESTIONS if data.is_dir() else data
        if not path.is_file():
            raise SetupError(f"{path} is not there: 'vmmetrics understand synthetic --out {data}' renders the suite")
        problems: Counter[str] = Counter()
        questions = tuple(_question(row, videos or path.parent, path) for row in read_rows(path))
        problems["questions whose video is missing"] = sum(question.path is None for question in questions)
        return Loaded(questions, dict(+problems), {str(path): sha256_of(path)})

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:  # noqa: ARG002 - asked alike
        """What is said: the question, its options by letter, and how to answer."""
        parts = (_DATA["instruction"].strip(), "", question.text, *question.lettered, _DATA["asked"])
        return (Turn("user", "\n".join(parts)),)

    def score(
        self,
        questions: Sequence[Question],
        answers: Mapping[str, Answered],
        protocol: Scoring,  # noqa: ARG002
        judge: Any = None,  # noqa: ARG002 - of those that need one
    ) -> list[Scored]:
        """Judge each answer; one that is missing or not understood is wrong."""
        return [_score(question, answers.get(question.id)) for question in questions]

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:  # noqa: ARG002
        """Accuracy over all, by task, by minFPS; and by whether the frames shown were as many as the answer takes."""
        order = [*TASKS, *(name for *_, name in BUCKETS)]
        found = accuracy_figures(questions, scored, ("task", "minFPS"), order)
        for name in (_DATA["enough"], _DATA["short"]):
            pairs = [(q, s) for q, s in zip(questions, scored, strict=True) if s.detail.get("shown") == name]
            if pairs:
                asked, got = [q for q, _ in pairs], [s for _, s in pairs]
                found.append(figure(asked, got, group="shown", name=name, chance=chance_of(asked)))
        return found


def _question(row: Any, folder: Path, source: Path) -> Question:
    try:
        if row["format"] != FORMAT:
            raise SetupError(f"{source}: another version of vmmetrics wrote it; render the suite again")
        path = folder / row["video"]
        return Question(
            str(row["id"]), str(row["id"]), row["question"], tuple(row["options"]), int(row["answer"]),
            {"task": (row["task"],), "minFPS": (row["bucket"],)}, path if path.is_file() else None,
            reference={name: row[name] for name in ("min_fps", "fps", "frames", "reading")},
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise SetupError(f"{source}: a line is no question of the suite ({error!r}); render the suite again") from error


def _score(question: Question, answered: Answered | None) -> Scored:
    detail: dict[str, Any] = {"min_fps": question.reference["min_fps"]}
    if answered is not None and answered.shown is not None:
        detail["shown"] = _DATA["enough"] if _enough(answered.shown, detail["min_fps"]) else _DATA["short"]
    return replace(score_choice(question, answered), detail=detail)


def _enough(shown: Shown, min_fps: float) -> bool:
    return shown.fps is not None and shown.fps >= _SLACK * min_fps


BENCHMARK: Final = Synthetic()
