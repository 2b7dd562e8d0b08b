"""Do things keep their shape, where no body can be judged: is the surface of a thing seen again a moment later?"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from vmmetrics.functional._checks import as_floats
from vmmetrics.types import BoolArray, Event, FloatArray, IntArray, MetricResult

# Limits from clean footage (real clips at their own rate and rendered scenes) and injected defects: docs/pose.md.

TEXTURED = 0.25
"""Share of a tile with texture from which it is judged."""
LOST = 0.6
"""Share of a tile's texture that is not seen again from which the tile is lost."""
CALM = 0.07
"""Short sides by which the surroundings of a tile may move unevenly meanwhile; beyond, motion explains its loss."""
FAST, AS_ONE = 0.03, 0.93
"""Short sides a step from which on motion is fast, and length of the mean motion over mean length from which on it goes
one way: a fast pan or stream is lost without being drawn afresh."""
AROUND = 3.0
"""Standard deviation of the window that the surroundings are, tiles."""
FEW = 0.01
"""Weight in that window below which the surroundings count as still: too little of them is followed."""
NEAR, LASTING = 2.0, 1.5
"""Standard deviations of the window in which lost tiles must lie together: tiles, and moments."""
LEAST = 0.05
"""Weight added to that window, so that a tile without neighbours counts for little."""
AFRESH = 0.35
"""Share of the tiles of one thing in that window that are lost from which on the thing is drawn afresh there."""
SCENE_NONE, SCENE_ALL = 0.1, 0.35
"""Share of the tiles outside of things drawn afresh up to which it is water or leaves and costs nothing, and from which
on it costs in full."""
ENOUGH = 12
"""Tiles in a moment below which a fault counts as if there were so many; 3 % of a frame of 16:9."""
JUDGEABLE = 6.0
"""Mean number of judged tiles a moment from which a clip is judged."""
SCENE = "scene"
REASON = "surface drawn afresh"


def shape_constancy_score(
    lost: ArrayLike,
    textured: ArrayLike,
    motion: ArrayLike,
    owners: ArrayLike,
    frames: ArrayLike,
    *,
    num_frames: int,
    tile: tuple[float, float],
) -> MetricResult:
    """Score the share of the surface of things that goes on from moment to moment, instead of being drawn afresh.

    A rigid, bending or stretching surface is seen again a step later or a step earlier; one that melts into another or
    is painted anew is seen in neither. What moves too unevenly to be followed is not held against it. Things are the
    objects; the rest of the frame is judged in the moments without an object and where much of it breaks.

    Args:
        lost: (R, K, h, w) float in 0..1, share of each tile's texture that is seen again neither 1 to R steps later nor
            so many earlier; NaN where unknown.
        textured: (K, h, w) float in 0..1, share of each tile that has texture.
        motion: (K, h, w, 2) float, mean motion until a step later, in short sides of the frame.
        owners: (K, h, w) int, the object that each tile is of, 0 for none.
        frames: (K,) int, ascending indices of the frames at the K moments.
        num_frames: Frames of the clip.
        tile: (x, y) pixels of a tile's sides.

    Returns:
        Score in 0..1, 1 best; missing where there is too little texture. One event per thing at fault. Series:
        ``faults``, tiles at fault per frame.

    Raises:
        ValueError: If shapes do not fit.

    Example:
        >>> shape = 8, 6, 6
        >>> painted_anew = np.where(np.arange(8) < 4, 0.0, 1.0)[:, None, None] * np.ones(shape)
        >>> result = shape_constancy_score(
        ...     painted_anew[None], np.ones(shape), np.zeros((*shape, 2)), np.ones(shape, int), range(8),
        ...     num_frames=8, tile=(9, 9),
        ... )
        >>> round(result.score, 2), result.events[0].target, result.events[0].frames
        (0.5, 'object 1', (4, 5, 6, 7))
    """
    shares = as_floats("lost", lost, "R, K, h, w", finite=False)
    sizes = ", ".join(map(str, shares.shape[1:]))
    texture, moves = as_floats("textured", textured, sizes), as_floats("motion", motion, f"{sizes}, 2")
    owned, moments = np.asarray(owners), np.asarray(frames)
    if owned.shape != shares.shape[1:] or moments.shape != shares.shape[1:2]:
        raise ValueError(
            f"Expected owners ({sizes}) and {shares.shape[1]} frames but got {owned.shape}, {moments.shape}"
        )
    judged = (texture > TEXTURED) & np.isfinite(shares).any(axis=0)
    has_tiles = judged.any((1, 2))
    if judged.sum() < JUDGEABLE * max(1, has_tiles.sum()) or not has_tiles.any():
        return MetricResult(None, "nothing has enough texture to be followed")
    together = np.max([_drawn_afresh(n + 1, share, judged, owned, moves) for n, share in enumerate(shares)], axis=0)
    faults = together > AFRESH
    things, scene = judged & (owned > 0), judged & (owned == 0)
    weight = np.clip((_share_of(faults & scene, scene) - SCENE_NONE) / (SCENE_ALL - SCENE_NONE), 0, 1)
    faults &= things | (weight > 0)[:, None, None]
    alone = ~things.any((1, 2))
    lost_tiles = (faults & things).sum((1, 2)) + weight * (faults & scene).sum((1, 2))
    tiles = things.sum((1, 2)) + np.where(alone, 1.0, weight) * scene.sum((1, 2))
    losses = lost_tiles / np.maximum(tiles, ENOUGH)
    nearest = np.abs(np.arange(num_frames)[:, None] - moments).argmin(axis=1)
    return MetricResult(
        score=1 - float(losses[has_tiles].mean()),
        events=_events(faults, together, owned, nearest, tile),
        series=MappingProxyType({"faults": faults.sum((1, 2)).astype(np.float64)[nearest]}),
    )


