"""How fast the picture moves, camera included."""

from __future__ import annotations

import numpy as np

from vmmetrics.types import FloatArray


def flow_magnitude(forward: FloatArray, timestamps: FloatArray) -> float:
    """Return the mean length of motion, in frame diagonals per second: 0 or more, more is more motion.

    The path of the mean length from frame to frame, over the time from the first frame to the last.

    Args:
        forward: (T-1, h, w, 2) flow from each frame to the next, in its own pixels.
        timestamps: (T,) seconds, increasing.

    Raises:
        ValueError: No flow, or not one time more than flows.
    """
    pairs, height, width = forward.shape[:3]
    if pairs < 1 or len(timestamps) != pairs + 1:
        raise ValueError(f"Expected flows and one time more but got {pairs} flows and {len(timestamps)} times")
    path = sum(float(np.hypot(flow[..., 0], flow[..., 1]).mean(dtype=np.float64)) for flow in forward)
    return path / float(np.hypot(width, height)) / float(timestamps[-1] - timestamps[0])
