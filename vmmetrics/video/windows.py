"""Windows of long clips: consecutive parts that are read one after the other, so that memory does not grow."""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError
from vmmetrics.types import FloatArray, UInt8Array
from vmmetrics.video.arrays import array_frames, to_numpy
from vmmetrics.video.budget import FrameStore, SizePlan, check_total, clip_bytes, make_plan
from vmmetrics.video.containers import opened
from vmmetrics.video.files import check_index, decode, index_of, iterate
from vmmetrics.video.pixels import Frames, Limits
from vmmetrics.video.reader import ASSUME_FPS, frames_of, kind_of, limits_of, reasons
from vmmetrics.video.shards import local_file
from vmmetrics.video.subject import subject_of
from vmmetrics.video.timing import check_fps, without_gaps

WINDOW_SECONDS = 5.0
"""Length of a window; each begins at a multiple of it: as long as most generated clips are."""
OVERLAP_SECONDS = 1.0
"""Seconds on either side of the edge of two windows that are judged together; a shorter rest joins the last window."""
LEAST_FRAMES = 16
"""Least frames per window; clips of lower rates are never cut into windows."""
_SLACK = 0.001  # seconds, the tick to which Matroska rounds times
_RATE_DIGITS = 6  # of the rate of a window, so that it is the clip's where that is constant


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a clip.

    Attributes:
        clip: Its frames, at their times from the first of them.
        first: Index of its first frame in the whole clip.
        start: Time of that frame in the whole clip, seconds.
        until: Time of the frame after its last one in the whole clip, seconds; None where there is none.
    """

    clip: Clip
    first: int
    start: float
    until: float | None = None

    @property
    def seconds(self) -> float:
        """Duration, the last frame included."""
        return float(self.clip.timestamps[-1]) + 1 / self.clip.fps if self.until is None else self.until - self.start

    @property
    def text(self) -> str:
        """Its time in the whole clip, such as ``"5-10 s"``."""
        return f"{self.start:.4g}-{self.start + self.seconds:.4g} s"

    def end(self) -> Window:
        """Return a copy of its last :data:`OVERLAP_SECONDS`, which does not keep the other frames in memory."""
        first = bisect_left(self.clip.timestamps, self.seconds - OVERLAP_SECONDS - _SLACK)
        return self._part(slice(min(first, len(self.clip) - 1), None))  # one, where it is held for longer

    def after(self, end: Window) -> Window:
        """Return the end of the window before with the first :data:`OVERLAP_SECONDS` of this one."""
        head = self._part(slice(max(1, bisect_left(self.clip.timestamps, OVERLAP_SECONDS - _SLACK))))
        times = np.concatenate([end.clip.timestamps, head.clip.timestamps + (self.start - end.start)])
        frames = np.concatenate([end.clip.frames, head.clip.frames])
        return Window(replace(self.clip, frames=frames, timestamps=times, fps=_rate(times)), end.first, end.start)

    def _part(self, chosen: slice) -> Window:
        times = self.clip.timestamps[chosen]
        clip = replace(self.clip, frames=self.clip.frames[chosen].copy(), timestamps=times - times[0])
        return Window(clip, self.first + (chosen.start or 0), self.start + float(times[0]))


def _rate(times: FloatArray) -> float:
    return round((len(times) - 1) / float(times[-1] - times[0]), _RATE_DIGITS)


def window_lengths(times: Iterable[float]) -> Iterator[int]:
    """Yield the number of frames of each window, as soon as enough time has passed after it.

    Args:
        times: Seconds of the frames from the first, ascending; consumed as they are needed.

    >>> list(window_lengths(np.arange(50) / 4)), list(window_lengths(np.arange(43) / 4))
    ([20, 20, 10], [20, 23])
    """
    waiting: list[float] = []
    edge = WINDOW_SECONDS
    for time in times:
        waiting.append(time)
        while time >= edge + OVERLAP_SECONDS - _SLACK:
            length = bisect_left(waiting, edge - _SLACK)
            yield length
            del waiting[:length]
            edge = WINDOW_SECONDS * ((waiting[0] + _SLACK) // WINDOW_SECONDS + 1)
    if waiting:
        yield len(waiting)


def _windows(frames: Iterable[UInt8Array], times: Iterable[float], like: Mapping[str, Any]) -> Iterator[Window]:
    """Yield the windows of frames that arrive; ``like`` has the other fields of their clips."""
    waiting: list[tuple[UInt8Array, float]] = []

    def arriving() -> Iterator[float]:
        for frame, time in zip(frames, times, strict=False):
            waiting.append((frame, time))
            yield time

    def next_window(length: int) -> Window:  # no name in the loop below keeps its frames in memory
        stamps = np.array([time for _, time in waiting[:length]])
        pictures = np.stack([frame for frame, _ in waiting[:length]])
        del waiting[:length]
        until = waiting[0][1] if waiting else None
        rate = _rate(stamps) if length > 1 else like["fps"]
        tags = {name: value for name, value in like["tags"].items() if name != "seconds"}  # of the whole clip
        own = {"frames": pictures, "timestamps": stamps - stamps[0], "fps": rate, "tags": tags}
        clip = Clip(**{**like, **own})
        return Window(clip, first, float(stamps[0]), until)

    first = 0
    for length in window_lengths(arriving()):
        yield next_window(length)
        first += length


@dataclass
class LongClip:
    """A file or folder that does not fit the memory at its full size; it is read window by window.

    Attributes:
        about: ``name``, ``prompt``, ``subject`` and ``tags`` of its clips.
        timestamps: (T,) seconds of all frames from the first.
        fps: Mean frames per second.
        lengths: Frames of each window.
        plan: Size that the frames of a window are stored at.
        frames: The frames, at their full size.
        notes: Assumptions and changes of the reader.
        resources: Temporary files, removed by :meth:`close`.
    """

    about: Mapping[str, Any]
    timestamps: FloatArray
    fps: float
    lengths: tuple[int, ...]
    plan: SizePlan
    frames: Frames
    notes: tuple[str, ...]
    resources: ExitStack

    def __len__(self) -> int:
        return len(self.timestamps)

    @property
    def codec(self) -> str | None:
        """Name of its codec."""
        return self.frames.codec

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) as stored in the file."""
        return self.frames.stored or self.frames.size

    def windows(self) -> Iterator[Window]:
        """Yield the windows, decoded as they are asked for.

        Raises:
            ClipError: The file is damaged.
        """
        read = 0
        frames = _resized(self.frames.decode([]), self.plan)
        like = {**self.about, "size": self.size, "codec": self.codec, "fps": self.fps}
        with reasons():
            for window in _windows(frames, self.timestamps.tolist(), like):
                read += len(window.clip)
                yield window
                del window
        if read != len(self):
            raise ClipError(f"Only {read} of {len(self)} frames could be decoded again")

    def close(self) -> None:
        """Remove temporary files."""
        self.resources.close()


