"""Constancy of surfaces: for each tile of a clip, the share that matches a moment later or earlier.

Measured on the flow that the scene shares. A surface that is about to be covered matches in the past, one that is just
uncovered in the future; one that is repainted all the time in neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from vmmetrics.perception.embedded.camera import TEXTURE
from vmmetrics.perception.embedded.flow import NOISE, look_up, pixel_grid
from vmmetrics.perception.scene import Flow, Objects
from vmmetrics.types import BoolArray, FloatArray, IntArray

STEP_SECONDS = 0.125
"""Seconds between moments, at least one frame: surfaces moving like people look nearly the same over it."""
REACHES = (1, 2)
"""Steps over which a surface is matched: a repainted one is lost over one, a melting one over two."""
TILES = 16
"""Tiles along the short side; at 256 pixels 16 pixels each."""
WINDOW = 9
"""Side, pixels, of the window in which two surfaces are compared."""
ALIKE = 0.5
"""Similarity from which two surfaces match (contrast and structure, as in SSIM)."""

Way = tuple[FloatArray, BoolArray]
"""Target position of every pixel, (h, w, 2) x, y, and (h, w) bool, True where the flow to it is valid."""


@dataclass(frozen=True, slots=True)
class Surfaces:
    """The textured surfaces of a clip, on a grid of (h, w) square tiles at K moments.

    Attributes:
        frames: (K,) frame indices, ascending.
        textured: (K, h, w) share of a tile's pixels that have texture.
        lost: (R, K, h, w) share of those that match neither that many steps later nor earlier, for the R steps of
            :data:`REACHES`; NaN where the clip has no such moment.
        motion: (K, h, w, 2) mean motion over the next step, in short sides of the frame; 0 in the last moment.
        tile: (x, y) sides of a tile, clip pixels.
    """

    frames: IntArray
    textured: FloatArray
    lost: FloatArray
    motion: FloatArray
    tile: tuple[float, float]


def follow_surfaces(flow: Flow, fps: float) -> Surfaces:
    """Match the surfaces of every moment with those before and after it, along ``flow`` of a clip of ``fps``."""
    count, height, width = flow.images.shape
    frames = np.arange(0, count, max(1, round(STEP_SECONDS * fps)))
    side = min(height, width) / TILES
    tiles = max(1, round(width / side)), max(1, round(height / side))
    grid = pixel_grid(width, height)
    onward = [_chained(flow.forward[a:b], flow.forward_valid[a:b], grid) for a, b in pairwise(frames)]
    back = [_chained(flow.backward[a:b][::-1], flow.backward_valid[a:b][::-1], grid) for a, b in pairwise(frames)]
    images = [flow.images[t].astype(np.float32) for t in frames]
    statistics = [_statistics(image) for image in images]
    textured = np.empty((len(frames), tiles[1], tiles[0]), np.float32)
    lost = np.full((len(REACHES), *textured.shape), np.nan, np.float32)
    motion = np.zeros((*textured.shape, 2), np.float32)
    for k, image in enumerate(images):
        texture = cv2.cornerMinEigenVal(image / np.float32(255), 7) > TEXTURE
        textured[k] = _share(texture, tiles)
        if k + 1 < len(images):
            motion[k] = cv2.resize(onward[k][0] - grid, tiles, interpolation=cv2.INTER_AREA) / min(height, width)
        for shares, reach in zip(lost, REACHES, strict=True):
            if reach <= k < len(images) - reach:
                seen = _seen_again(image, statistics[k], images[k + reach], _joined(onward[k : k + reach]))
                seen |= _seen_again(image, statistics[k], images[k - reach], _joined(back[k - reach : k][::-1]))
                shares[k] = _share(texture & ~seen, tiles) / np.maximum(textured[k], 1e-6)
    tile = width / tiles[0] * flow.scale[0], height / tiles[1] * flow.scale[1]
    return Surfaces(frames, textured, lost, motion, tile)


def owners(objects: Objects, surfaces: Surfaces) -> IntArray:
    """Return (K, h, w) int64, the id of the object that covers at least half of each tile, 0 for none."""
    height, width = surfaces.textured.shape[1:]
    owned = np.zeros(surfaces.textured.shape, np.int64)
    for k, frame in enumerate(surfaces.frames):
        for item in objects.objects:
            if item.present[frame]:
                owned[k][_share(objects.labels[frame] == item.id, (width, height)) >= 0.5] = item.id
    return owned


def _chained(steps: FloatArray, valid: BoolArray, grid: FloatArray) -> Way:
    """Return the chained way along consecutive flows (S, h, w, 2), ``valid`` (S, h, w)."""
    return _joined([(grid + step, ok) for step, ok in zip(steps, valid, strict=True)])


def _joined(ways: list[Way]) -> Way:
    """Return the way along all of ``ways`` in sequence."""
    at, valid = ways[0]
    for there, ok in ways[1:]:
        valid = valid & (look_up(ok.astype(np.float32), at) > 0.5)
        at = look_up(there, at)
    return at, valid


def _statistics(image: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return local mean and variance, each (h, w), of ``image`` (h, w)."""
    mean = cv2.blur(image, (WINDOW, WINDOW))
    return np.asarray(mean), np.asarray(cv2.blur(image * image, (WINDOW, WINDOW)) - mean * mean)


def _seen_again(image: FloatArray, statistics: tuple[FloatArray, FloatArray], other: FloatArray, way: Way) -> BoolArray:
    """Return (h, w) bool, True where ``image`` matches ``other`` at the targets of ``way``."""
    at, valid = way
    mean, variance = statistics
    there = look_up(other, at)
    there_mean, there_variance = _statistics(there)
    together = cv2.blur(image * there, (WINDOW, WINDOW)) - mean * there_mean
    # Likeness is (2 together + NOISE²) / (variance + there_variance + NOISE²).
    return np.asarray(valid & (2 * together + NOISE**2 > ALIKE * (variance + there_variance + NOISE**2)))


def _share(mask: BoolArray, tiles: tuple[int, int]) -> FloatArray:
    """Return the share of each of ``tiles`` (across, down) that ``mask`` (h, w) covers."""
    return np.asarray(cv2.resize(mask.astype(np.float32), tiles, interpolation=cv2.INTER_AREA))
