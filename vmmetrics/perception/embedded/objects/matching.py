"""Is it still there? Compares how things look in two frames, and tells what became of an object that is not seen.

What became of it is judged forwards in time; how an object came is how it went, on the reversed evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Literal

import cv2
import numpy as np

from vmmetrics.functional.tcs import runs
from vmmetrics.perception.embedded.flow import in_frame
from vmmetrics.perception.embedded.objects.evidence import Evidence, Labels, colour_gap, contrast, disc, warp, warp_mask
from vmmetrics.types import BoolArray, FloatArray, UInt8Array

SAME_LEVELS = 9.0
"""Colour levels within which two pixels look the same, beyond 3 deviations of the noise."""
REAPPEARANCE_SHARE = 0.55
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
    there = evidence.positions(t, other)
    return np.asarray(warp(evidence.colour[other], there), np.uint8), in_frame(there)


def changed_pixels(evidence: Evidence, t: int, other: int) -> BoolArray:
    """(h, w) bool: places of frame ``t`` that look different in frame ``other``."""
    picture, inside = aligned(evidence, t, other)
    limit = same_levels(evidence) + CONTRAST_SHARE * np.minimum(contrast(evidence.colour[t]), contrast(picture))
    return np.asarray(inside & (colour_gap(evidence.colour[t], picture) > limit))


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
    survives = evidence.forward_ok[t][window] & (gap < same_levels(evidence))
    return float(survives[inside].mean())


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
    # Search in the pixels of ``start``: the camera is out of the picture, a shift remains.
    scene = np.asarray(warp(evidence.colour[stop], evidence.positions(start, stop)))
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
    if _matches(evidence, _own_pixels(evidence, mask, scene, start), scene, start, dx, dy)[mask].mean() < REAPPEARANCE_SHARE:
        return None
    return _shifted(evidence.camera_between(start, stop), dx, dy)


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
    """(h, w) bool: where a match tells something, which what already stood there beside the object does not."""
    return np.asarray(mask | (colour_gap(evidence.colour[start], scene) > same_levels(evidence)))


def _matches(evidence: Evidence, own: BoolArray, scene: UInt8Array, start: int, dx: int, dy: int) -> BoolArray:
    """(h, w) bool: what of the ``own`` places looks the same at the shift."""
    grid = evidence.grid + np.array([dx, dy], np.float32)
    same = colour_gap(evidence.colour[start], np.asarray(warp(scene, grid))) < same_levels(evidence)
    return same & warp_mask(own, grid)


def mean_velocity(evidence: Evidence, labels: Labels, identity: int, frames: Sequence[int]) -> FloatArray:
    """Return the median motion of an object against the camera over some frames, grid pixels a frame."""
    masks = [(t, labels[t] == identity) for t in frames]
    each = [np.median(evidence.velocity[t][mask], axis=0) for t, mask in masks if mask.any()]
    return np.asarray(np.median(each, axis=0) if each else np.zeros(2))


# What became of an object that is not seen any more: gone through the edge, hidden, or vanished.

DisappearanceCause = Literal["left", "hidden", "vanished"]

BLINK_FRAMES = 3
"""Out of sight for no longer than this is a spoilt frame or two, not an absence."""
SEEN_SECONDS = 0.5
"""Time for which an object is seen without a break before it is missed ..."""
SEEN_FRAMES = 4
"""... and frames."""
RECENT_SECONDS = 0.6
"""Time over which an object's usual size and motion are taken."""
SUDDEN_SHARE = 0.75
"""An object of which this share (of its recent usual size) was seen two frames ago has not gone step by step."""
STABLE_SHARE, PART_SHARE = 0.65, 0.4
"""Nor has one that over the last six frames kept this share of itself, at least this share of it being in sight."""
RETURNS_SHARE = 0.85
"""Share of its usual size up to which a last sight of one that comes back shows it half hidden."""
CHANGED_SHARE = 0.5
"""Share of its place that must show something else afterwards."""
UNREST_SHARE = 0.35
"""Share of its place that may change afterwards, where background has come to light."""
INSIDE_SHARE = 0.4
"""Share of an object that its motion would have left in the frame; below it the object has left."""
COVERED_SHARE = 0.5
"""Share of an object's expected place that another object must take up to hide it."""
LEAST_SHARE = 0.005
"""Share of the frame that an object must cover to be missed."""
CONTACT_SHARE = 0.25
"""Share of an object's rim along another object from which on they may be pieces of one."""
SEARCHED = (2, 3, 5, 8)
"""Frames after the last sight in which it is looked for; a jerk of the camera may blur the first few."""
SHARPNESS_RATIO = 1.25
"""Factor between the sharpest and the least sharp picture around a loss, from which on a jerk or a glitch explains it.
Sharpness is the mean step between neighbours, objects aside."""
CRUMB_SHARE = 0.5
"""Share of what it was a glance earlier below which an object's last sight does not show what to look for."""
AROUND = 0.6
"""How far around an object its surroundings reach, in square roots of its area."""
SPOILT_SHARE = 0.5
"""Share of the surroundings that may change; beyond it the picture is spoilt, or something passes."""
SETTLING = (2, 5)
"""Frames more after which a quick and a slow fade are over."""
GLANCE = 3
"""Frames after the last sight that are looked at."""


