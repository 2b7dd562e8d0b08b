"""FPS-Bench: questions that need four to thirty frames per second to be answered. Choudhury et al., CVPR 2026.

Shown in one of three settings: ``native``, the clip with all its frames; ``certificate``, the part that suffices;
``slowed``, the certificate so slow that a model which takes one frame per second gets the question's minFPS.

``protocol="upstream"``: letters and accuracy as released, over what was understood. Ours: an answer is read as
everywhere here, what is not read or missing is wrong, intervals draw videos. An option that reads as the right one does
is right (two released questions have such a pair).
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from vmmetrics.endpoint import Turn
from vmmetrics.errors import SetupError
from vmmetrics.understanding.benchmark import Figure, Scored, Scoring
from vmmetrics.understanding.benchmarks.fpsbench_reading import DATA, NONE, VideoFiles, cache_folder, each_question
from vmmetrics.understanding.benchmarks.fpsbench_released import (
    SHUFFLE_SEED,
    Reading,
    released_figures,
    released_letter,
    released_order,
)
from vmmetrics.understanding.letters import chosen_option
from vmmetrics.understanding.questions import LETTERS, Loaded, Question
from vmmetrics.understanding.replies import Answered, said_of
from vmmetrics.understanding.rows import find_file, read_rows, sha256_of
from vmmetrics.understanding.statistics import accuracy_figures

Setting = Literal["native", "certificate", "slowed"]

_NO_KEY: Final = (
    "These annotations of FPS-Bench have no answer key, so no answer can be scored with them. The answers are kept: "
    "'vmmetrics understand submission FOLDER --out FILE' writes them, and 'vmmetrics understand run fpsbench --model "
    "recorded:FILE' scores them with fpsbench_v1.jsonl of github.com/KartikSharma907/FPSBench, which has the key."
)


@dataclass(frozen=True, slots=True)
class FpsBench:
    """The benchmark; see :class:`vmmetrics.understanding.benchmark.Benchmark`.

    Attributes:
        setting: What of each video is shown.
        reading: How ``protocol="upstream"`` reads letters.
        shuffle: Seed by which options change places, None for none; see :func:`shuffled`.
        protocol: By whose shuffle.
        with_none: Whether "None of the above" is shown; a question where it is right has no key without it.
    """

    setting: Setting = "native"
    reading: Reading = "first_letter"
    shuffle: int | None = None
    protocol: Scoring = "vmmetrics"
    with_none: bool = True

    needs_judge = False

    @property
    def name(self) -> str:
        """``fpsbench``, with the setting behind where it is another than ``native``."""
        return "fpsbench" if self.setting == "native" else f"fpsbench-{self.setting}"

    def policy_for(self, question: Question) -> str | None:
        """Frame policy of a question of its own: slowed, it depends on the minFPS. None where the common one holds."""
        needed = question.reference["min_fps"]
        if self.setting != "slowed" or not needed:
            return None
        rate = float(DATA["slowed_rate"])
        return f"{rate:g} fps slowed {needed / rate:g}"

    def load(self, data: Path, videos: Path | None = None) -> Loaded:
        """Read the released annotations, nested or flat, with a key or without.

        Raises:
            SetupError: There is no such file, or it cannot be read.
        """
        path = find_file(data, DATA["files"], "annotations of FPS-Bench")
        problems: Counter[str] = Counter()
        rows = read_rows(path, problems)
        files = VideoFiles([videos] if videos else [path.parent, cache_folder()])
        found = list(each_question(rows, files, self.setting != "native", problems))
        if not self.with_none:
            found = [without_none(question) for question in found]
        if self.shuffle is not None:
            found = [shuffled(question, self.shuffle, self.protocol) for question in found]
        return Loaded(tuple(found), dict(problems), {str(path): sha256_of(path)})

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:
        """What is said: neither the answer, nor the minFPS, nor the certificate. Upstream asks for a reason too."""
        letters = LETTERS[: len(question.options)]
        lines = [f"{letter}. {option}" for letter, option in zip(letters, question.options, strict=True)]
        asked = DATA["explained"].format(letters=", ".join(letters)) if protocol == "upstream" else DATA["lettered"]
        text = "\n".join([question.text, *lines])
        return (Turn("user", f"{DATA['instruction'].strip()} {asked}\n\n{text}"),)

    def score(
        self,
        questions: Sequence[Question],
        answers: Mapping[str, Answered],
        protocol: Scoring,
        judge: Any = None,  # noqa: ARG002 - of those that need one
    ) -> list[Scored]:
        """Compare letters (upstream), or what the options say.

        Raises:
            SetupError: No question has a key.
        """
        if questions and not any(question.answer is not None for question in questions):
            raise SetupError(_NO_KEY)
        if protocol == "upstream":
            return [_score_as_released(question, answers.get(question.id), self.reading) for question in questions]
        return [_score(question, answers.get(question.id)) for question in questions]

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Accuracy over all and over what was answered; by category, minFPS, domain and length of the clip."""
        if protocol == "upstream":
            return released_figures(questions, scored)
        order = [*DATA["categories"], *DATA["domains"], *(b["name"] for b in DATA["buckets"] + DATA["durations"])]
        found = accuracy_figures(questions, scored, ("category", "minFPS", "domain", "clip duration"), order)
        note = _note_on_chance(questions)
        return [replace(f, note="; ".join(filter(None, (f.note, note)))) if f.group == "all" else f for f in found]

    def read_answers(self, path: Path, protocol: Scoring) -> dict[str, Answered]:  # noqa: ARG002 - of others
        """Answers in the released form: lines {id, prediction?, raw_response?}; of an id that comes again the last.

        A ``prediction`` counts before the text beside it; one that is no letter of A to E is no answer.

        Raises:
            SetupError: It cannot be read.
        """
        found = {}
        for row in read_rows(path):
            if not isinstance(row, Mapping) or not row.get("id"):
                raise SetupError(f"{path}: expected lines with id, and prediction or raw_response")
            given, key = row.get("prediction"), str(row["id"])
            letter = str(given).strip().upper()
            text = str(row.get("raw_response") or "") if given is None else letter if letter in {*"ABCDE"} else ""
            found[key] = Answered(key, text)
        return found

    def submission(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring = "vmmetrics"
    ) -> str:
        """What the leaderboard takes: a line {id, prediction, raw_response} for each question, letters as released.

        ``prediction`` is null where no answer was understood; the leaderboard then reads the text beside it.
        """
        lines = []
        for question in questions:
            answered = answers.get(question.id)
            one = _score_as_released(question, answered, self.reading) if protocol == "upstream" else None
            chosen = (one or _score(question, answered)).chosen
            letter = None if chosen is None else _released_letter_of(question, chosen)
            line = {"id": question.id, "prediction": letter, "raw_response": said_of(answered)}
            lines.append(json.dumps(line, ensure_ascii=False) + "\n")
        return "".join(lines)


