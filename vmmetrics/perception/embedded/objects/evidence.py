"""Independent motion per pixel: flow relative to the camera's motion, over one frame and over a third of a second.

A pixel counts as moving when its motion differs from the camera's by more than the measured error of the flow *and*
the difference explains the image better: in noise and in flat areas the flow is random, and following it gains nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.flow import pixel_grid
from vmmetrics.perception.scene import Scene
from vmmetrics.types import BoolArray, FloatArray, UInt8Array

Labels = NDArray[np.unsignedinteger]
"""(T, h, w) or (h, w): id of each pixel's object, 0 for none."""

GRID_SHORT_SIDE = 128
"""Short side of the maps, pixels: an object of 2 % of the frame still covers some 500."""
SLOW_SECONDS = 0.33
"""Seconds over which slow motion is accumulated: 0.01 diagonals per second amount to 0.8 grid pixels."""
MAX_GAP = 8
"""Largest gap, frames, over which slow motion is measured; a power of two."""
FAST_FLOOR, SLOW_FLOOR = 0.3, 0.45
"""Residual in grid pixels, over one frame and over the gap, below which nothing moves: the error of DIS on textured
static background (0.1 px per frame) with a margin of 3, and its accumulated value."""
NOISE_FACTOR = 4.0
"""Least residual that counts, in standard deviations of the background's residual."""
CAMERA_SHARE = 0.03
"""Error allowed to the camera model, as a share of the camera's motion."""
GAIN_LEVELS = 3.0
"""Least gain in colour levels, beyond 3 standard deviations of the noise, of following the flow at a pixel."""


RATE_SHARE = 0.25
"""Least speed of a slowly moving pixel in the current frame, as a share of its mean speed over the gap."""
ALIKE_LEVELS, ALIKE_SHARE = 12.0, 0.4
"""Difference allowed between a pixel and its match by flow: colour levels, plus a share of the local contrast."""


@dataclass(frozen=True)
class Evidence:
    """Images, motion and independently moving pixels of a clip, on one small grid of (h, w).

    Attributes:
        colour: (T, h, w, 3) uint8 CIE Lab.
        forward: (T-1, h, w, 2) float32 grid pixels, as in :class:`~vmmetrics.perception.scene.Flow`.
        backward: (T-1, h, w, 2) float32 grid pixels.
        forward_ok: (T-1, h, w) bool, consistent forward flow to a pixel of the same colour.
        backward_ok: (T-1, h, w) bool, the same of backward flow.
        camera: (T-1, 3, 3) float64, grid pixels of frame t to those of t+1.
        velocity: (T, h, w, 2) float32 grid pixels per frame, motion relative to the camera's.
        strength: (T, h, w) float32 motion in units of its threshold; 0 where it explains nothing.
        support: (T, h, w) bool, the motion explains the image clearly better than no motion.
        noise: Standard deviation of colour between aligned frames, levels.
        fps: Frames per second.
    """

    colour: UInt8Array
    forward: FloatArray
    backward: FloatArray
    forward_ok: BoolArray
    backward_ok: BoolArray
    camera: FloatArray
    velocity: FloatArray
    strength: FloatArray
    support: BoolArray
    noise: float
    fps: float

    def __len__(self) -> int:
        return len(self.colour)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the grid."""
        return self.colour.shape[1], self.colour.shape[2]

    @cached_property
    def grid(self) -> FloatArray:
        """(h, w, 2) float32: x, y of every pixel."""
        height, width = self.shape
        return pixel_grid(width, height)

    def reversed(self) -> Evidence:
        """Return the evidence of the clip played backwards (views, no copies)."""
        return replace(
            self,
            colour=self.colour[::-1],
            forward=self.backward[::-1],
            backward=self.forward[::-1],
            forward_ok=self.backward_ok[::-1],
            backward_ok=self.forward_ok[::-1],
            camera=np.linalg.inv(self.camera[::-1]),
            velocity=-self.velocity[::-1],
            strength=self.strength[::-1],
            support=self.support[::-1],
        )

    def camera_between(self, start: int, stop: int) -> FloatArray:
        """Return (3, 3), the camera's motion from pixels of frame ``start`` to those of ``stop``, either direction."""
        chain = np.eye(3)
        for t in range(min(start, stop), max(start, stop)):
            chain = self.camera[t] @ chain
        return chain if start <= stop else np.linalg.inv(chain)

    def positions(self, one: int, other: int) -> FloatArray:
        """Return (h, w, 2) float32: positions of frame ``one``'s pixels in frame ``other``, by the camera's motion."""
        return mapped(self.camera_between(one, other), self.grid)


