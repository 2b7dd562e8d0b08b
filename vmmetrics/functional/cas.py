"""CAS, commonsense adherence: the expected level under the probabilities of five levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vmmetrics.functional._checks import as_floats
from vmmetrics.functional.event_costs import Loss
from vmmetrics.types import Event, PlausibilityResult

LEVELS = ("Bad", "Poor", "Fair", "Good", "Perfect")
"""The five levels, ascending."""
LEVEL_VALUES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
"""Score of each level."""
NEARLY_PERFECT = 0.95
"""Score from which there is no event."""
ROW_SUM_TOLERANCE = 1e-4
"""Deviation of a row's sum from 1 allowed for a float32 softmax."""


def commonsense_adherence_score(probs: ArrayLike) -> PlausibilityResult:
    """Score commonsense adherence: the expected level under the classifier's probabilities.

    CAS = Σ_i p_i · v_i with p the mean over views and v = (0, 0.25, 0.5, 0.75, 1). Both protocols agree here.

    Args:
        probs: (V, 5) float, one row per view (temporal segment × crop) of the same clip, or (5,) for one view;
            columns Bad, Poor, Fair, Good, Perfect; entries in 0..1, rows sum to 1.

    Returns:
        Score in 0..1, 1 best, with the mean probabilities and the score of each view; below 0.95 one event with the
        most likely level, and where that is Perfect the second most likely. The event has no frames: the classifier
        judges the clip as a whole.

    Raises:
        ValueError: If the shape, the range or a row sum is not as above, or a value is NaN.

    References:
        VMBench (arXiv 2503.10076), commonsense adherence score.

    Example:
        >>> commonsense_adherence_score([0.1, 0.1, 0.2, 0.2, 0.4]).score
        0.675
    """
    array = np.asarray(probs)
    rows = as_floats("probs", array[None] if array.ndim == 1 else array, "V, 5")
    if len(rows) == 0:
        raise ValueError("Expected probs of at least one view but got shape (0, 5)")
    if rows.min() < 0 or rows.max() > 1:
        raise ValueError(f"Expected probs in 0..1 but got values from {rows.min():.6g} to {rows.max():.6g}")
    sums = rows.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > ROW_SUM_TOLERANCE:
        raise ValueError(f"Expected rows of probs to sum to 1 but got {sums[worst]:.6g} in row {worst}")

    mean = rows.mean(axis=0)
    score = min(float(mean @ LEVEL_VALUES), 1.0)  # a float32 row may sum to a hair above 1
    level, other = int(np.argmax(mean)), int(np.argmax(mean[:-1]))
    judged = Event("cas", (), f"motion classified as {LEVELS[level]}", magnitude=float(mean[level]))
    if LEVELS[level] == "Perfect":
        reason = f"motion classified as Perfect, or else {LEVELS[other]}"
        judged = Event("cas", (), reason, magnitude=float(mean[level]))
    return PlausibilityResult(
        score=score,
        events=() if score >= NEARLY_PERFECT else (judged,),
        probabilities=tuple(mean.tolist()),
        view_scores=tuple(np.minimum(rows @ LEVEL_VALUES, 1.0).tolist()),
    )


def divide_loss(loss: Loss) -> list[float | None]:
    """Return the cost of each unexcused event (:mod:`.event_costs`): that of the level carries the whole loss."""
    return [None if event.frames else loss.lost for event in loss.events]
