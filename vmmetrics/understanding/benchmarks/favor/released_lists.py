"""FAVOR-Bench's own verb lists, read from the user's copy of its pickle without running code."""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

from vmmetrics.errors import SetupError, cannot
from vmmetrics.understanding.benchmarks.favor.lexicon import word_set
from vmmetrics.utils.storage.opening import read_regular

# Word lists and constants inside FAVOR-Bench's released second step, as far as they can decide anything there.
#
# Settings are those that are in force: the library's defaults under the overrides of its ``main``. Of the camera table
# only single words are kept: it is asked about single words only, and no word stands in two of its rows.

THRESHOLD: Final = 0.3
POSITION_WEIGHT: Final = 0.3
FARTHEST: Final = 15
FEW: Final = 3
"""Fewest matches that have an order."""
FEW_PENALTY: Final = 0.2
WEIGHTS: Final[Mapping[str, float]] = {
    "camera f1": 0.05,
    "subject precision": 0.2,
    "subject recall": 0.2,
    "subject order": 0.05,
    "chronology precision": 0.2,
    "chronology recall": 0.2,
    "chronology order": 0.1,
}
"""Weights of the composite; they sum to 1."""

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
"""Boost factor where both texts have the same word of a pair."""


FILE: Final = "action_extraction_dicts.pkl"
_VERBS: Final = ("COMMON_VERBS", "PHRASAL_VERBS")
_LARGEST: Final = 2**20  # bytes; the released file has 50 kB
_STEPS: Final = word_set(
    """
    PROTO FRAME STOP MARK EMPTY_LIST LIST APPEND APPENDS EMPTY_DICT DICT SETITEM SETITEMS
    UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8 MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET
    """
)
"""Allowed opcodes: those that build lists, mappings and strings. Sets and mappings of nested tuples could make Python
recurse without bounds."""


class _Strings(pickle.Unpickler):
    """Unpickler that refuses classes and functions, as a second barrier after :func:`_checked`."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def read_verbs(path: Path) -> frozenset[str]:
    """Read the action verbs of the released second step, from the pickle or its folder.

    Raises:
        SetupError: It is not there, too large, lacks a list, or holds anything but lists, mappings and strings.
    """
    path = next(iter(sorted(path.rglob(FILE))), path / FILE) if path.is_dir() else path
    try:
        data = read_regular(path, _LARGEST)
    except OSError as error:
        raise cannot("read", path, error) from error
    try:
        value = _Strings(io.BytesIO(_checked(data))).load()
    except Exception as error:  # a hostile pickle can raise anything
        raise SetupError(f"{path}: not a pickle of word lists: {error}") from error
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise SetupError(f"{path}: expected word lists by name")
    missing = [name for name in _VERBS if name not in value]
    if missing:
        raise SetupError(f"{path} lacks {', '.join(missing)} of FAVOR-Bench's word lists")
    lists = [value[name] for name in _VERBS]
    if not all(isinstance(words, list) and all(isinstance(word, str) for word in words) for words in lists):
        raise SetupError(f"{path}: expected lists of words")
    return frozenset(word for words in lists for word in words)


def _checked(data: bytes) -> bytes:
    """Return the pickle after a check of its opcodes, before any of them runs.

    Raises:
        UnpicklingError: A step makes something else, or keeps what it made at a place that takes up memory for nothing.
        ValueError: It is no pickle, or cut off.
    """
    for step, argument, _ in pickletools.genops(data):
        if step.name not in _STEPS:
            raise pickle.UnpicklingError(f"it has a {step.name}")
        if step.name.endswith("PUT") and int(argument or 0) > len(data):
            raise pickle.UnpicklingError(f"it counts to {argument}")
    return data
