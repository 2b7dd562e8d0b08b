"""Segmentation of moving objects, with masks and identities over the whole clip."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import cv2
import numpy as np

from vmmetrics.perception.embedded.objects import pruning
from vmmetrics.perception.embedded.objects.breaks import Break, find_breaks, outlined, relit_or_overlaid
from vmmetrics.perception.embedded.objects.causes import absences
from vmmetrics.perception.embedded.objects.evidence import (
    Evidence,
    Labels,
    disc,
    gather_evidence,
    warp,
    warp_mask,
    with_surroundings,
)
from vmmetrics.perception.embedded.objects.matching import aligned, changed_pixels
from vmmetrics.perception.embedded.objects.tracking import NEW_SHARE, Mask, MaskTracker, filled, moving_map
from vmmetrics.perception.scene import Objects, Scene, SceneObject
from vmmetrics.types import BoolArray, FloatArray, UInt8Array

# Objects that pop in or out without moving: compact regions that change abruptly and stay changed.
#
# A region is compared with itself under the camera's motion: unchanged before, unchanged after, changed across.
# The outline decides on which side the object is: an object has edges around it, the background behind it has none.

STEPS = (1, 5)
"""Frames over which a change is searched for: abrupt, or a fade of up to four frames."""
STAYS = 5
"""Frames after which the region must still be changed; a corrupted frame or two are no change."""
SETTLED = 2
"""Frames after which a fade is certainly over."""
STAYS_SHARE = 0.6
"""Least share of the region that must still be changed."""
LEAST_SHARE, MOST_SHARE = 0.004, 0.35
"""Least and largest share of the frame that an object covers; more is a cut or a change of illumination."""
TOGETHER = 9
"""Distance, pixels, up to which parts that change together belong to one object."""
SOLID = 0.4
"""Least share of its convex hull that an object fills."""
AROUND_CHANGED, AROUND_MOVING = 0.08, 0.15
"""Largest area around an object that may change, and in and around it that may move, as shares of its own area.

