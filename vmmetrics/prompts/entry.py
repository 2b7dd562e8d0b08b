"""Motion prompts, and the metadata that they are generated from."""

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
    "people": ("unstated", "none", "hands", "one", "two", "several"),
    "region": (
        "unstated", "africa", "east asia", "south asia", "southeast asia", "middle east", "latin america", "oceania",
        "europe", "north america",
    ),
    "law": (
        "unstated", "gravity", "inertia", "momentum", "contact", "friction", "elasticity", "rotation", "buoyancy",
        "flow", "pressure", "waves", "mass", "phase change", "heat", "combustion", "fracture", "locomotion",
        "manipulation", "coordination", "mechanism", "growth", "wind", "electricity", "light", "magnetism",
    ),
    "failure": (
        "unstated", "vanish", "melt", "penetrate", "float", "count", "limbs", "freeze", "reverse", "skip", "no contact",
        "no effect", "slide", "identity", "merge", "wrong order",
    ),
    "contrast": ("none", "direction", "vertical", "count", "stop", "order", "depth", "travel", "change"),
}  # fmt: skip
"""Values of each tag; see :class:`Tags`."""
LONGEST_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Tags:
    """Tags that classify the motion a prompt asks for.

    Attributes:
        subjects: How many move.
        interaction: With nothing, with an object or surface, or with another subject.
        camera: The camera motion that the words ask for.
        speed: On screen.
        amplitude: How far the motion carries the subject: in place, part of the frame, or through much of it.
        skeleton: Kind of body whose joints are visible; metrics of bodies do not apply to "none".
        seconds: Shortest clip, in seconds, in which the motion can be seen to succeed, in (0, 60].
        people: Who is in view: nobody, hands at work, one person, two who act on one another, or several.
        region: Part of the world that the words name.
        law: The law of physics that decides whether the motion is right.
        failure: What a model will most likely get wrong.
        contrast: What parts the prompt from its twin (:attr:`PromptEntry.twin`).

    Raises:
        ValueError: A value is not allowed.
    """

    subjects: str = "one"
    interaction: str = "none"
    camera: str = "unspecified"
    speed: str = "moderate"
    amplitude: str = "medium"
    skeleton: str = "none"
    seconds: float = 4.0
    people: str = "unstated"
    region: str = "unstated"
    law: str = "unstated"
    failure: str = "unstated"
    contrast: str = "none"

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
        action: The action, as a phrase that begins with the -ing form ("galloping through shallow water").
        pattern: One of :data:`PATTERNS`: of what does the main motion; empty where it is not known (VMBench's list has
            none).
        second_pattern: Another that is true as well, or empty.
        action_lemma: Base form of the verb ("gallop"); empty where it is not known.
        subject_class: Name of a class in the metadata ("horse"); empty where it is not known.
        before: What is visible at the start, and not at the end of a successful motion; empty if not known.
        outcome: Visible result of a successful motion; empty if not known.
        twin: Index of the prompt that differs from this one in a motion word alone; empty if there is none.
        forms: Other wordings: ``long`` (60 to 120 words), ``chinese``, and ``first_frame``, what is to be seen in it.
        tags: Tags of the motion, or None if not known.
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
    before: str = ""
    outcome: str = ""
    second_pattern: str = ""
    twin: str = ""
    forms: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    tags: Tags | None = None
    provenance: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if not self.prompt.strip():
            raise ValueError("Expected a prompt but got an empty text")
        for pattern in filter(None, (self.pattern, self.second_pattern)):
            if pattern not in PATTERNS:
                raise ValueError(f"Expected a pattern of {', '.join(PATTERNS)} but got {pattern!r}")

    @property
    def category(self) -> tuple[str, str, str]:
        """The motion category of the entry: action, kind of subject, pattern."""
        return self.action_lemma, self.subject_class, self.pattern


# What prompts are made from: classes of subjects, subjects, places and actions, as JSON Lines files of one folder.
#
# ``classes.jsonl``, ``subjects.jsonl``, ``places.jsonl``, ``actions.jsonl``: the library's lie in ``prompts/metadata``;
# ``vmmetrics prompts extract`` writes the last three from any corpus, and ``generate`` reads them all.

ATTRIBUTES = (
    "animate", "human", "plant", "collective",
    "walks", "flies", "swims", "climbs", "hands",
    "rigid", "articulated", "deformable", "liquid", "gas", "granular",
    "wheeled", "powered", "luminous", "hot", "celestial",
)  # fmt: skip
"""Physical attributes of a subject. ``hands``: can hold and use things; ``powered``: moves by its own motor."""

SETTINGS = ("indoor", "outdoor", "either")

