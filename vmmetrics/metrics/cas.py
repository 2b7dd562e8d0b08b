"""CAS, commonsense adherence: asks for the probabilities of the five levels."""

from __future__ import annotations

from vmmetrics.functional import commonsense_adherence_score
from vmmetrics.perception.scene import Scene
from vmmetrics.types import MetricResult


def measure(scene: Scene) -> MetricResult:
    """Score a clip's commonsense adherence; missing where the preset has no plausibility model."""
    if scene.models.plausibility is None:
        return MetricResult(None, "this preset has no commonsense classifier yet")
    return commonsense_adherence_score(scene.probabilities)
