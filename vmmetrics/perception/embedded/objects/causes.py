"""Causes of an object's disappearance: left through the edge, hidden, or none.

They are decided forwards in time; an appearance is a disappearance on the reversed evidence.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import product, takewhile
from typing import Literal

import cv2
import numpy as np

from vmmetrics.functional.tcs import runs
from vmmetrics.perception.embedded.objects.evidence import (
    Evidence,
    Labels,
    colour_gap,
    disc,
    warp,
    warp_mask,
    with_surroundings,
)
from vmmetrics.perception.embedded.objects.matching import changed_pixels, find_again, mean_velocity, same_levels
from vmmetrics.types import BoolArray, FloatArray

DisappearanceCause = Literal["left", "hidden", "vanished"]

BLINK_FRAMES = 3
"""Longest gap, frames, that counts as corrupted frames rather than an absence."""
SEEN_SECONDS = 0.5
"""Least uninterrupted time, seconds, for which an object is visible before it can vanish ..."""
SEEN_FRAMES = 4
"""... and least frames."""
RECENT_SECONDS = 0.6
"""Seconds over which an object's usual size and motion are measured."""
SUDDEN_SHARE = 0.75
"""Share of its recent usual size, two frames before the last sight, from which a disappearance is not gradual."""
STABLE_SHARE, PART_SHARE = 0.65, 0.4
"""Nor is it gradual if the last area is at least the first share of that five frames earlier and the second share of
the usual size."""
RETURNS_SHARE = 0.85
"""Share of the usual size below which the last area of an object that reappears counts as partly occluded."""
CHANGED_SHARE = 0.5
"""Least share of the object's pixels that must change after it vanished."""
UNREST_SHARE = 0.35
"""Largest share of those pixels that may change later, once the uncovered background is visible."""
INSIDE_SHARE = 0.4
"""Share of an object within the frame, extrapolated by its motion, below which it has left."""
COVERED_SHARE = 0.5
"""Least share of an object's expected mask that another object must cover to occlude it."""
LEAST_SHARE = 0.01
"""Least share of the frame that an object must cover for its disappearance to count."""
CONTACT_SHARE = 0.25
"""Share of an object's rim along other objects from which they may be pieces of one object."""
SEARCHED = (2, 3, 5, 8)
"""Offsets, frames after the last sight, at which an object is searched for; camera shake may blur the first few."""
SHARPNESS_RATIO = 1.25
"""Ratio of the largest to the smallest sharpness of frames around a loss from which camera shake or a glitch explains
it. Sharpness is the mean difference of neighbouring pixels outside objects."""
CRUMB_SHARE = 0.5
"""Share of its area :data:`GLANCE` frames earlier below which an object's last mask is too small to search by."""
SPOILT_SHARE = 0.5
"""Largest share of an object's surroundings that may change: beyond it the frame is corrupted or something passes."""
MOVES_SHARE = 0.15
"""Largest area around it that may go on moving, in areas of the object; of 18 false events on clean windows at speeds 1
and 3 most exceed it."""
SETTLING, GLANCE = (2, 5), 3
"""Further frames after which a fast and a slow fade are over, and frames examined after the last sight."""


def absences(
    evidence: Evidence, labels: Labels, moving: BoolArray, identity: int, breaks: Collection[int] = ()
) -> tuple[BoolArray, BoolArray]:
    """Explain the absences of an object.

    Args:
        evidence: Evidence of the clip.
        labels: (T, h, w).
        moving: (T, h, w) bool, independently moving pixels.
        identity: The object's label.
        breaks: Frames after which it is replaced from one frame to the next: there is no cause for that.

    Returns:
        (T,) bool, absent and occluded or undecided, and (T,) bool, absent and outside the frame. An absence that is
        neither has no cause.
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
            broken = start - 1 in breaks
            causes.append(disappearance_cause(evidence, labels, moving, identity, start - 1, inner, broken))
        if stop < count:
            back, last, broken = evidence.reversed(), count - 1 - stop, stop - 1 in breaks
            causes.append(disappearance_cause(back, labels[::-1], moving[::-1], identity, last, inner, broken))
        left[start:stop] = "left" in causes
        occluded[start:stop] = "left" not in causes and "hidden" in causes
    return occluded, left


def disappearance_cause(
    evidence: Evidence,
    labels: Labels,
    moving: BoolArray,
    identity: int,
    last: int,
    returns: bool = False,
    broken: bool = False,
) -> DisappearanceCause:
    """Decide why an object visible in frame ``last`` is absent from the next.

    Args:
        evidence: Evidence of the clip, in the direction of time in which the object disappears.
        labels: (T, h, w).
        moving: (T, h, w) bool, independently moving pixels.
        identity: The object's label.
        last: Last frame in which it is visible; not the last of the clip.
        returns: True if it reappears later; then a smaller loss of area counts as occlusion.
        broken: True if it is replaced from one frame to the next.

    Returns:
        ``"left"`` through the edge, ``"hidden"`` (gradually, or undecided), or ``"vanished"``.
    """
    recent = max(3, round(RECENT_SECONDS * evidence.fps))
    frames = range(max(0, last - recent + 1), last + 1)
    areas = np.array([np.count_nonzero(labels[t] == identity) for t in frames])
    mask = labels[last] == identity
    velocity = mean_velocity(evidence, labels, identity, frames[-6:])
    least = max(SEEN_FRAMES, round(SEEN_SECONDS * evidence.fps))
    seen_long = last + 1 >= least and (labels[last + 1 - least : last + 1] == identity).any((1, 2)).all()
    if broken and seen_long:
        return "vanished"
    if _leaves(evidence, mask, last, velocity):
        return "left"
    clings = max(contact(labels[t], identity) for t in range(max(0, last + 1 - GLANCE), last + 1)) >= CONTACT_SHARE
    if np.count_nonzero(mask) < LEAST_SHARE * mask.size or clings:
        return "hidden"  # a piece of another object says little
    if not seen_long:
        return "hidden"
    if _behind_another(evidence, labels, identity, last, velocity) >= COVERED_SHARE:
        return "hidden"
    # The last frame or two may already be half faded: the area before counts.
    usual, earlier, nearly_last = np.quantile(areas, 0.8), areas[max(0, len(areas) - 6)], areas[max(0, len(areas) - 3)]
    if returns and areas[-1] < RETURNS_SHARE * usual:
        return "hidden"
    stable = areas[-1] >= max(STABLE_SHARE * earlier, PART_SHARE * usual)
    if not stable and nearly_last < SUDDEN_SHARE * usual:
        return "hidden"
    if _goes_on_moving(evidence, labels, moving, identity, last):
        return "hidden"  # the object itself, in a pose that is not recognised, or what covers it
    return "vanished" if _is_replaced(evidence, labels, identity, last, velocity) else "hidden"


def _goes_on_moving(evidence: Evidence, labels: Labels, moving: BoolArray, identity: int, last: int) -> bool:
    """Return True if something else moves in or around an object's mask of frame ``last`` once it is gone."""
    mask = labels[last] == identity
    size = np.count_nonzero(mask)
    near = with_surroundings(mask)
    frames = range(last + GLANCE, min(last + SEARCHED[-1] + 1, len(evidence)))
    absent = takewhile(lambda t: not (labels[t] == identity).any(), frames)
    moves = [np.count_nonzero(warp_mask(moving[t], evidence.positions(last, t)) & near) for t in absent]
    return bool(moves and np.median(moves) > MOVES_SHARE * size)


