"""What a clip shows that no metric of motion can judge: noise, a still picture, a series of still pictures."""

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
"""Working pixels across."""
BLOCK = 8
"""Side of the blocks whose mean brightness is compared over time, working pixels."""
SAME_LEVELS = 4.0
"""Grey levels within which a block is the same. Stills under sensor noise of 6 levels or H.264 at crf 35 vary by up to
2.6, the slowest of 218 real, generated and rendered clips by 26."""
BLEND_LEVELS = 8.0
"""Grey levels within which a frame is a mixture of two stills."""
HOLD_SECONDS = 0.5
"""A picture that stands for less is a stutter, which smoothness judges."""
CHANGED_SHARE = 0.5
"""Share of blocks that differ between two slides; where less does, something in the picture moved or vanished."""
LEAST_FALL = 2.8
"""Factors of two by which the power of a picture falls from 2 to 16 waves across to twice that. Noise of grains up to
4 working pixels: -0.4 to 2.1; the flattest of the 218 clips: 3.8."""
_SPECTRUM = 128  # side of the picture that the spectrum is taken of
_PICTURES = 9  # frames whose spectrum is looked at


@dataclass(frozen=True, slots=True)
class Unjudgeable:
    """Why a clip has no motion to judge.

    Attributes:
        kind: ``"noise"``, ``"still"`` (one picture) or ``"slides"`` (several, one after another).
        reason: In words, for the records of missing scores.
    """

    kind: Kind
    reason: str


def find_unjudgeable(clip: Clip) -> Unjudgeable | None:
    """Tell noise, stills and slide shows from clips in which something moves.

    Noise has as much power in fine detail as in large shapes. A still's blocks keep their brightness; slides keep it
    for half a second at least and change by a cut or a fade, as a whole. A camera that moves over a still, and a still
    that flickers, are judged.

    Args:
        clip: At least one frame; a single one is only looked at for noise.

    Returns:
        What it is, or None for a clip to be judged.
    """
    grey = _grey(clip.frames)
    chosen = grey[np.linspace(0, len(grey) - 1, min(_PICTURES, len(grey))).astype(int)]
    falls = [fall for fall in map(spectral_fall, chosen) if fall is not None]
    if falls and np.median(falls) < LEAST_FALL:
        return Unjudgeable("noise", "the clip is noise: no shape in it can be followed")
    if len(grey) == 1:
        return None
    blocks = _blocks(grey)
    if np.ptp(blocks, axis=0).max() < SAME_LEVELS:
        return Unjudgeable("still", f"nothing moves: all {len(grey)} frames show the same picture")
    holds = list(_holds(blocks, max(2, round(HOLD_SECONDS * clip.fps))))
    if holds and _only_changes(blocks, holds):
        pictures = f"{len(holds)} still pictures" if len(holds) > 1 else "one still picture"
        return Unjudgeable("slides", f"nothing moves: {pictures}, with nothing but cuts and fades in between")
    return None


def spectral_fall(picture: UInt8Array) -> float | None:
    """Fall of a grey picture's power over three octaves, in factors of two; None for a plain one.

    From 2 to 4 waves across the picture to 16 to 32. White noise has 0; of natural pictures the power falls with the
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
    """(T, B) mean brightness of the blocks of (T, h, w)."""
    t, rows, columns = len(grey), grey.shape[1] // BLOCK, grey.shape[2] // BLOCK
    cut = grey[:, : rows * BLOCK, : columns * BLOCK].reshape(t, rows, BLOCK, columns, BLOCK)
    means: FloatArray = cut.mean(axis=(2, 4), dtype=np.float64).reshape(t, -1)
    return means


def _holds(blocks: FloatArray, least: int) -> Iterator[tuple[int, int]]:
    """First frame and end of each run of ``least`` frames or more in which every block stays the same."""
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
    """Whether all between the holds are cuts of the whole picture, and fades between them, from plain or to plain."""
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
