"""What each frame looks like, and what its neighbours say it should look like: the raw maps behind the quality.

Every function gives values per cell of a coarse grid over the frame, so that a defect of one region is not averaged away.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.protocols import Flow
from vmmetrics.types import FloatArray

DETAIL_SHORT_SIDE = 360
"""Frames are measured at this short side at most, so that detail means the same in 480p and 720p."""
GRID_LONG_SIDE = 24
"""Cells along the longer side of the frame: a face in a half-body shot covers about three by three of them."""
DETAIL_FLOOR = 0.3
"""Grey levels added before a logarithm: less detail than that is rounding."""

# Second differences along x, y and both diagonals: motion blur weakens those along the motion and spares those across it.
_SECOND_DIFFERENCES = tuple(
    np.array(kernel, dtype=np.float32)
    for kernel in (
        [[0, 0, 0], [1, -2, 1], [0, 0, 0]],
        [[0, 1, 0], [0, -2, 0], [0, 1, 0]],
        [[1, 0, 0], [0, -2, 0], [0, 0, 1]],
        [[0, 0, 1], [0, -2, 0], [1, 0, 0]],
    )
)
_FIXED_POINT = 16  # int16 second differences are averaged in sixteenths: 4 · 255 · 16 fits, plain integers would round off
_HIGH_PASS = 15  # working pixels; residuals broader than that are light, not detail


def grid_shape(height: int, width: int) -> tuple[int, int]:
    """Return (rows, columns) of the grid for a frame."""
    longest = max(height, width)
    return max(1, round(GRID_LONG_SIDE * height / longest)), max(1, round(GRID_LONG_SIDE * width / longest))


def luma(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the (h, w) uint8 grey frame at the resolution at which detail is measured."""
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
    height, width = grey.shape
    scale = DETAIL_SHORT_SIDE / min(height, width)
    if scale < 1:
        size = max(1, round(width * scale)), max(1, round(height * scale))
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    return np.asarray(grey, dtype=np.uint8)


def cell_means(plane: NDArray[np.generic], shape: tuple[int, int]) -> FloatArray:
    """Return the mean of ``plane`` (h, w) over each cell of a grid of ``shape``."""
    rows, columns = min(shape[0], plane.shape[0]), min(shape[1], plane.shape[1])
    means = cv2.resize(plane, (columns, rows), interpolation=cv2.INTER_AREA)
    if (rows, columns) != shape:
        means = cv2.resize(means, shape[::-1], interpolation=cv2.INTER_NEAREST)
    return np.asarray(means, dtype=np.float32)


def detail(grey: NDArray[np.uint8], shape: tuple[int, int]) -> FloatArray:
    """Return (2, 4, rows, columns): log of mean |second difference| at two scales and in four directions."""
    planes = []
    for image in (grey, cv2.pyrDown(grey)):
        for kernel in _SECOND_DIFFERENCES:
            response = cv2.filter2D(image, cv2.CV_16S, kernel * _FIXED_POINT, borderType=cv2.BORDER_REFLECT_101)
            planes.append(cell_means(np.abs(response), shape) / _FIXED_POINT)
    return np.log(np.stack(planes) + DETAIL_FLOOR).reshape(2, 4, *shape)


def combs(grey: NDArray[np.uint8]) -> FloatArray:
    """Return (2,): how much single columns, and rows, of edges stand out, in logs: block borders do, at any block size.

    A real edge spans part of the height of a frame and a few columns; the border of blocks spans all of it and one.
    """
    strengths = []
    for kernel, axis in zip(_SECOND_DIFFERENCES[:2], (0, 1), strict=True):
        response = np.abs(cv2.filter2D(grey, cv2.CV_16S, kernel, borderType=cv2.BORDER_REFLECT_101))
        profile = np.minimum(response, 32).mean(axis=axis)
        smooth = cv2.blur(profile.reshape(1, -1).astype(np.float32), (9, 1)).ravel()
        strengths.append(np.log(np.mean(np.abs(profile - smooth)) + 0.1 * DETAIL_FLOOR))
    return np.asarray(strengths)


def sample(image: FloatArray, flow: FloatArray) -> FloatArray:
    """Return ``image`` (h, w, ...) seen through ``flow`` (h, w, 2): its value where each pixel points to."""
    height, width = flow.shape[:2]
    x = np.arange(width, dtype=np.float32) + flow[..., 0]
    y = np.arange(height, dtype=np.float32)[:, None] + flow[..., 1]
    return np.asarray(cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))


def residual(image: FloatArray, other: FloatArray, flow: FloatArray) -> FloatArray:
    """Return the detail of ``image`` that ``other`` does not predict through ``flow``, light changes taken out."""
    error = image - sample(other, flow)
    return np.asarray(error - cv2.blur(error, (_HIGH_PASS, _HIGH_PASS)))


def innovations(flow: Flow, shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """What is in a frame and in neither of its neighbours, and how much detail there is, in grey levels.

    The error that both neighbours share is the frame's own: what one of them alone cannot predict was covered or
    uncovered, or begins or ends there (a cut, an I-frame), and costs nothing.

    Returns:
        Two arrays (T, rows, columns): the shared error, 0 in the first and last frame, and the contrast.
    """
    images = [cv2.GaussianBlur(image.astype(np.float32), (0, 0), 0.8) for image in flow.images]
    shared = np.zeros((len(images), *shape), np.float32)
    contrast = np.zeros_like(shared)
    for t, image in enumerate(images):
        contrast[t] = cell_means(np.abs(image - cv2.blur(image, (_HIGH_PASS, _HIGH_PASS))), shape)
        if 0 < t < len(images) - 1:
            before = residual(image, images[t - 1], flow.backward[t - 1])
            after = residual(image, images[t + 1], flow.forward[t])
            both = np.where(before * after > 0, np.minimum(np.abs(before), np.abs(after)), 0)
            shared[t] = cell_means(both, shape)
    return shared, contrast


def bends(flow: Flow, shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """How far a frame's content lies off the path of the frames on both its sides, and how fast it moves there.

    The path is carried on from the two frames before and back from the two frames after. A bounce or a kick breaks one
    of the two; content that is displaced in this frame alone breaks both, and by the same vector.

    Returns:
        Two arrays (T, rows, columns) in working pixels: the displacement, 0 in the outer two frames at each end, and
        the speed per frame.
    """
    count = len(flow.images)
    offsets = np.zeros((count, *shape), np.float32)
    speeds = np.zeros_like(offsets)
    for t in range(2, count - 2):
        onward, back = flow.forward[t], flow.backward[t - 1]
        after = cv2.blur(sample(flow.forward[t + 1], onward) - onward, (9, 9))
        before = cv2.blur(sample(flow.backward[t - 2], back) - back, (9, 9))
        agreement = (after * before).sum(-1)
        longer = np.sqrt(np.maximum((after**2).sum(-1), (before**2).sum(-1)))
        offsets[t] = cell_means(np.maximum(agreement, 0) / np.maximum(longer, 1e-3), shape)
        speeds[t] = cell_means((np.hypot(*np.moveaxis(onward, -1, 0)) + np.hypot(*np.moveaxis(back, -1, 0))) / 2, shape)
    return offsets, speeds


def neighbour_quantile(values: FloatArray, quantile: float, reach: int) -> FloatArray:
    """Return (T, ...): the quantile of ``values`` over up to ``reach`` frames on each side, the frame itself left out."""
    result = np.empty_like(values)
    for t in range(len(values)):
        around = [s for s in range(max(0, t - reach), min(len(values), t + reach + 1)) if s != t]
        result[t] = np.quantile(values[around], quantile, axis=0) if around else values[t]
    return result
