"""Pictures to cut backgrounds and objects from: frames of real footage where there is some, and a procedural stand-in.

The procedural one is a dead-leaves picture (opaque shapes of power-law size, occluding one another) shaded by 1/f
noise: edges, flat parts and the spectrum of photographs, from a seed alone.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]

ROOT = Path(__file__).resolve().parents[2]
HELD_OUT_SEED = 10_000
"""Seeds from here on use the pictures that development seeds never see."""

_VIDEO = {".mp4", ".mkv", ".webm", ".mov", ".avi"}
_IMAGE = {".jpg", ".jpeg", ".png", ".webp"}
_POSITIONS = (0.05, 0.5, 0.9)  # where in a video pictures are taken; far enough apart to differ


class TextureBank:
    """Pictures of a few folders, divided into a development and a held-out half by file.

    Args:
        folders: Searched for videos and images; absent ones are skipped.
        held_out: Which half.
    """

    def __init__(self, folders: tuple[Path, ...], held_out: bool) -> None:
        files = sorted(
            path
            for folder in folders
            if folder.is_dir()
            for path in folder.iterdir()
            if path.suffix.lower() in _VIDEO | _IMAGE
        )
        self.sources = [
            (path, position)
            for path in files[int(held_out) :: 2]
            for position in (_POSITIONS if path.suffix.lower() in _VIDEO else (0.0,))
        ]

    def photo(self, rng: np.random.Generator) -> Picture:
        """Draw a picture (H, W, 3) uint8 RGB; a procedural one where there are no files."""
        if not self.sources:
            return procedural(rng)
        path, position = self.sources[rng.integers(len(self.sources))]
        return _load(path, position)


def default_bank(seed: int) -> TextureBank:
    """Return the bank for a seed: real footage beside the checkout, or else what lies in tests/data."""
    return _default_bank(seed >= HELD_OUT_SEED)


@lru_cache(maxsize=2)
def _default_bank(held_out: bool) -> TextureBank:
    footage = ROOT.parent / "shared" / "real-clips"
    return TextureBank((footage if footage.is_dir() else ROOT / "tests" / "data",), held_out)


@lru_cache(maxsize=24)
def _load(path: Path, position: float) -> Picture:
    if path.suffix.lower() in _IMAGE:
        picture = cv2.imread(str(path), cv2.IMREAD_COLOR)
        if picture is None:
            raise ValueError(f"Expected an image but could not read {path}")
        return np.ascontiguousarray(picture[..., ::-1])
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "NONE"
        duration = container.duration or 0
        container.seek(int(duration * position))
        frame = next(container.decode(stream))
        return np.ascontiguousarray(frame.to_ndarray(format="rgb24"))


def pink_noise(rng: np.random.Generator, height: int, width: int, slope: float = 1.0) -> NDArray[np.float32]:
    """Noise (height, width) float32 of mean 0 and deviation 1 whose amplitude falls as 1/f**slope."""
    fy = np.fft.fftfreq(height)[:, None]
    fx = np.fft.rfftfreq(width)[None]
    frequency = np.hypot(fx, fy)
    frequency[0, 0] = np.inf
    phase = np.exp(2j * np.pi * rng.random(frequency.shape))
    noise = np.fft.irfft2(phase / frequency**slope, s=(height, width))
    return np.asarray(noise / noise.std(), dtype=np.float32)


def procedural(rng: np.random.Generator, size: tuple[int, int] = (1280, 720)) -> Picture:
    """Draw a dead-leaves picture (height, width, 3) uint8."""
    width, height = size
    canvas = np.full((height, width, 3), rng.integers(60, 190, 3), np.uint8)
    hue = rng.uniform(40, 210, 3)
    # Radii fall as r^-2 (density r^-3): the law under which the picture has no scale of its own.
    radii = np.sort(4.0 / np.sqrt(rng.uniform(4.0**2 / 220.0**2, 1.0, 1600)))[::-1]
    for radius in radii:
        colour = np.clip(hue + rng.normal(0, 55, 3) + rng.normal(0, 25), 5, 250)
        corners = rng.integers(4, 40)
        angle = np.sort(rng.uniform(0, 2 * np.pi, corners))
        radial = radius * rng.uniform(0.75, 1.0, corners)
        outline = np.stack([np.cos(angle), np.sin(angle)], -1) * radial[:, None] + rng.uniform(0, size)
        points = np.round(outline * 16).astype(np.int32)
        cv2.fillPoly(canvas, [points], colour.tolist(), lineType=cv2.LINE_AA, shift=4)
    shading = 16 * pink_noise(rng, height, width)
    grain = 5 * pink_noise(rng, height, width, 0.4)
    return np.clip(canvas + (shading + grain)[..., None], 0, 255).astype(np.uint8)


def plain(rng: np.random.Generator, size: tuple[int, int] = (1280, 720)) -> Picture:
    """Draw a gradient with next to no texture, (height, width, 3) uint8."""
    width, height = size
    soft = cv2.resize(pink_noise(rng, height // 8, width // 8, 2.0), size, interpolation=cv2.INTER_CUBIC)
    base = rng.uniform(90, 170, 3) + 12 * soft[..., None] * rng.uniform(0.6, 1.0, 3)
    return np.clip(base + rng.normal(0, 0.5, (height, width, 1)), 0, 255).astype(np.uint8)


def cut_out(
    picture: Picture, size: tuple[int, int], away_from: NDArray[np.floating], rng: np.random.Generator
) -> NDArray[np.float32]:
    """Cut a piece with contrast of its own and against a colour.

    Of a few random places the first that has both is taken, or else the one with most: a cut-out that nobody
    could tell from the background would make a clip without truth.

    Args:
        picture: (H, W, 3) uint8 to cut from.
        size: (width, height) wanted.
        away_from: (3,) colour of the background.
        rng: Where from.

    Returns:
        (height, width, 3) float32 in 0..255.
    """
    height, width = picture.shape[:2]
    short = min(height, width)
    best, best_contrast = None, -1.0
    for _ in range(8):
        crop = int(np.clip(rng.uniform(0.25, 0.6) * short, min(max(size) / 3, 0.9 * short), 0.9 * short))
        x, y = rng.integers(0, width - crop), rng.integers(0, height - crop)
        patch = picture[y : y + crop, x : x + crop]
        spread = float(patch.std(axis=(0, 1)).mean())
        distance = float(np.abs(patch.mean(axis=(0, 1)) - away_from).mean())
        contrast = min(spread / 30.0, 1.0) + min(distance / 40.0, 1.0)
        if contrast > best_contrast:
            best, best_contrast = patch, contrast
        if contrast == 2.0:
            break
    assert best is not None
    side = max(size)
    method = cv2.INTER_AREA if best.shape[0] > side else cv2.INTER_CUBIC
    square = cv2.resize(best, (side, side), interpolation=method)
    x, y = (side - size[0]) // 2, (side - size[1]) // 2
    return np.clip(square[y : y + size[1], x : x + size[0]], 0, 255).astype(np.float32)
