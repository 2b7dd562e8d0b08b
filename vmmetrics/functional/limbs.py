"""Which body parts are at fault in which frames: the reasoning of OIS under ``protocol="vmmetrics"``.

Two things a body cannot do. A part cannot be *longer* than it is: projection only shortens, so a length beyond the
part's own usual one is a stretch (a shorter one is a turn, and no fault). And a part cannot *jump* aside and back:
going through a part's positions from frame to frame, the cheapest explanation leaves out the frames that break the
path, which finds snapped and left-right swapped limbs with all the frames they last.

Everything is measured in torso lengths of the person at that moment, so that neither distance nor zoom matters.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from vmmetrics.types import BoolArray, FloatArray

# The body as OIS sees it: COCO-17 keypoints, the 12 parts between them and the 8 joints where parts meet.

NOSE = 0
LEFT_SHOULDER, RIGHT_SHOULDER = 5, 6
LEFT_ELBOW, RIGHT_ELBOW = 7, 8
LEFT_WRIST, RIGHT_WRIST = 9, 10
LEFT_HIP, RIGHT_HIP = 11, 12
LEFT_KNEE, RIGHT_KNEE = 13, 14
LEFT_ANKLE, RIGHT_ANKLE = 15, 16
NUM_KEYPOINTS = 17

PARTS: dict[str, tuple[int, int]] = {
    "torso": (LEFT_SHOULDER, LEFT_HIP),
    "left upper arm": (LEFT_SHOULDER, LEFT_ELBOW),
    "left forearm": (LEFT_ELBOW, LEFT_WRIST),
    "right upper arm": (RIGHT_SHOULDER, RIGHT_ELBOW),
    "right forearm": (RIGHT_ELBOW, RIGHT_WRIST),
    "left thigh": (LEFT_HIP, LEFT_KNEE),
    "left calf": (LEFT_KNEE, LEFT_ANKLE),
    "right thigh": (RIGHT_HIP, RIGHT_KNEE),
    "right calf": (RIGHT_KNEE, RIGHT_ANKLE),
    "shoulders": (LEFT_SHOULDER, RIGHT_SHOULDER),
    "hips": (LEFT_HIP, RIGHT_HIP),
    "neck": (NOSE, LEFT_SHOULDER),
}
"""End points of each part; VMBench's twelve."""
ENDS = np.array(list(PARTS.values()))

JOINTS: dict[str, tuple[int, int, int]] = {
    "left elbow": (LEFT_SHOULDER, LEFT_ELBOW, LEFT_WRIST),
    "right elbow": (RIGHT_SHOULDER, RIGHT_ELBOW, RIGHT_WRIST),
    "left shoulder": (LEFT_ELBOW, LEFT_SHOULDER, LEFT_HIP),
    "right shoulder": (RIGHT_ELBOW, RIGHT_SHOULDER, RIGHT_HIP),
    "left hip": (LEFT_SHOULDER, LEFT_HIP, LEFT_KNEE),
    "right hip": (RIGHT_SHOULDER, RIGHT_HIP, RIGHT_KNEE),
    "left knee": (LEFT_HIP, LEFT_KNEE, LEFT_ANKLE),
    "right knee": (RIGHT_HIP, RIGHT_KNEE, RIGHT_ANKLE),
}
"""The angle of a joint is at its middle point; VMBench's eight."""


CONFIDENT = 0.5
"""Keypoint score up to which a keypoint is not judged: more likely wrong than right, where scores are probabilities. On
real footage the false faults are fewest from here on; the released code takes 0.3."""

USUAL_QUANTILE = 0.75
"""Of a part's lengths over the clip: near its full length, and not moved by a stretch of a quarter of the frames."""
TOO_LONG = 1.35
"""Times its usual length a part may measure: landmark noise of 5 % of a torso moves a forearm, half a torso long, by
14 %, a third of that once smoothed; and stretches are seen from about 1.4 on."""
LENGTH_WINDOW = 5
"""Frames of the running median over lengths, for the noise."""
SCALE_WINDOW = 15
"""Frames of the running median over a person's scale, which changes slowly."""

