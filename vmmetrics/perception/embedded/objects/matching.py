"""Appearance matching of objects between frames."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from vmmetrics.perception.embedded.flow import in_frame
from vmmetrics.perception.embedded.objects.evidence import Evidence, Labels, colour_gap, contrast, disc, warp, warp_mask
from vmmetrics.types import BoolArray, FloatArray, UInt8Array

SAME_LEVELS = 9.0
"""Colour levels within which two pixels match, beyond 3 standard deviations of the noise."""
REAPPEARANCE_SHARE = 0.55
"""Least share of an object's pixels that must match where it reappears."""

LEFT_SHARE = 0.35
"""Least connected share of an object that must stay visible while the rest gets occluded."""
CONTRAST_SHARE = 0.4
"""Difference allowed for registration error, as a share of the local contrast."""
NEARBY = np.mgrid[-2:3, -2:3].reshape(2, -1).T
"""Offsets from the expected shift that are tried for the visible rest of an object."""


def same_levels(evidence: Evidence) -> float:
    """Return the colour levels within which two pixels of this clip match."""
    return SAME_LEVELS + 3.0 * evidence.noise


def aligned(evidence: Evidence, t: int, other: int) -> tuple[UInt8Array, BoolArray]:
    """Return frame ``other`` aligned to frame ``t`` by the camera's motion, and (h, w) bool where it is in view."""
    there = evidence.positions(t, other)
    return np.asarray(warp(evidence.colour[other], there), np.uint8), in_frame(there)


def changed_pixels(evidence: Evidence, t: int, other: int) -> BoolArray:
    """Return (h, w) bool: pixels of frame ``t`` that differ in frame ``other``, the camera's motion compensated."""
    picture, inside = aligned(evidence, t, other)
    limit = same_levels(evidence) + CONTRAST_SHARE * np.minimum(contrast(evidence.colour[t]), contrast(picture))
    return np.asarray(inside & (colour_gap(evidence.colour[t], picture) > limit))


def survival(evidence: Evidence, mask: BoolArray, t: int) -> float:
    """Return the share of ``mask`` in frame ``t`` that the flow leads to matching pixels of frame t+1."""
    if not mask.any():
        return 0.0
    x, y, w, h = cv2.boundingRect(mask.astype(np.uint8))
    window = (slice(y, y + h), slice(x, x + w))
    inside = mask[window]
    position = evidence.grid[window] + evidence.forward[t][window]
    there = warp(evidence.colour[t + 1], position)
    gap = 0.5 * np.abs(evidence.colour[t][window].astype(np.float32) - there).sum(-1)
    survives = evidence.forward_ok[t][window] & (gap < same_levels(evidence))
    return float(survives[inside].mean())


def find_again(evidence: Evidence, mask: BoolArray, start: int, stop: int, velocity: FloatArray) -> FloatArray | None:
    """Search frame ``stop`` for the object under ``mask`` of frame ``start``.

    Args:
        evidence: Evidence of the clip.
        mask: (h, w) bool.
        start: Frame of the mask.
        stop: Frame to search.
        velocity: (2,) expected motion relative to the camera, grid pixels per frame.

    Returns:
        (3, 3) mapping grid pixels of ``start`` to those of ``stop``, camera motion included; None without a match.
    """
    if not mask.any():
        return None
    (dx, dy), _ = most_alike(evidence, mask, start, stop, velocity * (stop - start))
    scene = aligned(evidence, start, stop)[0]
    if (
        _matches(evidence, _own_pixels(evidence, mask, scene, start), scene, start, dx, dy)[mask].mean()
        < REAPPEARANCE_SHARE
    ):
        return None
    return _shifted(evidence.camera_between(start, stop), dx, dy)


