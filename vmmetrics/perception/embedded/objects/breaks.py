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
from vmmetrics.perception.embedded.objects.matching import aligned, changed_pixels
from vmmetrics.types import BoolArray, FloatArray

# Limits from 114 windows of train and validation footage at speeds 1 and 3, and those of speed 1 with an object
# vanishing, appearing or intruding (163).

LEAST_SHARE, MOST_SHARE = 0.01, 0.7
"""Least and largest share of the frame; more is a cut."""
FILLED = 0.6
"""Least share of the region's pixels without correspondence."""
QUIET = 0.2
"""Largest area without correspondence in and around it one step before and after, in its own areas."""
OUTSTANDING, LARGEST = 2.0, 1.2
"""Least ratio of its area to the 90 % quantile of the area without correspondence over all steps, its own among them,
and to the largest of any other. 7 of the clean windows pass both, and 107 of the changed ones; 3 and 1.5: 3 and 95."""


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
        others = np.delete(shares, t)
        least = max(LEAST_SHARE, OUTSTANDING * float(np.quantile(shares, 0.9)), LARGEST * float(others.max()))
        if shares[t] < FILLED * least:
            continue
        regions = [mask for mask in _regions(lost[t], least) if not relit_or_overlaid(evidence, mask, t, t + 1)]
        quiet = [mask for mask in regions if _is_quiet(evidence, lost, mask, t)]
        breaks += [Break(t, mask, _is_new(evidence, mask, t)) for mask in quiet]
    return breaks


def _without_correspondence(evidence: Evidence, t: int) -> BoolArray:
    """Return (h, w) bool: pixels of frame ``t`` that change, with no flow to the next frame nor from it."""
    arrives = warp_mask(evidence.backward_ok[t], evidence.positions(t, t + 1))
    return np.asarray(changed_pixels(evidence, t, t + 1) & ~evidence.forward_ok[t] & ~arrives)


def _regions(lost: BoolArray, least: float) -> list[BoolArray]:
    """Return the compact regions (h, w) of ``lost`` that cover at least ``least`` of the frame, largest first."""
    solid = cv2.morphologyEx(lost.view(np.uint8), cv2.MORPH_CLOSE, disc(9))
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, disc(5))
    count, parts, stats, _ = cv2.connectedComponentsWithStats(solid)
    order = sorted(range(1, count), key=lambda i: -int(stats[i, cv2.CC_STAT_AREA]))
    sized = [i for i in order if least <= stats[i, cv2.CC_STAT_AREA] / lost.size <= MOST_SHARE]
    return [mask for mask in (parts == i for i in sized) if lost[mask].mean() >= FILLED]


def _is_quiet(evidence: Evidence, lost: list[BoolArray], mask: BoolArray, t: int) -> bool:
    """Return True if content in and around ``mask`` has correspondences one step before and one after."""
    near = cv2.dilate(mask.view(np.uint8), disc(9)) > 0
    around = (np.count_nonzero(warp_mask(lost[s], evidence.positions(t, s)) & near) for s in (t - 1, t + 1))
    return bool(max(around) <= QUIET * np.count_nonzero(mask))


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
