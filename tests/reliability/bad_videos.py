"""Odd video streams: pixel formats, sizes, rates, times, several streams and none."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from tests.bad_inputs import moving_frames, write_video
from tests.reliability.bad_clips import BadClip, attempt, put

FORMATS: tuple[tuple[str, str, str, str, dict[str, str]], ...] = (
    ("10 bit H.265", "mp4", "libx265", "yuv420p10le", {"x265-params": "log-level=none"}),
    ("10 bit VP9", "webm", "libvpx-vp9", "yuv420p10le", {"cpu-used": "8", "deadline": "realtime"}),
    ("10 bit H.264", "mp4", "libx264", "yuv420p10le", {}),
    ("12 bit FFV1", "mkv", "ffv1", "yuv422p12le", {}),
    ("16 bit grey FFV1", "mkv", "ffv1", "gray16le", {}),
    ("grey FFV1", "mkv", "ffv1", "gray", {}),
    ("ProRes", "mov", "prores_ks", "yuv422p10le", {}),
    ("4:4:4", "mp4", "libx264", "yuv444p", {}),
    ("4:2:2", "mp4", "libx264", "yuv422p", {}),
    ("grey H.264", "mp4", "libx264", "gray", {}),
    ("RGB H.264", "mp4", "libx264rgb", "rgb24", {}),
    ("motion JPEG", "avi", "mjpeg", "yuvj420p", {}),
    ("raw", "avi", "rawvideo", "bgr24", {}),
    ("PNG in MKV", "mkv", "png", "rgb24", {}),
    ("HuffYUV", "avi", "huffyuv", "yuv422p", {}),
    ("MPEG-2", "mpg", "mpeg2video", "yuv420p", {}),
    ("WMV", "wmv", "wmv2", "yuv420p", {}),
    ("Theora", "ogv", "libtheora", "yuv420p", {}),
    ("AV1", "mp4", "libsvtav1", "yuv420p", {"svtav1-params": "preset=12"}),
    ("GIF in MOV", "mov", "qtrle", "rgb24", {}),
    ("H.264 in 3GP", "3gp", "libx264", "yuv420p", {}),
    ("PQ", "mkv", "ffv1", "yuv420p10le", {"color_trc": "smpte2084", "color_primaries": "bt2020"}),
)

HOUR = 3_600_000
TIMES: dict[str, list[int]] = {
    "variable": [0, 100, 105, 400, 1000, 1001, 1500, 3000],
    "negative": [-500, -400, -300, -200, -100, 0, 100, 200],
    "late": [10**9 + 100 * number for number in range(8)],
    "nearly equal": [0, 1, 2, 3, 4, 5, 6, 7],
    "repeated": [0, 0, 100, 100, 200, 200, 300, 300],
    "one long frame": [0, 100, 200, 10_000, 10_100, 10_200, 10_300, 10_400],
}
GAPS = {"1 h": HOUR, "5 h": 5 * HOUR, "24 h": 24 * HOUR, "48 h": 48 * HOUR, "1 year": 365 * 24 * HOUR}


def kinds(folder: Path, _dense: bool) -> Iterator[BadClip]:
    """Every odd stream once."""
    clip = moving_frames(8)
    for name, suffix, codec, pixels, options in FORMATS:
        path = folder / f"{name.replace(' ', '-').replace(':', '')}.{suffix}"
        if attempt(write_video, path, clip, codec, pixels, options=options):
            yield BadClip(f"video {name}", path, "ok")
    for name, times in TIMES.items():
        for suffix in ("mkv", "mp4"):
            path = folder / f"times-{name.replace(' ', '-')}.{suffix}"
            if attempt(write_video, path, clip, times=times):
                yield BadClip(f"times {name} in {suffix}", path)
    for name, gap in GAPS.items():
        times = [100 * n + (gap if n >= 4 else 0) for n in range(8)]
        path = folder / f"gap-{name.replace(' ', '-')}.mkv"
        if attempt(write_video, path, clip, times=times):
            yield BadClip(f"gap of {name}", path)
    large = [100 * n + (2 * HOUR if n >= 4 else 0) for n in range(8)]
    path = write_video(folder / "gap-large.mkv", moving_frames(8, (480, 480)), times=large)
    yield BadClip("gap of 2 h, 480x480", path)
    yield from _sizes(folder)
    yield from _rates(folder)
    yield from _streams(folder)


def _sizes(folder: Path) -> Iterator[BadClip]:
    for width, height, codec, pixels in (
        (1, 1, "ffv1", "bgr0"),
        (2, 2, "libx264", "yuv420p"),
        (63, 37, "libx264", "yuv444p"),
        (4096, 2, "libx264", "yuv420p"),
        (2, 2048, "libx264", "yuv420p"),
        (16384, 2, "ffv1", "bgr0"),
        (8, 8, "libx264", "yuv420p"),
        (7, 9, "ffv1", "bgr0"),
        (300, 1, "ffv1", "bgr0"),
    ):
        path = folder / f"size-{width}x{height}.mkv"
        if attempt(write_video, path, moving_frames(3, (width, height)), codec, pixels):
            yield BadClip(f"video of {width}x{height}", path)
    for count in (1, 2, 3):
        path = write_video(folder / f"frames-{count}.mp4", moving_frames(count))
        yield BadClip(f"video of {count} frames", path, "ok")
    small, wide = (
        write_video(folder / f"part-{side}.ts", moving_frames(4, (side, side)), container="mpegts").read_bytes()
        for side in (64, 96)
    )
    yield BadClip("size changes", put(folder / "size-changes.ts", small + wide))


def _rates(folder: Path) -> Iterator[BadClip]:
    for rate in (1000, 5000, 240, Fraction(1, 10), Fraction(1, 1000), Fraction(24000, 1001)):
        path = folder / f"rate-{float(rate):g}.mp4"
        if attempt(_with_rate, path, rate):
            yield BadClip(f"rate {float(rate):g}", path)
    path = folder / "b-frames.mp4"
    if attempt(write_video, path, moving_frames(12), options={"bf": "3"}):
        yield BadClip("reordered frames", path, "ok")
    path = folder / "b-frames.avi"
    if attempt(write_video, path, moving_frames(12), "mpeg4", options={"bf": "2"}):
        yield BadClip("reordered frames in AVI", path)


def _with_rate(path: Path, rate: int | Fraction) -> None:
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=rate)
        stream.width = stream.height = 64
        stream.pix_fmt = "yuv420p"
        _encode(output, [stream], 6)


def _encode(output: Any, streams: list[Any], count: int) -> None:
    for picture in moving_frames(count):
        for stream in streams:
            output.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")))
    for stream in streams:
        output.mux(stream.encode())


def _streams(folder: Path) -> Iterator[BadClip]:
    for suffix in ("mkv", "mp4"):
        for name, pictures, sound in (("two streams", 2, False), ("sound", 1, True), ("sound alone", 0, True)):
            path = folder / f"{name.replace(' ', '-')}.{suffix}"
            if attempt(_with_streams, path, pictures, sound):
                yield BadClip(f"{name} in {suffix}", path, "ok" if pictures else "error")
        path = folder / f"no-frames.{suffix}"
        if attempt(_with_streams, path, 1, False, frames=0):
            yield BadClip(f"no frames in {suffix}", path, "error")


def _with_streams(path: Path, pictures: int, sound: bool, frames: int = 6) -> None:
    with av.open(str(path), "w") as output:
        streams = [output.add_stream("libx264", rate=10) for _ in range(pictures)]
        for stream in streams:
            stream.width = stream.height = 64
            stream.pix_fmt = "yuv420p"
        audio = output.add_stream("aac", rate=16000) if sound else None
        output.start_encoding()
        _encode(output, streams, frames)
        if audio is not None:
            for number in range(10):
                silence = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
                silence.sample_rate, silence.pts = 16000, number * 1024
                output.mux(audio.encode(silence))
            output.mux(audio.encode())
