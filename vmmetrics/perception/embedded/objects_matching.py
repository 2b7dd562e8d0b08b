"""Is it still there? Compares an object's appearance in one frame with another frame."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.objects_evidence import Evidence, colour_gap, contrast, mapped, warp
from vmmetrics.types import BoolArray, FloatArray

SAME_LEVELS = 9.0
"""Colour levels within which two pixels look the same, beyond 3 deviations of the noise."""
FOUND_SHARE = 0.55
"""Share of an object's pixels that must look the same where it is found again."""

LEFT_SHARE = 0.35
"""Share of an object that must go on in one piece, where the rest of it gets hidden."""
CONTRAST_SHARE = 0.4
"""Share of the local contrast allowed for registration."""
NEARBY = np.mgrid[-2:3, -2:3].reshape(2, -1).T
"""Shifts about the expected one that are tried for it."""


def same_levels(evidence: Evidence) -> float:
    """Colour levels within which two pixels of this clip look the same."""
    return SAME_LEVELS + 3.0 * evidence.noise


def aligned(evidence: Evidence, t: int, other: int) -> tuple[NDArray[np.uint8], BoolArray]:
    """Frame ``other`` seen from frame ``t``'s camera, and where it has something to show."""
    height, width = evidence.shape
    there = mapped(evidence.camera_between(t, other), evidence.grid)
    inside = (there >= 0).all(-1) & (there[..., 0] <= width - 1) & (there[..., 1] <= height - 1)
    return np.asarray(warp(evidence.colour[other], there), np.uint8), inside


def changed_places(evidence: Evidence, t: int, other: int) -> BoolArray:
    """(h, w) bool: places of frame ``t`` that look different in frame ``other``."""
    picture, inside = aligned(evidence, t, other)
    limit = same_levels(evidence) + CONTRAST_SHARE * np.minimum(contrast(evidence.colour[t]), contrast(picture))
    changed: BoolArray = inside & (colour_gap(evidence.colour[t], picture) > limit)
    return changed


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


def find_again(evidence: Evidence, mask: BoolArray, start: int, stop: int, velocity: FloatArray) -> FloatArray | None:
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
    if _matches(evidence, mask, scene, start, dx, dy)[mask].mean() < FOUND_SHARE:
        return None
    return np.asarray(camera @ shift)


def remainder(
    evidence: Evidence, mask: BoolArray, start: int, velocity: FloatArray
) -> tuple[FloatArray, BoolArray] | None:
    """Find what is left of a half-hidden object in the next frame, about where its motion takes it.

    Args:
        evidence: Of the clip.
        mask: (h, w) bool, the object in frame ``start``.
        start: Frame in which it was seen.
        velocity: Grid pixels a frame, against the camera.

    Returns:
        (3, 3) mapping to frame ``start`` + 1, and the part (h, w) of ``mask`` that goes on; None where too little does.
    """
    camera = evidence.camera_between(start, start + 1)
    scene = np.asarray(warp(evidence.colour[start + 1], mapped(camera, evidence.grid)))
    best: tuple[int, FloatArray, BoolArray] | None = None
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 3))
    for dx, dy in np.round(velocity + NEARBY).astype(int).tolist():
        same = _matches(evidence, mask, scene, start, dx, dy) & mask
        part = cv2.morphologyEx(same.view(np.uint8), cv2.MORPH_OPEN, kernel)
        count, parts, stats, _ = cv2.connectedComponentsWithStats(part, connectivity=4)
        if count == 1:
            continue
        largest = 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
        size = int(stats[largest, cv2.CC_STAT_AREA])
        if best is None or size > best[0]:
            shift = np.array([[1, 0, dx], [0, 1, dy], [0, 0, 1]], np.float64)
            best = size, np.asarray(camera @ shift), parts == largest
    if best is None or best[0] < LEFT_SHARE * np.count_nonzero(mask):
        return None
    return best[1], best[2]


def _matches(evidence: Evidence, mask: BoolArray, scene: FloatArray, start: int, dx: int, dy: int) -> BoolArray:
    """(h, w) bool: what looks the same at the shift, not counting what already stood there beside the object."""
    limit = same_levels(evidence)
    grid = evidence.grid + np.array([dx, dy], np.float32)
    same = colour_gap(evidence.colour[start], np.asarray(warp(scene, grid))) < limit
    came = mask | (colour_gap(evidence.colour[start], np.asarray(scene, np.uint8)) > limit)
    matches: BoolArray = same & (warp(came.view(np.uint8), grid, nearest=True) > 0)
    return matches
