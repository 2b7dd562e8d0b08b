"""Detection of clips without motion to judge: noise, a still image, a slide show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.types import FloatArray, UInt8Array

Kind = Literal["noise", "still", "slides"]

WIDTH = 256
"""Width of working images, pixels."""
BLOCK = 8
"""Side of the blocks whose mean brightness is compared over time, working pixels."""
SAME_LEVELS = 4.0
"""Range in grey levels within which a block is constant. Stills under sensor noise of 6 levels or H.264 at crf 35 vary
by up to 2.6, the slowest of 218 real, generated and rendered clips by 26."""
BLEND_LEVELS = 8.0
"""Residual in grey levels within which a frame is a blend of two stills."""
HOLD_SECONDS = 0.5
"""Shortest still, seconds; a shorter one is a stutter, which MSS scores."""
CHANGED_SHARE = 0.5
"""Least share of blocks that differ between two slides; where fewer do, something moved or vanished."""
LEAST_FALL = 2.8
"""Least spectral fall (:func:`spectral_fall`) of an image, in factors of two. Noise with grains of up to 4 working
pixels: -0.4 to 2.1; the flattest of the 218 clips: 3.8."""
_SPECTRUM = 128  # side, pixels, of the images whose spectrum is computed
_PICTURES = 9  # number of frames whose spectrum is computed


@dataclass(frozen=True, slots=True)
class Unjudgeable:
    """A clip without motion to judge.

    Attributes:
        kind: ``"noise"``, ``"still"`` (one image) or ``"slides"`` (several, one after another).
        reason: Reason of the missing scores, as recorded.
    """

    kind: Kind
    reason: str


def find_unjudgeable(clip: Clip) -> Unjudgeable | None:
    """Detect noise, stills and slide shows.

    Noise has as much power in fine detail as in large shapes. The blocks of a still have constant brightness; those of
    slides for at least half a second, and they change by a cut or a fade of the whole frame. A camera that moves over a
    still, and a still that flickers, are judged.

    Args:
        clip: At least one frame; a single one is only checked for noise.

    Returns:
        Kind and reason, or None for a clip to be judged.
    """
    grey = _grey(clip.frames)
    chosen = grey[np.linspace(0, len(grey) - 1, min(_PICTURES, len(grey))).astype(int)]
    falls = [fall for fall in map(spectral_fall, chosen) if fall is not None]
    if falls and np.median(falls) < LEAST_FALL:
        return Unjudgeable("noise", "the clip is noise: it contains no shape to follow")
    if len(grey) == 1:
        return None
    blocks = _blocks(grey)
    if np.ptp(blocks, axis=0).max() < SAME_LEVELS:
        return Unjudgeable("still", f"nothing moves: all {len(grey)} frames show the same image")
    holds = list(_holds(blocks, max(2, round(HOLD_SECONDS * clip.fps))))
    if holds and _only_changes(blocks, holds):
        images = f"{len(holds)} still images" if len(holds) > 1 else "one still image"
        return Unjudgeable("slides", f"nothing moves: {images}, with only cuts and fades between them")
    return None


def spectral_fall(picture: UInt8Array) -> float | None:
    """Return the fall of a grey image's power over three octaves, in factors of two; None for a plain one.

    From 2 to 4 waves across the image to 16 to 32. White noise has 0; the power of natural images falls with the
    square of the frequency, by 6 (Field, Journal of the Optical Society of America A 1987).
    """
    small = cv2.resize(picture, (_SPECTRUM, _SPECTRUM), interpolation=cv2.INTER_AREA).astype(np.float64)
    if np.ptp(small) < SAME_LEVELS:
        return None
    window = np.hanning(_SPECTRUM)
    power = np.abs(np.fft.fft2((small - small.mean()) * window[:, None] * window)) ** 2
    waves = np.fft.fftfreq(_SPECTRUM, 1 / _SPECTRUM)
    radius = np.hypot(waves[:, None], waves)
    low, high = (power[(radius >= start) & (radius < 2 * start)].mean() for start in (2, 16))
    return float(np.log2(low + 1) - np.log2(high + 1))


def _grey(frames: UInt8Array) -> UInt8Array:
    height = max(BLOCK, round(frames.shape[1] * WIDTH / frames.shape[2]))
    return np.stack(
        [
            cv2.resize(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), (WIDTH, height), interpolation=cv2.INTER_AREA)
            for frame in frames
        ]
    )


def _blocks(grey: UInt8Array) -> FloatArray:
    """Return (T, B), the mean brightness of the blocks of ``grey`` (T, h, w)."""
    t, rows, columns = len(grey), grey.shape[1] // BLOCK, grey.shape[2] // BLOCK
    cut = grey[:, : rows * BLOCK, : columns * BLOCK].reshape(t, rows, BLOCK, columns, BLOCK)
    means: FloatArray = cut.mean(axis=(2, 4), dtype=np.float64).reshape(t, -1)
    return means


def _holds(blocks: FloatArray, least: int) -> Iterator[tuple[int, int]]:
    """Yield first frame and end of each run of at least ``least`` frames in which every block is constant."""
    start = 0
    low = high = blocks[0]
    for t in range(1, len(blocks) + 1):
        if t < len(blocks):
            new_low, new_high = np.minimum(low, blocks[t]), np.maximum(high, blocks[t])
            if (new_high - new_low).max() < SAME_LEVELS:
                low, high = new_low, new_high
                continue
            low = high = blocks[t]
        if t - start >= least:
            yield start, t
        start = t


def _only_changes(blocks: FloatArray, holds: list[tuple[int, int]]) -> bool:
    """Return True if only cuts of the whole frame and fades, also to or from a plain image, separate ``holds``."""
    pictures = [np.median(blocks[start:end], axis=0) for start, end in holds]
    between = zip([0, *(end for _, end in holds)], [*(start for start, _ in holds), len(blocks)], strict=True)
    for k, (start, end) in enumerate(between):
        around = pictures[max(k - 1, 0) : k + 1]  # the hold before and the one after, of which one may lack
        if len(around) == 2:
            changed = np.abs(around[1] - around[0]) > SAME_LEVELS
            plain = min(np.ptp(picture) for picture in around) < SAME_LEVELS and end > start
            if changed.mean() < CHANGED_SHARE and not plain:
                return False
        base = np.column_stack([*around, np.ones(blocks.shape[1])])
        rest = blocks[start:end].T
        if rest.size and np.abs(rest - base @ np.linalg.lstsq(base, rest, rcond=None)[0]).max() > BLEND_LEVELS:
            return False
    return True
