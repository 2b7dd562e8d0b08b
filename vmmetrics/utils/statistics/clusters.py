"""Clips of one prompt are no independent clips: design effects, and what a study can tell inside models."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import CONFIDENCE

Z95 = float(ndtri((1 + CONFIDENCE) / 2))
"""Quantile of the normal distribution for both ends of a 95 % interval."""
PROMPT_SHARE = 0.2
"""Default share of the ratings' variance between prompts."""


def design_effect(clips_per_prompt: float, share: float) -> float:
    """Return the design effect: how many clips of a clustered study are worth one independent clip.

    Args:
        clips_per_prompt: m; for unequal numbers their mean weighted by themselves.
        share: ι_ratings ι_scores.
    """
    return 1 + (clips_per_prompt - 1) * share


def smallest_within_model(clips: Sequence[int], share: float = 0.0) -> float | None:
    """Return the smallest mean within-model Spearman that a two-sided test at 5 % tells from 0.

    With nothing to find Spearman of n clips has the variance 1 / (n − 1); models that made clips of the same prompts
    have correlations in common as far as prompts do.

    Args:
        clips: Clips of each model.
        share: ι_ratings ι_scores inside models.

    Returns:
        The correlation; None where no model has three clips or nothing below 1 would do.

    >>> round(smallest_within_model([35] * 4), 3), round(smallest_within_model([17] * 4), 3)
    (0.168, 0.245)
    """
    variances = np.array([1 / (count - 1) for count in clips if count >= 3])
    if not variances.size:
        return None
    mean = variances.sum() / variances.size**2
    smallest = Z95 * math.sqrt(mean * design_effect(variances.size, share))
    return smallest if smallest < 1 else None


def prompt_share(values: FloatArray, prompts: Sequence[str]) -> float | None:
    """Return the share of variance between prompts: ICC(1) of Shrout and Fleiss, with Donner's mean size.

    Args:
        values: (N,), NaN where missing.
        prompts: (N,) prompt of each clip.

    Returns:
        0 to 1 (0 where prompts differ by less than chance); None where no prompt has two clips or nothing varies.
    """
    finite = np.flatnonzero(~np.isnan(values))
    if not finite.size:
        return None
    prompt = np.unique(np.asarray(prompts, dtype=object)[finite].astype(str), return_inverse=True)[1]
    sizes = np.bincount(prompt)
    spare = finite.size - sizes.size
    if spare < 1 or sizes.size < 2:
        return None
    centred = values[finite] - values[finite].mean()
    means = np.bincount(prompt, weights=centred) / sizes
    between = (sizes * means**2).sum() / (sizes.size - 1)
    within = ((centred - means[prompt]) ** 2).sum() / spare
    size = (finite.size - (sizes**2).sum() / finite.size) / (sizes.size - 1)
    whole = between + (size - 1) * within
    return float(min(max((between - within) / whole, 0.0), 1.0)) if whole > 0 else None
