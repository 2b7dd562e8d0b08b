"""Video files through PyAV: every frame the file promises, at its own time, or a reason why not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from vmmetrics.errors import ClipError
from vmmetrics.video.budget import MAX_PIXELS, FrameStore, check_size, make_plan
from vmmetrics.video.decoded import Decoded, Limits
from vmmetrics.video.pixels import HDR_TRANSFERS, FrameConverter, Orientation, colour_of
from vmmetrics.video.timing import from_times, regular

if TYPE_CHECKING:
    import av
    from av.container import InputContainer
    from av.video.stream import VideoStream

# Self-contained formats only: playlists and the like (concat, hls, sdp) would let a file make us open others.
_FORMATS = "mov,mp4,m4a,3gp,matroska,webm,avi,mpegts,mpeg,flv,ogg,asf,m4v,h264,hevc,ivf,obu,av1,yuv4mpegpipe,mxf,nut"

# Ask decoders to report damage rather than paint over it, and to refuse sizes that only the bitstream states.
_DECODER_OPTIONS = {"err_detect": "crccheck+explode", "max_pixels": str(MAX_PIXELS)}

# Native VP8/VP9 decoders drop the alpha that WebM carries beside the picture; libvpx's keep it.
_ALPHA_DECODERS = {"vp8": "libvpx", "vp9": "libvpx-vp9"}

# Sample aspect ratios this near 1 come from rounding; beyond the second bound they are damage.
_SQUARE_TOLERANCE, _MAX_ASPECT = 0.005, 4.0

# AVI stores chunks in decoding order at a constant rate and no presentation times; FFmpeg's guesses at them are
# wrong where frames were reordered.
_WITHOUT_PTS = "avi"

# Slack when a stated duration is held against the last frame: seconds.
_DURATION_SLACK = 0.1


@contextmanager
def _opened(path: Path) -> Iterator[InputContainer]:
    """Open a container; whatever FFmpeg cannot make sense of becomes a ClipError.

    FFmpeg is handed an open file rather than a name, so that no name is taken for a URL or pattern.
    """
    import av

    with path.open("rb") as file:
        try:
            container: InputContainer = av.open(
                file, "r", options={"format_whitelist": _FORMATS, "protocol_whitelist": "file"}
            )
        except (av.FFmpegError, ValueError) as error:
            raise ClipError(f"Not a video file that can be read, or cut short: {_reason(error)}") from error
        try:
            yield container
        except av.FFmpegError as error:
            raise ClipError(f"The file is damaged: {_reason(error)}") from error
        finally:
            container.close()


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _video_stream(container: InputContainer) -> VideoStream:
    from av.stream import Disposition

    streams = [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]
    if not streams:
        kinds = sorted({stream.type for stream in container.streams})
        raise ClipError(f"Expected a video stream but the file holds {', '.join(kinds) or 'nothing'} only")
    return streams[0]


@dataclass(slots=True)
class _Index:
    """What the packets of a stream promise, found without decoding.

    Attributes:
        pts: Presentation time in seconds of every packet that should give a frame, None where unstated.
        discarded: Packets the edit list hides.
        damaged: Whether a packet was cut short.
        stated: Frames the container states, or 0.
        duration: Seconds the container states for this stream, or None.
        sequential: Whether ``pts`` are in truth decoding times, because the container has no others.
    """

    pts: list[float | None] = field(default_factory=list)
    discarded: int = 0
    damaged: bool = False
    stated: int = 0
    duration: float | None = None
    sequential: bool = False

    @property
    def end(self) -> float | None:
        """Seconds at the end of the last frame, or None where times are missing."""
        known = sorted(time for time in self.pts if time is not None)
        if len(known) < max(2, len(self.pts)):
            return None
        step = float(np.median(np.diff(known)))
        # Matroska counts its duration from zero, MP4 from the first frame; the later end of both spares late starters.
        return max(known[-1], known[-1] - known[0]) + step

    def covers_duration(self) -> bool | None:
        """Whether the frames reach as far as the stated duration; None where that cannot be told."""
        end = self.end
        if end is None or self.duration is None:
            return None
        known = sorted(time for time in self.pts if time is not None)
        return end >= self.duration - max(_DURATION_SLACK, 2 * float(np.max(np.diff(known))))


def _index(path: Path) -> _Index:
    """Demux the file once."""
    with _opened(path) as container:
        stream = _video_stream(container)
        context = stream.codec_context
        if context is None:
            raise ClipError("The video stream is in a format that this build of FFmpeg cannot decode")
        check_size(context.width or 1, context.height or 1)  # 0 where only the bitstream states the size
        index = _Index(stated=int(stream.frames), duration=_stated_duration(container, stream))
        index.sequential = container.format.name == _WITHOUT_PTS
        time_base = stream.time_base or Fraction(1)
        for packet in container.demux(stream):
            if not packet.size:
                continue
            index.damaged |= packet.is_corrupt
            if packet.is_discard:
                index.discarded += 1
            elif context.name != "vp8" or bytes(packet)[0] & 0x10:  # show_frame bit, RFC 6386 section 9.1
                time = packet.dts if index.sequential else packet.pts
                index.pts.append(None if time is None else float(time * time_base))
    return index


def _stated_duration(container: InputContainer, stream: VideoStream) -> float | None:
    """Seconds the container states for the video: of the stream, its Matroska tag, or of the whole where it is all."""
    if stream.duration and stream.time_base:
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


def _check_index(index: _Index) -> list[str]:
    """Hold the packets against what the container states.

    Returns:
        Notes on differences that have an innocent explanation.

    Raises:
        ClipError: Frames are missing.
    """
    found = len(index.pts) + index.discarded
    if not index.pts:
        stated = f" of the {index.stated} stated" if index.stated else ""
        raise ClipError(f"Expected at least one frame but the file holds none{stated}")
    if index.damaged:
        stated = f" of {index.stated} stated frames" if index.stated else ""
        raise ClipError(f"The file is cut short or damaged: {found}{stated} could be read, not all of them whole")
    covers = index.covers_duration()
    if covers is False:
        stated = f" of {index.stated} stated" if index.stated else ""
        raise ClipError(
            f"The file is cut short: {found}{stated} frames up to {index.end:.2f} s of {index.duration:.2f} s stated"
        )
    if index.stated <= found:
        return []
    if covers is None:
        raise ClipError(f"The file is cut short: {found} of {index.stated} stated frames are there")
    return [f"{found} of {index.stated} stated frames are stored; they cover the stated duration"]


def read_video(path: Path, limits: Limits) -> Decoded:
    """Decode every frame of the first video stream.

    Raises:
        ClipError: Not a video, damaged, cut short, empty, too large, or not all frames can be decoded.
    """
    index = _index(path)
    notes = _check_index(index)
    with _opened(path) as container:
        stream = _video_stream(container)
        decoder = _Decoder(stream, len(index.pts), limits.max_memory)
        for packet in container.demux(stream):
            decoder.feed(packet)
        rate = stream.average_rate or stream.guessed_rate
    notes += decoder.finish(index)
    times = decoder.times
    if index.sequential:
        known = sorted(time for time in index.pts if time is not None)
        times = list(known) if len(known) == len(times) else [None] * len(times)
    if limits.fps is not None:
        timing = regular(len(times), limits.fps)
    else:
        timing = from_times(times, None if rate is None else float(rate), limits.assume_fps)
    return Decoded(decoder.store.frames, timing, decoder.size, tuple(notes))


class _Decoder:
    """Turns the packets of one stream into stored frames."""

    def __init__(self, stream: VideoStream, expected: int, max_memory: int) -> None:
        self.times: list[float | None] = []
        self.size = (0, 0)
        self._expected, self._max_memory = expected, max_memory
        self._context, self._alpha_lost = _decoder_for(stream)
        self._aspect = float(stream.sample_aspect_ratio or 1)
        self._time_base = stream.time_base or Fraction(1)
        self._convert = FrameConverter()
        self._interlaced = self._transparent = False
        self._notes: list[str] = []

    def feed(self, packet: av.Packet[VideoStream]) -> None:
        import av

        try:
            frames = self._context.decode(packet if packet.size else None)
        except (av.FFmpegError, MemoryError) as error:
            raise ClipError(f"Damaged after {len(self.times)} of {self._expected} frames: {_reason(error)}") from error
        for frame in frames:
            self._keep(frame)

    def _keep(self, frame: av.VideoFrame) -> None:
        if frame.is_corrupt:
            raise ClipError(f"Damaged: frame {len(self.times)} of {self._expected} cannot be decoded whole")
        if not self.times:
            self._start(frame)
        elif (frame.width, frame.height) != self.size:
            (width, height), at = self.size, len(self.times)
            raise ClipError(
                f"Expected frames of one size but they change from {width}x{height} to "
                f"{frame.width}x{frame.height} at frame {at}"
            )
        rgb, transparent = self._convert.convert(frame, colour_of(frame))
        self.store.add(self._orientation.apply(rgb))
        self._transparent |= transparent
        self._interlaced |= bool(frame.interlaced_frame)
        self.times.append(None if frame.pts is None else float(frame.pts * self._time_base))

    def _start(self, frame: av.VideoFrame) -> None:
        """Learn from the first frame what holds for all."""
        self.size = (frame.width, frame.height)
        self._orientation = _orientation(frame)
        width, height = _square_pixels(*self.size, self._aspect)
        if (width, height) != self.size:
            self._notes.append(f"resampled from {frame.width}x{frame.height} to square pixels, {width}x{height}")
        elif abs(self._aspect - 1) > _SQUARE_TOLERANCE:
            self._notes.append(f"sample aspect ratio {self._aspect:g} ignored as implausible")
        if self._orientation.transpose:
            width, height = height, width
        plan = make_plan(self._expected, width, height, self._max_memory)
        self.store = FrameStore(plan)
        transfer = HDR_TRANSFERS.get(int(self._context.color_trc or 0))
        if transfer:
            self._notes.append(f"high dynamic range ({transfer}) taken as it is, without tone mapping")
        found = (*colour_of(frame).notes, self._orientation.note, plan.note)
        self._notes += [note for note in found if note]

    def finish(self, index: _Index) -> list[str]:
        """Check the count and return the notes."""
        count, notes = len(self.times), self._notes
        if not count:
            raise ClipError(f"None of the {self._expected} frames could be decoded")
        missing = self._expected - count
        if missing > 0 and not (self._interlaced and 2 * count >= self._expected):
            first = self.times[0]
            priming = (
                0 if first is None or index.sequential else sum(time is not None and time < first for time in index.pts)
            )
            if priming != missing:
                raise ClipError(f"Only {count} of {self._expected} frames could be decoded")
            notes.append(f"{missing} frames before the first key frame cannot be decoded")
        if self._transparent:
            notes.append("transparent pixels put on white")
        if self._alpha_lost:
            notes.append("the alpha channel cannot be decoded by this build of FFmpeg and is ignored")
        if self._interlaced:
            notes.append("interlaced; both fields are kept in each frame")
        return notes


def _decoder_for(stream: VideoStream) -> tuple[av.VideoCodecContext, bool]:
    """Return the decoder to use, and whether an alpha channel is lost by it."""
    import av

    context = stream.codec_context
    tags = {key.lower(): value for key, value in stream.metadata.items()}
    has_alpha = tags.get("alpha_mode") == "1" and context.name in _ALPHA_DECODERS
    if not has_alpha:
        context.options = _DECODER_OPTIONS
        return context, False
    try:
        kept = av.CodecContext.create(_ALPHA_DECODERS[context.name], "r")
    except (av.FFmpegError, ValueError):
        context.options = _DECODER_OPTIONS
        return context, True
    kept.extradata = context.extradata
    kept.options = _DECODER_OPTIONS
    return cast("av.VideoCodecContext", kept), False


def _orientation(frame: av.VideoFrame) -> Orientation:
    matrix = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None:
        return Orientation()
    return Orientation.from_display_matrix(np.frombuffer(cast(bytes, matrix), np.int32).reshape(3, 3))


def _square_pixels(width: int, height: int, aspect: float) -> tuple[int, int]:
    """Size with square pixels; the longer way, so that no detail is lost."""
    if abs(aspect - 1) <= _SQUARE_TOLERANCE or not 1 / _MAX_ASPECT <= aspect <= _MAX_ASPECT:
        return width, height
    return (round(width * aspect), height) if aspect > 1 else (width, round(height / aspect))
