"""A clip before it is a file: pictures of its frames, and where its markers are in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import cv2
import numpy as np

from vmmetrics.models.frames import FramePolicy, nearest
from vmmetrics.types import FloatArray
from vmmetrics.understanding.synthetic.drawing import IDENTITY, SIDE, Picture, Shape, marks, paint, room

Tracks = dict[str, FloatArray]
"""Of each marker (T, 2) pixels from the top left corner, NaN where it is not in the picture."""
MARGIN: Final = SIDE // 2
"""Pixels that the background of a moving camera goes on beyond each side of the canvas."""


@dataclass(frozen=True, slots=True)
class Dwell:
    """How short what decides is.

    Attributes:
        fps: Frames per second of the clip.
        frames: Frames that everything decisive lasts.
    """

    fps: int
    frames: int

    @property
    def min_fps(self) -> float:
        """Lowest rate at which no two frames shown are further apart."""
        return self.fps / self.frames

    def seconds(self, seconds: float) -> int:
        """Frames in some seconds."""
        return round(seconds * self.fps)


@dataclass(frozen=True, slots=True)
class Scene:
    """A clip.

    Attributes:
        fps: Frames per second.
        frames: Its length.
        shapes: From the number of a frame to what moves in it, in the coordinates of the world.
        background: What does not move: (SIDE, SIDE, 3), or with MARGIN around it where there is a camera.
        camera: From the number of a frame to a (2, 3) similarity from world to canvas; None where it never moves.
    """

    fps: int
    frames: int
    shapes: Callable[[int], Sequence[Shape]]
    background: Picture = field(default_factory=room)
    camera: Callable[[int], FloatArray] | None = None

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.frames / self.fps

    def picture(self, frame: int) -> Picture:
        """Draw a frame, (SIDE, SIDE, 3) uint8 RGB."""
        if self.camera is None:
            canvas, camera = self.background.copy(), IDENTITY
        else:
            camera = self.camera(frame)
            placed = camera.copy()
            placed[:, 2] -= camera[:, :2] @ (MARGIN, MARGIN)
            canvas = cv2.warpAffine(self.background, placed, (SIDE, SIDE)).astype(np.uint8, copy=False)
        paint(canvas, self.shapes(frame), camera)
        return canvas

    def tracks(self, frames: Sequence[int]) -> Tracks:
        """Where the markers are in some frames, from the description."""
        seen = [marks(self.shapes(i), IDENTITY if self.camera is None else self.camera(i)) for i in frames]
        names = sorted({name for at in seen for name in at})
        gone = (np.nan, np.nan)
        return {name: np.array([at.get(name, gone) for at in seen], np.float64).reshape(-1, 2) for name in names}

    def frames_at(self, rate: float, phase: float = 0.0) -> list[int]:
        """Frames that the policy ``<rate> fps`` shows.

        Args:
            rate: Frames per second.
            phase: Seconds by which all its moments are put off.
        """
        return sampled(self.frames, self.fps, rate, phase)


def sampled(frames: int, fps: float, rate: float, phase: float = 0.0) -> list[int]:
    """Frames of a clip with a steady beat that are shown at a rate, as :mod:`vmmetrics.models.frames` has it."""
    seconds = frames / fps
    moments = FramePolicy("fps", rate, most=10**9).moments(seconds)
    assert moments is not None  # noqa: S101  (only the policy "native" has none)
    moments = moments + phase
    moments = moments[moments < seconds]
    return [int(frame) for frame in nearest(np.arange(frames) / fps, np.arange(frames), moments)]


@dataclass(frozen=True, slots=True)
class Reading:
    """What has to be read off the frames, and what each option says about it.

    Attributes:
        kind: Of :data:`vmmetrics.understanding.synthetic.oracle.READERS`.
        markers: Which markers, in the order the kind wants them.
        values: Of each option.
    """

    kind: str
    markers: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A question with its clip.

    Attributes:
        scene: The clip.
        text: The question.
        options: Texts of the options.
        right: Index of the right one.
        reading: What decides.
        min_fps: Lowest rate at which it can be answered, whatever moments the frames are taken at.
        variant: What was drawn, in a word.
    """

    scene: Scene
    text: str
    options: tuple[str, ...]
    right: int
    reading: Reading
    min_fps: float
    variant: str