def long_clip(
    source: str | os.PathLike[str],
    about: Mapping[str, Any],
    *,
    assume_fps: float = ASSUME_FPS,
    max_memory: int | None = None,
    root: str | os.PathLike[str] | None = None,
) -> LongClip | None:
    """Return a clip that does not fit ``max_memory`` at full size, to be read in windows.

    It is decoded once for its times, so that damage is found before hours of scoring, and once more for its windows.

    Args:
        source: Path of any clip.
        about: ``name``, ``prompt``, ``subject`` and ``tags`` of :func:`vmmetrics.read_clip`.
        assume_fps: As there.
        max_memory: Bytes a window may take while it is scored; its frames are downscaled to fit. Default 4 GiB.
        root: As there.

    Returns:
        The clip; None for one that :func:`vmmetrics.read_clip` reads whole: it fits, is a ``.pt`` file, which is loaded
        as a whole, is a single window, or has fewer than :data:`LEAST_FRAMES` frames in one.

    Raises:
        ClipError: The file cannot be read.
    """
    limits = limits_of(None, assume_fps, max_memory)
    with ExitStack() as stack, reasons():
        path, inside = stack.enter_context(local_file(Path(source), None if root is None else Path(root)))
        kind, frames, found = kind_of(path, inside), None, list[str]()
        if kind == "video":
            frames = _video_frames(path, limits)
        elif kind != "pt":
            frames = frames_of(path, kind, None, limits, inside)
            if clip_bytes(len(frames.timing.timestamps), *frames.size) <= limits.max_memory:
                return None
        if frames is None:
            return None
        timing = without_gaps(frames.timing)
        lengths = tuple(window_lengths(timing.timestamps.tolist()))
        if len(lengths) == 1 or timing.fps * WINDOW_SECONDS < LEAST_FRAMES:
            return None
        if kind != "video":  # which was decoded for its times
            check_total(len(timing.timestamps), *frames.size, frames.most)
            deque(frames.decode(found), maxlen=0)
        plan = make_plan(max(lengths) + round(OVERLAP_SECONDS * timing.fps), *frames.size, limits.max_memory)
        notes = (*timing.notes, *frames.notes, plan.note, *found)
        return LongClip(
            _about(Path(source).name, about), timing.timestamps, timing.fps, lengths, plan, frames,
            tuple(filter(None, notes)), stack.pop_all(),
        )  # fmt: skip


