"""Lines of a card: what one check says of one score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Part = Literal["sees", "ignores", "fooled", "breaks", "people"]
PARTS: tuple[Part, ...] = ("sees", "ignores", "fooled", "breaks", "people")
Grade = Literal["good", "bad", "note", "open", "error"]
"""``note``: a fact that may be meant; ``open``: not told apart; ``error``: the check could not be run."""
GRADES: tuple[Grade, ...] = ("bad", "error", "note", "open", "good")


class Look(NamedTuple):
    """A clip to look at, beside another.

    Attributes:
        file: Video file; a path while the audit runs, relative to the card in it.
        label: What it is.
        score: Its score, or None.
        beside: The clip that it is compared with, or None.
        beside_label: What that is.
        beside_score: Its score.
    """

    file: str
    label: str
    score: float | None = None
    beside: str | None = None
    beside_label: str = "as it was"
    beside_score: float | None = None


class Finding(NamedTuple):
    """What a check of *breaks* says of one score, or, without a score, of all.

    Attributes:
        grade: Grade.
        verdict: A few words.
        text: The figures.
        score: Name of the score, or None.
        effect: Largest difference.
        looks: Clips to look at.
    """

    grade: Grade
    verdict: str
    text: str
    score: str | None = None
    effect: float | None = None
    looks: Sequence[Look] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a card.

    Attributes:
        part: Part of the card.
        check: Name of the check.
        title: What was done.
        grade: Grade.
        verdict: Verdict in a few words.
        text: The figures, in a sentence or two.
        score: Name of the score; None for all that the target gives.
        effect: Change of the score, in its unit.
        low: Lower end of its interval, corrected over the card.
        high: Upper end.
        clips: Clips that it rests on.
        expected: What a metric of that kind should do.
        looks: Clips to look at.
        repeat: Command that repeats it.
    """

    part: Part
    check: str
    title: str
    grade: Grade
    verdict: str
    text: str
    score: str | None = None
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    clips: int | None = None
    expected: str | None = None
    looks: Sequence[Look] = ()
    repeat: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as a card has it, without the name of its score."""
        names = ("part", "check", "title", "grade", "verdict", "text", "effect", "low", "high", "clips", "expected")
        return {
            **{name: getattr(self, name) for name in names},
            "looks": [look._asdict() for look in self.looks],
            "repeat": self.repeat,
        }


def sign_of(higher_is_better: bool | None) -> float:
    """Return 1 if a higher score is better, -1 if a lower one is, 0 where it was not said."""
    return {True: 1.0, False: -1.0, None: 0.0}[higher_is_better]


def finite(value: float) -> float | None:
    """Return a number; None for NaN and infinities, which JSON does not have."""
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class NotTried:
    """A check that was not run.

    Attributes:
        part: Part of the card.
        check: Name of the check, or "" for the whole part.
        why: Why not.
    """

    part: Part
    check: str
    why: str


@dataclass(frozen=True, slots=True)
class PartResult:
    """What one part of a card says.

    Attributes:
        lines: Its lines.
        not_tried: What was not run.
        noise: Noise of each score, where the part measures it.
        scale: Scale of each score.
    """

    lines: Sequence[Line] = ()
    not_tried: Sequence[NotTried] = ()
    noise: Mapping[str, float] = field(default_factory=dict)
    scale: Mapping[str, float] = field(default_factory=dict)
