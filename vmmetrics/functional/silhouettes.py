"""Outer limbs too long or gone, from the person's silhouette: what landmarks, drawn to a regular body, do not show.

A landmark network puts the wrist of a doubled forearm at 1.2 to 1.4 times its length, and that of a missing one
somewhere; the mask of the person ends where the hand really ends.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.ndimage import median_filter

from vmmetrics.functional.limbs import CONFIDENT, PARTS, person_scale
from vmmetrics.types import BoolArray, FloatArray

REASONS = ("reaches farther than it can", "gone")
OUTER_PARTS = ("left forearm", "right forearm", "left calf", "right calf")
"""Order of the limbs in the arrays below."""
TWINS = (1, 0, 3, 2)
FULL_LENGTH = (0.47, 0.47, 0.74, 0.74)
FULL_REACH = (0.72, 0.72, 1.0, 1.0)
"""Length between landmarks, and from the joint to the tip of hand or foot, in torso lengths: medians of real people."""
LIKE_TWIN = 0.95
"""A limb is at least this share of its twin."""
TOO_LONG = 1.17
"""Limit of the geometric mean of length and reach over the usual ones. A limb stretched by half reads 1.2 to 1.4."""
WINDOW = 5
"""Frames of the running median."""
WELL_COVERED = 0.8
"""Share of the bone on the mask from which the reach is that of the limb."""
FEWEST = 5
"""Frames in which a limb must be seen before anything is usual for it."""
SHORTEST_STRETCH, SHORTEST_LOSS = 3, 4
"""Frames a stretch and a loss must last."""
LONGEST_GAP = 2
"""Frames without evidence that do not end either."""
USUALLY_SEEN = 0.6
"""Median score of the limb's end from which its absence is remarkable."""
LOST_SCORE = 0.4
"""Score of the limb's end below which it may be gone."""
LOST_COVER = 0.5
"""Share of the bone on the mask below which the limb may be gone."""
STUMP = 0.4
"""Share of the usual reach below which what is left around the joint is a stump."""
LEAST_PROOF = 0.3
"""Share of a loss's frames with a stump or an uncovered bone, and with a low score: the rest may be guesses."""
JOINT_SCORE = 0.2
"""Score of the joint below which its surroundings say nothing about the limb."""


def silhouette_deviations(
    keypoints: FloatArray, scores: FloatArray, along: FloatArray, around: FloatArray, covered: FloatArray
) -> dict[str, FloatArray]:
    """How far the outer limbs of one person are out of shape by their silhouette.

    Args:
        keypoints: (T, 17, 2) float64 pixels.
        scores: (T, 17) float64.
        along: (T, 4) pixels from elbow or knee along the bone to the end of the silhouette, NaN where not known;
            limbs in the order of :data:`OUTER_PARTS`.
        around: (T, 4) pixels, the farthest the silhouette goes from there in any direction away from the body.
        covered: (T, 4) share of the bone on the silhouette.

    Returns:
        Reason to (T, 12) float64, as ``evidence`` of :func:`~vmmetrics.functional.object_integrity_score`.
    """
    out = {reason: np.full((len(keypoints), len(PARTS)), np.nan) for reason in REASONS}
    ends = np.array(list(PARTS.values()))
    usable = (scores > CONFIDENT) & np.isfinite(keypoints).all(axis=-1)
    lengths = np.linalg.norm(keypoints[:, ends[:, 0]] - keypoints[:, ends[:, 1]], axis=-1)
    lengths = np.where(usable[:, ends].all(axis=-1), lengths, np.nan)
    if not np.isfinite(lengths).any():
        return out
    scale = person_scale(lengths)[:, None]
    columns = [list(PARTS).index(part) for part in OUTER_PARTS]
    length, reach = lengths[:, columns] / scale, along / scale
    clear = np.isfinite(length) & np.isfinite(reach) & (covered > WELL_COVERED)
    usual_length, usual_reach = _medians(length, np.isfinite(length)), _medians(reach, clear)
    for limb, column in enumerate(columns):
        if clear[:, limb].sum() < FEWEST:
            continue
        joint, end = (scores[:, keypoint] for keypoint in ends[column])
        least_length = max(usual_length[limb], LIKE_TWIN * usual_length[TWINS[limb]], FULL_LENGTH[limb])
        least_reach = max(usual_reach[limb], LIKE_TWIN * usual_reach[TWINS[limb]], FULL_REACH[limb])
        excess = np.sqrt(length[:, limb] / least_length * reach[:, limb] / least_reach)
        out[REASONS[0]][:, column] = _stretch(np.where(clear[:, limb], excess, np.nan))
        stump = around[:, limb] / scale[:, 0] < STUMP * usual_reach[limb]
        bare = stump | (covered[:, limb] < LOST_COVER)
        out[REASONS[1]][:, column] = _loss(joint, end, bare)
    return out


def _medians(values: FloatArray, known: BoolArray) -> FloatArray:
    """(4,) median of the known values of each limb, 0 where too few."""
    return np.array([np.median(v[k]) if k.sum() >= FEWEST else 0.0 for v, k in zip(values.T, known.T, strict=True)])


def _stretch(excess: FloatArray) -> FloatArray:
    """(T,) length over the usual one, NaN where not known, to deviations: above 1 where it lasts, else NaN."""
    known = np.flatnonzero(np.isfinite(excess))
    smooth = np.zeros(len(excess))
    smooth[known] = median_filter(excess[known], size=WINDOW, mode="nearest") / TOO_LONG
    out = np.full(len(excess), np.nan)
    for first, stop in _spells(smooth > 1):
        if stop - first >= SHORTEST_STRETCH:
            out[first:stop] = smooth[first:stop].max()
    return out


def _loss(joint: FloatArray, end: FloatArray, bare: BoolArray) -> FloatArray:
    """(T,) deviations of a limb that is not seen where it usually is: above 1 while it is gone, else NaN."""
    out = np.full(len(end), np.nan)
    if np.median(end) < USUALLY_SEEN:
        return out
    low = end < LOST_SCORE
    for first, stop in _spells(low | bare):
        spell = slice(first, stop)
        proof = min((bare & (joint > JOINT_SCORE))[spell].mean(), low[spell].mean())
        if stop - first >= SHORTEST_LOSS and proof >= LEAST_PROOF:
            out[spell] = 1 + proof
    return out


def _spells(flags: BoolArray) -> list[tuple[int, int]]:
    """(first, one past last) of the runs of true frames, runs with short gaps joined."""
    found = np.flatnonzero(flags).tolist()
    if not found:
        return []
    breaks = [(a, b) for a, b in pairwise(found) if b - a > LONGEST_GAP + 1]
    firsts = [found[0]] + [b for _, b in breaks]
    stops = [a + 1 for a, _ in breaks] + [found[-1] + 1]
    return list(zip(firsts, stops, strict=True))
