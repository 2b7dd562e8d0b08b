"""Merging of labels of one object, and removal of labels of none: residue of background, and what never moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations

import cv2
import numpy as np

from vmmetrics.perception.embedded.camera import fit_similarity
from vmmetrics.perception.embedded.flow import look_up
from vmmetrics.perception.embedded.objects.evidence import Evidence, Labels, centre, colour_gap, mapped, warp, warp_mask
from vmmetrics.perception.embedded.objects.matching import changed_pixels, mean_velocity, same_levels
from vmmetrics.types import BoolArray, FloatArray

# Re-identification: joins the pieces of an object that was invisible in between.

MAX_HIDDEN_SECONDS = 2.0
"""Longest invisible time, seconds, over which an object is re-identified."""
ALIKE = 0.55
"""Bhattacharyya coefficient of colour histograms from which two pieces may be one object."""
SIZE_RATIO = 2.5
"""Largest ratio of the areas of two pieces of one object."""
BINS = (6, 10, 10)
"""Bins of the colour histogram along L, a and b of CIE Lab."""


@dataclass(frozen=True)
class Piece:
    """An unbroken run of frames of one label.

    Attributes:
        id: Its label.
        frames: Frames in which it is visible.
        area: Its usual area, pixels.
        histogram: Square roots of colour shares, as of :func:`colours`.
    """

    id: int
    frames: list[int]
    area: float
    histogram: FloatArray


def join_pieces(evidence: Evidence, labels: Labels) -> None:
    """Relabel the pieces of one object as one, in place."""
    pieces = [_piece(evidence, labels, int(i)) for i in np.unique(labels)[1:]]
    pairs = [(_cost(evidence, labels, early, late), early.id, late.id) for early in pieces for late in pieces]
    earlier: dict[int, int] = {}
    for _, early_id, late_id in sorted(pair for pair in pairs if pair[0] < np.inf):
        if early_id not in earlier.values() and late_id not in earlier:
            earlier[late_id] = early_id
    for piece in pieces:
        target = piece.id
        while target in earlier:
            target = earlier[target]
        if target != piece.id:
            labels[labels == piece.id] = target


def _cost(evidence: Evidence, labels: Labels, early: Piece, late: Piece) -> float:
    """Return the cost of ``late`` continuing ``early``; infinite where it cannot."""
    last, first = early.frames[-1], late.frames[0]
    gap = first - last
    near = 1 <= gap <= max(4, MAX_HIDDEN_SECONDS * evidence.fps)
    alike = float(early.histogram @ late.histogram)
    if not near or max(early.area, late.area) > SIZE_RATIO * min(early.area, late.area) or alike < ALIKE:
        return np.inf
    camera = evidence.camera_between(last, first)
    velocity_before_gap = mean_velocity(evidence, labels, early.id, early.frames[-6:])
    velocity = 0.5 * (velocity_before_gap + mean_velocity(evidence, labels, late.id, late.frames[:6]))
    goes_to = centre(labels[last] == early.id) + velocity * gap
    expected = mapped(camera, goes_to.reshape(1, 1, 2).astype(np.float32)).ravel()
    distance = float(np.hypot(*(centre(labels[first] == late.id) - expected)))
    reach = 1.2 * np.sqrt(max(early.area, late.area)) + 0.5 * float(np.hypot(*velocity)) * gap
    return np.inf if distance > reach else distance / reach + 2.0 * (1.0 - alike)


def _piece(evidence: Evidence, labels: Labels, identity: int) -> Piece:
    present = np.flatnonzero((labels == identity).any((1, 2)))
    areas = np.array([np.count_nonzero(labels[t] == identity) for t in present])
    full = present[areas >= 0.7 * areas.max()]
    roots = colours(evidence, labels == identity, full[:: max(1, len(full) // 4)][:4].tolist())
    return Piece(identity, present.tolist(), float(np.quantile(areas, 0.75)), roots)


def colours(evidence: Evidence, mask: BoolArray, frames: Sequence[int]) -> FloatArray:
    """Return the square roots of the colour shares under ``mask`` (T, h, w) in ``frames``.

    The product of two such vectors is their Bhattacharyya coefficient, 1 for equal colours and 0 for disjoint ones.
    """
    histogram = np.zeros(BINS, np.float32)
    for t in frames:
        whole = mask[t].astype(np.uint8)
        core = cv2.erode(whole, np.ones((3, 3), np.uint8))
        here = core if core.any() else whole
        histogram += cv2.calcHist([evidence.colour[t]], [0, 1, 2], here, BINS, [0, 256, 80, 180, 80, 180])
    smooth = cv2.GaussianBlur(histogram.reshape(BINS[0], -1), (1, 3), 0.7).ravel()
    return np.asarray(np.sqrt(smooth / max(float(smooth.sum()), 1e-6)))


# Removal of labels of no object.

RESIDUE_SHARE = 0.5
"""Share of the moving object's usual area below which a static remainder is residue of background."""
MOVES_SHARE = 0.25
"""Share of moving pixels in a mask from which the object moves in that frame."""
BARE_SHARE = 0.8
"""Share of a static mask that matches its background from which the object is not there ..."""
PLAIN_SHARE = 0.5
"""... unless this share of the object matches the background it passes while it moves."""
STEADY, OTHER_COLOURS = 0.7, 0.55
"""Similarity of an object's colours between frames from which they are steady, and below which they were replaced."""
OWN_COLOURS, WHOLE_SHARE = 0.8, 0.75
"""Similarity of colours, and share of its usual area, from which an object is present and not fading ..."""
LONGEST_FADE = 6
"""... and the longest fade, frames, beyond those at rest."""
COMPARED = 3
"""Frames with the background visible, and frames of the moving object, that are compared."""
FREE_SHARE = 0.1
"""Largest share of a region that an object may cover for the background to count as visible."""
ELSEWHERE_SHARE = 0.12
"""Least share of its pixels that must differ at another time for an object to have moved."""
FOLLOWED_SHARE = 0.35
"""Least share of an object that must match at its mask's new position; a rotating or deforming one changes a lot."""
UNLIKE_SHARE = 0.25
"""Share of unchanged pixels below which a region shows something else, wherever the object went."""
TURNED_SHARE = 0.5
"""The same share for an object that rotates in place, since random flow may look like rotation."""
LEAST_TURN = 3.0
"""Least rotation, degrees: at the rim of an object of 2 % of the frame about half a grid pixel."""
FADE_FRAMES = 3
"""Frames at both ends of an object's life that are not compared."""
SAMPLES = 5
"""Frames of an object's life that are compared with each other."""
CLING_SHARE, CLING_LIFE = 0.2, 0.6
"""Least share of its rim, and of its frames, along which a part touches the object it belongs to."""
REPLACED_SHARE = 0.3
"""Least overlap, as a share of the smaller mask, of two labels one of which replaces the other."""
REPLACED_FRAMES = 4
"""Largest gap, frames, between two such labels."""


