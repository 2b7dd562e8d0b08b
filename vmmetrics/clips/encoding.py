"""Frames of a generator as a video file."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av

from vmmetrics.video import read_clip

_CRF = "10"
"""x264's quality, 0 lossless to 51. Scores look at fine detail, so well below 17, which x264's guide calls visually
lossless; yet a clip of a few seconds stays at some megabytes."""
_UNBOUNDED = 2**62  # bytes: what is written is never made smaller


def write_video(path: Path, frames: Any, fps: float) -> None:
    """Write an H.264 MP4.

    Args:
        path: The file.
        frames: One clip as a generator gives it: (T, H, W, C) or (T, C, H, W) array or tensor on any device, uint8, or
            floats in 0..1 or -1..1; or a list of PIL pictures or arrays.
        fps: Frames per second.

    Raises:
        ClipError: It is no clip: axes that cannot be told, values that are not finite.
    """
    pictures = read_clip(frames, fps=fps, max_memory=_UNBOUNDED).frames
    height, width = pictures.shape[1:3]
    halves = width % 2 == 0 and height % 2 == 0
    with av.open(str(path), "w", format="mp4") as output:
        stream = output.add_stream("libx264", rate=Fraction(fps).limit_denominator(1001))
        stream.width, stream.height = width, height
        stream.pix_fmt = "yuv420p" if halves else "yuv444p"  # only the first, which plays everywhere, needs even sides
        stream.codec_context.options = {"crf": _CRF}
        for picture in pictures:
            output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        output.mux(stream.encode())