def _video_frames(path: Path, limits: Limits) -> Frames | None:
    """Return the frames of a video file that does not fit at full size, decoded once for their times; else None."""
    if _surely_fits(path, limits):
        return None
    index = index_of(path)
    first, _ = decode(path, index, _full_size, last=0)
    if not first.num_frames:
        return None
    height, width = first.store.frames.shape[1:3]
    if clip_bytes(len(index.pts), width, height) <= limits.max_memory:
        return None
    check_total(len(index.pts), width, height)
    notes = check_index(index)
    decoder, rate = decode(path, index, _full_size, lambda number, _: number == 0)
    notes += decoder.finish()
    timing = limits.timing(index.shown_at(decoder.times), rate)
    every = (*notes, *decoder.notes)
    return Frames(timing, (width, height), lambda _: iterate(path, index, _full_size), every, index.codec, decoder.size)


def _full_size(width: int, height: int) -> SizePlan:
    return SizePlan(1, (width, height), (width, height), sys.maxsize)


def _about(name: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a clip, with its name and subject where they were not stated."""
    subject = subject_of(about.get("prompt"), about.get("subject"))
    return {**about, "name": about.get("name") or name, "subject": subject, "tags": about.get("tags") or {}}


def _surely_fits(path: Path, limits: Limits) -> bool:
    """Return True if a clip fits by its header, four times as wide as stated for pixels that are not square."""
    with opened(path) as (_, stream):
        context = stream.codec_context
        if context is None or not (stream.frames and context.width and context.height):
            return False
        return clip_bytes(stream.frames, 4 * context.width, context.height) <= limits.max_memory


def stream_windows(
    frames: Iterable[Any],
    about: Mapping[str, Any],
    *,
    fps: float,
    layout: str | None = None,
    value_range: tuple[float, float] | None = None,
    max_memory: int | None = None,
) -> Iterator[Window]:
    """Yield the windows of frames that arrive from Python.

    Args:
        frames: Frames (H, W, C), or arrays of several (T, H, W, C).
        about: ``name``, ``prompt``, ``subject`` and ``tags`` of the clip.
        fps: Frames per second.
        layout: Axes of each of them, such as ``"CHW"`` or ``"TCHW"``; None guesses as :func:`vmmetrics.read_clip`.
        value_range: What black and white are in floats, which need it.
        max_memory: Bytes a window may take while it is scored; frames that exceed them are downscaled.

    Raises:
        ClipError: Frames cannot be read, change their size, or are too few per second.
    """
    limits = limits_of(check_fps(fps), ASSUME_FPS, max_memory)
    if fps * WINDOW_SECONDS < LEAST_FRAMES:
        raise ClipError(f"Expected at least {LEAST_FRAMES / WINDOW_SECONDS:g} frames per second but got {fps:g}")
    like = {**_about("clip", about), "fps": float(fps)}
    return _windows(_arriving(frames, layout, value_range, limits, like), (n / fps for n in count()), like)


def _arriving(
    items: Iterable[Any],
    layout: str | None,
    value_range: tuple[float, float] | None,
    limits: Limits,
    like: dict[str, Any],
) -> Iterator[UInt8Array]:
    """Yield frames of one size as (H, W, 3) uint8 RGB; put their size and notes on it into ``like``."""
    plan: SizePlan | None = None
    size = (0, 0)
    for item in items:
        array = to_numpy(item)
        if value_range is None and np.issubdtype(array.dtype, np.floating):
            raise ClipError("Floats that arrive one by one have no black and white of their own: say value_range")
        axes = layout
        if "T" not in (layout or "T" * (array.ndim - 3)):
            array, axes = array[None], layout and f"T{layout}"
        came = array_frames(array, axes, limits, value_range)[0]
        if plan is None:
            size = came.size
            most = round((WINDOW_SECONDS + 2 * OVERLAP_SECONDS) * like["fps"])
            plan = make_plan(most, *size, limits.max_memory)
            like |= {"size": plan.full, "notes": (plan.note,) if plan.note else ()}
        if came.size != size:
            raise ClipError(f"Expected frames of one size but got {size} and {came.size}, width and height")
        yield from _resized(came.decode([]), plan)


def _resized(frames: Iterable[UInt8Array], plan: SizePlan) -> Iterator[UInt8Array]:
    """Yield copies of frames at the size of a plan."""
    store = FrameStore(replace(plan, count=1))
    for frame in frames:
        store.add(frame)
        yield store.take()[0]
