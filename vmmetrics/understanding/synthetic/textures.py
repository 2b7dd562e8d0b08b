"""Textures of backgrounds and cloth from noise, reproducible by seed.

All are near grey, with red, green and blue within :data:`CHROMA` of each other, so that nothing but a marker has a
marker's colour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np

from vmmetrics.types import FloatArray
from vmmetrics.understanding.synthetic.figures import GROUND, SIDE, WALL, Colour, Picture

CHROMA: Final = 28
"""Largest difference between a texture's colour channels, 0 to 255: markers have 126 and more."""
GRAIN: Final = 22
"""Largest darkening of cloth, 0 to 255, within the frame reader's tolerance of marker colours."""
_TONES: Final[tuple[Colour, ...]] = (
    (176, 164, 150), (150, 158, 148), (164, 150, 138), (138, 148, 160), (182, 178, 156), (128, 138, 122),
    (148, 140, 152), (196, 192, 186),
)  # fmt: skip
"""Colours of walls and grounds."""
_INKS: Final[tuple[Colour, ...]] = ((58, 64, 76), (82, 66, 58), (56, 72, 60), (78, 70, 84), (44, 44, 48))
"""Colours of figures."""
_CONTRAST: Final = 17.0
"""Standard deviation of a background texture, 0 to 255."""
_COARSEST: Final = 7
"""Cells per side of the coarsest noise: SIDE is this times a power of two."""
_SHADE: Final = 24.0
"""Largest brightness difference between two sides of the background, 0 to 255."""


def _noise(rng: np.random.Generator, side: int, roughness: float, stretch: int = 1) -> FloatArray:
    """Return a sum of noises from coarse to fine, (side, side), mean 0 and standard deviation 1.

    Args:
        rng: Of the noise.
        side: Pixels.
        roughness: Power of the size by which finer noise is weaker: 0.5 is gravel, 1.5 are clouds.
        stretch: Times that the grain is as long downwards as across.
    """
    cells = _COARSEST
    noise: FloatArray = rng.standard_normal((cells, cells), np.float32)
    while cells < side:
        cells = min(2 * cells, side)
        finer = rng.standard_normal((max(2, cells // stretch), cells), np.float32)
        if stretch > 1:
            finer = _resized(finer, cells)
        noise = _resized(noise, cells)
        noise += (cells / _COARSEST) ** -roughness * finer
    middle, deviation = cv2.meanStdDev(noise)
    normal: FloatArray = (noise - np.float32(middle.item())) / np.float32(deviation.item())
    return normal


def _resized(values: FloatArray, side: int) -> FloatArray:
    resized: FloatArray = cv2.resize(values, (side, side), interpolation=cv2.INTER_CUBIC).astype(np.float32, copy=False)
    return resized


_MORTAR: Final = 3
"""Width of mortar between bricks, pixels."""


def _bricks(rng: np.random.Generator, side: int) -> FloatArray:
    """Return rows of bricks in different tones, with mortar between them."""
    high, wide = int(rng.integers(16, 28)), int(rng.integers(36, 60))
    bricks = 0.5 * _noise(rng, side, 0.5)
    for row, top in enumerate(range(0, side, high)):
        across = np.arange(side) + row % 2 * (wide // 2)
        tones = 0.8 * rng.standard_normal(side // wide + 2, np.float32)
        bricks[top : top + high] += np.where(across % wide < _MORTAR, np.float32(1.8), tones[across // wide])
        bricks[top : top + _MORTAR] = 1.8
    return bricks


def _planks(rng: np.random.Generator, side: int) -> FloatArray:
    """Return boards side by side, with grain along them."""
    wide = int(rng.integers(40, 72))
    board = np.arange(side) // wide
    tones = 0.7 * rng.standard_normal(side // wide + 1, np.float32)[board]
    return _noise(rng, side, 0.6, stretch=8) + np.where(np.arange(side) % wide < 2, np.float32(-2), tones)


_KINDS: Final[tuple[Callable[[np.random.Generator, int], FloatArray], ...]] = (
    lambda rng, side: _noise(rng, side, 0.5),
    lambda rng, side: _noise(rng, side, 1.2),
    _bricks,
    _planks,
)


@dataclass(frozen=True, slots=True)
class Textures:
    """Textures of a clip.

    Attributes:
        seed: Of the background.
        ink: Colour of figures.
        light: Colour of limbs where light falls on them.
        grain: (SIDE, SIDE, 3) steps of 255 by which shapes are darker.
    """

    seed: int
    ink: Colour
    light: Colour
    grain: Picture

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Textures:
        """Draw random textures."""
        red, green, blue = _INKS[int(rng.integers(len(_INKS)))]
        noise = _noise(rng, SIDE, float(rng.uniform(0.3, 0.8)))
        if rng.random() < 0.5:  # woven
            across = np.sin(2 * np.pi * np.arange(SIDE) / int(rng.integers(8, 14)))
            noise = 0.5 * noise + across[:, None] * rng.random() + across[None, :] * rng.random()
        steps = np.clip(GRAIN / 2 + GRAIN / 3 * noise / noise.std(), 0, GRAIN).astype(np.uint8)
        light = (red + 45, green + 45, blue + 45)
        return cls(int(rng.integers(2**31)), (red, green, blue), light, np.repeat(steps[..., None], 3, axis=2))

    def covered(self, background: Picture) -> Picture:
        """Return a background with different textures for wall, ground and everything else."""
        rng = np.random.default_rng(self.seed)
        side = len(background)
        tones = rng.permutation(len(_TONES))
        kinds = rng.integers(len(_KINDS), size=3)
        textured, angle = background.copy(), rng.uniform(0, 2 * np.pi)
        along = np.linspace(-_SHADE / 2, _SHADE / 2, side, dtype=np.float32)
        shade = np.float32(np.cos(angle)) * along + np.float32(np.sin(angle)) * along[:, None]
        wall, ground = (np.asarray(cv2.inRange(background, colour, colour), bool) for colour in (WALL, GROUND))
        for tone, where in zip(tones, (wall, ground), strict=False):
            np.copyto(textured, np.array(_TONES[tone], np.uint8), where=where[..., None])
        bumps = shade
        for kind, where in zip(kinds, (wall, ground, ~(wall | ground)), strict=True):
            if where.any():
                texture = _KINDS[kind](rng, side)
                np.add(bumps, texture * np.float32(_CONTRAST / texture.std()), out=bumps, where=where)
        covered: Picture = np.clip(textured + np.round(bumps[..., None]), 0, 255).astype(np.uint8)
        return covered
