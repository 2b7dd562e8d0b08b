"""Dense optical flow, forwards and backwards, at one working resolution for clips of any size.

DIS flow (Kroeger et al., "Fast Optical Flow using Dense Inverse Search", ECCV 2016) as implemented in OpenCV. The
number of its stripes is fixed, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.scene import Flow, Scene
from vmmetrics.types import BoolArray, FloatArray

SHORT_SIDE = 256
"""Working short side, pixels: about 6 ms per pair and direction on two laptop threads, at an error of 0.1 px."""

MIN_SIDE = 48
"""Least working side, pixels; smaller clips are enlarged to it. DIS refuses images below 12 px."""

MAX_ASPECT = 4.0
"""Aspect ratio above which the short side shrinks, which bounds the cost of a strip."""


def working_size(width: int, height: int) -> tuple[int, int]:
    """Return (w, h) of the working images of a clip of ``width`` x ``height`` pixels.

    The short side is at most :data:`SHORT_SIDE` and at least :data:`MIN_SIDE`.

    >>> working_size(720, 480), working_size(160, 120), working_size(16, 16)
    ((384, 256), (160, 120), (48, 48))
    """
    short, long = min(width, height), max(width, height)
    factor = min(1.0, SHORT_SIDE / short, MAX_ASPECT * SHORT_SIDE / long)
    return max(MIN_SIDE, round(width * factor)), max(MIN_SIDE, round(height * factor))


TOLERANCE, TOLERANCE_SHARE = 0.8, 0.1
"""Forward-backward error allowed: working pixels, plus a share of the motion, their squares added (as in Sundaram et
al., ECCV 2010)."""


class DISFlow:
    """DIS (medium) optical flow with forward-backward validity."""

    def estimate(self, scene: Scene) -> Flow:
        """Compute the flow of every consecutive pair of frames, both ways."""
        clip = scene.clip
        width, height = working_size(clip.width, clip.height)
        way = cv2.INTER_AREA if width <= clip.width and height <= clip.height else cv2.INTER_LINEAR
        images = np.empty((len(clip), height, width), np.uint8)
        for frame, image in zip(clip.frames, images, strict=True):
            image[...] = cv2.resize(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), (width, height), interpolation=way)
        pairs = len(images) - 1
        forward = np.zeros((pairs, height, width, 2), np.float32)
        backward = np.zeros_like(forward)
        forward_valid = np.zeros((pairs, height, width), np.bool_)
        backward_valid = np.zeros_like(forward_valid)
        dis: Any = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
        grid = pixel_grid(width, height)
        for t in range(pairs):
            # A repeated frame needs no search, and DIS would give noise in flat areas.
            if np.array_equal(images[t], images[t + 1]):
                forward_valid[t] = backward_valid[t] = True
                continue
            forward[t] = dis.calc(images[t], images[t + 1], None)
            backward[t] = dis.calc(images[t + 1], images[t], None)
            forward_valid[t] = agree(forward[t], backward[t], grid)
            backward_valid[t] = agree(backward[t], forward[t], grid)
        scale = (clip.width / width, clip.height / height)
        return Flow(images, forward, backward, forward_valid, backward_valid, scale)


def agree(there: FloatArray, back: FloatArray, grid: FloatArray) -> BoolArray:
    """Return (h, w) bool, True where flow ``there`` and ``back`` (h, w, 2) are consistent and stay within the frame."""
    x, y = cv2.split(there)  # plane by plane: numpy is slow over a last axis of two
    across, down = x + grid[..., 0], y + grid[..., 1]
    u, v = cv2.split(cv2.remap(back, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))
    far, moved = (x + u) ** 2 + (y + v) ** 2, x**2 + y**2
    within = _within(across, down, *there.shape[:2])
    return np.asarray((far < TOLERANCE**2 + TOLERANCE_SHARE**2 * moved) & within)


def inside(points: FloatArray, height: int, width: int) -> BoolArray:
    """Return (...) bool, True where ``points`` (..., 2) x, y lie within a frame of ``height`` x ``width`` pixels."""
    return _within(points[..., 0], points[..., 1], height, width)


def _within(x: FloatArray, y: FloatArray, height: int, width: int) -> BoolArray:
    return np.asarray((x > -0.5) & (x < width - 0.5) & (y > -0.5) & (y < height - 0.5))


def in_frame(points: FloatArray) -> BoolArray:
    """Return (h, w) bool, True where ``points`` (h, w, 2) x, y lie between the centres of the outermost pixels."""
    height, width = points.shape[:2]
    x, y = points[..., 0], points[..., 1]  # numpy is slow over a last axis of two
    return np.asarray((x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1))


def look_up(image: FloatArray, points: FloatArray) -> FloatArray:
    """Sample ``image`` (h, w) or (h, w, C) float32 bilinearly at ``points`` (N, K, 2); the border is replicated."""
    no_second_map: Any = None
    values = cv2.remap(
        image, points.astype(np.float32, copy=False), no_second_map, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return values.astype(np.float32, copy=False)


@lru_cache(maxsize=16)
def pixel_grid(width: int, height: int) -> FloatArray:
    """Return (height, width, 2) float32, read-only: x, y of every pixel."""
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    grid = np.stack([x, y], -1)
    grid.flags.writeable = False
    return grid


# Small image patches around many points at once: sampling, comparing, and moving a point until its patch fits.

Index = NDArray[np.integer] | BoolArray

RADIUS = 4
"""Half width of patches: 9 x 9 working pixels, about 3.5 % of a short side of 256, small enough for limbs."""

NOISE = 4.0
"""Grey levels of noise and compression; stabilises the similarity of flat patches."""


def _offsets(radius: int) -> FloatArray:
    """Return (2, K): x and y of the pixels of a square about its centre, row by row."""
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    return np.stack([x.ravel(), y.ravel()]).astype(np.float64)


OFFSETS = _offsets(RADIUS)
_WIDER = _offsets(RADIUS + 1)
WINDOW = np.exp(-np.square(OFFSETS).sum(0) / (2 * 2.5**2))
"""Gaussian weight over the patch: background at its rim counts little."""


@dataclass
class Patches:
    """Reference patches of N points; coordinates are stored in planes, which numpy processes fastest.

    Attributes:
        values: (N, 81) grey levels.
        slopes: (N, 2, 81) derivatives along x and y.
        weights: (N, 81) Gaussian window, nearly 0 for pixels outside the frame.
        offsets: (2, 81) x and y of the pixels relative to the point.
    """

    values: FloatArray
    slopes: FloatArray
    weights: FloatArray
    offsets: FloatArray

    @classmethod
    def cut(cls, image: FloatArray, points: FloatArray) -> Patches:
        """Cut upright patches at ``points`` (N, 2) of ``image`` (h, w) float32."""
        side = 2 * (RADIUS + 1) + 1
        x, y = _around(points, _WIDER)
        block = _sampled(image, x, y).reshape(-1, side, side)
        slope_x = (block[:, 1:-1, 2:] - block[:, 1:-1, :-2]) / 2
        slope_y = (block[:, 2:, 1:-1] - block[:, :-2, 1:-1]) / 2
        core = block[:, 1:-1, 1:-1].reshape(len(points), -1)
        within = _within(x, y, *image.shape).reshape(-1, side, side)[:, 1:-1, 1:-1].reshape(len(points), -1)
        slopes = np.stack([slope_x, slope_y], 1).reshape(len(points), 2, -1)
        return cls(core, slopes, WINDOW * np.maximum(within, 1e-3), OFFSETS)

    def __getitem__(self, which: Index) -> Patches:
        return Patches(self.values[which], self.slopes[which], self.weights[which], self.offsets)

    def corner(self) -> FloatArray:
        """Return (N,) root-mean-square slope, grey levels a pixel, in the direction in which a patch changes least."""
        weighted = self.weights[:, None] * self.slopes
        tensor = weighted @ np.swapaxes(self.slopes, 1, 2) / self.weights.sum(1)[:, None, None]
        least: FloatArray = np.linalg.eigvalsh(tensor)[:, 0]
        return np.sqrt(np.maximum(least, 0.0))

    def coarse(self, times: int) -> Patches:
        """Return every other row and column of the patches, the set repeated ``times`` times."""
        few = (self.offsets % 2 == 0).all(0)
        return Patches(
            np.tile(self.values[:, few], (times, 1)),
            np.tile(self.slopes[..., few], (times, 1, 1)),
            np.tile(self.weights[:, few], (times, 1)),
            self.offsets[:, few],
        )

    def replace(self, which: Index, new: Patches) -> None:
        """Replace the patches ``which`` by ``new``, in place."""
        self.values[which], self.slopes[which], self.weights[which] = new.values, new.slopes, new.weights

    def likeness(self, image: FloatArray, points: FloatArray, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compare ``image`` at ``points`` (N, 2) with the patches, rotated and scaled by ``linear`` (N, 2, 2).

        Returns:
            (N,) similarity up to 1 (contrast and structure, as in SSIM with NOISE as stabiliser), and (N,) change of
            mean grey level.
        """
        x, y = _around(points, linear @ self.offsets)
        weights = self.weights * np.maximum(_within(x, y, *image.shape), 1e-3)
        total = weights.sum(-1, keepdims=True)
        mean_1, centred_1, variance_1 = _moments(self.values, weights, total)
        mean_2, centred_2, variance_2 = _moments(_sampled(image, x, y), weights, total)
        together = np.einsum("nk,nk,nk->n", weights, centred_1, centred_2)[:, None] / total
        likeness = (2 * together + NOISE**2) / (variance_1 + variance_2 + NOISE**2)
        return likeness[:, 0], (mean_2 - mean_1)[:, 0]

    def fit(self, image: FloatArray, points: FloatArray, linear: FloatArray, steps: int = 4) -> FloatArray:
        """Return ``points`` (N, 2) moved to where the patches fit best, in at most ``steps`` steps of up to 1 px.

        Inverse compositional Lucas-Kanade (Baker & Matthews, IJCV 2004) with mean and contrast free, regularised
        towards the initial points by the variance of NOISE: a point does not move along a direction without texture.
        """
        grid = linear @ self.offsets
        weights = self.weights
        total = weights.sum(-1, keepdims=True)
        slopes = self.slopes - np.einsum("nk,nck->nc", weights, self.slopes)[..., None] / total[..., None]
        pull = weights[:, None] * slopes
        stay = NOISE**2 * WINDOW.sum()
        inverse = np.linalg.inv(pull @ np.swapaxes(slopes, 1, 2) + stay * np.eye(2))
        upright = np.linalg.inv(linear)
        _, template, variance = _moments(self.values, weights, total)
        contrast = np.sqrt(variance) + NOISE
        at = points.copy()
        for _ in range(steps):
            _, seen, seen_variance = _moments(_sampled(image, *_around(at, grid)), weights, total)
            gain = np.clip(contrast / (np.sqrt(seen_variance) + NOISE), 0.6, 1.6)
            seen *= gain
            seen -= template
            away = upright @ (at - points)[..., None]
            change = (linear @ (inverse @ (pull @ seen[..., None] + stay * away)))[..., 0]
            length = np.hypot(change[:, 0], change[:, 1])[:, None]
            at = at - change * np.minimum(1.0, 1.0 / np.maximum(length, 1e-9))
        return at


