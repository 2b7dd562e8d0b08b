"""A second look where nothing was found: what moves as a whole, though only some of its pixels can show it.

A disc that spins in place moves along its own outline, and inside it texture is often too smooth to tell. Its flow
stands out all the same, and explains more of its pixels, frame after frame, than chance does.
"""

from __future__ import annotations

import cv2
import numpy as np

from vmmetrics.perception.embedded.objects_evidence import Evidence, warp
from vmmetrics.perception.embedded.objects_tracking import NEW_SHARE, Mask, disc, filled
from vmmetrics.types import BoolArray, FloatArray

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
