"""Spoilt frames: single frames, or a few, that come out blurred, noisy, blocky, doubly exposed or melted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.perturbations.timing import graded
from vmmetrics.alignment.perturbations.warps import Frames

GLITCHES = ("blur", "noise", "blocking", "ghost", "warp")

# At strengths 0.25, 0.5 and 1: from just visible when stepping through the frames to glaring. The third of four
# places lies midway, so that the three keep their values.
BLUR_SIGMA = (1.2, 2.2, 3.1, 4.0)  # pixels at 480 lines
NOISE_SIGMA = (8.0, 16.0, 24.0, 32.0)  # grey levels
JPEG_QUALITY = (14, 7, 5, 3)
GHOST_WEIGHT = (0.25, 0.35, 0.425, 0.5)
WARP_PIXELS = (2.5, 5.0, 7.5, 10.0)  # at 480 lines

BURST = 2
"""Frames spoilt in a row by :func:`burst_frames`: what one slip of a generator takes."""
_GHOST_DELAY = 4  # frames between the two pictures of a double exposure


def burst_frames(count: int, fps: float, rng: np.random.Generator) -> tuple[int, ...]:
    """Draw which of ``count`` frames are spoilt: :data:`BURST` in a row in every second of the clip."""
    seconds = max(1, round(min(count, count / fps)))
    edges = np.linspace(0, count, seconds + 1).astype(int)
    starts = [int(rng.integers(a, max(a + 1, b - BURST))) for a, b in pairwise(edges)]
    return tuple(t for start in starts for t in range(start, start + BURST) if t < count)


def spoil(frames: Frames, kind: str, strength: float, where: Sequence[int], rng: np.random.Generator) -> None:
    """Spoil frames of a clip in place.

    Args:
        frames: (T, H, W, 3) uint8.
        kind: One of :data:`GLITCHES`.
        strength: In (0, 1].
        where: Indices of the frames to spoil.
        rng: Draws noise, and the place and shape of what melts.

    Raises:
        ValueError: Unknown kind.
    """
    if kind not in GLITCHES:
        raise ValueError(f"Expected a kind of glitch among {GLITCHES} but got {kind!r}")
    lines = frames.shape[1] / 480
    clean = {t: frames[max(t, 0)].copy() for f in where for t in (f, f - _GHOST_DELAY)}
    field = _melt(rng, frames.shape[1:3], graded(strength, WARP_PIXELS) * lines)
    shift = rng.uniform(0.02, 0.04, 2) * rng.choice([-1, 1], 2) * frames.shape[2]
    for t in where:
        image = clean[t]
        if kind == "blur":
            image = cv2.GaussianBlur(image, (0, 0), graded(strength, BLUR_SIGMA) * lines)
        elif kind == "noise":
            noise = rng.normal(0, graded(strength, NOISE_SIGMA), image.shape)
            image = np.clip(image + noise, 0, 255).astype(np.uint8)
        elif kind == "blocking":
            quality = [cv2.IMWRITE_JPEG_QUALITY, round(graded(strength, JPEG_QUALITY, none=100))]
            image = cv2.imdecode(cv2.imencode(".jpg", image, quality)[1], cv2.IMREAD_COLOR)
        elif kind == "ghost":
            image = _ghost(image, clean[t - _GHOST_DELAY], shift, graded(strength, GHOST_WEIGHT))
        else:
            image = cv2.remap(image, field[..., 0], field[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        frames[t] = image


def _ghost(image: Frames, other: Frames, shift: NDArray[np.floating], weight: float) -> Frames:
    """Lay an earlier frame, displaced, over this one: a double exposure."""
    moved = np.array([[1.0, 0.0, shift[0]], [0.0, 1.0, shift[1] * 0.5]])
    ghost = cv2.warpAffine(other, moved, image.shape[1::-1], borderMode=cv2.BORDER_REFLECT)
    return np.asarray(cv2.addWeighted(image, 1 - weight, ghost, weight, 0), np.uint8)


def _melt(rng: np.random.Generator, size: tuple[int, int], pixels: float) -> NDArray[np.float32]:
    """Return a sampling map (H, W, 2) that melts a round region of about a third of the frame's height."""
    height, width = size
    y, x = np.mgrid[:height, :width].astype(np.float32)
    centre = rng.uniform(0.35, 0.65, 2) * (width, height)
    window = np.exp(-((x - centre[0]) ** 2 + (y - centre[1]) ** 2) / (2 * (0.22 * height) ** 2))
    wave = 2 * np.pi / (0.1 * height)
    phase = rng.uniform(0, 2 * np.pi, 4)
    dx = np.sin(wave * y + phase[0]) + 0.6 * np.sin(1.7 * wave * (x + y) + phase[1])
    dy = np.sin(wave * x + phase[2]) + 0.6 * np.sin(1.4 * wave * (x - y) + phase[3])
    return np.stack([x + pixels * window * dx, y + pixels * window * dy], -1).astype(np.float32)
