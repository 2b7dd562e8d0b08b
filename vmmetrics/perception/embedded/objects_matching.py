"""Is it still there? Compares an object's appearance in one frame with another frame."""

from __future__ import annotations

import cv2
import numpy as np

from vmmetrics.perception.embedded.objects_evidence import Evidence, colour_gap, mapped, warp
from vmmetrics.types import BoolArray, FloatArray

SAME_LEVELS = 9.0
"""Colour levels within which two pixels look the same, beyond 3 deviations of the noise."""
FOUND_SHARE = 0.55
"""Share of an object's pixels that must look the same where it is found again."""


def same_levels(evidence: Evidence) -> float:
    """Colour levels within which two pixels of this clip look the same."""
    return SAME_LEVELS + 3.0 * evidence.noise


def survival(evidence: Evidence, mask: BoolArray, t: int) -> float:
    """Share of ``mask`` in frame ``t`` that the flow finds again in t+1, looking the same."""
    if not mask.any():
        return 0.0
    x, y, w, h = cv2.boundingRect(mask.astype(np.uint8))
    window = (slice(y, y + h), slice(x, x + w))
    inside = mask[window]
    position = evidence.grid[window] + evidence.forward[t][window]
    there = warp(evidence.colour[t + 1], position)
    gap = 0.5 * np.abs(evidence.colour[t][window].astype(np.float32) - there).sum(-1)
    held = evidence.forward_ok[t][window] & (gap < same_levels(evidence))
    return float(held[inside].mean())


def find_again(
    evidence: Evidence, mask: BoolArray, start: int, stop: int, velocity: FloatArray
) -> FloatArray | None:
    """Look for the object under ``mask`` of frame ``start`` in frame ``stop``.

    Args:
        evidence: Of the clip.
        mask: (h, w) bool.
        start: Frame in which it was seen.
        stop: Frame to search.
        velocity: Grid pixels a frame, against the camera.

    Returns:
        (3, 3) mapping grid pixels of ``start`` to those of ``stop``, camera motion included, or None where it is not.
    """
    if not mask.any():
        return None
    height, width = evidence.shape
    camera = evidence.camera_between(start, stop)
    back = mapped(np.linalg.inv(camera), evidence.grid)
    # Search in the pixels of ``start``: the camera is out of the picture, a shift remains.
    scene = np.asarray(warp(evidence.colour[stop], mapped(camera, evidence.grid)))
    x, y, w, h = cv2.boundingRect(mask.astype(np.uint8))
    expected = velocity * (stop - start)
    reach = max(6.0, 0.5 * max(w, h)) + float(np.abs(expected).max())
    left, top = max(0, int(x + min(0, expected[0]) - reach)), max(0, int(y + min(0, expected[1]) - reach))
    right = min(width, int(np.ceil(x + w + max(0, expected[0]) + reach)))
    bottom = min(height, int(np.ceil(y + h + max(0, expected[1]) + reach)))
    template = np.ascontiguousarray(evidence.colour[start][y : y + h, x : x + w], np.float32)
    weight = np.repeat(mask[y : y + h, x : x + w, None], 3, axis=2).astype(np.float32)
    area = np.ascontiguousarray(scene[top:bottom, left:right], np.float32)
    cost = cv2.matchTemplate(area, template, cv2.TM_SQDIFF, mask=weight)
    _, _, (best_x, best_y), _ = cv2.minMaxLoc(cost)
    dx, dy = left + best_x - x, top + best_y - y
    shift = np.array([[1, 0, dx], [0, 1, dy], [0, 0, 1]], np.float64)
    if _likeness(evidence, mask, scene, start, dx, dy) < FOUND_SHARE:
        return None
    del back
    return np.asarray(camera @ shift)


def _likeness(evidence: Evidence, mask: BoolArray, scene: FloatArray, start: int, dx: int, dy: int) -> float:
    """Share of the mask that looks the same at the shift, not counting what already stood there beside the object."""
    limit = same_levels(evidence)
    grid = evidence.grid + np.array([dx, dy], np.float32)
    same = colour_gap(evidence.colour[start], np.asarray(warp(scene, grid))) < limit
    came = mask | (colour_gap(evidence.colour[start], np.asarray(scene, np.uint8)) > limit)
    came_shifted = warp(came.astype(np.uint8), grid, nearest=True) > 0
    return float((same & came_shifted)[mask].mean())
