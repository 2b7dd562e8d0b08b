"""FPS-Bench: questions that need four to thirty frames per second to be answered. Choudhury et al., CVPR 2026.

Shown in one of three settings: ``native``, the clip with all its frames; ``certificate``, the part that suffices;
``slowed``, the certificate so slow that a model which takes one frame per second gets the question's minFPS.

``protocol="upstream"``: letters and accuracy as released, over what was understood. Ours: an answer is read as
everywhere here, what is not read or missing is wrong, intervals draw videos. An option that reads as the right one does
is right (two released questions have such a pair).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import LETTERS, NOT_RECORDED, Answered, Loaded, Question, said_of
from vmmetrics.understanding.benchmarks.fpsbench_reading import DATA, NONE, VideoFiles, cache_folder, each_question
from vmmetrics.understanding.benchmarks.fpsbench_released import released_figures, released_letter
from vmmetrics.understanding.harness.benchmark import Figure, Scored, Scoring
from vmmetrics.understanding.harness.letters import chosen_option
from vmmetrics.understanding.harness.statistics import accuracy_figures
from vmmetrics.utils.endpoint import Turn
from vmmetrics.utils.rows import find_file, nothing_found, read_rows, sha256_of

Setting = Literal["native", "certificate", "slowed"]

_NO_KEY: Final = (
    "These annotations of FPS-Bench have no answer key, so no answer can be scored with them. The answers are kept: "
    "'vmmetrics understand submission FOLDER --out FILE' writes them, and 'vmmetrics understand run fpsbench --model "
    "recorded:FILE' scores them with fpsbench_v1.jsonl of github.com/KartikSharma907/FPSBench, which has the key."
)
_SILENT: Final = "UNKNOWN"
"""What a released file may have for a prediction where there is none."""
_NO_OPTION: Final = "(?)"
"""Text of an answer whose released prediction is anything else than a letter: the released report does not score it,
nor count it among those without an answer."""


@dataclass(frozen=True, slots=True)
class FpsBench:
    """The benchmark; see :class:`vmmetrics.understanding.harness.benchmark.Benchmark`.

    Attributes:
        setting: What of each video is shown.
    """

    setting: Setting = "native"

    needs_judge = False

    @property
    def name(self) -> str:
        """``fpsbench``, with the setting behind where it is another than ``native``."""
        return "fpsbench" if self.setting == "native" else f"fpsbench-{self.setting}"

    def load(self, data: Path, videos: Path | None = None) -> Loaded:
        """Read the released annotations, nested or flat, with a key or without.

        Raises:
            SetupError: There is no such file, it cannot be read, or no question is in it.
        """
        path = find_file(data, DATA["files"], "annotations of FPS-Bench")
        problems: Counter[str] = Counter()
        rows = read_rows(path, problems)
        beside = data if data.is_dir() else path.parent
        files = VideoFiles([videos] if videos else [beside, cache_folder()])
        found = tuple(each_question(rows, files, self.setting != "native", problems))
        if not found:
            raise nothing_found(path, "question of FPS-Bench", problems)
        return Loaded(found, dict(problems), {str(path): sha256_of(path)})

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:
        """What is said: neither the answer, nor the minFPS, nor the certificate. Upstream asks for a reason too."""
        letters = ", ".join(LETTERS[: len(question.options)])
        asked = DATA["explained"].format(letters=letters) if protocol == "upstream" else DATA["lettered"]
        text = "\n".join([question.text, *question.lettered])
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
            return [_score_as_released(question, answers.get(question.id)) for question in questions]
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
            found[key] = Answered(key, str(row.get("raw_response") or "") if given is None else _predicted(str(given)))
        return found

    def submission(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring = "vmmetrics"
    ) -> str:
        """What the leaderboard takes: a line {id, prediction, raw_response} for each question, letters as released.

        ``prediction`` is null where no answer was understood; the leaderboard then reads the text beside it. Where
        nothing was said it is ``UNKNOWN``, which the leaderboard takes for no answer: it refuses a file with a line
        that has neither.
        """
        lines = []
        for question in questions:
            answered = answers.get(question.id)
            one = _score_as_released(question, answered) if protocol == "upstream" else _score(question, answered)
            said = said_of(answered)
            silent = None if said.strip() else _SILENT
            letter = silent if one.chosen is None else question.reference["letters"][one.chosen]
            lines.append(json.dumps({"id": question.id, "prediction": letter, "raw_response": said}) + "\n")
        return "".join(lines)


def _predicted(letter: str) -> str:
    """What a released file's prediction says: its letter, nothing, or that it is something else."""
    bare = letter.strip().upper()
    return "" if bare in ("", _SILENT) else bare if bare in {*"ABCDE"} else _NO_OPTION


def _score(question: Question, answered: Answered | None) -> Scored:
    chosen = chosen_option(said_of(answered), question.options)
    value = None
    if question.answer is not None:
        value = float(chosen is not None and question.options[chosen] == question.options[question.answer])
    return Scored(question.id, value, chosen, chosen is not None)


def _score_as_released(question: Question, answered: Answered | None) -> Scored:
    if answered is None or answered.error == NOT_RECORDED:
        return Scored(question.id, None, answered=False, detail={"given": False})
    said, letters = said_of(answered), question.reference["letters"]
    letter = released_letter(said, letters)
    if letter is None:
        return Scored(question.id, None, answered=said == _NO_OPTION, detail={"given": True})
    right = question.reference["answer"]
    value = None if right is None else float(letter == right)
    return Scored(question.id, value, letters.index(letter), detail={"given": True})


def _note_on_chance(questions: Sequence[Question]) -> str:
    keyed = [question for question in questions if question.answer is not None]
    if not keyed or any(NONE not in q.options or q.options[q.answer or 0] == NONE for q in keyed):
        return ""
    return f"{NONE!r} is never right: who guesses among the others is right more often than chance says"


BENCHMARK: Final = FpsBench()
