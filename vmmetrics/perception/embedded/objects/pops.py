"""Things that come or go although they never move: compact places that change at once and stay changed.

A place is compared with itself under the camera's motion: the same before, the same afterwards, different across.
Which side shows the object is told by the outline: an object has edges around it, the background behind it has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.objects.evidence import Evidence, mapped, warp
from vmmetrics.perception.embedded.objects.matching import aligned, changed_places
from vmmetrics.perception.embedded.objects.tracking import filled
from vmmetrics.types import BoolArray, FloatArray

STEPS = (1, 5)
"""Frames across which a change is looked for: at once, or a fade of up to four frames."""
STAYS = 5
"""Frames further on at which the place must still be changed; a spoilt frame or two are not a change."""
SETTLED = 2
"""Frames after which a fade is over for certain."""
STAYS_SHARE = 0.6
"""Share of the place that must be."""
LEAST_SHARE, MOST_SHARE = 0.004, 0.35
"""Share of the frame that a thing covers; more is a cut or a change of light."""
TOGETHER = 9
"""Parts that change together and are nearer than this many pixels are one thing."""
SOLID = 0.4
"""Share of its convex hull that a thing fills."""
AROUND = 0.6
"""How far around a thing to look, in square roots of its area."""
AROUND_CHANGED, AROUND_MOVING = 0.08, 0.15
"""Area around a thing that may change, and in and around it that may move, as shares of its own.

