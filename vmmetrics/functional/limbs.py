"""Deviations of body parts per frame: the rules of OIS under ``protocol="vmmetrics"``.

A part cannot be *longer* than its usual length: projection only shortens, so a larger length is a stretch (a smaller
one is a rotation, and no fault). And a part cannot *jump* aside and back: the cheapest path through its positions
leaves out the frames off the path, which detects snapped and left-right swapped limbs with their whole duration; fast
limbs, which also leave it, accelerate and brake and are no fault.

Lengths are in torso lengths of the person in that frame, so that neither distance nor zoom matters.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from vmmetrics.types import BoolArray, FloatArray

# The body model: COCO-17 keypoints, the 12 parts between them and the 8 joints where parts meet.

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
"""Keypoint score up to which a keypoint is ignored: more likely wrong than right, where scores are probabilities. On
real footage the fewest false faults occur from here on; the released code uses 0.3."""

USUAL_QUANTILE = 0.75
"""Quantile of a part's lengths over the clip: near its full length, and robust to a stretch in a quarter of frames."""
TOO_LONG = 1.35
"""Largest length of a part, relative to its usual one: landmark noise of 5 % of a torso changes a forearm, half a torso
long, by 14 %, a third of that once smoothed; stretches are visible from about 1.4."""
LENGTH_WINDOW, SCALE_WINDOW = 5, 15
"""Frames of the running medians over lengths, against noise, and over a person's scale, which changes slowly."""

FULL_LENGTHS = np.array([1.0, 0.62, 0.52, 0.62, 0.52, 0.88, 0.85, 0.88, 0.85, 0.72, 0.5, 0.65])
"""Usual length of each part in torso lengths (shoulder to hip), from adult body proportions at the landmarks; children
and drawn figures differ, hence the wide :data:`PROPORTIONS`."""
PROPORTIONS = (0.8, 1.4)
"""Range, relative to :data:`FULL_LENGTHS`, to which a part's own usual length is clipped."""
LIMB_PAIRS = ((7, 8), (9, 10), (13, 14), (15, 16))
"""Elbows, wrists, knees, ankles: keypoints whose left and right may be exchanged."""
TRUNK = (5, 6, 11, 12)
"""Shoulders and hips: limbs are tracked relative to their mean."""
TWINS = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6, 9, 10, 11])
"""Index of each part's mirror twin."""

LEAP = 0.10
"""Movement of a part between frames, torso lengths beyond its usual one, from which it leaves its path."""
USUAL_MOVEMENTS = 2.0
"""Allowed movement between frames, in medians of the part's movement, for noise and fast motion."""
SKIP_COST, LONGEST_SKIP = 0.03, 24
"""Cost, torso lengths, of leaving one frame out of the path, as longer absences need larger leaps, and the longest run
of frames left out."""
ABRUPT, BESIDE = 3.0, 2
"""Least leap onto and off a limb's wrong position, in multiples of its largest movement in that many steps before and
after: a body accelerates and brakes, also when shown three times as fast."""
LASTING = 3
"""Least duration of any fault, frames: landmarks err for one or two."""

SWAP_COST, SWAP_STAY_COST = 0.2, 0.03
"""Cost, torso lengths of movement, of each exchange of left and right, and per exchanged frame: of two labellings the
longer one is the right one."""
SMALLEST = 1e-6  # least divisor, pixels
SWAP_VISIBLE = 0.3
"""Least displacement, torso lengths, of a part by an exchange for a fault."""


REASONS = ("stretched", "left and right swapped", "jumps off its path")
"""Event reasons, in the order of the maps of :func:`part_deviations`."""