def trim_residue(labels: Labels, moving: BoolArray) -> None:
    """Remove small static remainders at both ends of an object's life, in place."""
    for identity in np.unique(labels)[1:].tolist():
        mask = labels == identity
        areas = mask.sum((1, 2))
        moves = (mask & moving).sum((1, 2)) > MOVES_SHARE * areas
        if not moves.any():
            continue
        residue = (areas > 0) & ~moves & (areas < RESIDUE_SHARE * np.quantile(areas[moves], 0.7))
        solid = np.flatnonzero((areas > 0) & ~residue)
        outside = np.ones(len(areas), bool)
        outside[solid[0] : solid[-1] + 1] = False
        labels[(residue & outside)[:, None, None] & mask] = 0


def trim_bare(evidence: Evidence, labels: Labels, moving: BoolArray) -> None:
    """Remove a static mask of background at both ends of an object's life, in place.

    The flow carries a mask through a slow fade, after which the pixels match the background.
    """
    for identity in np.unique(labels)[1:].tolist():
        whole = labels == identity
        mask, areas = whole.copy(), whole.sum((1, 2))
        seen = np.flatnonzero(areas)
        moves = np.flatnonzero((mask & moving).sum((1, 2)) > MOVES_SHARE * areas)
        if len(moves) == 0:
            continue
        for resting in (seen[seen > moves[-1]][::-1], seen[seen < moves[0]]):
            mask[_bare_run(evidence, mask, resting.tolist(), moves.tolist())] = False
        labels[whole & ~mask] = 0


