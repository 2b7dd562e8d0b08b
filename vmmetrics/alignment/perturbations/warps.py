"""Moving pixels about: the smooth displacements that the defects of the ladder are made of."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.types import FloatArray

Frames = NDArray[np.uint8]
"""(T, H, W, 3) uint8 RGB."""

LEAST_KNOT = 0.1
"""Frames between the turns of :func:`smooth_walk` at least: at low frame rates its size goes by the frames."""
_FLOW_SIDE = 96  # pixels; enough to see where a thing a tenth of the picture wide goes
_ENERGY_BLUR = 0.08  # of the short side: about the size of a hand in a half-body shot


def short_side(frames: Frames) -> int:
    """Return the shorter side of ``frames`` (T, H, W, 3) in pixels."""
    return int(min(frames.shape[1:3]))


def grid(frames: Frames) -> tuple[FloatArray, FloatArray]:
    """Return x (1, W) and y (H, 1) of the pixels, float32."""
    height, width = frames.shape[1:3]
    return np.arange(width, dtype=np.float32)[None], np.arange(height, dtype=np.float32)[:, None]


def displace(image: NDArray[np.uint8], field: FloatArray) -> NDArray[np.uint8]:
    """Return ``image`` (H, W, 3) with the content of each pixel taken from ``field`` (H, W, 2) pixels beside it."""
    height, width = image.shape[:2]
    x = (np.arange(width) + field[..., 0]).astype(np.float32)
    y = (np.arange(height)[:, None] + field[..., 1]).astype(np.float32)
    return np.asarray(cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101), np.uint8)


def bump(frames: Frames, centre: FloatArray, radius: float, stretch: float = 1.0, angle: float = 0.0) -> FloatArray:
    """Return a (H, W) weight: 1 around ``centre`` (x, y), falling smoothly to 0 at about ``radius`` pixels.

    ``stretch`` makes it that many times longer along ``angle`` (radians).
    """
    x, y = grid(frames)
    dx, dy = x - centre[0], y - centre[1]
    along = (dx * np.cos(angle) + dy * np.sin(angle)) / stretch
    across = -dx * np.sin(angle) + dy * np.cos(angle)
    distance = (along**2 + across**2) / radius**2
    return np.asarray(np.exp(-(distance**2) * 2), np.float32)  # flat in the middle: the thing moves as a whole


def noise_field(rng: np.random.Generator, frames: Frames, cell: float) -> FloatArray:
    """Return a smooth random (H, W, 2) field of unit root mean square, features of ``cell`` pixels."""
    height, width = frames.shape[1:3]
    rows, columns = max(2, round(height / cell) + 1), max(2, round(width / cell) + 1)
    coarse = rng.normal(size=(rows, columns, 2)).astype(np.float32)
    field = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.asarray(field / max(float(np.sqrt((field**2).mean())), 1e-6), np.float32)


def smooth_walk(rng: np.random.Generator, count: int, knot: float) -> FloatArray:
    """Return (count,) values about 0, of unit order, that turn about every ``knot`` frames; 0 at the first frame."""
    knot = max(knot, LEAST_KNOT)
    knots = rng.normal(size=int(np.ceil(count / knot)) + 3)
    places = np.arange(len(knots)) * knot
    phase = rng.uniform(0, knot)
    dense = np.interp(np.arange(count) + phase, places, knots)
    width = max(1, round(knot / 2))
    kernel = np.ones(width) / width
    smooth = np.convolve(np.pad(dense, width, mode="edge"), kernel, mode="same")[width:-width]
    return np.asarray(smooth - smooth[0], np.float32)


def follow(frames: Frames, centre: FloatArray, radius: float) -> FloatArray:
    """Return (T, 2): where the thing at ``centre`` of the first frame goes, by the mean flow around it."""
    height, width = frames.shape[1:3]
    scale = _FLOW_SIDE / min(height, width)
    size = round(width * scale), round(height * scale)
    small = [cv2.cvtColor(cv2.resize(f, size, interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2GRAY) for f in frames]
    dis: Any = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
    path = [np.asarray(centre, np.float64)]
    x, y = np.arange(size[0])[None], np.arange(size[1])[:, None]
    for before, after in pairwise(small):
        flow = dis.calc(before, after, None)
        at = path[-1] * scale
        weight = np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / (radius * scale) ** 2)
        step = (flow * weight[..., None]).sum((0, 1)) / max(float(weight.sum()), 1e-6)
        path.append(np.clip(path[-1] + step / scale, 0, (width - 1, height - 1)))
    return np.asarray(path)


def liveliest(rng: np.random.Generator, frames: Frames) -> FloatArray:
    """Return (2,) x, y of a place where much changes in the course of ``frames``: most likely on what moves."""
    step = max(1, len(frames) // 8)
    kept = frames[::step].astype(np.float32).mean(-1)
    change = np.abs(np.diff(kept, axis=0)).mean(0) if len(kept) > 1 else np.ones(frames.shape[1:3], np.float32)
    energy = cv2.GaussianBlur(change, (0, 0), _ENERGY_BLUR * short_side(frames))
    height, width = energy.shape
    inside = np.zeros_like(energy)
    inside[height // 8 : height - height // 8, width // 8 : width - width // 8] = 1
    chance = (energy * inside).ravel().astype(np.float64) ** 3 + 1e-9
    place = int(rng.choice(chance.size, p=chance / chance.sum()))
    return np.array([place % width, place // width], np.float64)
