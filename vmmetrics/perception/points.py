"""Query points for the tracker: regular grids inside masks, and tracks shared by several metrics."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from vmmetrics.perception.scene import Objects, PointTracks, Scene, SceneObject
from vmmetrics.types import BoolArray, FloatArray, IntArray

# Key frames, in which the released code detects objects: about one per second.

RATE_TOLERANCE = 0.01
"""Frames per second by which a mean rate from rounded timestamps may lie below the file's whole number (whole
milliseconds over two seconds: 0.006 at 24); 23.976 and the like lie further."""


def released_step(fps: float) -> int:
    """Return the released code's frames between key frames, int(fps) − 1; it fails where that is below 1."""
    return int(fps + RATE_TOLERANCE) - 1


def released_key_frames(num_frames: int, fps: float) -> IntArray:
    """Return the (C,) indices of the key frames of a clip of ``num_frames`` at ``fps``.

    Raises:
        ValueError: Below 2 frames a second.

    Example:
        >>> released_key_frames(49, 8.0).tolist()
        [0, 7, 14, 21, 28, 35, 42]
    """
    step = released_step(fps)
    if step < 1:
        raise ValueError(f"Expected fps of at least 2 but got {fps} (where the released code fails)")
    return np.arange(0, num_frames, step, dtype=np.int64)


MAX_POINTS = 120
"""Most points per object: the mean of 120 displacements varies little, and each point costs time in every frame."""

ALL_POINTS = 360
"""Approximate number of points on all objects of a clip together."""

MIN_POINTS = 12
"""Number of points aimed at in a small mask, as far as it has pixels."""

KEY_SECONDS = 0.5
"""Seconds between the frames in which points on moving regions are queried.

A region that moves for a third of the time gets a third of the points: one doubtful decision about one slow region of
one frame changes the score little.
"""

MIN_CORE = 0.4
"""Least share of a mask that must remain without its rim; a thinner mask keeps it."""


def grid_queries(
    mask: BoolArray, scale: tuple[float, float], frame_index: int, max_points: int = MAX_POINTS
) -> FloatArray:
    """Return (N, 3) queries (frame, x, y in clip pixels) on a regular grid inside ``mask`` (h, w).

    The grid is as wide as gives about ``max_points``, or every pixel of a small mask. Points keep clear of the mask's
    rim, where a point may lie on the background, as long as :data:`MIN_POINTS` remain. An empty mask gives (0, 3).

    Args:
        mask: (h, w) bool.
        scale: (sx, sy) clip pixels per mask pixel.
        frame_index: The frame that the mask belongs to.
        max_points: Most points returned.
    """
    core = mask.astype(np.uint8)
    eroded = cv2.erode(core, np.ones((3, 3), np.uint8), borderValue=1).astype(np.uint8)
    if eroded.sum() >= max(4 * MIN_POINTS, MIN_CORE * core.sum()):
        core = eroded
    for step in itertools.count(max(1, int(np.sqrt(core.sum() / max_points)))):
        first = (step - 1) // 2
        rows, columns = (first + step * coordinates for coordinates in np.nonzero(core[first::step, first::step]))
        if len(rows) <= max_points:
            break
    x, y = ((columns + 0.5) * scale[0] - 0.5), ((rows + 0.5) * scale[1] - 0.5)
    return np.column_stack([np.full(len(rows), float(frame_index)), x, y])


def spread_queries(
    masks: BoolArray, scale: tuple[float, float], frames: Sequence[int], about: int = ALL_POINTS
) -> FloatArray:
    """Return (N, 3) queries (frame, x, y in clip pixels), equally dense in the masks of several frames.

    Args:
        masks: (K, h, w) bool; points keep clear of the rim of each connected part, where it is not all rim.
        scale: (sx, sy) clip pixels per mask pixel.
        frames: The K frames that the masks belong to.
        about: Approximate number of points; fewer where the masks have fewer pixels.
    """
    cores = np.stack([_core(mask) for mask in masks])
    step = max(1.0, float(np.sqrt(cores.sum() / about)))
    rows, columns = (np.arange(step / 2, size, step).astype(int) for size in cores.shape[1:])
    which, row, column = np.nonzero(cores[:, rows][:, :, columns])
    x, y = (columns[column] + 0.5) * scale[0] - 0.5, (rows[row] + 0.5) * scale[1] - 0.5
    return np.column_stack([np.asarray(frames, np.float64)[which], x, y])


def _core(mask: BoolArray) -> BoolArray:
    """Return ``mask`` (h, w) without the rim of its connected parts, except thin ones."""
    count, parts = cv2.connectedComponents(mask.astype(np.uint8), connectivity=8)
    core = cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8), borderValue=1) > 0
    whole = np.bincount(parts.ravel(), minlength=count)
    left = np.bincount(parts[core], minlength=count)
    thin = left < MIN_CORE * whole
    return np.asarray(mask & (core | thin[parts]))


def first_good_frame(area: FloatArray) -> int:
    """Return the first frame in which an object of ``area`` (T,) pixels has 60 % of its full size.

    An object that has just entered the frame offers only a sliver for points; the tracker goes backwards from there.
    """
    full = np.percentile(area[area > 0], 75)
    return int(np.argmax(area >= 0.6 * full))


def key_moments(num_frames: int, fps: float, seconds: float = KEY_SECONDS) -> list[int]:
    """Return frames about ``seconds`` apart, the first half of that after the clip's beginning; one at least.

    Where frames are further apart than ``seconds``, return every frame.
    """
    count = max(1, round(min(num_frames, num_frames / fps / seconds)))
    return [int((i + 0.5) * num_frames / count) for i in range(count)]


def moving_queries(scene: Scene) -> FloatArray:
    """Return (N, 3) queries on all independently moving regions, every :data:`KEY_SECONDS`."""
    objects = scene.objects
    keys = key_moments(len(scene.clip), scene.clip.fps)
    masks = objects.labels[keys] > 0
    if objects.moving is not None:
        masks |= objects.moving[keys]
    return spread_queries(masks, objects.scale, keys)


def object_queries(objects: Objects, item: SceneObject) -> FloatArray:
    """Return (N, 3) queries on a grid in one object, in its :func:`first_good_frame`."""
    most = min(MAX_POINTS, max(2 * MIN_POINTS, ALL_POINTS // max(1, len(objects.objects))))
    area = (objects.labels == item.id).sum((1, 2)).astype(np.float64)
    first = first_good_frame(area)
    return grid_queries(objects.labels[first] == item.id, objects.scale, first, most)


def intermittent_objects(objects: Objects) -> list[SceneObject]:
    """Return the objects that are not visible in every frame; only their absences need points as explanation."""
    return [item for item in objects.objects if not item.present.all()]


def object_tracks(scene: Scene, objects: Sequence[SceneObject] | None = None) -> Mapping[int, PointTracks]:
    """Return the tracks of ``objects`` (None for all of ``scene``) by id."""
    items = scene.objects.objects if objects is None else objects
    return {i.id: scene.track(f"object:{i.id}", object_queries(scene.objects, i)) for i in items}
