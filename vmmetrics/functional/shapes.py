"""Shape constancy, the part of OIS for clips without people: persistence of the surfaces of objects over time."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import binary_opening, gaussian_filter, gaussian_filter1d

from vmmetrics.functional._checks import as_floats
from vmmetrics.types import BoolArray, Event, FloatArray, IntArray, MetricResult

# Limits from clean footage (real clips at their own rate and rendered scenes) and injected defects: docs/pose.md.

TEXTURED = 0.25
"""Least textured share of a judged tile."""
LOST = 0.6
"""Share of a tile's texture without a match from which the tile is lost."""
CALM = 0.07
"""Uneven motion around a tile, short sides of the frame, above which motion explains its loss."""
FAST, AS_ONE = 0.03, 0.93
"""Least speed, short sides per step, and least ratio of mean motion to mean speed of a fast pan or stream, whose tiles
are lost without a fault."""
AROUND = 3.0
"""Standard deviation of the window of a tile's surroundings, tiles."""
FEW = 0.01
"""Weight in that window below which the surroundings count as static."""
NEAR, LASTING = 2.0, 1.5
"""Standard deviations of the window in which lost tiles are pooled: tiles, and moments."""
LEAST = 0.05
"""Weight added to that window: a tile without neighbours counts little."""
AFRESH = 0.35
"""Share of an object's tiles in that window that are lost from which its surface is repainted."""
REPAINTED_MOMENTS = 3
"""Least moments in a row in which an object is repainted: wings, hands and the rims of fast objects are lost for one or
two (real clips shown three times as fast)."""
SCENE_NONE, SCENE_ALL = 0.1, 0.35
"""Share of repainted tiles outside objects up to which they are water or leaves and cost nothing, and from which they
cost in full."""
ENOUGH = 12
"""Least number of tiles per moment in the denominator; 3 % of a frame of 16:9."""
JUDGEABLE = 6.0
"""Least mean number of judged tiles per moment for a score."""
SCENE = "scene"
"""Event target for faults outside objects."""
REASON = "surface repainted from frame to frame"
"""Event reason."""


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
    """Score the share of the surfaces of objects that persists from moment to moment.

    A rigid, bending or stretching surface matches a step later or a step earlier; one that melts into another or is
    repainted matches in neither. Motion too uneven to be followed is no fault. The frame outside objects is judged in
    the moments without an object and where much of it is repainted.

    Args:
        lost: (R, K, h, w) float in 0..1, share of each tile's texture that matches neither r steps later nor earlier,
            r from 1 to R; NaN where unknown.
        textured: (K, h, w) float in 0..1, share of each tile that has texture.
        motion: (K, h, w, 2) float, mean motion over the next step, in short sides of the frame.
        owners: (K, h, w) int, id of each tile's object, 0 for none.
        frames: (K,) int, ascending indices of the frames at the K moments.
        num_frames: Frames of the clip.
        tile: (x, y) sides of a tile, pixels.

    Returns:
        Score in 0..1, 1 best; missing with too little texture. One event per object at fault. Series: ``faults``,
        tiles at fault per frame.

    Raises:
        ValueError: If the shapes do not match.

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
        return MetricResult(None, "too little texture to judge")
    together = np.max([_drawn_afresh(n + 1, share, judged, owned, moves) for n, share in enumerate(shares)], axis=0)
    faults = _lasting(together > AFRESH, owned)
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
    """Return (K, h, w), the share of lost tiles over ``steps`` around each lost one, 0 elsewhere."""
    lost = judged & (np.nan_to_num(share) > LOST)
    lost &= (_unevenness(judged & ~lost, motion) * steps < CALM) & ~_sweeping(motion)
    return np.where(lost, _share_around(lost, judged, owners), 0.0)


def _unevenness(followed: BoolArray, motion: FloatArray) -> FloatArray:
    """Return (K, h, w), the motion around each tile relative to the frame's median, short sides, before or after."""
    uneven = np.zeros(followed.shape)
    for k in np.flatnonzero(followed.any((1, 2))).tolist():
        moves = motion[[k, max(k - 1, 0)]]
        own = np.linalg.norm(moves - np.median(moves[:, followed[k]], axis=1)[:, None, None], axis=-1).max(axis=0)
        weight = gaussian_filter(followed[k].astype(np.float64), AROUND)
        uneven[k] = gaussian_filter(followed[k] * own, AROUND) / (weight + FEW)
    return uneven


def _sweeping(motion: FloatArray) -> BoolArray:
    """Return (K, h, w) bool, True where the surroundings of a tile move fast in one direction, before and after."""
    window = (0.0, NEAR, NEAR)
    size = gaussian_filter(np.linalg.norm(motion, axis=-1), window)
    mean = np.linalg.norm(gaussian_filter(motion, (*window, 0.0)), axis=-1)
    sweeping = (size > FAST) & (mean > AS_ONE * size)
    return np.asarray(sweeping & np.concatenate([sweeping[:1], sweeping[:-1]]))


def _share_around(lost: BoolArray, judged: BoolArray, owners: IntArray) -> FloatArray:
    """Return (K, h, w), the share of lost tiles among those of the same object nearby, in space and time."""
    window = (LASTING, NEAR, NEAR)
    share = np.zeros(lost.shape)
    for item in np.unique(owners[lost]):
        own = judged & (owners == item)
        of_own = gaussian_filter((lost & own).astype(np.float64), window)
        share[own] = (of_own / (gaussian_filter(own.astype(np.float64), window) + LEAST))[own]
    return share


def _lasting(faults: BoolArray, owners: IntArray) -> BoolArray:
    """Return ``faults`` (K, h, w) without those of owners at fault for under :data:`REPAINTED_MOMENTS` in a row."""
    lasting = np.zeros_like(faults)
    for item in np.unique(owners[faults]):
        own = faults & (owners == item)
        lasting |= own & binary_opening(own.any((1, 2)), np.ones(REPAINTED_MOMENTS))[:, None, None]
    return lasting


def _share_of(some: BoolArray, every: BoolArray) -> FloatArray:
    """Return (K,), the share of tiles ``some`` among ``every`` (K, h, w), smoothed over moments."""
    of_some, of_every = (gaussian_filter1d(tiles.sum((1, 2)).astype(np.float64), LASTING) for tiles in (some, every))
    return np.asarray(of_some / np.maximum(of_every, 1e-9))


def _events(
    faults: BoolArray, together: FloatArray, owners: IntArray, nearest: IntArray, tile: tuple[float, float]
) -> tuple[Event, ...]:
    """Return one event per object at fault, with all its frames and the box of its faults."""
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
