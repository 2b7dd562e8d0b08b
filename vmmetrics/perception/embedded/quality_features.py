"""What each frame looks like on its own: detail by scale and direction, and traces of blocks.

Values are per cell of a coarse grid over the frame, so that a defect of one region is not averaged away.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.types import FloatArray

DETAIL_SHORT_SIDE = 360
"""Frames are measured at this short side at most, so that detail means the same in 480p and 720p."""
GRID_LONG_SIDE = 24
"""Cells along the longer side of the frame: a face in a half-body shot covers about three by three of them."""
DETAIL_FLOOR = 0.3
"""Grey levels added before a logarithm: less detail than that is rounding."""

# Second differences along x, y and both diagonals: motion blur weakens those along the motion and spares those across.
_SECOND_DIFFERENCES = tuple(
    np.array(kernel, dtype=np.float32)
    for kernel in (
        [[0, 0, 0], [1, -2, 1], [0, 0, 0]],
        [[0, 1, 0], [0, -2, 0], [0, 1, 0]],
        [[1, 0, 0], [0, -2, 0], [0, 0, 1]],
        [[0, 0, 1], [0, -2, 0], [1, 0, 0]],
    )
)
_FIXED_POINT = 16  # int16 second differences are averaged in sixteenths: 4 · 255 · 16 fits, and plain means would round
_EDGE_LIMIT = 32  # grey levels; a strong edge of the scene must not pass for a border of blocks


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


def cell_means(plane: NDArray[np.integer | np.floating], shape: tuple[int, int]) -> FloatArray:
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
        profile = np.minimum(response, _EDGE_LIMIT).mean(axis=axis)
        smooth = cv2.blur(profile.reshape(1, -1).astype(np.float32), (9, 1)).ravel()
        strengths.append(np.log(np.mean(np.abs(profile - smooth)) + 0.1 * DETAIL_FLOOR))
    return np.asarray(strengths)


def neighbour_quantile(values: FloatArray, quantile: float, reach: int) -> FloatArray:
    """Return (T, ...): the quantile of ``values`` over up to ``reach`` frames on each side, the frame left out."""
    result = np.empty_like(values)
    for t in range(len(values)):
        around = [s for s in range(max(0, t - reach), min(len(values), t + reach + 1)) if s != t]
        result[t] = np.quantile(values[around], quantile, axis=0) if around else values[t]
    return result
