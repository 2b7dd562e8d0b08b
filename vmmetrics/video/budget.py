"""Memory budget of a clip: limits checked on the header, and the frame size that fits into memory."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

import cv2
import numpy as np

from vmmetrics.errors import ClipError
from vmmetrics.types import UInt8Array

DEFAULT_MAX_MEMORY = 4 * 2**30
"""Bytes a clip may take while it is scored: 300 frames of 1080p, 390 of 720p or 450 of 480p at full size."""

WORKING_BYTES = 65
"""Bytes that perception holds at its peak per pixel of its working pictures, flow both ways above all
(``benchmarks/memory.py``)."""

MASK_BYTES = 16
"""The same per pixel of the motion masks, whose short side is at most :data:`MASK_SHORT_SIDE`."""

FRAME_BYTES = 64 * 2**10
"""Bytes that perception holds per frame whatever its size: maps of quality, tracks, masks of people."""

WORKING_SHORT_SIDE = 256
"""Short side of those working pictures where the clip is larger."""

MASK_SHORT_SIDE = 128
"""Short side of the motion masks where the clip is larger."""

MAX_PIXELS = 64 * 10**6
"""Pixels per frame above which a header is taken for damage or a decompression bomb; 8K UHD has 33 million."""

MAX_CLIP_PIXELS = 1000 * MAX_PIXELS
"""Pixels of all frames of a clip, above which it is refused before they are decoded: two minutes of 4K at 60 frames
per second have 60 thousand million, and take some minutes to decode."""

MAX_ANIMATION_PIXELS = 3 * 10**9
"""The same for GIF, APNG and WebP, whose whole canvas is rebuilt for every frame, at about 10 ns a pixel, however
small the file is: a minute of 1080p at 24 frames per second."""

MAX_PICTURE_BYTES = 8 * MAX_PIXELS
"""Bytes of one stored picture: the largest frame, uncompressed, with four channels of 16 bits."""

MIN_SIDE = 64
"""Short side in pixels at which downscaling for memory stops, as smaller objects cannot be distinguished."""

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class SizePlan:
    """Number of frames expected, and the size they are stored at.

    Attributes:
        count: Frames expected.
        full: (width, height) upright, in square pixels, before downscaling.
        stored: (width, height) after downscaling.
        max_memory: Bytes the clip may take while it is scored.
    """

    count: int
    full: tuple[int, int]
    stored: tuple[int, int]
    max_memory: int

    @property
    def note(self) -> str | None:
        """Text of the downscaling for :attr:`vmmetrics.clip.Clip.notes`, or None."""
        if self.full == self.stored:
            return None
        (width, height), (w, h) = self.full, self.stored
        return f"downscaled from {width}x{height} to {w}x{h} to stay within {self.max_memory / _MIB:g} MiB"


def check_size(width: int, height: int) -> None:
    """Refuse a frame size no real clip has, before anything is allocated for it.

    Raises:
        ClipError: The size is not positive or exceeds :data:`MAX_PIXELS`.
    """
    if width < 1 or height < 1:
        raise ClipError(f"Expected frames of at least one pixel but the header states {width}x{height}")
    if width * height > MAX_PIXELS:
        raise ClipError(
            f"Expected at most {MAX_PIXELS // 10**6} million pixels a frame but the header states {width}x{height}"
        )


def check_total(count: int, width: int, height: int, most: int = MAX_CLIP_PIXELS) -> None:
    """Refuse a clip whose frames have more than ``most`` pixels in all.

    Raises:
        ClipError: It has more.
    """
    if count * width * height > most:
        raise ClipError(
            f"{count} frames of {width}x{height} have {count * width * height / 1e6:.0f} million pixels, more than the "
            f"limit of {most / 1e6:.0f} million; cut it into shorter ones or make its frames smaller"
        )


def clip_bytes(count: int, width: int, height: int) -> int:
    """Return bytes that ``count`` frames of ``width`` x ``height`` take while they are scored: RGB and perception."""
    side, pixels = min(width, height), width * height
    working = pixels * min(1.0, WORKING_SHORT_SIDE / side) ** 2 * WORKING_BYTES
    masks = pixels * min(1.0, MASK_SHORT_SIDE / side) ** 2 * MASK_BYTES
    return count * (pixels * 3 + math.ceil(working + masks) + FRAME_BYTES)


def make_plan(count: int, width: int, height: int, max_memory: int, most: int = MAX_CLIP_PIXELS) -> SizePlan:
    """Choose the size at which ``count`` frames of ``width`` x ``height`` fit into ``max_memory`` bytes.

    Raises:
        ClipError: The size is absurd, the frames have more than ``most`` pixels in all, or the short side would fall
            below :data:`MIN_SIDE`; the text names a bound that would do.
    """
    check_size(width, height)
    check_total(count, width, height, most)
    full = (width, height)
    if clip_bytes(count, *full) <= max_memory:
        return SizePlan(count, full, full, max_memory)
    least = min(1.0, MIN_SIDE / min(full))
    smallest = (math.ceil(width * least), math.ceil(height * least))
    if clip_bytes(count, *smallest) > max_memory:
        needed = math.ceil(clip_bytes(count, *smallest) / _MIB)
        raise ClipError(
            f"{count} frames of {width}x{height} do not fit into {max_memory / _MIB:g} MiB with a short side of "
            f"at least {MIN_SIDE} pixels; max_memory of {needed} MiB is enough"
        )
    sizes = range(max(smallest), max(full))  # by the long side, so that every size keeps the aspect
    long = bisect_right(sizes, max_memory, key=lambda side: clip_bytes(count, *_scaled(full, side)))
    return SizePlan(count, full, _scaled(full, sizes[long - 1]) if long else smallest, max_memory)


def _scaled(size: tuple[int, int], long_side: int) -> tuple[int, int]:
    width, height = size
    longest = max(size)
    return max(1, width * long_side // longest), max(1, height * long_side // longest)


class FrameStore:
    """Collects the frames of one clip in a single array, each resized as it arrives.

    Args:
        plan: Expected count and size. More frames than expected are taken as long as the memory bound allows.
    """

    def __init__(self, plan: SizePlan) -> None:
        width, height = plan.stored
        self._plan = plan
        self._frames: UInt8Array = np.empty((max(1, plan.count), height, width, 3), np.uint8)
        self._used = 0

    def add(self, rgb: UInt8Array) -> None:
        """Keep a copy of one (H, W, 3) uint8 frame.

        Raises:
            ClipError: The bound on memory or on pixels is reached.
        """
        if self._used >= self._plan.count:
            check_total(self._used + 1, *self._plan.full)
        if self._used == len(self._frames):
            room = self._plan.max_memory // clip_bytes(1, *self._plan.stored)
            if room <= self._used:
                raise ClipError(
                    f"More frames than the {self._plan.count} expected do not fit into "
                    f"{self._plan.max_memory / _MIB:g} MiB; raise max_memory"
                )
            more = min(room, self._used * 2) - self._used
            self._frames = np.concatenate([self._frames, np.empty((more, *self._frames.shape[1:]), np.uint8)])
        width, height = self._plan.stored
        if rgb.shape[:2] == (height, width):
            self._frames[self._used] = rgb
        else:
            shrinks = rgb.shape[0] >= height and rgb.shape[1] >= width
            way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
            cv2.resize(rgb, (width, height), dst=self._frames[self._used], interpolation=way)
        self._used += 1

    @property
    def frames(self) -> UInt8Array:
        """(T, H, W, 3) uint8: the frames so far."""
        return self._frames[: self._used]

    def take(self) -> UInt8Array:
        """Return the frames so far and begin anew, so that frames can be handed on while others are decoded."""
        taken, self._used = self.frames, 0
        self._frames = np.empty((max(1, self._plan.count), *taken.shape[1:]), np.uint8)
        return taken
