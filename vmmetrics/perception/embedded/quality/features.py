"""Evidence of degraded frames: detail, blocks, foreign or displaced content, and repeated frames.

A repeated frame differs from an object that stops: the motion is the same before and after it, in the same direction,
without slowing down towards it, and the image hardly changes where it should.
"""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.flow import in_frame, look_up, pixel_grid
from vmmetrics.perception.scene import Flow
from vmmetrics.types import BoolArray, FloatArray, UInt8Array

# Single frames: detail by scale and direction, and block artefacts.
#
# Values are per cell of a coarse grid over the frame, so that a local defect is not averaged out.

DETAIL_SHORT_SIDE = 360
"""Largest short side, pixels, at which frames are measured: detail means the same in 480p and 720p."""
GRID_LONG_SIDE = 24
"""Cells along the longer side of the frame: a face in a half-body shot covers about three by three."""
DETAIL_FLOOR = 0.3
"""Grey levels added before a logarithm: less detail is rounding."""

# Second differences along x, y and both diagonals: motion blur weakens those along the motion and spares those across.
_SECOND_DIFFERENCES = np.array(
    [
        [[0, 0, 0], [1, -2, 1], [0, 0, 0]],
        [[0, 1, 0], [0, -2, 0], [0, 1, 0]],
        [[1, 0, 0], [0, -2, 0], [0, 0, 1]],
        [[0, 0, 1], [0, -2, 0], [1, 0, 0]],
    ],
    np.float32,
)
_FIXED_POINT = 16  # scale of int16 second differences before averaging, against rounding: 4 · 255 · 16 fits
_EDGE_LIMIT = 32  # grey levels; clips strong edges of the scene, which are no block borders


def grid_shape(height: int, width: int) -> tuple[int, int]:
    """Return (rows, columns) of the grid for a frame."""
    longest = max(height, width)
    return max(1, round(GRID_LONG_SIDE * height / longest)), max(1, round(GRID_LONG_SIDE * width / longest))


def luma(frame: UInt8Array) -> UInt8Array:
    """Return the (h, w) uint8 grey frame, downscaled to :data:`DETAIL_SHORT_SIDE` where larger."""
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
    height, width = grey.shape
    scale = DETAIL_SHORT_SIDE / min(height, width)
    if scale < 1:
        size = max(1, round(width * scale)), max(1, round(height * scale))
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    return np.asarray(grey, dtype=np.uint8)


def cell_means(plane: NDArray[np.integer | np.floating], shape: tuple[int, int]) -> FloatArray:
    """Return the mean of ``plane`` (h, w) over each cell of a grid of ``shape``."""
    rows, columns = min(shape[0], plane.shape[0]), min(shape[1], plane.shape[1])
    means = cv2.resize(plane, (columns, rows), interpolation=cv2.INTER_AREA)
    if (rows, columns) != shape:
        means = cv2.resize(means, shape[::-1], interpolation=cv2.INTER_NEAREST)
    return np.asarray(means, dtype=np.float32)


def detail(grey: UInt8Array, shape: tuple[int, int]) -> FloatArray:
    """Return (2, 4, rows, columns): log of mean |second difference| at two scales and in four directions."""
    planes = []
    for image in (grey, cv2.pyrDown(grey)):
        for kernel in _SECOND_DIFFERENCES:
            response = cv2.filter2D(image, cv2.CV_16S, kernel * _FIXED_POINT, borderType=cv2.BORDER_REFLECT_101)
            planes.append(cell_means(np.abs(response), shape) / _FIXED_POINT)
    return np.log(np.stack(planes) + DETAIL_FLOOR).reshape(2, 4, *shape)


def combs(grey: UInt8Array) -> FloatArray:
    """Return (2,): log contrast of single columns, and rows, of edges: a measure of block borders of any block size.

    A real edge spans part of the height of a frame and a few columns; a block border spans the full height and one.
    """
    strengths = []
    for kernel, axis in zip(_SECOND_DIFFERENCES[:2], (0, 1), strict=True):
        response = np.abs(cv2.filter2D(grey, cv2.CV_16S, kernel, borderType=cv2.BORDER_REFLECT_101))
        profile = np.minimum(response, _EDGE_LIMIT).mean(axis=axis)
        smooth = cv2.blur(profile.reshape(1, -1).astype(np.float32), (9, 1)).ravel()
        strengths.append(np.log(np.mean(np.abs(profile - smooth)) + 0.1 * DETAIL_FLOOR))
    return np.asarray(strengths)


