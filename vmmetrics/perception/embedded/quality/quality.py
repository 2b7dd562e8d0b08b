"""No-reference quality of every frame: a slowly changing level, minus defects relative to its neighbours.

    quality(t) = level(t) · (1 − DEPTH · defect(t))

*level* is sharpness, cleanness and freedom from blocks, and follows lasting changes only. *defect*, 0..1, is the
strongest sign in :data:`SIGNS` that one, two or three frames deviate from the clip. Every sign compares a frame with
frames on both sides, so that permanent changes (a cut, an I-frame, a turn) and slow ones (a pan, growing motion blur,
illumination) are no defects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from scipy.ndimage import median_filter

from vmmetrics.perception.embedded.quality import features
from vmmetrics.perception.scene import Flow, Scene
from vmmetrics.types import BoolArray, FloatArray

DEPTH = 0.8
"""Share of its level that a frame with a certain defect loses; the rest keeps bad clips below good ones."""
REACH = 5
"""Frames on each side that a frame is compared with."""
LONG_REACH = 8
"""The same for displacement: people and animals swing their limbs once in up to as many frames."""
LEVEL_WINDOW = 9
"""Window, frames, of the level's median: more than twice the longest glitch (3 frames)."""

# Signs of a defect: the kind of evidence (:func:`gather`), the least share of the frame that shows it, evidence up to
# which there is no defect (`low`), and from which it is certain (`high`). `low` is the 99 % quantile of the frames of
# the real clips, at 7 to 30 frames per second, `high` the evidence of defects injected into them;
# benchmarks/quality_thresholds.py prints both.
SIGNS = (
    ("blur", 0.25, 0.05, 0.20),
    ("noise", 0.25, 0.03, 0.12),
    ("blocks", 1.00, 0.35, 0.80),
    ("foreign", 0.10, 0.01, 0.05),
    ("foreign", 0.05, 0.05, 0.15),
    ("foreign", 0.02, 0.35, 0.80),
    ("foreign, lasting", 0.05, 0.18, 0.35),
    ("displaced", 0.20, 0.02, 0.10),
    ("displaced", 0.05, 0.15, 0.40),
    ("displaced", 0.02, 0.55, 1.00),
    ("displaced, lasting", 0.20, 0.08, 0.25),
    ("displaced, lasting", 0.05, 0.60, 1.10),
    ("displaced, lasting", 0.02, 1.50, 2.50),
    ("broken rhythm", 1.00, 0.30, 0.80),
)


class TemporalQuality:
    """The embedded quality model: numpy and OpenCV on the scene's flow, without weights."""

    def assess(self, scene: Scene) -> FloatArray:
        """Return (T,) float64 in 0..1, 1 best."""
        detail, block_borders = appearance(scene)
        evidence = gather(scene, detail, block_borders)
        strengths = [ramp(over_frame(evidence[kind], share), low, high) for kind, share, low, high in SIGNS]
        return np.asarray(level(detail, block_borders) * (1 - DEPTH * np.max(strengths, axis=0)), dtype=np.float64)


def appearance(scene: Scene) -> tuple[FloatArray, FloatArray]:
    """Return the detail and the block borders of every frame.

    Returns:
        (T, 2, 4, rows, columns): logarithm of the mean |second difference| in each grid cell, at two scales and in four
        directions; (T, 2): logarithm of the contrast of single columns and of single rows, which block borders raise.
    """
    shape = features.grid_shape(scene.clip.height, scene.clip.width)
    greys = (features.luma(frame) for frame in scene.clip.frames)
    both = [(features.detail(grey, shape), features.combs(grey)) for grey in greys]
    return np.stack([detail for detail, _ in both]), np.stack([block_borders for _, block_borders in both])


