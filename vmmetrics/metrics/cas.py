"""CAS, commonsense adherence: from the probabilities of the five levels per view of a clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from vmmetrics.functional import commonsense_adherence_score
from vmmetrics.perception.scene import ExplainingModel, Scene
from vmmetrics.types import Box, Event, FloatArray, MetricResult, PlausibilityResult, Protocol, SaliencyMap

LEAST_GAIN = 0.05
"""Least gain of a part for an event: less changes no score by more than half of the last digit in tables."""


def measure(scene: Scene, protocol: Protocol = "vmmetrics") -> MetricResult:  # noqa: ARG001 - the same by both
    """Score a clip's commonsense adherence; missing without a plausibility model or with too few frames."""
    model = scene.models.plausibility
    if model is None:
        return MetricResult(None, "this preset has no commonsense classifier")
    views = model.view_frames(scene)
    if not views:
        return MetricResult(None, f"{len(scene.clip)} frame{'s' * (len(scene.clip) != 1)}: too few to judge motion")
    result = commonsense_adherence_score(scene.probabilities)
    over_time = score_over_time(result.view_scores, views, len(scene.clip))
    result = replace(
        result,
        view_frames=tuple((view[0], view[-1]) for view in views),
        series=MappingProxyType({"plausibility": over_time}),
    )
    explain = isinstance(model, ExplainingModel) and result.score is not None and result.score < model.explained_below
    return explained(scene, result) if explain else result


def explained(scene: Scene, result: PlausibilityResult) -> PlausibilityResult:
    """Return a clip's result with the model's saliency, and the part that cost most as an event."""
    model = scene.models.plausibility
    looks = model.saliency(scene) if isinstance(model, ExplainingModel) else ()
    # A perfect clip has no event; else the part that cost most follows the event of the whole clip.
    where = worst_part(looks, (scene.clip.width, scene.clip.height)) if result.events else None
    return replace(result, events=(*result.events, *([where] if where else [])), looks=looks)


def score_over_time(scores: Sequence[float], views: Sequence[tuple[int, ...]], num_frames: int) -> FloatArray:
    """Return the mean score of the views that span each frame.

    Args:
        scores: (V,) score of each view.
        views: (V,) its frame indices, ascending; a view spans from its first to its last.
        num_frames: T, frames of the clip.

    Returns:
        (T,) float64, NaN where there is no view.
    """
    total, count = np.zeros(num_frames), np.zeros(num_frames)
    for score, view in zip(scores, views, strict=True):
        total[view[0] : view[-1] + 1] += score
        count[view[0] : view[-1] + 1] += 1
    return np.asarray(np.divide(total, count, out=np.full(num_frames, np.nan), where=count > 0))


def worst_part(looks: Sequence[SaliencyMap], size: tuple[int, int]) -> Event | None:
    """Return the part and time with the largest gain as an event, or None below :data:`LEAST_GAIN`.

    Args:
        looks: The model's saliency maps.
        size: Width and height of the clip, pixels.
    """
    if not looks:
        return None
    gain = np.sum([look.gain for look in looks], axis=0)
    if np.max(gain) < LEAST_GAIN:
        return None
    row, column = (int(i) for i in np.unravel_index(int(np.argmax(gain)), gain.shape))
    best = max(looks, key=lambda look: look.gain[row][column])
    width, height = size[0] / gain.shape[1], size[1] / gain.shape[0]
    box: Box = (column * width, row * height, (column + 1) * width, (row + 1) * height)
    return Event("cas", (best.frame,), best.reason, box=box, magnitude=float(gain[row, column]), threshold=LEAST_GAIN)
