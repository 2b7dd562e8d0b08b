"""Fragments, what DOVER's technical branch looks at: small pieces at full sharpness instead of a shrunken picture.

Wu et al., "FAST-VQA", ECCV 2022, and "Exploring Video Quality Assessment on User Generated Contents from Aesthetic and
Technical Perspectives" (DOVER), ICCV 2023. Their code puts each piece at a random place of its cell and each stretch
at a random time; here pieces lie in the middle and stretches at equal distances, so that a clip has one score.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

GRID = 7
"""Cells along each side."""
PIECE = 32
"""Side of a piece in pixels."""
LENGTH = 32
"""Frames of a stretch ..."""
INTERVAL = 2
"""... of which every second one of the clip is taken ..."""
STRETCHES = 3
"""... and how many stretches there are (all as published)."""


def stretches(frames: int) -> list[NDArray[np.int64]]:
    """Return the frame indices of each stretch, from the first that fits to the last, equal ones once.

    A clip that is too short begins again at its end, as in the published code.

    >>> [s[[0, -1]].tolist() for s in stretches(100)]
    [[0, 62], [18, 80], [36, 98]]
    >>> [s[[0, 31]].tolist() for s in stretches(40)]
    [[0, 22]]
    """
    room = max(0, frames - LENGTH * INTERVAL)
    starts = sorted({round(start) for start in np.linspace(0, room, STRETCHES).tolist()})
    return [(start + INTERVAL * np.arange(LENGTH)) % frames for start in starts]


def fragments(frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return (T, 224, 224, 3) pictures put together from a piece of every cell of (T, H, W, 3) frames.

    Frames with a side of less than 224 pixels are enlarged until none is.
    """
    whole = GRID * PIECE
    height, width = frames.shape[1:3]
    short = min(height, width)
    if short < whole:
        height, width = (max(whole, round(side * whole / short)) for side in (height, width))
        frames = np.stack([cv2.resize(frame, (width, height), interpolation=cv2.INTER_LINEAR) for frame in frames])
    rows, columns = (_places(side) for side in (height, width))
    pieces = frames[:, rows][:, :, columns]
    return np.ascontiguousarray(pieces)


def _places(side: int) -> NDArray[np.int64]:
    """The pixels along one side that lie in a piece."""
    cell = side // GRID
    starts = cell * np.arange(GRID) + (cell - PIECE) // 2
    return (starts[:, None] + np.arange(PIECE)).ravel()