def _bare_run(evidence: Evidence, mask: BoolArray, resting: list[int], moves: list[int]) -> list[int]:
    """Return the first of the ``resting`` frames, from an end of life inwards, whose mask shows background only.

    Its pixels match the background, or have none of the colours of the object in the frames in which it ``moves``.
    """
    if not resting:
        return []
    # The frames next to the static ones may show the fade itself.
    far = moves if moves[0] > resting[0] else moves[::-1]
    some = [far[i] for i in np.unique((np.linspace(0.4, 1, COMPARED) * (len(far) - 1)).round().astype(int))]
    own = np.stack([colours(evidence, mask, [t]) for t in some])
    # An object that changes its colours, or matches the background it passes, cannot be separated from it.
    steady = float(np.quantile(own @ own.T, 0.25)) >= STEADY
    plain = cache(lambda: min(_bare_share(evidence, mask, t) for t in some) >= PLAIN_SHARE)
    bare = []
    for t in resting:
        other = steady and float((own @ colours(evidence, mask, [t])).max()) < OTHER_COLOURS
        if not other and (_bare_share(evidence, mask, t) < BARE_SHARE or plain()):
            break
        bare.append(t)
    if not bare:
        return []
    usual = float(np.median([np.count_nonzero(mask[t]) for t in some]))
    inwards = range(bare[-1] + 1, far[-1]) if moves[0] > resting[0] else range(bare[-1] - 1, far[-1], -1)
    for t in inwards[:LONGEST_FADE]:
        fading = steady and float((own @ colours(evidence, mask, [t])).max()) < OWN_COLOURS
        if not fading and np.count_nonzero(mask[t]) >= WHOLE_SHARE * usual:
            break
        bare.append(t)
    return bare


def _bare_share(evidence: Evidence, mask: BoolArray, t: int) -> float:
    """Return the share of the object's mask in frame ``t`` that matches the background in other frames."""
    common = [np.count_nonzero(mask[s] & warp_mask(mask[t], evidence.positions(s, t))) for s in range(len(mask))]
    free = np.flatnonzero(np.array(common) < FREE_SHARE * np.count_nonzero(mask[t]))
    some = free[np.unique(np.linspace(0, len(free) - 1, COMPARED).round().astype(int))].tolist() if len(free) else []
    return max((1 - float(changed_pixels(evidence, t, s)[mask[t]].mean()) for s in some), default=0.0)


def drop_unmoved(evidence: Evidence, labels: Labels) -> None:
    """Remove labels of what stayed at the same position throughout, in place."""
    for identity in np.unique(labels)[1:].tolist():
        frames = np.flatnonzero((labels == identity).any((1, 2)))
        if len(frames) > 4 * FADE_FRAMES:  # a background may change when its label begins or ends, and only then
            frames = frames[FADE_FRAMES:-FADE_FRAMES]
        some = frames[np.unique(np.linspace(0, len(frames) - 1, SAMPLES).round().astype(int))].tolist()
        if not any(_moved_between(evidence, labels, identity, one, other) for one, other in permutations(some, 2)):
            labels[labels == identity] = 0


