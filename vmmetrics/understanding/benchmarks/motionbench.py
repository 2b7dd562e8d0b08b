"""MotionBench: six tasks about fine motion in short clips. Hong et al., CVPR 2025.

``protocol="upstream"``: an answer's letter and the accuracies as the released tools have them, of what was answered.
Ours: an answer is read as everywhere here, what is not read or missing is wrong, and accuracy is that of dev: of all
questions whose key is known. Test questions are asked too, for the file that is handed in.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import LETTERS, Answered, Question, answer_text
from vmmetrics.understanding.benchmarks.files.motionbench import DATA, HIDDEN, each_question, source_names
from vmmetrics.understanding.harness.benchmark import Figure, Scored, Scoring
from vmmetrics.understanding.harness.choices import MultipleChoice, QuestionFile, chosen_option, score_choice
from vmmetrics.utils.endpoint.messages import Turn
from vmmetrics.utils.tables import read_rows

# MotionBench's scoring as released: how an answer becomes a letter, repeats are merged, and accuracies counted.
#
# Where the released script stops with an error, this goes on, and the note says so: nothing answered or nothing
# counted (it divides by zero: no accuracy), and a second answered question in one record with a known answer (it wraps
# the record's task in one more list for each: counted in the task it has).


def polish(text: str) -> str:
    """Return the first character of an answer, as the released tools parse it; often not a letter.

    They take the text before the first ``)``, in it the text after the first ``(``, in it the first word.

    >>> [polish(text) for text in ("(A) x", "The answer is B", "Answer: (C)", "b", ")A")]
    ['A', 'T', 'C', 'b', '']
    """
    letter = text.strip().partition(")")[0]
    if "(" in letter:
        letter = letter.split("(")[1].strip()
    return letter.split(" ")[0][:1]


def merge(old: str | None, text: str) -> str:
    """Merge two answers to a question as the released tools do: the old letter if A to D, else the new one."""
    return polish(old if old and any(letter in old for letter in "ABCD") else text)


_ANY_OPTIONS: Final = ("",) * 6
"""Stand-in options of an unknown question: letters are recognised, texts are not."""


class MotionBench(MultipleChoice):
    """The benchmark; see :class:`vmmetrics.understanding.harness.choices.MultipleChoice`."""

    name = "motionbench"
    title = "MotionBench"
    data = DATA
    groupings = ("task", "made from")
    order = tuple(DATA["tasks"])

    def questions(self, source: QuestionFile) -> Iterable[Question]:
        """Read the released list of clips, the flat dev list, or a table with the same fields."""
        return each_question(source.rows, source.folders[0], source_names(source.path.parent), source.problems)

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:
        """Return the conversation: the question as released (upstream), or with one option a line."""
        ours = "\n".join(filter(None, [question.text, *question.lettered]))
        asked = question.reference["text"] if protocol == "upstream" else ours
        return (Turn("user", f"{asked}\n\n{DATA['instruction'].strip()}"),)

    def score_one(self, question: Question, answered: Answered | None, protocol: Scoring) -> Scored:
        """Compare letters; a missing answer scores 0, a hidden key None."""
        if protocol != "upstream":
            return score_choice(question, answered)
        has_answer, has_key = answered is not None and answered.error is None, question.reference["answer"] != HIDDEN
        letter = polish(answer_text(answered))
        chosen = LETTERS.index(letter) if letter and letter in LETTERS[: len(question.options)] else None
        value = float(has_answer and letter == question.reference["answer"]) if has_key else None
        return Scored(question.id, value, chosen, has_answer, detail={"letter": letter} if has_answer else {})

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Return accuracy over all questions with a known key, and by task."""
        if protocol == "upstream":
            return released_figures(questions, scored)
        first, *others = super().figures(questions, scored, protocol)
        density = annotation_density(questions)
        if density is not None:
            remark = f"annotation density {density:.1f} characters of question per second of video"
            first = replace(first, note="; ".join(filter(None, (first.note, f"{remark} (paper: {DATA['density']})"))))
        return [first, *others]

    def read_answers(self, path: Path, protocol: Scoring = "vmmetrics") -> dict[str, Answered]:
        """Read answers in the released forms: an object {uid: letter}, or lines {uid: text}, uids may repeat.

        Of several texts for a question the released rule keeps one letter (:func:`merge`); ours
        takes the last that has a letter.

        Raises:
            SetupError: It cannot be read.
        """
        letters: dict[str, str] = {}
        for uid, value in chain.from_iterable(_letters(row, path).items() for row in read_rows(path)):
            text = value if isinstance(value, str) else ""
            if protocol == "upstream":
                # the script that counts compares what a finished file has, without making it a letter first
                done = path.suffix != ".jsonl"
                letters[uid] = (text if polish(text) == text else "") if done else merge(letters.get(uid), text)
            elif uid not in letters or chosen_option(text, _ANY_OPTIONS) is not None:
                letters[uid] = text
        return {uid: Answered(uid, text) for uid, text in letters.items()}

    def submission(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring = "vmmetrics"
    ) -> str:
        """Return the leaderboard's file: one JSON object, letter by uid; empty where no option was recognised."""
        letters = {}
        for question in questions:
            text = answer_text(answers.get(question.id))
            chosen = None if protocol == "upstream" else chosen_option(text, question.options)
            letters[question.id] = polish(text) if protocol == "upstream" else "" if chosen is None else LETTERS[chosen]
        return json.dumps(letters, indent=2) + "\n"


def annotation_density(questions: Sequence[Question]) -> float | None:
    """Return the annotation density: characters of all questions per second of all videos.

    The paper does not say in what questions are measured. Its 4.9 for EgoSchema, whose clips have 180 s, is 880 to a
    question, which can only be characters, options included; so they are here. None where no video's length is known.
    """
    counted = [question for question in questions if question.reference["duration"]]
    length = sum({question.reference["record"]: question.reference["duration"] for question in counted}.values())
    return sum(len(question.reference["text"]) for question in counted) / length if length else None


def released_figures(questions: Sequence[Question], scored: Sequence[Scored]) -> list[Figure]:
    """Return the released script's figures; None with a note where it fails.

    Its total are all questions but answered ones with a hidden key; what is answered is so whatever the answer.

    Args:
        questions: In the order of the file.
        scored: Scores under ``protocol="upstream"``.
    """
    right: Counter[str] = Counter()  # by task
    keyed: Counter[str] = Counter()
    in_record: Counter[object] = Counter()
    several = 0
    for question, entry in zip(questions, scored, strict=True):
        if entry.answered:
            in_record[question.reference["record"]] += 1
            if question.reference["answer"] != HIDDEN:
                several += in_record[question.reference["record"]] > 1
                keyed[question.groups["task"][0]] += 1
                right[question.groups["task"][0]] += entry.value == 1
    answered, correct = in_record.total(), right.total()
    total = len(questions) - answered + keyed.total()
    stops = [f"a record has several answered questions ({several} beyond the first)"] if several else []
    if not answered or not total:
        stops.append("every answer is to a hidden key" if answered else "nothing is answered")
    note = "; ".join(f"the released script stops: {reason}" for reason in stops)
    hidden = "of all answers, including those to hidden keys, which cannot be right"
    tasks = [task for task in dict.fromkeys((*DATA["tasks"], *keyed)) if keyed[task]]
    return [
        Figure("all", "all", "accuracy", correct / total if total else None, n=total, note=note),
        Figure("all", "all", "answered_accuracy", correct / answered if answered else None, n=answered, note=hidden),
        *(Figure("task", task, "accuracy", right[task] / keyed[task], n=keyed[task]) for task in tasks),
    ]


def _letters(row: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(row, Mapping) or any(isinstance(value, dict | list) for value in row.values()):
        raise SetupError(f"{path}: expected objects of letters or texts by uid")
    return row


BENCHMARK: Final = MotionBench()
