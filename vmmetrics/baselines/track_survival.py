"""How many points of the first frame can be followed through the clip and back again."""

from __future__ import annotations

import numpy as np

from vmmetrics.perception.embedded.flow import look_up
from vmmetrics.types import BoolArray, FloatArray

STEP = 8
"""Distance of the points in pixels of the flow: DIS's patches are that wide, closer points tell the same."""
HOME = 0.01
"""A point has come back if it ends no further than this share of the diagonal from where it began: about what a motion
has to be for people to see it at all, and several times the drift of correct flow over a clip of seconds."""


def track_survival(
    forward: FloatArray, backward: FloatArray, forward_valid: BoolArray, backward_valid: BoolArray
) -> float:
    """Return the share of grid points that survive: 0..1, higher is more coherent.

    A point of the first frame follows the forward flow to the last frame and the backward flow to the first again. It
    survives if every step was valid (not occluded, inside the picture) and it ends where it began.

    Args:
        forward: (T-1, h, w, 2) pixels, from each frame to the next.
        backward: (T-1, h, w, 2) pixels, from each next frame back.
        forward_valid: (T-1, h, w) bool.
        backward_valid: (T-1, h, w) bool, likewise for ``backward``.
    """
    height, width = forward.shape[1:3]
    x, y = np.meshgrid(np.arange(STEP / 2, width, STEP), np.arange(STEP / 2, height, STEP))
    start = np.stack([x.ravel(), y.ravel()], -1)
    at, alive = start, np.ones(len(start), np.bool_)
    for flow, valid in [*zip(forward, forward_valid, strict=True), *_reversed(backward, backward_valid)]:
        column, row = np.rint(at).astype(int).T
        alive &= valid[np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)]
        at = at + look_up(flow, at[:, None])[:, 0]
    gap = np.hypot(*(at - start).T)
    return float(np.mean(alive & (gap <= HOME * np.hypot(width, height))))


def _reversed(flow: FloatArray, valid: BoolArray) -> list[tuple[FloatArray, BoolArray]]:
    return list(zip(flow[::-1], valid[::-1], strict=True))
