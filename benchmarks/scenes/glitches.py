"""Spoiling frames: the defects of single frames that generated clips show."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.scenes.spec import GlitchSpec

Frames = NDArray[np.uint8]

# What weak, medium and strong mean: from just visible when stepping through the frames to glaring.
BLUR_SIGMA = {"weak": 1.2, "medium": 2.2, "strong": 4.0}  # pixels at 480 lines
NOISE_SIGMA = {"weak": 8.0, "medium": 16.0, "strong": 32.0}  # grey levels
JPEG_QUALITY = {"weak": 14, "medium": 7, "strong": 3}
GHOST_WEIGHT = {"weak": 0.25, "medium": 0.35, "strong": 0.5}
WARP_PIXELS = {"weak": 2.5, "medium": 5.0, "strong": 10.0}  # at 480 lines


def spoil(frames: Frames, glitch: GlitchSpec, rng: np.random.Generator) -> None:
    """Spoil the frames (T, H, W, 3) that ``glitch`` names, in place."""
    clean = {t: frames[t].copy() for t in range(len(frames)) if any(abs(t - f) <= 6 for f in glitch.frames)}
    lines = frames.shape[1] / 480
    field = _melt(rng, frames.shape[1:3], WARP_PIXELS[glitch.strength] * lines)
    shift = rng.uniform(0.02, 0.04, 2) * rng.choice([-1, 1], 2) * frames.shape[2]
    for t in glitch.frames:
        image = clean[t]
        if glitch.kind == "blur":
            image = cv2.GaussianBlur(image, (0, 0), BLUR_SIGMA[glitch.strength] * lines)
        elif glitch.kind == "noise":
            noise = rng.normal(0, NOISE_SIGMA[glitch.strength], image.shape)
            image = np.clip(image + noise, 0, 255).astype(np.uint8)
        elif glitch.kind == "blocking":
            quality = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY[glitch.strength]]
            image = cv2.imdecode(cv2.imencode(".jpg", image, quality)[1], cv2.IMREAD_COLOR)
        elif glitch.kind == "ghost":
            image = _ghost(image, clean[max(t - 4, min(clean))], shift, GHOST_WEIGHT[glitch.strength])
        elif glitch.kind == "warp":
            image = cv2.remap(image, field[..., 0], field[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        else:
            raise ValueError(f"Expected a kind of glitch but got {glitch.kind!r}")
        frames[t] = image


def _ghost(image: Frames, other: Frames, shift: NDArray[np.floating], weight: float) -> Frames:
    """Lay an earlier frame, displaced, over this one: a double exposure."""
    moved = np.array([[1.0, 0.0, shift[0]], [0.0, 1.0, shift[1] * 0.5]])
    ghost = cv2.warpAffine(other, moved, image.shape[1::-1], borderMode=cv2.BORDER_REFLECT)
    return np.asarray(cv2.addWeighted(image, 1 - weight, ghost, weight, 0))


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
