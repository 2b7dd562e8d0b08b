"""Flashes of a clip, by which people with photosensitive epilepsy may be harmed (ITU-R BT.1702, WCAG 2.3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Luminance = NDArray[np.floating[Any]]
"""Relative luminance, 0..1."""
LIMIT = 3
"""Flashes in a second that are safe."""
AREA = 0.25
"""Share of the frame that a flash must cover to count."""
_STEP, _BRIGHT = 0.1, 0.8  # of full luminance: a change that counts, and below which its darker end must lie
_ROWS, _COLUMNS = 36, 64  # cells of the frame


def most_flashes(frames: NDArray[np.uint8], timestamps: NDArray[np.floating[Any]]) -> int:
    """Return the most flashes in any second: pairs of opposite changes of luminance over a quarter of the frame.

    A change runs from an extreme of a cell's relative luminance until it has moved by a tenth of full luminance. Cells
    count as changing together within a frame. Saturated red, which has a limit of its own, is not looked for.

    Args:
        frames: (T, H, W, 3) RGB.
        timestamps: (T,) seconds, ascending.
    """
    moments = timestamps[_changes(np.stack([_luminance(frame) for frame in frames]))]
    inside = np.searchsorted(moments, moments + 1.0, side="left") - np.arange(moments.size)
    return int(inside.max(initial=0)) // 2


def _luminance(frame: NDArray[np.uint8]) -> Luminance:
    """Return (cells,) mean relative luminance, 0..1, of the cells of a frame."""
    height, width = frame.shape[:2]
    linear = _LINEAR[frame] @ np.array([0.2126, 0.7152, 0.0722])
    rows, columns = (np.unique(np.linspace(0, n, m, endpoint=False).astype(int))
                     for n, m in ((height, _ROWS), (width, _COLUMNS)))  # fmt: skip
    sums = np.add.reduceat(np.add.reduceat(linear, rows, axis=0), columns, axis=1)
    sizes = np.outer(np.diff([*rows, height]), np.diff([*columns, width]))
    means: Luminance = (sums / sizes).ravel()
    return means


_CODES = np.arange(256) / 255
_LINEAR = np.where(_CODES <= 0.04045, _CODES / 12.92, ((_CODES + 0.055) / 1.055) ** 2.4)


def _changes(luminance: Luminance) -> NDArray[np.int64]:
    """Return the frames, (C,), at which a large part of the frame changes against its change before.

    Args:
        luminance: (T, cells).
    """
    low, high = luminance[0].copy(), luminance[0].copy()  # extremes since the last change of each cell
    way, moments = np.zeros(luminance.shape[1]), []
    last = 0.0
    for index, now in enumerate(luminance):
        low, high = np.minimum(low, now), np.maximum(high, now)
        up = (now - low >= _STEP) & (low < _BRIGHT) & (way <= 0)
        down = (high - now >= _STEP) & (now < _BRIGHT) & (way >= 0)
        for changed, sign in ((up, 1.0), (down, -1.0)):
            way[changed], low[changed], high[changed] = sign, now[changed], now[changed]
            if changed.mean() >= AREA and sign != last:
                moments.append(index)
                last = sign
    return np.array(moments, np.int64)
