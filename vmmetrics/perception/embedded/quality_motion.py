"""What the frames on both sides say a frame should show, and where: content that is foreign to it or out of place.

Only what *both* sides contradict counts. What one side alone cannot predict was covered or uncovered, was kicked or
caught, begins or ends there (a cut, an I-frame), and is no defect. The right-hand side is looked for one to
:data:`LONGEST` frames on, so that a defect that lasts is held against the frames beyond it.
"""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np

from vmmetrics.perception.embedded.quality_features import cell_means
from vmmetrics.perception.protocols import Flow
from vmmetrics.types import BoolArray, FloatArray

LONGEST = 3
"""Frames: a defect that lasts longer is a state of the clip, not a glitch."""
NODE = 8
"""Working pixels between the points at which motion is compared: the patch over which DIS estimates it."""

_HIGH_PASS = 15  # working pixels; errors broader than that are light, not detail
_ANTI_ALIAS = 0.8  # working pixels; makes up for the softness of interpolated pictures
_FIT_ROUNDS = 4  # of reweighting; the global fit no longer moves after three
_LEAST_SPREAD = 0.05  # working pixels, the noise of DIS on still pictures


def sample(image: FloatArray, flow: FloatArray) -> FloatArray:
    """Return ``image`` (h, w, ...) seen through ``flow`` (h, w, 2): its value where each pixel points to."""
    height, width = flow.shape[:2]
    x = np.arange(width, dtype=np.float32) + flow[..., 0]
    y = np.arange(height, dtype=np.float32)[:, None] + flow[..., 1]
    return np.asarray(cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))


def foreign(flow: Flow, shape: tuple[int, int]) -> tuple[list[FloatArray], FloatArray]:
    """Measure what is in a frame and neither in the frame before nor in the frame 1, 2, ... after it.

    Returns:
        Per length 1..:data:`LONGEST` of the defect (T, rows, columns) the error that both sides share, in grey levels,
        0 where a side is missing; and the contrast of the frames (T, rows, columns).
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
        back = flow.backward[t - 1]
        before, seen_before = _high_pass(image(t) - sample(image(t - 1), back)), _in_frame(back)
        path = flow.forward[t]
        for length in range(1, min(LONGEST, count - 1 - t) + 1):
            if length > 1:
                path = path + sample(flow.forward[t + length - 1], path)
            after = _high_pass(image(t) - sample(image(t + length), path))
            common = seen_before & _in_frame(path) & (before * after > 0)
            both = np.where(common, np.minimum(np.abs(before), np.abs(after)), 0)
            shared[length - 1][t] = cell_means(both, shape)
    return shared, contrast


def displaced(flow: Flow) -> tuple[list[FloatArray], FloatArray]:
    """Measure how far the content of a frame lies off the path that the frames on both sides of it are on.

    Camera motion (what an affine fit explains) is taken out. See :func:`_off_path` for what counts.

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
        from_left = without_camera(sample(back[t - 2], left / spacing) - left)
        path = onward[t]
        for length in range(1, min(LONGEST, count - 2 - t) + 1):
            if length > 1:
                path = path + sample(onward[t + length - 1], path / spacing)
            pace = sample(onward[t + length], path / spacing)
            from_right = without_camera(length * pace - path)
            from_chord = without_camera(-(length * left + path) / (length + 1))
            off[length - 1][t] = _off_path(from_left, from_right, from_chord)
    return off, speed


def _off_path(from_left: FloatArray, from_right: FloatArray, from_chord: FloatArray) -> FloatArray:
    """Return the displacement (rows, columns) that three predictions of where content should be agree upon.

    Each argument (rows, columns, 2) is where content is minus where it should be: carried on from the two frames
    before, carried back from the two frames after, and on the line between the frames next to the defect. A bounce
    or a kick leaves one of the first two at zero; in a curve at speed the third points the other way.
    """
    mean = (from_left + from_right) / 2
    longer = np.sqrt(np.maximum((from_left**2).sum(-1), (from_right**2).sum(-1)))
    sides = (from_left * from_right).sum(-1) / np.maximum(longer, 1e-3)
    chord = (from_chord * mean).sum(-1) / np.maximum(np.linalg.norm(mean, axis=-1), 1e-3)
    return np.asarray(np.maximum(np.minimum(sides, chord), 0))


def without_camera(field: FloatArray) -> FloatArray:
    """Return ``field`` (rows, columns, 2) less the affine motion that most of it follows (reweighted least squares)."""
    rows, columns = field.shape[:2]
    y, x = np.mgrid[-1 : 1 : rows * 1j, -1 : 1 : columns * 1j]
    design = np.stack([np.ones(rows * columns), x.ravel(), y.ravel()], 1)
    values = field.reshape(-1, 2)
    weights = np.ones(len(values))
    rest = values
    for _ in range(_FIT_ROUNDS):
        weighted = design * weights[:, None]
        model = np.linalg.solve(weighted.T @ design + 1e-6 * np.eye(3), weighted.T @ values)
        rest = values - design @ model
        distance = (rest**2).sum(1)
        weights = 1 / (1 + distance / max(2.0 * float(np.median(distance)), _LEAST_SPREAD**2))
    return rest.reshape(field.shape).astype(np.float32)


def _in_frame(flow: FloatArray) -> BoolArray:
    """Where ``flow`` (h, w, 2) points to a place inside the frame: what comes in from outside is news by right."""
    height, width = flow.shape[:2]
    x = np.arange(width, dtype=np.float32) + flow[..., 0]
    y = np.arange(height, dtype=np.float32)[:, None] + flow[..., 1]
    return np.asarray((x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1))


def _at_nodes(field: FloatArray, shape: tuple[int, int]) -> FloatArray:
    return np.asarray(cv2.resize(field, shape[::-1], interpolation=cv2.INTER_AREA))


def _high_pass(image: FloatArray) -> FloatArray:
    return np.asarray(image - cv2.blur(image, (_HIGH_PASS, _HIGH_PASS)))
