"""What models answer to made questions when they are shown little, or nothing: the filters' eyes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

from vmmetrics.errors import ClipError
from vmmetrics.models.frames import NO_FRAMES, FramePolicy, Frames, look
from vmmetrics.models.protocol import Model
from vmmetrics.models.questions import LETTERS, Question
from vmmetrics.understanding.benchmarks.custom import asked
from vmmetrics.understanding.construction.options import shuffled
from vmmetrics.understanding.harness.choices import chosen_option
from vmmetrics.utils.endpoint import Client, CostEstimate, RejectedError

_LETTER_TOKENS: Final = 8
"""Tokens of an answer that is a letter, expected; models that think take more."""


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """What a model answered.

    Attributes:
        model: Its name.
        shown: Frames it saw, in words.
        right: Whether it chose the right option; not where its answer was not understood.
        chosen: Text of the option it chose; None where none was understood.
        error: Why there is no answer, or None.
    """

    model: str
    shown: str
    right: bool
    chosen: str | None
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        """For the records."""
        line: dict[str, Any] = {"model": self.model, "shown": self.shown, "right": self.right}
        if self.chosen is not None:
            line["chosen"] = self.chosen
        return line | ({"error": self.error} if self.error else {})


class FilterModel:
    """Asks one model made questions. Behind an endpoint from several threads at once, otherwise one after another.

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
        self.client: Client | None = getattr(model, "client", None)
        self._one_by_one = threading.Lock() if self.client is None else nullcontext()

    def view(self, question: Question, policy: FramePolicy, frames: Frames | None = None) -> FilterAnswer:
        """Ask a question over the frames that a policy shows, options in an order of our own.

        Args:
            question: With its right option.
            policy: Which frames.
            frames: They, where they are at hand.

        Raises:
            ClipError: The video is missing or cannot be read.
            NoAnswerError: The model cannot be reached.
        """
        arranged, _ = shuffled(question, "view", self._seed, self.model.name)
        return self.ask(arranged, policy, frames)

    def ask(self, question: Question, policy: FramePolicy, frames: Frames | None = None) -> FilterAnswer:
        """Ask a question as it stands; see :meth:`view`."""
        shown = seen(question, policy) if frames is None else frames
        try:
            with self._one_by_one:
                said = self.model.answer(question, asked(question, blind=policy.kind == "none"), shown)
        except RejectedError as error:
            return FilterAnswer(self.model.name, str(policy), False, None, str(error))
        place = None if said.error else chosen_option(said.text, question.options)
        chosen = None if place is None else question.options[place]
        right = place is not None and place == question.answer
        return FilterAnswer(self.model.name, str(policy), right, chosen, said.error)

    def estimate(self, questions: int, frames: float) -> CostEstimate | None:
        """What asking so many usual questions would take; None for models that cost nothing.

        Args:
            questions: How many.
            frames: Shown with each.
        """
        estimate = getattr(self.model, "estimate", None)
        if estimate is None or not questions:
            return None
        usual = Question("x", "x", "x" * 90, ("x" * 40,) * 4, 0)
        found: CostEstimate = estimate([asked(usual)] * questions, frames, _LETTER_TOKENS)
        return found


def given_away(views: Sequence[FilterAnswer], what: str) -> str | None:
    """Why a question goes of which too much is seen; None where some model is known to be wrong.

    A model that gave no answer (it refused, its endpoint did not take the request) is not known to be wrong: otherwise
    a model that takes no pictures would let every question pass.

    Args:
        views: What each model answered; at least one.
        what: What they saw, in words.
    """
    if any(not view.right and view.error is None for view in views):
        return None
    right = ", ".join(view.model for view in views if view.right)
    silent = "; ".join(f"{view.model} gave no answer: {view.error}" for view in views if not view.right)
    return "; ".join(filter(None, (f"right from {what}: {right}" if right else "", silent)))


def seen(question: Question, policy: FramePolicy) -> Frames:
    """The frames of a question's video that a policy shows.

    Raises:
        ClipError: It is missing, or cannot be read.
    """
    if policy.kind == "none":
        return NO_FRAMES
    if question.path is None:
        raise ClipError(f"The video {question.video} is missing")
    return look(question.path, policy, question.start, question.end)


def letters_of(questions: Sequence[Question]) -> dict[str, int]:
    """How often each letter is right."""
    counts = dict.fromkeys(LETTERS[: max((len(question.options) for question in questions), default=0)], 0)
    for question in questions:
        if question.letter is not None:
            counts[question.letter] += 1
    return counts
