"""CAS, commonsense adherence: asks for the probabilities of the five levels, and over which frames each view went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from vmmetrics.functional import commonsense_adherence_score
from vmmetrics.perception.scene import Scene
from vmmetrics.types import FloatArray, MetricResult


def measure(scene: Scene) -> MetricResult:
    """Score a clip's commonsense adherence; missing where the preset has no plausibility model."""
    model = scene.models.plausibility
    if model is None:
        return MetricResult(None, "this preset has no commonsense classifier yet")
    result = commonsense_adherence_score(scene.probabilities)
    views = model.view_frames(scene)
    over_time = score_over_time(result.view_scores, views, len(scene.clip))
    return replace(
        result,
        view_frames=tuple((view[0], view[-1]) for view in views),
        series=MappingProxyType({"plausibility": over_time}),
    )


def score_over_time(scores: Sequence[float], views: Sequence[tuple[int, ...]], num_frames: int) -> FloatArray:
    """Mean score of the views that reach over each frame.

    Args:
        scores: (V,) score of each view.
        views: (V,) its frames, ascending; a view reaches from its first to its last.
        num_frames: T, frames of the clip.

    Returns:
        (T,) float64, NaN where no view reaches.
    """
    total, count = np.zeros(num_frames), np.zeros(num_frames)
    for score, view in zip(scores, views, strict=True):
        total[view[0] : view[-1] + 1] += score
        count[view[0] : view[-1] + 1] += 1
    mean = np.full(num_frames, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean
