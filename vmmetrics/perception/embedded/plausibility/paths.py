"""Paths of content over several frames, and what they leave unexplained: content replaced in place, stretched shapes.

From one frame to the next an object that fades into another hardly changes, and one that melts hardly stretches. Over a
quarter of a second both do. What real content uncovers or covers is found on one side of a moment, before or after it;
a region that is unlike both, thicker than the rim of something that moves, has been replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from vmmetrics.perception.embedded.flow import inside, look_up, pixel_grid
from vmmetrics.perception.embedded.plausibility.views import SIDE
from vmmetrics.types import FloatArray, UInt8Array

CELLS = 20
"""Cells along each side of the maps of evidence; a cell is as wide as a patch of DIS flow."""
BLUR = 2.0
"""Standard deviation, pixels, of the blur before colours are compared: grain and small errors of the flow do not
count."""
DIFFERENT = (0.25, 4.0)
"""Difference of colours that counts: this share of the clip's contrast, plus grey levels."""
THICK = np.ones((7, 7), np.uint8)
"""Smallest region that counts, pixels: rims of fast things are thinner."""
SMOOTHED = 4.0
"""Standard deviation, pixels, over which a path is smoothed before its gradient is taken."""
RETURNS, SMOOTH = 2.0, 1.5
"""Forward-backward error, and deviation of a path from its neighbours', pixels, at which a stretch counts less than
half: at the edge of a moving thing the path tears instead of stretching."""
MOST_STRETCH = 2.0
"""Largest stretch counted, the logarithm of the ratio of a small circle's axes."""


def to_cells(plane: FloatArray, cells: int = CELLS) -> FloatArray:
    """Return the mean of ``plane`` (SIDE, SIDE, ...) in each of ``cells`` x ``cells`` cells."""
    return np.asarray(cv2.resize(plane, (cells, cells), interpolation=cv2.INTER_AREA), np.float32)


def composed(flows: Sequence[FloatArray], frames: int) -> list[FloatArray]:
    """Return the displacement (SIDE, SIDE, 2) from each frame to the one ``frames`` later, by following ``flows``."""
    pixels = pixel_grid(SIDE, SIDE)
    paths = list(flows)
    for more in range(1, frames):
        starts = paths[: max(0, len(flows) - more)]
        paths = [path + look_up(flows[t + more], pixels + path) for t, path in enumerate(starts)]
    return paths


def fill_long(
    maps: Mapping[str, FloatArray],
    images: UInt8Array,
    onward: Sequence[FloatArray],
    back: Sequence[FloatArray],
    lags: Mapping[str, int],
) -> None:
    """Fill the maps of replaced content and stretched shapes.

    Args:
        maps: Name to (n, CELLS, CELLS), NaN where a frame has no value.
        images: (n, SIDE, SIDE, 3) uint8 RGB.
        onward: n - 1 displacements from each frame to the next, (SIDE, SIDE, 2) pixels.
        back: n - 1 displacements from each frame to the one before it.
        lags: Name to frames.
    """
    count = len(images)
    for name in ("quarter", "half"):
        lag = lags[name]
        later = composed(onward, lag)
        earlier = composed(back[::-1], lag)[::-1]  # of frame lag, lag + 1, ...
        for t, path in enumerate(later):
            maps[f"stretched {name}"][t + lag] = to_cells(_stretch(path, earlier[t]))
        if f"replaced {name}" not in maps:
            continue
        colours = [cv2.GaussianBlur(image.astype(np.float32), (0, 0), BLUR) for image in images]
        least = DIFFERENT[0] * float(np.mean([colour.std() for colour in colours])) + DIFFERENT[1]
        for t in range(lag, count - lag):
            sides = ((colours[t + lag], later[t]), (colours[t - lag], earlier[t - lag]))
            gap = np.minimum(*(_difference(colours[t], other, path) for other, path in sides))
            thick = cv2.morphologyEx((gap > least).astype(np.uint8), cv2.MORPH_OPEN, THICK)
            maps[f"replaced {name}"][t] = to_cells(thick.astype(np.float32))


def _difference(colour: FloatArray, other: FloatArray, path: FloatArray) -> FloatArray:
    """Return (SIDE, SIDE), the difference of colours along ``path``, less the usual one: light that changes as a whole.

    What leaves the frame has the median of the rest.
    """
    target = pixel_grid(SIDE, SIDE) + path
    seen = inside(target, SIDE, SIDE)
    if not seen.any():
        return np.zeros((SIDE, SIDE), np.float32)
    change = colour - look_up(other, target)
    size = np.linalg.norm(change - np.median(change[seen], axis=0), axis=-1)
    return np.asarray(np.where(seen, size, np.median(size)), np.float32)


def _stretch(path: FloatArray, returning: FloatArray) -> FloatArray:
    """Return (SIDE, SIDE), 0 to :data:`MOST_STRETCH`: how far ``path`` makes ellipses of circles, without tearing."""
    target = pixel_grid(SIDE, SIDE) + path
    gap = np.linalg.norm(path + look_up(returning, target), axis=-1)
    trusted = (np.exp(-((gap / RETURNS) ** 2)) * inside(target, SIDE, SIDE)).astype(np.float32)

    def smooth(plane: FloatArray) -> FloatArray:
        return np.asarray(cv2.GaussianBlur(np.asarray(plane, np.float32), (0, 0), SMOOTHED))

    weight = smooth(trusted) + 1e-3
    even = smooth(path * trusted[..., None]) / weight[..., None]
    rest = smooth(np.linalg.norm(path - even, axis=-1) * trusted) / weight
    by_y, by_x = np.gradient(even, axis=(0, 1))
    # Of the Jacobian: rotation and growth, and stretch and shear, whose sum and difference are its singular values.
    growth = np.hypot(2 + by_x[..., 0] + by_y[..., 1], by_x[..., 1] - by_y[..., 0])
    shear = np.hypot(by_x[..., 0] - by_y[..., 1], by_x[..., 1] + by_y[..., 0])
    ratio = np.log((growth + shear + 1e-3) / np.maximum(abs(growth - shear), 0.2))
    known = np.minimum(1.2 * weight, 1.0) / (1 + (rest / SMOOTH) ** 2)
    return np.asarray(np.clip(ratio, 0, MOST_STRETCH) * known, np.float32)
