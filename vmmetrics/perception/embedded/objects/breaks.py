"""Breaks: a region whose content is replaced from one frame to the next, as nothing else in the clip is.

Where an object vanishes or appears, flow fails in both directions at one place. It fails for fast motion, water and
flames too, but frame after frame: a break is one failure much larger than all others, with continuous content before
and after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.objects.evidence import Evidence, disc, warp_mask
from vmmetrics.perception.embedded.objects.matching import aligned, changed_pixels, most_alike
from vmmetrics.types import BoolArray, FloatArray, UInt8Array

LEAST_SHARE, MOST_SHARE = 0.004, 0.7
"""Least and largest share of the frame; more is a cut."""
LEAST_OUTSTANDING = 1.2
"""Least area without correspondence at its step, in largest areas of all others."""
LEAST_STRENGTH, MOST_ALIKE = 65.0, 0.7
"""Least strength of a break, and most overlap of its colours before and after: a head that turns between two frames
keeps those of its fur. Of 136 clean windows of train and validation footage, at speeds 1 and 3, one has a break; of
those with an object vanishing, appearing and intruding (66 to 71) 0.68, 0.65 and 0.86."""
MOST_REGIONS = 3
"""Regions of a step that are examined, the largest."""


SAME_CONTENT = 0.6
"""Least correlation of a region's detail before and after from which only its light changes."""
LEAST_DETAIL = 1.0
"""Standard deviation of detail, grey levels, below which it says nothing."""
RECTANGULAR = 0.93
"""Least share of its bounding box that a caption, a picture in the picture or a screen fills."""


@dataclass(frozen=True)
class Break:
    """A region whose content is replaced.

    Attributes:
        frame: Last frame with the old content.
        mask: (h, w) bool, the region in that frame.
        came: True if the object is in the new content.
    """

    frame: int
    mask: BoolArray
    came: bool

    def sight(self, evidence: Evidence) -> tuple[int, BoolArray]:
        """Return the frame next to the break in which the object is visible, and its mask there."""
        if not self.came:
            return self.frame, self.mask
        return self.frame + 1, warp_mask(self.mask, evidence.positions(self.frame + 1, self.frame))


def find_breaks(evidence: Evidence) -> list[Break]:
    """Return the breaks of a clip in order of time."""
    lost = [_without_correspondence(evidence, t) for t in range(len(evidence) - 1)]
    shares = np.array([mask.mean() for mask in lost])
    breaks: list[Break] = []
    for t in range(1, len(lost) - 1):
        outstanding = float(shares[t] / max(np.delete(shares, t).max(), 1e-4))
        for mask in _regions(lost[t]) if outstanding >= LEAST_OUTSTANDING else ():
            if _strength(evidence, mask, t, outstanding) < LEAST_STRENGTH:
                continue
            alike = _are_alike(evidence.colour[t][mask], aligned(evidence, t, t + 1)[0][mask])
            if not alike and not relit_or_overlaid(evidence, mask, t, t + 1):
                breaks.append(Break(t, mask, _is_new(evidence, mask, t)))
    return breaks


def _are_alike(one: UInt8Array, other: UInt8Array) -> bool:
    """Return True if two sets of Lab pixels (N, 3) overlap in the histogram of each channel."""
    shares = []
    for values in zip(one.T, other.T, strict=True):
        counts = [np.histogram(channel, bins=64, range=(0, 256))[0] for channel in values]
        smooth = [cv2.GaussianBlur(count[None] / count.sum(), (0, 0), 1.5) for count in counts]
        shares.append(float(np.minimum(*smooth).sum()))
    return min(shares) > MOST_ALIKE


def _without_correspondence(evidence: Evidence, t: int) -> BoolArray:
    """Return (h, w) bool: pixels of frame ``t`` that change, with no flow to the next frame nor from it."""
    arrives = warp_mask(evidence.backward_ok[t], evidence.positions(t, t + 1))
    return np.asarray(changed_pixels(evidence, t, t + 1) & ~evidence.forward_ok[t] & ~arrives)


def _regions(lost: BoolArray) -> list[BoolArray]:
    """Return the largest compact regions (h, w) of ``lost``, largest first."""
    solid = cv2.morphologyEx(lost.view(np.uint8), cv2.MORPH_CLOSE, disc(9))
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, disc(5))
    count, parts, stats, _ = cv2.connectedComponentsWithStats(solid)
    order = sorted(range(1, count), key=lambda i: -int(stats[i, cv2.CC_STAT_AREA]))[:MOST_REGIONS]
    return [parts == i for i in order if LEAST_SHARE <= stats[i, cv2.CC_STAT_AREA] / lost.size <= MOST_SHARE]


def _strength(evidence: Evidence, mask: BoolArray, t: int, outstanding: float) -> float:
    """Return the strength of a break: high where its step is unlike all others, and what was there is nowhere near.

    Low where its surroundings change, too: something moves there that the flow cannot follow.

    Args:
        evidence: Evidence of the clip.
        mask: (h, w) bool, the region.
        t: Last frame with the old content.
        outstanding: Area without correspondence at this step, in largest areas of all others.
    """
    inner, outer = (cv2.dilate(mask.view(np.uint8), disc(size)) > 0 for size in (7, 15))
    ring = outer & ~inner
    around = float(changed_pixels(evidence, t, t + 1)[ring].mean()) if ring.any() else 1.0
    content = evidence.colour[t][mask].astype(np.float64)
    _, difference = most_alike(evidence, mask, t, t + 1, np.zeros(2))
    unlike = difference / (float(content.var(axis=0).sum()) + _NOISE)
    return float(outstanding**2 * np.sqrt(unlike + 0.05) / (around + _SURROUNDINGS))


_NOISE, _SURROUNDINGS = 30.0, 0.03  # of a squared difference; of the share of the surroundings that changes


def _is_new(evidence: Evidence, mask: BoolArray, t: int) -> bool:
    """Return True if the new content has the steeper outline: an object has edges around it, its background none."""
    new = aligned(evidence, t, t + 1)[0].astype(np.float32)
    return outlined(evidence.colour[t].astype(np.float32), mask) < outlined(new, mask)


def relit_or_overlaid(evidence: Evidence, mask: BoolArray, t: int, other: int) -> bool:
    """Return True if ``mask`` of frame ``t`` shows the same content in other light, or a rectangle that edits the clip.

    Neither is an object that appears or vanishes.
    """
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    box = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    if box.mean() >= RECTANGULAR:
        return True
    pictures = (evidence.colour[t], aligned(evidence, t, other)[0])
    one, two = (_detail(picture.astype(np.float64).mean(-1))[mask] for picture in pictures)
    if min(one.std(), two.std()) < LEAST_DETAIL:
        return False
    return bool(np.corrcoef(one, two)[0, 1] >= SAME_CONTENT)


def _detail(brightness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what differs from the surroundings in an image (h, w): a lamp changes these little."""
    return np.asarray(brightness - cv2.blur(brightness, (9, 9)))


def outlined(picture: FloatArray, mask: BoolArray) -> float:
    """Return the median colour gradient of ``picture`` (h, w, 3) across the outline of ``mask`` (h, w)."""
    smooth = cv2.blur(picture, (3, 3))
    dx, dy = cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1)
    steep = np.sqrt((dx * dx + dy * dy).sum(-1))
    rim = cv2.morphologyEx(mask.view(np.uint8), cv2.MORPH_GRADIENT, disc(3)) > 0
    return float(np.median(steep[rim]))
