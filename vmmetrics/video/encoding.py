"""Encoding of pictures as an H.264 file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import chain, repeat
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError

TICKS = 90_000
"""Of a second, the clock of MPEG."""


def write_h264(
    file: Path | IO[bytes],
    pictures: Iterable[NDArray[np.uint8]],
    rate: float | Fraction,
    options: Mapping[str, str],
    *,
    chroma: str = "yuv420p",
    layout: str = "rgb24",
    threads: int = 0,
    times: Iterable[int] | None = None,
    duration: int | None = None,
    comment: str | None = None,
) -> None:
    """Write pictures as an MP4.

    Args:
        file: Target.
        pictures: (H, W, 3) RGB, one at least; yuv420p, which plays everywhere, wants even sides: odd ones are cut.
            With layout "yuv420p" (3 H / 2, W), the planes below one another, of even sides.
        rate: Frames per second; a float to a denominator of 1001.
        options: Of x264.
        chroma: Pixel format of the file.
        layout: Pixel format of the pictures.
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
    if layout == "yuv420p":
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
            pixels = picture if layout == "yuv420p" else np.ascontiguousarray(picture[:height, :width])
            frame = av.VideoFrame.from_ndarray(pixels, format=layout)
            if time is not None:
                frame.pts, frame.time_base = time, Fraction(1, TICKS)
            write(frame)
        write(None)