Rendered objects that pop in reach 0.04 and 0.05; regions that are uncovered by moving objects in real footage nearly
all exceed one or the other.
"""


_Change = Callable[[int, int], BoolArray]
"""Pixels of one frame that differ in another: :func:`~.matching.changed_pixels` of the clip."""
PopIn = tuple[int, bool, dict[int, BoolArray]]
"""An object that pops in or out: the frame in which it is fully visible (the first after the change, or the last before
it), True if it pops in, and its masks (h, w) by frame, from the change to that frame."""


def pop_ins(evidence: Evidence, labels: Labels, moving: BoolArray) -> list[PopIn]:
    """Find the unlabelled objects that pop in or out, earliest first.

    Args:
        evidence: Evidence of the clip.
        labels: (T, h, w) objects segmented so far.
        moving: (T, h, w) bool, independently moving pixels.
    """
    count, area = len(evidence), labels.shape[1] * labels.shape[2]
    changes: list[tuple[int, int, int, BoolArray]] = []

    @lru_cache(maxsize=64)  # those of some ten frames: the end of a long step is the beginning of a later short one
    def change(one: int, other: int) -> BoolArray:
        return changed_pixels(evidence, one, other)

    for t, step in ((t, step) for t in range(1, count) for step in STEPS if t < count - step - 1):
        if np.count_nonzero(change(t, t + step)) < LEAST_SHARE * area:
            continue
        # Neither pixels that changed before, nor pixels that still change after the step.
        after = warp_mask(change(t + step, t + step + 1), evidence.positions(t, t + step))
        changed = change(t, t + step) & ~change(t, t - 1) & ~after
        labelled = np.asarray(labels[t - 1 : t + step + 2].any(0), np.uint8)
        changed &= np.asarray(cv2.dilate(labelled, disc(7))) == 0
        things = (mask for mask in _things(changed, area) if not relit_or_overlaid(evidence, mask, t, t + step))
        lasting = (mask for mask in things if _stays(evidence, change, mask, t, step))
        changes += [(int(m.sum()), t, step, m) for m in lasting if _alone(evidence, change, moving, m, t, step)]
    changes_on_spot: list[PopIn] = []
    taken = np.zeros(labels.shape, np.bool_)
    for _, t, step, mask in sorted(changes, key=lambda one: (-one[0], one[2], one[1])):
        if not (taken[t : t + step + 1].any(0) & mask).any():
            changes_on_spot.append(_resolved(evidence, mask, t, step))
            spread = cv2.dilate(mask.view(np.uint8), disc(TOGETHER)) > 0
            taken[max(0, t - 2 * STAYS) : t + step + 2 * STAYS] |= spread
    return sorted(changes_on_spot, key=lambda change_on_spot: change_on_spot[0])


def _things(changed: BoolArray, frame_area: int) -> list[BoolArray]:
    """Return the compact regions (h, w) of ``changed`` with the size of an object."""
    solid = cv2.morphologyEx(changed.view(np.uint8), cv2.MORPH_CLOSE, disc(9))
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, disc(3))
    if not LEAST_SHARE * frame_area <= np.count_nonzero(solid) <= MOST_SHARE * frame_area:
        return []
    things = []
    count, groups = cv2.connectedComponents(cv2.dilate(solid, disc(TOGETHER)))
    for group in range(1, count):
        mask = (groups == group) & (solid > 0)
        size = np.count_nonzero(mask)
        hull = cv2.contourArea(cv2.convexHull(cv2.findNonZero(mask.view(np.uint8))))
        if size >= LEAST_SHARE * frame_area and size >= SOLID * hull:
            things.append(filled(mask))
    return things


def _stays(evidence: Evidence, change: _Change, mask: BoolArray, t: int, step: int) -> bool:
    """Return True if ``mask`` changes permanently from frame ``t`` on and is constant before and after the change."""
    early, late = max(0, t - STAYS), min(len(evidence) - 1, t + step + STAYS)
    if change(t, late)[mask].mean() < STAYS_SHARE or change(t, early)[mask].mean() > 1 - STAYS_SHARE:
        return False
    later_mask = warp_mask(mask, evidence.positions(t + step, t))
    return bool(later_mask.any() and change(t + step, late)[later_mask].mean() <= 1 - STAYS_SHARE)


def _alone(evidence: Evidence, change: _Change, moving: BoolArray, mask: BoolArray, t: int, step: int) -> bool:
    """Return True if nothing passes: a passing object that uncovers a region also changes and moves beside it."""
    size = np.count_nonzero(mask)
    near = with_surroundings(mask)
    ring = near & (cv2.dilate(mask.view(np.uint8), disc(7)) == 0)
    first, last = max(0, t - SETTLED), min(len(evidence) - 1, t + step + SETTLED)
    for one, other in ((t, t + step), (first, last)):
        if np.count_nonzero(change(one, other) & ring) > AROUND_CHANGED * size:
            return False
    for s in range(max(0, t - 1), min(len(evidence), t + step + 2)):
        moves = warp_mask(moving[s], evidence.positions(t, s))
        if np.count_nonzero(moves & near) > AROUND_MOVING * size:
            return False
    return True


def _resolved(evidence: Evidence, mask: BoolArray, t: int, step: int) -> PopIn:
    """Decide on which side of the change the object is, and in which frame the change begins."""
    old = evidence.colour[t].astype(np.float32)
    new = aligned(evidence, t, t + step)[0].astype(np.float32)
    first_new = t + step
    for s in range(t + 1, t + step):
        now = aligned(evidence, t, s)[0].astype(np.float32)[mask]
        if np.abs(now - new[mask]).mean() < np.abs(now - old[mask]).mean():
            first_new = s
            break
    if outlined(old, mask) >= outlined(new, mask):
        came, full, frames = False, t, range(t, first_new)
    else:
        # The earliest step that shows a fade ends about when the fade does.
        came, full = True, min(t + step + SETTLED, len(evidence) - 1)
        frames = range(first_new, full + 1)
    return full, came, {frame: warp_mask(mask, evidence.positions(frame, t)) for frame in frames}


# Second pass for clips without an object: low-contrast regions, of which only some pixels show their motion.
#
# A disc that spins in place moves along its own outline, and its texture is often too smooth to show motion. Its flow
# differs from the camera's all the same, and explains more of its pixels, frame after frame, than chance does.

EXPLAINED_SHARE = 0.05
"""Least share of a region's pixels that their motion explains; six rendered spinning shapes have 0.08 to 0.34."""
LASTING_SECONDS = 0.75
"""Least time, seconds, for which a region moves as a whole; a false region of a rendered zoom lasted 0.4 s."""
LEVEL = 0.75
"""Least strength within a region, as a share of the explained pixels' median: around it the flow fades out."""


