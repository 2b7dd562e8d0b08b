"""What a model is to the harness."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar

from vmmetrics.models.frames import Frames
from vmmetrics.models.questions import Question
from vmmetrics.utils.endpoint.messages import Reply, Turn

S = TypeVar("S")
R = TypeVar("R")

Form = Literal["auto", "images", "video"]
"""How frames are handed over: one by one, as one video, or as the model takes them best."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said.

    Attributes:
        text: Its words.
        error: Why there are none that count, or None.
        usage: Input and output tokens and cost, as far as known; ``cut`` where it was cut off for its length.
    """

    text: str
    error: str | None = None
    usage: Mapping[str, float] = field(default_factory=dict)


class Model(Protocol):
    """Answers questions."""

    @property
    def name(self) -> str:
        """What tables call it."""

    @property
    def sees(self) -> bool:
        """Whether it looks at frames; without, none are read."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything of the model that its answers depend on, ready for JSON."""

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> Said:
        """Answer a question.

        Args:
            question: The question.
            turns: What is said, without frames.
            frames: What is shown before the last turn.

        Raises:
            NoAnswerError: No answer could be had; another time it might.
            VMMetricsError: Whatever stops a run.
        """

    def work_through(self, work: Callable[[S], R], items: Iterable[S]) -> Generator[tuple[S, R]]:
        """Do something that asks this model with each item, as many at once as it can take.

        Yields:
            The item and what ``work`` returned, in the order in which they are done.
        """


class OneByOne:
    """Works through items one after another."""

    def work_through(self, work: Callable[[S], R], items: Iterable[S]) -> Generator[tuple[S, R]]:
        """See :class:`Model`."""
        for item in items:
            yield item, work(item)


def said(reply: Reply, cost: float | None = None) -> Said:
    """A reply as it is recorded.

    >>> said(Reply("", refused=True)).error
    'the model refused'
    """
    known = {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens, "cost": cost}
    known["cut"] = 1 if reply.cut else None
    usage = {name: value for name, value in known.items() if value is not None}
    return Said(reply.text, "the model refused" if reply.refused else None, usage)


def before_last(turns: Sequence[Turn], **shown: Any) -> tuple[Turn, ...]:
    """The conversation with pictures or a video before its last turn."""
    return (*turns[:-1], replace(turns[-1], **shown))
