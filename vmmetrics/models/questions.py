"""Questions about videos and their answers: one form for every benchmark."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

LETTERS = string.ascii_uppercase


@dataclass(frozen=True, slots=True)
class Question:
    """One question about one video; or a task to describe it, which has no options.

    Attributes:
        id: Its key in the benchmark, as text.
        video: Key of the video: questions about one video are not independent, so intervals are clustered by it.
        text: The question, without its options.
        options: Texts of the options, without letters; empty where the answer is free text.
        answer: Index of the right option; None where the key is hidden or there are no options.
        groups: Value or values it has in each grouping: ``{"task": ("MR",), "characteristic": ("High-Dynamic",
            "Multi-Scene")}``. A question counts in each of its values.
        path: The video file; None where it is not there (the question is then counted, not asked).
        start: Where in the file the clip begins, seconds; None is its beginning.
        end: Where it ends, seconds; None is its end.
        reference: What scoring needs beyond the right option: annotations, fields of the released file by their names.
    """

    id: str
    video: str
    text: str
    options: tuple[str, ...] = ()
    answer: int | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    path: Path | None = None
    start: float | None = None
    end: float | None = None
    reference: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.options and not 2 <= len(self.options) <= len(LETTERS):
            raise ValueError(f"Expected 2 to {len(LETTERS)} options but got {len(self.options)}")
        if self.answer is not None and not 0 <= self.answer < len(self.options):
            raise ValueError(f"Expected the answer to be one of {len(self.options)} options but got {self.answer}")

    @property
    def lettered(self) -> list[str]:
        """The options with their letters ("A. a dog")."""
        return [f"{letter}. {option}" for letter, option in zip(LETTERS, self.options, strict=False)]

    @property
    def letter(self) -> str | None:
        """Letter of the right option."""
        return None if self.answer is None else LETTERS[self.answer]


@dataclass(frozen=True, slots=True)
class LoadedBenchmark:
    """Questions of a benchmark, as loaded.

    Attributes:
        questions: Everything that can be asked, in the file's order.
        problems: Problems as text, with counts: invalid rows, missing videos, hidden answers. Never fatal.
        source: Files that were read, each with its SHA-256.
        wording: Questions by whose words a run is known, where videos may be added to it later; else all count.
    """

    questions: tuple[Question, ...]
    problems: Mapping[str, int] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)
    wording: tuple[Question, ...] = ()


# What a model answered, and what it was shown: the line of a run's journal.

T = TypeVar("T")

NOT_RECORDED = "no recorded answer"
"""Error of a question without an answer in a file of recorded answers."""
NO_DECISION = "no decision"
"""Beginning of the error of a question that a model looked into and left undecided."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The frames that a model was shown, as recorded.

    Attributes:
        seconds: Time of each frame in the clip, seconds from its beginning.
        policy: The frame policy as text (``"2 fps"``, ``"8 uniform"``, ``"native"``, ``"none"``).
        fps: Mean rate of what was shown, frames per second of clip; None for fewer than two frames.
        limited: Why fewer frames were shown than the policy asks for, or None.
        notes: Assumptions and repairs in reading the file: a rate that it does not state, ...
        told: Clip length, rate and frame times as stated to the model; None if they were not.
    """

    seconds: tuple[float, ...]
    policy: str
    fps: float | None = None
    limited: str | None = None
    notes: tuple[str, ...] = ()
    told: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to a question.

    Attributes:
        question: Its key.
        text: The model's full answer.
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

    @property
    def failed(self) -> bool:
        """True if there is an error; that nothing was decided is a result."""
        return self.error is not None and not self.error.startswith(NO_DECISION)

    def to_json(self) -> dict[str, Any]:
        """Return the journal line; empty fields are left out."""
        line = {name: value for name, value in asdict(self).items() if value or name == "question"}
        for name in ("notes", "told"):
            if self.shown is not None and not getattr(self.shown, name):
                del line["shown"][name]
        return line


def answer_text(answered: Answered | None) -> str:
    """Return the text of an answer; empty if there is none."""
    return answered.text if answered is not None and answered.error is None else ""


class EntriesByQuestion(Generic[T]):
    """Entries of a file of answers or judgements, looked up by question under any of its names.

    A question may have other names, ``reference["also"]``, among them its number in the file of questions, from 0.

    Args:
        entries: By the key that the file has.
        questions: All questions: a key of one is not looked up as another name of others.
        exact: True to look up a question by its key only.
    """

    def __init__(self, entries: Mapping[str, T], questions: Sequence[Question], exact: bool = False) -> None:
        self._entries = entries
        self._exact = exact
        self._own = {question.id for question in questions}
        names = self._own.union(*(question.reference.get("also", ()) for question in questions))
        beyond = str(len(self._own))  # a file that has this number, but not 0, counts from 1
        self._from_one = beyond in entries and beyond not in names and "0" not in entries

    def of(self, question: Question) -> T | None:
        """Return the entry of a question, by its key or another of its names; None if there is none."""
        if question.id in self._entries or self._exact:
            return self._entries.get(question.id)
        also = (name for name in question.reference.get("also", ()) if name not in self._own)
        names = (name for name in also if name in self._entries and not (self._from_one and name.isdecimal()))
        return next((self._entries[name] for name in names), None)
