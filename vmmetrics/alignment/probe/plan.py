"""What is done to which clip: the cases of a probe."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vmmetrics.alignment.perturbations import DEFECTS, INVARIANCES, perturbation
from vmmetrics.alignment.perturbations.harmless import at_rate, scaled
from vmmetrics.alignment.perturbations.library import names
from vmmetrics.clip import Clip

CLEAN = "clean"
RATE = "rate"
STRENGTHS = (0.25, 0.5, 1.0)
"""Of defects: the ladder's first, second and last rung."""
HARMLESS_STRENGTHS = (1 / 3, 2 / 3, 1.0)
"""Of invariances: x264 at CRF 18, 23 and 28."""
STRIDES = (2, 3, 4, 6, 8, 12, 16)
"""Frame rates tried for minFPS, as parts of the clip's own: halving, and a step between. Whole parts keep the beat
even, so that nothing is tried but the rate."""
LEAST_FRAMES_LEFT = 6
"""Frames that a clip must have left at a rate."""
LIBRARY = 1
"""Version of the perturbations; a probe does not go on with another."""


@dataclass(frozen=True, slots=True)
class Case:
    """One version of a clip.

    Attributes:
        kind: :data:`CLEAN`, a perturbation, or :data:`RATE`.
        strength: Of the perturbation; 0 for clean; for a rate the stride.
    """

    kind: str
    strength: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What a probe does to every clip.

    Attributes:
        defects: Names of defects; None takes all.
        strengths: At which defects are injected, in (0, 1].
        invariances: Names of harmless changes; None takes all.
        harmless_strengths: At which they are made.
        rates: Whether minFPS is looked for.
        seconds: Taken from the middle of every clip; None takes all of it.
        short_side: Clips are made smaller to this short side, pixels; None leaves them.
        most_fps: Of clips with more frames a second every second, third, ... is taken; None takes all.
        seed: Everything random.

    Raises:
        ValueError: An unknown name, or a strength out of (0, 1].
    """

    defects: tuple[str, ...] | None = None
    strengths: tuple[float, ...] = STRENGTHS
    invariances: tuple[str, ...] | None = None
    harmless_strengths: tuple[float, ...] = HARMLESS_STRENGTHS
    rates: bool = True
    seconds: float | None = None
    short_side: int | None = None
    most_fps: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "defects", names(self.defects, DEFECTS))
        object.__setattr__(self, "invariances", names(self.invariances, INVARIANCES))
        for which in ("strengths", "harmless_strengths"):
            given = tuple(sorted({float(s) for s in getattr(self, which)}))
            if not given or not all(0 < s <= 1 for s in given):
                raise ValueError(f"Expected strengths in (0, 1] but got {list(given)}")
            object.__setattr__(self, which, given)
        for which in ("seconds", "most_fps"):
            given = getattr(self, which)
            if given is not None and not given > 0:
                raise ValueError(f"Expected {which} above 0 but got {given}")
        if self.short_side is not None and self.short_side < 32:
            raise ValueError(f"Expected a short side of 32 pixels or more but got {self.short_side}")

    def cases(self) -> Iterator[Case]:
        """Yield the cases of a clip, the clean one first."""
        yield Case(CLEAN, 0.0)
        for name in self.invariances or ():
            strengths = self.harmless_strengths if INVARIANCES[name].graded else (1.0,)
            yield from (Case(name, strength) for strength in strengths)
        for name in self.defects or ():
            yield from (Case(name, strength) for strength in self.strengths)
        if self.rates:
            yield from (Case(RATE, float(stride)) for stride in STRIDES)

    def configuration(self, metrics: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return what every score depends on besides clip and case."""
        return {
            "metrics": list(metrics),
            "seed": self.seed,
            "seconds": self.seconds,
            "short_side": self.short_side,
            "most_fps": self.most_fps,
            "perturbations": LIBRARY,
        }

    def generator(self, clip: str, kind: str) -> np.random.Generator:
        """Return the generator of a perturbation of a clip: the same at every strength, whatever else is probed."""
        return np.random.default_rng([self.seed, zlib.crc32(clip.encode("utf-8", "surrogatepass")),
                                      zlib.crc32(kind.encode())])  # fmt: skip


def window(clip: Clip, plan: Plan) -> Clip:
    """Return the part of ``clip`` that is probed, in the size that is."""
    if plan.seconds is not None and len(clip) > 1:
        middle = float(clip.timestamps[-1]) / 2
        first, last = np.searchsorted(clip.timestamps, (middle - plan.seconds / 2, middle + plan.seconds / 2))
        kept = slice(int(first), max(int(last), int(first) + 1))
        times = clip.timestamps[kept] - clip.timestamps[kept.start]
        clip = replace(clip, frames=clip.frames[kept], timestamps=times)
    if plan.most_fps is not None and clip.fps > plan.most_fps:
        clip = at_rate(clip, clip.fps / math.ceil(clip.fps / plan.most_fps))
    if plan.short_side is not None and min(clip.width, clip.height) > plan.short_side:
        clip = scaled(clip, plan.short_side / min(clip.width, clip.height))
    return clip


def needs_things(kind: str) -> bool:
    """Whether it must be known where things and people are to make this case."""
    return kind not in (CLEAN, RATE) and perturbation(kind).needs_things