def absences(evidence: Evidence, labels: Labels, identity: int) -> tuple[BoolArray, BoolArray]:
    """Explain why an object is not seen where it is not.

    Args:
        evidence: Of the clip.
        labels: (T, h, w).
        identity: The object's label.

    Returns:
        (T,) bool, unseen because hidden or because nothing is known for sure, and (T,) bool, unseen because out of the
        frame. What is neither is gone without cause.
    """
    present = (labels == identity).any((1, 2))
    count = len(present)
    occluded, left = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    for start, stop in runs(~present):
        inner = start > 0 and stop < count
        if inner and stop - start <= BLINK_FRAMES:
            occluded[start:stop] = True
            continue
        causes = []
        if start > 0:
            causes.append(disappearance_cause(evidence, labels, identity, start - 1, inner))
        if stop < count:
            causes.append(disappearance_cause(evidence.reversed(), labels[::-1], identity, count - 1 - stop, inner))
        left[start:stop] = "left" in causes
        occluded[start:stop] = "left" not in causes and "hidden" in causes
    return occluded, left


def disappearance_cause(evidence: Evidence, labels: Labels, identity: int, last: int, returns: bool = False) -> DisappearanceCause:
    """Judge why an object seen in frame ``last`` is not seen in the next.

    Args:
        evidence: Of the clip, in the direction of time in which the object goes.
        labels: (T, h, w).
        identity: The object's label.
        last: Last frame in which it is seen; not the last of the clip.
        returns: Whether it is seen again later; then less of a step-by-step going shows that it was hidden.

    Returns:
        ``"left"`` through the edge, ``"hidden"`` (step by step, or not known to be gone), or ``"vanished"``.
    """
    recent = max(3, round(RECENT_SECONDS * evidence.fps))
    frames = range(max(0, last - recent + 1), last + 1)
    areas = np.array([np.count_nonzero(labels[t] == identity) for t in frames])
    mask = labels[last] == identity
    velocity = mean_velocity(evidence, labels, identity, frames[-6:])
    if _leaves(evidence, mask, last, velocity):
        return "left"
    clings = max(contact(labels[t], identity) for t in range(max(0, last + 1 - GLANCE), last + 1)) >= CONTACT_SHARE
    if np.count_nonzero(mask) < LEAST_SHARE * mask.size or clings:
        return "hidden"  # how a piece of something came off or was lost says little
    least = max(SEEN_FRAMES, round(SEEN_SECONDS * evidence.fps))
    if last + 1 < least or not (labels[last + 1 - least : last + 1] == identity).any((1, 2)).all():
        return "hidden"  # not there without a break for long enough to be missed
    if _behind_another(evidence, labels, identity, last, velocity) >= COVERED_SHARE:
        return "hidden"
    # The last frame or two may already show half of a fade: the sight before counts.
    usual, earlier, nearly_last = np.quantile(areas, 0.8), areas[max(0, len(areas) - 6)], areas[max(0, len(areas) - 3)]
    if returns and areas[-1] < RETURNS_SHARE * usual:
        return "hidden"
    stable = areas[-1] >= max(STABLE_SHARE * earlier, PART_SHARE * usual)
    if not stable and nearly_last < SUDDEN_SHARE * usual:
        return "hidden"
    return "vanished" if _is_replaced(evidence, labels, identity, last, velocity) else "hidden"


def contact(labels: Labels, identity: int) -> float:
    """Share of the rim of object ``identity`` in one frame's labels (h, w) that lies along other objects."""
    mask = (labels == identity).view(np.uint8)
    rim = (cv2.dilate(mask, disc(5)) > 0) & (mask == 0)
    return float((labels[rim] > 0).mean()) if rim.any() else 0.0


