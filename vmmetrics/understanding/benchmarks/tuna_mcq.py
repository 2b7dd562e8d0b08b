"""TUNA-MCQ: ten tasks and four skills in videos of four visual characteristics, four options a question.

``protocol="upstream"``: the first capital A to D anywhere in an answer, whatever word it begins; an answer without one,
and a missing one, is wrong; three decimals. Ours: an answer is read for the option that it means, and answered
questions are counted beside all. Kong et al., "TUNA", ACL 2025.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

from vmmetrics.models.questions import LETTERS, Answered, Found, Loaded, Question, said_of
from vmmetrics.understanding.benchmarks.tuna.letters import upstream_letter
from vmmetrics.understanding.benchmarks.tuna.reading import (
    DATA,
    SEPARATOR,
    characteristics_of,
    known_name,
    number_of,
    options_of,
    read_answers,
    text_of,
    video_of,
    videos_in,
)
from vmmetrics.understanding.harness.benchmark import Figure, Reference, Scored, Scoring
from vmmetrics.understanding.harness.letters import score_choice
from vmmetrics.understanding.harness.statistics import accuracy_figures
from vmmetrics.utils.endpoint import Turn
from vmmetrics.utils.rows import find_file, nothing_found, read_rows, sha256_of

_MCQ: Final = DATA["mcq"]
_TASKS: Final[Mapping[str, str]] = {task: about["skill"] for task, about in _MCQ["tasks"].items()}
_SKILLS: Final = tuple(dict.fromkeys(_TASKS.values()))
_CHARACTERISTICS: Final[Sequence[str]] = DATA["characteristics"]
_GROUPINGS: Final = ("skill", "task", "characteristic", "characteristic and skill", "characteristic and task")
_ORDER: Final = (
    *_SKILLS,
    *_TASKS,
    *_CHARACTERISTICS,
    *(SEPARATOR.join(pair) for pair in product(_CHARACTERISTICS, (*_SKILLS, *_TASKS))),
)
_LETTER: Final = re.compile(r"^[\s(\"']*([A-Za-z])[\s.):\"']*$")


class TunaMcq:
    """The benchmark; see :class:`vmmetrics.understanding.harness.benchmark.Benchmark`."""

    name = "tuna-mcq"
    needs_judge = False

    def load(self, data: Path, videos: Path | None = None) -> Loaded:
        """Read the released Parquet file, the table made from it, or its JSON twin.

        Raises:
            SetupError: There is no such file, it cannot be read, or no question is in it.
        """
        path = find_file(data, _MCQ["files"], "questions of TUNA-MCQ")
        files = videos_in(videos or (data if data.is_dir() else data.parent))
        problems: Counter[str] = Counter()
        questions: dict[str, Question] = {}
        for place, row in enumerate(read_rows(path, problems)):
            found = _question(place, row, files, problems) if isinstance(row, Mapping) else None
            if found is None:
                problems["rows without a video, a question or options, left out"] += 1
            elif found.id in questions:
                problems["questions with the key of one before them, left out"] += 1
            else:
                questions[found.id] = found
        if not questions:
            raise nothing_found(path, "question of TUNA-MCQ", problems)
        return Loaded(tuple(questions.values()), dict(problems), {str(path): sha256_of(path)})

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:  # noqa: ARG002 - asked alike
        """What is said: what the pictures are, the question, the options by letter."""
        parts = (_MCQ["instruction"].strip(), f"Question: {question.text}", *question.lettered, _MCQ["asked"])
        return Turn("system", _MCQ["system"]), Turn("user", "\n".join(parts))

    def read_answers(self, path: Path, protocol: Scoring = "vmmetrics") -> dict[str, Answered]:  # noqa: ARG002
        """Answers from a table of predictions by index, or an object of them.

        Raises:
            SetupError: It cannot be read, or is neither.
        """
        return read_answers(path)

    def score(
        self,
        questions: Sequence[Question],
        answers: Mapping[str, Answered],
        protocol: Scoring,
        judge: Any = None,  # noqa: ARG002 - of those that need one
    ) -> list[Scored]:
        """Judge each answer; one that is missing or not understood is wrong."""
        score = _released_score if protocol == "upstream" else score_choice
        said = Found(answers, questions)
        return [score(question, said.of(question)) for question in questions]

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Accuracy over all, by skill, task and visual characteristic, by skill and task within a characteristic."""
        figures = accuracy_figures(questions, scored, _GROUPINGS, _ORDER)
        return [_as_released(figure) for figure in figures] if protocol == "upstream" else figures

    @property
    def references(self) -> tuple[Reference, ...]:
        """The paper's rows."""
        return tuple(_reference(model, row) for model, row in _MCQ["reference"].items())


