"""Word lists and constants inside FAVOR-Bench's released second step, as far as they can decide anything there.

Settings are those that are in force: the library's defaults under the overrides of its ``main``. Of the camera table
only single words are kept: it is asked about single words only, and no word stands in two of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vmmetrics.understanding.benchmarks.favor.lexicon import word_set

THRESHOLD: Final = 0.3
CAMERA_THRESHOLD: Final = 0.3 * 0.8
LEAST_THRESHOLD: Final = 0.25
MOST_THRESHOLD: Final = 0.7
VERB_BOOST: Final = 0.3
POSITION_WEIGHT: Final = 0.3
WINDOW: Final = 3
FARTHEST: Final = 15
LENGTH_PENALTY: Final = 0.2
ORDER_PENALTY: Final = 0.5
FEW: Final = 3
"""Fewer matches than this have no order."""
FEW_PENALTY: Final = 0.2
DESCRIPTION_WEIGHT: Final = 0.1
ACTION_WEIGHT: Final = 0.95
SURE_SUBJECT: Final = 0.5
LEAST_SUBJECT: Final = 0.15
TERM_BOOST: Final = 0.3
LAPTOP_BOOST: Final = 0.15
WEIGHTS: Final[Mapping[str, float]] = {
    "camera": 0.05,
    "subject precision": 0.2,
    "subject recall": 0.2,
    "subject order": 0.05,
    "chronology precision": 0.2,
    "chronology recall": 0.2,
    "chronology order": 0.1,
}
"""Of the composite; they sum to 1."""

CAMERA_ROWS: Final = tuple(
    frozenset(row.split())
    for row in (
        "shake shakes vibrates unstable trembles wobbles shakily shaky",
        "pan panning pans",
        "tilt tilting tilts",
        "zoom zooms magnifies reduces",
        "follow follows tracks pursues following",
        "steady stable stationary fixed still steadily stabilized",
        "dolly dollies approaches retreats",
        "truck trucks slides",
        "pedestal pedestals rises lowers",
        "arc arcs circles orbits",
        "upward up higher rising ascending",
        "downward down lower falling descending",
        "rightward right rightwards",
        "leftward left leftwards",
        "camera_motion camera cam shifts moves movement capture filming recording videographer cinematographer "
        "cinematography shot angle perspective frame focus unstabilized cuts transitions framing close-up handheld "
        "scene background foreground video clip footage sequence view frames filmed recorded captured moving",
    )
)
VERB_PAIRS: Final = frozenset(
    frozenset(pair.split())
    for pair in (
        "interact use", "interact type", "type keyboard", "begin start", "position place", "put place", "sit seat",
        "walk move", "look watch",
    )
)  # fmt: skip
SYNONYMS: Final[Mapping[str, frozenset[str]]] = {
    "interact": word_set("use operate handle work manipulate"),
    "type": word_set("key input keyboard write"),
    "place": word_set("put set position lay rest locate"),
    "sit": word_set("seat settle perch"),
    "begin": word_set("start commence initiate"),
    "look": word_set("watch view observe see gaze stare"),
    "walk": word_set("move go proceed step stride"),
    "hold": word_set("grasp grip clutch keep maintain"),
}
TERMS: Final[Mapping[str, tuple[str, ...]]] = {
    "begin interacting with laptop": ("place hands on keyboard", "use computer", "type on keyboard"),
    "interact with laptop": ("use computer", "type on keyboard"),
    "place hands on keyboard": ("begin typing", "start typing", "use keyboard"),
    "use laptop": ("operate computer", "work on laptop"),
    "focus on screen": ("look at monitor", "watch display"),
}
TERM_PAIRS: Final = (
    ("laptop", "keyboard"), ("laptop", "computer"), ("interact", "use"), ("begin", "place"), ("screen", "monitor"),
    ("screen", "display"), ("interacting", "typing"), ("typing", "keyboard"),
)  # fmt: skip
LAPTOP_PAIRS: Final = (
    ("begin interacting with the laptop", "places hands on the computer keyboard"),
    ("interacting with laptop", "hands on keyboard"),
    ("interacting with computer", "typing on keyboard"),
)
_PERSON_PAIRS: Final[Mapping[float, str]] = {
    0.3: "girl girls, woman women, man men, boy boys, person people, child children, adult adults, subject subjects",
    0.15: "girl woman, girl female, woman female, woman lady, boy man, boy male, man male, child kid, child girl, "
    "child boy, person human, person individual, person subject",
    0.07: "person man, person woman, person child, adult man, adult woman, teenager boy, teenager girl",
}
PERSONS: Final = tuple(
    (boost, frozenset(pair.split())) for boost, pairs in _PERSON_PAIRS.items() for pair in pairs.split(", ")
)
SAME_PERSON: Final = 1.5
"""Factor of the boost where both texts have the very same word of a pair."""