def _moved_between(evidence: Evidence, labels: Labels, identity: int, one: int, other: int) -> bool:
    """Return True if the object's pixels of frame ``one`` differ in ``other``, and the object matches elsewhere."""
    there = evidence.positions(one, other)
    mine: BoolArray = labels[one] == identity
    mine = mine & ~warp_mask((labels[other] > 0) & (labels[other] != identity), there)
    if not mine.any():
        return False
    scene = np.asarray(warp(evidence.colour[other], there))
    limit = same_levels(evidence)
    stayed = float((colour_gap(evidence.colour[one], scene)[mine] <= limit).mean())
    if stayed > 1 - ELSEWHERE_SHARE:
        return False
    now = warp_mask(labels[other] == identity, there)
    if not now.any():
        return False
    shift = centre(now) - centre(labels[one] == identity)
    shifted = np.asarray(warp(scene, evidence.grid + shift.astype(np.float32)))
    followed = float((colour_gap(evidence.colour[one], shifted)[mine] <= limit).mean())
    if followed >= max(stayed + 0.1, FOLLOWED_SHARE) or stayed < UNLIKE_SHARE:
        return True
    return _turned_share(evidence, mine, one, other) >= max(stayed + 0.2, TURNED_SHARE)


def _turned_share(evidence: Evidence, mine: BoolArray, one: int, other: int) -> float:
    """Return the share of ``mine`` that matches in ``other`` after the rotation by flow; 0 without a rotation.

    An object that spins in place never moves elsewhere: only its rotation separates it from a changing background.
    """
    steps = evidence.forward[one:other] if one < other else evidence.backward[other:one][::-1]
    start = evidence.grid[mine]
    at = start.copy()
    for step in steps:
        at += look_up(step, at[:, None])[:, 0]
    model = fit_similarity(start.astype(np.float64), at.astype(np.float64), noise=1.0)
    by_camera = evidence.camera_between(one, other)
    own = np.linalg.inv(by_camera / by_camera[2, 2]) @ model
    if abs(np.degrees(np.arctan2(own[1, 0], own[0, 0]))) < LEAST_TURN:
        return 0.0
    scene = np.asarray(warp(evidence.colour[other], mapped(model, evidence.grid)))
    return float((colour_gap(evidence.colour[one], scene)[mine] <= same_levels(evidence)).mean())


def merge_parts(labels: Labels) -> None:
    """Relabel an object that touches a larger one for most of its life as the larger one, in place."""
    sizes = np.bincount(labels.ravel())
    for identity in sorted(np.flatnonzero(sizes)[1:].tolist(), key=lambda i: int(sizes[i])):
        frames = np.flatnonzero((labels == identity).any((1, 2)))
        clings = np.zeros(len(sizes), int)
        for t in frames.tolist():
            mask = (labels[t] == identity).view(np.uint8)
            x, y, w, h = cv2.boundingRect(mask)
            window = (slice(max(0, y - 2), y + h + 2), slice(max(0, x - 2), x + w + 2))
            rim = (cv2.dilate(mask[window], np.ones((5, 5), np.uint8)) > 0) & (mask[window] == 0)
            along = np.bincount(labels[t][window][rim], minlength=len(sizes))
            clings += along >= CLING_SHARE * max(1, int(rim.sum()))
        clings[0] = 0
        larger = [i for i in np.flatnonzero(clings).tolist() if np.count_nonzero(labels == i) > sizes[identity]]
        host = max(larger, key=lambda i: int(clings[i]), default=None)
        if host is not None and clings[host] >= CLING_LIFE * len(frames):
            labels[labels == identity] = host


def drop_replaced(labels: Labels, moved: dict[int, int]) -> None:
    """Remove, of two labels one of which replaces the other, the one with far less motion, in place.

    Args:
        labels: (T, h, w).
        moved: Label to its number of moving frames.
    """
    frames = {i: np.flatnonzero((labels == i).any((1, 2))).tolist() for i in np.unique(labels)[1:].tolist()}
    for early, late in permutations(frames, 2):
        last, first = frames[early][-1], frames[late][0]
        if not -1 <= first - last <= REPLACED_FRAMES:
            continue
        before, after = labels[last] == early, labels[first] == late
        common = np.count_nonzero(before & after)
        if common == 0 or common < REPLACED_SHARE * min(np.count_nonzero(before), np.count_nonzero(after)):
            continue
        loser, winner = sorted((early, late), key=lambda identity: moved.get(identity, 0))
        if moved.get(loser, 0) < 0.5 * moved.get(winner, 0):
            labels[labels == loser] = 0
