"""Results of the metrics: a score or the reason why it is missing, and the events that cost points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
UInt8Array = NDArray[np.uint8]
Protocol = Literal["vmmetrics", "vmbench"]
Box = tuple[float, float, float, float]
INDEX_NEEDS = ("cas", "mss")
"""Metrics without which a clip has no index."""

Collapse = Literal["noise", "still", "slides"]
"""Content without motion to judge; such a clip has no scores, and its INDEX counts as 0 in what is said of a set."""
COLLAPSE_REASONS: Mapping[Collapse, str] = {
    "noise": "the clip is noise",
    "still": "nothing moves: all",
    "slides": "nothing moves:",
}
"""Beginnings of the reasons recorded for such clips, by which records know the kind: the first that fits."""


def collapse_of(reason: str) -> Collapse | None:
    """Return the kind of collapse that a recorded reason states; None for any other reason.

    >>> collapse_of("nothing moves: all 33 frames show the same image"), collapse_of("one frame")
    ('still', None)
    """
    return next((kind for kind, start in COLLAPSE_REASONS.items() if reason.startswith(start)), None)


Tags = Mapping[str, str | float]
"""Tags of a prompt list on the expected motion, by name (``"pattern"``, ``"skeleton"``, ``"seconds"``)."""


@dataclass(frozen=True, slots=True)
class Event:
    """One defect seen in a clip: it cost points, or was excused.

    Attributes:
        metric: Key of the metric (``"tcs"``).
        frames: Indices of the frames at fault, ascending; a change between two frames names the later one.
        reason: Text of the defect (``"vanished without cause"``).
        target: Part, joint or object concerned (``"left forearm"``, ``"object 2"``), or None for the frame.
        box: Region (x0, y0, x1, y1) in pixels of the clip, or None.
        magnitude: Size of the defect in the unit of ``threshold``, or None.
        threshold: Limit that the magnitude was compared with, or None.
        excuse: Reason why it cost nothing (``"left through the edge"``), or None if it cost points.
    """

    metric: str
    frames: tuple[int, ...]
    reason: str
    target: str | None = None
    box: Box | None = None
    magnitude: float | None = None
    threshold: float | None = None
    excuse: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class MetricResult:
    """A score, or the reason why there is none; never both, never NaN.

    Attributes:
        score: The score, or None where it is missing.
        missing: Reason why there is no score, or None.
        events: Defects that cost points, and excused ones.
        series: Per-frame values by name, each of length T (NaN where a frame has no value).
        applicable: False where the score is missing because the metric does not apply to what was asked for.
    """

    score: float | None
    missing: str | None = None
    events: tuple[Event, ...] = ()
    series: Mapping[str, FloatArray] = field(default_factory=lambda: MappingProxyType({}))
    applicable: bool = True

    def __post_init__(self) -> None:
        if (self.score is None) == (self.missing is None):
            raise ValueError("Expected either a score or a reason why it is missing, and not both")
        if self.score is not None and not np.isfinite(self.score):
            raise ValueError(f"Expected a finite score but got {self.score}")
        if self.score is not None and not self.applicable:
            raise ValueError("Expected no score from a metric that does not apply")

    def __repr__(self) -> str:
        text = f"missing: {self.missing}" if self.score is None else f"{self.score:.4f}"
        cost = sum(event.excuse is None for event in self.events)
        events = f"; events: {len(self.events)}, at cost: {cost}" if self.events else ""
        return f"{type(self).__name__}({text}{events})"

    @property
    def numbers(self) -> Mapping[str, float]:
        """Numbers beside the score that tables show, by column; none for most metrics."""
        return {}

    @property
    def details(self) -> Mapping[str, Any]:
        """Further fields of the stored result, by name; empty for most metrics."""
        return {}


@dataclass(frozen=True, slots=True, repr=False)
class AmplitudeResult(MetricResult):
    """A :class:`MetricResult` of PAS, with the amplitude before the perceptual threshold.

    Attributes:
        amplitude: Mean subject displacement, camera motion taken out, in frame diagonals per second
            (``vmmetrics``) or diagonals per clip (``vmbench``); None where there is no score.
    """

    amplitude: float | None = None

    @property
    def numbers(self) -> Mapping[str, float]:
        """The amplitude, where there is one."""
        return {} if self.amplitude is None else {"amplitude": float(self.amplitude)}


@dataclass(frozen=True, slots=True)
class SaliencyMap:
    """Saliency of a plausibility model at one moment of a clip.

    Attributes:
        frame: Index of the frame.
        gain: Saliency by occlusion, rows of a grid over the frame: drop of the log-odds of a worse verdict when the
            cell is removed from the view, as this moment's share. Above 0: evidence against the motion. Cells that the
            model did not see are 0.
        reason: Text of the kind of evidence that weighs most in this view.
    """

    frame: int
    gain: tuple[tuple[float, ...], ...]
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class PlausibilityResult(MetricResult):
    """A :class:`MetricResult` of CAS, with the values behind its score.

    Attributes:
        probabilities: Probabilities of the five levels Bad to Perfect, mean over the views; empty without a score.
        view_scores: Score of each view; empty without a score.
        view_frames: First and last frame of each view; empty if not recorded.
        looks: Saliency of the worst view; empty where the model has none.
    """

    probabilities: tuple[float, ...] = ()
    view_scores: tuple[float, ...] = ()
    view_frames: tuple[tuple[int, int], ...] = ()
    looks: tuple[SaliencyMap, ...] = ()

    @property
    def details(self) -> Mapping[str, Any]:
        """Probabilities, view scores, view frames and saliency maps."""
        return {name: getattr(self, name) for name in ("probabilities", "view_scores", "view_frames", "looks")}


def seconds_of(tags: Tags) -> float:
    """Return the seconds that the motion of a prompt is expected to take, by its tags; 0 where they do not say.

    >>> seconds_of({"seconds": 4}), seconds_of({"pattern": "fluid dynamics"})
    (4.0, 0.0)
    """
    seconds = tags.get("seconds", 0.0)
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def lasts_enough(tags: Tags, lasts: float, fps: float) -> bool:
    """Return True if a clip of so many seconds lasts as long as its prompt's motion, to half a frame.

    >>> lasts_enough({"seconds": 4}, 3.95, 8), lasts_enough({"seconds": 4}, 3.9, 8), lasts_enough({}, 1.0, 8)
    (True, False, True)
    """
    return lasts >= seconds_of(tags) - 0.5 / fps
