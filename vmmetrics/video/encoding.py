"""Encoding of pictures as an H.264 file, and of clips as one that every browser plays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, repeat
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import ClipError, SetupError
from vmmetrics.types import UInt8Array
from vmmetrics.video.containers import opened, packets_of
from vmmetrics.video.reader import read_clip

TICKS = 90_000
"""Of a second, the clock of MPEG."""
_CODING = {"crf": "18", "preset": "veryfast", "g": "12", "bf": "0", "x264-params": "mbtree=0"}
"""Key frames often, so that a seek decodes 12 frames; without macroblock trees, by which one encoding in a hundred had
other bytes, with one thread too (x264 of PyAV 18)."""
_HD_LINES, _HD_COLUMNS = 720, 1280  # from which players take untagged video for BT.709
_BT601, _BT709, _LIMITED, _FULL = 5, 1, 1, 2  # as swscale numbers them


def write_h264(
    file: Path | IO[bytes],
    pictures: Iterable[NDArray[np.uint8]],
    rate: float | Fraction,
    options: Mapping[str, str],
    *,
    chroma: str = "yuv420p",
    threads: int = 0,
    times: Iterable[int] | None = None,
    duration: int | None = None,
    comment: str | None = None,
) -> None:
    """Write pictures as an MP4.

    Args:
        file: Target.
        pictures: (H, W, 3) RGB, one at least; yuv420p, which plays everywhere, wants even sides: odd ones are cut.
            Or (3 H / 2, W), the planes of yuv420p below one another, of even sides.
        rate: Frames per second; a float to a denominator of 1001.
        options: Of x264.
        chroma: Pixel format of the file.
        threads: 1 gives the same bytes on any number of cores; 0 leaves it to x264.
        times: Time of each, in :data:`TICKS`; None follows the rate.
        duration: Duration stated in each packet, in :data:`TICKS`; None leaves it to the encoder.
        comment: Text stored in the file, whose index then comes first, so that a browser can seek at once; only with a
            path as target.

    Raises:
        SetupError: This build of PyAV has no x264.
    """
    import av

    pictures = iter(pictures)
    first = next(pictures)
    height, width = first.shape[:2]
    if planes := first.ndim == 2:
        height = height * 2 // 3
    elif chroma == "yuv420p":
        height, width = height - height % 2, width - width % 2
    exact = rate if isinstance(rate, Fraction) else Fraction(rate).limit_denominator(1001)
    flags = {} if comment is None else {"movflags": "+faststart"}
    with av.open(str(file) if isinstance(file, Path) else file, "w", format="mp4", container_options=flags) as output:
        if comment is not None:
            output.metadata["comment"] = comment
        try:
            stream = output.add_stream("libx264", rate=exact, options=dict(options))
        except (ValueError, av.error.FFmpegError) as error:
            raise SetupError(f"This build of PyAV cannot encode with x264 ({error})") from error
        stream.width, stream.height, stream.pix_fmt = width, height, chroma
        stream.codec_context.thread_count = threads
        if times is not None:
            stream.codec_context.time_base = Fraction(1, TICKS)

        def write(frame: av.VideoFrame | None) -> None:
            for packet in stream.encode(frame):
                if duration is not None:
                    packet.duration = duration
                output.mux(packet)

        for picture, time in zip(chain([first], pictures), repeat(None) if times is None else times, strict=False):
            pixels = picture if planes else np.ascontiguousarray(picture[:height, :width])
            frame = av.VideoFrame.from_ndarray(pixels, format="yuv420p" if planes else "rgb24")
            if time is not None:
                frame.pts, frame.time_base = time, Fraction(1, TICKS)
            write(frame)
        write(None)


def transcode(source: Path, target: Path, ticks: Sequence[int], comment: str) -> None:
    """Write the frames of a clip as H.264 that every browser plays; the same bytes for the same frames.

    Args:
        source: Anything that :func:`vmmetrics.video.read_clip` reads.
        target: File to write; nothing of it is left where this fails.
        ticks: Time of each frame in units of 1/90000 s; the last one is shown for the median step.
        comment: Text stored in the file.

    Raises:
        ClipError: The source cannot be read, or has another number of frames.
        SetupError: This build of PyAV has no x264, or a package is missing that reads the source.
    """
    clip = read_clip(source)
    if len(clip) != len(ticks):
        raise ClipError(f"the video has {len(clip)} frames, but {len(ticks)} were scored")
    write_playable(target, clip.frames, ticks, clip.fps, comment)


def write_playable(target: Path, frames: UInt8Array, ticks: Sequence[int], fps: float, comment: str) -> None:
    """Write frames as :func:`transcode` does.

    Args:
        target: File to write; nothing of it is left where this fails.
        frames: (T, H, W, 3) RGB.
        ticks: Time of each, as for :func:`transcode`.
        fps: Frames per second of a single frame.
        comment: Text stored in the file.

    Raises:
        SetupError: This build of PyAV has no x264.
    """
    step = int(np.median(np.diff(ticks))) if len(ticks) > 1 else round(TICKS / fps)
    try:
        write_h264(
            target, _planes(frames), Fraction(TICKS, step), _CODING,
            threads=1, times=ticks, duration=step, comment=comment,
        )  # fmt: skip
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def to_ticks(seconds: Iterable[float]) -> list[int]:
    """Return times in :data:`TICKS`, each after the one before."""
    ticks: list[int] = []
    for time in seconds:
        ticks.append(max(round(time * TICKS), ticks[-1] + 1 if ticks else 0))
    return ticks


def _planes(frames: UInt8Array) -> Iterator[UInt8Array]:
    """Yield RGB frames (T, H, W, 3) as planes of 4:2:0, odd sides padded by their last line."""
    import av
    from av.video.reformatter import VideoReformatter

    reformatter = VideoReformatter()
    height, width = frames.shape[1:3]
    matrix = _BT709 if height >= _HD_LINES or width >= _HD_COLUMNS else _BT601
    for frame in frames:
        padded = np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        picture = reformatter.reformat(
            av.VideoFrame.from_ndarray(padded, format="rgb24"),
            format="yuv420p",
            src_colorspace=matrix, dst_colorspace=matrix, src_color_range=_FULL, dst_color_range=_LIMITED,
        )  # fmt: skip
        yield np.asarray(picture.to_ndarray(), np.uint8)


def is_transcode(path: Path, comment: str, frames: int) -> bool:
    """Return True if a file is whole and was written by :func:`transcode` with that comment."""
    try:
        with opened(path) as (container, stream):
            packets = [packet for packet in packets_of(container, stream) if packet.size]
            whole = len(packets) == frames and not any(packet.is_corrupt for packet in packets)
            return whole and container.metadata.get("comment") == comment
    except (ClipError, OSError):
        return False
