"""Motions of a camera as kinds and directions: pan left, push in, static. For comparing what was said of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vmmetrics.types import FloatArray
from vmmetrics.understanding.benchmarks.favor.lexicon import word_set
from vmmetrics.understanding.benchmarks.favor.similarity import Similarity

WITHOUT_DIRECTION: Final = 0.6
"""Where only one of the two says a direction."""
RELATED: Final = 0.5
"""Motions in the same direction that give nearly the same picture and are easily confused: pan and truck, tilt and
pedestal, zoom and dolly."""

_KINDS: Final = tuple(
    (kind, re.compile(rf"\b(?:{pattern})", re.IGNORECASE))
    for kind, pattern in (
        ("first person", r"first[- ]person|ego(?:centric)?\b|pov\b|point[- ]of[- ]view|(?:camera )?wearer"),
        ("static", r"no (?:\w+ )?(?:camera )?(?:movement|motion)|(?:does|is)(?: not|n't) (?:mov|shif)|stop|"
                   r"without (?:\w+ )?(?:movement|motion)"),
        ("shake", r"shak|hand-?held|jitter|wobbl|unstea|unstab|trembl|vibrat|bumpy|jolt"),
        ("rotate", r"rotat|orbit|arcs?\b|arcing|circl|spin|rolls?\b|rolling|revolv"),
        ("zoom", r"zoom"),
        ("follow", r"follow|(?:mov|travel)\w* (?:along )?with|alongside|track(?!s? (?:left|right|in|out|back|forw))|"
                   r"keep(?:s|ing)? (?:up|pace)|chas"),
        ("tilt", r"tilt"),
        ("pan", r"pan(?:s|ning|ned)?\b|swings?\b|swivel|sweep|whip"),
        ("dolly", r"doll(?:y|ies|ying)|push|pull|advanc|approach|retreat|retract|closing in|draws? (?:near|back)"),
        ("truck", r"truck|slid(?:e|ing)|track"),
        ("pedestal", r"pedestal|crane|boom|ris(?:e|ing)|ascend|descend|lower"),
        ("cut", r"cut(?:s|ting)?\b|transition|switch|(?:scene|shot|view) chang|jump cut"),
        ("static", r"static|station|still|fixed|steady|stead|stabil|stable|motionless|unmoving|locked|paus|hold"),
        ("move", r"mov|shift|drift|glid|travel|motion|turn|forward|backward|left|right|up|down"),
    )
)  # fmt: skip
_DIRECTIONS: Final = tuple(
    (direction, re.compile(rf"\b(?:{pattern})", re.IGNORECASE))
    for direction, pattern in (
        ("left", r"left"), ("right", r"right"),
        ("up", r"up(?:ward|per|wards)?\b|ris(?:e|ing)|ascend|top\b"),
        ("down", r"down(?:ward|wards)?\b|lower|descend|bottom\b"),
        ("in", r"in(?:to|ward|wards)?\b|forwards?\b|closer|near|advanc|approach|push"),
        ("out", r"out(?:ward|wards)?\b|back(?:ward|wards)?\b|away|pull|retreat|retract|farther|further"),
    )
)  # fmt: skip
_PURPOSE: Final = re.compile(r"\bto (?:follow|reveal|show|capture|track|keep|focus)\b.*", re.IGNORECASE | re.DOTALL)
_FROM: Final = re.compile(r"\bfrom (?:the )?(?:left|right|top|bottom|above|below)\b", re.IGNORECASE)
_RELATED: Final = frozenset(map(frozenset, (("pan", "truck"), ("tilt", "pedestal"), ("zoom", "dolly"))))
_ALONG: Final = {"left": "pan", "right": "pan", "up": "tilt", "down": "tilt", "in": "dolly", "out": "dolly"}
_MOTIONS: Final = word_set("movement movements motion shake shaking")
"""After "camera", nouns."""
_HOW: Final = word_set("slow smooth slight quick fast gentle gradual continuous and")
_MOST_BEFORE_NOUN: Final = 5
_BEFORE_MOTION: Final = word_set("a an the with by in accompanied through there is and")


@dataclass(frozen=True, slots=True)
class CameraMotion:
    """A motion.

    Attributes:
        kind: What kind, or None where no word of it is known.
        directions: Where to; a diagonal has two.
    """

    kind: str | None
    directions: frozenset[str] = frozenset()


def camera_motion(text: str) -> CameraMotion:
    """What kind of motion a text names.

    A bare "moves" is of the kind that its direction suggests, and so is a pan upwards. Where it moves from is no
    direction; what for is asked where nothing else is said ("moves to follow her").

    >>> camera_motion("The camera pans to the upper left")
    CameraMotion(kind='pan', directions=frozenset({...}))
    """
    motion = _named(_PURPOSE.sub("", text))
    return _named(text) if motion.kind in (None, "move") and not motion.directions else motion


def _named(text: str) -> CameraMotion:
    text = _FROM.sub("", text)
    kind = next((kind for kind, pattern in _KINDS if pattern.search(text)), None)
    directions = frozenset(direction for direction, pattern in _DIRECTIONS if pattern.search(text))
    if kind in ("static", "shake", "follow", "first person", "cut"):
        return CameraMotion(kind)
    if kind in ("move", "pan") and directions:
        kinds = {_ALONG[direction] for direction in directions}
        kind = kind if kind == "pan" and "pan" in kinds else sorted(kinds, key=("pan", "tilt", "dolly").index)[0]
    return CameraMotion(kind, directions)


def camera_phrases(tokens: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """Motions named by nouns ("a slow tracking shot of", "with an upward camera movement"), and what is left to read.

    Args:
        tokens: Of a sentence.

    Returns:
        Words of each, and the sentence with "shot" for those at its beginning or with that word, without the others.
    """
    lower = [token.lower() for token in tokens]
    found, left = [], list[str]()
    done = 0
    for place, word in enumerate(lower):
        shot = word in ("shot", "shots")
        end = place + 1 if shot else place + 2
        if not shot and not (word in ("camera", "lens") and lower[place + 1 : end] and lower[place + 1] in _MOTIONS):
            continue
        begin = place
        while begin > max(done, place - _MOST_BEFORE_NOUN) and _says_how(lower[begin - 1]):
            begin -= 1
        motion = camera_motion(" ".join(lower[begin:end]))
        if motion.kind is None or (motion.kind == "move" and not motion.directions):
            continue
        found.append(list(tokens[begin:end]))
        left += tokens[done:begin]
        while not shot and left and left[-1].lower() in _BEFORE_MOTION:
            left.pop()
        left += ["shot"] if shot or not left else []
        done = end
    return found, [*left, *tokens[done:]]


def _says_how(word: str) -> bool:
    motion = camera_motion(word)
    return bool(motion.kind or motion.directions) or word in _HOW


def camera_matrix(similarity: Similarity, said: Sequence[str], wanted: Sequence[str]) -> FloatArray:
    """(N, M) how alike motions are: by kind and direction where both are known, else as texts."""
    motions, others = [camera_motion(text) for text in said], [camera_motion(text) for text in wanted]
    values = np.zeros((len(said), len(wanted)))
    for i, motion in enumerate(motions):
        for j, other in enumerate(others):
            if motion.kind is None or other.kind is None:
                values[i, j] = similarity.matrix([said[i]], [wanted[j]])[0, 0]
            else:
                values[i, j] = _likeness(motion, other)
    return values


def _likeness(motion: CameraMotion, other: CameraMotion) -> float:
    kinds = frozenset((motion.kind, other.kind))
    alike = 1.0 if len(kinds) == 1 else RELATED if kinds in _RELATED or "move" in kinds & {"move"} else 0.0
    if motion.kind == other.kind == "move":
        alike = 1.0
    if "static" in kinds and len(kinds) > 1:
        return 0.0
    if not motion.directions and not other.directions:
        return alike
    if not motion.directions or not other.directions:
        return alike * WITHOUT_DIRECTION
    return alike * len(motion.directions & other.directions) / len(motion.directions | other.directions)
