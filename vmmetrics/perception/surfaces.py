"""What becomes of the surfaces in a clip: whether they are found again a moment later and earlier, and how they stretch.

All of it is read off the flow that the other abilities have asked for already. A surface that is about to be covered is
found again in the past, one that is just uncovered in the future; one that is drawn afresh all the time in neither.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from vmmetrics.perception.embedded.flow import NOISE, in_frame, look_up, pixel_grid
from vmmetrics.perception.scene import Flow, Objects
from vmmetrics.types import BoolArray, FloatArray, IntArray

STEP_SECONDS = 0.125
"""Time between the moments compared, at least one frame: what moves as people do is nearly the same in it."""
STRETCH_STEPS = 3
"""Steps over which stretching adds up."""
TILES = 16
"""Tiles along the short side; at 256 pixels 16 pixels each."""
TEXTURE = 5e-4
"""Corner strength from which a pixel can be followed, as for the camera (OpenCV's scaling, 7 px)."""
WINDOW = 9
"""Pixels across which two surfaces are compared."""
ALIKE = 0.5
"""Likeness from which two surfaces are one (contrast and structure, as SSIM)."""


@dataclass(frozen=True, slots=True)
class Surfaces:
    """The textured surfaces of a clip, on a grid of (gh, gw) square tiles at K moments.

    Attributes:
        frames: (K,) frame indices, ascending.
        textured: (K, gh, gw) share of a tile's pixels that have texture.
        lost: (K, gh, gw) share of those that are found again neither a step later nor a step earlier; NaN in the first
            and the last moment.
        stretch: (K, gh, gw, 2, 2) change of lengths (Jacobian of the motion) until :data:`STRETCH_STEPS` later, NaN
            where it was not followed as a whole.
        motion: (K, gh, gw, 2) mean motion until a step later, in short sides of the frame; 0 in the last moment.
        tile: (x, y) clip pixels of a tile's sides.
    """

    frames: IntArray
    textured: FloatArray
    lost: FloatArray
    stretch: FloatArray
    motion: FloatArray
    tile: tuple[float, float]


def follow_surfaces(flow: Flow, fps: float) -> Surfaces:
    """Follow every surface from moment to moment along ``flow``."""
    count, height, width = flow.images.shape
    step = max(1, round(STEP_SECONDS * fps))
    frames = np.arange(0, count, step)
    side = min(height, width) / TILES
    grid_size = max(1, round(width / side)), max(1, round(height / side))
    grid = pixel_grid(width, height)
    pairs = [(int(a), int(b)) for a, b in zip(frames[:-1], frames[1:], strict=True)]
    onward = [_chained(flow.forward[a:b], flow.forward_valid[a:b], grid) for a, b in pairs]
    back = [_chained(flow.backward[a:b][::-1], flow.backward_valid[a:b][::-1], grid) for a, b in pairs]
    textured = np.empty((len(frames), grid_size[1], grid_size[0]), np.float32)
    lost = np.full_like(textured, np.nan)
    motion = np.zeros((*textured.shape, 2), np.float32)
    moments = [_moments(flow.images[t].astype(np.float32)) for t in frames]
    for k, t in enumerate(frames.tolist()):
        texture = cv2.cornerMinEigenVal(flow.images[t].astype(np.float32) / np.float32(255), 7) > TEXTURE
        textured[k] = _tiled(texture, grid_size)
        if k + 1 < len(frames):
            motion[k] = cv2.resize(onward[k][0] - grid, grid_size, interpolation=cv2.INTER_AREA)
        if 0 < k < len(frames) - 1:
            alive = _found_again(flow.images[frames[k + 1]], moments[k], *onward[k])
            alive |= _found_again(flow.images[frames[k - 1]], moments[k], *back[k - 1])
            lost[k] = _tiled(texture & ~alive, grid_size) / np.maximum(textured[k], 1e-6)
    stretch = _stretches(onward, grid, grid_size)
    scale = (width / grid_size[0] * flow.scale[0], height / grid_size[1] * flow.scale[1])
    return Surfaces(frames, textured, lost, stretch, motion / np.float32(min(height, width)), scale)


def owners(objects: Objects, surfaces: Surfaces) -> IntArray:
    """Return (K, gh, gw) the object that covers most of each tile, 0 where none does."""
    height, width = surfaces.textured.shape[1:]
    labels = objects.labels[surfaces.frames]
    owned = np.zeros(surfaces.textured.shape, np.int64)
    most = np.full(owned.shape, 0.5, np.float32)
    for item in objects.objects:
        for k in np.flatnonzero(item.present[surfaces.frames]):
            share = _tiled(labels[k] == item.id, (width, height))
            owned[k][share >= most[k]] = item.id
            np.maximum(most[k], share, out=most[k])
    return owned


def _chained(steps: FloatArray, valid: BoolArray, grid: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return where every pixel goes (h, w, 2) over consecutive steps (S, h, w, 2), and whether all of them hold."""
    at, held = grid + steps[0], valid[0]
    for step, ok in zip(steps[1:], valid[1:], strict=True):
        held = held & (look_up(ok.astype(np.float32), at) > 0.5)
        at = at + look_up(step, at)
    return at, held & in_frame(at)


def _moments(image: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``image`` (h, w), its local mean and its local variance."""
    mean = cv2.blur(image, (WINDOW, WINDOW))
    return image, mean, cv2.blur(image * image, (WINDOW, WINDOW)) - mean * mean


def _found_again(
    other: FloatArray, here: tuple[FloatArray, FloatArray, FloatArray], at: FloatArray, held: BoolArray
) -> BoolArray:
    """Return (h, w) whether the surface seen ``here`` is seen in the picture ``other`` at the places ``at``."""
    image, mean, variance = here
    there, there_mean, there_variance = _moments(look_up(other.astype(np.float32), at))
    together = cv2.blur(image * there, (WINDOW, WINDOW)) - mean * there_mean
    likeness = (2 * together + NOISE**2) / (variance + there_variance + NOISE**2)
    return np.asarray(held & (likeness > ALIKE))


def _tiled(mask: BoolArray, size: tuple[int, int]) -> FloatArray:
    """Return the share of each tile, ``size`` (gw, gh), that ``mask`` (h, w) covers."""
    return np.asarray(cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA))


def _stretches(onward: list[tuple[FloatArray, BoolArray]], grid: FloatArray, size: tuple[int, int]) -> FloatArray:
    """Return (K, gh, gw, 2, 2) Jacobians of the motion over :data:`STRETCH_STEPS` steps, per tile."""
    height, width = grid.shape[:2]
    gw, gh = size
    x, y = (np.arange(gw) + 0.5) * width / gw - 0.5, (np.arange(gh) + 0.5) * height / gh - 0.5
    reach = np.array([width / gw, height / gh]) / 2
    corners = np.stack(np.meshgrid(x, y), -1)[..., None, :] + reach * np.array([(1, 0), (-1, 0), (0, 1), (0, -1)])
    start = corners.reshape(gh, gw * 4, 2).astype(np.float32)
    stretch = np.full((len(onward) + 1, gh, gw, 2, 2), np.nan, np.float32)
    for k in range(len(onward) + 1 - STRETCH_STEPS):
        at, held = start, np.ones(start.shape[:2], np.bool_)
        for there, ok in onward[k : k + STRETCH_STEPS]:
            held = held & (look_up(ok.astype(np.float32), at) > 0.5)
            at = look_up(there, at)
        ends, whole = at.reshape(gh, gw, 4, 2), held.reshape(gh, gw, 4).all(-1)
        columns = (ends[:, :, [0, 2]] - ends[:, :, [1, 3]]) / (2 * reach)[:, None].astype(np.float32)
        stretch[k][whole] = np.swapaxes(columns, 2, 3)[whole]
    return stretch
