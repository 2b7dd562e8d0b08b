"""The clip: decoded frames with their times, prompt and subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import ClipError


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of a clip.

    Attributes:
        noun: Head noun for a detector (``"horse"``).
        phrase: The noun with its modifiers (``"a black horse"``).
        source: Origin of the subject: ``"list"``, ``"option"``, ``"rule"`` or ``"spacy"``.
    """

    noun: str
    phrase: str
    source: str


@dataclass(frozen=True, slots=True)
class Clip:
    """One decoded clip.

    Attributes:
        frames: (T, H, W, 3) uint8 RGB, contiguous, upright, alpha composited.
        timestamps: (T,) float64 seconds from the first frame, strictly increasing.
        fps: Mean frame rate, frames per second.
        name: Name shown to the user: path relative to the root, or an id.
        prompt: Text it was generated from, or None.
        subject: Subject, or None.
        size: (width, height) of the clip as stored, before any downscaling for memory.
        notes: Assumptions and changes of the reader, as text (assumed frame rate, downscaling, ...).
        tags: Tags of the prompt list on the expected motion; ``{"skeleton": "none"}``: no body is expected.
        codec: Name of the codec that the frames were stored with (``"h264"``), or None where there is none.
    """

    frames: NDArray[np.uint8]
    timestamps: NDArray[np.float64]
    fps: float
    name: str = "clip"
    prompt: str | None = None
    subject: Subject | None = None
    size: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = field(default=())
    tags: Mapping[str, str | float] = field(default_factory=dict)
    codec: str | None = None

    def __post_init__(self) -> None:
        frames = self.frames
        if frames.ndim != 4 or frames.shape[-1] != 3 or frames.dtype != np.uint8:
            raise ClipError(f"Expected frames (T, H, W, 3) uint8 but got {frames.shape} {frames.dtype}")
        if min(frames.shape[:3]) < 1:
            raise ClipError(f"Expected at least one frame of one pixel but got {frames.shape}")
        if self.timestamps.shape != (len(frames),):
            raise ClipError(f"Expected {len(frames)} timestamps but got {self.timestamps.shape}")
        if len(frames) > 1 and not np.all(np.diff(self.timestamps) > 0):
            raise ClipError("Expected strictly increasing timestamps")
        if not (np.isfinite(self.fps) and self.fps > 0):
            raise ClipError(f"Expected a positive frame rate but got {self.fps}")
        if self.size == (0, 0):
            object.__setattr__(self, "size", (frames.shape[2], frames.shape[1]))

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def width(self) -> int:
        """Width of the frames in pixels."""
        return int(self.frames.shape[2])

    @property
    def height(self) -> int:
        """Height of the frames in pixels."""
        return int(self.frames.shape[1])
