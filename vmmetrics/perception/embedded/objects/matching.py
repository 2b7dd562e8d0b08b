"""Is it still there? Compares an object's appearance in one frame with another frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.objects.evidence import (
    Evidence,
    centre,
    colour_gap,
    contrast,
    disc,
    mapped,
    warp,
    warp_mask,
)
from vmmetrics.types import BoolArray, FloatArray, UInt8Array

# Joins the pieces of one object that was out of sight in between.

MAX_HIDDEN_SECONDS = 2.0
"""Longest time out of sight over which an object is known again."""
ALIKE = 0.55
"""Bhattacharyya coefficient of the colour histograms from which on two pieces may be one object."""
SIZE_RATIO = 2.5
"""Pieces of one object differ in size by less than this."""
BINS = (6, 10, 10)


@dataclass(frozen=True)
class Piece:
    """An unbroken run of frames of one label, as it looks at both of its ends.

    Attributes:
        id: Its label.
        first: First frame.
        last: Last frame.
        area: Its usual size in pixels.
        histogram: Colours, square roots of shares.
        starts_at: (x, y) on the grid in ``first``.
        ends_at: (x, y) on the grid in ``last``.
        velocity_in: Grid pixels a frame against the camera, over the first frames.
        velocity_out: Likewise over the last frames.
    """

    id: int
    first: int
    last: int
    area: float
    histogram: FloatArray
    starts_at: FloatArray
    ends_at: FloatArray
    velocity_in: FloatArray
    velocity_out: FloatArray


def join_pieces(evidence: Evidence, labels: NDArray[np.uint16]) -> None:
    """Give the pieces of one object one label, in place."""
    pieces = [_piece(evidence, labels, int(i)) for i in np.unique(labels)[1:]]
    pairs = []
    for early in pieces:
        for late in pieces:
            cost = _cost(evidence, early, late)
            if cost is not None:
                pairs.append((cost, early.id, late.id))
    earlier: dict[int, int] = {}
    for _, early_id, late_id in sorted(pairs):
        if early_id not in earlier.values() and late_id not in earlier:
            earlier[late_id] = early_id
    for piece in pieces:
        target = piece.id
        while target in earlier:
            target = earlier[target]
        if target != piece.id:
            labels[labels == piece.id] = target


def _cost(evidence: Evidence, early: Piece, late: Piece) -> float | None:
    """How badly ``late`` continues ``early``; None where it cannot."""
    gap = late.first - early.last
    if gap < 1 or gap > max(4, MAX_HIDDEN_SECONDS * evidence.fps):
        return None
    if max(early.area, late.area) > SIZE_RATIO * min(early.area, late.area):
        return None
    alike = float(early.histogram @ late.histogram)
    if alike < ALIKE:
        return None
    camera = evidence.camera_between(early.last, late.first)
    velocity = 0.5 * (early.velocity_out + late.velocity_in)
    expected = mapped(camera, (early.ends_at + velocity * gap).reshape(1, 1, 2).astype(np.float32)).ravel()
    distance = float(np.hypot(*(late.starts_at - expected)))
    reach = 1.2 * np.sqrt(max(early.area, late.area)) + 0.5 * float(np.hypot(*velocity)) * gap
    return None if distance > reach else distance / reach + 2.0 * (1.0 - alike)


def _piece(evidence: Evidence, labels: NDArray[np.uint16], identity: int) -> Piece:
    present = np.flatnonzero((labels == identity).any((1, 2)))
    first, last = int(present[0]), int(present[-1])
    areas = np.array([np.count_nonzero(labels[t] == identity) for t in present])
    full = present[areas >= 0.7 * areas.max()]
    roots = colours(evidence, labels == identity, full[:: max(1, len(full) // 4)][:4].tolist())
    return Piece(
        identity, first, last, float(np.quantile(areas, 0.75)), roots,
        centre(labels[first] == identity), centre(labels[last] == identity),
        mean_velocity(evidence, labels, identity, present[:6].tolist()),
        mean_velocity(evidence, labels, identity, present[-6:].tolist()),
    )  # fmt: skip


def colours(evidence: Evidence, mask: BoolArray, frames: Sequence[int]) -> FloatArray:
    """Return the square roots of the shares of colours under ``mask`` (T, h, w) in ``frames``.

    The product of two such vectors is their Bhattacharyya coefficient, 1 for the same colours and 0 for none in common.
    """
    histogram = np.zeros(BINS, np.float32)
    for t in frames:
        whole = mask[t].astype(np.uint8)
        core = cv2.erode(whole, np.ones((3, 3), np.uint8))
        here = core if core.any() else whole
        histogram += cv2.calcHist([evidence.colour[t]], [0, 1, 2], here, BINS, [0, 256, 80, 180, 80, 180])
    smooth = cv2.GaussianBlur(histogram.reshape(BINS[0], -1), (1, 3), 0.7).ravel()
    return np.asarray(np.sqrt(smooth / max(float(smooth.sum()), 1e-6)))


def mean_velocity(
    evidence: Evidence, labels: NDArray[np.unsignedinteger], identity: int, frames: Sequence[int]
) -> FloatArray:
    """Return the median motion of an object against the camera over some frames, grid pixels a frame."""
    masks = [(t, labels[t] == identity) for t in frames]
    each = [np.median(evidence.velocity[t][mask], axis=0) for t, mask in masks if mask.any()]
    return np.asarray(np.median(each, axis=0) if each else np.zeros(2))


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


def aligned(evidence: Evidence, t: int, other: int) -> tuple[UInt8Array, BoolArray]:
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
    for dx, dy in np.round(velocity + NEARBY).astype(int).tolist():
        same = _matches(evidence, mask, scene, start, dx, dy) & mask
        part = cv2.morphologyEx(same.view(np.uint8), cv2.MORPH_OPEN, disc(3))
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
    return same & warp_mask(came, grid)