def most_alike(
    evidence: Evidence, mask: BoolArray, start: int, stop: int, expected: FloatArray
) -> tuple[tuple[int, int], float]:
    """Find the place in frame ``stop`` most like the content under ``mask`` (not empty) of frame ``start``.

    Args:
        evidence: Evidence of the clip.
        mask: (h, w) bool.
        start: Frame of the mask.
        stop: Frame to search.
        expected: (2,) its shift relative to the camera, grid pixels; as far again as half the content is searched.

    Returns:
        Its shift relative to the camera, and the mean squared difference of colour there.
    """
    height, width = evidence.shape
    # Search in the pixels of ``start``: with the camera's motion compensated, a shift remains.
    scene = aligned(evidence, start, stop)[0]
    x, y, w, h = cv2.boundingRect(mask.astype(np.uint8))
    reach = max(6.0, 0.5 * max(w, h)) + float(np.abs(expected).max())
    left, top = max(0, int(x + min(0, expected[0]) - reach)), max(0, int(y + min(0, expected[1]) - reach))
    right = min(width, int(np.ceil(x + w + max(0, expected[0]) + reach)))
    bottom = min(height, int(np.ceil(y + h + max(0, expected[1]) + reach)))
    template = np.ascontiguousarray(evidence.colour[start][y : y + h, x : x + w], np.float32)
    weight = np.repeat(mask[y : y + h, x : x + w, None], 3, axis=2).astype(np.float32)
    area = np.ascontiguousarray(scene[top:bottom, left:right], np.float32)
    cost = cv2.matchTemplate(area, template, cv2.TM_SQDIFF, mask=weight)
    least, _, (best_x, best_y), _ = cv2.minMaxLoc(cost)
    return (left + best_x - x, top + best_y - y), least / np.count_nonzero(mask)


def remainder(
    evidence: Evidence, mask: BoolArray, start: int, velocity: FloatArray
) -> tuple[FloatArray, BoolArray] | None:
    """Find the visible rest of a partly occluded object in the next frame, near its expected position.

    Args:
        evidence: Evidence of the clip.
        mask: (h, w) bool, the object in frame ``start``.
        start: Frame of the mask.
        velocity: (2,) motion relative to the camera, grid pixels per frame.

    Returns:
        (3, 3) mapping to frame ``start`` + 1, and the part (h, w) of ``mask`` that stays visible; None where that is
        less than :data:`LEFT_SHARE`.
    """
    scene = np.asarray(warp(evidence.colour[start + 1], evidence.positions(start, start + 1)))
    own = _own_pixels(evidence, mask, scene, start)
    best: tuple[int, FloatArray, BoolArray] | None = None
    for dx, dy in np.round(velocity + NEARBY).astype(int).tolist():
        same = _matches(evidence, own, scene, start, dx, dy) & mask
        part = cv2.morphologyEx(same.view(np.uint8), cv2.MORPH_OPEN, disc(3))
        count, parts, stats, _ = cv2.connectedComponentsWithStats(part, connectivity=4)
        if count == 1:
            continue
        largest = 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
        size = int(stats[largest, cv2.CC_STAT_AREA])
        if best is None or size > best[0]:
            best = size, _shifted(evidence.camera_between(start, start + 1), dx, dy), parts == largest
    if best is None or best[0] < LEFT_SHARE * np.count_nonzero(mask):
        return None
    return best[1], best[2]


def _shifted(camera: FloatArray, dx: int, dy: int) -> FloatArray:
    return np.asarray(camera @ np.array([[1, 0, dx], [0, 1, dy], [0, 0, 1]], np.float64))


def _own_pixels(evidence: Evidence, mask: BoolArray, scene: UInt8Array, start: int) -> BoolArray:
    """Return (h, w) bool: pixels at which a match is evidence, since the background there differs or is covered."""
    return np.asarray(mask | (colour_gap(evidence.colour[start], scene) > same_levels(evidence)))


def _matches(evidence: Evidence, own: BoolArray, scene: UInt8Array, start: int, dx: int, dy: int) -> BoolArray:
    """Return (h, w) bool: pixels that match among ``own`` at the shift (``dx``, ``dy``)."""
    grid = evidence.grid + np.array([dx, dy], np.float32)
    same = colour_gap(evidence.colour[start], np.asarray(warp(scene, grid))) < same_levels(evidence)
    return same & warp_mask(own, grid)


def mean_velocity(evidence: Evidence, labels: Labels, identity: int, frames: Sequence[int]) -> FloatArray:
    """Return (2,), the median motion of an object relative to the camera over ``frames``, grid pixels per frame."""
    masks = [(t, labels[t] == identity) for t in frames]
    each = [np.median(evidence.velocity[t][mask], axis=0) for t, mask in masks if mask.any()]
    return np.asarray(np.median(each, axis=0) if each else np.zeros(2))
