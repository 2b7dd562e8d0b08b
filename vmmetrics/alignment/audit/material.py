"""Files and arrays that an audit hands over: clips as files of several kinds, and as arrays of the same pixels."""

from __future__ import annotations

import itertools
import shutil
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.audit.calls import Item
from vmmetrics.clip import Clip
from vmmetrics.video import read_clip
from vmmetrics.video.encoding import TICKS, to_ticks, write_h264, write_playable

Frames = NDArray[np.uint8]

_LOSSLESS = {"qp": "0", "preset": "veryfast"}
_REORDERED = {
    "x265-params": "lossless=1:bframes=3:b-adapt=0:pools=1:frame-threads=1:log-level=none", "preset": "ultrafast"
}  # fmt: skip
"""Decoders hold the last frames back; x264 stores nothing out of order without loss."""
CODECS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "H.264 without loss": ("libx264", ".mp4", _LOSSLESS),
    "H.265, stored out of order": ("libx265", ".mp4", _REORDERED),
    "FFV1": ("ffv1", ".mkv", {}),
    "VP9 without loss": ("libvpx-vp9", ".webm", {"lossless": "1", "cpu-used": "8", "deadline": "realtime"}),
}
"""Codecs that keep every pixel of 4:2:0: encoder, suffix, options."""
CONTAINERS = (".mkv", ".mov", ".ts")
"""Containers into which the same packets are put."""


