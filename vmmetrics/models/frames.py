"""Frame policies: the frames of a clip that a model sees, sampled by time, never by a stride over frame numbers.

A policy names moments of the clip; the frame nearest to each is shown, once. So 20 frames per second of a file with 30
are 20, where a stride of round(30 / 20) frames would give 15.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import ClipError
from vmmetrics.models.questions import Shown
from vmmetrics.video import sample_clip

Times = NDArray[np.floating[Any]]
"""Seconds of frames or of moments."""

Kind = Literal["uniform", "fps", "adaptive", "native", "single", "first", "none"]
_NUMBERED = ("uniform", "fps")
SHORT_SECONDS = 16.0
"""Length in seconds below which the adaptive policy shows 2 frames per second, else 1 (TUNA's, for closed models)."""
MOST = 768
"""Default limit of frames shown: that of Qwen2.5-VL's own video reader."""
SIDE = 448
"""Default longer side of frames, pixels: the tile of the InternVL class."""
_SLACK = 1e-6  # seconds by which times may be off for rounding
_JPEG_QUALITY = 92

_WORDS = re.compile(
    r"(?:(?P<n>\d+(?:\.\d+)?)\s*)?(?P<kind>uniform|fps|adaptive|native|single|first|none)(?:\s+(?P<m>\d+(?:\.\d+)?))?"
    r"(?:,?\s+slowed\s+(?P<slowed>\d+(?:\.\d+)?))?(?:,?\s+at most\s+(?P<most>\d+))?"
)


@dataclass(frozen=True, slots=True)
class FramePolicy:
    """A rule that selects the frames to show.

    Attributes:
        kind: "uniform": the middle of each of ``number`` equal parts of the clip. "fps": every 1 / ``number`` seconds
            from the beginning. "adaptive": 2 fps where the clip is under 16 s, else 1. "native": every frame. "single":
            the frame in the middle. "first": the first. "none": nothing.
        number: Frames, or frames per second.
        slowed: The clip is played so many times slower: its seconds are stretched before frames are chosen, and the
            model gets the stretched times.
        most: Frames shown at most; where the policy wants more, so many uniform ones are shown, and that is recorded.

    Raises:
        ValueError: A number cannot be.
    """

    kind: Kind
    number: float = 0.0
    slowed: float = 1.0
    most: int = MOST

    def __post_init__(self) -> None:
        if self.kind in _NUMBERED and not 0 < self.number < math.inf:
            raise ValueError(f"Expected a number above 0 for {self.kind!r} but got {self.number:g}")
        if self.kind == "uniform" and self.number != int(self.number):
            raise ValueError(f"Expected a whole number of frames but got {self.number:g}")
        if not 0 < self.slowed < math.inf or self.most < 1:
            raise ValueError("Expected a slowing factor above 0 and a limit of at least 1 frame")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a policy: "8 uniform", "2 fps", "adaptive", "native", "single", "first", "none"; with "slowed 4" and
        "at most 64" behind, if wanted.

        Raises:
            ValueError: The text is not a policy.

        >>> str(FramePolicy.parse("uniform 8")), str(FramePolicy.parse("native slowed 2 at most 64"))
        ('8 uniform', 'native slowed 2 at most 64')
        """  # noqa: D205 - the forms in one list
        match = _WORDS.fullmatch(" ".join(text.lower().split()))
        number = match and (match["n"] or match["m"])
        if match is None or (match["n"] and match["m"]) or bool(number) != (match["kind"] in _NUMBERED):
            kinds = "N uniform, F fps, adaptive, native, single, first, none"
            raise ValueError(f"Expected a frame policy ({kinds}; slowed S; at most N) but got {text!r}")
        kind: Kind = next(kind for kind in get_args(Kind) if kind == match["kind"])
        return cls(kind, float(number or 0), float(match["slowed"] or 1), int(match["most"] or MOST))

    def __str__(self) -> str:
        words = f"{self.number:.12g} {self.kind}" if self.kind in _NUMBERED else self.kind
        if self.slowed != 1:
            words += f" slowed {self.slowed:.12g}"
        return words if self.most == MOST else f"{words} at most {self.most}"

    def moments(self, seconds: float) -> Times | None:
        """Return the requested times, seconds from the start of the clip; None for every frame.

        Args:
            seconds: How long the clip is, above 0.
        """
        count = self.requested(seconds)
        if count is None:
            return None
        if self.kind == "first":
            return np.zeros(1)
        if self.kind in ("fps", "adaptive") and count <= self.most:
            return np.arange(count) / (self._rate(seconds) * self.slowed)
        return _middles(min(count, self.most), seconds)

    def requested(self, seconds: float) -> int | None:
        """Return the number of frames the policy asks for, before any limit; None for all frames of the clip."""
        if self.kind in ("fps", "adaptive"):
            return max(1, math.ceil(seconds * self.slowed * self._rate(seconds) - _SLACK))
        return {"native": None, "none": 0, "uniform": int(self.number)}.get(self.kind, 1)

    def _rate(self, seconds: float) -> float:
        """Return the frames per stretched second."""
        if self.kind == "adaptive":
            return 2.0 if seconds * self.slowed < SHORT_SECONDS else 1.0
        return self.number


def _middles(count: int, seconds: float) -> Times:
    middles: Times = (np.arange(count) + 0.5) * (seconds / max(1, count))
    return middles


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames of a clip that a model sees, and their times.

    Attributes:
        pictures: (T, H, W, 3) uint8 RGB.
        shown: Record of it.
        times: (T,) seconds stated to the model, from the start of the clip, stretched if it is slowed.
        fps: Frame rate of the shown frames stated to the model, frames per second.
        clip: Length in seconds and frame rate of the clip stated to the model; None if not known.
    """

    pictures: NDArray[np.uint8]
    shown: Shown
    times: tuple[float, ...] = ()
    fps: float = 1.0
    clip: tuple[float, float] | None = None

    def words(self) -> str:
        """Return the clip's length, its rate and the frame times as text, for a model that gets images.

        >>> two = Frames(np.zeros((2, 8, 8, 3), np.uint8), Shown((0.5, 1.5), "2 uniform"), (0.5, 1.5), 1.0, (2.0, 30.0))
        >>> two.words()
        'Video: 2 s, 30 frames per second. Shown: 2 of its frames, at 0.5, 1.5 s.'
        """
        clip = "" if self.clip is None else f"Video: {self.clip[0]:.5g} s, {self.clip[1]:.4g} frames per second. "
        seconds = ", ".join(f"{round(time, 3):.7g}" for time in self.times)
        return f"{clip}Shown: {len(self.times)} of its frames, at {seconds} s."

    def jpegs(self) -> tuple[bytes, ...]:
        """Return each frame as a JPEG file."""
        quality = [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
        pictures = (cv2.cvtColor(picture, cv2.COLOR_RGB2BGR) for picture in self.pictures)
        return tuple(cv2.imencode(".jpg", picture, quality)[1].tobytes() for picture in pictures)


NO_FRAMES = Frames(np.zeros((0, 1, 1, 3), np.uint8), Shown((), "none"))
"""The frames of a question asked without any."""


@dataclass
class _Chooser:
    """Selects frames of a file for a policy, and records why there are fewer than requested."""

    policy: FramePolicy
    start: float
    end: float | None
    seconds: float = 0.0
    limited: str | None = None

    def __call__(self, times: Times, file_end: float) -> list[int]:
        end = file_end if self.end is None else min(self.end, file_end)
        inside = np.flatnonzero((times >= self.start - _SLACK) & (times < end - _SLACK))
        if inside.size == 0:
            # a part shorter than a frame shows the one on the screen; one behind the end shows nothing
            if self.end is not None and self.end < self.start:
                raise ClipError(f"The clip begins at {self.start:g} s but ends at {self.end:g} s")
            if self.start >= file_end:
                raise ClipError(f"The clip begins at {self.start:g} s but the file ends at {file_end:.2f} s")
            inside = np.array([max(0, int(np.searchsorted(times, self.start + _SLACK)) - 1)])
        self.seconds = max(end - self.start, _SLACK)
        moments = self.policy.moments(self.seconds)
        if moments is None and inside.size > self.policy.most:
            moments = _middles(self.policy.most, self.seconds)
        chosen = inside if moments is None else nearest(times, inside, self.start + moments)
        requested = self.policy.requested(self.seconds)
        requested = inside.size if requested is None else requested
        reasons = []
        if requested > self.policy.most:
            reasons.append(f"{requested} frames wanted, {self.policy.most} at most")
        if len(chosen) < min(requested, self.policy.most):
            available = f"the file has {inside.size} in {self.seconds:.2f} s"
            reasons.append(f"{len(chosen)} of {requested} frames wanted: {available}")
        if self.end is not None and self.end > file_end + 0.5:  # rounded seconds are no news
            reasons.append(f"the clip should end at {self.end:g} s but the file ends at {file_end:.2f} s")
        self.limited = "; ".join(reasons) or None
        return [int(index) for index in chosen]


def nearest(times: Times, inside: NDArray[np.intp], moments: Times) -> NDArray[np.intp]:
    """Return the indices of the frames nearest to some times, each once; ties go to the earlier frame.

    Args:
        times: (T,) ascending times of all frames.
        inside: Indices of the frames that may be chosen, ascending.
        moments: (M,) moments.

    >>> nearest(np.arange(10) / 30, np.arange(10), np.arange(6) / 20)
    array([0, 1, 3, 4, 6, 7])
    """
    candidates = times[inside]
    after = np.clip(np.searchsorted(candidates, moments), 1, max(1, len(candidates) - 1))
    if len(candidates) == 1:
        return inside[:1] if len(moments) else inside[:0]
    before = after - 1
    # rounding must not send one tie forward and the next back
    nearer = np.where(moments - candidates[before] <= candidates[after] - moments + _SLACK, before, after)
    chosen: NDArray[np.intp] = inside[np.unique(nearer)]
    return chosen


def frames_shown(
    path: Path, policy: FramePolicy, start: float | None = None, end: float | None = None, side: int | None = SIDE
) -> Frames:
    """Take the frames of a clip that a policy shows.

    Args:
        path: The file, or a folder of frames.
        policy: Frame policy.
        start: Where in the file the clip begins, seconds; None is its beginning.
        end: Where it ends; None is its end.
        side: Longer side in pixels that larger frames are made smaller to; None keeps them.

    Raises:
        ClipError: The file cannot be read, or ends before the clip begins.
    """
    if policy.kind == "none":
        return NO_FRAMES
    chooser = _Chooser(policy, start or 0.0, end)
    clip = sample_clip(path, chooser, side=side)
    seconds = tuple(round(max(0.0, float(time) - chooser.start), 4) for time in clip.timestamps)
    gaps = len(seconds) - 1
    fps = gaps / (seconds[-1] - seconds[0]) if gaps else None
    shown = Shown(seconds, str(policy), None if fps is None else round(fps, 4), chooser.limited, clip.notes)
    times = tuple(round(time * policy.slowed, 4) for time in seconds)
    stretched = (chooser.seconds * policy.slowed, clip.fps / policy.slowed)
    return Frames(clip.frames, shown, times, (fps or clip.fps) / policy.slowed, stretched)


def count_frames(policy: FramePolicy, path: Path, start: float | None = None, end: float | None = None) -> int:
    """Return the number of frames that a policy shows of a clip, decoding at most one.

    Raises:
        ClipError: As :func:`frames_shown`.
    """
    if policy.kind == "none":
        return 0
    chooser, counts = _Chooser(policy, start or 0.0, end), [0]

    def count(times: Times, file_end: float) -> list[int]:
        counts[0] = len(chooser(times, file_end))
        return [0]

    sample_clip(path, count, side=32)
    return counts[0]