def neighbour_quantile(values: FloatArray, quantile: float, reach: int) -> FloatArray:
    """Return (T, ...), the quantile of ``values`` over up to ``reach`` frames on each side, without the frame."""
    count, result = len(values), values.copy()
    inner = list(range(reach, count - reach))  # frames with all neighbours are computed together
    alone = [[t] for t in range(count) if not reach <= t < count - reach]
    for frames in ([inner] if inner else []) + alone:
        steps = [s for s in range(-reach, reach + 1) if s != 0 and 0 <= frames[0] + s < count]
        if steps:
            around = values[np.array(steps)[:, None] + np.array(frames)]
            result[frames] = np.quantile(around, quantile, axis=0)
    return result


# Prediction of a frame from both sides: foreign content, which is in neither, and displaced content.
#
# Only what *both* sides contradict counts. What one side alone cannot predict was covered or uncovered, was kicked or
# caught, begins or ends there (a cut, an I-frame), and is no defect. The later side is one to :data:`LONGEST` frames
# away, so that a defect of several frames is compared with the frames after it.

LONGEST = 3
"""Longest defect, frames; a longer one is a state of the clip, not a glitch."""
NODE = 8
"""Working pixels between the points at which motion is compared: the patch size of DIS."""

_HIGH_PASS = 15  # working pixels; broader errors are illumination, not detail
_ANTI_ALIAS = 0.8  # working pixels; matches the blur of interpolated images
_FIT_ROUNDS = 4  # iterations of reweighting; the global fit converges after three
_LEAST_SPREAD = 0.05  # working pixels, the noise of DIS on static images


def _there(flow: FloatArray) -> FloatArray:
    """Return (h, w, 2), the target position x, y of each pixel of ``flow`` (h, w, 2)."""
    return np.asarray(pixel_grid(flow.shape[1], flow.shape[0]) + flow)


def foreign(flow: Flow, shape: tuple[int, int]) -> tuple[list[FloatArray], FloatArray]:
    """Measure content of a frame that is neither in the frame before nor in the frame 1, 2, ... after it.

    Returns:
        Per length 1..:data:`LONGEST` of the defect (T, rows, columns) the prediction error common to both sides, grey
        levels, 0 where a side is missing; and the contrast of the frames (T, rows, columns), grey levels.
    """
    count = len(flow.images)
    shared = [np.zeros((count, *shape), np.float32) for _ in range(LONGEST)]
    contrast = np.empty((count, *shape), np.float32)

    @lru_cache(maxsize=LONGEST + 2)  # from the frame before to the last one after
    def image(t: int) -> FloatArray:
        return np.asarray(cv2.GaussianBlur(flow.images[t].astype(np.float32), (0, 0), _ANTI_ALIAS))

    for t in range(count):
        contrast[t] = cell_means(np.abs(_high_pass(image(t))), shape)
        if t in (0, count - 1):
            continue
        back = _there(flow.backward[t - 1])
        before, seen_before = _high_pass(image(t) - look_up(image(t - 1), back)), in_frame(back)
        path = flow.forward[t]
        there = _there(path)
        for length in range(1, min(LONGEST, count - 1 - t) + 1):
            if length > 1:
                path = path + look_up(flow.forward[t + length - 1], there)
                there = _there(path)
            after = _high_pass(image(t) - look_up(image(t + length), there))
            common = seen_before & in_frame(there) & (before * after > 0)
            both = np.where(common, np.minimum(np.abs(before), np.abs(after)), 0)
            shared[length - 1][t] = cell_means(both, shape)
    return shared, contrast


def displaced(flow: Flow) -> tuple[list[FloatArray], FloatArray]:
    """Measure the displacement of a frame's content from the path through the frames on both sides of it.

    Camera motion (an affine fit) is removed first. :func:`_off_path` combines the predictions.

    Returns:
        Per length 1..:data:`LONGEST` of the defect (T, rows, columns) on a grid of :data:`NODE` pixels the displacement
        in working pixels, 0 where two frames on each side are missing; and the speed there in working pixels per frame.
    """
    height, width = flow.images.shape[1:]
    shape = max(1, round(height / NODE)), max(1, round(width / NODE))
    onward = [_at_nodes(field, shape) for field in flow.forward]
    back = [_at_nodes(field, shape) for field in flow.backward]
    spacing = np.array([width / shape[1], height / shape[0]], np.float32)
    count = len(flow.images)
    off = [np.zeros((count, *shape), np.float32) for _ in range(LONGEST)]
    speed = np.zeros((count, *shape), np.float32)
    for t in range(1, count - 1):
        speed[t] = (np.linalg.norm(onward[t], axis=-1) + np.linalg.norm(back[t - 1], axis=-1)) / 2
        if t < 2:
            continue
        left = back[t - 1]
        fields = [look_up(back[t - 2], _there(left / spacing)) - left]
        path = onward[t]
        for length in range(1, min(LONGEST, count - 2 - t) + 1):
            if length > 1:
                path = path + look_up(onward[t + length - 1], _there(path / spacing))
            pace = look_up(onward[t + length], _there(path / spacing))
            fields += [length * pace - path, -(length * left + path) / (length + 1)]
        from_left, *others = without_camera(np.stack(fields))
        for offset, from_right, from_chord in zip(off, others[::2], others[1::2], strict=False):
            offset[t] = _off_path(from_left, from_right, from_chord)
    return off, speed


def _off_path(from_left: FloatArray, from_right: FloatArray, from_chord: FloatArray) -> FloatArray:
    """Return the displacement (rows, columns) common to three predictions of the content's position.

    Each argument (rows, columns, 2) is the position minus a prediction: extrapolated from the two frames before, from
    the two frames after, and on the line between the frames next to the defect. A bounce or a kick leaves one of the
    first two at zero; in a fast curve the third points the other way.
    """
    mean = (from_left + from_right) / 2
    longer = np.sqrt(np.maximum((from_left**2).sum(-1), (from_right**2).sum(-1)))
    sides = (from_left * from_right).sum(-1) / np.maximum(longer, 1e-3)
    chord = (from_chord * mean).sum(-1) / np.maximum(np.linalg.norm(mean, axis=-1), 1e-3)
    return np.asarray(np.maximum(np.minimum(sides, chord), 0))


def without_camera(fields: FloatArray) -> FloatArray:
    """Return ``fields`` (..., rows, columns, 2) minus their dominant affine motion (reweighted least squares)."""
    rows, columns = fields.shape[-3:-1]
    y, x = np.mgrid[-1 : 1 : rows * 1j, -1 : 1 : columns * 1j]
    design = np.stack([np.ones(rows * columns), x.ravel(), y.ravel()])  # planes, which numpy processes fastest
    values = np.moveaxis(fields.reshape(-1, rows * columns, 2), -1, 1).astype(np.float64, order="C")
    weights = np.ones((len(values), 1, rows * columns))
    rest = values
    for _ in range(_FIT_ROUNDS):
        weighted = design * weights
        model = np.linalg.solve(weighted @ design.T + 1e-6 * np.eye(3), weighted @ np.swapaxes(values, 1, 2))
        rest = values - np.swapaxes(model, 1, 2) @ design
        distance = rest[:, 0] ** 2 + rest[:, 1] ** 2
        spread = np.maximum(2.0 * np.median(distance, axis=1), _LEAST_SPREAD**2)
        weights = 1 / (1 + distance / spread[:, None])[:, None]
    return np.moveaxis(rest, 1, -1).reshape(fields.shape).astype(np.float32)


def _at_nodes(field: FloatArray, shape: tuple[int, int]) -> FloatArray:
    return np.asarray(cv2.resize(field, shape[::-1], interpolation=cv2.INTER_AREA))


def _high_pass(image: FloatArray) -> FloatArray:
    return np.asarray(image - cv2.blur(image, (_HIGH_PASS, _HIGH_PASS)))


MOVING = 0.4
"""Speed, working pixels per frame (0.1 % of the diagonal), from which a cell moves; slower repeats are invisible."""
MOVING_SHARE = 0.01
"""Least share of moving cells for a repeated frame to be detectable: one cell in a hundred is a hand."""
STILL = 0.2
"""Motion of a repeated frame, as a share of the motion around it: above flow noise, below slow frames."""
UNCHANGED = 0.35
"""Change of a repeated frame's image, as a share of the change around it."""
SAME_WAY = 0.5
"""Least cosine between the motion before and after a repeated frame; below, motion reverses and may pause."""
JUMP = 0.5
"""Least excess of a jump over the motion around it, as a share of the motion that the freeze skipped."""
LONGEST_PERIOD = 8
"""Longest period, frames, of a regular cadence: animation on twos and threes, 24 fps shown at 25 to 30."""
CADENCE_SHARE = 0.6
"""Least share of a period's predicted repeats that must occur (the others may fall where nothing moves)."""
CADENCE_SLACK = 0.75
"""Largest deviation, frames, of a repeat from its predicted position: periods need not be whole numbers of frames."""
FEWEST_REPEATS = 4
"""Fewest repeats of a cadence."""
CADENCE_SPAN = 1 / 3
"""Least share of the clip that the repeats of a cadence span."""