def contact(labels: Labels, identity: int) -> float:
    """Return the share of the rim of object ``identity`` in one frame's labels (h, w) along other objects."""
    mask = (labels == identity).view(np.uint8)
    rim = (cv2.dilate(mask, disc(5)) > 0) & (mask == 0)
    return float((labels[rim] > 0).mean()) if rim.any() else 0.0


def _leaves(evidence: Evidence, mask: BoolArray, last: int, velocity: FloatArray) -> bool:
    """Return True if the object touches the edge and its motion takes most of it outside within a few frames."""
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
    """Return the largest share of the object's expected mask in the next frames that other objects cover."""
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
    """Return True if the object matches nowhere near in the next frames and static background permanently replaces it.

    A fade may have begun before the last frame and end after it. Moving content in its position means occlusion.
    """
    after = min(last + GLANCE, len(evidence) - 1)
    whole = max(0, last - GLANCE)
    if not (labels[whole] == identity).any():
        whole = last
    if _sharpness_changes(evidence, labels, whole, min(last + SEARCHED[-1], len(evidence) - 1)):
        return False
    sights = {whole, last}
    if np.count_nonzero(labels[last] == identity) < CRUMB_SHARE * np.count_nonzero(labels[whole] == identity):
        sights = {whole}  # the last remains of a fade match anywhere
    searches = product(sights, {min(last + ahead, len(evidence) - 1) for ahead in SEARCHED})
    if any(find_again(evidence, labels[t] == identity, t, later, velocity) is not None for t, later in searches):
        return False
    mask = labels[whole] == identity
    if _around_changed(evidence, labels, mask, whole, after) > SPOILT_SHARE:
        return False
    if _changed_share(evidence, mask, whole, after) < CHANGED_SHARE:
        return False
    settled = [s for s in (after + SETTLING[0], after + SETTLING[1]) if s < len(evidence) - 1]
    # Undecidable too near the end of the clip.
    for start in settled or [len(evidence) - 2]:
        mask_there = warp_mask(mask, evidence.positions(start, whole))
        later = min(start + GLANCE, len(evidence) - 1)
        if start > after and _changed_share(evidence, mask_there, start, later) <= UNREST_SHARE:
            return True
    return False


def _sharpness_changes(evidence: Evidence, labels: Labels, first: int, last: int) -> bool:
    """Return True if the sharpness outside objects changes between two frames, by blur or noise."""
    window = slice(first, last + 1)
    things = np.asarray((labels[window] > 0).any(0), np.uint8)
    scenery = cv2.dilate(things, disc(15))[:, 1:] == 0
    if not scenery.any():
        return False
    light = evidence.colour[window, ..., 0].astype(np.int16)
    steps = np.abs(np.diff(light, axis=2))[:, scenery].mean(1)
    return bool(steps.max() > SHARPNESS_RATIO * steps.min())


def _around_changed(evidence: Evidence, labels: Labels, mask: BoolArray, one: int, other: int) -> float:
    """Return the share of the surroundings of ``mask`` in frame ``one``, without objects, that differs in ``other``."""
    near = with_surroundings(mask, wider=5)
    things = (labels[one] > 0) | warp_mask(labels[other] > 0, evidence.positions(one, other))
    ring = near & (cv2.dilate((things | mask).view(np.uint8), np.ones((5, 5), np.uint8)) == 0)
    return float(changed_pixels(evidence, one, other)[ring].mean()) if ring.any() else 0.0


def _changed_share(evidence: Evidence, mask: BoolArray, one: int, other: int) -> float:
    """Return the share of ``mask`` of frame ``one`` that differs or is out of view in frame ``other``."""
    if not mask.any():
        return 1.0
    gap = colour_gap(evidence.colour[one], np.asarray(warp(evidence.colour[other], evidence.positions(one, other))))
    return float((gap[mask] > same_levels(evidence)).mean())
