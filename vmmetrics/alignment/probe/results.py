"""What a probe finds, per metric: what it notices from which strength on, what else moves it, and what should not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vmmetrics.utils.schema import plain
from vmmetrics.utils.statistics.paired import Mean


@dataclass(frozen=True, slots=True)
class Tolerance:
    """By how much a score may change where nothing that matters did, in shares of the metric's scale.

    Attributes:
        mean: Of the absolute change, over clips.
        single: For one clip.
    """

    mean: float = 0.03
    single: float = 0.10


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """A metric's own measure.

    Attributes:
        name: The metric.
        scale: What its changes are read against: 1 for ours, which run from 0 to 1; for others the range of all
            scores they gave in this probe.
        noise: Root mean square of its changes under harmless changes, at least 1 % of ``scale``; None where nothing
            harmless was probed.
        clips: Clips whose untouched version has a score.
        lost: Why the others have none, by clip.
    """

    name: str
    scale: float
    noise: float | None
    clips: int
    lost: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Point:
    """The answer to one strength.

    Attributes:
        strength: Of the defect.
        change: Mean change of the score over clips, with its 95 % bootstrap interval (from four clips on); None where
            no clip has a score before and after.
        gone: Clips that lost their score by it.
    """

    strength: float
    change: Mean | None
    gone: int


@dataclass(frozen=True, slots=True)
class Curve:
    """How a metric answers a defect of growing strength.

    Attributes:
        metric: The metric.
        defect: The defect.
        points: Ascending in strength.
        fitted: The monotone curve through 0 at strength 0 that fits the means best, one value per point that has one.
        step_back: Largest distance of a mean from it, in the metric's unit; None without a point.
        monotone: Whether that is within the metric's noise; None where either is not known.
        noticed: Smallest probed strength at which the interval of the change excludes 0 and the mean change exceeds
            the metric's noise.
        unnoticed: Why there is no such strength.
    """

    metric: str
    defect: str
    points: tuple[Point, ...]
    fitted: tuple[float, ...]
    step_back: float | None
    monotone: bool | None
    noticed: float | None
    unnoticed: str | None = None


@dataclass(frozen=True, slots=True)
class Specificity:
    """What a defect moves, at the greatest strength probed.

    Attributes:
        defect: The defect.
        owner: Metric that ought to notice.
        effects: Metric to mean change in units of its noise, the largest first; metrics without a value are left out.
        owner_first: Whether the owner is moved most of the five, each of which ought to notice something else; None
            where the owner was not probed or has no value.
    """

    defect: str
    owner: str | None
    effects: Mapping[str, float]
    owner_first: bool | None


@dataclass(frozen=True, slots=True)
class Invariance:
    """What a harmless change does to a metric.

    Attributes:
        metric: The metric.
        change: What was done.
        strength: How much of it.
        mean: Mean absolute change of the score.
        largest: Largest.
        clip: Where that is.
        clips: How many have a score before and after.
        gone: How many lost it.
        within: Whether mean and largest are within the tolerance.
    """

    metric: str
    change: str
    strength: float
    mean: float
    largest: float
    clip: str
    clips: int
    gone: int
    within: bool


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The lowest frame rate at which a metric's score of a clip is what it is at the clip's own rate.

    Attributes:
        metric: The metric.
        clip: The clip.
        native: Its own rate.
        lowest: Lowest rate tried down to which every score stays within the tolerance; the clip's own where the first
            one does not.
        bounded: Whether a lower rate was tried and failed; else the clip is too short for more, and the truth may be
            lower.
        tried: Rate to change of the score, from the highest; None where the score was lost.
    """

    metric: str
    clip: str
    native: float
    lowest: float
    bounded: bool
    tried: tuple[tuple[float, float | None], ...]


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """All of it.

    Attributes:
        metrics: Facts on each metric.
        clips: Clips probed.
        defects: In the order of the tables.
        strengths: At which they were injected.
        tolerance: That invariances and frame rates are held against.
        curves: One per metric and defect.
        specificity: One per defect.
        invariances: One per metric, harmless change and strength.
        rates: One per metric and clip.
        inapplicable: (clip, defect, why): what could not be done.
        failures: (clip, case, metric or None, why): what went wrong.
        seconds: Of work.
        settings: What every score depends on.
    """

    metrics: tuple[MetricFacts, ...]
    clips: tuple[str, ...]
    defects: tuple[str, ...]
    strengths: tuple[float, ...]
    tolerance: Tolerance
    curves: tuple[Curve, ...]
    specificity: tuple[Specificity, ...]
    invariances: tuple[Invariance, ...]
    rates: tuple[RateLimit, ...]
    inapplicable: tuple[tuple[str, str, str], ...]
    failures: tuple[tuple[str, str, str | None, str], ...]
    seconds: float
    settings: Mapping[str, Any]

    def curve(self, metric: str, defect: str) -> Curve:
        """Return one curve.

        Raises:
            KeyError: It was not probed.
        """
        for curve in self.curves:
            if (curve.metric, curve.defect) == (metric, defect):
                return curve
        raise KeyError(f"{defect} was not probed for {metric}")

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        values: dict[str, Any] = plain(self)
        return values
