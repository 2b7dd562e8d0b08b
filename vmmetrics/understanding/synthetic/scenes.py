"""Scenes: the frames of a clip and the positions of its markers, before encoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import cv2
import numpy as np

from vmmetrics.models.frames import FramePolicy, nearest
from vmmetrics.types import FloatArray
from vmmetrics.understanding.synthetic.figures import IDENTITY, PIXELS, SIDE, Picture, Shape, marks, paint, room
from vmmetrics.understanding.synthetic.textures import Textures

Tracks = dict[str, FloatArray]
"""Position of each marker, (T, 2) pixels from the top left corner, NaN where it is out of the frame."""
MARGIN: Final = SIDE // 2
"""Pixels by which the background of a moving camera exceeds the canvas on each side."""


@dataclass(frozen=True, slots=True)
class Dwell:
    """Duration of the decisive motion.

    Attributes:
        fps: Frames per second of the clip.
        frames: Frames that everything decisive lasts.
    """

    fps: int
    frames: int

    @property
    def min_fps(self) -> float:
        """Lowest rate at which no gap between shown frames exceeds the dwell, frames per second."""
        return self.fps / self.frames

    def seconds(self, seconds: float) -> int:
        """Return the frames in some seconds."""
        return round(seconds * self.fps)


@dataclass(frozen=True, slots=True)
class DrawnScene:
    """A drawn clip.

    Attributes:
        fps: Frames per second.
        frames: Its length.
        shapes: From the number of a frame to what moves in it, in the coordinates of the world.
        background: Static background: (SIDE, SIDE, 3), or with MARGIN around it where there is a camera.
        camera: From the number of a frame to a (2, 3) similarity from world to canvas; None where it never moves.
        look: Textures of figures; None for flat colours.
    """

    fps: int
    frames: int
    shapes: Callable[[int], Sequence[Shape]]
    background: Picture = field(default_factory=room)
    camera: Callable[[int], FloatArray] | None = None
    look: Textures | None = None

    def textured(self, look: Textures) -> DrawnScene:
        """Return the same clip with textures on background and figures."""
        return replace(self, background=look.covered(self.background), look=look)

    @property
    def seconds(self) -> float:
        """Length of the clip in seconds."""
        return self.frames / self.fps

    def picture(self, frame: int) -> Picture:
        """Draw a frame, (PIXELS, PIXELS, 3) uint8 RGB."""
        return self._drawn(self.shapes(frame), IDENTITY if self.camera is None else self.camera(frame), self._ground())

    def pictures(self) -> Iterator[Picture]:
        """Draw all frames, each (3 PIXELS / 2, PIXELS) uint8, the planes of yuv420p below one another.

        Where nothing moved it is the array of the frame before.
        """
        last: tuple[Sequence[Shape], bytes] | None = None
        ground = self._ground()
        for frame in range(self.frames):
            shapes, camera = self.shapes(frame), IDENTITY if self.camera is None else self.camera(frame)
            if (shapes, camera.tobytes()) != last:
                last = (shapes, camera.tobytes())
                drawn = self._drawn(shapes, camera, ground)
                planes = cv2.cvtColor(drawn, cv2.COLOR_RGB2YUV_I420).astype(np.uint8, copy=False)
            yield planes

    def _ground(self) -> Picture:
        """Return the background, (H, W, 3) uint8; larger than the canvas if the camera moves."""
        size, how = (PIXELS, PIXELS), cv2.INTER_AREA
        ground = self.background if self.camera else cv2.resize(self.background, size, interpolation=how)
        return ground.astype(np.uint8, copy=False)

    def _drawn(self, shapes: Sequence[Shape], camera: FloatArray, ground: Picture) -> Picture:
        view = camera * (PIXELS / SIDE)
        if self.camera is None:
            canvas = ground.copy()
        else:
            placed = view.copy()
            placed[:, 2] -= view[:, :2] @ (MARGIN, MARGIN)
            canvas = cv2.warpAffine(ground, placed, (PIXELS, PIXELS)).astype(np.uint8, copy=False)
        paint(canvas, shapes, view, self.look)
        return canvas

    def tracks(self, frames: Sequence[int]) -> Tracks:
        """Return the marker positions in some frames, from the scene description."""
        seen = [marks(self.shapes(i), IDENTITY if self.camera is None else self.camera(i)) for i in frames]
        names, missing = sorted(set().union(*seen)), (np.nan, np.nan)
        return {name: np.array([at.get(name, missing) for at in seen], np.float64).reshape(-1, 2) for name in names}


def sampled(frames: int, fps: float, rate: float, phase: float = 0.0) -> list[int]:
    """Return the frame indices that a policy ``<rate> fps`` shows of a clip with constant frame rate.

    Args:
        frames: Length of the clip.
        fps: Its frames per second.
        rate: Frames per second shown.
        phase: Seconds added to all sampling times.
    """
    seconds = frames / fps
    moments = FramePolicy("fps", rate, most=10**9).moments(seconds)
    assert moments is not None  # noqa: S101  (only the policy "native" has none)
    moments = moments + phase
    moments = moments[moments < seconds]
    return [int(frame) for frame in nearest(np.arange(frames) / fps, np.arange(frames), moments)]


@dataclass(frozen=True, slots=True)
class Reading:
    """The quantity to read off the frames, and its value in each option.

    Attributes:
        kind: Of :data:`vmmetrics.understanding.synthetic.reader.READERS`.
        markers: Marker names, in the order of the kind.
        values: Of each option.
    """

    kind: str
    markers: tuple[str, ...]
    values: tuple[Any, ...]


def reading_of(line: dict[str, Any]) -> Reading:
    """Return the reading of a line.

    Raises:
        KeyError: A part of it is missing.
    """
    values = (tuple(value) if isinstance(value, list) else value for value in line["values"])
    return Reading(str(line["kind"]), tuple(line["markers"]), tuple(values))


@dataclass(frozen=True, slots=True)
class Draft:
    """A drawn question with its clip.

    Attributes:
        scene: The clip.
        text: The question.
        options: Texts of the options.
        right: Index of the right one.
        reading: The decisive reading.
        min_fps: Lowest rate at which it can be answered, whatever moments the frames are taken at.
        variant: What was drawn, as one word.
    """

    scene: DrawnScene
    text: str
    options: tuple[str, ...]
    right: int
    reading: Reading
    min_fps: float
    variant: str


# How things move: every change that decides an answer lasts exactly as many frames as it was given.

_FLATNESS: Final = 0.4
"""Power of the sine that swings follow; below 1 they linger at their ends. At 0.4 every frame of a raised half is above
0.70 and of a lowered one below 0.30 for halves up to 15 frames, so any one frame tells them apart. Slower ones (0.63
and 0.37 at LONGEST) are seen in several frames."""
LONGEST: Final = 45
"""Most frames of half a swing: three times 15, for the slower of two."""


def swings(frames: int, start: int, half: int, count: int) -> FloatArray:
    """Return heights that rise and fall several times, (T,), 0 to 1.

    Args:
        frames: Length of the clip.
        start: Frame with which the first raised half begins.
        half: Frames that each raised half, and each lowered one between two, lasts.
        count: How many times it is raised.

    Returns:
        (frames,) height in 0..1: above 1/2 in the raised halves and below 1/2 in all other frames; 0 at rest.
    """
    steps = np.arange(frames) - start + 0.5
    wave = np.sin(np.pi * steps / half)
    height = 0.5 + 0.5 * np.sign(wave) * np.abs(wave) ** _FLATNESS
    # the first and last lowered half is moved through for half its length: from rest at the very bottom, and back to it
    moving = (steps > -half / 2) & (steps < (2 * count - 0.5) * half)
    return np.where(moving, height, 0.0)


def lifts(frames: int, starts: Sequence[int], length: int) -> FloatArray:
    """Return heights that rise and fall at some times and are 0 otherwise, (T,), 0 to 1.

    Args:
        frames: Length of the clip.
        starts: First frame of each lift.
        length: Frames that each takes.

    Returns:
        (frames,) height in 0..1; 0 exactly outside of the lifts.
    """
    height = np.zeros(frames)
    for start in starts:
        arc = np.sin(np.pi * (np.arange(length) + 0.5) / length) ** _FLATNESS
        height[start : start + length] = arc[: frames - start]
    return height


def turning(frames: int, dwell: int, signs: tuple[int, int], waves: float, phase: float) -> FloatArray:
    """Return angles that turn at varying speed, one way and possibly back, (T,).

    The largest step over ``dwell`` frames is MOST_OF_A_TURN, so frames no further apart than that show which way it
    goes; frames further apart show now one way, now the other.

    Args:
        frames: Length of the clip.
        dwell: Frames over which it never turns by half a turn.
        signs: +1 (clockwise on the screen) or -1, in the first and second half of the clip.
        waves: Times that the speed swells in each half; it is full in half of each.
        phase: In 0..1, where in a wave each half begins.

    Returns:
        (frames,) angle in turns.
    """
    half = frames // 2
    steps = np.arange(frames - 1)
    share = np.where(steps < half, steps / half, (steps - half) / (frames - half))
    swell = np.minimum(1.0, SLOWEST + 2 * (1 - SLOWEST) * np.sin(np.pi * (waves * share + phase)) ** 2)
    sign = np.where(steps < half, signs[0], signs[1])
    return np.concatenate([[0.0], np.cumsum(sign * swell * MOST_OF_A_TURN / dwell)])


MOST_OF_A_TURN: Final = 0.45
"""Share of a turn over the dwell at full speed; from 0.5 on the direction is ambiguous."""
SLOWEST: Final = 0.3
"""Slowest speed relative to full speed: at too low a rate steps then differ too much to look like one direction."""


# The rates at which a question must not be answerable, and where in a clip they show nothing.

TOLERANCE: Final = 0.2
"""Relative margin below minFPS from which no question is answerable. Just below, one more than needed of N events may
be seen by chance: N frames cover N - 1 dwells and a frame, so 1 / 5 for the fewest (5)."""
_TRIED: Final = (30.0, 24.0, 20.0, 16.0, 15.0, 12.0, 10.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.5, 0.25)
"""Rates that models usually get, and initial rates of the minFPS procedure."""


def too_low(min_fps: float) -> list[float]:
    """Return the rates at which a question must not be answerable, with frames from the start of its clip.

    >>> too_low(4.0)
    [3.0, 2.0, 1.0, 0.5, 0.25]
    """
    return [rate for rate in _TRIED if rate <= (1 - TOLERANCE) * min_fps]


def unseen(frames: int, dwell: Dwell, first: int, last: int) -> list[int]:
    """Return the start frames at which an event as long as the dwell is missed at every too low rate.

    Args:
        frames: Length of the clip.
        dwell: How long it lasts.
        first: Earliest beginning.
        last: Latest.

    Returns:
        The start frames; all of them if there are none.
    """
    shown = np.zeros(frames + dwell.frames, bool)
    for rate in too_low(dwell.min_fps):
        shown[sampled(frames, dwell.fps, rate)] = True
    every = range(first, last + 1)
    return [start for start in every if not shown[start : start + dwell.frames].any()] or list(every)
