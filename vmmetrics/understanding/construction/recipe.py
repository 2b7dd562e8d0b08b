"""Base of question recipes: units of work, what is written on each, the gates that questions pass, and the cost."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, NamedTuple

from vmmetrics.errors import ClipError
from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.custom import line_of
from vmmetrics.understanding.construction.gates import Gate, noted, proofreading
from vmmetrics.understanding.construction.question_checks import faults
from vmmetrics.utils.endpoint.asking import Answer, in_words, list_shape, object_shape
from vmmetrics.utils.endpoint.client import AskedQuestion, Check, Client
from vmmetrics.utils.endpoint.messages import CostEstimate, NoAnswerError, Turn
from vmmetrics.utils.storage.journal import Line

VERSION: Final = 1
"""Version of the instructions of all recipes; any change of wording needs a new one."""
COMMON_RULES: Final = """\
- One answer is right, and what you were given settles it without doubt. The {wrong} wrong ones are plausible but \
ruled out: nobody who saw the video could defend one.
- All answers are of one kind, of about one length, and clearly different from each other; none contains another, none \
is about the others ("all of the above"), none carries a letter.
- Somebody who reads only the answers must not be able to tell the right one: no part of it may be in more answers \
than any part of a wrong one, and it must not repeat words of the question that the wrong ones do not.
- Write as somebody who watches the video. Never mention a text, a description, a caption or an annotation.
- Call people and things by what can be seen of them ("the man in the red coat"), never by a number ("subject 1") and \
never more exactly than eyes can tell.
- Do not ask when something happens, and name no seconds.
- No opinions and no guesses: nothing is graceful, and nothing seems.
"""
"""Rules of every instruction to a writer; ``wrong`` is the number of wrong answers."""

_VERDICT_TOKENS: Final = 40  # of a usual answer of the proofreader
UNREACHABLE, NO_VIDEO = "unreachable", "no video"
"""Statuses not stored, so that the same command tries again: the model is unreachable; the video is unreadable."""


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """Outcome of one unit of work, a video or for gates a question, as the journal has it.

    Attributes:
        unit: Its key.
        status: "written" (perhaps no question passed), one of the above, or what became of the answer: "refused",
            "unusable".
        why: Reason of any status but "written"; for that, failures.
        accepted: Lines of the questions that passed.
        rejected: Lines of those that did not, with ``rejected``: stage and reasons.
        input: Hash of the unit's input.
    """

    unit: str
    status: str = "written"
    why: str = ""
    accepted: tuple[Mapping[str, Any], ...] = ()
    rejected: tuple[Mapping[str, Any], ...] = ()
    input: str = ""

    @property
    def final(self) -> bool:
        """True if the outcome is stored; otherwise the unit is tried again."""
        return self.status not in (UNREACHABLE, NO_VIDEO)


def rejected_line(question: Question, stage: str, reasons: Iterable[str]) -> Line:
    """Return the line of a question with the reasons of its rejection."""
    return line_of(question) | {"rejected": {"stage": stage, "reasons": list(reasons)}}


class Stop(Exception):  # noqa: N818 - not an error: this unit is done
    """Raised to end the work on a unit, with a status and a reason."""


class Task(NamedTuple):
    """A task for a model, for estimates of the cost.

    Attributes:
        client: Asks the model.
        asked: What it is asked.
        tokens: Of a usual answer.
        questions: How many it writes.
    """

    client: Client
    asked: AskedQuestion[str]
    tokens: int
    questions: int = 1


@dataclass
class QuestionRecipe(ABC):
    """Makes questions, or filters existing ones, unit by unit.

    Args:
        units: By key: clips, with their caption as text and all fields of their row as reference; or questions.
        gates: What a question that passed the rules must pass, cheapest first.
        configuration: What outcomes depend on besides, as JSON values.
        pool: The client in whose threads units are worked on; None where nothing is asked of an endpoint.
    """

    name: ClassVar[str]
    makes: ClassVar[bool] = True
    """True if questions are made here: repeats are dropped, options reordered, letters balanced. Existing questions may
    be alike, about several parts of one video, and stay as they are."""
    rules: ClassVar[Sequence[str]]
    """Names of :data:`vmmetrics.understanding.construction.question_checks.RULES`."""
    needs_video: ClassVar[bool] = False
    """True if the video is needed before questions are filtered."""

    units: Mapping[str, Question]
    gates: Sequence[Gate]
    configuration: Mapping[str, Any]
    pool: Client | None

    def digest(self, unit: str) -> str:
        """Return a 64-bit hash of the unit's input; a unit whose input changed is done again."""
        text = json.dumps(self._input(self.units[unit]), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _input(self, clip: Question) -> list[Any]:
        """Return what the outcome of a unit depends on, as JSON values."""
        return [clip.text, clip.start, clip.end, dict(clip.reference)]

    @abstractmethod
    def tasks(self, clip: Question) -> list[Task]:
        """Return what models are asked about a unit besides the gates; rough where it depends on the answers."""

    @abstractmethod
    def write(self, clip: Question) -> tuple[list[Question], str]:
        """Return the questions on a unit, the right option first, and failures as text.

        Raises:
            Stop: There can be none.
        """

    def faults_of(self, question: Question, earlier: Sequence[Question]) -> list[str]:  # noqa: ARG002
        """Return the faults of a question; ``earlier`` are those written before on the unit."""
        return faults(question, self.rules)

    def estimates(self, units: Sequence[str]) -> list[tuple[str, CostEstimate]]:
        """Estimate the cost of some units for each model by name, as if every question passed every gate."""
        by_use: dict[tuple[Client, int], list[Task]] = {}
        for unit in units:
            for task in self.tasks(self.units[unit]):
                by_use.setdefault((task.client, task.tokens), []).append(task)
        estimates = [
            (client.settings.model, client.estimate((task.asked for task in tasks), tokens))
            for (client, tokens), tasks in by_use.items()
        ]
        made = sum(task.questions for tasks in by_use.values() for task in tasks) if self.makes else len(units)
        return estimates + [estimate for gate in self.gates for estimate in gate.estimates(made)]

    def work(self, unit: str) -> UnitOutcome:
        """Process a unit; failures are part of the outcome.

        Raises:
            VMMetricsError: Any error that stops the build.
        """
        try:
            outcome = self._outcome(unit)
        except Stop as stop:
            outcome = UnitOutcome(unit, *stop.args)
        except NoAnswerError as error:
            outcome = UnitOutcome(unit, UNREACHABLE, str(error))
        except ClipError as error:
            outcome = UnitOutcome(unit, NO_VIDEO, str(error))
        return replace(outcome, input=self.digest(unit))

    def _outcome(self, unit: str) -> UnitOutcome:
        clip = self.units[unit]
        if self.makes and (self.needs_video or self.gates) and clip.path is None:  # before anything is spent
            raise ClipError(f"The video {clip.video} is missing")
        written, missing = self.write(clip)
        accepted, rejected = [], []
        for number, question in enumerate(written):
            stage, why = "checks", self.faults_of(question, written[:number])
            for gate in self.gates:
                if not why:
                    stage, (question, why) = gate.stage, gate.check(question)
            if why:
                rejected.append(rejected_line(question, stage, why))
            else:
                accepted.append(line_of(question))
        return UnitOutcome(unit, why=missing, accepted=tuple(accepted), rejected=tuple(rejected))


@dataclass
class GateRecipe(QuestionRecipe):
    """FPS-Bench's gates over existing questions.

    Args:
        proofreader: Asks a language model about the language; None leaves it to the rules.
        answers: Of people: question's id to reviewer to letter.
        seed: Of the orders of the options.
    """

    name = "fpsbench"
    makes = False
    rules = ("one answer", "distinct", "lettered", "left open", "language")  # those for whoever wrote a question

    proofreader: Client | None
    answers: Mapping[str, Mapping[str, str]]
    seed: int

    def _input(self, clip: Question) -> list[Any]:
        return [line_of(replace(clip, path=None)), self.answers.get(clip.id, {})]

    def tasks(self, clip: Question) -> list[Task]:
        """Return the proofreader's task."""
        return [Task(self.proofreader, proofreading(clip, self.seed), _VERDICT_TOKENS)] if self.proofreader else []

    def write(self, clip: Question) -> tuple[list[Question], str]:
        """Return the question as it is."""
        return [clip], ""


@dataclass
class WritingRecipe(QuestionRecipe):
    """Recipe in which a language model writes questions on clips.

    Args:
        client: Asks the writer.
        seed: Of the writing and of every draw.
        temperature: Of the writing.
    """

    client: Client
    seed: int
    temperature: float

    def asked(
        self, about: str, instruction: str, text: str, shape: Mapping[str, Any], check: Check | None = None
    ) -> AskedQuestion[str]:
        """Return a task for the writer; an answer with blanks, or one that fails its check, is asked again."""
        turns = (Turn("system", f"{instruction}\n{in_words(shape)}"), Turn("user", text))

        def fault(value: dict[str, Any]) -> str | None:
            for number, item in enumerate(value["questions"], start=1):
                if not _line(item["question"]) or not all(_options(item)):
                    return f"question {number} or one of its answers is blank"
            return None if check is None else check(value)

        return AskedQuestion(about, turns, shape, fault, seed=self.seed, temperature=self.temperature)

    def of_item(self, clip: Question, key: str, item: Mapping[str, Any], **groups: str) -> Question:
        """Return the question of an item of the writer's answer, the right option first, with its provenance.

        Args:
            clip: The clip.
            key: Suffix of its id, unique within the video.
            item: ``question``, ``right`` and ``wrong``.
            groups: Its value in each grouping.
        """
        how = {"recipe": self.name, "model": self.client.settings.model, "instructions": VERSION, "seed": self.seed}
        grouped = {name: (value,) for name, value in groups.items()}
        text, options = _line(item["question"]), tuple(_options(item))
        question = replace(clip, id=f"{clip.id}-{key}", text=text, options=options, answer=0, groups=grouped)
        return noted(replace(question, reference={}), "made", how)


def answered(answer: Answer) -> dict[str, Any]:
    """Return the object of an answer.

    Raises:
        Stop: The answer has none.
    """
    if answer.value is None:
        raise Stop(answer.kind, answer.why or "")
    return answer.value


def questions_shape(least: int, most: int, wrong: int, **choices: Iterable[str]) -> dict[str, Any]:
    """Return the JSON schema of a writer's answer: numbers of questions and wrong options, and choices by kind."""
    text = {"type": "string", "minLength": 1, "maxLength": 400}
    more = {name: {"type": "string", "enum": list(names)} for name, names in choices.items()}
    item = object_shape({"question": text, "right": text, "wrong": list_shape(text, wrong, wrong), **more})
    return object_shape({"questions": list_shape(item, least, most)})


def _line(text: str) -> str:
    return " ".join(text.split())


def _options(item: Mapping[str, Any]) -> list[str]:
    """Return the options of an item, the right one first, without outer spaces and final full stop."""
    return [_line(option).removesuffix(".") for option in (item["right"], *item["wrong"])]
