"""What a model answered, and what it was shown: the line of a run's journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Shown:
    """The frames that a model was shown.

    Attributes:
        seconds: Time of each frame in the clip, seconds from its beginning.
        policy: What was asked for, in words (``"2 fps"``, ``"8 uniform"``, ``"native"``, ``"none"``).
        fps: Mean rate of what was shown, frames per second of clip; None for fewer than two frames.
        limited: Why fewer frames were shown than the policy asks for, or None.
    """

    seconds: tuple[float, ...]
    policy: str
    fps: float | None = None
    limited: str | None = None


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
    """

    question: str
    text: str = ""
    shown: Shown | None = None
    error: str | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The line of the journal; what is empty is left out."""
        return {name: value for name, value in asdict(self).items() if value or name == "question"}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        """Read a line; fields of a later version are passed over.

        Raises:
            TypeError: It names no question.
        """
        known = {part.name: line[part.name] for part in fields(cls) if part.name in line}
        if known.get("shown"):
            shown = {part.name: known["shown"][part.name] for part in fields(Shown) if part.name in known["shown"]}
            known["shown"] = Shown(**{**shown, "seconds": tuple(shown.get("seconds", ()))})
        return cls(**known)


def said_of(answered: Answered | None) -> str:
    """What a model said; nothing where there is no answer."""
    return answered.text if answered is not None and answered.error is None else ""
