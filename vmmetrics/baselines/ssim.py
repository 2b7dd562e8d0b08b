"""SSIM of consecutive frames.

Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to structural similarity", IEEE TIP
2004. With local means μ, variances σ² and covariance under a Gaussian window,

    SSIM = (2 μ₁ μ₂ + C₁)(2 σ₁₂ + C₂) / ((μ₁² + μ₂² + C₁)(σ₁² + σ₂² + C₂)).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.baselines.frames import need_two

SIGMA = 1.5
"""Deviation of the window in pixels (Wang et al., section III)."""
RADIUS = 5
"""The window is 11 pixels wide (likewise); results whose window leaves the picture are not counted."""
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
    values = []
    before = _Local.of(frames[0])
    for frame in frames[1:]:
        now = _Local.of(frame)
        values.append(_mean_ssim(before, now))
        before = now
    return float(np.mean(values))


@dataclass(frozen=True, slots=True)
class _Local:
    """A picture with its local mean and variance."""

    picture: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]

    @classmethod
    def of(cls, frame: NDArray[np.uint8]) -> _Local:
        picture = frame.astype(np.float64)
        mean = _window(picture)
        return cls(picture, mean, _window(picture * picture) - mean * mean)


def _mean_ssim(a: _Local, b: _Local) -> float:
    product = a.mean * b.mean
    covariance = _window(a.picture * b.picture) - product
    above = (2 * product + C1) * (2 * covariance + C2)
    below = (a.mean**2 + b.mean**2 + C1) * (a.variance + b.variance + C2)
    return float(np.mean(above / below))


def _window(picture: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gaussian mean around every pixel whose window lies in the picture."""
    blurred = cv2.GaussianBlur(picture, (2 * RADIUS + 1, 2 * RADIUS + 1), SIGMA)
    return np.asarray(blurred[RADIUS:-RADIUS, RADIUS:-RADIUS], np.float64)
