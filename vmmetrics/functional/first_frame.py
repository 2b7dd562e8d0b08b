"""How well a clip keeps the picture it was to begin with: fidelity of its first frame, and what is lost over time.

SSIM is that of Wang, Bovik, Sheikh and Simoncelli, IEEE TIP 2004 (Gaussian window, σ 1.5, 11 pixels wide). It falls
with any motion, also of the camera; colours and sharpness hardly do, so that a loss of these is one of quality.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter, laplace

from vmmetrics.types import FloatArray, UInt8Array

_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
_RADIUS = 5  # of the window, pixels; positions whose window leaves the frame are not counted
LEAST_SIDE = 2 * _RADIUS + 1
"""Least side of frames, pixels: that of the window."""
_END = 0.2  # share of the clip that its end is
_BINS = 8  # of each colour
LEAST_DETAIL = 0.5
"""Mean absolute Laplacian, grey levels, below which a frame is flat: of a smooth gradient over 256 pixels it is 0.3."""
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


@dataclass(frozen=True, slots=True)
class FirstFrame:
    """Fidelity to a first frame.

    Attributes:
        fidelity: SSIM of the clip's first frame with the picture, -1..1.
        loss: Fidelity less the mean SSIM of its last fifth with the picture: the way it went, by motion or decay.
        colour_loss: Share of the colours of its first frame that its last fifth lacks, 0..1 (histogram intersection).
        sharpness: Fine detail of its last fifth as a share of its first frame's (mean absolute Laplacian), 0 or above;
            NaN where the first frame has less than :data:`LEAST_DETAIL`.
    """

    fidelity: float
    loss: float
    colour_loss: float
    sharpness: float


def first_frame(frames: UInt8Array, picture: UInt8Array) -> FirstFrame:
    """Compare a clip with the picture that it was to begin with.

    Args:
        frames: (T, H, W, 3) uint8 RGB, H and W of 11 or more.
        picture: (H, W, 3) uint8 RGB.

    Raises:
        ValueError: The picture has another size, or the frames are smaller.

    Example:
        >>> still = np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), np.uint8)[:1].repeat(6, axis=0)
        >>> found = first_frame(still, still[0])
        >>> round(found.fidelity, 6), round(found.loss, 6), found.colour_loss, found.sharpness
        (1.0, 0.0, 0.0, 1.0)
    """
    if frames.shape[1:] != picture.shape or min(picture.shape[:2]) < LEAST_SIDE:
        raise ValueError(f"Expected a picture of the frames' size, 11 or more a side, but got {picture.shape}")
    grey = picture @ _LUMA
    series = np.array([ssim(frame @ _LUMA, grey) for frame in frames])
    end = frames[-max(1, round(_END * len(frames))) :]
    first = _histogram(frames[:1])
    detail = _detail(frames[:1])
    sharpness = _detail(end) / detail if detail >= LEAST_DETAIL else np.nan
    loss = float(series[0] - series[-len(end) :].mean())
    lost = float(1 - np.minimum(first, _histogram(end)).sum())
    return FirstFrame(float(series[0]), loss, lost, float(sharpness))


def ssim(one: FloatArray, other: FloatArray) -> float:
    """Return the mean SSIM of two pictures.

    Args:
        one: (H, W) grey levels 0..255, H and W of 11 or more.
        other: (H, W) likewise.
    """
    first, second = one.astype(np.float64), other.astype(np.float64)
    means = _window(first), _window(second)
    variances = _window(first**2) - means[0] ** 2 + _window(second**2) - means[1] ** 2
    covariance = _window(first * second) - means[0] * means[1]
    over = (2 * means[0] * means[1] + _C1) * (2 * covariance + _C2)
    values = over / ((means[0] ** 2 + means[1] ** 2 + _C1) * (variances + _C2))
    inside = (slice(_RADIUS, -_RADIUS),) * 2
    return float(values[inside].mean())


def _window(values: FloatArray) -> FloatArray:
    return np.asarray(gaussian_filter(values, 1.5, radius=_RADIUS))


def _histogram(frames: UInt8Array) -> FloatArray:
    """Return the shares of the colours of frames, (512,)."""
    bins = frames.reshape(-1, 3) // (256 // _BINS)
    codes = (bins[:, 0].astype(np.int64) * _BINS + bins[:, 1]) * _BINS + bins[:, 2]
    return np.bincount(codes, minlength=_BINS**3) / len(codes)


def _detail(frames: UInt8Array) -> float:
    return float(np.mean([np.abs(laplace(frame @ _LUMA)).mean() for frame in frames]))
