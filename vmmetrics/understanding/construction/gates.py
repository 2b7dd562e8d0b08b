"""Gates that questions pass: models that answer from few frames, from none, or from enough; a proofreader; people.

The blind, the reviewers' and the language gate are FPS-Bench's for existing questions. After the paper's quality
control: a language model without the video answers each question in four orders of its options, "None of the above"
taken out, and may be right three times; of three outside reviewers one must be right; the language is checked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from vmmetrics.errors import ClipError
from vmmetrics.models.endpoint import EndpointModel
from vmmetrics.models.frames import NO_FRAMES, FramePolicy, Frames, frames_shown
from vmmetrics.models.protocol import Model
from vmmetrics.models.questions import LETTERS, Question
from vmmetrics.understanding.benchmarks.custom import asked
from vmmetrics.understanding.construction.options import generator, shuffled, shuffles, without_none_of_the_above
from vmmetrics.understanding.harness.choices import chosen_option
from vmmetrics.utils.endpoint.asking import in_words, object_shape
from vmmetrics.utils.endpoint.client import AskedQuestion, Client
from vmmetrics.utils.endpoint.messages import CostEstimate, NoAnswerError, RejectedError, Turn

_LETTER_TOKENS: Final = 8
"""Expected tokens of an answer by letter; reasoning models need more."""
Checked = tuple[Question, list[str]]
"""A question with what the gate noted on it, and the reasons to reject it; none where it passed."""


@dataclass(frozen=True)
class Gate:
    """A stage that may reject a question.

    Attributes:
        stage: Its name, in reports and for the answers noted on questions.
        check: Checks a question.
        viewers: Models that it asks, for estimates of the cost.
        frames: Frames that they see.
        times: How often each is asked.
    """

    stage: str
    check: Callable[[Question], Checked]
    viewers: Sequence[FilterModel] = ()
    frames: float = 0.0
    times: int = 1

    def estimates(self, questions: int) -> list[tuple[str, CostEstimate]]:
        """Estimate the cost of usual questions for paid models by name."""
        usual = [asked(Question("x", "x", "x" * 90, ("x" * 40,) * 4, 0))] * (questions * self.times)
        priced = [viewer.model for viewer in self.viewers if isinstance(viewer.model, EndpointModel) and questions]
        return [(model.name, model.estimate(usual, self.frames, _LETTER_TOKENS)) for model in priced]


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
    """

    def __init__(self, model: Model, seed: int) -> None:
        self.model = model
        self.seed = seed
        self._one_by_one = nullcontext() if isinstance(model, EndpointModel) else threading.Lock()

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
    return frames_shown(question.path, policy, question.start, question.end)


def noted(question: Question, name: str, value: Any) -> Question:
    """Return the question with a note in its reference: its provenance or a filter's answers."""
    return replace(question, reference={**question.reference, name: value})


def _with_views(question: Question, stage: str, views: Sequence[FilterAnswer]) -> Question:
    shown = [{key: value for key, value in asdict(view).items() if value is not None} for view in views]
    return noted(question, "views", dict(question.reference.get("views", {})) | {stage: shown})


def frames_gate(
    stage: str,
    viewers: Sequence[FilterModel],
    policy: FramePolicy,
    frames: float,
    reasons: Callable[[Sequence[FilterAnswer]], list[str]],
    people: Callable[[Question], list[FilterAnswer]] = lambda _: [],
) -> Gate:
    """Return a gate of models that see some frames, options in an order of our own.

    Args:
        stage: Its name.
        viewers: The models.
        policy: What they see.
        frames: How many frames these are, about.
        reasons: Reasons to reject a question that was answered so.
        people: Answers of people to a question, which count as well.
    """

    def check(question: Question) -> Checked:
        views, frames = people(question), seen(question, policy) if viewers else NO_FRAMES
        for viewer in viewers:
            views.append(viewer.ask(shuffled(question, "view", viewer.seed, viewer.model.name), policy, frames))
        return (_with_views(question, stage, views), reasons(views)) if views else (question, [])

    return Gate(stage, check, viewers, frames)


def shortcut_gate(viewers: Sequence[FilterModel], policy: FramePolicy) -> Gate:
    """Return a gate for questions that one frame answers: it rejects those that no model is known to get wrong.

    A model that gave no answer (it refused, its endpoint did not take the request) is not known to be wrong: otherwise
    a model that takes no pictures would let every question pass.
    """
    stage, what = ("first frame", "the first frame") if policy.kind == "first" else ("one frame", "one frame")

    def reasons(views: Sequence[FilterAnswer]) -> list[str]:
        if any(not view.right and view.error is None for view in views):
            return []
        right = ", ".join(view.model for view in views if view.right)
        silent = [f"{view.model} gave no answer: {view.error}" for view in views if not view.right]
        return ["; ".join([f"right from {what}: {right}"] * bool(right) + silent)]

    return frames_gate(stage, viewers, policy, 1, reasons)