def part_deviations(keypoints: FloatArray, scores: FloatArray) -> FloatArray:
    """Measure the deviation of each part of one person, per frame.

    Args:
        keypoints: (T, 17, 2) float64 pixels, anything where the score is not above :data:`CONFIDENT`.
        scores: (T, 17) float64.

    Returns:
        (3, T, 12) float64, one (T, 12) map per entry of :data:`REASONS`, above 1 where the part is at fault for that
        reason: measured over allowed value. NaN where the part is not judged.
    """
    points, lengths = usable_keypoints(keypoints, scores)
    if not np.isfinite(lengths).any():
        return np.full((len(REASONS), *lengths.shape), np.nan)
    points = points / person_scale(lengths)[:, None, None]
    vectors = part_vectors(points)
    leaps = np.stack([_leaps(vectors[:, part]) for part in range(len(PARTS))], axis=1)
    return np.stack([_stretches(np.linalg.norm(vectors, axis=-1)), _swaps(points, vectors), leaps])


def usable_keypoints(keypoints: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (T, 17, 2) keypoints above :data:`CONFIDENT`, and (T, 12) part lengths in pixels; NaN elsewhere."""
    usable = (scores > CONFIDENT) & np.isfinite(keypoints).all(axis=-1)
    points = np.where(usable[..., None], keypoints, np.nan)
    return points, np.linalg.norm(part_vectors(points), axis=-1)


def part_vectors(points: FloatArray) -> FloatArray:
    """Return (T, 12, 2), the vectors of the parts between keypoints (T, 17, 2)."""
    return np.asarray(points[:, ENDS[:, 1]] - points[:, ENDS[:, 0]])


def person_scale(lengths: FloatArray) -> FloatArray:
    """Return (T,) pixels per torso length, smoothed, from part ``lengths`` (T, 12) in pixels, NaN where not judged."""
    scale: FloatArray = np.ones(len(lengths))
    for _ in range(3):  # usual lengths and scale depend on each other; converges in three rounds
        usual = _quantile(lengths / scale[:, None], 0.5, axis=0)
        median = _quantile(lengths / np.maximum(usual, SMALLEST), 0.5, axis=1)
        measured = np.flatnonzero(np.isfinite(median))
        scale = np.maximum(np.interp(np.arange(len(median)), measured, median[measured]), SMALLEST)
    full = _quantile(lengths / scale[:, None], USUAL_QUANTILE, axis=0)
    # foreshortened parts measure short, so the longest ones give the size of the body
    torso = np.nanquantile(full / FULL_LENGTHS, USUAL_QUANTILE)
    return np.asarray(np.maximum(median_filter(scale, size=SCALE_WINDOW, mode="nearest") * torso, SMALLEST))


def _stretches(lengths: FloatArray) -> FloatArray:
    """Return (T, 12), above 1 where a part is stretched, from ``lengths`` (T, 12) in torso lengths."""
    own = _quantile(lengths, USUAL_QUANTILE, axis=0)
    usual = np.clip(np.fmax(own, own[TWINS]), PROPORTIONS[0] * FULL_LENGTHS, PROPORTIONS[1] * FULL_LENGTHS)
    smooth = np.full_like(lengths, np.nan)
    for part in range(lengths.shape[1]):
        judged = np.isfinite(lengths[:, part])
        smooth[judged, part] = median_filter(lengths[judged, part], size=LENGTH_WINDOW, mode="nearest")
    return np.asarray(smooth / (TOO_LONG * usual))


def _leaps(vectors: FloatArray) -> FloatArray:
    """Return (T,), above 1 where a part leaves its path, from its positions (T, 2), NaN where not judged."""
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
    deviations[frames] = 0.0
    (starts,), (stops,) = (np.nonzero(np.diff(np.r_[True, on_path, True].astype(int)) == way) for way in (-1, 1))
    for start, stop in zip(starts, stops, strict=True):
        if stop - start >= LASTING and _abrupt(vectors, frames[start]) and _abrupt(vectors, frames[stop - 1] + 1):
            deviations[frames[start:stop]] = np.maximum(distance[start:stop], np.nextafter(1.0, 2.0))
    return deviations


def _abrupt(vectors: FloatArray, frame: int) -> bool:
    """Return True if a part leaps into ``frame`` out of rest or even motion, and goes on so; False where not judged."""
    steps = np.linalg.norm(np.diff(vectors[max(0, frame - BESIDE - 1) : frame + BESIDE + 1], axis=0), axis=1)
    leap = min(frame, BESIDE + 1) - 1
    if not 0 < leap < len(steps) - 1:
        return False
    return bool(steps[leap] >= ABRUPT * np.delete(steps, leap).max())  # NaN compares False


def _cheapest_path(path: FloatArray, frames: NDArray[np.intp], usual: float) -> BoolArray:
    """Return (V,) bool, the positions of ``path`` (V, 2) on the path with the least cost of leaps and left-out frames.

    Dynamic programming over the last position on the path. A leap costs its excess over the movement allowed: for
    frames left out the spread of noise and unsteady motion (a random walk, with the square root of their number), for
    frames not judged, in which motion may have continued, the usual movement each.
    """
    count = len(path)
    best = SKIP_COST * np.arange(count, dtype=np.float64)  # all earlier frames left out
    came_from = np.full(count, -1)
    for j in range(1, count):
        i = np.arange(max(0, j - LONGEST_SKIP - 1), j)
        leap = np.linalg.norm(path[j] - path[i], axis=1)
        absent = frames[j] - frames[i] - (j - i)
        excess = np.maximum(leap - LEAP - usual * (np.sqrt(j - i) + absent), 0)
        cost = best[i] + excess + SKIP_COST * (j - i - 1)
        cheapest = int(np.argmin(cost[::-1]))  # the latest of equal ones leaves out the fewest frames
        if cost[::-1][cheapest] <= best[j]:
            best[j], came_from[j] = cost[::-1][cheapest], i[::-1][cheapest]
    last = int(np.argmin(best + SKIP_COST * np.arange(count)[::-1]))
    on_path = np.zeros(count, dtype=bool)
    while last >= 0:
        on_path[last] = True
        last = int(came_from[last])
    return on_path


def _swaps(points: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return (T, 12), above 1 where left and right are visibly exchanged at an end of the part; NaN if not judged."""
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
    """Return the frames in which left and right positions ``pair`` (T, 2, 2) are exchanged (two-state Viterbi)."""
    frames = np.flatnonzero(np.isfinite(pair).all(axis=(1, 2)))
    if len(frames) < 2:
        return frames[:0]
    before, after = pair[frames[:-1]], pair[frames[1:]]
    elapsed = np.diff(frames)  # movement over a gap counts less
    straight = np.linalg.norm(after - before, axis=-1).sum(axis=-1) / elapsed
    crossed = np.linalg.norm(after[:, ::-1] - before, axis=-1).sum(axis=-1) / elapsed
    crossed += SWAP_COST + USUAL_MOVEMENTS * float(np.median(straight))
    steps = np.moveaxis(np.array([[straight, crossed], [crossed, straight]]), -1, 0)
    return frames[exchanged(steps, SWAP_STAY_COST)]


def exchanged(steps: FloatArray, stay: float) -> BoolArray:
    """Return the cheapest sequence of states, straight or exchanged, of N frames (Viterbi).

    Args:
        steps: (N - 1, 2, 2) cost of each transition between states, from frame to frame.
        stay: Cost of each exchanged frame.

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
    """Return the quantile of the finite values of a matrix along ``axis``; NaN without any."""
    out = np.full(np.delete(values.shape, axis), np.nan)
    some: BoolArray = np.any(np.isfinite(values), axis=axis)
    out[some] = np.nanquantile(values.compress(some, axis=1 - axis), quantile, axis=axis)
    return out


# Outer limbs too long or missing, from the person's silhouette, since landmark networks always return a regular body.
#
# A landmark network puts the wrist of a doubled forearm at 1.2 to 1.4 times its length, and that of a missing one at an
# arbitrary position; the person mask ends where the hand really ends.

OUTLINE_REASONS = ("silhouette too long", "missing")
OUTER_PARTS = ("left forearm", "right forearm", "left calf", "right calf")
"""Order of the limbs in the arrays below."""
OUTER_TWINS = (1, 0, 3, 2)
"""Index of each limb's mirror twin."""
FULL_LENGTH = (0.47, 0.47, 0.74, 0.74)
FULL_REACH = (0.72, 0.72, 1.0, 1.0)
"""Length between landmarks, and from the joint to the tip of hand or foot, in torso lengths: medians of real people."""
LIKE_TWIN = 0.95
"""Least length of a limb relative to its twin."""
OUTLINE_TOO_LONG = 1.29
"""Limit of the geometric mean of relative length and reach: real limbs in fast motion reach 1.28, doubled ones 1.34."""
WINDOW = 5
"""Frames of the running median."""
WELL_COVERED = 0.8
"""Share of the bone on the mask from which the reach is that of the limb."""
FEWEST = 5
"""Least number of frames of a limb for its usual length."""
SHORTEST_STRETCH, SHORTEST_LOSS = 3, 4
"""Least duration of a stretch and of a loss, frames."""
LONGEST_GAP = 2
"""Longest gap, frames, within either."""
USUALLY_SEEN = 0.8
"""Least median score of the limb's end for its absence to count."""
LOST_SCORE = 0.4
"""Score of the limb's end below which it may be missing."""
LOST_COVER = 0.5
"""Share of the bone on the mask below which the limb may be missing."""
STUMP = 0.4
"""Share of the usual reach below which the silhouette around the joint is a stump."""
LEAST_PROOF = 0.3
"""Least share of a loss's frames with a stump or an uncovered bone, and with a low score."""
JOINT_SCORE = 0.2
"""Score of the joint below which its surroundings are no evidence."""


def silhouette_deviations(
    keypoints: FloatArray, scores: FloatArray, along: FloatArray, around: FloatArray, covered: FloatArray
) -> dict[str, FloatArray]:
    """Measure the deviations of the outer limbs of one person from their silhouette.

    Args:
        keypoints: (T, 17, 2) float64 pixels.
        scores: (T, 17) float64.
        along: (T, 4) pixels from elbow or knee along the bone to the end of the silhouette, NaN where unknown; limbs
            in the order of :data:`OUTER_PARTS`.
        around: (T, 4) pixels, the silhouette's largest extent from there in any direction away from the body.
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
    """Return (4,), the median of the measured values of each limb, 0 where too few."""
    return np.array([np.median(v[k]) if k.sum() >= FEWEST else 0.0 for v, k in zip(values.T, measured.T, strict=True)])


def _stretch(excess: FloatArray) -> FloatArray:
    """Return (T,) deviations, above 1 during a lasting stretch, else NaN; ``excess`` (T,) is the relative length."""
    measured = np.flatnonzero(np.isfinite(excess))
    smooth = np.zeros(len(excess))
    smooth[measured] = median_filter(excess[measured], size=WINDOW, mode="nearest") / OUTLINE_TOO_LONG
    out = np.full(len(excess), np.nan)
    for first, stop in spells(smooth > 1):
        if stop - first >= SHORTEST_STRETCH:
            out[first:stop] = smooth[first:stop].max()
    return out


def _loss(joint: FloatArray, end: FloatArray, bare: BoolArray) -> FloatArray:
    """Return (T,) deviations of a limb, above 1 while it is missing, else NaN."""
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
    """Return (first, last + 1) of the runs of true frames, joined across short gaps."""
    frames = np.flatnonzero(flags).tolist()
    if not frames:
        return []
    breaks = [(a, b) for a, b in pairwise(frames) if b - a > LONGEST_GAP + 1]
    firsts = [frames[0]] + [b for _, b in breaks]
    stops = [a + 1 for a, _ in breaks] + [frames[-1] + 1]
    return list(zip(firsts, stops, strict=True))
