"""Base of question recipes: units of work, prompts, cost estimates, and filter models."""

from __future__ import annotations

import hashlib
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final

from vmmetrics.errors import ClipError
from vmmetrics.models.endpoint import EndpointModel
from vmmetrics.models.frames import NO_FRAMES, FramePolicy, Frames, look
from vmmetrics.models.protocol import Model
from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.custom import asked
from vmmetrics.understanding.construction import units
from vmmetrics.understanding.construction.options import shuffled
from vmmetrics.understanding.construction.question_checks import faults
from vmmetrics.understanding.construction.units import RejectedQuestion, SourceClip, UnitOutcome, noted
from vmmetrics.understanding.harness.choices import chosen_option
from vmmetrics.utils.endpoint.asking import Answer, in_words, list_shape, object_shape
from vmmetrics.utils.endpoint.client import AskedQuestion, Check, Client
from vmmetrics.utils.endpoint.messages import CostEstimate, NoAnswerError, RejectedError, Turn

# Answers of models to constructed questions when they are shown few frames, or none.

_LETTER_TOKENS: Final = 8
"""Expected tokens of an answer by letter; reasoning models need more."""

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


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """Answer of a filter model.

    Attributes:
        model: Its name.
        shown: Frames it saw, as text.
        right: True if it chose the right option; False if its answer was not recognised.
        chosen: Text of the option it chose; None if not recognised.
        error: Reason for a missing answer, or None.
    """

    model: str
    shown: str
    right: bool
    chosen: str | None
    error: str | None = None


class FilterModel:
    """A model that answers constructed questions; an endpoint from several threads at once.

    Args:
        model: It.
        seed: Of the order of the options: the right one of a question just made comes first.

    Attributes:
        model: It.
        client: Its client where it is behind an endpoint, else None.
    """

    def __init__(self, model: Model, seed: int) -> None:
        self.model = model
        self._seed = seed
        self.client = model.client if isinstance(model, EndpointModel) else None
        self._one_by_one = threading.Lock() if self.client is None else nullcontext()

    def view(self, question: Question, policy: FramePolicy, frames: Frames) -> FilterAnswer:
        """Ask a question over a policy's frames, options in an order of our own; see :meth:`ask`."""
        return self.ask(shuffled(question, "view", self._seed, self.model.name), policy, frames)

    def ask(self, question: Question, policy: FramePolicy, frames: Frames) -> FilterAnswer:
        """Ask a question with its options as they are.

        Raises:
            NoAnswerError: The model cannot be reached.
        """
        try:
            with self._one_by_one:
                reply = self.model.answer(question, asked(question, blind=policy.kind == "none"), frames)
        except RejectedError as error:
            return FilterAnswer(self.model.name, str(policy), False, None, str(error))
        index = None if reply.error else chosen_option(reply.text, question.options)
        chosen = None if index is None else question.options[index]
        right = index is not None and index == question.answer
        return FilterAnswer(self.model.name, str(policy), right, chosen, reply.error)


def seen(question: Question, policy: FramePolicy) -> Frames:
    """Return the frames of a question's video that a policy shows.

    Raises:
        ClipError: It is missing, or cannot be read.
    """
    if question.path is None:
        raise ClipError(f"The video {question.video} is missing")
    return look(question.path, policy, question.start, question.end)


def viewed(viewers: Sequence[FilterModel], question: Question, policy: FramePolicy) -> list[FilterAnswer]:
    """Ask the models a question over the frames of a policy; see :func:`seen`."""
    frames = seen(question, policy) if viewers else NO_FRAMES
    return [viewer.view(question, policy, frames) for viewer in viewers]


def views_of(question: Question, name: str, views: Sequence[FilterAnswer]) -> Question:
    """Return the question with the models' answers noted under a name."""
    shown = [{key: value for key, value in asdict(view).items() if value is not None} for view in views]
    return noted(question, "views", dict(question.reference.get("views", {})) | {name: shown})


