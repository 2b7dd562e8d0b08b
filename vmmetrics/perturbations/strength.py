"""What a strength in (0, 1] means: a table of amounts, a quarter of the scale apart, and what lies between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RUNGS = 4
"""Steps of the ladder that the tables come from: rung r, of which 1 is just visible in play and 4 glaring, is strength
r / RUNGS."""


def graded(strength: float, amounts: Sequence[float], none: float = 0.0) -> float:
    """Return the amount at ``strength``, between the tabulated ones along straight lines.

    Args:
        strength: In [0, 1].
        amounts: At strengths 1/n, 2/n, ..., 1.
        none: At strength 0.

    >>> graded(0.5, (1.0, 3.0)), graded(1.0, (0.5,)), graded(0.25, (1.0, 3.0))
    (1.0, 0.5, 0.5)
    """
    places = np.arange(len(amounts) + 1) / len(amounts)
    return float(np.interp(strength, places, (none, *amounts)))


def events(strength: float, counts: Sequence[int]) -> int:
    """Return how often something happens at ``strength``: as :func:`graded`, rounded half up; 0 near strength 0.

    >>> events(0.1, (1, 2, 3, 5)), events(0.125, (1, 2, 3, 5)), events(1.0, (1, 2, 3, 5))
    (0, 1, 5)
    """
    return int(graded(strength, counts) + 0.5)
