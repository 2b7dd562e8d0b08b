"""What a clip may cost: limits refused from the header alone, and the size it is stored at to fit into memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import ClipError

DEFAULT_MAX_MEMORY = 512 * 2**20
"""Bytes of RGB frames a clip may take: 49 frames of 1080p, 194 of 720p or 497 of 480p at full size."""

MAX_PIXELS = 64 * 10**6
"""Pixels per frame above which a header is taken for damage or a decompression bomb; 8K UHD has 33 million."""

MIN_SIDE = 96
"""Short side that downscaling for memory stops at: below it people and small objects can no longer be told apart."""

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Plan:
    """How many frames are expected and the size they are kept at.

    Attributes:
        count: Frames expected.
        full: (width, height) upright, in square pixels, before downscaling.
        kept: (width, height) as kept.
        max_memory: Bytes the frames may take together.
    """

    count: int
    full: tuple[int, int]
    kept: tuple[int, int]
    max_memory: int

    @property
    def note(self) -> str | None:
        """What was done to the size, for :attr:`vmmetrics.clip.Clip.notes`, or None."""
        if self.full == self.kept:
            return None
        (width, height), (w, h) = self.full, self.kept
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


def make_plan(count: int, width: int, height: int, max_memory: int) -> Plan:
    """Choose the size at which ``count`` frames of ``width`` x ``height`` fit into ``max_memory`` bytes.

    Raises:
        ClipError: The size is absurd, or the short side would fall below :data:`MIN_SIDE`; the text names a
            bound that would do.
    """
    check_size(width, height)
    full = (width, height)
    if count * width * height * 3 <= max_memory:
        return Plan(count, full, full, max_memory)
    scale = math.sqrt(max_memory / (count * width * height * 3))
    kept = (max(1, math.floor(width * scale)), max(1, math.floor(height * scale)))
    if min(kept) < min(MIN_SIDE, width, height):
        least = min(1.0, MIN_SIDE / min(full))
        needed = math.ceil(count * math.ceil(width * least) * math.ceil(height * least) * 3 / _MIB)
        raise ClipError(
            f"{count} frames of {width}x{height} do not fit into {max_memory / _MIB:g} MiB with a short side of "
            f"at least {MIN_SIDE} pixels; max_memory of {needed} MiB would do"
        )
    return Plan(count, full, kept, max_memory)


class FrameStore:
    """Collects the frames of one clip in a single array, each resized as it arrives.

    Args:
        plan: Expected count and size. More frames than expected are taken as long as the memory bound allows.
    """

    def __init__(self, plan: Plan) -> None:
        width, height = plan.kept
        self._plan = plan
        self._frames: NDArray[np.uint8] = np.empty((max(1, plan.count), height, width, 3), np.uint8)
        self._used = 0

    def add(self, rgb: NDArray[np.uint8]) -> None:
        """Keep a copy of one (H, W, 3) uint8 frame.

        Raises:
            ClipError: The memory bound is reached.
        """
        if self._used == len(self._frames):
            self._grow()
        width, height = self._plan.kept
        if rgb.shape[:2] == (height, width):
            self._frames[self._used] = rgb
        else:
            shrinks = rgb.shape[0] >= height and rgb.shape[1] >= width
            way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
            cv2.resize(rgb, (width, height), dst=self._frames[self._used], interpolation=way)
        self._used += 1

    def _grow(self) -> None:
        frame_bytes = self._frames[0].nbytes
        room = self._plan.max_memory // frame_bytes
        if room <= self._used:
            raise ClipError(
                f"More frames than the {self._plan.count} expected do not fit into "
                f"{self._plan.max_memory / _MIB:g} MiB; raise max_memory"
            )
        more = min(room, self._used * 2) - self._used
        self._frames = np.concatenate([self._frames, np.empty((more, *self._frames.shape[1:]), np.uint8)])

    def __len__(self) -> int:
        return self._used

    @property
    def frames(self) -> NDArray[np.uint8]:
        """(T, H, W, 3) uint8: the frames so far."""
        return self._frames[: self._used]