def low_contrast_regions(evidence: Evidence) -> BoolArray:
    """Return (T, h, w) bool: low-contrast regions that move as a whole for :data:`LASTING_SECONDS` without a break."""
    candidates = np.stack([_standing_out(evidence, t) for t in range(len(evidence))])
    before = _ages(candidates, evidence)
    after = _ages(candidates[::-1], evidence.reversed())[::-1]
    least = min(len(candidates), max(3, round(LASTING_SECONDS * evidence.fps)))
    return np.asarray(candidates & (before + after - 1 >= least))


def _standing_out(evidence: Evidence, t: int) -> Mask:
    """Return (h, w) bool: regions of frame ``t`` whose flow differs from the camera's and explains enough pixels."""
    strength, support = evidence.strength[t], evidence.support[t]
    strong = cv2.morphologyEx((strength > 1).astype(np.uint8), cv2.MORPH_OPEN, disc(3))
    count, parts, stats, _ = cv2.connectedComponentsWithStats(strong, connectivity=8)
    explained = support & (strong > 0)
    hits = np.bincount(parts[explained], minlength=count)
    area = stats[:, cv2.CC_STAT_AREA]
    regions = np.zeros(strong.shape, np.bool_)
    for part in np.flatnonzero((area >= NEW_SHARE * strong.size) & (hits >= EXPLAINED_SHARE * area)):
        if part == 0:
            continue
        inside = parts == part
        regions |= inside & (strength > LEVEL * np.median(strength[inside & explained]))
    return cv2.morphologyEx(filled(regions).astype(np.uint8), cv2.MORPH_OPEN, disc(3)) > 0


def _ages(regions: BoolArray, evidence: Evidence) -> FloatArray:
    """Return (T, h, w): number of consecutive frames in which a pixel, followed along the flow, is in ``regions``."""
    ages = np.zeros(regions.shape, np.float32)
    ages[0] = regions[0]
    for t in range(1, len(regions)):
        before = warp(cv2.dilate(ages[t - 1], disc(3)), evidence.grid + evidence.backward[t - 1], nearest=True)
        ages[t] = np.where(regions[t], 1 + before, 0)
    return ages


REPLACED = 0.5
"""Least share of an object in the region of a break for it to vanish or appear there."""
MAX_OBJECTS = 254
"""Most objects per clip: labels are uint8."""


MIN_SECONDS, MIN_MOVED = 0.25, 3
"""Least time, seconds (and three frames), for which an object is visible, and least frames in which it moves."""


class MotionSegmenter:
    """Segmenter of independently moving objects, tracked while at rest and back to before they moved."""

    def segment(self, scene: Scene) -> Objects:
        """Return the objects of ``scene``."""
        evidence = gather_evidence(scene)
        moving = np.stack([moving_map(evidence, t) for t in range(len(evidence))])
        breaks = find_breaks(evidence)
        objects, labels = _objects(evidence, moving, breaks)
        if not objects:
            moving = low_contrast_regions(evidence)
            objects, labels = _objects(evidence, moving, breaks)
        height, width = evidence.shape
        return Objects(labels, tuple(objects), (scene.clip.width / width, scene.clip.height / height), moving)


