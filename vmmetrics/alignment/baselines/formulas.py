"""VBench's motion smoothness: how well the odd frames can be interpolated from the even ones.

Huang et al., "VBench", CVPR 2024, and its released code, which interpolates with AMT-S.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.flow import look_up, pixel_grid
from vmmetrics.types import BoolArray, FloatArray

# What the functions of this folder ask of the frames they are given.


def need_two(frames: NDArray[np.generic]) -> None:
    """Refuse fewer than two frames.

    Raises:
        ValueError: There is no pair of consecutive frames.
    """
    if len(frames) < 2:
        raise ValueError(f"Expected at least two frames but got {len(frames)}")


# Mean absolute difference of consecutive frames.


def frame_difference(frames: NDArray[np.uint8]) -> float:
    """Return the mean of |I(t+1) − I(t)| over pixels, channels and pairs: levels in 0..255, lower is steadier.

    Args:
        frames: (T, H, W, 3) or (T, H, W) uint8, T at least 2.

    Raises:
        ValueError: Too few frames.
    """
    need_two(frames)
    total = sum(int(cv2.absdiff(a, b).sum(dtype=np.int64)) for a, b in itertools.pairwise(frames))
    return float(total / (frames.size - frames[0].size))


# VBench's temporal flickering.
#
# Huang et al., "VBench: Comprehensive Benchmark Suite for Video Generative Models", CVPR 2024, and its released code:
# the frames as stored, in colour, neither resized nor sampled. VBench means it for static scenes alone.


def temporal_flickering(frames: NDArray[np.uint8]) -> float:
    """Return (255 − D) / 255 with D the mean absolute difference of consecutive frames: 0..1, higher is steadier.

    Args:
        frames: (T, H, W, 3) uint8, T at least 2; the order of the channels plays no part.

    Raises:
        ValueError: Too few frames.
    """
    return (255 - frame_difference(frames)) / 255


# How fast the picture moves, camera included.


def flow_magnitude(forward: FloatArray, timestamps: FloatArray) -> float:
    """Return the mean length of motion, in frame diagonals per second: 0 or more, more is more motion.

    The path of the mean length from frame to frame, over the time from the first frame to the last.

    Args:
        forward: (T-1, h, w, 2) flow from each frame to the next, in its own pixels.
        timestamps: (T,) seconds, increasing.

    Raises:
        ValueError: No flow, or not one time more than flows.
    """
    pairs, height, width = forward.shape[:3]
    if pairs < 1 or len(timestamps) != pairs + 1:
        raise ValueError(f"Expected flows and one time more but got {pairs} flows and {len(timestamps)} times")
    path = sum(float(np.hypot(flow[..., 0], flow[..., 1]).mean(dtype=np.float64)) for flow in forward)
    return path / float(np.hypot(width, height)) / float(timestamps[-1] - timestamps[0])


# Warping error: what is left of the difference of two frames once motion is taken out.
#
# Lai et al., "Learning Blind Video Temporal Consistency", ECCV 2018, equation 10. Its first frame is subtracted from
# the second one brought back along the flow, where forward and backward flow agree.


def warping_error(frames: NDArray[np.uint8], forward: FloatArray, valid: BoolArray) -> float | None:
    """Return the mean of (I(t)[x] − I(t+1)[x + f(x)])² with intensities in 0..1: lower is steadier.

    The mean is taken over channels and valid pixels of a pair, then over pairs; a pair without a valid pixel, where
    the formula has no value, is left out.

    Args:
        frames: (T, h, w, 3) uint8 at the resolution of the flow.
        forward: (T-1, h, w, 2) pixels, from each frame to the next.
        valid: (T-1, h, w) bool, where the flow is to be trusted and its target lies in the picture.

    Returns:
        The error, or None where no pair has a valid pixel.
    """
    height, width = frames.shape[1:3]
    grid = pixel_grid(width, height)
    errors = []
    for t, trusted in enumerate(valid):
        if trusted.any():
            brought = look_up(frames[t + 1].astype(np.float32), grid + forward[t])
            gap = (brought - frames[t])[trusted] / 255
            errors.append(float(np.mean(gap * gap, dtype=np.float64)))
    return float(np.mean(errors)) if errors else None


# How far forward and backward flow are from undoing each other (Sundaram et al., ECCV 2010, as a number).


def forward_backward_error(forward: FloatArray, backward: FloatArray) -> float | None:
    """Return the mean of |f(x) + b(x + f(x))| in thousandths of the frame's diagonal: lower is more consistent.

    The mean is taken over the pixels of a pair that stay in the picture, then over pairs.

    Args:
        forward: (T-1, h, w, 2) pixels, from each frame to the next.
        backward: (T-1, h, w, 2) pixels, from each next frame back.

    Returns:
        The error, or None where every pixel of every pair leaves the picture.
    """
    height, width = forward.shape[1:3]
    grid = pixel_grid(width, height)
    errors = []
    for there, back in zip(forward, backward, strict=True):
        target = grid + there
        x, y = target[..., 0], target[..., 1]
        inside = (x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1)
        if inside.any():
            gap = there + look_up(back, target)
            errors.append(float(np.hypot(gap[..., 0], gap[..., 1])[inside].mean(dtype=np.float64)))
    return 1000 * float(np.mean(errors)) / float(np.hypot(width, height)) if errors else None


# How many points of the first frame can be followed through the clip and back again.

STEP = 8
"""Spacing of the tracked points in pixels of the flow: the width of DIS's patches."""
HOME = 0.01
"""Largest round-trip error of a surviving point, as a share of the diagonal: several times the drift of flow."""