def enough_gate(viewers: Sequence[FilterModel], count: int) -> Gate:
    """Return a gate that rejects questions that no model answers from so many uniform frames."""

    def reasons(views: Sequence[FilterAnswer]) -> list[str]:
        return [] if any(view.right for view in views) else [f"nobody is right from {count} frames"]

    return frames_gate("many frames", viewers, FramePolicy("uniform", count), count, reasons)


REVIEWERS: Final = 3
"""Fewest outside reviewers, all of whom must be wrong to reject a question."""
ADAPTIVE: Final = FramePolicy("adaptive")
"""Frames that reviewers see."""


def reviewers_gate(reviewers: Sequence[FilterModel], answers: Mapping[str, Mapping[str, str]]) -> Gate:
    """Return a gate that rejects questions that all of three or more reviewers get wrong.

    Args:
        reviewers: Models that see the video.
        answers: Of people who saw it: question's id to reviewer to letter of the options as they stand.
    """

    def by_person(question: Question, reviewer: str, letter: str) -> FilterAnswer:
        index = LETTERS.find(letter.strip().upper()) if len(letter.strip()) == 1 else -1
        chosen = question.options[index] if 0 <= index < len(question.options) else None
        return FilterAnswer(reviewer, "the video", chosen is not None and index == question.answer, chosen)

    def people(question: Question) -> list[FilterAnswer]:
        return [by_person(question, *one) for one in sorted(answers.get(question.id, {}).items())]

    def reasons(views: Sequence[FilterAnswer]) -> list[str]:
        judged = [view for view in views if view.chosen is not None]  # who chose no option decides nothing
        if len(judged) < REVIEWERS or any(view.right for view in judged):
            return []
        return [f"all {len(judged)} reviewers are wrong: {', '.join(view.model for view in judged)}"]

    return frames_gate("reviewers", reviewers, ADAPTIVE, 16.0, reasons, people)


SHUFFLES: Final = 4
MOST_RIGHT: Final = 3
"""Most right answers without video; all four are right by chance with probability 1 in 256."""


def blind_gate(models: Sequence[FilterModel], seed: int) -> Gate:
    """Return a gate of language models without the video; it rejects what any of them gets right too often.

    Args:
        models: The models.
        seed: Of the orders of the options.
    """

    def check(question: Question) -> Checked:
        bare = without_none_of_the_above(question)
        if bare is None:
            return question, []
        orders = shuffles(bare, SHUFFLES, "blind", seed)
        views, reasons = [], []
        for model in models:
            own = [model.ask(arranged, FramePolicy("none"), NO_FRAMES) for arranged in orders]
            views += own
            silent = sum(view.error is not None for view in own)
            if sum(view.right for view in own) + silent > MOST_RIGHT:
                more = f", {silent} without an answer" if silent else ""
                reasons.append(
                    f"{model.model.name} was never seen to be wrong without the video in {SHUFFLES} orders{more}"
                )
        return _with_views(question, "blind", views), reasons

    return Gate("blind", check, models, times=SHUFFLES)


_LANGUAGE: Final = """\
You proofread questions of a multiple-choice test about videos; you do not see the videos. Judge three things, each by \
itself:
- clear: the question can be understood in one way, says whom and what it is about, and asks one thing
- options: each fits the question grammatically, is of the same kind, and excludes the others
- language: correct, natural English throughout
For whatever is not so, say briefly what is wrong.
"""
_ASPECTS: Final = ("clear", "options", "language")
_WHY: Final = {"type": "string", "maxLength": 400}
_VERDICT: Final = object_shape({name: {"type": "boolean"} for name in _ASPECTS} | {"why": _WHY})


def proofreading(question: Question, seed: int) -> AskedQuestion[str]:
    """Return the proofreader's task; the options are in an order that tells nothing."""
    options = list(question.options)
    generator("language", seed, question.id).shuffle(options)
    listed = "\n".join(f"- {option}" for option in options)
    turns = (Turn("system", f"{_LANGUAGE}\n{in_words(_VERDICT)}"), Turn("user", f"{question.text}\n{listed}"))
    return AskedQuestion(question.id, turns, _VERDICT)


def language_gate(proofreader: Client, seed: int) -> Gate:
    """Return a gate that rejects what a proofreading language model finds at fault."""

    def check(question: Question) -> Checked:
        answer = proofreader.ask(proofreading(question, seed))
        if answer.kind == "unreachable":
            raise NoAnswerError(answer.why or "")
        if answer.value is None:  # it says nothing about the question
            return noted(question, "language", {"error": f"{answer.kind}: {answer.why}"}), []
        wrong = [name for name in _ASPECTS if not answer.value[name]]
        reasons = [f"{', '.join(wrong)}: {answer.value['why']}"] if wrong else []
        return noted(question, "language", {name: answer.value[name] for name in _ASPECTS}), reasons

    return Gate("language", check)
