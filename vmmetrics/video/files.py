"""Video files through PyAV: every frame at its own time, or an error if frames are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from vmmetrics.errors import ClipError, os_reason
from vmmetrics.types import UInt8Array
from vmmetrics.video.budget import MAX_PIXELS, FrameStore, SizePlan, check_size, make_plan
from vmmetrics.video.containers import check_whole, opened, packets_of
from vmmetrics.video.pixels import HDR_TRANSFERS, TRANSPARENT, Decoded, FrameConverter, Limits, Orientation, colour_of

if TYPE_CHECKING:
    import av
    from av.container import InputContainer
    from av.video.stream import VideoStream

# Ask decoders to report damage rather than paint over it, and to refuse sizes that only the bitstream states.
_DECODER_OPTIONS = {"err_detect": "crccheck+explode", "max_pixels": str(MAX_PIXELS)}

# Native VP8/VP9 decoders drop the alpha that WebM carries beside the picture; libvpx's keep it.
_ALPHA_DECODERS = {"vp8": "libvpx", "vp9": "libvpx-vp9"}

# Sample aspect ratios this near 1 come from rounding; beyond the second bound they are damage.
_SQUARE_TOLERANCE, _MAX_ASPECT = 0.005, 4.0

# AVI stores chunks in decoding order at a constant rate and no presentation times; FFmpeg's guesses at them are
# wrong where frames were reordered.
_WITHOUT_PTS = "avi"

# Slack when a stated duration is compared with the last frame: seconds.
_DURATION_SLACK = 0.1


Plan = Callable[[int, int], SizePlan]
"""Chooses the size that frames are stored at from their upright size in square pixels."""
FrameFilter = Callable[[int, float | None], bool]
"""Returns True for frames to store, by their number among the decoded ones and their time in seconds."""


@dataclass(slots=True)
class Index:
    """Index of a stream's packets, read without decoding.

    Attributes:
        pts: Presentation time in seconds of every packet that should give a frame, None where unstated.
        discarded: Packets the edit list hides.
        damaged: True if a packet was cut short.
        stated: Frames the container states, or 0.
        duration: Seconds the container states for this stream, or None.
        shown: Seconds that the container shows the last packet, or None.
        sequential: True if ``pts`` are decoding times, because the container has no others.
        codec: Name of the codec.
    """

    pts: list[float | None] = field(default_factory=list)
    discarded: int = 0
    damaged: bool = False
    stated: int = 0
    duration: float | None = None
    shown: float | None = None
    sequential: bool = False
    codec: str | None = None

    @property
    def stated_times(self) -> list[float]:
        """The times that are stated, in order."""
        return sorted(time for time in self.pts if time is not None)

    @property
    def end(self) -> float | None:
        """Seconds at the end of the last frame, or None where times are missing."""
        times = self.stated_times
        step = float(np.median(np.diff(times))) if len(times) > 1 else self.shown
        if step is None or not times or len(times) < len(self.pts):
            return None
        # Matroska counts its duration from zero, MP4 from the first frame; the later end of both spares late starters.
        return max(times[-1], times[-1] - times[0]) + step

    def covers_duration(self) -> bool | None:
        """Return True if the frames cover the stated duration; None if times or duration are missing."""
        end = self.end
        if end is None or self.duration is None:
            return None
        slack = 2 * float(np.max(np.diff(self.stated_times))) if len(self.pts) > 1 else 0.0
        return end >= self.duration - max(_DURATION_SLACK, slack)

    def shown_at(self, times: list[float | None]) -> list[float | None]:
        """Return the times of the decoded frames; those of the packets where the container has decoding times only."""
        if not self.sequential:
            return times
        return [*self.stated_times] if len(self.stated_times) == len(times) else [None] * len(times)


def index_of(path: Path) -> Index:
    """Demux the file once.

    Raises:
        ClipError: Not a video, damaged, or cut short within an element of Matroska.
    """
    check_whole(path)
    with opened(path) as (container, stream):
        context = stream.codec_context
        if context is None:
            raise ClipError("The video stream is in a format that this build of FFmpeg cannot decode")
        check_size(context.width or 1, context.height or 1)  # 0 where only the bitstream states the size
        index = Index(stated=int(stream.frames), duration=_stated_duration(container, stream))
        index.codec = context.codec.canonical_name
        index.sequential = container.format.name == _WITHOUT_PTS
        time_base = stream.time_base or Fraction(1)
        for packet in packets_of(container, stream):
            if not packet.size:
                continue
            index.damaged |= packet.is_corrupt
            if packet.is_discard:
                index.discarded += 1
            elif context.name != "vp8" or bytes(packet)[0] & 0x10:  # show_frame bit, RFC 6386 section 9.1
                time = packet.dts if index.sequential else packet.pts
                index.pts.append(None if time is None else float(time * time_base))
                index.shown = float(packet.duration * time_base) if packet.duration else None
    return index


def _stated_duration(container: InputContainer, stream: VideoStream) -> float | None:
    """Return the stated seconds of the video: of the stream, its Matroska tag, or the container if it has no other."""
    # Matroska has no duration of a stream: FFmpeg may fill in that of the file, which longer audio can make too long.
    if stream.duration and stream.time_base and not container.format.name.startswith("matroska"):
        return float(stream.duration * stream.time_base)
    tag = stream.metadata.get("DURATION")
    if tag:
        try:
            hours, minutes, seconds = tag.split(":")
            return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        except ValueError:
            return None
    if container.duration and len(container.streams) == 1:
        return float(container.duration) / 1e6  # AV_TIME_BASE: microseconds
    return None


def check_index(index: Index) -> list[str]:
    """Compare the packets with the frame count and duration that the container states.

    Returns:
        Notes on differences that have an innocent explanation.

    Raises:
        ClipError: Frames are missing.
    """
    count = len(index.pts) + index.discarded
    stated = f" of {index.stated} stated" if index.stated else ""
    if not index.pts:
        raise ClipError(f"Expected at least one frame but the file holds none{stated.replace('of', 'of the')}")
    if index.damaged:
        read = f"{count}{stated}{' frames' if stated else ''} could be read, not all of them whole"
        raise ClipError(f"The file is cut short or damaged: {read}")
    covers = index.covers_duration()
    if covers is False:
        lasts = f"up to {index.end:.2f} s of {index.duration:.2f} s stated"
        raise ClipError(f"The file is cut short: {count}{stated} frames {lasts}")
    if index.stated <= count:
        return []
    if covers is None:
        raise ClipError(f"The file is cut short: {count} of {index.stated} stated frames are there")
    return [f"{count} of {index.stated} stated frames are stored; they cover the stated duration"]


def read_video(path: Path, limits: Limits) -> Decoded:
    """Decode every frame of the first video stream.

    Raises:
        ClipError: Not a video, damaged, cut short, empty, too large, or not all frames can be decoded.
    """
    index = index_of(path)
    notes = check_index(index)
    decoder, rate = decode(path, index, partial(make_plan, len(index.pts), max_memory=limits.max_memory))
    notes += decoder.finish()
    timing = limits.timing(index.shown_at(decoder.times), rate)
    return Decoded(decoder.store.frames, timing, decoder.size, (*notes, *decoder.notes), index.codec)


def decode(
    path: Path,
    index: Index,
    plan: Plan,
    keep: FrameFilter | None = None,
    last: int | None = None,
    *,
    shrink: bool = False,
    reference: bool = False,
) -> tuple[Decoder, float | None]:
    """Decode a file from its beginning, up to the frame numbered ``last``; also the rate that the container states.

    ``shrink`` and ``reference`` are those of :class:`Decoder`.
    """
    with opened(path) as (container, stream):
        decoder = Decoder(stream, index, plan, keep, shrink=shrink, reference=reference)
        for packet in packets_of(container, stream):
            decoder.feed(packet)
            if last is not None and len(decoder.times) > last:
                break
        return decoder, stated_rate(stream)


def iterate(path: Path, index: Index, plan: Plan) -> Iterator[UInt8Array]:
    """Yield the frames of a file, (H, W, 3) uint8 RGB, as they are decoded; few are held at a time.

    Raises:
        ClipError: The file is damaged.
    """
    with opened(path) as (container, stream):
        decoder = Decoder(stream, index, plan)
        for packet in packets_of(container, stream):
            decoder.feed(packet)
            if decoder.num_frames:
                yield from decoder.store.take()


def stated_rate(stream: VideoStream) -> float | None:
    """Return the frames per second that the container states."""
    rate = stream.average_rate or stream.guessed_rate
    return None if rate is None else float(rate)


class Decoder:
    """Turns the packets of one stream into stored frames.

    Args:
        stream: The stream.
        index: Index of its packets.
        plan: Chooses the size that frames are stored at.
        keep: Frames to store; None stores all.
        shrink: Make frames smaller while they are converted: three times as fast, levels differ slightly.
        reference: Leave out frames that no other frame refers to.

    Attributes:
        times: Presentation time in seconds of every decoded frame, None where unstated.
        size: (width, height) as stored in the source.
        store: The stored frames.
        num_frames: Number of stored frames.
    """

    def __init__(
        self,
        stream: VideoStream,
        index: Index,
        plan: Plan,
        keep: FrameFilter | None = None,
        *,
        shrink: bool = False,
        reference: bool = False,
    ) -> None:
        self.times: list[float | None] = []
        self.size = (0, 0)
        self.store: FrameStore
        self.num_frames = 0
        self._index, self._plan, self._filter = index, plan, keep
        self._context, self._alpha_lost = _decoder_for(stream)
        if reference:
            self._context.skip_frame = "NONREF"
        self._shrink, self._stored = shrink, cast("tuple[int, int] | None", None)
        self._aspect = float(stream.sample_aspect_ratio or 1)
        self._time_base = stream.time_base or Fraction(1)
        self._convert = FrameConverter()
        self._interlaced = self._transparent = False
        self._notes: list[str] = []

    def feed(self, packet: av.Packet[VideoStream] | None) -> None:
        """Decode a packet; None, or an empty one, fetches what the decoder still holds.

        Raises:
            ClipError: It is damaged.
        """
        import av

        try:
            frames = self._context.decode(packet if packet is not None and packet.size else None)
        except (av.FFmpegError, MemoryError) as error:
            progress = f"{len(self.times)} of {len(self._index.pts)}"
            raise ClipError(f"Damaged after {progress} frames: {os_reason(error)}") from error
        for frame in frames:
            self._take(frame)

    def restart(self) -> None:
        """Reset the decoder for packets from another position, after its frames were flushed with None."""
        self._context.flush_buffers()

    def _take(self, frame: av.VideoFrame) -> None:
        number, time = len(self.times), None if frame.pts is None else float(frame.pts * self._time_base)
        if self._filter is None or self._filter(number, time):
            self._keep(frame, number)
        self.times.append(time)

    def _keep(self, frame: av.VideoFrame, number: int) -> None:
        if frame.is_corrupt:
            raise ClipError(f"Damaged: frame {number} of {len(self._index.pts)} cannot be decoded whole")
        if self.size == (0, 0):
            self._start(frame)
        elif (frame.width, frame.height) != self.size:
            width, height = self.size
            raise ClipError(
                f"Expected frames of one size but they change from {width}x{height} to "
                f"{frame.width}x{frame.height} at frame {number}"
            )
        rgb, transparent = self._convert.convert(frame, colour_of(frame), self._stored)
        self.store.add(self._orientation.apply(rgb))
        self.num_frames += 1
        self._transparent |= transparent
        self._interlaced |= bool(frame.interlaced_frame)

    def _start(self, frame: av.VideoFrame) -> None:
        """Take size, orientation and colours from the first frame."""
        self.size = (frame.width, frame.height)
        matrix = frame.side_data.get("DISPLAYMATRIX")
        self._orientation = Orientation()
        if matrix is not None:
            numbers = np.frombuffer(cast(bytes, matrix), np.int32).reshape(3, 3)
            self._orientation = Orientation.from_display_matrix(numbers)
        width, height = self.size
        if abs(self._aspect - 1) > _SQUARE_TOLERANCE and 1 / _MAX_ASPECT <= self._aspect <= _MAX_ASPECT:
            if self._aspect > 1:  # the longer way, so that no detail is lost
                width = round(width * self._aspect)
            else:
                height = round(height / self._aspect)
        if (width, height) != self.size:
            self._notes.append(f"resampled from {frame.width}x{frame.height} to square pixels, {width}x{height}")
        elif abs(self._aspect - 1) > _SQUARE_TOLERANCE:
            self._notes.append(f"sample aspect ratio {self._aspect:g} ignored as implausible")
        if self._orientation.transpose:
            width, height = height, width
        plan = self._plan(width, height)
        self.store = FrameStore(plan)
        if self._shrink and plan.stored[0] < width and plan.stored[1] < height:
            self._stored = plan.stored[::-1] if self._orientation.transpose else plan.stored
        transfer = HDR_TRANSFERS.get(int(self._context.color_trc or 0))
        if transfer:
            self._notes.append(f"high dynamic range ({transfer}) taken as it is, without tone mapping")
        notes = (*colour_of(frame).notes, self._orientation.note, plan.note)
        self._notes += [note for note in notes if note]

    def finish(self) -> list[str]:
        """Check the count of decoded frames.

        Returns:
            Notes on differences that have an innocent explanation.

        Raises:
            ClipError: Frames are missing.
        """
        expected, count = len(self._index.pts), len(self.times)
        if not count:
            raise ClipError(f"None of the {expected} frames could be decoded")
        missing = expected - count
        if missing <= 0 or (self._interlaced and 2 * count >= expected):
            return []
        first = self.times[0]
        stated_times = () if first is None or self._index.sequential else self._index.pts
        if sum(time is not None and time < (first or 0.0) for time in stated_times) != missing:
            raise ClipError(f"Only {count} of {expected} frames could be decoded")
        return [f"{missing} frames before the first key frame cannot be decoded"]

    @property
    def notes(self) -> list[str]:
        """Notes on what was assumed or changed in the stored frames."""
        conditions = (
            (self._transparent, TRANSPARENT),
            (self._alpha_lost, "the alpha channel cannot be decoded by this build of FFmpeg and is ignored"),
            (self._interlaced, "interlaced; both fields are kept in each frame"),
        )
        return [*self._notes, *(note for holds, note in conditions if holds)]


def _decoder_for(stream: VideoStream) -> tuple[av.VideoCodecContext, bool]:
    """Return the decoder to use, and whether an alpha channel is lost by it."""
    import av

    context = stream.codec_context
    tags = {key.lower(): value for key, value in stream.metadata.items()}
    alpha_lost = False
    if tags.get("alpha_mode") == "1" and context.name in _ALPHA_DECODERS:
        try:
            num_frames = av.CodecContext.create(_ALPHA_DECODERS[context.name], "r")
        except (av.FFmpegError, ValueError):
            alpha_lost = True
        else:
            num_frames.extradata = context.extradata
            context = cast("av.VideoCodecContext", num_frames)
    context.options = _DECODER_OPTIONS
    return context, alpha_lost