class Material:
    """Folder of files made for a target.

    Args:
        folder: Where they are written; it exists.
        prompt: Prompt of files that hold no clip.
        compares: True if the target compares with a reference: each clip has a blurred copy as such.
    """

    def __init__(self, folder: Path, prompt: str | None = None, *, compares: bool = False) -> None:
        self.folder, self._prompt, self._compares = folder, prompt, compares
        self._reference: str | None = None  # of files that hold no clip
        self._numbers = itertools.count(1)  # checks may ask at the same time

    def new(self, suffix: str, name: str | None = None) -> Path:
        """Return a path for a file; with a name, in a folder of its own."""
        own = self.folder / f"{next(self._numbers):04d}"
        if name is None:
            return own.with_name(own.name + suffix)
        own.mkdir()
        return own / name

    def item(self, clip: Clip, name: str | None = None) -> Item:
        """Return a clip as an H.264 file, with the decoded pixels of that file as its array."""
        path = self.new(".mp4", name)
        write_clip(path, clip)
        return self._filed(path, read_clip(path).frames, clip)

    def lossless(self, clip: Clip) -> Item:
        """Return a clip as H.264 in which no frame or place depends on another, as :meth:`item` does otherwise."""
        path, ticks = self.new(".mp4"), to_ticks(clip.timestamps)
        step = int(np.median(np.diff(ticks)))
        write_h264(
            path, clip.frames, Fraction(TICKS, step), _LOSSLESS, threads=1, times=ticks, duration=step, comment=""
        )
        return self._filed(path, read_clip(path).frames, clip)

    def exact(self, clip: Clip) -> Item:
        """Return a clip as a file that keeps its RGB pixels without loss (H.264 in RGB), and as an array of them."""
        return self._filed(self._written(clip, "libx264rgb", _LOSSLESS, "rgb24"), clip.frames, clip)

    def reordered(self, clip: Clip) -> Item:
        """Return a clip as H.265 without loss in which frames are stored out of order, as encoders do by default."""
        path = self._written(clip, "libx265", _REORDERED, "yuv420p")
        return self._filed(path, read_clip(path).frames, clip)

    def _written(self, clip: Clip, encoder: str, options: Mapping[str, str], pixels: str) -> Path:
        import av

        path = self.new(".mp4")
        with av.open(str(path), "w") as target:
            stream: Any = target.add_stream(
                encoder, rate=Fraction(clip.fps).limit_denominator(1001), options=dict(options)
            )
            stream.width, stream.height, stream.pix_fmt = clip.width, clip.height, pixels
            for frame in clip.frames:
                target.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
            target.mux(stream.encode(None))
        return path

    def frames(self, clip: Clip, frames: NDArray[Any], raw: str = "") -> Item:
        """Return frames as an array alone."""
        return self._with_array(Item(prompt=clip.prompt, raw=raw), frames, clip)

    def _filed(self, path: Path, frames: Frames, clip: Clip) -> Item:
        reference = self.reference(clip) if self._compares else str(path)
        return self._with_array(Item(path=str(path), prompt=clip.prompt, reference=reference), frames, clip)

    def reference(self, clip: Clip) -> str:
        """Return the file of a blurred copy, from which clips differ otherwise than by chance."""
        blurred = np.stack([cv2.GaussianBlur(frame, (0, 0), 1) for frame in clip.frames])
        made = str(self._written(replace(clip, frames=blurred), "libx264rgb", _LOSSLESS, "rgb24"))
        self._reference = self._reference or made
        return made

    def _with_array(self, item: Item, frames: NDArray[Any], clip: Clip) -> Item:
        path = self.new(".npy")
        np.save(path, frames)
        return item._replace(array=str(path), fps=clip.fps, times=tuple(clip.timestamps.tolist()))

    def changed(self, item: Item, frames: Frames) -> Item:
        """Return a clip with other frames, as file and array."""
        return self.item(with_frames(item, frames))

    def named(self, item: Item, name: str) -> Item:
        """Return a clip whose file has another name, in a folder of its own."""
        path = self.new("", name)
        shutil.copyfile(str(item.path), path)
        return item._replace(path=str(path))

    def copied(self, items: Sequence[Item]) -> list[Item]:
        """Return clips whose files lie together in a folder that holds nothing else."""
        folder = self.new("", "clips")
        folder.mkdir()
        copies = []
        for item in items:
            path = folder / Path(str(item.path)).name
            if Path(str(item.path)).is_file():
                shutil.copyfile(str(item.path), path)
            copies.append(item._replace(path=str(path)))
        return copies

    def remuxed(self, item: Item, suffix: str) -> Item:
        """Return a clip whose packets are in another container."""
        import av

        path = self.new(suffix)
        with av.open(str(item.path)) as source, av.open(str(path), "w") as target:
            stream = source.streams.video[0]
            out = target.add_stream_from_template(stream)
            for packet in source.demux(stream):
                if packet.dts is not None:
                    packet.stream = out
                    target.mux(packet)
        return item._replace(path=str(path))

    def retimed(self, item: Item, times: Sequence[float]) -> Item:
        """Return a clip with the same packets at other times, in seconds; the last stays for the mean time."""
        import av

        path, ticks = self.new(".mp4"), to_ticks(times)
        steps = [*np.diff(ticks).tolist(), round((ticks[-1] - ticks[0]) / (len(ticks) - 1))]
        with av.open(str(item.path)) as source, av.open(str(path), "w") as target:
            stream = source.streams.video[0]
            out = target.add_stream_from_template(stream)
            packets = (packet for packet in source.demux(stream) if packet.dts is not None)
            for packet, tick, step in zip(packets, ticks, steps, strict=True):
                packet.stream, packet.time_base = out, Fraction(1, TICKS)
                packet.pts, packet.dts, packet.duration = tick, tick, step
                target.mux(packet)
        rate = (len(ticks) - 1) / (ticks[-1] / TICKS)
        return item._replace(path=str(path), fps=rate, times=tuple(times))

    def coded(self, item: Item, codec: str) -> Item:
        """Return a clip whose decoded pixels, in 4:2:0, another codec keeps without loss."""
        encoder, suffix, options = CODECS[codec]
        return self._encoded(item, encoder, suffix, options, "yuv420p")

    def ten_bits(self, item: Item) -> Item:
        """Return a clip whose pixels are stored with ten bits."""
        return self._encoded(item, "libx264", ".mp4", _LOSSLESS, "yuv420p10le")

    def full_range(self, item: Item) -> Item:
        """Return a clip stored in full range, 0 to 255, and marked so."""
        return self._encoded(item, "libx264", ".mp4", _LOSSLESS, "yuvj420p")

    def with_sound(self, item: Item) -> Item:
        """Return a clip with a track of sound, which comes first."""
        return self._encoded(item, "libx264", ".mp4", _LOSSLESS, "yuv420p", sound=True)

    def _encoded(
        self, item: Item, encoder: str, suffix: str, options: Mapping[str, str], pixels: str, *, sound: bool = False
    ) -> Item:
        import av

        path = self.new(suffix)
        with av.open(str(item.path)) as source, av.open(str(path), "w") as target:
            stream = source.streams.video[0]
            silence = target.add_stream("aac", rate=48_000) if sound else None
            rate = Fraction(item.fps or 8).limit_denominator(1001)
            out: Any = target.add_stream(encoder, rate=rate, options=dict(options))
            out.width, out.height, out.pix_fmt = stream.width, stream.height, pixels
            if pixels == "yuvj420p":
                out.codec_context.color_range = 2
            ticks = to_ticks(item.times)
            out.codec_context.time_base = Fraction(1, TICKS)
            for number, frame in enumerate(source.decode(stream)):
                if pixels != frame.format.name:
                    frame = frame.reformat(format=pixels, dst_color_range=2 if pixels == "yuvj420p" else 1)
                frame.pts, frame.time_base, frame.pict_type = ticks[number], Fraction(1, TICKS), 0
                target.mux(out.encode(frame))
            target.mux(out.encode(None))
            if silence is not None:
                _write_silence(target, silence)
        return item._replace(path=str(path))

    def turned(self, item: Item) -> Item:
        """Return a clip that is stored lying on its side, with the matrix that shows it upright."""
        turned = self.changed(item, np.rot90(np.load(str(item.array)), 1, (1, 2)))
        path = Path(str(turned.path))
        content = bytearray(path.read_bytes())
        at = content.index(b"tkhd") + 4
        matrix = at + (52 if content[at] == 1 else 40)
        content[matrix : matrix + 36] = struct.pack(">9i", 0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30)
        path.write_bytes(bytes(content))
        return item._replace(path=str(path))

    def cut(self, item: Item, share: float) -> Item:
        """Return a file of which only the first part is there."""
        content = Path(str(item.path)).read_bytes()
        return self.bytes(content[: int(share * len(content))], ".mp4")._replace(reference=item.reference)

    def bytes(self, content: bytes, suffix: str) -> Item:
        """Return a file with any content."""
        path = self.new(suffix)
        path.write_bytes(content)
        return self.absent(path)

    def absent(self, path: Path) -> Item:
        """Return a path at which there is no clip."""
        return Item(path=str(path), fps=8.0, prompt=self._prompt, reference=self._reference or str(path))