def _question(place: int, row: Mapping[str, Any], files: Mapping[str, Path], problems: Counter[str]) -> Question | None:
    options, text, video = options_of(row.get("candidates")), text_of(row.get("question")), video_of(row)
    if not text or not video or not 2 <= len(options) <= len(LETTERS):
        return None
    if len(options) != _MCQ["options"]:
        problems[f"questions with other than {_MCQ['options']} options"] += 1
    answer = _answer_index(row.get("answer"), options)
    if not text_of(row.get("answer")):
        problems["hidden answers"] += 1
    elif answer is None:
        problems["right answers that are none of the options"] += 1
    if video not in files:
        problems["questions whose video is missing"] += 1
    groups = _groups(row, problems)
    also = (number_of(row, place),)
    reference = {"answer": text_of(row.get("answer")), "question": str(row["question"]), "also": also}
    key = text_of(row.get("index")) or str(place)
    return Question(key, video, text, options, answer, groups, files.get(video), reference=reference)


def _answer_index(value: Any, options: Sequence[str]) -> int | None:
    """Place of the right option, which is given by its letter; or, as the released prompt takes it, by its text."""
    text = text_of(value)
    letter = _LETTER.match(text)
    if letter and letter[1].upper() in LETTERS[: len(options)]:
        return LETTERS.index(letter[1].upper())
    places = [place for place, option in enumerate(options) if text and option == text]
    return places[0] if len(places) == 1 else None


def _groups(row: Mapping[str, Any], problems: Counter[str]) -> dict[str, tuple[str, ...]]:
    task = known_name(row.get("task"), list(_TASKS))
    if task is None:
        problems["questions of no known task"] += 1
    skill = known_name(row.get("skill"), _SKILLS)
    if task is not None and skill != _TASKS[task]:
        problems["questions whose skill is not their task's, which counts"] += 1
        skill = _TASKS[task]
    task, skill = task or "?", skill or "?"
    characteristics = characteristics_of(row.get("visual_characteristic"), problems)
    return {
        "skill": (skill,),
        "task": (task,),
        "characteristic": characteristics,
        "characteristic and skill": tuple(f"{name}{SEPARATOR}{skill}" for name in characteristics),
        "characteristic and task": tuple(f"{name}{SEPARATOR}{task}" for name in characteristics),
    }


def _released_score(question: Question, answered: Answered | None) -> Scored:
    """As the released scorer: letters are compared as they are in the file, and a hidden one equals none."""
    said = said_of(answered)
    letter = upstream_letter(said or "nan", question.reference["question"])
    chosen = LETTERS.index(letter) if letter in LETTERS[: len(question.options)] else None
    return Scored(question.id, float(letter == question.reference["answer"]), chosen, bool(said.strip()))


def _as_released(figure: Figure) -> Figure:
    """With three decimals, and no interval: the released scorer computes none."""
    value = None if figure.value is None else float(f"{figure.value:.3f}")
    return Figure(
        figure.group, figure.name, figure.measure, value, n=figure.n, clusters=figure.clusters,
        answered=figure.answered, chance=figure.chance,
    )  # fmt: skip


def _reference(model: str, row: Sequence[float]) -> Reference:
    names = [*(("task", task) for task in _TASKS), ("all", "all")]
    figures = {("accuracy", *name): percent / 100 for name, percent in zip(names, row, strict=True)}
    return Reference(model, "paper, tables 4 and 13", figures)


BENCHMARK: Final = TunaMcq()