def _drawn_afresh(steps: int, share: FloatArray, judged: BoolArray, owners: IntArray, motion: FloatArray) -> FloatArray:
    """Return (K, h, w) share of the tiles around each lost one that are lost across ``steps`` with it, 0 elsewhere."""
    lost = judged & (np.nan_to_num(share) > LOST)
    lost &= (_unevenness(judged & ~lost, motion) * steps < CALM) & ~_sweeping(motion)
    return np.where(lost, _share_around(lost, judged, owners), 0.0)


def _unevenness(followed: BoolArray, motion: FloatArray) -> FloatArray:
    """Return (K, h, w) by how much what is followed around a tile moves otherwise than the frame, before and after."""
    uneven = np.zeros(followed.shape)
    for k in np.flatnonzero(followed.any((1, 2))).tolist():
        moves = motion[[k, max(k - 1, 0)]]
        own = np.linalg.norm(moves - np.median(moves[:, followed[k]], axis=1)[:, None, None], axis=-1).max(axis=0)
        weight = gaussian_filter(followed[k].astype(np.float64), AROUND)
        uneven[k] = gaussian_filter(followed[k] * own, AROUND) / (weight + FEW)
    return uneven


def _sweeping(motion: FloatArray) -> BoolArray:
    """Return (K, h, w) whether the surroundings of a tile move fast and one way, before and after."""
    window = (0.0, NEAR, NEAR)
    size = gaussian_filter(np.linalg.norm(motion, axis=-1), window)
    mean = np.linalg.norm(gaussian_filter(motion, (*window, 0.0)), axis=-1)
    sweeping = (size > FAST) & (mean > AS_ONE * size)
    return np.asarray(sweeping & np.concatenate([sweeping[:1], sweeping[:-1]]))


def _share_around(lost: BoolArray, judged: BoolArray, owners: IntArray) -> FloatArray:
    """Return (K, h, w) share of the tiles of the same thing around each, in space and time, that are lost."""
    window = (LASTING, NEAR, NEAR)
    share = np.zeros(lost.shape)
    for item in np.unique(owners[lost]):
        own = judged & (owners == item)
        of_own = gaussian_filter((lost & own).astype(np.float64), window)
        share[own] = (of_own / (gaussian_filter(own.astype(np.float64), window) + LEAST))[own]
    return share


def _share_of(some: BoolArray, every: BoolArray) -> FloatArray:
    """Return (K,) share of tiles, (K, h, w) of (K, h, w), smoothed over moments."""
    of_some, of_every = (gaussian_filter1d(tiles.sum((1, 2)).astype(np.float64), LASTING) for tiles in (some, every))
    return np.asarray(of_some / np.maximum(of_every, 1e-9))


def _events(
    faults: BoolArray, together: FloatArray, owners: IntArray, nearest: IntArray, tile: tuple[float, float]
) -> tuple[Event, ...]:
    """Return one event per thing at fault, with all its frames and the box of its faults."""
    events = []
    for item in np.unique(owners[faults]).tolist():
        own = faults & (owners == item)
        times = np.flatnonzero(np.isin(nearest, np.flatnonzero(own.any((1, 2)))))
        rows, columns = np.flatnonzero(own.any((0, 2))), np.flatnonzero(own.any((0, 1)))
        corners = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]) * (*tile, *tile)
        x0, y0, x1, y1 = corners.tolist()
        target = f"object {item}" if item else SCENE
        magnitude = float(together[own].max())
        events.append(Event("ois", tuple(times.tolist()), REASON, target, (x0, y0, x1, y1), magnitude, AFRESH))
    return tuple(events)
