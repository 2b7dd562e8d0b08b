"""Presence of textured patches, for scenes in which no object is segmented.

A patch is absent where less than half of its points match their first appearance. That alone is no vanishing: water,
fire and changes of illumination alter a patch gradually, with valid flow from frame to frame; an occluder moves
relative to the camera; a cut replaces the whole frame, between two shots of valid flow. A patch that is replaced
abruptly without any of these causes has vanished.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from vmmetrics.functional.pas import FOLLOWED_SHARE
from vmmetrics.functional.tcs import STILL_VISIBLE, runs
from vmmetrics.perception.embedded.camera import TEXTURE
from vmmetrics.perception.embedded.flow import RADIUS
from vmmetrics.perception.own_motion import SPACING, own_motion_of, perceived_step
from vmmetrics.perception.scene import Scene
from vmmetrics.types import BoolArray, Box, FloatArray

PATCHES = 16
"""Approximate number of patches per frame, one in each cell of a grid."""
POINTS = 3
"""Points per patch; a cell with fewer corners has no patch."""
APART = 1 / 4
"""Distance between the points, in sides of a cell: more than the extent of objects small enough to be ignored."""
CORNER = 2 * TEXTURE
"""Least corner strength of a point: twice that of sensor noise."""
HOLDS = 0.5
"""Least share of pixels around a patch with valid flow for its change to be gradual."""
COVERED = 0.5
"""Least share of independently moving points around a patch for it to be occluded."""
SHOT_SECONDS, SHOT_SHARE = 0.5, 0.6
"""Seconds before and after a cut, and least mean share of followed points there. Around the cuts of eight real clips it
is 0.8 to 1; around the jumps of generated clips that jump every frame, up to 0.5."""


@dataclass(frozen=True, slots=True)
class TexturedPatch:
    """A textured patch of a scene, tracked through the clip.

    Attributes:
        query_frame: The frame in which it was selected.
        xy: (T, P, 2) float64 clip pixels of its points; an estimate also where invisible.
        visible: (T, P) bool.
        present: (T,) bool, visible, or excluded after a gradual change or a cut.
        occluded: (T,) bool, hidden by something that moves.
    """

    query_frame: int
    xy: FloatArray
    visible: BoolArray
    present: BoolArray
    occluded: BoolArray

    def box(self, frame: int, scale: tuple[float, float]) -> Box:
        """Return the box x0, y0, x1, y1 around its points, clip pixels; ``scale`` as in ``scene.flow``."""
        margin = RADIUS * np.array(scale)
        (x0, y0), (x1, y1) = self.xy[frame].min(axis=0) - margin, self.xy[frame].max(axis=0) + margin
        return float(x0), float(y0), float(x1), float(y1)


def textured_patches(scene: Scene) -> list[TexturedPatch]:
    """Track the textured patches of the first, the middle and the last frame through the clip."""
    last = len(scene.clip) - 1
    queries = np.concatenate([_queries(scene, frame) for frame in sorted({0, last // 2, last})])
    tracks = scene.track("textured patches", queries)
    cuts = _cuts(scene)
    return [
        _judged(scene, cuts, int(queries[i, 0]), tracks.xy[:, i : i + POINTS], tracks.visible[:, i : i + POINTS])
        for i in range(0, len(queries), POINTS)
    ]


def _cuts(scene: Scene) -> BoolArray:
    """Return (S,) bool, True for steps of :func:`own_motion_of` with a cut."""
    share = own_motion_of(scene).followed_share()
    step = perceived_step(scene.clip)
    reach = max(1, round(SHOT_SECONDS * scene.clip.fps / step))
    cuts = np.zeros(len(share), np.bool_)
    for s in np.flatnonzero(share < FOLLOWED_SHARE).tolist():
        before, after = share[max(0, s - reach) : s], share[s + 1 : s + 1 + reach]
        cuts[s] = min(len(before), len(after)) > 0 and min(before.mean(), after.mean()) >= SHOT_SHARE
    return cuts


def _queries(scene: Scene, frame: int) -> FloatArray:
    """Return (N, 3) queries (frame, x, y in clip pixels), :data:`POINTS` consecutive ones per patch of ``frame``."""
    corner = cv2.cornerMinEigenVal(scene.flow.images[frame], 7, ksize=3)
    height, width = corner.shape
    corner[:RADIUS], corner[-RADIUS:], corner[:, :RADIUS], corner[:, -RADIUS:] = 0, 0, 0, 0  # patches reach that far
    side = float(np.sqrt(height * width / PATCHES))
    tops, lefts = (np.linspace(0, size, max(1, round(size / side)) + 1).astype(int) for size in (height, width))
    reach = max(1, round(APART * side))
    points: list[tuple[int, int]] = []
    for top, bottom in pairwise(tops):
        for left, right in pairwise(lefts):
            points += _corners(corner[top:bottom, left:right].copy(), (left, top), reach)
    at = (np.array(points, np.float64).reshape(-1, 2) + 0.5) * np.array(scene.flow.scale) - 0.5
    return np.column_stack([np.full(len(at), float(frame)), at])


def _corners(strength: FloatArray, origin: tuple[int, int], reach: int) -> list[tuple[int, int]]:
    """Return x and y of the :data:`POINTS` strongest corners of a cell, ``reach`` pixels apart, or none if too few."""
    points = []
    for _ in range(POINTS):
        row, column = np.unravel_index(int(np.argmax(strength)), strength.shape)
        if strength[row, column] < CORNER:
            return []
        points.append((origin[0] + int(column), origin[1] + int(row)))
        strength[max(0, row - reach) : row + reach + 1, max(0, column - reach) : column + reach + 1] = 0
    return points


def _judged(scene: Scene, cuts: BoolArray, query_frame: int, xy: FloatArray, visible: BoolArray) -> TexturedPatch:
    """Classify every absence of a patch: a cut or gradual change, an occlusion, or neither."""
    present = visible.mean(axis=1) >= STILL_VISIBLE
    occluded, step = np.zeros_like(present), perceived_step(scene.clip)
    for start, stop in runs(~present):
        last, first = (start - 1, start) if start > query_frame else (stop, stop - 1)
        pair = min(min(last, first) // step, len(cuts) - 1)
        if cuts[pair] or _changes_gradually(scene, xy[last], last, first):
            present[start:stop] = True
        elif _is_covered(scene, xy[first], first):
            occluded[start:stop] = True
    return TexturedPatch(query_frame, xy, visible, present, occluded)


def _changes_gradually(scene: Scene, points: FloatArray, last: int, first: int) -> bool:
    """Return True if the flow around ``points`` (P, 2) from frame ``last`` to its neighbour ``first`` is valid."""
    flow = scene.flow
    valid = flow.forward_valid[last] if first > last else flow.backward_valid[first]
    near = valid[_around(points, flow.scale, 1, valid.shape)]
    return bool(near.size and near.mean() >= HOLDS)


def _is_covered(scene: Scene, points: FloatArray, frame: int) -> bool:
    """Return True if most of the surroundings of ``points`` (P, 2) in ``frame`` move relative to the camera."""
    length = own_motion_of(scene).length
    rows = len(range(SPACING // 2, scene.flow.images.shape[1], SPACING))
    grid = length[min(frame // perceived_step(scene.clip), len(length) - 1)].reshape(rows, -1)
    near = grid[_around(points, scene.flow.scale, SPACING, grid.shape)]
    return bool(near.size and (near > 0).mean() >= COVERED)


def _around(
    points: FloatArray, scale: tuple[float, float], spacing: int, shape: tuple[int, ...]
) -> tuple[slice, slice]:
    """Return the rows and columns around ``points`` (P, 2) of a map of ``shape`` with a value every ``spacing`` px."""
    x, y = ((points + 0.5) / np.array(scale) - 0.5).T
    (left, right), (top, bottom) = (
        (int(max(0, (v.min() - RADIUS) // spacing)), int(max(0, (v.max() + RADIUS) // spacing + 1))) for v in (x, y)
    )
    return slice(top, min(bottom, shape[0])), slice(left, min(right, shape[1]))
