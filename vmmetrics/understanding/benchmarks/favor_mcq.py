"""FAVOR-Bench's multiple-choice questions: six tasks on motion, in third- and first-person videos.

``protocol="upstream"``: options listed as texts, the released runner's judgement by substring, and its fixed
denominators (a partial run counts the rest as wrong). Ours: lettered options, an answer read once and compared once,
denominators counted, each perspective by itself. Tu et al., "FAVOR-Bench", 2025.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from vmmetrics.models.questions import LETTERS, Answered, Question, answer_text
from vmmetrics.understanding.benchmarks import data_file, favor
from vmmetrics.understanding.benchmarks.files import count, listed
from vmmetrics.understanding.harness.benchmark import Figure, QuestionFile, Scored, Scoring
from vmmetrics.understanding.harness.choices import MultipleChoice, score_choice
from vmmetrics.utils.endpoint.messages import Turn

# Which answers FAVOR-Bench's released runner calls right.


def upstream_judge(correct: str, options: Sequence[str], output: str) -> bool:
    """Return True if the released runner counts an answer as right.

    The answer must contain the right option's text, ignoring case, and no longer option that contains that text (with
    case). Nothing else counts against an answer.
    """
    lowered = output.lower()
    longer = [option for option in options if option != correct and correct in option]
    return correct.lower() in lowered and not any(option.lower() in lowered for option in longer)


_FILE: Final = data_file("favor")
_DATA: Final = _FILE["mcq"]
_VIEWS: Final = (favor.THIRD, favor.EGO)


class FavorMcq(MultipleChoice):
    """The benchmark; see :class:`vmmetrics.understanding.harness.choices.MultipleChoice`."""

    name = "favor-mcq"
    title = "FAVOR-Bench"
    data = _DATA | _FILE
    form = "{instruction}\n\n{text}\n{options}\n{lettered}"
    groupings = ("perspective", "task", "perspective and task")
    order = (*_VIEWS, *_DATA["tasks"], *(f"{view} {task}" for view in _VIEWS for task in _DATA["tasks"]))

    def questions(self, source: QuestionFile) -> Iterable[Question]:
        """Read the released list or its flat twin."""
        files = favor.videos_in(source.folders[0])
        for key, video, item in favor.each_question(source.rows, source.problems):
            question = _question(key, video, item, favor.find_video(files, video), source.problems)
            if question is not None:
                yield question

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:
        """Return the conversation: the options as a list of texts (upstream), or by letter."""
        if protocol != "upstream":
            return super().turns(question, protocol)
        asked = _DATA["listed"].format(options=list(question.options))
        return (Turn("user", f"{_DATA['instruction'].strip()}\n\n{question.text}\n{asked}"),)

    def score_one(self, question: Question, answered: Answered | None, protocol: Scoring) -> Scored:
        """Score an answer; one that is missing or not recognised is wrong."""
        if protocol != "upstream":
            return score_choice(question, answered)
        text, correct = answer_text(answered), question.reference.get("answer")
        right = correct is not None and upstream_judge(correct, question.options, text)
        return Scored(question.id, None if correct is None else float(right), answered=bool(text.strip()))

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Return accuracy over all, by perspective, by task, and by task within each perspective."""
        if protocol == "upstream":
            return _released_figures(questions, scored)
        return super().figures(questions, scored, protocol)


def _question(
    key: str, video: str, item: Mapping[str, Any], path: Path | None, problems: Counter[str]
) -> Question | None:
    options = tuple(map(str, listed(item.get("options"))))
    text = str(item.get("question") or "").strip()
    if not text or not 2 <= len(options) <= len(LETTERS):
        problems["questions without text or options, left out"] += 1
        return None
    task = str(item.get("task_type") or "").strip().upper()
    correct = item.get("correct_answer")
    answer = None
    for plain in (str, lambda text: " ".join(str(text).lower().split()).rstrip(" .,;!?")):
        indices = [index for index, option in enumerate(options) if plain(option) == plain(correct)]
        if answer is None and correct is not None and len(indices) == 1:
            answer = indices[0]
    checks = {
        "questions of an unknown task": task not in _DATA["tasks"],
    }
    count(problems, checks)
    task, view = task or "?", favor.perspective_of(video)
    groups = {"task": (task,), "perspective": (view,), "perspective and task": (f"{view} {task}",)}
    reference = {} if correct is None else {"answer": str(correct)}
    return Question(key, video, text, options, answer, groups, path, reference=reference)


def _released_figures(questions: Sequence[Question], scored: Sequence[Scored]) -> list[Figure]:
    """Return the released script's seven percentages, to two decimals, as shares."""
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for question, entry in zip(questions, scored, strict=True):
        for name in ("all", *question.groups["task"]):
            right[name] += entry.value == 1
            asked[name] += 1
    figures = []
    for name, fixed in _DATA["released"].items():
        percent = round(right[name] / fixed * 100, 2)
        note = "" if asked[name] == fixed else f"out of {fixed} as the released script has it; {asked[name]} were asked"
        figures.append(Figure("all" if name == "all" else "task", name, "accuracy", percent / 100, n=fixed, note=note))
    return figures


BENCHMARK: Final = FavorMcq()