def steps(flow: Flow, shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """Return the motion (T-1, rows, columns, 2), working pixels, and the change of the image (T-1, rows, columns).

    The change is in grey levels; both are means per cell, from each frame to the next.
    """
    motion = np.zeros((len(flow.forward), *shape, 2), np.float32)
    change = np.zeros((len(flow.forward), *shape), np.float32)
    for t, field in enumerate(flow.forward):
        motion[t] = cell_means(field, shape)
        change[t] = cell_means(cv2.absdiff(flow.images[t], flow.images[t + 1]).astype(np.float32), shape)
    return motion, change


def breaks(flow: Flow, shape: tuple[int, int]) -> tuple[FloatArray, BoolArray]:
    """Find repeated frames and jumps, and the frames that repeat with a regular cadence.

    A freeze of one frame, or one after which the motion simply continues, counts against the repeated frames; a longer
    one followed by a jump, against the frame of the jump. A regular cadence is no defect.

    Returns:
        (T,) missing motion of each repeated frame or jump, working pixels, 0 elsewhere; and (T,) bool, True for a
        repeated frame of a regular cadence.
    """
    motion, change = steps(flow, shape)
    breaks_by = np.zeros(len(flow.images))
    repeats: list[int] = []
    cadence = np.zeros(len(flow.images), np.bool_)
    jump_ratios: list[float] = []
    start = 1
    while start < len(motion):
        run = _freeze(motion, change, start)
        if run == 0:
            start += 1
            continue
        first, after = start + 1, start + run + 1  # frames: step t leads to frame t + 1
        jump_ratio = _jump_ratio(motion, change, start, run)
        missed = _pace(motion, start - 1, _moving(motion, start - 1))
        if jump_ratio > 1 and run > 1:
            breaks_by[after] = missed
        else:
            breaks_by[first:after] = missed
            cadence[first:after] = True
            repeats.append(first)
            jump_ratios.append(jump_ratio)
        start += run
    # A frame rate repeats frames and skips none.
    if _is_cadence(repeats, len(breaks_by)) and float(np.median(jump_ratios)) < 1:
        return np.where(cadence, 0, breaks_by), cadence
    return breaks_by, np.zeros_like(cadence)


def _freeze(motion: FloatArray, change: FloatArray, start: int) -> int:
    """Return the number of steps from ``start`` on that repeat the frame before them amid continuing motion."""
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
    """Return the mean speed of the selected grid cells in one frame step, pixels of the flow's working size."""
    return float(np.linalg.norm(motion[step][cells], axis=-1).mean())


def _is_still(motion: FloatArray, change: FloatArray, reference: int, step: int, moving: BoolArray) -> bool:
    """Return True if motion and change in ``step`` are far below those of the step ``reference``, in moving cells."""
    halted = _pace(motion, step, moving) < STILL * _pace(motion, reference, moving)
    return halted and bool(change[step][moving].mean() < UNCHANGED * change[reference][moving].mean())


def _jump_ratio(motion: FloatArray, change: FloatArray, start: int, run: int) -> float:
    """Return the size of the step after a freeze; above 1 it is a jump over the motion that the freeze skipped."""
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
    """Return True if ``repeats`` have a regular period in a clip of ``length`` frames: a frame-rate conversion."""
    positions = np.asarray(repeats, dtype=float)
    if len(positions) < FEWEST_REPEATS or np.ptp(positions) < CADENCE_SPAN * length:
        return False
    for period in np.arange(2, LONGEST_PERIOD + 0.01, 0.1):
        turns = np.round((positions - positions[0]) / period)
        offsets = positions - turns * period
        off = np.abs(offsets - (offsets.min() + offsets.max()) / 2).max()
        if off <= CADENCE_SLACK and len(set(turns)) >= CADENCE_SHARE * (np.ptp(positions) / period + 1):
            return True
    return False