AFFORDANCES = (
    "ground", "road", "rails", "grass", "sand", "mud", "snow", "ice", "rock", "slope", "stairs", "floor", "table",
    "water", "underwater", "shore", "air", "open sky", "trees", "plants", "walls", "wind", "rain", "dark",
    "stage", "track", "kitchen", "workshop", "factory", "laboratory", "farm", "street", "crowd", "home", "heat",
)  # fmt: skip
"""Properties of a place that a motion needs: surfaces, media, equipment."""


@dataclass(frozen=True, slots=True)
class SubjectClass:
    """A class of subjects.

    Attributes:
        name: Name ("songbird").
        attributes: Of :data:`ATTRIBUTES`: what holds for all of its members.
        skeleton: "person", "animal" or "none": whose joints are to be seen when one of it moves.
    """

    name: str
    attributes: tuple[str, ...]
    skeleton: str = "none"

    def __post_init__(self) -> None:
        _only(self.attributes, ATTRIBUTES, "attributes")


@dataclass(frozen=True, slots=True)
class SubjectEntry:
    """A subject that can move.

    Attributes:
        noun: Head noun in the singular; two or three words where they are one name ("fire truck").
        subject_class: Name of its class; empty where none is known.
        modifiers: Words that go before the noun, each by itself ("chestnut", "wet").
        plural: Plural of the noun; empty where the regular rule holds, "-" where it has none (milk, smoke).
        attributes: Attributes beyond its class's.
        lacks: Attributes of its class that it lacks (a penguin does not fly).
        patterns: Motion patterns it is used in.
        count: Times it was seen in a corpus; 0 where we wrote it.
        examples: Sentences it was seen in.
        members: Nouns of a collective's members in a corpus, the most frequent first ("bird").
        source: How an extraction came by class, attributes and patterns: "lexicon", "lexicon: " with the noun that
            stood for this one, or "inferred: " with the nearest nouns and their cosines; empty where we wrote it or
            nothing is known.
    """

    noun: str
    subject_class: str = ""
    modifiers: tuple[str, ...] = ()
    plural: str = ""
    attributes: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    count: int = 0
    examples: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        _only((*self.attributes, *self.lacks), ATTRIBUTES, "attributes")


@dataclass(frozen=True, slots=True)
class Place:
    """A place where a motion happens.

    Attributes:
        name: Its name without article ("frozen lake").
        phrase: How a sentence says it, with preposition and article ("on a frozen lake").
        setting: One of :data:`SETTINGS`.
        affords: Its affordances, of :data:`AFFORDANCES`.
        modifiers: Words that go before the name.
        count: Times it was seen in a corpus; 0 where we wrote it.
        examples: Sentences it was seen in.
        source: Source of setting and affordances in an extraction; as in :class:`SubjectEntry`.
    """

    name: str
    phrase: str = ""
    setting: str = "either"
    affords: tuple[str, ...] = ()
    modifiers: tuple[str, ...] = ()
    count: int = 0
    examples: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        _only(self.affords, AFFORDANCES, "affords")
        _only((self.setting,), SETTINGS, "setting")


@dataclass(frozen=True, slots=True)
class Action:
    """An action of a subject.

    Attributes:
        lemma: Base form of the verb, one word ("pour").
        complement: Words after the verb, without the place ("from a steel jug into a tall glass"); may be empty.
        pattern: Motion pattern it shows; empty where none is known.
        classes: Names of the subject classes that can do it; empty where that is not known.
        needs: Of :data:`AFFORDANCES`: a place suits that affords one of them; empty where any place does.
        interaction: As in :class:`~vmmetrics.prompts.entry.Tags`.
        speed: As there.
        amplitude: As there.
        seconds: As there.
        outcome: Visible result of a successful motion ("the glass is full").
        modifiers: Adverbs seen with it.
        count: Times it was seen in a corpus; 0 where we wrote it.
        examples: Sentences it was seen in.
        source: Source of the pattern in an extraction: the "class" of most doers, their "attributes", or those of the
            "object"; empty where we wrote it or nothing is known.
    """

    lemma: str
    complement: str = ""
    pattern: str = ""
    classes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    interaction: str = "none"
    speed: str = "moderate"
    amplitude: str = "medium"
    seconds: float = 4.0
    outcome: str = ""
    modifiers: tuple[str, ...] = ()
    count: int = 0
    examples: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        _only(self.needs, AFFORDANCES, "needs")


@dataclass(frozen=True, slots=True)
class Metadata:
    """Classes, subjects, places and actions that prompts are combined from."""

    classes: tuple[SubjectClass, ...] = ()
    subjects: tuple[SubjectEntry, ...] = ()
    places: tuple[Place, ...] = ()
    actions: tuple[Action, ...] = ()


def _only(values: tuple[str, ...], choices: tuple[str, ...], name: str) -> None:
    unknown = [value for value in values if value not in choices]
    if unknown:
        raise ValueError(f"Expected {name} to be among {', '.join(choices)} but got {', '.join(map(repr, unknown))}")
