"""What every recipe is: units of work, what is asked about each, what it would cost."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from vmmetrics.errors import ClipError
from vmmetrics.models.frames import FramePolicy
from vmmetrics.models.questions import Question
from vmmetrics.understanding.construction.instructions import VERSION
from vmmetrics.understanding.construction.question_checks import faults
from vmmetrics.understanding.construction.units import (
    NO_VIDEO,
    UNREACHABLE,
    RejectedQuestion,
    SourceClip,
    UnitOutcome,
    noted,
)
from vmmetrics.understanding.construction.viewing import FilterAnswer, FilterModel, given_away, seen
from vmmetrics.utils.endpoint import (
    Answer,
    Client,
    CostEstimate,
    NoAnswerError,
    Turn,
    in_words,
    list_shape,
    object_shape,
)
from vmmetrics.utils.endpoint import AskedQuestion as Asked
from vmmetrics.utils.endpoint.client import Check


class Stop(Exception):  # noqa: N818 - not an error: this unit is done
    """Ends the work on a unit with an outcome."""

    def __init__(self, outcome: UnitOutcome) -> None:
        super().__init__(outcome.status)
        self.outcome = outcome


class QuestionRecipe(ABC):
    """Makes questions, or holds them against gates, unit by unit."""

    name: ClassVar[str]
    makes: ClassVar[bool] = True
    """Whether questions are made here: repeats go, and options are put in a new order, letters balanced. Questions that
    exist may be alike, about several parts of one video, and stay as they are."""

    @property
    @abstractmethod
    def places(self) -> Mapping[str, Question]:
        """Every unit in order: its key, and a question that knows the video's file and times."""

    @abstractmethod
    def digest(self, unit: str) -> str:
        """Hash of what the input says of a unit: where it changed, the unit is done again."""

    @property
    @abstractmethod
    def pool(self) -> Client | None:
        """The client in whose threads units are worked on; None where nothing is asked of an endpoint."""

    @abstractmethod
    def configuration(self) -> dict[str, Any]:
        """What outcomes depend on, ready for JSON: the input's rows apart, which may grow."""

    @abstractmethod
    def estimates(self, units: Sequence[str]) -> list[tuple[str, CostEstimate]]:
        """What the models would take for some units, each with its name; roughly, where it depends on what comes."""

    @abstractmethod
    def _outcome(self, unit: str) -> UnitOutcome:
        """Do the work on a unit."""

    def work(self, unit: str) -> UnitOutcome:
        """Do the work on a unit; what cannot be had now is said in the outcome.

        Raises:
            VMMetricsError: What stops everything.
        """
        try:
            return self._outcome(unit)
        except Stop as stop:
            return stop.outcome
        except NoAnswerError as error:
            return UnitOutcome(unit, UNREACHABLE, str(error))
        except ClipError as error:
            return UnitOutcome(unit, NO_VIDEO, str(error))


class Written(NamedTuple):
    """What a writer wrote about a clip.

    Attributes:
        questions: Right option first.
        rejected: What is rejected before any check.
        missing: What could not be had, in words; empty where all was.
    """

    questions: list[Question]
    rejected: list[RejectedQuestion]
    missing: str = ""


