"""Textured patches of a scene in which no object is segmented: which of them stay, and what became of the others.

A patch is absent where less than half of its points look as they did. That alone is no vanishing: water, fire and a
change of light alter a place little by little, and the flow holds there from one frame to the next; what passes in
front of it moves against the camera; a cut replaces all of the frame, between two shots that hold. A patch that is
replaced at once, with none of these to explain it, has vanished.
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
"""Patches about that are taken in one frame, one in each cell of a grid."""
POINTS = 3
"""Points on each; with fewer corners in its cell there is none."""
APART = 1 / 4
"""Distance between the points, in sides of a cell: farther than what may come and go for its smallness."""
CORNER = 2 * TEXTURE
"""Corner strength of a point that can be followed reliably: twice what sensor noise reaches."""
HOLDS = 0.5
"""Share of the pixels about a patch whose flow must hold for its change to be gradual."""
COVERED = 0.5
"""Share of the points about a patch that must move by themselves for it to be hidden."""
SHOT_SECONDS, SHOT_SHARE = 0.5, 0.6
"""Time before and after a cut in which on average this share of the points must be followed for it to be one. About
the cuts of eight real clips it is 0.8 to 1; about the jumps of generated clips that jump every frame, up to 0.5."""


@dataclass(frozen=True, slots=True)
class TexturedPatch:
    """A textured place of a scene and what becomes of it.

    Attributes:
        query_frame: The frame that it was taken in.
        xy: (T, P, 2) float64 clip pixels of its points; an estimate also where invisible.
        visible: (T, P) bool.
        present: (T,) bool, seen, or not judged any more since it changed gradually or a cut came.
        occluded: (T,) bool, not seen behind something that moves.
    """

    query_frame: int
    xy: FloatArray
    visible: BoolArray
    present: BoolArray
    occluded: BoolArray

    def box(self, frame: int, scale: tuple[float, float]) -> Box:
        """Return the clip pixels x0, y0, x1, y1 of its points' surroundings; ``scale`` as in ``scene.flow``."""
        margin = RADIUS * np.array(scale)
        (x0, y0), (x1, y1) = self.xy[frame].min(axis=0) - margin, self.xy[frame].max(axis=0) + margin
        return float(x0), float(y0), float(x1), float(y1)


def textured_patches(scene: Scene) -> list[TexturedPatch]:
    """Follow the textured patches of the first, the middle and the last frame through the clip."""
    last = len(scene.clip) - 1
    queries = np.concatenate([_queries(scene, frame) for frame in sorted({0, last // 2, last})])
    tracks = scene.track("textured patches", queries)
    cuts = _cuts(scene)
    return [
        _judged(scene, cuts, int(queries[i, 0]), tracks.xy[:, i : i + POINTS], tracks.visible[:, i : i + POINTS])
        for i in range(0, len(queries), POINTS)
    ]


def _cuts(scene: Scene) -> BoolArray:
    """(S,) steps of :func:`own_motion_of` over which one shot gives way to another."""
    share = own_motion_of(scene).followed_share()
    step = perceived_step(scene.clip)
    reach = max(1, round(SHOT_SECONDS * scene.clip.fps / step))
    cuts = np.zeros(len(share), np.bool_)
    for s in np.flatnonzero(share < FOLLOWED_SHARE).tolist():
        before, after = share[max(0, s - reach) : s], share[s + 1 : s + 1 + reach]
        cuts[s] = min(len(before), len(after)) > 0 and min(before.mean(), after.mean()) >= SHOT_SHARE
    return cuts


def _queries(scene: Scene, frame: int) -> FloatArray:
    """(N, 3) queries (frame, x, y in clip pixels), :data:`POINTS` in a row for each patch of ``frame``."""
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
    """Return x and y of the strongest corners of a cell, ``reach`` pixels apart; none where they are too few."""
    points = []
    for _ in range(POINTS):
        row, column = np.unravel_index(int(np.argmax(strength)), strength.shape)
        if strength[row, column] < CORNER:
            return []
        points.append((origin[0] + int(column), origin[1] + int(row)))
        strength[max(0, row - reach) : row + reach + 1, max(0, column - reach) : column + reach + 1] = 0
    return points


def _judged(scene: Scene, cuts: BoolArray, query_frame: int, xy: FloatArray, visible: BoolArray) -> TexturedPatch:
    """Tell of every absence of a patch whether a cut, gradual change or something in front of it explains it."""
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
    """Whether the flow about ``points`` (P, 2) of frame ``last`` holds on the way to ``first``, a neighbour of it."""
    flow = scene.flow
    valid = flow.forward_valid[last] if first > last else flow.backward_valid[first]
    near = valid[_around(points, flow.scale, 1, valid.shape)]
    return bool(near.size and near.mean() >= HOLDS)


def _is_covered(scene: Scene, points: FloatArray, frame: int) -> bool:
    """Whether most of what is about ``points`` (P, 2) in ``frame`` moves against the camera."""
    length = own_motion_of(scene).length
    rows = len(range(SPACING // 2, scene.flow.images.shape[1], SPACING))
    grid = length[min(frame // perceived_step(scene.clip), len(length) - 1)].reshape(rows, -1)
    near = grid[_around(points, scene.flow.scale, SPACING, grid.shape)]
    return bool(near.size and (near > 0).mean() >= COVERED)


def _around(
    points: FloatArray, scale: tuple[float, float], spacing: int, shape: tuple[int, ...]
) -> tuple[slice, slice]:
    """Return rows and columns about ``points`` (P, 2) of a map of ``shape`` with a value every ``spacing`` pixels."""
    x, y = ((points + 0.5) / np.array(scale) - 0.5).T
    (left, right), (top, bottom) = (
        (int(max(0, (v.min() - RADIUS) // spacing)), int(max(0, (v.max() + RADIUS) // spacing + 1))) for v in (x, y)
    )
    return slice(top, min(bottom, shape[0])), slice(left, min(right, shape[1]))