def shuffled(question: Question, seed: int = SHUFFLE_SEED, protocol: Scoring = "vmmetrics") -> Question:
    """The question with its options in another order, "None of the above" last.

    The released shuffle has one order for all questions with as many options; ours draws one for each, so that places
    of right options do not move together.
    """
    ordinary = [place for place, option in enumerate(question.options) if option != NONE]
    others = [place for place, option in enumerate(question.options) if option == NONE]
    drawn = list(range(len(ordinary)))
    random.Random(f"{seed} {question.id}").shuffle(drawn)  # noqa: S311 - no secret
    order = released_order(len(ordinary), seed) if protocol == "upstream" else drawn
    return _with_options(question, [*(ordinary[place] for place in order), *others])


def without_none(question: Question) -> Question:
    """The question without "None of the above", as the blind gate asks it; without a key where that was right."""
    return _with_options(question, [place for place, option in enumerate(question.options) if option != NONE])


def _with_options(question: Question, order: Sequence[int]) -> Question:
    answer = order.index(question.answer) if question.answer in order else None
    before = question.reference.get("order") or range(len(question.options))
    reference = {**question.reference, "order": tuple(before[place] for place in order)}
    return replace(question, options=tuple(question.options[i] for i in order), answer=answer, reference=reference)


def _score(question: Question, answered: Answered | None) -> Scored:
    chosen = chosen_option(said_of(answered), question.options)
    value = None
    if question.answer is not None:
        value = float(chosen is not None and question.options[chosen] == question.options[question.answer])
    return Scored(question.id, value, chosen, chosen is not None)


def _score_as_released(question: Question, answered: Answered | None, reading: Reading) -> Scored:
    if answered is None:
        return Scored(question.id, None, answered=False, detail={"given": False})
    order = question.reference.get("order")
    letters = LETTERS[: len(order)] if order else question.reference["letters"]
    letter = released_letter(said_of(answered), letters, reading)
    if letter is None:
        return Scored(question.id, None, answered=False, detail={"given": True})
    chosen = letters.index(letter)
    known = question.reference["answer"] is not None
    value = float(_released_letter_of(question, chosen) == question.reference["answer"]) if known else None
    return Scored(question.id, value, chosen, detail={"given": True})


def _released_letter_of(question: Question, chosen: int) -> str:
    """Letter in the release of an option; of a shuffled question that of the first that reads so, whichever it was."""
    letters: str = question.reference["letters"]
    order = question.reference.get("order")
    if not order:
        return letters[chosen]
    text = question.options[chosen]
    return letters[min(place for place, option in zip(order, question.options, strict=True) if option == text)]


def _note_on_chance(questions: Sequence[Question]) -> str:
    keyed = [question for question in questions if question.answer is not None]
    if not keyed or any(NONE not in q.options or q.options[q.answer or 0] == NONE for q in keyed):
        return ""
    return f"{NONE!r} is never right: who guesses among the others is right more often than chance says"


BENCHMARK: Final = FpsBench()