class WritingRecipe(QuestionRecipe):
    """Has a language model write questions about clips, checks them by rules, and filters what passes.

    Args:
        clips: About what.
        client: Asks the writer.
        viewers: Models that filter by what they see of the video; none filters nothing.
        seed: Of the writing and of every draw.
        temperature: Of the writing.
    """

    filters_are: ClassVar[str] = "filter"
    """What the configuration calls the models that filter."""
    shown: ClassVar[tuple[FramePolicy, str, str]] = (FramePolicy("single"), "one frame", "one frame")
    """What they see, the name of their stage, and what they see in words."""
    rules: ClassVar[Sequence[str]]
    """Names of :data:`vmmetrics.understanding.construction.question_checks.RULES`."""

    def __init__(
        self,
        clips: Iterable[SourceClip],
        client: Client,
        viewers: Sequence[FilterModel] = (),
        seed: int = 0,
        temperature: float = 0.7,
    ) -> None:
        self.clips = {clip.key: clip for clip in clips}
        self.client = client
        self.viewers = viewers
        self.seed = seed
        self.temperature = temperature

    @property
    def places(self) -> Mapping[str, Question]:
        """Every clip."""
        return {key: clip.question("", "?", ("right", "wrong")) for key, clip in self.clips.items()}

    def digest(self, unit: str) -> str:
        """Of the clip's caption, annotation and times."""
        clip = self.clips[unit]
        return digest_of([clip.caption, clip.start, clip.end, dict(clip.fields)])

    @property
    def pool(self) -> Client | None:
        """The writer's."""
        return self.client

    def configuration(self) -> dict[str, Any]:
        """What outcomes depend on."""
        settings = self.client.settings
        asked = {"url": settings.url, "model": settings.model, "tokens": settings.tokens}
        part = {"recipe": self.name, "instructions": VERSION, "seed": self.seed, "temperature": self.temperature}
        return part | {"writer": asked, self.filters_are: [dict(viewer.model.identity) for viewer in self.viewers]}

    @abstractmethod
    def write(self, clip: SourceClip) -> Written:
        """Have questions about a clip written.

        Raises:
            Stop: There can be none.
        """

    def more_faults(self, question: Question) -> list[str]:  # noqa: ARG002
        """What else is wrong with a question, by rules of the recipe's own."""
        return []

    def filtered(self, question: Question) -> tuple[Question, RejectedQuestion | None]:
        """A question that passed the rules, with what filters found noted; and its rejection, if that is it.

        It goes if every filtering model is right from what it sees.
        """
        if not self.viewers:
            return question, None
        policy, stage, what = self.shown
        checked, views = self.viewed(question, policy, stage)
        why = given_away(views, what)
        return checked, None if why is None else RejectedQuestion(checked, stage, (why,))

    def needs_video(self) -> bool:
        """Whether a clip without its video is not worth asking about."""
        return bool(self.viewers)

    def viewers_estimates(self, questions: int, frames: Sequence[int] = (1,)) -> list[tuple[str, CostEstimate]]:
        """What the filtering models would take for so many questions, each asked over so many frames in turn."""
        ones = [(viewer.model.name, viewer.estimate(questions, number)) for viewer in self.viewers for number in frames]
        return [(name, one) for name, one in ones if one is not None]

    def viewed(self, question: Question, policy: FramePolicy, name: str) -> tuple[Question, list[FilterAnswer]]:
        """What the filtering models answer over the frames that a policy shows, noted under a name."""
        frames = seen(question, policy)
        views = [viewer.view(question, policy, frames) for viewer in self.viewers]
        return views_of(question, name, views), views

    def _outcome(self, unit: str) -> UnitOutcome:
        clip = self.clips[unit]
        if self.needs_video() and clip.path is None:  # before anything is spent
            return UnitOutcome(unit, NO_VIDEO, f"The video {clip.key} is missing")
        written, rejected, missing = self.write(clip)
        accepted = []
        for question in written:
            why = [*map(str, faults(question, self.rules)), *self.more_faults(question)]
            rejection = RejectedQuestion(question, "checks", tuple(why)) if why else None
            passed = question
            if rejection is None:
                passed, rejection = self.filtered(question)
            if rejection is None:
                accepted.append(passed)
            else:
                rejected.append(rejection)
        return UnitOutcome(unit, why=missing, accepted=tuple(accepted), rejected=tuple(rejected))

    def asked(
        self, about: str, told: str, text: str, shape: Mapping[str, Any], check: Check | None = None
    ) -> Asked[str]:
        """A question to the writer; an answer with a blank in it, or at fault by a check of its own, is asked again."""
        turns = (Turn("system", f"{told}\n{in_words(shape)}"), Turn("user", text))

        def fault(value: dict[str, Any]) -> str | None:
            for number, item in enumerate(value["questions"], start=1):
                if not text_of(item) or not all(options_of(item)):
                    return f"question {number} or one of its answers is blank"
            return None if check is None else check(value)

        return Asked(about, turns, shape, fault, seed=self.seed, temperature=self.temperature)

    def origin(self, question: Question, **more: Any) -> Question:
        """The question with how it came about."""
        made = {"recipe": self.name, "model": self.client.settings.model, "instructions": VERSION, "seed": self.seed}
        return noted(question, "made", made | more)


def answered(unit: str, answer: Answer) -> dict[str, Any]:
    """The object of an answer.

    Raises:
        Stop: There is none.
    """
    if answer.value is None:
        raise Stop(UnitOutcome(unit, answer.kind, answer.why or ""))
    return answer.value


def item_shape(wrong: int, **more: Mapping[str, Any]) -> dict[str, Any]:
    """JSON schema of a question with so many wrong options, and of what else is asked of it."""
    text = {"type": "string", "minLength": 1, "maxLength": 400}
    return object_shape({"question": text, "right": text, "wrong": list_shape(text, wrong, wrong), **more})


def questions_shape(item: Mapping[str, Any], least: int, most: int) -> dict[str, Any]:
    """JSON schema of the answer of a writer: so many questions."""
    return object_shape({"questions": list_shape(item, least, most)})


def one_of(names: Iterable[str]) -> dict[str, Any]:
    """JSON schema of a choice."""
    return {"type": "string", "enum": list(names)}


def options_of(item: Mapping[str, Any]) -> tuple[str, ...]:
    """The options of an item, the right one first, spaces and a full stop at the end taken off."""
    return tuple(" ".join(option.split()).removesuffix(".") for option in (item["right"], *item["wrong"]))


def text_of(item: Mapping[str, Any]) -> str:
    """The question of an item in one line."""
    return " ".join(str(item["question"]).split())


def views_of(question: Question, name: str, views: Sequence[FilterAnswer]) -> Question:
    """The question with what models answered noted under a name."""
    notes = dict(question.reference.get("views", {})) | {name: [view.to_json() for view in views]}
    return noted(question, "views", notes)


def digest_of(value: Any) -> str:
    """Hash of something ready for JSON, in short: 64 bits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]
