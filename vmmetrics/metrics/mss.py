"""MSS, motion smoothness: asks for the quality of every frame, and at which amplitude of motion it is to be read."""

from __future__ import annotations

from vmmetrics.functional import motion_smoothness_score
from vmmetrics.perception.scene import Scene
from vmmetrics.types import MetricResult, Protocol

EMBEDDED_THRESHOLD = 0.15
"""Drop of the embedded quality model that counts, from benchmarks/quality_thresholds.py."""


def measure(scene: Scene, protocol: Protocol, amplitude: float | None) -> MetricResult:
    """Score a clip's motion smoothness.

    Args:
        scene: The clip.
        protocol: ``"vmmetrics"`` or ``"vmbench"``.
        amplitude: Amplitude of the clip's motion as PAS gives it, or None.
    """
    if len(scene.clip) == 1:
        return MetricResult(None, "one frame: no change of quality to judge")
    return motion_smoothness_score(scene.quality, amplitude, threshold=EMBEDDED_THRESHOLD, protocol=protocol)
