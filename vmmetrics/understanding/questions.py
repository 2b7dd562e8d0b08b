"""What is asked about a video: one form for every benchmark, whatever file it came from."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
            raise ValueError(f"Expected two to {len(LETTERS)} options but got {len(self.options)}")
        if self.answer is not None and not 0 <= self.answer < len(self.options):
            raise ValueError(f"Expected the answer to be one of {len(self.options)} options but got {self.answer}")

    @property
    def lettered(self) -> list[str]:
        """The options, each after its letter ("A. a dog")."""
        return [f"{letter}. {option}" for letter, option in zip(LETTERS, self.options, strict=False)]

    @property
    def letter(self) -> str | None:
        """Letter of the right option."""
        return None if self.answer is None else LETTERS[self.answer]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A benchmark as it was found.

    Attributes:
        questions: Everything that can be asked, in the file's order.
        problems: What was wrong, in words, to how often: dirty rows, missing videos, hidden answers. Never fatal.
        source: Files that were read, each with its SHA-256.
    """

    questions: tuple[Question, ...]
    problems: Mapping[str, int] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)
