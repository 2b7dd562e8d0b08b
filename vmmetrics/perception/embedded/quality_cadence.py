"""Frames that break the rhythm of the motion: a repeated frame amid motion, a jump after a freeze.

A repeated frame is told from an object that stops by what goes on around it: the same motion before and after, in the
same direction, at a pace that does not run out towards it, and a picture that hardly changes where it should.
"""

from __future__ import annotations

import cv2
import numpy as np

from vmmetrics.perception.embedded.quality_features import cell_means
from vmmetrics.perception.protocols import Flow
from vmmetrics.types import BoolArray, FloatArray

MOVING = 0.4
"""Working pixels per frame (0.1 % of the diagonal) from which a cell counts as moving: slower, a repeat is not seen."""
MOVING_SHARE = 0.01
"""At least this share of the cells must move for a rhythm to be there: one cell in a hundred is a hand."""
STILL = 0.2
"""A repeated frame moves less than this share of the motion around it: more than flow noise, less than slow frames."""
UNCHANGED = 0.35
"""... and its picture changes by less than this share of the change around it."""
SAME_WAY = 0.5
"""Cosine between the motion before and after: below, something turned, and may have stood for a frame by right."""
JUMP = 0.5
"""A jump exceeds the motion around it by at least this share of what the freeze held back."""
LONGEST_PERIOD = 8
"""Repeats may come every two to eight frames by right: animation on twos and threes, 24 frames a second shown at 25
to 30. Rarer ones do not come from a frame rate."""
CADENCE_SHARE = 0.6
"""So many of the repeats that a period predicts must be there (the others may fall where nothing moves)."""
CADENCE_SLACK = 0.75
"""... each within so many frames of its place: a period that is no whole number of frames is rounded to frames."""
FEWEST_REPEATS = 4
"""Fewer do not make a cadence ..."""
CADENCE_SPAN = 1 / 3
"""... nor do repeats within less than this part of the clip."""


def steps(flow: Flow, shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """Return what happens from each frame to the next, per cell.

    Returns:
        The motion (T-1, rows, columns, 2) in working pixels, and the change of the picture (T-1, rows, columns) in
        grey levels.
    """
    motion = np.zeros((len(flow.forward), *shape, 2), np.float32)
    change = np.zeros((len(flow.forward), *shape), np.float32)
    for t, field in enumerate(flow.forward):
        motion[t, ..., 0], motion[t, ..., 1] = cell_means(field[..., 0], shape), cell_means(field[..., 1], shape)
        change[t] = cell_means(cv2.absdiff(flow.images[t], flow.images[t + 1]).astype(np.float32), shape)
    return motion, change


def breaks(flow: Flow, shape: tuple[int, int]) -> tuple[FloatArray, BoolArray]:
    """Find the frames that break the rhythm of the motion, and those that repeat by a steady cadence.

    A freeze of one frame, or one after which the motion goes on as if nothing had been, is held against the frames
    that repeat; a longer one that a jump makes good, against the frame of the jump. A steady cadence is no break.

    Returns:
        By how much each frame breaks the rhythm (T,) in working pixels, 0 where it does not; and where a frame does no
        more than keep the cadence (T,).
    """
    motion, change = steps(flow, shape)
    found = np.zeros(len(flow.images))
    repeats: list[int] = []
    held = np.zeros(len(flow.images), np.bool_)
    leaps: list[float] = []
    start = 1
    while start < len(motion):
        run = _freeze(motion, change, start)
        if run == 0:
            start += 1
            continue
        first, after = start + 1, start + run + 1  # frames: step t leads to frame t + 1
        leap = _leap(motion, change, start, run)
        missed = _pace(motion, start - 1, _moving(motion, start - 1))
        if leap > 1 and run > 1:
            found[after] = missed
        else:
            found[first:after] = missed
            held[first:after] = True
            repeats.append(first)
            leaps.append(leap)
        start += run
    # A frame rate repeats frames and skips none.
    if _is_cadence(repeats, len(found)) and float(np.median(leaps)) < 1:
        return np.where(held, 0, found), held
    return found, np.zeros_like(held)


def _freeze(motion: FloatArray, change: FloatArray, start: int) -> int:
    """Return how many steps from ``start`` on repeat the frame before them, amid motion that goes on; 0 for none."""
    moving = _moving(motion, start - 1)
    if moving.mean() < MOVING_SHARE:
        return 0
    run = 0
    while start + run < len(motion) and _is_still(motion, change, start - 1, start + run, moving):
        run += 1
    if run == 0 or start + run == len(motion):  # a clip that ends still has stopped
        return 0
    resumed = start + run
    moving &= _moving(motion, resumed)
    if moving.mean() < MOVING_SHARE:
        return 0
    before, after = motion[start - 1][moving], motion[resumed][moving]
    cosine = (before * after).sum() / (np.linalg.norm(before, axis=-1) * np.linalg.norm(after, axis=-1)).sum()
    still_for_both = all(_is_still(motion, change, resumed, start + i, moving) for i in range(run))
    runs_out = start > 1 and _pace(motion, start - 1, moving) < 0.6 * _pace(motion, start - 2, moving)
    return run if cosine > SAME_WAY and still_for_both and not runs_out else 0


def _pace(motion: FloatArray, step: int, cells: BoolArray) -> float:
    """Mean speed of ``cells`` in a step."""
    return float(np.linalg.norm(motion[step][cells], axis=-1).mean())


def _is_still(motion: FloatArray, change: FloatArray, reference: int, step: int, moving: BoolArray) -> bool:
    """Whether hardly anything happens in ``step`` where something did in the step ``reference``."""
    halted = _pace(motion, step, moving) < STILL * _pace(motion, reference, moving)
    return halted and bool(change[step][moving].mean() < UNCHANGED * change[reference][moving].mean())


def _leap(motion: FloatArray, change: FloatArray, start: int, run: int) -> float:
    """Return how far the step after a freeze goes: above 1, far enough to make good what was held back."""
    resumed = start + run
    cells = _moving(motion, start - 1) & _moving(motion, resumed)
    usual, usual_change = _pace(motion, start - 1, cells), change[start - 1][cells].mean()
    if resumed + 1 < len(motion) and (later := _pace(motion, resumed + 1, cells)) > STILL * usual:
        usual, usual_change = (usual + later) / 2, max(usual_change, change[resumed + 1][cells].mean())
    further = _pace(motion, resumed, cells) / ((1 + JUMP * run) * usual)
    return max(further, float(change[resumed][cells].mean() / ((1 + JUMP) * max(usual_change, 0.1))))


def _moving(motion: FloatArray, step: int) -> BoolArray:
    return np.asarray(np.linalg.norm(motion[step], axis=-1) > MOVING)


def _is_cadence(repeats: list[int], length: int) -> bool:
    """Whether ``repeats`` come at a steady period in a clip of ``length`` frames: its frame rate, no fault."""
    places = np.asarray(repeats, dtype=float)
    if len(places) < FEWEST_REPEATS or np.ptp(places) < CADENCE_SPAN * length:
        return False
    for period in np.arange(2, LONGEST_PERIOD + 0.01, 0.1):
        turns = np.round((places - places[0]) / period)
        offsets = places - turns * period
        off = np.abs(offsets - (offsets.min() + offsets.max()) / 2).max()
        if off <= CADENCE_SLACK and len(set(turns)) >= CADENCE_SHARE * (np.ptp(places) / period + 1):
            return True
    return False
