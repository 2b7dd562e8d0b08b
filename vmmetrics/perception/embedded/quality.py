"""Quality of every frame without a reference: how good it looks, less what its neighbours say went wrong with it.

    quality(t) = level(t) · (1 − DEPTH · defect(t))

*level* is how sharp, clean and free of blocks the picture is, and follows lasting changes only. *defect* is 0..1, the worst
of six kinds of evidence that this frame, or these two or three, fall out of the clip: see :data:`EVIDENCE`. Each compares a
frame with frames on both its sides, so that what changes for good (a cut, an I-frame, a turn) or slowly (a pan, motion
blur that builds up, lighting) is no evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import cv2
import numpy as np
from scipy.ndimage import median_filter

from vmmetrics.perception.embedded import quality_features as features
from vmmetrics.perception.embedded.quality_cadence import breaks
from vmmetrics.perception.scene import Scene
from vmmetrics.types import FloatArray

DEPTH = 0.8
"""Share of its level that a frame with an undoubted defect loses; the rest keeps bad frames of good clips apart."""
REACH = 5
"""Frames on each side that a frame is held against."""
LEVEL_WINDOW = 9
"""Frames over which the level is a median: twice the longest defect (3 frames) and more, so that it steps over it."""

EVIDENCE: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "blur": (0.05, 0.25),
        "noise": (0.05, 0.30),
        "blocks": (0.35, 0.80),
        "foreign": (0.10, 0.40),
        "displaced": (0.80, 1.80),
        "broken rhythm": (0.30, 0.80),
    }
)
"""Evidence of each kind below which there is no defect, and from which there is no doubt."""


@dataclass(frozen=True)
class TemporalQuality:
    """The embedded quality model: numpy and OpenCV on the shared flow, no weights.

    Attributes:
        evidence: Per kind, the range over which evidence becomes a defect.
    """

    evidence: Mapping[str, tuple[float, float]] = field(default_factory=lambda: EVIDENCE)

    def assess(self, scene: Scene) -> FloatArray:
        """Return (T,) float64 in 0..1, 1 best."""
        clip = scene.clip
        shape = features.grid_shape(clip.height, clip.width)
        greys = [features.luma(frame) for frame in clip.frames]
        detail = np.stack([features.detail(grey, shape) for grey in greys])
        combs = np.stack([features.combs(grey) for grey in greys])
        found = self.collect(scene, detail, combs)
        defect = np.max([ramp(found[kind], *bounds) for kind, bounds in self.evidence.items()], axis=0)
        return np.asarray(level(detail, combs) * (1 - DEPTH * defect), dtype=np.float64)

    def collect(self, scene: Scene, detail: FloatArray, combs: FloatArray) -> dict[str, FloatArray]:
        """Return (T,) of evidence for every kind in :data:`EVIDENCE`."""
        shape = detail.shape[-2:]
        flow = scene.flow
        blurred = (features.neighbour_quantile(detail, 0.2, REACH) - detail).min(2).max(1)
        noisy = (detail - features.neighbour_quantile(detail, 0.8, REACH)).min(2).max(1)
        blocky = (combs - features.neighbour_quantile(combs, 0.8, REACH)).max(1)
        return {
            "blur": over_cells(blurred, 0.75),
            "noise": over_cells(noisy, 0.75),
            "blocks": blocky,
            "foreign": over_cells(excess(*features.innovations(flow, shape), 0.3), 0.9),
            "displaced": over_cells(excess(*features.bends(flow, shape), 0.15), 0.9),
            "broken rhythm": breaks(flow, shape),
        }


def excess(values: FloatArray, context: FloatArray, share: float) -> FloatArray:
    """Return (T, rows, columns): what ``values`` exceed their neighbourhood by, less where ``context`` hides it."""
    usual = np.stack([cv2.dilate(plane, np.ones((3, 3))) for plane in features.neighbour_quantile(values, 0.8, REACH)])
    hides = np.stack([cv2.dilate(plane, np.ones((3, 3))) for plane in features.neighbour_quantile(context, 0.8, REACH)])
    return np.asarray((values - 1.5 * usual) / (1 + share * hides))


def over_cells(values: FloatArray, quantile: float) -> FloatArray:
    """Return (T,): the quantile of (T, rows, columns) over the cells of each frame."""
    return np.asarray(np.quantile(values.reshape(len(values), -1), quantile, axis=1))


def ramp(values: FloatArray, low: float, high: float) -> FloatArray:
    """Return 0 up to ``low``, 1 from ``high`` on, linear in between."""
    return np.clip((values - low) / (high - low), 0, 1)


def level(detail: FloatArray, combs: FloatArray) -> FloatArray:
    """Return (T,) in 0..1: lasting sharpness, cleanness and freedom from blocks."""
    fine = over_cells((detail[:, 0] - detail[:, 1]).mean(1), 0.75)
    grain = over_cells(np.exp(detail[:, 0].min(1)), 0.1)
    sharpness = 1 / (1 + np.exp(-4 * (fine + 0.6)))
    cleanness = 1 / (1 + grain / 8)
    freedom = 1 / (1 + np.exp(2 * (combs.max(1) - 1.5)))
    size = min(LEVEL_WINDOW, len(detail) - 1 + len(detail) % 2)
    return np.asarray(median_filter(sharpness * cleanness * freedom, size=max(1, size), mode="nearest"))
