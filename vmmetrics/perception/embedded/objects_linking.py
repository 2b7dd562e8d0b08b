"""Joins the pieces of one object that was out of sight in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.objects_evidence import Evidence, mapped
from vmmetrics.types import BoolArray, FloatArray

MAX_HIDDEN_SECONDS = 2.0
"""Longest time out of sight over which an object is known again."""
ALIKE = 0.55
"""Bhattacharyya coefficient of the colour histograms from which on two pieces may be one object."""
SIZE_RATIO = 2.5
"""Pieces of one object differ in size by less than this."""
BINS = (6, 10, 10)


@dataclass(frozen=True)
class Piece:
    """An unbroken run of frames of one label, as it looks at both of its ends.

    Attributes:
        id: Its label.
        first: First frame.
        last: Last frame.
        area: Its usual size in pixels.
        histogram: Colours, square roots of shares.
        starts_at: (x, y) on the grid in ``first``.
        ends_at: (x, y) on the grid in ``last``.
        velocity_in: Grid pixels a frame against the camera, over the first frames.
        velocity_out: Likewise over the last frames.
    """

    id: int
    first: int
    last: int
    area: float
    histogram: FloatArray
    starts_at: FloatArray
    ends_at: FloatArray
    velocity_in: FloatArray
    velocity_out: FloatArray


def join_pieces(evidence: Evidence, labels: NDArray[np.uint16]) -> None:
    """Give the pieces of one object one label, in place."""
    pieces = [_piece(evidence, labels, int(i)) for i in np.unique(labels)[1:]]
    pairs = []
    for early in pieces:
        for late in pieces:
            cost = _cost(evidence, early, late)
            if cost is not None:
                pairs.append((cost, early.id, late.id))
    followed: set[int] = set()
    preceded: set[int] = set()
    rename = {piece.id: piece.id for piece in pieces}
    for _, early_id, late_id in sorted(pairs):
        if early_id in followed or late_id in preceded:
            continue
        followed.add(early_id)
        preceded.add(late_id)
        rename[late_id] = early_id
    for piece in sorted(pieces, key=lambda p: p.first):
        target = rename[piece.id]
        while rename[target] != target:
            target = rename[target]
        if target != piece.id:
            labels[labels == piece.id] = target


def _cost(evidence: Evidence, early: Piece, late: Piece) -> float | None:
    """How badly ``late`` continues ``early``; None where it cannot."""
    gap = late.first - early.last
    if gap < 1 or gap > max(4, MAX_HIDDEN_SECONDS * evidence.fps):
        return None
    if max(early.area, late.area) > SIZE_RATIO * min(early.area, late.area):
        return None
    alike = float(early.histogram @ late.histogram)
    if alike < ALIKE:
        return None
    camera = evidence.camera_between(early.last, late.first)
    velocity = 0.5 * (early.velocity_out + late.velocity_in)
    expected = mapped(camera, (early.ends_at + velocity * gap).reshape(1, 1, 2).astype(np.float32)).ravel()
    distance = float(np.hypot(*(late.starts_at - expected)))
    reach = 1.2 * np.sqrt(max(early.area, late.area)) + 0.5 * float(np.hypot(*velocity)) * gap
    return None if distance > reach else distance / reach + 2.0 * (1.0 - alike)


def _piece(evidence: Evidence, labels: NDArray[np.uint16], identity: int) -> Piece:
    present = np.flatnonzero((labels == identity).any((1, 2)))
    first, last = int(present[0]), int(present[-1])
    areas = np.array([np.count_nonzero(labels[t] == identity) for t in present])
    full = present[areas >= 0.7 * areas.max()]
    roots = colours(evidence, labels == identity, full[:: max(1, len(full) // 4)][:4].tolist())
    return Piece(
        identity, first, last, float(np.quantile(areas, 0.75)), roots,
        _centre(labels[first] == identity), _centre(labels[last] == identity),
        _mean_velocity(evidence, labels, identity, present[:6].tolist()),
        _mean_velocity(evidence, labels, identity, present[-6:].tolist()),
    )  # fmt: skip


def colours(evidence: Evidence, mask: BoolArray, frames: Sequence[int]) -> FloatArray:
    """Return the square roots of the shares of colours under ``mask`` (T, h, w) in ``frames``.

    The product of two such vectors is their Bhattacharyya coefficient, 1 for the same colours and 0 for none in common.
    """
    histogram = np.zeros(BINS, np.float32)
    for t in frames:
        whole = mask[t].astype(np.uint8)
        core = cv2.erode(whole, np.ones((3, 3), np.uint8))
        here = core if core.any() else whole
        histogram += cv2.calcHist([evidence.colour[t]], [0, 1, 2], here, BINS, [0, 256, 80, 180, 80, 180])
    smooth = cv2.GaussianBlur(histogram.reshape(BINS[0], -1), (1, 3), 0.7).ravel()
    return np.asarray(np.sqrt(smooth / max(float(smooth.sum()), 1e-6)))


def _centre(mask: NDArray[np.bool_]) -> FloatArray:
    rows, columns = np.nonzero(mask)
    return np.array([columns.mean(), rows.mean()])


def _mean_velocity(evidence: Evidence, labels: NDArray[np.uint16], identity: int, frames: list[int]) -> FloatArray:
    each = [np.median(evidence.velocity[t][labels[t] == identity], axis=0) for t in frames]
    return np.asarray(np.median(each, axis=0))
