"""FPS-Bench: questions that need four to thirty frames per second to be answered. Choudhury et al., CVPR 2026.

Shown in one of three settings: ``native``, the clip with all its frames; ``certificate``, the part that suffices;
``slowed``, the certificate so slow that a model which takes one frame per second gets the question's minFPS.

``protocol="upstream"``: letters and accuracy as released, over what was understood. Ours: an answer is read as
everywhere here, what is not read or missing is wrong, intervals draw videos. An option that reads as the right one does
is right (two released questions have such a pair).
"""

# ruff: noqa: ARG002 - of an interface

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import LETTERS, NOT_RECORDED, Answered, Question, answer_text
from vmmetrics.understanding.benchmarks import data_file
from vmmetrics.understanding.benchmarks.files.fpsbench import DATA, NONE, cache_folder, each_question
from vmmetrics.understanding.harness.benchmark import Figure, QuestionFile, Scored, Scoring
from vmmetrics.understanding.harness.choices import MultipleChoice, score_choice
from vmmetrics.utils.endpoint.messages import Turn
from vmmetrics.utils.tables import read_rows

# FPS-Bench's scoring as released: letters, accuracy over what was understood, its interval and groups.

RESAMPLES: Final = 1000

_LEADING: Final = re.compile(r"\s*\(?\*{0,2}([A-Ea-e])\b")
_NAMED: Final = re.compile(r"\b(?:answer|option|choice|select|choose|pick)\b[^A-Za-z0-9]{0,12}\(?([A-Ea-e])\b")
_ALONE: Final = re.compile(r"\b([A-E])\b")


def released_letter(text: str, letters: Sequence[str]) -> str | None:
    """Return the letter that the released parser finds by default; None for none.

    At the beginning (the article ``A`` of a sentence too). Else the first after ``answer``, ``option`` and the like in
    lower case; else the first capital that stands alone and is an option's.

    >>> released_letter("A man", "ABCD"), released_letter("It is B", "ABCD"), released_letter("Apple", "ABCD")
    ('A', 'B', None)
    """
    stripped = text.strip()
    for match in (_LEADING.match(stripped), _NAMED.search(stripped)):
        if match and match[1].upper() in letters:
            return match[1].upper()
    return next((letter for letter in _ALONE.findall(stripped) if letter in letters), None)