def gather(scene: Scene, detail: FloatArray, block_borders: FloatArray) -> dict[str, FloatArray]:
    """Return the evidence of every kind, each (T, rows, columns) on a grid of its own.

    Blur, noise and blocks are differences of log detail, foreign content is relative to contrast, displacement and
    rhythm are in working pixels. Blur and noise must show in all directions: motion blur spares the one across it.
    """
    shape = detail.shape[-2:]
    rhythm, repeated = features.breaks(scene.flow, shape)
    flow = without(scene.flow, repeated)
    content, contrast = features.foreign(flow, shape)
    offset, speed = features.displaced(flow)
    around = widen(speed, 3, 0.8, REACH)
    pace = np.stack([cv2.resize(plane, shape[::-1], interpolation=cv2.INTER_AREA) for plane in around])
    blurred = (features.neighbour_quantile(detail, 0.2, REACH) - detail).min(2).max(1)
    noisy = (detail - features.neighbour_quantile(detail, 0.8, REACH)).min(2).max(1)
    # Texture masks foreign content, and motion masks it and displacement: the weights are those that best separate
    # injected defects from clean frames over the real clips, each within a factor of two.
    hidden = (1 + 0.1 * features.neighbour_quantile(contrast, 0.8, REACH)) * (1 + 0.3 * pace)
    lively = 1 + 0.5 * widen(speed, 5, 0.9, LONG_REACH)
    alien = [excess(values, 3, 0.8, REACH) / hidden for values in content]
    shifted = [excess(values, 5, 0.9, LONG_REACH) / lively for values in offset]
    shown = np.cumsum(~repeated) - 1  # a repeated frame has the evidence of the one it repeats
    return {
        "blur": blurred,
        "noise": noisy,
        "blocks": (block_borders - features.neighbour_quantile(block_borders, 0.8, REACH)).max(1)[:, None, None],
        "foreign": smooth(alien[0])[shown],
        "foreign, lasting": lasting(alien)[shown],
        "displaced": smooth(shifted[0])[shown],
        "displaced, lasting": lasting(shifted)[shown],
        "broken rhythm": rhythm[:, None, None],
    }


def without(flow: Flow, repeated: BoolArray) -> Flow:
    """Return ``flow`` without the ``repeated`` (T,) frames, duplicates of the frame before, as lists of views."""
    if not repeated.any():
        return flow
    frames = np.flatnonzero(~repeated)
    into = frames[1:] - 1
    names = ("forward", "backward", "forward_valid", "backward_valid")
    views: dict[str, Any] = {name: [getattr(flow, name)[t] for t in into] for name in names}
    return replace(flow, images=flow.images[frames], **views)


def lasting(by_length: Sequence[FloatArray]) -> FloatArray:
    """Return (T, rows, columns): evidence of defects of two and more frames, assigned to each of their frames.

    A single bad frame also deviates from frames farther away; so the frames after the first get only the evidence that
    a shorter defect leaves unexplained.
    """
    result = np.full_like(by_length[0], -np.inf)
    shorter = smooth(by_length[0])
    for length, values in enumerate(by_length[1:], start=2):
        evidence = smooth(values)
        result = np.maximum(result, evidence)
        beyond = evidence - np.maximum(shorter, 0)
        for later in range(1, min(length, len(result))):
            result[later:] = np.maximum(result[later:], beyond[: len(result) - later])
        shorter = np.maximum(shorter, evidence)
    return result


def widen(values: FloatArray, cells: int, quantile: float, reach: int) -> FloatArray:
    """Return the quantile over neighbouring frames, dilated over ``cells`` x ``cells``, since content moves."""
    usual = features.neighbour_quantile(values, quantile, reach)
    return np.stack([cv2.dilate(plane, np.ones((cells, cells))) for plane in usual])


def excess(values: FloatArray, cells: int, quantile: float, reach: int) -> FloatArray:
    """Return the excess of ``values`` (T, rows, columns) over 1.5 times :func:`widen` of them."""
    return np.asarray(values - 1.5 * widen(values, cells, quantile, reach))


def smooth(values: FloatArray) -> FloatArray:
    """Return the mean of each cell and its neighbours: a single cell is not a region."""
    return np.stack([cv2.blur(plane, (3, 3)) for plane in values])


def over_frame(values: FloatArray, share: float) -> FloatArray:
    """Return (T,): the largest value that at least ``share`` of each frame's cells reach."""
    return np.asarray(np.quantile(values.reshape(len(values), -1), 1 - share, axis=1))


def ramp(values: FloatArray, low: float, high: float) -> FloatArray:
    """Return 0 up to ``low``, 1 from ``high`` on, linear in between."""
    return np.asarray(np.clip((values - low) / (high - low), 0, 1))


def level(detail: FloatArray, block_borders: FloatArray) -> FloatArray:
    """Return (T,) in 0..1: lasting sharpness, cleanness and freedom from blocks."""
    falloff = over_frame((detail[:, 0] - detail[:, 1]).mean(1), 0.25)
    grain = over_frame(np.exp(detail[:, 0].min(1)), 0.9)
    sharpness = 1 / (1 + np.exp(-4 * (falloff + 0.6)))
    cleanness = 1 / (1 + grain / 8)
    freedom = 1 / (1 + np.exp(2 * (block_borders.max(1) - 1.5)))
    window = min(LEVEL_WINDOW, len(detail) - 1 + len(detail) % 2)
    return np.asarray(median_filter(sharpness * cleanness * freedom, size=window, mode="nearest"))