def _leaves(evidence: Evidence, mask: BoolArray, last: int, velocity: FloatArray) -> bool:
    """Whether the object, at the edge, would be mostly outside within a few frames."""
    height, width = mask.shape
    rim = np.ones_like(mask)
    rim[2:-2, 2:-2] = False
    if np.count_nonzero(mask & rim) < 0.25 * np.sqrt(np.count_nonzero(mask)):
        return False
    rows, columns = np.nonzero(mask)
    points = np.stack([columns, rows], -1).astype(np.float64)
    stop = min(last + GLANCE, len(evidence) - 1)
    points = cv2.perspectiveTransform((points + velocity * (stop - last))[None], evidence.camera_between(last, stop))[0]
    inside = (points[:, 0] > 0) & (points[:, 0] < width - 1) & (points[:, 1] > 0) & (points[:, 1] < height - 1)
    return bool(inside.mean() < INSIDE_SHARE)


def _behind_another(evidence: Evidence, labels: Labels, identity: int, last: int, velocity: FloatArray) -> float:
    """Share of the object's expected place in the next frames that another object takes up."""
    shares = []
    for t in range(last + 1, min(last + 1 + GLANCE, len(evidence))):
        shift = np.eye(3)
        shift[:2, 2] = -velocity * (t - last)
        back = shift @ evidence.camera_between(t, last)
        there = np.asarray(cv2.perspectiveTransform(evidence.grid, back), np.float32)
        expected = warp_mask(labels[last] == identity, there)
        if expected.any():
            shares.append(float(((labels[t] != 0) & (labels[t] != identity))[expected].mean()))
    return max(shares, default=0.0)


def _is_replaced(evidence: Evidence, labels: Labels, identity: int, last: int, velocity: FloatArray) -> bool:
    """Whether the object is nowhere near in the next frames and its place shows something else, and that for good.

    A fade may have begun before the last frame and end after it. What replaces the object must stand still as the
    background does: a place taken by something that moves is hidden.
    """
    after = min(last + GLANCE, len(evidence) - 1)
    whole = max(0, last - GLANCE)
    if not (labels[whole] == identity).any():
        whole = last
    if _sharpness_changes(evidence, labels, whole, min(last + SEARCHED[-1], len(evidence) - 1)):
        return False
    sights = {whole, last}
    if np.count_nonzero(labels[last] == identity) < CRUMB_SHARE * np.count_nonzero(labels[whole] == identity):
        sights = {whole}  # a crumb that a fade has left is found again anywhere
    searches = product(sights, {min(last + ahead, len(evidence) - 1) for ahead in SEARCHED})
    if any(find_again(evidence, labels[t] == identity, t, later, velocity) is not None for t, later in searches):
        return False
    mask = labels[whole] == identity
    if _around_changed(evidence, labels, mask, whole, after) > SPOILT_SHARE:
        return False
    if _changed_share(evidence, mask, whole, after) < CHANGED_SHARE:
        return False
    settled = [s for s in (after + SETTLING[0], after + SETTLING[1]) if s < len(evidence) - 1]
    # Too near the end of the clip there is no telling.
    for start in settled or [len(evidence) - 2]:
        mask_there = warp_mask(mask, evidence.positions(start, whole))
        later = min(start + GLANCE, len(evidence) - 1)
        if start > after and _changed_share(evidence, mask_there, start, later) <= UNREST_SHARE:
            return True
    return False


def _sharpness_changes(evidence: Evidence, labels: Labels, first: int, last: int) -> bool:
    """Whether the picture gets blurred, noisy or sharp between two frames, where no object is."""
    window = slice(first, last + 1)
    things = np.asarray((labels[window] > 0).any(0), np.uint8)
    scenery = cv2.dilate(things, disc(15))[:, 1:] == 0
    if not scenery.any():
        return False
    light = evidence.colour[window, ..., 0].astype(np.int16)
    steps = np.abs(np.diff(light, axis=2))[:, scenery].mean(1)
    return bool(steps.max() > SHARPNESS_RATIO * steps.min())


def _around_changed(evidence: Evidence, labels: Labels, mask: BoolArray, one: int, other: int) -> float:
    """Share of what surrounds ``mask`` in frame ``one``, other objects aside, that looks different in ``other``."""
    near = cv2.dilate(mask.view(np.uint8), disc(2 * round(AROUND * np.sqrt(np.count_nonzero(mask))) + 5)) > 0
    things = (labels[one] > 0) | warp_mask(labels[other] > 0, evidence.positions(one, other))
    ring = near & (cv2.dilate((things | mask).view(np.uint8), np.ones((5, 5), np.uint8)) == 0)
    return float(changed_pixels(evidence, one, other)[ring].mean()) if ring.any() else 0.0


def _changed_share(evidence: Evidence, mask: BoolArray, one: int, other: int) -> float:
    """Share of the place ``mask`` of frame ``one`` that looks different in frame ``other``; out of view is changed."""
    if not mask.any():
        return 1.0
    gap = colour_gap(evidence.colour[one], np.asarray(warp(evidence.colour[other], evidence.positions(one, other))))
    return float((gap[mask] > same_levels(evidence)).mean())
