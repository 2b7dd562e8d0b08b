"""TUNA-MCQ: ten tasks and four skills in videos of four visual characteristics, four options a question.

``protocol="upstream"``: the first capital A to D anywhere in an answer, whatever word it begins; an answer without one,
and a missing one, is wrong; three decimals. Ours: an answer is read for the option that it means, and answered
questions are counted beside all. Kong et al., "TUNA", ACL 2025.
"""

# ruff: noqa: ARG002 - of an interface

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final

from vmmetrics.models.questions import LETTERS, Answered, EntriesByQuestion, Question, answer_text
from vmmetrics.understanding.benchmarks import tuna
from vmmetrics.understanding.benchmarks.files import count, listed, text_of
from vmmetrics.understanding.harness.benchmark import Figure, QuestionFile, Scored, Scoring
from vmmetrics.understanding.harness.choices import MultipleChoice, score_choice
from vmmetrics.utils.endpoint.messages import Turn

# Which option an answer to one of TUNA's questions chooses, as the released scorer reads it.

_BEST_OR_CORRECT: Final = ("The best answer is", "The correct answer is", "The answer is", "The answer")
_GLUED: Final = ("The best option isThe correct option is", "Best answer:Best option:")
"""Two pairs of prefixes that a missing comma joins in the released list, so that neither is ever removed."""
RELEASED_PREFIXES: Final = (*_BEST_OR_CORRECT, *_GLUED, "Answer:", "Option:")
"""Prefixes that the released scorer deletes anywhere, in this order."""
UNREAD: Final = "Z"
"""The released scorer's letter for an unreadable answer; never right."""

_REJECTIONS: Final = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
"""Answers that the released scorer treats as refusals, before it searches an option's text."""
_FAILED: Final = "Failed to obtain answer via API"
_MARKS: Final = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
"""Characters that the released scorer replaces with spaces."""


def upstream_letter(prediction: str, question: str) -> str:
    """Return the letter that the released scorer reads without a judge: the first of A to D, or :data:`UNREAD`.

    Without a letter it searches for an option's text, and reads the lines of the question as options: after the first,
    each line that contains its letter and a full stop. So questions with lettered items can be answered by an item's
    text.

    Args:
        prediction: The model's answer; an empty one is ``"nan"``, as in the scorer's table.
        question: The question, without the options.
    """
    left = prediction.strip()
    for prefix in RELEASED_PREFIXES:
        left = left.replace(prefix, "")
    match = re.search("[ABCD]", left)
    return match[0] if match else _by_text(prediction, question)


def _by_text(prediction: str, question: str) -> str:
    items = {}
    for letter, line in zip(LETTERS, question.split("\n")[1:], strict=False):
        _, mark, text = line.partition(f"{letter}.")
        if mark:
            items[letter] = text.strip(". \n")
    if _FAILED not in prediction:
        words = prediction.translate(_MARKS).split()
        if any(refusal in prediction for refusal in _REJECTIONS):
            return UNREAD
        present = [letter for letter in items if letter in words]
        if len(present) == 1:
            return present[0]
        if not present and UNREAD in words:
            return UNREAD
    named = [letter for letter, text in items.items() if text.lower() in prediction.lower()]
    return named[0] if len(named) == 1 else UNREAD


_MCQ: Final = tuna.DATA["mcq"]
_TASKS: Final[Mapping[str, str]] = {task: about["skill"] for task, about in _MCQ["tasks"].items()}
_SKILLS: Final = tuple(dict.fromkeys(_TASKS.values()))
_CHARACTERISTICS: Final[Sequence[str]] = tuna.DATA["characteristics"]
_LETTER: Final = re.compile(r"^[\s(\"']*([A-Za-z])[\s.):\"']*$")


