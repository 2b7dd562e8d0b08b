"""What a model answered, and what it was shown: the line of a run's journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, TypeVar

from vmmetrics.understanding.questions import Question

T = TypeVar("T")

NOT_RECORDED = "no recorded answer"
"""Error of a question that a file of recorded answers does not have."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The frames that a model was shown.

    Attributes:
        seconds: Time of each frame in the clip, seconds from its beginning.
        policy: What was asked for, in words (``"2 fps"``, ``"8 uniform"``, ``"native"``, ``"none"``).
        fps: Mean rate of what was shown, frames per second of clip; None for fewer than two frames.
        limited: Why fewer frames were shown than the policy asks for, or None.
        notes: What had to be assumed or mended to read the file: a rate that it does not state, ...
    """

    seconds: tuple[float, ...]
    policy: str
    fps: float | None = None
    limited: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to a question.

    Attributes:
        question: Its key.
        text: What the model said, whole.
        shown: The frames it was shown; None where that is not known (recorded answers) or there were none to show.
        error: Why there is no answer (unreadable video, refusal, endpoint gone), or None; it is then unanswered.
        usage: Input and output tokens and cost, as far as known.
        seconds: Time it took.
        unseen: The error is the video's: it cannot be read, and the model was not asked.
    """

    question: str
    text: str = ""
    shown: Shown | None = None
    error: str | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    unseen: bool = False

    def to_json(self) -> dict[str, Any]:
        """The line of the journal; what is empty is left out."""
        line = {name: value for name, value in asdict(self).items() if value or name == "question"}
        if self.shown is not None and not self.shown.notes:
            del line["shown"]["notes"]
        return line


def said_of(answered: Answered | None) -> str:
    """What a model said; nothing where there is no answer."""
    return answered.text if answered is not None and answered.error is None else ""


class Found(Generic[T]):
    """Entries of a file of answers or judgements, whichever way it calls the questions.

    A question may have other names, ``reference["also"]``, among them its number in the file of questions, from 0.

    Args:
        entries: By the key that the file has.
        questions: All that are there: a key that is a question's own is nobody else's.
        exact: Whether a question is found by its key alone.
    """

    def __init__(self, entries: Mapping[str, T], questions: Sequence[Question], exact: bool = False) -> None:
        self._entries = entries
        self._exact = exact
        self._own = {question.id for question in questions}
        names = self._own.union(*(question.reference.get("also", ()) for question in questions))
        beyond = str(len(self._own))  # a file that has this number, but not 0, counts from 1
        self._from_one = beyond in entries and beyond not in names and "0" not in entries

    def of(self, question: Question) -> T | None:
        """The entry of a question, by its key or by another name that it has."""
        if question.id in self._entries or self._exact:
            return self._entries.get(question.id)
        also = (name for name in question.reference.get("also", ()) if name not in self._own)
        names = (name for name in also if name in self._entries and not (self._from_one and name.isdecimal()))
        return next((self._entries[name] for name in names), None)