FULL_LENGTHS = np.array([1.0, 0.62, 0.52, 0.62, 0.52, 0.88, 0.85, 0.88, 0.85, 0.72, 0.5, 0.65])
"""Usual length of each part in torso lengths (shoulder to hip), from adult body proportions at the landmarks; children
and drawn figures depart from it, hence the wide :data:`PROPORTIONS`."""
PROPORTIONS = (0.8, 1.4)
"""The range, times :data:`FULL_LENGTHS`, within which a part's own usual length is believed."""
LIMB_PAIRS = ((7, 8), (9, 10), (13, 14), (15, 16))
"""Elbows, wrists, knees, ankles: keypoints whose left and right may be exchanged."""
TRUNK = (5, 6, 11, 12)
"""Shoulders and hips: limbs are followed relative to their mean."""
SMALLEST = 1e-6
"""Pixels: no length is divided by less."""
TWINS = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6, 9, 10, 11])
"""Index of each part's mirror twin."""

LEAP = 0.10
"""Torso lengths a part may move between frames on top of its usual movement before the path counts as broken."""
USUAL_MOVEMENTS = 2.0
"""How many times its median movement from frame to frame a part may move, for noise and for fast motion."""
SKIP_COST = 0.03
"""Torso lengths of broken path that leaving out one frame must save: longer absences need larger leaps."""
LONGEST_SKIP = 24
"""Frames that may be left out in a row."""

SWAP_COST = 0.2
"""Torso lengths of movement that exchanging left and right must save, each time it happens."""
SWAP_STAY_COST = 0.03
"""The same per frame spent exchanged, so that of two labellings the one held longer is the right one."""
SWAP_VISIBLE = 0.3
"""Torso lengths by which an exchange must move a part to put it at fault."""


REASONS = ("longer than it can be", "left and right exchanged", "leaps out of place")
"""What can be wrong with a part, in the order of the maps of :func:`part_deviations`."""


def part_deviations(keypoints: FloatArray, scores: FloatArray) -> FloatArray:
    """How far each part of one person is out of shape, frame by frame.

    Args:
        keypoints: (T, 17, 2) float64 pixels, anything where the score is not above :data:`CONFIDENT`.
        scores: (T, 17) float64.

    Returns:
        (3, T, 12) float64, one (T, 12) map per entry of :data:`REASONS`, above 1 where the part is at fault for that
        reason: measured over allowed. NaN where the part is not judged.
    """
    points, lengths = usable_keypoints(keypoints, scores)
    if not np.isfinite(lengths).any():
        return np.full((len(REASONS), *lengths.shape), np.nan)
    points = points / person_scale(lengths)[:, None, None]
    vectors = part_vectors(points)
    leaps = np.stack([_leaps(vectors[:, part]) for part in range(len(PARTS))], axis=1)
    return np.stack([_stretches(np.linalg.norm(vectors, axis=-1)), _swaps(points, vectors), leaps])


