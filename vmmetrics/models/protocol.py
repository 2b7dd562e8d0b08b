"""The interface of a model under evaluation, and the record of its answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar

from vmmetrics.models.frames import Frames
from vmmetrics.models.questions import Question
from vmmetrics.utils.endpoint.asking import without_thought
from vmmetrics.utils.endpoint.messages import Reply, Turn

S = TypeVar("S")
R = TypeVar("R")

Form = Literal["auto", "images", "video"]
"""Form of the frames: single images, one video, or whichever suits the model."""


TIMES_AS_TEXT, NO_TIMES = "in words", "not told"
"""Values of ``times`` in a model's identity: frame times stated before the images, or not at all."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The answer of a model to one question.

    Attributes:
        text: The answer as text.
        error: Reason for an unusable answer, or None.
        usage: Input and output tokens and cost, as far as known; ``cut`` where it was cut off for its length,
            ``thinking`` where that was before any answer, ``again`` where it was asked a second time for that;
            ``fewer``: its bound where the model's context holds no more.
        times_text: Frame times as stated to the model; None if they were not.
    """

    text: str
    error: str | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    times_text: str | None = None


class Model(Protocol):
    """A model that answers questions."""

    @property
    def name(self) -> str:
        """Name shown in tables."""

    @property
    def sees(self) -> bool:
        """True if the model uses frames; otherwise none are decoded."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything of the model that answers depend on, as JSON values."""

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> ModelAnswer:
        """Answer a question.

        Args:
            question: The question.
            turns: The conversation, without frames.
            frames: Frames shown before the last turn.

        Raises:
            NoAnswerError: There is no answer; another try may give one.
            VMMetricsError: Whatever stops a run.
        """

    def work_through(self, work: Callable[[S], R], items: Iterable[S]) -> Generator[tuple[S, R]]:
        """Run work that asks this model over each item, as many at once as the model supports.

        Yields:
            The item and what ``work`` returned, in the order in which they are done.
        """


class OneByOne:
    """Runs work on items one after another."""

    def work_through(self, work: Callable[[S], R], items: Iterable[S]) -> Generator[tuple[S, R]]:
        """See :class:`Model`."""
        for item in items:
            yield item, work(item)


MORE = 4
"""Factor of the token limit when a reply that ended within its thought is asked for again."""


def thinking(reply: Reply) -> bool:
    """Return True if a reply was cut off before anything but a thought.

    >>> thinking(Reply("<think>First the man", cut=True)), thinking(Reply("<think>So.</think> A man wal", cut=True))
    (True, False)
    """
    return reply.cut and not without_thought(reply.text).strip()


def unfinished(reply: Reply, question: Question) -> bool:
    """Return True if a reply was cut off before its answer.

    A letter comes last where a model thinks aloud without marks, so that a cut reply to a question with options has
    none; of a description what there is counts.
    """
    return thinking(reply) or (reply.cut and bool(question.options))


def together(first: Reply, second: Reply) -> Reply:
    """Return the second reply with the token counts of both, as far as known."""
    pairs = ((first.input_tokens, second.input_tokens), (first.output_tokens, second.output_tokens))
    read, written = (None if None in pair else sum(filter(None, pair)) for pair in pairs)
    return replace(second, input_tokens=read, output_tokens=written)


def model_answer(
    reply: Reply,
    cost: float | None = None,
    times_text: str | None = None,
    again: bool = False,
    fewer: int | None = None,
) -> ModelAnswer:
    """Return the answer of a reply, with usage and frame times.

    >>> model_answer(Reply("", refused=True)).error
    'the model refused'
    """
    entries = {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens, "cost": cost, "fewer": fewer}
    entries |= {
        name: 1 for name, is_so in (("cut", reply.cut), ("thinking", thinking(reply)), ("again", again)) if is_so
    }
    usage = {name: value for name, value in entries.items() if value is not None}
    return ModelAnswer(reply.text, "the model refused" if reply.refused else None, usage, times_text)


def before_last(turns: Sequence[Turn], **shown: Any) -> tuple[Turn, ...]:
    """Return the conversation with images or a video attached to its last turn."""
    return (*turns[:-1], replace(turns[-1], **shown))