def min_fps_group(rate: Any) -> str:
    """Return the minFPS group of the released report; above 4, rates not whole go to the highest, except 8 to 10."""
    if rate is None:
        return "unknown"
    if rate <= 4:
        return "4"
    if rate in (5, 6, 7):
        return f"{rate:.0f}"
    return "8-10" if 8 <= rate <= 10 else "10+"


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the released bootstrap interval over questions, to four decimals; None for fewer than two values."""
    if len(values) < 2:
        return None
    rng = random.Random(0)  # noqa: S311 - no secret
    count = len(values)
    means = sorted(sum(values[rng.randrange(count)] for _ in range(count)) / count for _ in range(RESAMPLES))
    return round(means[int(0.025 * RESAMPLES)], 4), round(means[int(0.975 * RESAMPLES)], 4)


def released_figures(questions: Sequence[Question], scored: Sequence[Scored]) -> list[Figure]:
    """Return the released report: accuracy over recognised answers, share of others, accuracy by group.

    The interval is the released one where the file of answers has the order of the annotations, as the released
    harness writes it: its draws depend on the order.

    Args:
        questions: The questions.
        scored: Scores under ``protocol="upstream"``: ``detail["given"]`` tells whether there is an answer.
    """
    predicted = [(q, s) for q, s in zip(questions, scored, strict=True) if s.detail.get("given")]
    counted = [(q, s.value) for q, s in predicted if s.value is not None]
    values = [value for _, value in counted]
    low, high = interval(values) or (None, None)
    silent = sum(not s.answered for _, s in predicted)
    mean = sum(values) / len(values) if values else 0.0
    share = len(counted) / len(predicted) if predicted else None
    note = "over recognised answers; the interval resamples questions, not videos"
    figures = [
        # "5-way", whatever options there are
        Figure("all", "all", "accuracy", mean, low, high, len(values), answered=share, chance=0.2, note=note),
        Figure("all", "all", "no_answer_rate", silent / len(predicted) if predicted else 0.0, n=len(predicted)),
    ]
    for group in ("category", "domain", "subdomain", "minFPS", "clip duration"):
        of_group: dict[str, list[float]] = {}
        for question, value in counted:
            named = min_fps_group(question.reference["min_fps"]) if group == "minFPS" else question.groups[group][0]
            of_group.setdefault(named, []).append(value)
        figures += [
            Figure(group, name, "accuracy", sum(of_group[name]) / len(of_group[name]), n=len(of_group[name]))
            for name in sorted(of_group)
        ]
    return figures


Setting = Literal["native", "certificate", "slowed"]

_NO_KEY: Final = (
    "These annotations of FPS-Bench have no answer key, so no answer can be scored with them. The answers are kept: "
    "'vmmetrics understand submission FOLDER --out FILE' writes them, and 'vmmetrics understand run fpsbench --model "
    "recorded:FILE' scores them with fpsbench_v1.jsonl of github.com/KartikSharma907/FPSBench, which has the key."
)
_FASTEST: Final = 1000.0  # frames per second; a higher minFPS is a slip of the pen
_SILENT: Final = "UNKNOWN"
"""Prediction in a released file for a missing answer."""
_NO_OPTION: Final = "(?)"
"""Text of an answer whose released prediction is not a letter: the released report neither scores it nor counts it as
missing."""


class FpsBench(MultipleChoice):
    """The benchmark; see :class:`vmmetrics.understanding.harness.choices.MultipleChoice`.

    Args:
        setting: Part of each video that is shown; the name ends with it unless it is ``native``.
    """

    title = "FPS-Bench"
    noun = "annotations"
    groupings = ("category", "minFPS", "domain", "clip duration")
    order = (*DATA["categories"], *DATA["domains"], *(group["name"] for group in DATA["buckets"] + DATA["durations"]))

    def __init__(self, setting: Setting = "native") -> None:
        self.setting = setting
        self.name = "fpsbench" if setting == "native" else f"fpsbench-{setting}"
        self.data = DATA if setting == "native" else {"files": DATA["files"], **data_file(f"fpsbench_{setting}")}

    def video_folders(self, beside: Path) -> list[Path]:
        """Return the folders of videos: next to the annotations, and the released preparation's cache."""
        return [beside, cache_folder()]

    def questions(self, source: QuestionFile) -> Iterable[Question]:
        """Read the released annotations, nested or flat, with or without a key."""
        return each_question(source.rows, source.folders, self.setting != "native", source.problems)

    def policy_for(self, question: Question) -> str | None:
        """Return the frame policy of a question on a slowed clip: minFPS frames a second of certificate, or None."""
        rate, needed = float(DATA["slowed_rate"]), question.reference["min_fps"]
        if self.setting != "slowed" or not needed or not rate <= needed <= _FASTEST:
            return None
        return f"{rate:g} fps slowed {needed / rate:f}"

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:
        """Return the conversation, without answer, minFPS and certificate; upstream also asks for a reason."""
        letters = ", ".join(LETTERS[: len(question.options)])
        asked = DATA["explained"].format(letters=letters) if protocol == "upstream" else DATA["lettered"]
        text = "\n".join([question.text, *question.lettered])
        return (Turn("user", f"{DATA['instruction'].strip()} {asked}\n\n{text}"),)

    def score(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring, judge: Any = None
    ) -> list[Scored]:
        """Score by letter (upstream) or by the text of options.

        Raises:
            SetupError: No question has a key.
        """
        if questions and not any(question.answer is not None for question in questions):
            raise SetupError(_NO_KEY)
        return super().score(questions, answers, protocol, judge)

    def score_one(self, question: Question, answered: Answered | None, protocol: Scoring) -> Scored:
        """Score an answer; an option with the same text as the right one is right."""
        if protocol == "upstream":
            return _score_as_released(question, answered)
        one = score_choice(question, answered)
        if question.answer is None or one.chosen is None:
            return one
        return replace(one, value=float(question.options[one.chosen] == question.options[question.answer]))

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Return accuracy over all and over answered questions; by category, minFPS, domain and clip length."""
        if protocol == "upstream":
            return released_figures(questions, scored)
        rows = super().figures(questions, scored, protocol)
        keyed = [question for question in questions if question.answer is not None]
        if not keyed or any(NONE not in q.options or q.options[q.answer or 0] == NONE for q in keyed):
            return rows
        note = f"{NONE!r} is never right: guessing among the other options beats the chance level"
        return [replace(f, note="; ".join(filter(None, (f.note, note)))) if f.group == "all" else f for f in rows]

    def read_answers(self, path: Path, protocol: Scoring = "vmmetrics") -> dict[str, Answered]:
        """Read answers in the released form: lines {id, prediction?, raw_response?}; the last of an id counts.

        A ``prediction`` counts before the text beside it; one that is no letter of A to E is no answer.

        Raises:
            SetupError: It cannot be read.
        """
        answers = {}
        for row in read_rows(path):
            if not isinstance(row, Mapping) or not row.get("id"):
                raise SetupError(f"{path}: expected lines with id, and prediction or raw_response")
            text, prediction, key = str(row.get("raw_response") or ""), row.get("prediction"), str(row["id"])
            if prediction is not None:  # its letter, nothing, or a mark for anything else
                letter = str(prediction).strip().upper()
                text = "" if letter == _SILENT else letter if letter in ("", *"ABCDE") else _NO_OPTION
            answers[key] = Answered(key, text)
        return answers

    def submission(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring = "vmmetrics"
    ) -> str:
        """Return the leaderboard's file: a line {id, prediction, raw_response} a question, letters as released.

        ``prediction`` is null if no option was recognised; the leaderboard then reads ``raw_response``. Without any
        answer it is ``UNKNOWN``, as the leaderboard refuses a file with a line that has neither.
        """
        lines = []
        for question in questions:
            answered = answers.get(question.id)
            one = self.score_one(question, answered, protocol)
            text = answer_text(answered)
            silent = None if text.strip() else _SILENT
            letter = silent if one.chosen is None else question.reference["letters"][one.chosen]
            lines.append(json.dumps({"id": question.id, "prediction": letter, "raw_response": text}) + "\n")
        return "".join(lines)


def _score_as_released(question: Question, answered: Answered | None) -> Scored:
    if answered is None or answered.error == NOT_RECORDED:
        return Scored(question.id, None, answered=False, detail={"given": False})
    text, letters = answer_text(answered), question.reference["letters"]
    letter = released_letter(text, letters)
    if letter is None:
        return Scored(question.id, None, answered=text == _NO_OPTION, detail={"given": True})
    right = question.reference["answer"]
    value = None if right is None else float(letter == right)
    return Scored(question.id, value, letters.index(letter), detail={"given": True})


BENCHMARK: Final = FpsBench()