def _write_silence(target: Any, stream: Any) -> None:
    import av

    for number in range(20):
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 48_000, number * 1024, Fraction(1, 48_000)
        target.mux(stream.encode(frame))
    target.mux(stream.encode(None))


def write_clip(path: Path, clip: Clip) -> None:
    """Write a clip as H.264, without the last line or column of odd sizes."""
    even = np.ascontiguousarray(clip.frames[:, : clip.height // 2 * 2, : clip.width // 2 * 2])
    write_playable(path, even, to_ticks(clip.timestamps), clip.fps, "vmmetrics audit")


def array_of(item: Item) -> Frames:
    """Return the (T, H, W, 3) pixels of a clip."""
    frames: Frames = np.load(str(item.array))
    return frames


def with_frames(item: Item, frames: Frames, fps: float | None = None) -> Clip:
    """Return a clip with other frames; as many at their old times, or on a beat."""
    rate = fps or item.fps or 8.0
    times = np.asarray(item.times) if fps is None and len(item.times) == len(frames) else np.arange(len(frames)) / rate
    return Clip(np.ascontiguousarray(frames), times, rate, prompt=item.prompt)


def scaled(frames: Frames, width: int, height: int) -> Frames:
    """Return frames in another size."""
    return np.stack([cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA) for frame in frames])