Rendered things that pop reach 0.04 and 0.05; of the places that real footage uncovers and covers as something passes,
nearly all exceed one or the other.
"""


@dataclass(frozen=True)
class Pop:
    """A thing that came or went on the spot.

    Attributes:
        kind: Which.
        masks: (h, w) bool by frame, where it is from the change on to the frame in which it is fully seen.
        full: That frame: the last before the change for ``"vanish"``, the first after it for ``"appear"``.
    """

    kind: Literal["vanish", "appear"]
    masks: dict[int, BoolArray]
    full: int


def find_pops(evidence: Evidence, labels: NDArray[np.uint16], moving: NDArray[np.bool_]) -> list[Pop]:
    """Find the unlabelled things that come or go on the spot, earliest first.

    Args:
        evidence: Of the clip.
        labels: (T, h, w) what is known already.
        moving: (T, h, w) what moves by itself.
    """
    count, area = len(evidence), labels.shape[1] * labels.shape[2]
    found: list[tuple[int, int, int, BoolArray]] = []
    for step in STEPS:
        for t in range(1, count - step - 1):
            changed = changed_places(evidence, t, t + step)
            if np.count_nonzero(changed) < LEAST_SHARE * area:
                continue
            changed &= ~changed_places(evidence, t, t - 1) & ~_after(evidence, t, step)
            labelled = np.asarray(labels[t - 1 : t + step + 2].any(0), np.uint8)
            changed &= np.asarray(cv2.dilate(labelled, _disc(7))) == 0
            things = [
                mask
                for mask in _things(changed, area)
                if _stays(evidence, mask, t, step) and _alone(evidence, moving, mask, t, step)
            ]
            found.extend((int(mask.sum()), t, step, mask) for mask in things)
    pops: list[Pop] = []
    taken = np.zeros(labels.shape, np.bool_)
    for _, t, step, mask in sorted(found, key=lambda one: -one[0]):  # the whole thing before its parts
        if not (taken[t : t + step + 1].any(0) & mask).any():
            pops.append(_resolved(evidence, mask, t, step))
            spread = cv2.dilate(mask.view(np.uint8), _disc(TOGETHER)) > 0
            taken[max(0, t - 2 * STAYS) : t + step + 2 * STAYS] |= spread
    return sorted(pops, key=lambda pop: pop.full)


def _disc(size: int) -> NDArray[np.uint8]:
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)))


def _after(evidence: Evidence, t: int, step: int) -> BoolArray:
    """(h, w) bool, in frame ``t``: places that still change once the step is over."""
    there = mapped(evidence.camera_between(t, t + step), evidence.grid)
    unrest = changed_places(evidence, t + step, t + step + 1).view(np.uint8)
    return np.asarray(warp(unrest, there, nearest=True)) > 0


def _things(changed: BoolArray, frame_area: int) -> list[BoolArray]:
    """Compact parts of a reasonable size."""
    solid = cv2.morphologyEx(changed.view(np.uint8), cv2.MORPH_CLOSE, _disc(9))
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, _disc(3))
    if not LEAST_SHARE * frame_area <= np.count_nonzero(solid) <= MOST_SHARE * frame_area:
        return []
    things = []
    count, groups = cv2.connectedComponents(cv2.dilate(solid, _disc(TOGETHER)))
    for group in range(1, count):
        mask = (groups == group) & (solid > 0)
        size = np.count_nonzero(mask)
        hull = cv2.contourArea(cv2.convexHull(cv2.findNonZero(mask.view(np.uint8))))
        if size >= LEAST_SHARE * frame_area and size >= SOLID * hull:
            things.append(filled(mask))
    return things


def _stays(evidence: Evidence, mask: BoolArray, t: int, step: int) -> bool:
    """Whether the place was the same for some frames before and is for some frames afterwards."""
    early, late = max(0, t - STAYS), min(len(evidence) - 1, t + step + STAYS)
    across = changed_places(evidence, t, late)[mask].mean() >= STAYS_SHARE
    before = changed_places(evidence, t, early)[mask].mean() <= 1 - STAYS_SHARE
    there = mapped(evidence.camera_between(t + step, t), evidence.grid)
    later_mask = warp(mask.view(np.uint8), there, nearest=True) > 0
    if not later_mask.any():
        return False
    after = changed_places(evidence, t + step, late)[later_mask].mean() <= 1 - STAYS_SHARE
    return bool(across and before and after)


def _alone(evidence: Evidence, moving: NDArray[np.bool_], mask: BoolArray, t: int, step: int) -> bool:
    """Whether nothing passes: what uncovers or covers a place as it goes by changes, and moves, beside it as well."""
    size = np.count_nonzero(mask)
    near = cv2.dilate(mask.view(np.uint8), _disc(2 * round(AROUND * np.sqrt(size)) + 1)) > 0
    ring = near & (cv2.dilate(mask.view(np.uint8), _disc(7)) == 0)
    first, last = max(0, t - SETTLED), min(len(evidence) - 1, t + step + SETTLED)
    for one, other in ((t, t + step), (first, last)):
        if np.count_nonzero(changed_places(evidence, one, other) & ring) > AROUND_CHANGED * size:
            return False
    for s in range(max(0, t - 1), min(len(evidence), t + step + 2)):
        there = mapped(evidence.camera_between(t, s), evidence.grid)
        moves = np.asarray(warp(moving[s].view(np.uint8), there, nearest=True)) > 0
        if np.count_nonzero(moves & near) > AROUND_MOVING * size:
            return False
    return True


def _resolved(evidence: Evidence, mask: BoolArray, t: int, step: int) -> Pop:
    """Decide which side shows the object, and from which frame on the other one is seen."""
    old = evidence.colour[t].astype(np.float32)
    new = aligned(evidence, t, t + step)[0].astype(np.float32)
    first_new = t + step
    for s in range(t + 1, t + step):
        now = aligned(evidence, t, s)[0].astype(np.float32)[mask]
        if np.abs(now - new[mask]).mean() < np.abs(now - old[mask]).mean():
            first_new = s
            break
    if _outlined(old, mask) >= _outlined(new, mask):
        kind: Literal["vanish", "appear"] = "vanish"
        frames, full = range(t, first_new), t
    else:
        # The earliest step that shows a fade ends as the fade does, give or take its last shade.
        kind, full = "appear", min(t + step + SETTLED, len(evidence) - 1)
        frames = range(first_new, full + 1)
    masks = {}
    for frame in frames:
        there = mapped(evidence.camera_between(frame, t), evidence.grid)
        masks[frame] = warp(mask.view(np.uint8), there, nearest=True) > 0
    return Pop(kind, masks, full)


def _outlined(picture: FloatArray, mask: BoolArray) -> float:
    """Median colour step across the outline of ``mask``."""
    smooth = cv2.blur(picture, (3, 3))
    dx, dy = cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1)
    steep = np.sqrt((dx * dx + dy * dy).sum(-1))
    rim = cv2.morphologyEx(mask.view(np.uint8), cv2.MORPH_GRADIENT, _disc(3)) > 0
    return float(np.median(steep[rim]))
