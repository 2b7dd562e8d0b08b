"""MSS, motion smoothness: from the quality of every frame, and its content beside that of its neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.functional import motion_smoothness_score
from vmmetrics.functional.mss import SMOOTHNESS_THRESHOLDS
from vmmetrics.perception.scene import Scene
from vmmetrics.types import FloatArray, MetricResult, Protocol

# Limits of the embedded models, from 114 windows of 57 clean sources (train and validation, shown at 1 and 3 times
# their speed) and 458 windows with defects; benchmarks/quality_thresholds.py prints what they let through.

DROP = 0.5
"""Least drop, as a share of the clip's median quality; a certain defect takes 0.8."""
VMBENCH_DROP = 0.15
"""The same under ``"vmbench"``, absolute."""
EXPECTED = (0.39, 0.155)
"""Unsteadiness expected at pace p, diagonals a second: a + b ln(0.1 + p), the 95 % quantile of clean windows."""
FULLY_UNSTEADY = 0.3
"""Excess over it that counts as 1; with a smaller one clean windows at 3 times their speed lose more than 0.01."""


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
        formula) and, under ``"vmmetrics"``, the square of each frame's unsteadiness beyond that of clean footage at
        the same pace, where the preset has a model for it; events there extend from the drop to the frame in which the
        quality has recovered.
    """
    amplitude = None if pas is None else pas.numbers.get("amplitude")
    if len(scene.clip) == 1:
        return MetricResult(None, "one frame: no change of quality to judge")
    if scene.models.released is not None:
        threshold = SMOOTHNESS_THRESHOLDS[protocol].at(amplitude)
    elif protocol == "vmbench":
        threshold = VMBENCH_DROP
    else:
        threshold = DROP * float(np.median(scene.quality))
    if protocol == "vmbench":
        return motion_smoothness_score(scene.quality, amplitude, threshold=threshold, protocol=protocol)
    unsteady = None if scene.unsteadiness is None else beyond_expected(scene.unsteadiness, pace(scene))
    result = motion_smoothness_score(scene.quality, amplitude, threshold=threshold, unsteadiness=unsteady)
    events = (replace(e, frames=_until_back(scene.quality, e.frames[0], threshold)) for e in result.events)
    return replace(result, events=tuple(events))


def pace(scene: Scene) -> float:
    """Return the mean speed of the content, the camera's included, in diagonals per second."""
    flow = scene.flow
    diagonal = float(np.hypot(*flow.images.shape[1:]))
    speed = float(np.mean([np.linalg.norm(field, axis=-1).mean() for field in flow.forward]))
    return speed * scene.clip.fps / diagonal


def beyond_expected(unsteadiness: FloatArray, speed: float) -> FloatArray:
    """Return (T,) in 0..1, the excess of ``unsteadiness`` over that of clean footage at ``speed`` (:func:`pace`)."""
    expected = max(EXPECTED[0] + EXPECTED[1] * float(np.log(0.1 + speed)), 0.0)
    return np.asarray(np.clip((unsteadiness - expected) / FULLY_UNSTEADY, 0, 1))


def beside(clip: Clip, protocol: Protocol) -> tuple[str, ...]:  # noqa: ARG001 - any clip
    """Return the properties of the scene that can be computed while other metrics run."""
    return ("unsteadiness", "quality") if protocol == "vmmetrics" else ("quality",)


def _until_back(quality: FloatArray, drop: int, allowed: float) -> tuple[int, ...]:
    """Return the frames from ``drop`` until quality is within ``allowed`` of before; ``drop`` alone if it never is."""
    back = np.flatnonzero(quality[drop:] >= quality[drop - 1] - allowed)
    return tuple(range(drop, drop + int(back[0]))) if len(back) else (drop,)
