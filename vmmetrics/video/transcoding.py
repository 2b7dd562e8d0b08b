"""Transcoding of clips to H.264 that every browser plays, with the frames and times that were scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from vmmetrics.errors import ClipError
from vmmetrics.types import UInt8Array
from vmmetrics.video.containers import opened, packets_of
from vmmetrics.video.encoding import TICKS, write_h264
from vmmetrics.video.reader import read_clip

_CODING = {"crf": "18", "preset": "veryfast", "g": "12", "bf": "0", "x264-params": "mbtree=0"}
"""Key frames often, so that a seek decodes 12 frames; without macroblock trees, by which one encoding in a hundred had
other bytes, with one thread too (x264 of PyAV 18)."""
_HD_LINES, _HD_COLUMNS = 720, 1280  # from which players take untagged video for BT.709
_BT601, _BT709, _LIMITED, _FULL = 5, 1, 1, 2  # as swscale numbers them


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
    step = int(np.median(np.diff(ticks))) if len(ticks) > 1 else round(TICKS / clip.fps)
    try:
        write_h264(
            target, _planes(clip.frames), Fraction(TICKS, step), _CODING,
            layout="yuv420p", threads=1, times=ticks, duration=step, comment=comment,
        )  # fmt: skip
    except BaseException:
        target.unlink(missing_ok=True)
        raise


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