def gather_evidence(scene: Scene) -> Evidence:
    """Compute the evidence for the moving objects of ``scene`` from its flow and camera."""
    clip, flow, camera = scene.clip, scene.flow, scene.camera
    full_height, full_width = flow.images.shape[1:]
    factor = min(1.0, GRID_SHORT_SIDE / min(full_height, full_width))
    width, height = max(1, round(full_width * factor)), max(1, round(full_height * factor))
    colour = np.empty((len(clip), height, width, 3), np.uint8)
    for frame, small in zip(clip.frames, colour, strict=True):
        small[...] = cv2.cvtColor(cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2LAB)
    zoom = (width / full_width, height / full_height)
    forward, forward_ok = _shrunk(flow.forward, flow.forward_valid, (width, height), zoom)
    backward, backward_ok = _shrunk(flow.backward, flow.backward_valid, (width, height), zoom)
    # Grid x is at clip x = (x + 0.5) * sx - 0.5.
    sx, sy = clip.width / width, clip.height / height
    to_clip = np.array([[sx, 0, 0.5 * sx - 0.5], [0, sy, 0.5 * sy - 0.5], [0, 0, 1]])
    homographies = np.asarray(np.linalg.inv(to_clip) @ camera.homographies @ to_clip)
    has_camera = np.array([kind != "unknown" for kind in camera.kinds], bool)
    motion = _Motion(colour, homographies, has_camera, clip.fps)
    motion.add(forward, forward_ok, slice(None))
    motion.add(backward, backward_ok, slice(None, None, -1))
    velocity, strength, support = motion.result()
    return Evidence(
        colour, forward, backward, forward_ok, backward_ok, homographies, velocity, strength, support,
        motion.noise, clip.fps,
    )  # fmt: skip


def warp(picture: NDArray[Any], position: FloatArray, nearest: bool = False) -> NDArray[Any]:
    """Sample ``picture`` at ``position`` (h, w, 2); 0 outside."""
    how = cv2.INTER_NEAREST if nearest else cv2.INTER_LINEAR
    x, y = position[..., 0], position[..., 1]
    return np.asarray(cv2.remap(picture, x, y, how, borderMode=cv2.BORDER_CONSTANT, borderValue=0))


def mapped(matrix: FloatArray, grid: FloatArray) -> FloatArray:
    """Return ``grid`` (h, w, 2) sent through a homography, float32."""
    return np.asarray(cv2.perspectiveTransform(grid, matrix))


def colour_gap(one: UInt8Array, other: UInt8Array) -> FloatArray:
    """Return (h, w) float32: mean absolute difference of Lab colour, without the change of global illumination."""
    difference = cv2.subtract(one, other, dtype=cv2.CV_32F)
    light = middle(np.asarray(difference[::3, ::3], np.float32).reshape(-1, 3))
    cv2.absdiff(difference, np.array([*light, 0.0]), dst=difference)
    return np.asarray(cv2.transform(difference, _HALVES))


_HALVES = np.full((1, 3), 0.5, np.float32)


def middle(values: FloatArray) -> FloatArray:
    """Return the median (C,) of ``values`` (N, C), faster than :func:`numpy.median`."""
    columns = np.ascontiguousarray(values.T)
    upper = columns.shape[1] // 2
    lower = upper - (columns.shape[1] % 2 == 0)
    parted = np.partition(columns, (lower, upper), axis=1)
    return np.asarray((parted[:, lower] + parted[:, upper]) / 2)


def _quantile(values: FloatArray, share: float) -> float:
    """Return the quantile of ``values`` (N,) float32, faster than :func:`numpy.quantile`."""
    position = np.float32(share) * np.float32(len(values) - 1)
    lower = int(position)
    upper = min(lower + 1, len(values) - 1)
    parted = np.partition(values, (lower, upper))
    return float(parted[lower] + (parted[upper] - parted[lower]) * (position - np.float32(lower)))


