"""Clips in every format that a report has to show, and records of them as a run has them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from tests.bad_inputs import to_ordinary_priority
from vmmetrics.scoring.record import Record, uneven_times
from vmmetrics.types import UInt8Array
from vmmetrics.video import read_clip
from vmmetrics.video.content import file_state, fingerprint, state
from vmmetrics.video.encoding import TICKS

FRAMES = 15
UNEVEN = [0, 40, 80, 240, 250, 290, 330, 700, 740, 780, 820, 860, 900, 940, 980]
"""Milliseconds of frames."""


def pictures(width: int = 96, height: int = 64) -> list[UInt8Array]:
    """Return frames with a smooth background and a bright disc that moves to the right."""
    y, x = np.mgrid[:height, :width]
    background = np.stack([x * 255 / width, y * 255 / height, 255 - x * 128 / width], axis=-1)
    frames = []
    for t in range(FRAMES):
        disc = (x - 10 - 5 * t) ** 2 + (y - height / 2) ** 2 < 64
        frames.append(np.where(disc[..., None], (250, 60, 30), background).astype(np.uint8))
    return frames


def write_video(
    path: Path, codec: str, pixels: str = "yuv420p", times_ms: list[int] | None = None, flags: str = ""
) -> Path:
    """Write :func:`pictures` with a codec of PyAV, at 8 fps or the given times; ``flags`` are those of MP4."""
    with av.open(str(path), "w", container_options={"movflags": flags} if flags else {}) as output:
        stream = output.add_stream(codec, rate=8)
        stream.width, stream.height, stream.pix_fmt = 96, 64, pixels
        if codec in ("mpeg4", "mjpeg"):
            stream.bit_rate = 4_000_000
        if times_ms is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        for number, picture in enumerate(pictures()):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            if times_ms is not None:
                frame.pts, frame.time_base = times_ms[number], Fraction(1, 1000)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    to_ordinary_priority()
    return path


def write_animation(path: Path, durations_ms: int | list[int], size: tuple[int, int] = (96, 64), **more: Any) -> Path:
    """Write :func:`pictures` with Pillow."""
    first, *rest = map(Image.fromarray, pictures(*size))
    first.save(path, save_all=True, append_images=rest, duration=durations_ms, loop=0, **more)
    return path


def write_folder(path: Path) -> Path:
    """Write :func:`pictures` as numbered PNG files."""
    path.mkdir()
    for number, picture in enumerate(pictures()):
        Image.fromarray(picture).save(path / f"{number:04}.png")
    return path


def write_array(path: Path) -> Path:
    """Write :func:`pictures` as an array."""
    np.save(path, np.stack(pictures()))
    return path


def write_row(path: Path, video: Path) -> Path:
    """Write a video into the only row of a Parquet file, and return the row."""
    pyarrow = pytest.importorskip("pyarrow")
    column = pyarrow.array([{"bytes": video.read_bytes(), "path": "a.mp4"}])
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table({"video": column}), path)
    return path.with_name(f"{path.name}#0")


UNPLAYABLE: dict[str, Callable[[Path], Path]] = {
    "gif": lambda folder: write_animation(folder / "a.gif", 120),
    "gif without rate": lambda folder: write_animation(folder / "a.gif", 0),
    "gif of uneven times": lambda folder: write_animation(folder / "a.gif", [40, 200] * 7 + [90]),
    "gif of odd size": lambda folder: write_animation(folder / "a.gif", 120, (95, 63)),
    "apng": lambda folder: write_animation(folder / "a.apng", 125, format="PNG"),
    "webp": lambda folder: write_animation(folder / "a.webp", [30, 70] * 7 + [20], lossless=True),
    "mp4v": lambda folder: write_video(folder / "a.mp4", "mpeg4"),
    "hevc": lambda folder: write_video(folder / "a.mp4", "libx265"),
    "mjpeg": lambda folder: write_video(folder / "a.avi", "mjpeg", "yuvj420p"),
    "h264 in mov": lambda folder: write_video(folder / "a.mov", "libx264"),
    "h264 of uneven times in mkv": lambda folder: write_video(folder / "a.mkv", "libx264", times_ms=UNEVEN),
    "h264 4:4:4": lambda folder: write_video(folder / "a.mp4", "libx264", "yuv444p"),
    "frames": lambda folder: write_folder(folder / "a"),
    "row": lambda folder: write_row(folder / "a.parquet", write_video(folder / "a.mp4", "libx264")),
    "array": lambda folder: write_array(folder / "a.npy"),
}
"""Clips that no browser, or not every browser, plays."""
PLAYABLE: dict[str, Callable[[Path], Path]] = {
    "h264": lambda folder: write_video(folder / "a.mp4", "libx264"),
    "h264 of uneven times": lambda folder: write_video(folder / "a.mp4", "libx264", times_ms=UNEVEN),
    "vp8": lambda folder: write_video(folder / "a.webm", "libvpx"),
    "vp9": lambda folder: write_video(folder / "a.webm", "libvpx-vp9"),
    "vp9 in mp4": lambda folder: write_video(folder / "a.mp4", "libvpx-vp9"),
    "av1": lambda folder: write_video(folder / "a.mp4", "libsvtav1"),
}


def record_of(path: Path, clip: str | None = None, **fields: Any) -> Record:
    """Return the record that a run has of a clip."""
    read = read_clip(path)
    stated: dict[str, Any] = {
        "clip": clip or path.name, "model": None, "path": str(path), "sha256": fingerprint(path),
        "preset": "embedded", "protocol": "vmmetrics", "frames": len(read), "fps": read.fps, "size": read.size,
        "timestamps": uneven_times(read.timestamps, read.fps), "codec": read.codec, "notes": read.notes,
        "state": file_state(state(path)),
    }  # fmt: skip
    return Record(**{**stated, **fields})


def decoded(path: Path) -> tuple[list[UInt8Array], list[int], int]:
    """Return the frames of a video, their times and the end of the last one in ticks, by PyAV alone."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = [(f.to_ndarray(format="rgb24"), f.pts * f.time_base * TICKS) for f in container.decode(stream)]
        end = (stream.start_time + stream.duration) * stream.time_base * TICKS
    return [f for f, _ in frames], [int(t) for _, t in frames], int(end)
