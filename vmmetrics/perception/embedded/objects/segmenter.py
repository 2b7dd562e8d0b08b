"""Moving objects with masks and identities over the whole clip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.answers import Objects, SceneObject
from vmmetrics.perception.embedded.objects.evidence import Evidence, gather_evidence, warp
from vmmetrics.perception.embedded.objects.fates import absences
from vmmetrics.perception.embedded.objects.matching import join_pieces
from vmmetrics.perception.embedded.objects.pops import find_pops
from vmmetrics.perception.embedded.objects.pruning import (
    drop_replaced,
    drop_unmoved,
    merge_parts,
    trim_bare,
    trim_residue,
)
from vmmetrics.perception.embedded.objects.tracking import NEW_SHARE, Mask, MaskTracker, disc, filled, moving_map
from vmmetrics.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from vmmetrics.perception.scene import Scene


# A second look where nothing was found: what moves as a whole, though only some of its pixels can show it.
#
# A disc that spins in place moves along its own outline, and inside it texture is often too smooth to tell. Its flow
# stands out all the same, and explains more of its pixels, frame after frame, than chance does.

EXPLAINED_SHARE = 0.05
"""Share of a region's pixels that must be explained by their motion; six spinning shapes rendered for development have
0.08 to 0.34."""
LASTING_SECONDS = 0.75
"""Time for which a region must go on moving as a whole; what a zoom made up in a rendered clip lasted 0.4 s."""
LEVEL = 0.75
"""Strength, as a share of the explained pixels' median, that belongs to the region: around it the flow fades out."""


def faint_maps(evidence: Evidence) -> BoolArray:
    """(T, h, w) bool: regions that move as a whole, and for :data:`LASTING_SECONDS` on end."""
    found = np.stack([_standing_out(evidence, t) for t in range(len(evidence))])
    before = _ages(found, evidence)
    after = _ages(found[::-1], evidence.reversed())[::-1]
    least = min(len(found), max(3, round(LASTING_SECONDS * evidence.fps)))
    return np.asarray(found & (before + after - 1 >= least))


def _standing_out(evidence: Evidence, t: int) -> Mask:
    """(h, w) bool: regions of frame ``t`` whose flow stands out and explains enough of them."""
    strength, support = evidence.strength[t], evidence.support[t]
    strong = cv2.morphologyEx((strength > 1).astype(np.uint8), cv2.MORPH_OPEN, disc(3))
    count, parts, stats, _ = cv2.connectedComponentsWithStats(strong, connectivity=8)
    explained = support & (strong > 0)
    hits = np.bincount(parts[explained], minlength=count)
    area = stats[:, cv2.CC_STAT_AREA]
    found = np.zeros(strong.shape, np.bool_)
    for part in np.flatnonzero((area >= NEW_SHARE * strong.size) & (hits >= EXPLAINED_SHARE * area)):
        if part == 0:
            continue
        inside = parts == part
        found |= inside & (strength > LEVEL * np.median(strength[inside & explained]))
    return cv2.morphologyEx(filled(found).astype(np.uint8), cv2.MORPH_OPEN, disc(3)) > 0


def _ages(found: BoolArray, evidence: Evidence) -> FloatArray:
    """(T, h, w) frames for which what is found at a pixel has been found on end, following the flow."""
    ages = np.zeros(found.shape, np.float32)
    ages[0] = found[0]
    for t in range(1, len(found)):
        before = warp(cv2.dilate(ages[t - 1], disc(3)), evidence.grid + evidence.backward[t - 1], nearest=True)
        ages[t] = np.where(found[t], 1 + before, 0)
    return ages


MAX_OBJECTS = 254


@dataclass(frozen=True)
class MotionSegmenter:
    """Objects are what moves by itself, followed through rests and back to before it moved.

    Attributes:
        min_seconds: An object is seen for at least this long, and in three frames; shorter ones are chance ...
        min_moved: ... and moves by itself in this many.
    """

    min_seconds: float = 0.25
    min_moved: int = 3

    def segment(self, scene: Scene) -> Objects:
        """Find the objects of ``scene``."""
        evidence = gather_evidence(scene)
        moving = np.stack([moving_map(evidence, t) for t in range(len(evidence))])
        kept, out = self._objects(evidence, moving)
        if not kept:
            moving = faint_maps(evidence)
            kept, out = self._objects(evidence, moving)
        height, width = evidence.shape
        return Objects(out, tuple(kept), (scene.clip.width / width, scene.clip.height / height), moving)

    def _objects(self, evidence: Evidence, moving: BoolArray) -> tuple[list[SceneObject], NDArray[np.uint8]]:
        """Objects, and their labels (T, h, w), of what is ``moving`` (T, h, w)."""
        labels = self._follow(evidence, moving)
        join_pieces(evidence, labels)
        kept: list[SceneObject] = []
        least = min(len(evidence), max(3, round(self.min_seconds * evidence.fps)))
        out = np.zeros(labels.shape, np.uint8)
        for identity in np.unique(labels)[1:].tolist():
            mask = labels == identity
            present = mask.any((1, 2))
            if present.sum() < least or len(kept) == MAX_OBJECTS:
                continue
            occluded, left = absences(evidence, labels, identity)
            kept.append(SceneObject(len(kept) + 1, "object", present, occluded, left))
            out[mask] = len(kept)
        return kept, out

    def _follow(self, evidence: Evidence, moving: BoolArray) -> NDArray[np.uint16]:
        """(T, h, w) labels of what is ``moving`` (T, h, w), followed both ways in time."""
        count = len(evidence)
        labels = np.zeros((count, *evidence.shape), np.uint16)
        forwards = MaskTracker(evidence, labels, moving)
        forwards.discover()
        for identity, track in list(forwards.tracks.items()):
            if track.moved < self.min_moved:
                labels[labels == identity] = 0
                del forwards.tracks[identity]
        backwards = MaskTracker(evidence.reversed(), labels[::-1], moving[::-1])
        backwards.extend({i: count - 1 - min(track.areas) for i, track in forwards.tracks.items()})
        for old, new in backwards.merged.items():
            while new in backwards.merged:
                new = backwards.merged[new]
            labels[labels == old] = new
        moved = {i: track.moved for i, track in forwards.tracks.items()}
        trim_residue(labels, moving)
        trim_bare(evidence, labels, moving)
        drop_unmoved(evidence, labels)
        drop_replaced(labels, moved)
        merge_parts(labels)
        self._add_pops(evidence, labels, moving)
        return labels

    def _add_pops(self, evidence: Evidence, labels: NDArray[np.uint16], moving: NDArray[np.bool_]) -> None:
        """Label what comes or goes without ever moving, and follow it to the other end of its life."""
        last = len(evidence) - 1
        for pop in find_pops(evidence, labels, moving):
            if (labels[pop.full] > 0)[pop.masks[pop.full]].mean() > 0.5:
                continue
            identity = int(labels.max()) + 1
            for frame, mask in pop.masks.items():
                labels[frame][mask & (labels[frame] == 0)] = identity
            if pop.kind == "appear":
                MaskTracker(evidence, labels, moving).extend({identity: pop.full})
            else:
                MaskTracker(evidence.reversed(), labels[::-1], moving[::-1]).extend({identity: last - pop.full})