def contrast(colour: UInt8Array) -> FloatArray:
    """Return (h, w) float32, the range of lightness in each 3 x 3 window: the error of a shift by one pixel."""
    light, kernel = np.ascontiguousarray(colour[..., 0]), np.ones((3, 3), np.uint8)
    return np.asarray(cv2.morphologyEx(light, cv2.MORPH_GRADIENT, kernel), np.float32)


def warp_mask(mask: BoolArray, position: FloatArray) -> BoolArray:
    """Sample ``mask`` (h, w) bool at the pixels nearest to ``position`` (h, w, 2); False outside."""
    return np.asarray(warp(mask.view(np.uint8), position, nearest=True) > 0)


def disc(size: int) -> UInt8Array:
    """Return a round structuring element."""
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)))


def centre(mask: BoolArray) -> FloatArray:
    """Return the mean (x, y) of a mask."""
    rows, columns = np.nonzero(mask)
    return np.array([columns.mean(), rows.mean()])


class _Motion:
    """Accumulator, over both directions and gaps, of each pixel's independent motion and of whether it explains it."""

    def __init__(self, colour: UInt8Array, camera: FloatArray, has_camera: BoolArray, fps: float) -> None:
        count, height, width = colour.shape[:3]
        self.colour, self.camera, self.has_camera = colour, camera, has_camera
        self.grid = pixel_grid(width, height)
        self.doublings = int(np.clip(round(np.log2(max(2.0, SLOW_SECONDS * fps))), 1, np.log2(MAX_GAP)))
        self.strength = np.zeros((count, height, width), np.float32)
        self.explained = np.zeros((2, count, height, width), np.bool_)
        self.tested = np.zeros((2, count, height, width), np.bool_)
        self.total = np.zeros((count, height, width, 2), np.float32)
        self.weight = np.zeros((count, height, width), np.float32)
        self.noises: list[float] = []

    @property
    def noise(self) -> float:
        return float(np.median(self.noises)) if self.noises else 1.0

    def add(self, steps: FloatArray, ok: BoolArray, order: slice) -> None:
        """Add the flow in one ``order`` of the frames: steps of one frame, then doubled up to the largest gap."""
        colour, has_camera, steps, ok = self.colour[order], self.has_camera[order], steps[order], ok[order]
        matrices = self.camera if order.step is None else np.linalg.inv(self.camera[order])
        # After a sudden change the flow is consistent by chance at some pixels: it must lead to the same colour.
        for t, step in enumerate(steps):
            apart = colour_gap(colour[t], np.asarray(warp(colour[t + 1], self.grid + step)))
            alike = (apart < ALIKE_LEVELS + ALIKE_SHARE * contrast(colour[t])).view(np.uint8)
            ok[t] &= cv2.medianBlur(alike, 5).view(np.bool_)
        first, first_matrices, gap, way = steps, matrices, 1, 0 if order.step is None else 1
        strength, total, weight = (whole[order] for whole in (self.strength, self.total, self.weight))
        for level in range(self.doublings + 1):
            for t in np.flatnonzero(has_camera).tolist() if level in (0, self.doublings) else ():
                still, there = mapped(matrices[t], self.grid), self.grid + steps[t]
                residual = there - still
                size = _length(residual)
                # The 30 % quantile of a Rayleigh distribution is 0.845 deviations, while 30 % of the frame is still.
                sigma = _quantile(size[ok[t]], 0.3) / 0.845 if ok[t].any() else 0.0
                floor, travel = FAST_FLOOR if gap == 1 else SLOW_FLOOR, _length(still - self.grid)
                moving = size / (max(floor, NOISE_FACTOR * sigma) + CAMERA_SHARE * travel)
                moving = np.where(ok[t], moving, 0.0).astype(np.float32)
                if gap > 1:
                    # Slow motion is continuous; what rests now and is carried along later does not move yet.
                    rate = self.grid + first[t] - mapped(first_matrices[t], self.grid)
                    along = rate[..., 0] * residual[..., 0] + rate[..., 1] * residual[..., 1]
                    moving[along * gap < RATE_SHARE * size * size] = 0
                gap_still = colour_gap(colour[t], warp(colour[t + gap], still))
                gap_moved = colour_gap(colour[t], warp(colour[t + gap], there))
                x, y = still[..., 0], still[..., 1]  # numpy is slow over a last axis of two
                inside = (x >= 0) & (x < still.shape[1] - 1) & (y >= 0) & (y < still.shape[0] - 1)
                if gap == 1 and inside.any():
                    self.noises.append(_quantile(gap_still[inside], 0.3))
                tested = (moving > 1) & inside
                self.tested[way, order][t] |= tested
                self.explained[way, order][t] |= tested & (gap_still - gap_moved > GAIN_LEVELS + 3.0 * self.noise)
                np.maximum(strength[t], moving, out=strength[t])
                share = ok[t] * (1.0 if gap == 1 else 0.5)
                signed = (-1.0) ** way * share / gap
                for axis in (0, 1):  # numpy is slow over a last axis of two
                    total[t, ..., axis] += signed * residual[..., axis]
                weight[t] += share
            if level < self.doublings and len(steps):
                steps, ok = self._doubled(steps, ok, gap, out=steps if level else None)
                joined = [b @ a for a, b in zip(matrices[:-gap], matrices[gap:], strict=True)]
                matrices = np.stack(joined or [np.eye(3)])
                has_camera = has_camera[:-gap] & has_camera[gap:]
                gap *= 2

    def _doubled(
        self, steps: FloatArray, ok: BoolArray, gap: int, out: FloatArray | None
    ) -> tuple[FloatArray, BoolArray]:
        """Chain the motion over ``gap`` frames to that over twice as many, with its validity, in ``out`` if given.

        ``out`` may be ``steps``: each entry is read before it is overwritten.
        """
        count = max(0, len(steps) - gap)
        longer = np.empty((count, *steps.shape[1:]), np.float32) if out is None else out[:count]
        valid = np.zeros(longer.shape[:3], np.bool_)
        for t in range(count):
            position = self.grid + steps[t]
            longer[t] = steps[t] + warp(steps[t + gap], position)
            valid[t] = ok[t] & warp_mask(ok[t + gap], position)
        return longer, valid

    def result(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return velocity (T, h, w, 2), strength (T, h, w) and support (T, h, w)."""
        for axis in (0, 1):
            self.total[..., axis] /= np.maximum(self.weight, 1e-6)
        for picture in self.strength:
            picture[...] = cv2.medianBlur(picture, 5)
        # Around a moving object the flow drags the background along. In one direction of time that may even explain
        # background about to be covered; in the other direction it is static.
        refuted = (self.tested & ~self.explained).any(0)
        support: BoolArray = np.logical_and(self.explained.any(0), ~refuted)
        return self.total, self.strength, support


def _length(vectors: FloatArray) -> FloatArray:
    return np.asarray(cv2.magnitude(vectors[..., 0], vectors[..., 1]))


def _shrunk(
    steps: FloatArray, ok: BoolArray, size: tuple[int, int], zoom: tuple[float, float]
) -> tuple[FloatArray, BoolArray]:
    """Return flow and validity resized to the grid; at ``zoom`` 1 the flow itself and a copy of its validity."""
    if zoom == (1.0, 1.0):
        return steps, ok.copy()
    small = np.empty((len(steps), size[1], size[0], 2), np.float32)
    valid = np.empty((len(steps), size[1], size[0]), np.bool_)
    for t in range(len(steps)):
        small[t] = cv2.resize(steps[t], size, interpolation=cv2.INTER_AREA) * np.array(zoom, np.float32)
        share = cv2.resize(ok[t].view(np.uint8) * np.uint8(255), size, interpolation=cv2.INTER_AREA)
        valid[t] = share > 127
    return small, valid


AROUND = 0.6
"""Width of an object's surroundings, in square roots of its area."""


def with_surroundings(mask: BoolArray, wider: int = 1) -> BoolArray:
    """Return (h, w) bool: ``mask`` and what is near it, ``wider`` pixels of diameter beyond :data:`AROUND`."""
    reach = 2 * round(AROUND * np.sqrt(np.count_nonzero(mask))) + wider
    return np.asarray(cv2.dilate(mask.view(np.uint8), disc(reach)) > 0)