def usable_keypoints(keypoints: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(T, 17, 2) keypoints that can be judged, and (T, 12) lengths between them; NaN where not."""
    usable = (scores > CONFIDENT) & np.isfinite(keypoints).all(axis=-1)
    points = np.where(usable[..., None], keypoints, np.nan)
    return points, np.linalg.norm(part_vectors(points), axis=-1)


def part_vectors(points: FloatArray) -> FloatArray:
    """(T, 17, 2) keypoints to (T, 12, 2) parts."""
    return np.asarray(points[:, ENDS[:, 1]] - points[:, ENDS[:, 0]])


def person_scale(lengths: FloatArray) -> FloatArray:
    """(T, 12) part lengths in pixels, NaN where not judged, to (T,) pixels per torso length, smooth over time."""
    scale: FloatArray = np.ones(len(lengths))
    for _ in range(3):  # usual lengths and scale depend on each other; three rounds settle it
        usual = _quantile(lengths / scale[:, None], 0.5, axis=0)
        median = _quantile(lengths / np.maximum(usual, SMALLEST), 0.5, axis=1)
        measured = np.flatnonzero(np.isfinite(median))
        scale = np.maximum(np.interp(np.arange(len(median)), measured, median[measured]), SMALLEST)
    full = _quantile(lengths / scale[:, None], USUAL_QUANTILE, axis=0)
    # turned or bent away a part reads short, so the size of the body is told by those that read long
    torso = np.nanquantile(full / FULL_LENGTHS, USUAL_QUANTILE)
    return np.asarray(np.maximum(median_filter(scale, size=SCALE_WINDOW, mode="nearest") * torso, SMALLEST))


def _stretches(lengths: FloatArray) -> FloatArray:
    """(T, 12) lengths in torso lengths to (T, 12), above 1 where a part is longer than it can be."""
    own = _quantile(lengths, USUAL_QUANTILE, axis=0)
    usual = np.clip(np.fmax(own, own[TWINS]), PROPORTIONS[0] * FULL_LENGTHS, PROPORTIONS[1] * FULL_LENGTHS)
    smooth = np.full_like(lengths, np.nan)
    for part in range(lengths.shape[1]):
        judged = np.isfinite(lengths[:, part])
        smooth[judged, part] = median_filter(lengths[judged, part], size=LENGTH_WINDOW, mode="nearest")
    return np.asarray(smooth / (TOO_LONG * usual))


def _leaps(vectors: FloatArray) -> FloatArray:
    """(T, 2) positions of one part, NaN where not judged, to (T,), above 1 where it has left its path."""
    deviations = np.full(len(vectors), np.nan)
    frames = np.flatnonzero(np.isfinite(vectors[:, 0]))
    if len(frames) < 2:
        deviations[frames] = 0.0
        return deviations
    path = vectors[frames]
    usual = USUAL_MOVEMENTS * float(np.median(np.linalg.norm(np.diff(path, axis=0), axis=1)))
    on_path = _cheapest_path(path, frames, usual)
    anchor = np.column_stack([np.interp(frames, frames[on_path], path[on_path, axis]) for axis in (0, 1)])
    distance = np.linalg.norm(path - anchor, axis=1) / (LEAP + usual)
    deviations[frames] = np.where(on_path, 0.0, np.maximum(distance, np.nextafter(1.0, 2.0)))
    return deviations


def _cheapest_path(path: FloatArray, frames: NDArray[np.intp], usual: float) -> BoolArray:
    """Which of (V, 2) positions to keep so that leaps along the kept ones, plus the cost of leaving out, are least.

    Dynamic programming over the last kept position. A leap costs by how much it exceeds what is allowed over its gap:
    over frames left out as much as noise and unsteady motion spread (a random walk, with the square root of the
    number), over frames not judged, where motion may have gone on, the usual movement for each.
    """
    count = len(path)
    best = SKIP_COST * np.arange(count, dtype=np.float64)  # everything before left out
    came_from = np.full(count, -1)
    for j in range(1, count):
        i = np.arange(max(0, j - LONGEST_SKIP - 1), j)
        leap = np.linalg.norm(path[j] - path[i], axis=1)
        absent = frames[j] - frames[i] - (j - i)
        excess = np.maximum(leap - LEAP - usual * (np.sqrt(j - i) + absent), 0)
        cost = best[i] + excess + SKIP_COST * (j - i - 1)
        cheapest = int(np.argmin(cost[::-1]))  # of equal ones the latest, which leaves out least
        if cost[::-1][cheapest] <= best[j]:
            best[j], came_from[j] = cost[::-1][cheapest], i[::-1][cheapest]
    last = int(np.argmin(best + SKIP_COST * np.arange(count)[::-1]))
    on_path = np.zeros(count, dtype=bool)
    while last >= 0:
        on_path[last] = True
        last = int(came_from[last])
    return on_path


def _swaps(points: FloatArray, vectors: FloatArray) -> FloatArray:
    """(T, 12), above 1 where left and right are exchanged at an end of the part and it shows; NaN where not judged."""
    usable: BoolArray = np.all(np.isfinite(points[:, TRUNK]), axis=-1)
    count = usable.sum(axis=1)[:, None]
    total = np.where(usable[..., None], points[:, TRUNK], 0.0).sum(axis=1)
    trunk = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    relabelled = points.copy()
    for left, right in LIMB_PAIRS:
        swapped = _swapped_frames(points[:, [left, right]] - trunk[:, None])
        relabelled[swapped, left], relabelled[swapped, right] = points[swapped, right], points[swapped, left]
    moved: FloatArray = np.linalg.norm(vectors - part_vectors(relabelled), axis=-1)
    return np.asarray(moved / SWAP_VISIBLE)


def _swapped_frames(pair: FloatArray) -> NDArray[np.intp]:
    """Frames in which (T, 2, 2) left and right positions move least when read exchanged (two-state Viterbi)."""
    frames = np.flatnonzero(np.isfinite(pair).all(axis=(1, 2)))
    if len(frames) < 2:
        return frames[:0]
    before, after = pair[frames[:-1]], pair[frames[1:]]
    elapsed = np.diff(frames)  # what happened over a gap says less
    straight = np.linalg.norm(after - before, axis=-1).sum(axis=-1) / elapsed
    crossed = np.linalg.norm(after[:, ::-1] - before, axis=-1).sum(axis=-1) / elapsed
    crossed += SWAP_COST + USUAL_MOVEMENTS * float(np.median(straight))
    steps = np.moveaxis(np.array([[straight, crossed], [crossed, straight]]), -1, 0)
    return frames[exchanged(steps, SWAP_STAY_COST)]


def exchanged(steps: FloatArray, stay: float) -> BoolArray:
    """Return the states, straight or exchanged, of N frames that cost least (Viterbi).

    Args:
        steps: (N - 1, 2, 2) cost of going from one state to another, between frames.
        stay: Cost of each frame spent exchanged.

    Returns:
        (N,) bool, True where exchanged.
    """
    cost = np.array([0.0, stay])
    came_from = np.zeros((len(steps), 2), dtype=np.intp)
    for t, step in enumerate(steps):
        total = cost[:, None] + step
        came_from[t] = total.argmin(axis=0)
        cost = total.min(axis=0) + np.array([0.0, stay])
    states = [int(cost.argmin())]
    for choices in came_from[::-1]:
        states.append(int(choices[states[-1]]))
    return np.array(states[::-1], dtype=bool)


def _quantile(values: FloatArray, quantile: float, axis: int) -> FloatArray:
    """Quantile of the finite values of a matrix along ``axis``; NaN where there is none."""
    out = np.full(np.delete(values.shape, axis), np.nan)
    some: BoolArray = np.any(np.isfinite(values), axis=axis)
    out[some] = np.nanquantile(values.compress(some, axis=1 - axis), quantile, axis=axis)
    return out


# Outer limbs too long or gone, from the person's silhouette: what landmarks, drawn to a regular body, do not show.
#
# A landmark network puts the wrist of a doubled forearm at 1.2 to 1.4 times its length, and that of a missing one
# somewhere; the mask of the person ends where the hand really ends.

OUTLINE_REASONS = ("reaches farther than it can", "gone")
OUTER_PARTS = ("left forearm", "right forearm", "left calf", "right calf")
"""Order of the limbs in the arrays below."""
OUTER_TWINS = (1, 0, 3, 2)
FULL_LENGTH = (0.47, 0.47, 0.74, 0.74)
FULL_REACH = (0.72, 0.72, 1.0, 1.0)
"""Length between landmarks, and from the joint to the tip of hand or foot, in torso lengths: medians of real people."""
LIKE_TWIN = 0.95
"""A limb is at least this share of its twin."""
OUTLINE_TOO_LONG = 1.17
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
    out = {reason: np.full((len(keypoints), len(PARTS)), np.nan) for reason in OUTLINE_REASONS}
    _, lengths = usable_keypoints(keypoints, scores)
    if not np.isfinite(lengths).any():
        return out
    scale = person_scale(lengths)[:, None]
    columns = [list(PARTS).index(part) for part in OUTER_PARTS]
    length, reach = lengths[:, columns] / scale, along / scale
    clear = np.isfinite(length) & np.isfinite(reach) & (covered > WELL_COVERED)
    usual_length, usual_reach = _medians(length, np.isfinite(length)), _medians(reach, clear)
    twins = list(OUTER_TWINS)
    least_length = np.maximum(np.maximum(usual_length, LIKE_TWIN * usual_length[twins]), FULL_LENGTH)
    least_reach = np.maximum(np.maximum(usual_reach, LIKE_TWIN * usual_reach[twins]), FULL_REACH)
    excess = np.where(clear, np.sqrt(length / least_length * reach / least_reach), np.nan)
    bare = (around / scale < STUMP * usual_reach) | (covered < LOST_COVER)
    for limb in np.flatnonzero(clear.sum(axis=0) >= FEWEST).tolist():
        column = columns[limb]
        joint, end = (scores[:, keypoint] for keypoint in ENDS[column])
        out[OUTLINE_REASONS[0]][:, column] = _stretch(excess[:, limb])
        out[OUTLINE_REASONS[1]][:, column] = _loss(joint, end, bare[:, limb])
    return out


def _medians(values: FloatArray, measured: BoolArray) -> FloatArray:
    """(4,) median of the known values of each limb, 0 where too few."""
    return np.array([np.median(v[k]) if k.sum() >= FEWEST else 0.0 for v, k in zip(values.T, measured.T, strict=True)])


def _stretch(excess: FloatArray) -> FloatArray:
    """(T,) length over the usual one, NaN where not known, to deviations: above 1 where it lasts, else NaN."""
    measured = np.flatnonzero(np.isfinite(excess))
    smooth = np.zeros(len(excess))
    smooth[measured] = median_filter(excess[measured], size=WINDOW, mode="nearest") / OUTLINE_TOO_LONG
    out = np.full(len(excess), np.nan)
    for first, stop in spells(smooth > 1):
        if stop - first >= SHORTEST_STRETCH:
            out[first:stop] = smooth[first:stop].max()
    return out


def _loss(joint: FloatArray, end: FloatArray, bare: BoolArray) -> FloatArray:
    """(T,) deviations of a limb that is not seen where it usually is: above 1 while it is gone, else NaN."""
    out = np.full(len(end), np.nan)
    if np.median(end) < USUALLY_SEEN:
        return out
    low = end < LOST_SCORE
    for first, stop in spells(low | bare):
        spell = slice(first, stop)
        proof = min((bare & (joint > JOINT_SCORE))[spell].mean(), low[spell].mean())
        if stop - first >= SHORTEST_LOSS and proof >= LEAST_PROOF:
            out[spell] = 1 + proof
    return out


def spells(flags: BoolArray) -> list[tuple[int, int]]:
    """(first, one past last) of the runs of true frames, runs with short gaps joined."""
    frames = np.flatnonzero(flags).tolist()
    if not frames:
        return []
    breaks = [(a, b) for a, b in pairwise(frames) if b - a > LONGEST_GAP + 1]
    firsts = [frames[0]] + [b for _, b in breaks]
    stops = [a + 1 for a, _ in breaks] + [frames[-1] + 1]
    return list(zip(firsts, stops, strict=True))