def track_survival(
    forward: FloatArray, backward: FloatArray, forward_valid: BoolArray, backward_valid: BoolArray
) -> float:
    """Return the share of grid points that survive: 0..1, higher is more coherent.

    A point of the first frame follows the forward flow to the last frame and the backward flow to the first again. It
    survives if every step was valid (not occluded, inside the picture) and it ends where it began.

    Args:
        forward: (T-1, h, w, 2) pixels, from each frame to the next.
        backward: (T-1, h, w, 2) pixels, from each next frame back.
        forward_valid: (T-1, h, w) bool.
        backward_valid: (T-1, h, w) bool, the same for ``backward``.
    """
    height, width = forward.shape[1:3]
    x, y = np.meshgrid(np.arange(STEP / 2, width, STEP), np.arange(STEP / 2, height, STEP))
    start = np.stack([x.ravel(), y.ravel()], -1)
    at, alive = start, np.ones(len(start), np.bool_)
    there, back = zip(forward, forward_valid, strict=True), zip(backward[::-1], backward_valid[::-1], strict=True)
    for flow, valid in (*there, *back):
        column, row = np.rint(at).astype(int).T
        alive &= valid[np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)]
        at = at + look_up(flow, at[:, None])[:, 0]
    gap = np.hypot(*(at - start).T)
    return float(np.mean(alive & (gap <= HOME * np.hypot(width, height))))


# SSIM of consecutive frames.
#
# Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to structural similarity", IEEE
# TIP 2004. With local means μ, variances σ² and covariance under a Gaussian window,
#
#     SSIM = (2 μ₁ μ₂ + C₁)(2 σ₁₂ + C₂) / ((μ₁² + μ₂² + C₁)(σ₁² + σ₂² + C₂)).

SIGMA = 1.5
"""Standard deviation of the window in pixels (Wang et al., section III)."""
RADIUS = 5
"""Radius of the window (11 pixels wide, Wang et al.); positions whose window leaves the frame are not counted."""
C1 = (0.01 * 255) ** 2
C2 = (0.03 * 255) ** 2
"""Wang et al.'s constants for 256 grey levels."""


def ssim(frames: NDArray[np.uint8]) -> float:
    """Return the mean SSIM of consecutive frames: 1 for a still picture, higher is steadier.

    Args:
        frames: (T, H, W) uint8 grey levels, T at least 2, H and W at least 11.

    Raises:
        ValueError: Too few frames, or too small.
    """
    need_two(frames)
    if min(frames.shape[1:]) <= 2 * RADIUS:
        raise ValueError(f"Expected frames of at least {2 * RADIUS + 1} pixels a side but got {frames.shape[1:]}")
    pictures = (frame.astype(np.float64) for frame in frames)
    local = ((p, m := _window(p), _window(p * p) - m * m) for p in pictures)  # with local mean and variance
    values = []
    for (one, mean, variance), (other, other_mean, other_variance) in itertools.pairwise(local):
        product = mean * other_mean
        covariance = _window(one * other) - product
        above = (2 * product + C1) * (2 * covariance + C2)
        below = (mean**2 + other_mean**2 + C1) * (variance + other_variance + C2)
        values.append(float(np.mean(above / below)))
    return float(np.mean(values))


def _window(picture: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Gaussian mean around every pixel whose window lies in the picture."""
    blurred = cv2.GaussianBlur(picture, (2 * RADIUS + 1, 2 * RADIUS + 1), SIGMA)
    return np.asarray(blurred[RADIUS:-RADIUS, RADIUS:-RADIUS], np.float64)


# VBench's consistency of frames: the rule behind its subject (DINO) and background (CLIP) consistency.
#
# Huang et al., "VBench", CVPR 2024, and its released code: every frame but the first is compared with the one before
# it and with the first one.


def consistency(features: FloatArray) -> float:
    """Return how alike the frames are, the mean over t > 0 of (c(t−1, t) + c(0, t)) / 2: 0..1, higher is steadier.

    c(s, t) is the cosine of the vectors of frames s and t, or 0 where that is negative.

    Args:
        features: (T, D) one vector per frame, T at least 2, none of length 0.

    Raises:
        ValueError: Too few frames, or a vector of length 0.
    """
    need_two(features)
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    if not lengths.all():
        raise ValueError("Expected vectors that have a direction but got one of length 0")
    unit = features / lengths
    before = np.maximum(0, np.sum(unit[:-1] * unit[1:], axis=1))
    first = np.maximum(0, unit[1:] @ unit[0])
    return float(np.mean((before + first) / 2))


Picture = NDArray[np.uint8]


def interpolation_smoothness(frames: Picture, between: Callable[[Picture, Picture], Picture]) -> float:
    """Return (255 − D) / 255, D the mean absolute difference of odd and interpolated frames: higher is smoother.

    A last frame of odd number, which no frame follows, is left out.

    Args:
        frames: (T, H, W, 3) uint8, T at least 3.
        between: Returns the picture half way between two (H, W, 3) pictures.

    Raises:
        ValueError: Too few frames.
    """
    if len(frames) < 3:
        raise ValueError(f"Expected at least three frames but got {len(frames)}")
    errors = [
        float(cv2.absdiff(frames[2 * i + 1], between(a, b)).mean(dtype=np.float64))
        for i, (a, b) in enumerate(itertools.pairwise(frames[::2]))
    ]
    return (255 - float(np.mean(errors))) / 255
