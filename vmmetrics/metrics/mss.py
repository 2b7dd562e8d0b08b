"""MSS, motion smoothness: from the quality of every frame, and the amplitude of motion that sets the threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.functional import motion_smoothness_score
from vmmetrics.functional.mss import SMOOTHNESS_THRESHOLDS, SmoothnessThresholds
from vmmetrics.perception.scene import Scene
from vmmetrics.types import FloatArray, MetricResult, Protocol

EMBEDDED_THRESHOLDS = SmoothnessThresholds(
    amplitude_bounds=(0.05, 0.2), thresholds=(0.15, 0.15, 0.15), unknown_amplitude=0.15
)
"""Thresholds of the embedded quality, by amplitude in diagonals per second (benchmarks/quality_thresholds.py).

In nine windows of real footage of all three classes (441 frames at 7 to 30 frames per second) the quality of clean
frames dropped by at most 0.06, except for single frames that the model took for defects (0.27 to 0.62); 0.15 lies in
between. The quality model itself allows for motion, so that the classes share one threshold.
"""


def measure(scene: Scene, protocol: Protocol, pas: MetricResult | None = None) -> MetricResult:
    """Score a clip's motion smoothness.

    Under ``"vmbench"`` the released code's rule applies (a change in either direction flags both frames); scores from
    another quality model than Q-Align are not comparable with published ones.

    Args:
        scene: The clip.
        protocol: ``"vmmetrics"`` or ``"vmbench"``.
        pas: PAS under the same protocol, whose amplitude sets the threshold; None if missing.

    Returns:
        Score in 0..1, 1 best; missing for a single frame. The score counts the frames with a drop of quality (the
        formula) and, under ``"vmmetrics"``, the square of each frame's unsteadiness where the preset has a model for
        it; events there extend from the drop to the frame in which the quality has recovered.
    """
    amplitude = None if pas is None else pas.numbers.get("amplitude")
    if len(scene.clip) == 1:
        return MetricResult(None, "one frame: no change of quality to judge")
    if scene.models.released is not None:
        threshold = SMOOTHNESS_THRESHOLDS[protocol].at(amplitude)
    else:  # VMBench's amplitudes are per clip, in another unit than the bounds of the embedded table
        threshold = EMBEDDED_THRESHOLDS.at(amplitude if protocol == "vmmetrics" else None)
    if protocol == "vmbench":
        return motion_smoothness_score(scene.quality, amplitude, threshold=threshold, protocol=protocol)
    unsteady = scene.unsteadiness
    result = motion_smoothness_score(scene.quality, amplitude, threshold=threshold, unsteadiness=unsteady)
    events = (replace(e, frames=_until_back(scene.quality, e.frames[0], threshold)) for e in result.events)
    return replace(result, events=tuple(events))


def beside(clip: Clip, protocol: Protocol) -> tuple[str, ...]:  # noqa: ARG001 - any clip
    """Return the properties of the scene that can be computed while other metrics run."""
    return ("unsteadiness", "quality") if protocol == "vmmetrics" else ("quality",)


def _until_back(quality: FloatArray, drop: int, allowed: float) -> tuple[int, ...]:
    """Return the frames from ``drop`` until quality is within ``allowed`` of before; ``drop`` alone if it never is."""
    back = np.flatnonzero(quality[drop:] >= quality[drop - 1] - allowed)
    return tuple(range(drop, drop + int(back[0]))) if len(back) else (drop,)
