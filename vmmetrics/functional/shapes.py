"""Do things keep their shape where no body can be judged: is the surface of a thing found again, and does it stretch?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy.ndimage import gaussian_filter, median_filter

from vmmetrics.types import BoolArray, Event, FloatArray, IntArray, MetricResult

TEXTURED = 0.25
"""Share of a tile with texture from which it is judged."""
LOST = 0.6
"""Share of a tile's texture that is found again neither before nor after, from which the tile is."""
CALM = 0.05
"""Short sides a step by which what lies around a tile may move unevenly: beyond, motion explains that it is lost."""
AROUND = 3.0
"""Tiles: standard deviation of the window that "around" is."""
SEEN = 0.01
"""Weight of what is followed in that window below which the neighbourhood says nothing and counts as still."""
DRAWN_AFRESH = 0.2
"""Share of a thing's tiles lost from which on the thing counts as drawn afresh."""
STRETCHED = 0.4
"""Logarithm of the ratio of lengths, against the thing's own growth and turn, from which a tile counts as stretched."""
OUT_OF_SHAPE = 0.5
"""Share of a thing's tiles stretched from which on the thing is out of shape."""
LASTING = 3
"""Moments over which the median is taken: what lasts for fewer than two is noise."""
LEAST_TILES = 4.0
"""Mean number of tiles from which a thing is judged."""
SCENE = "scene"
AFRESH, BENT = "surface drawn afresh", "shape breaks"


def shapes_score(
    frames: IntArray,
    textured: FloatArray,
    lost: FloatArray,
    stretch: FloatArray,
    motion: FloatArray,
    owners: IntArray,
    *,
    num_frames: int,
    tile: tuple[float, float],
) -> MetricResult:
    judged = (textured > TEXTURED) & np.isfinite(lost)
    ids = [i for i in np.unique(owners).tolist()]
    shares = {}
    faulty = np.zeros(judged.shape, np.bool_)
    afresh = judged & (np.nan_to_num(lost) > LOST) & calm(textured, lost, motion)
    strained = stretched(stretch, owners)
    events = []
    for item in ids:
        own = judged & (owners == item)
        for reason, faults, known, limit in (
            (AFRESH, afresh, own, DRAWN_AFRESH),
            (BENT, strained > STRETCHED, own & np.isfinite(strained), OUT_OF_SHAPE),
        ):
            count = known.sum((1, 2))
            if not (count >= LEAST_TILES).any():
                continue
            share = np.where(count >= LEAST_TILES, (faults & known).sum((1, 2)) / np.maximum(count, 1), 0.0)
            shares[item, reason] = share
            broken = median_filter(share, LASTING, mode="nearest") > limit
            at = faults & known & broken[:, None, None]
            faulty |= at
    return faulty, judged, shares


def calm(textured: FloatArray, lost: FloatArray, motion: FloatArray) -> BoolArray:
    """Return (K, gh, gw) whether what is followed around a tile moves as the whole frame does."""
    followed = (textured > TEXTURED) & (lost < 1 - LOST + 0.1)
    uneven = np.zeros(textured.shape)
    for k in range(1, len(textured) - 1):
        alive = followed[k]
        if not alive.any():
            continue
        away = [np.linalg.norm(m - np.median(m[alive], axis=0), axis=-1) for m in (motion[k], motion[k - 1])]
        weight = gaussian_filter(alive.astype(np.float64), AROUND)
        uneven[k] = gaussian_filter(alive * np.maximum(*away), AROUND) / (weight + SEEN)
    return np.asarray(uneven < CALM)


def stretched(stretch: FloatArray, owners: IntArray) -> FloatArray:
    """Return (K, gh, gw) largest |logarithm| of a change of length against the median change of the same thing."""
    out = np.full(stretch.shape[:3], np.nan)
    for k in range(len(stretch)):
        known = np.isfinite(stretch[k, ..., 0, 0])
        for item in np.unique(owners[k][known]):
            own = known & (owners[k] == item)
            usual = np.median(stretch[k][own], axis=0)
            if own.sum() < LEAST_TILES or abs(np.linalg.det(usual)) < 0.1:
                continue
            lengths = np.linalg.svd(stretch[k][own] @ np.linalg.inv(usual), compute_uv=False)
            out[k][own] = np.abs(np.log(np.maximum(lengths, 1e-3))).max(-1)
    return out
