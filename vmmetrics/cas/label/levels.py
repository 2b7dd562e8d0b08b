"""Levels Bad, Poor, Fair, Good, Perfect from strengths.

Three ways to cut, each within a *pool* of clips (all of them, a prompt, or a component of the win graph):

- ``quantile``: equal shares. A clip's mid-rank share q = (rank − ½)/n decides: q < 0.2 is Bad, then steps of 0.2. Equal
  strengths share a rank, and so a level.
- ``normal``: strengths standardised by mean and standard deviation of the pool, cut at the quintiles of the normal
  distribution, ∓0.84 and ∓0.25. The shares follow the shape of the distribution.
- ``fixed``: four cuts in units of strength (log odds), the same for every pool.

Each clip also gets the probability of each level if its true strength is normal around the estimate, with its standard
error, and the cuts are where they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from vmmetrics.functional.cas import LEVELS

Floats = NDArray[np.float64]
Cut = Literal["quantile", "normal", "fixed"]
NORMAL_CUTS = tuple(float(ndtri(share)) for share in (0.2, 0.4, 0.6, 0.8))
"""Quintiles of the standard normal distribution."""
SAME = 1e-6
"""Strengths closer than this (log odds) are equal: the fit is exact to some 1e-9."""
UNCERTAIN = 0.5
"""Probability of the assigned level below which it is called uncertain."""


@dataclass(frozen=True, slots=True)
class Levels:
    """Levels of the clips of one pool or of several.

    Attributes:
        level: (N,) 0 Bad to 4 Perfect, −1 for a clip without strength.
        probabilities: (N, 5) probability of each level, NaN for a clip without strength.
        cuts: Per pool, the four strengths at which the level changes; ∓∞ where no clip lies beyond.
    """

    level: NDArray[np.int64]
    probabilities: Floats
    cuts: dict[int, tuple[float, ...]]


def cut_levels(
    strength: Floats, error: Floats, pool: NDArray[np.int64], cut: Cut, fixed: Sequence[float] | None = None
) -> Levels:
    """Cut strengths into levels.

    Args:
        strength: (N,) strengths, NaN where there is none.
        error: (N,) their standard errors.
        pool: (N,) number of the pool each clip is cut in.
        cut: How.
        fixed: The four ascending cuts for ``"fixed"``.

    Returns:
        Level and probabilities per clip.

    Raises:
        ValueError: ``fixed`` does not fit ``cut``, or is no four ascending numbers.
    """
    if (fixed is None) == (cut == "fixed"):
        raise ValueError("The cut 'fixed' needs four cuts, and no other takes them")
    if fixed is not None and (len(fixed) != 4 or not np.all(np.diff([*fixed]) > 0) or not np.all(np.isfinite(fixed))):
        raise ValueError(f"Expected four ascending cuts but got {', '.join(map(str, fixed))}")
    level = np.full(len(strength), -1, np.int64)
    probabilities = np.full((len(strength), len(LEVELS)), math.nan)
    cuts: dict[int, tuple[float, ...]] = {}
    for number in np.unique(pool):
        inside = np.flatnonzero((pool == number) & np.isfinite(strength))
        if len(inside) == 0:
            continue
        values = _snap(strength[inside])
        if cut == "quantile":
            share = (rankdata(values) - 0.5) / len(values)
            # a share of exactly 0.2 must not fall below it by rounding
            level[inside] = np.floor(share * len(LEVELS) + 1e-9)
            cuts[int(number)] = _between(values, level[inside])
        else:
            bounds = fixed if fixed is not None else values.mean() + values.std() * np.array(NORMAL_CUTS)
            level[inside] = np.searchsorted(np.asarray(bounds), values, side="right")
            cuts[int(number)] = tuple(float(bound) for bound in bounds)
        probabilities[inside] = _probabilities(strength[inside], error[inside], cuts[int(number)])
    return Levels(level, probabilities, cuts)


def _snap(values: Floats) -> Floats:
    """Replace runs of near-equal values by their mean, so that ties stay ties."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    run = np.concatenate([[0], np.cumsum(np.diff(ordered) > SAME)])
    snapped = np.empty_like(values)
    snapped[order] = (np.bincount(run, ordered) / np.bincount(run))[run]
    return snapped


def _between(values: Floats, level: NDArray[np.int64]) -> tuple[float, ...]:
    """Return cuts half way between the best clip below and the worst above."""
    cuts = []
    for number in range(1, len(LEVELS)):
        low = max(values[level < number], default=-math.inf)
        high = min(values[level >= number], default=math.inf)
        cuts.append(float((low + high) / 2))
    return tuple(cuts)


def _probabilities(strength: Floats, error: Floats, cuts: tuple[float, ...]) -> Floats:
    """Return Φ of the standardised distances to the cuts, differenced."""
    edges = np.array([-math.inf, *cuts, math.inf])
    distance = (edges - strength[:, None]) / error[:, None]
    upper = np.diff(ndtr(distance), axis=1)
    lower = -np.diff(ndtr(-distance), axis=1)  # the same, exact in the other tail
    return np.asarray(np.abs(np.where(distance[:, :-1] > 0, lower, upper)))  # an empty level is 0, not -0