def _around(points: FloatArray, offsets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return x and y, each (N, K), of ``points`` (N, 2) plus ``offsets`` (2, K) or (N, 2, K)."""
    return points[:, :1] + offsets[..., 0, :], points[:, 1:] + offsets[..., 1, :]


def _sampled(image: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Return bilinear ``image`` (h, w) float32 at ``x`` and ``y``, each (N, K)."""
    height, width = image.shape
    # Coordinates far outside overflow OpenCV's fixed-point format.
    across = np.clip(x, -16.0, width + 16.0).astype(np.float32)
    down = np.clip(y, -16.0, height + 16.0).astype(np.float32)
    return np.asarray(cv2.remap(image, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))


def sample(image: FloatArray, points: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Sample ``image`` (h, w) or (h, w, 2) float32 bilinearly at ``points`` (N, K, 2).

    Returns:
        The values, and (N, K) bool, True where a point lies inside the image.
    """
    height, width = image.shape[:2]
    # Coordinates far outside overflow OpenCV's fixed-point format.
    clipped = np.clip(points, -16.0, np.array([width + 16.0, height + 16.0]))
    return look_up(image, clipped), inside(points, height, width)


def _moments(values: FloatArray, weights: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weighted mean (N, 1), ``values`` (N, K) less their mean, float64, and the weighted variance (N, 1)."""
    mean = np.einsum("nk,nk->n", weights, values)[:, None] / total
    centred = values - mean
    return mean, centred, np.einsum("nk,nk,nk->n", weights, centred, centred)[:, None] / total
