"""A motion prompt with what is known about it: the fields of VMBench's list, a motion pattern, tags and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

PATTERNS = (
    "fluid dynamics",
    "biological motion",
    "mechanical motion",
    "weather phenomena",
    "collective behaviour",
    "energy transfer",
)
"""The six motion patterns (VMBench, section 3.2)."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "subjects": ("one", "several"),
    "interaction": ("none", "object", "subjects"),
    "camera": ("unspecified", "static", "pan", "tilt", "track", "zoom", "orbit", "handheld"),
    "speed": ("slow", "moderate", "fast"),
    "amplitude": ("small", "medium", "large"),
    "skeleton": ("none", "person", "animal"),
}
"""Values of each tag, as :class:`Tags` explains them."""
LONGEST_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Tags:
    """What kind of motion a prompt asks for.

    Attributes:
        subjects: How many move.
        interaction: Whether what moves touches nothing else, acts on an object or surface, or on another subject.
        camera: The camera motion that the words ask for.
        speed: On screen.
        amplitude: How far the motion carries the subject: in place, part of the frame, or through much of it.
        skeleton: Whose joints are plainly to be seen; the metrics that judge bodies do not apply where it is none.
        seconds: Shortest clip, in seconds, in which the motion can be seen to succeed, in (0, 60].

    Raises:
        ValueError: A value is none of those.
    """

    subjects: str = "one"
    interaction: str = "none"
    camera: str = "unspecified"
    speed: str = "moderate"
    amplitude: str = "medium"
    skeleton: str = "none"
    seconds: float = 4.0

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"Expected {name} to be one of {', '.join(choices)} but got {getattr(self, name)!r}")
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int | float):
            raise ValueError(f"Expected seconds to be a number but got {self.seconds!r}")
        if not 0 < self.seconds <= LONGEST_SECONDS:
            raise ValueError(f"Expected seconds in (0, {LONGEST_SECONDS:g}] but got {self.seconds!r}")


@dataclass(frozen=True, slots=True)
class PromptEntry:
    """One prompt of a library.

    Attributes:
        index: VMBench's key of a prompt, and the stem of its clips: a number of four digits or more, as text.
        prompt: The text for the model.
        subject: Noun phrase of what moves, with its article ("a black horse").
        subject_noun: Its head in the singular ("horse").
        place: Name of the place ("frozen lake").
        action: What it does, as a phrase that begins with the -ing form ("galloping through shallow water").
        pattern: One of :data:`PATTERNS`; empty where it is not known (VMBench's list has none).
        action_lemma: Base form of the verb ("gallop"); empty where it is not known.
        subject_class: Name of a class in the metadata ("horse"); empty where it is not known.
        outcome: What must be seen for the motion to have succeeded; empty where it is not known.
        tags: What kind of motion, or None where it is not known.
        provenance: Where the entry comes from: who wrote it and how, from which metadata, what was changed since.
    """

    index: str
    prompt: str
    subject: str
    subject_noun: str
    place: str
    action: str
    pattern: str = ""
    action_lemma: str = ""
    subject_class: str = ""
    outcome: str = ""
    tags: Tags | None = None
    provenance: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if not self.prompt.strip():
            raise ValueError("Expected a prompt but got an empty text")
        if self.pattern and self.pattern not in PATTERNS:
            raise ValueError(f"Expected a pattern of {', '.join(PATTERNS)} but got {self.pattern!r}")

    @property
    def category(self) -> tuple[str, str, str]:
        """The motion category the entry belongs to: what is done, by what kind of subject, in which pattern."""
        return self.action_lemma, self.subject_class, self.pattern
