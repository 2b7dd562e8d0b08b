"""What the metrics hand back: a score or the reason why there is none, and the events that cost points."""

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

Tags = Mapping[str, str | float]
"""What a prompt list says of the kind of motion asked for, by name (``"pattern"``, ``"skeleton"``, ``"seconds"``)."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing seen in a clip that cost points, or that would have and was excused.

    Attributes:
        metric: Key of the metric (``"tcs"``).
        frames: Every frame index at fault, ascending. A change between two frames names the later one.
        reason: What happened, in words (``"vanished without cause"``).
        target: Part, joint or object concerned (``"left forearm"``, ``"object 2"``), or None for the frame.
        box: Where, as (x0, y0, x1, y1) in pixels of the clip, or None.
        magnitude: Size of the defect in the unit of ``threshold``, or None.
        threshold: What the magnitude was held against, or None.
        excuse: Why it cost nothing (``"left through the edge"``), or None where it did cost.
    """

    metric: str
    frames: tuple[int, ...]
    reason: str
    target: str | None = None
    box: Box | None = None
    magnitude: float | None = None
    threshold: float | None = None
    excuse: str | None = None


@dataclass(frozen=True, slots=True)
class MetricResult:
    """A score, or the reason why there is none; never both, never NaN.

    Attributes:
        score: The score, or None where it is missing.
        missing: Why there is no score, or None.
        events: What cost points, and what was excused.
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

    @property
    def numbers(self) -> Mapping[str, float]:
        """Numbers beside the score that tables show, by column; none for most metrics."""
        return {}

    @property
    def details(self) -> Mapping[str, Any]:
        """What is stored of a result beside its events and series, by name; nothing for most metrics."""
        return {}


@dataclass(frozen=True, slots=True)
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
class Look:
    """Where a plausibility model looked at one moment of a clip.

    Attributes:
        frame: Index of the frame.
        gain: Rows of a grid over the frame: this moment's share of how much the logarithm of the odds of a worse
            verdict falls with that part left out of the view; what lies above 0 speaks against the motion. A part the
            model did not see has 0.
        reason: What kind of evidence counts most in this view, in words.
    """

    frame: int
    gain: tuple[tuple[float, ...], ...]
    reason: str


@dataclass(frozen=True, slots=True)
class PlausibilityResult(MetricResult):
    """A :class:`MetricResult` of CAS, with what its score was made from.

    Attributes:
        probabilities: Of the five levels Bad to Perfect, mean over the views; empty where there is no score.
        view_scores: The score of each view by itself; empty where there is no score.
        view_frames: First and last frame of each view; empty where they are not known.
        looks: Where the model looked in its worst view; empty where it cannot say.
    """

    probabilities: tuple[float, ...] = ()
    view_scores: tuple[float, ...] = ()
    view_frames: tuple[tuple[int, int], ...] = ()
    looks: tuple[Look, ...] = ()

    @property
    def details(self) -> Mapping[str, Any]:
        """What the score was made from."""
        return {name: getattr(self, name) for name in ("probabilities", "view_scores", "view_frames", "looks")}