def shortcut(views: Sequence[FilterAnswer], what: str) -> str | None:
    """Return the reason to drop a question that no model gets wrong; None if some model is known to be wrong.

    A model that gave no answer (it refused, its endpoint did not take the request) is not known to be wrong: otherwise
    a model that takes no pictures would let every question pass.

    Args:
        views: Answers of the models; at least one.
        what: Description of the frames.
    """
    if any(not view.right and view.error is None for view in views):
        return None
    right = ", ".join(view.model for view in views if view.right)
    silent = "; ".join(f"{view.model} gave no answer: {view.error}" for view in views if not view.right)
    return "; ".join(filter(None, (f"right from {what}: {right}" if right else "", silent)))


class Stop(Exception):  # noqa: N818 - not an error: this unit is done
    """Raised to end the work on a unit, with a status and a reason."""


class QuestionRecipe(ABC):
    """Makes questions, or filters existing ones, unit by unit.

    Attributes:
        places: Every unit in order: its key, and a question that knows the video's file and times.
        pool: The client in whose threads units are worked on; None where nothing is asked of an endpoint.
    """

    name: ClassVar[str]
    makes: ClassVar[bool] = True
    """True if questions are made here: repeats are dropped, options reordered, letters balanced. Existing questions may
    be alike, about several parts of one video, and stay as they are."""
    places: Mapping[str, Question]
    pool: Client | None

    def digest(self, unit: str) -> str:
        """Return a 64-bit hash of the unit's input; a unit whose input changed is done again."""
        text = json.dumps(self._input(unit), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @abstractmethod
    def _input(self, unit: str) -> list[Any]:
        """Return the input's data for a unit."""

    @abstractmethod
    def configuration(self) -> dict[str, Any]:
        """Return what outcomes depend on, as JSON values: all but the input's rows, which may grow."""

    @abstractmethod
    def estimates(self, units: Sequence[str]) -> list[tuple[str, CostEstimate]]:
        """Estimate the cost of some units for each model by name; rough where it depends on the answers."""

    @staticmethod
    def viewers_estimates(
        viewers: Sequence[FilterModel], questions: int, *frames: float
    ) -> list[tuple[str, CostEstimate]]:
        """Estimate the cost of usual questions for paid models, each over several frame counts."""
        usual = [asked(Question("x", "x", "x" * 90, ("x" * 40,) * 4, 0))] * questions
        priced = [viewer.model for viewer in viewers if isinstance(viewer.model, EndpointModel) and questions]
        return [(model.name, model.estimate(usual, number, _LETTER_TOKENS)) for model in priced for number in frames]

    @abstractmethod
    def _outcome(self, unit: str) -> UnitOutcome:
        """Process a unit."""

    def work(self, unit: str) -> UnitOutcome:
        """Process a unit; failures are part of the outcome.

        Raises:
            VMMetricsError: Any error that stops the build.
        """
        try:
            return self._outcome(unit)
        except Stop as stop:
            return UnitOutcome(unit, *stop.args)
        except NoAnswerError as error:
            return UnitOutcome(unit, units.UNREACHABLE, str(error))
        except ClipError as error:
            return UnitOutcome(unit, units.NO_VIDEO, str(error))


Written = tuple[list[Question], list[RejectedQuestion], str]
"""Result of writing on a clip: questions with the right option first, rejected ones, and failures as text."""


@dataclass
class WritingRecipe(QuestionRecipe):
    """Recipe in which a language model writes questions on clips, which rules check and models filter.

    Args:
        clips: About what, by their keys.
        client: Asks the writer.
        viewers: Models that filter by what they see of the video; none filters nothing.
        seed: Of the writing and of every draw.
        temperature: Of the writing.
    """

    filters_are: ClassVar[str] = "filter"
    """Name of the filter models in the configuration."""
    shown: ClassVar[tuple[FramePolicy, str, str]] = (FramePolicy("single"), "one frame", "one frame")
    """Frames that the filter models see, the name of their stage, and the frames as text."""
    rules: ClassVar[Sequence[str]]
    """Names of :data:`vmmetrics.understanding.construction.question_checks.RULES`."""
    needs_video: ClassVar[bool] = False
    """True if the video is needed before questions are filtered."""

    clips: Mapping[str, SourceClip]
    client: Client
    viewers: Sequence[FilterModel]
    seed: int
    temperature: float

    def __post_init__(self) -> None:
        self.places = {key: clip.question("", "?", ("right", "wrong")) for key, clip in self.clips.items()}
        self.pool = self.client

    def _input(self, unit: str) -> list[Any]:
        clip = self.clips[unit]
        return [clip.caption, clip.start, clip.end, dict(clip.fields)]

    def configuration(self) -> dict[str, Any]:
        """Return the settings that outcomes depend on."""
        settings = self.client.settings
        asked = {"url": settings.url, "model": settings.model, "tokens": settings.tokens}
        part = {"recipe": self.name, "instructions": VERSION, "seed": self.seed, "temperature": self.temperature}
        return part | {"writer": asked, self.filters_are: [dict(viewer.model.identity) for viewer in self.viewers]}

    @abstractmethod
    def write(self, clip: SourceClip) -> Written:
        """Have questions on a clip written.

        Raises:
            Stop: There can be none.
        """

    def more_faults(self, question: Question) -> list[str]:  # noqa: ARG002
        """Return further faults of a question, by rules of the recipe's own."""
        return []

    def filtered(self, question: Question) -> Question | RejectedQuestion:
        """Return a question that passed the rules, with the filters' answers noted, or its rejection.

        It is rejected if every filter model is right.
        """
        if not self.viewers:
            return question
        policy, stage, what = self.shown
        views = viewed(self.viewers, question, policy)
        checked, why = views_of(question, stage, views), shortcut(views, what)
        return checked if why is None else RejectedQuestion(checked, stage, (why,))

    def _outcome(self, unit: str) -> UnitOutcome:
        clip = self.clips[unit]
        if (self.needs_video or self.viewers) and clip.path is None:  # before anything is spent
            return UnitOutcome(unit, units.NO_VIDEO, f"The video {clip.key} is missing")
        written, rejected, missing = self.write(clip)
        accepted: list[Question] = []
        for question in written:
            why = [*faults(question, self.rules), *self.more_faults(question)]
            result = RejectedQuestion(question, "checks", tuple(why)) if why else self.filtered(question)
            if isinstance(result, RejectedQuestion):
                rejected.append(result)
            else:
                accepted.append(result)
        return UnitOutcome(unit, why=missing, accepted=tuple(accepted), rejected=tuple(rejected))

    def asked(
        self, about: str, instruction: str, text: str, shape: Mapping[str, Any], check: Check | None = None
    ) -> AskedQuestion[str]:
        """Return a task for the writer; an answer with blanks, or one that fails its check, is asked again."""
        turns = (Turn("system", f"{instruction}\n{in_words(shape)}"), Turn("user", text))

        def fault(value: dict[str, Any]) -> str | None:
            for number, item in enumerate(value["questions"], start=1):
                if not text_of(item) or not all(options_of(item)):
                    return f"question {number} or one of its answers is blank"
            return None if check is None else check(value)

        return AskedQuestion(about, turns, shape, fault, seed=self.seed, temperature=self.temperature)

    @staticmethod
    def answered(answer: Answer) -> dict[str, Any]:
        """Return the object of an answer.

        Raises:
            Stop: The answer has none.
        """
        if answer.value is None:
            raise Stop(answer.kind, answer.why or "")
        return answer.value

    def made(self, clip: SourceClip, key: str, item: Mapping[str, Any], **groups: str) -> Question:
        """Return the question of an item, with its provenance."""
        how = {"recipe": self.name, "model": self.client.settings.model, "instructions": VERSION, "seed": self.seed}
        return noted(clip.question(key, text_of(item), options_of(item), **groups), "made", how)


def questions_shape(least: int, most: int, wrong: int, **choices: Iterable[str]) -> dict[str, Any]:
    """Return the JSON schema of a writer's answer: numbers of questions and wrong options, and choices by kind."""
    text = {"type": "string", "minLength": 1, "maxLength": 400}
    more = {name: {"type": "string", "enum": list(names)} for name, names in choices.items()}
    item = object_shape({"question": text, "right": text, "wrong": list_shape(text, wrong, wrong), **more})
    return object_shape({"questions": list_shape(item, least, most)})


def options_of(item: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the options of an item, the right one first, without outer spaces and final full stop."""
    return tuple(" ".join(option.split()).removesuffix(".") for option in (item["right"], *item["wrong"]))


def text_of(item: Mapping[str, Any]) -> str:
    """Return the question of an item in one line."""
    return " ".join(str(item["question"]).split())