def _objects(evidence: Evidence, moving: BoolArray, breaks: list[Break]) -> tuple[list[SceneObject], UInt8Array]:
    """Return the objects of ``moving`` (T, h, w) bool, and their labels (T, h, w)."""
    labels = _follow(evidence, moving, breaks)
    pruning.join_pieces(evidence, labels)
    broken = _end_at_breaks(evidence, labels, breaks)
    objects: list[SceneObject] = []
    least = min(len(evidence), max(3, round(MIN_SECONDS * evidence.fps)))
    out = np.zeros(labels.shape, np.uint8)
    for identity in np.unique(labels)[1:].tolist():
        mask = labels == identity
        present = mask.any((1, 2))
        if present.sum() < least or len(objects) == MAX_OBJECTS:
            continue
        occluded, left = absences(evidence, labels, moving, identity, broken.get(identity, ()))
        objects.append(SceneObject(len(objects) + 1, "object", present, occluded, left))
        out[mask] = len(objects)
    return objects, out


def _follow(evidence: Evidence, moving: BoolArray, breaks: list[Break]) -> Labels:
    """Return (T, h, w) labels of ``moving`` (T, h, w) regions, tracked in both directions of time."""
    count = len(evidence)
    labels = np.zeros((count, *evidence.shape), np.uint16)
    forwards = MaskTracker(evidence, labels, moving)
    forwards.discover()
    for identity, track in list(forwards.tracks.items()):
        if track.moved < MIN_MOVED:
            labels[labels == identity] = 0
            del forwards.tracks[identity]
    backwards = MaskTracker(evidence.reversed(), labels[::-1], moving[::-1])
    backwards.extend({i: count - 1 - min(track.areas) for i, track in forwards.tracks.items()})
    for old, new in backwards.merged.items():
        while new in backwards.merged:
            new = backwards.merged[new]
        labels[labels == old] = new
    moved = {i: track.moved for i, track in forwards.tracks.items()}
    pruning.trim_residue(labels, moving)
    pruning.trim_bare(evidence, labels, moving)
    pruning.drop_unmoved(evidence, labels)
    pruning.drop_replaced(labels, moved)
    pruning.merge_parts(labels)
    seen = [(*found.sight(evidence), found.came) for found in breaks]
    _add_pop_ins(evidence, labels, moving, [(t, came, {t: mask}) for t, mask, came in seen])
    _add_pop_ins(evidence, labels, moving, pop_ins(evidence, labels, moving))
    return labels


def _end_at_breaks(evidence: Evidence, labels: Labels, breaks: list[Break]) -> dict[int, list[int]]:
    """End the labels that a break replaces there, in place, and return the breaks' frames by label."""
    broken: dict[int, list[int]] = {}
    for found in breaks:
        t, mask = found.sight(evidence)
        sizes, inside = np.bincount(labels[t].ravel()), np.bincount(labels[t][mask])
        for identity in (1 + np.flatnonzero(inside[1:] >= REPLACED * sizes[1 : len(inside)])).tolist():
            if inside[identity] == 0:
                continue
            beyond = labels[:t] if found.came else labels[t + 1 :]
            beyond[beyond == identity] = 0
            broken.setdefault(identity, []).append(found.frame)
    return broken


def _add_pop_ins(evidence: Evidence, labels: Labels, moving: BoolArray, changes: list[PopIn]) -> None:
    """Label the objects that pop in or out, and track them to the other end of their life, in place."""
    last = len(evidence) - 1
    for full, came, masks in changes:
        if (labels[full] > 0)[masks[full]].mean() > 0.5:
            continue
        identity = int(labels.max()) + 1
        for frame, mask in masks.items():
            labels[frame][mask & (labels[frame] == 0)] = identity
        if came:
            MaskTracker(evidence, labels, moving).extend({identity: full})
        else:
            MaskTracker(evidence.reversed(), labels[::-1], moving[::-1]).extend({identity: last - full})