class TunaMcq(MultipleChoice):
    """The benchmark; see :class:`vmmetrics.understanding.harness.choices.MultipleChoice`."""

    name = "tuna-mcq"
    title = "TUNA-MCQ"
    data = _MCQ | tuna.DATA
    form = "{instruction}\nQuestion: {text}\n{options}\n{asked}"
    groupings = ("skill", "task", "characteristic", "characteristic and skill", "characteristic and task")
    order = (
        *_SKILLS,
        *_TASKS,
        *_CHARACTERISTICS,
        *(tuna.SEPARATOR.join(pair) for pair in product(_CHARACTERISTICS, (*_SKILLS, *_TASKS))),
    )

    def questions(self, source: QuestionFile) -> Iterable[Question]:
        """Read the released Parquet file, a table made from it, or its JSON version."""
        files = tuna.videos_in(source.folders[0])
        for position, row in enumerate(source.rows):
            question = _question(position, row, files, source.problems) if isinstance(row, Mapping) else None
            if question is None:
                source.problems["rows without a video, a question or options, left out"] += 1
            else:
                yield question

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:
        """Return the conversation: a line about the frames, the question, the options by letter."""
        return Turn("system", _MCQ["system"]), *super().turns(question, protocol)

    def read_answers(self, path: Path, protocol: Scoring = "vmmetrics") -> dict[str, Answered]:
        """Read answers from a table of predictions by index, or an object of them.

        Raises:
            SetupError: It cannot be read, or is neither.
        """
        return tuna.read_answers(path)

    def score(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring, judge: Any = None
    ) -> list[Scored]:
        """Score each answer, looked up by any of its question's names."""
        entries = EntriesByQuestion(answers, questions)
        by_id = {question.id: answered for question in questions if (answered := entries.of(question)) is not None}
        return super().score(questions, by_id, protocol, judge)

    def score_one(self, question: Question, answered: Answered | None, protocol: Scoring) -> Scored:
        """Score an answer; a missing or unrecognised one is wrong. A hidden letter equals none (upstream)."""
        if protocol != "upstream":
            return score_choice(question, answered)
        text = answer_text(answered)
        letter = upstream_letter(text or "nan", question.reference["question"])
        chosen = LETTERS.index(letter) if letter in LETTERS[: len(question.options)] else None
        return Scored(question.id, float(letter == question.reference["answer"]), chosen, bool(text.strip()))

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Return accuracy over all, by skill, task, characteristic, and by skill and task within characteristics."""
        figures = super().figures(questions, scored, protocol)
        if protocol != "upstream":
            return figures
        # with three decimals, and no interval: the released scorer computes none
        values = (None if f.value is None else float(f"{f.value:.3f}") for f in figures)
        rounded = zip(figures, values, strict=True)
        return [replace(f, value=value, low=None, high=None, note="", error=None) for f, value in rounded]


def _question(
    position: int, row: Mapping[str, Any], files: Mapping[str, Path], problems: Counter[str]
) -> Question | None:
    options = tuple(str(option).strip() for option in listed(row.get("candidates")))
    text, video = text_of(row.get("question")), tuna.video_of(row)
    if not text or not video or not 2 <= len(options) <= len(LETTERS):
        return None
    right = text_of(row.get("answer"))
    task, skill = tuna.matching_name(row.get("task"), list(_TASKS)), tuna.matching_name(row.get("skill"), _SKILLS)
    answer = _answer_index(right, options)
    checks = {
        "questions of an unknown task": task is None,
        "questions whose skill belongs to another task; the task counts": task is not None and skill != _TASKS[task],
    }
    count(problems, checks)
    skill = skill if task is None else _TASKS[task]
    reference = {"answer": right, "question": str(row["question"]), "also": (tuna.number_of(row, position),)}
    key = text_of(row.get("index")) or str(position)
    characteristics = tuna.characteristics_of(row.get("visual_characteristic"), problems)
    groups: dict[str, tuple[str, ...]] = {"skill": (skill or "?",), "task": (task or "?",)}
    groups["characteristic"] = characteristics
    for kind in ("skill", "task"):
        groups[f"characteristic and {kind}"] = tuple(f"{c}{tuna.SEPARATOR}{groups[kind][0]}" for c in characteristics)
    return Question(key, video, text, options, answer, groups, files.get(video), reference=reference)


def _answer_index(text: str, options: Sequence[str]) -> int | None:
    """Return the index of the right option, from its letter, or as the released prompt reads it, its text."""
    letter = _LETTER.match(text)
    if letter and letter[1].upper() in LETTERS[: len(options)]:
        return LETTERS.index(letter[1].upper())
    indices = [index for index, option in enumerate(options) if text and option == text]
    return indices[0] if len(indices) == 1 else None


BENCHMARK: Final = TunaMcq()
