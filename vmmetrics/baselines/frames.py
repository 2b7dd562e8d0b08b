"""What the functions of this folder ask of the frames they are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def need_two(frames: NDArray[np.generic]) -> None:
    """Refuse fewer than two frames.

    Raises:
        ValueError: There is no pair of consecutive frames.
    """
    if len(frames) < 2:
        raise ValueError(f"Expected at least two frames but got {len(frames)}")
