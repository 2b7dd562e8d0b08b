"""Action similarity, 0 to 1: rescaled cosine of sentence embeddings, 0 for unrelated texts.

Values depend on the two texts alone: neither on what else is compared nor on the order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vmmetrics.types import FloatArray
from vmmetrics.understanding.benchmarks.favor.lexicon import FUNCTION_WORDS, verb_lemma
from vmmetrics.utils.text.embedding import INSTALL, MODEL, embed, embedding_identity, embedding_installed

Embed = Callable[[Sequence[str]], NDArray[np.float32]]

LEAST_COSINE: Final = 0.45
"""Cosine rescaled to 0: of action pairs from two FAVOR-Bench videos, 92 % are below (MiniLM;
``benchmarks/favor_quality.py --calibrate``)."""
FULL_COSINE: Final = 0.75
"""Cosine rescaled to 1: hand-made paraphrases (``benchmarks/favor_paraphrases.toml``) have a median of 0.77."""
LEAST_OVERLAP: Final = 0.2
FULL_OVERLAP: Final = 0.8
"""Share of common words rescaled to 1: a paraphrase replaces about a fifth. The lower bound is above chance, one word
in ten."""
OPPOSITE: Final = 0.25
"""Factor of opposite motions. Cosines hardly separate them: 0.9 between turning left and turning right."""

_OPPOSITES: Final = (
    ("left", "right"), ("up", "down"), ("upward", "downward"), ("upwards", "downwards"), ("forward", "backward"),
    ("forwards", "backwards"), ("open", "close"), ("open", "shut"), ("in", "out"), ("into", "out"), ("on", "off"),
    ("raise", "lower"), ("lift", "lower"), ("push", "pull"), ("enter", "exit"), ("enter", "leave"), ("stand", "sit"),
    ("rise", "fall"), ("ascend", "descend"), ("tie", "untie"), ("lock", "unlock"), ("fold", "unfold"),
    ("load", "unload"), ("appear", "disappear"), ("toward", "away"), ("towards", "away"),
    ("clockwise", "counterclockwise"),
    ("accelerate", "decelerate"), ("start", "stop"), ("inhale", "exhale"), ("zip", "unzip"), ("wrap", "unwrap"),
)  # fmt: skip
_WORD: Final = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")


class Similarity:
    """Text similarity; each distinct text is embedded once.

    Args:
        embed: Texts to (N, D) unit vectors; None compares words instead.
        name: For records.

    Attributes:
        embed: As it was given.
        name: As it was given.
    """

    def __init__(self, embed: Embed | None, name: str) -> None:
        self.name = name
        self.embed = embed
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._words: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def prepare(self, texts: Iterable[str]) -> None:
        """Embed texts in one batch, much faster than one by one."""
        missing = [text for text in dict.fromkeys(map(_plain, texts)) if text and text not in self._vectors]
        if self.embed is not None and missing:
            self._vectors.update(zip(missing, self.embed(missing), strict=True))

    def matrix(self, texts: Sequence[str], others: Sequence[str]) -> FloatArray:
        """Return (N, M) similarities of each text with each of the others, 0 to 1."""
        rows, columns = [_plain(text) for text in texts], [_plain(text) for text in others]
        if not rows or not columns:
            return np.zeros((len(rows), len(columns)))
        values = self._overlaps(rows, columns) if self.embed is None else self._cosines(rows, columns)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                if row == column:
                    values[i, j] = 1.0 if row else 0.0
                elif values[i, j] > 0 and self._opposed(row, column):
                    values[i, j] *= OPPOSITE
        return values

    def _cosines(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        self.prepare([*rows, *columns])
        width = next(iter(self._vectors.values())).shape if self._vectors else (1,)
        nothing = np.zeros(width, np.float32)
        first, second = (np.stack([self._vectors.get(text, nothing) for text in side]) for side in (rows, columns))
        cosines = (first @ second.T).astype(np.float64)
        return np.clip((cosines - LEAST_COSINE) / (FULL_COSINE - LEAST_COSINE), 0.0, 1.0)

    def _overlaps(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return rescaled Dice coefficients of content words, verbs in base form."""
        bags, others = ([self._bags(text)[0] for text in side] for side in (rows, columns))
        shared = np.array([[2 * len(a & b) / max(1, len(a) + len(b)) for b in others] for a in bags])
        return np.clip((shared - LEAST_OVERLAP) / (FULL_OVERLAP - LEAST_OVERLAP), 0.0, 1.0)

    def _opposed(self, text: str, other: str) -> bool:
        words, others = self._bags(text)[1], self._bags(other)[1]
        alone, other_alone = words - others, others - words
        return any((a in alone and b in other_alone) or (b in alone and a in other_alone) for a, b in _OPPOSITES)

    def _bags(self, text: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the content words and all words of a text, verbs in base form."""
        if text not in self._words:
            words = frozenset(
                word if word in ("left", "open") else verb_lemma(word) or word for word in _WORD.findall(text)
            )
            self._words[text] = (words - FUNCTION_WORDS or words, words)
        return self._words[text]


def installed_similarity(requested: str | None = None) -> Similarity:
    """Return similarity by sentence embedding if installed, else by word overlap; its name tells which.

    Args:
        requested: ``"embedding"`` or ``"words"``; None takes what is there.

    Raises:
        SetupError: The embedding is requested but not installed.
    """
    if requested == "words" or (requested is None and not embedding_installed()):
        why = "" if requested else f"; {MODEL} is not installed ({INSTALL})"
        return Similarity(None, f"overlap of words{why}")
    identity = embedding_identity()
    return Similarity(embed, f"{identity.model} ({identity.source} {identity.version}, sha256 {identity.sha256[:12]})")


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


# Motions of a camera as kinds and directions: pan left, push in, static. For comparing what was said of it.

WITHOUT_DIRECTION: Final = 0.6
"""Similarity factor where only one motion has a direction."""
RELATED: Final = 0.5
"""Similarity of easily confused motions in one direction: pan and truck, tilt and pedestal, zoom and dolly."""

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


@dataclass(frozen=True, slots=True)
class CameraMotion:
    """A camera motion.

    Attributes:
        kind: Kind of motion, or None if no word is known.
        directions: Where to; a diagonal has two.
    """

    kind: str | None
    directions: frozenset[str] = frozenset()


def camera_motion(text: str) -> CameraMotion:
    """Return the camera motion that a text names.

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


def camera_matrix(similarity: Similarity, candidate: Sequence[str], reference: Sequence[str]) -> FloatArray:
    """Return (N, M) similarities of camera motions: by kind and direction where known, else as texts."""
    motions, others = [camera_motion(text) for text in candidate], [camera_motion(text) for text in reference]
    values = np.zeros((len(candidate), len(reference)))
    for i, motion in enumerate(motions):
        for j, other in enumerate(others):
            if motion.kind is None or other.kind is None:
                values[i, j] = similarity.matrix([candidate[i]], [reference[j]])[0, 0]
            else:
                values[i, j] = _likeness(motion, other)
    return values


def _likeness(motion: CameraMotion, other: CameraMotion) -> float:
    kinds = frozenset((motion.kind, other.kind))
    related = kinds in _RELATED or ("move" in kinds and "static" not in kinds)
    same_kind = 1.0 if len(kinds) == 1 else RELATED if related else 0.0
    if not motion.directions and not other.directions:
        return same_kind
    if not motion.directions or not other.directions:
        return same_kind * WITHOUT_DIRECTION
    return same_kind * len(motion.directions & other.directions) / len(motion.directions | other.directions)
