"""What a metric of motion should not mind: other coding, size, framing, light, contrast, mirroring, frame rate."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.perturbations.warps import Frames
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError

SMALLEST_SIDE = 32
"""Pixels; below it there is nothing left to score."""


def reencoded(clip: Clip, crf: int) -> Clip:
    """Return the clip after x264 at ``crf`` (0 lossless to 51). Odd sizes are padded by a pixel for 4:2:0, and cut.

    Raises:
        SetupError: This build of PyAV has no x264.
    """
    import av

    high, wide = clip.height % 2, clip.width % 2
    padded = np.pad(clip.frames, ((0, 0), (0, high), (0, wide), (0, 0)), mode="edge")
    memory = io.BytesIO()
    with av.open(memory, "w", format="mp4") as container:
        rate = Fraction(clip.fps).limit_denominator(1001)
        try:
            stream = container.add_stream("libx264", rate=rate, options={"crf": str(crf)})
        except (ValueError, av.error.FFmpegError) as error:
            raise SetupError(f"This build of PyAV cannot encode with x264 ({error})") from error
        stream.width, stream.height, stream.pix_fmt = padded.shape[2], padded.shape[1], "yuv420p"
        for image in padded:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())
    memory.seek(0)
    with av.open(memory, mode="r") as container:
        decoded = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    return _shown(clip, np.stack(decoded)[:, : clip.height, : clip.width].astype(np.uint8))


def scaled(clip: Clip, factor: float) -> Clip:
    """Return the clip at ``factor`` of its size, no side below :data:`SMALLEST_SIDE`."""
    factor = max(factor, min(1.0, SMALLEST_SIDE / min(clip.width, clip.height)))
    size = (int(clip.width * factor), int(clip.height * factor))
    way = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    return _shown(clip, np.stack([cv2.resize(f, size, interpolation=way) for f in clip.frames]))


def cropped(clip: Clip, share: float) -> Clip:
    """Return the clip without ``share`` of its width and of its height, half of it on each side."""
    dy, dx = round(share * clip.height / 2), round(share * clip.width / 2)
    return _shown(clip, clip.frames[:, dy : clip.height - dy, dx : clip.width - dx])


def mirrored(clip: Clip) -> Clip:
    """Return the clip with left and right exchanged."""
    return _shown(clip, clip.frames[:, :, ::-1])


def brightened(clip: Clip, factor: float) -> Clip:
    """Return the clip with every value times ``factor``."""
    return _shown(clip, _mapped(clip.frames, np.arange(256) * factor))


def contrasted(clip: Clip, factor: float) -> Clip:
    """Return the clip with every value's distance from its mean times ``factor``."""
    mean = float(clip.frames[:: max(1, len(clip) // 8)].mean())
    return _shown(clip, _mapped(clip.frames, mean + factor * (np.arange(256) - mean)))


def at_rate(clip: Clip, fps: float) -> Clip:
    """Return the frames nearest in time to a regular beat of ``fps``; none is shown twice, each keeps its own time."""
    beat = np.arange(0, clip.timestamps[-1] + 0.5 / clip.fps, 1 / fps)
    after = np.searchsorted(clip.timestamps, beat).clip(1, max(1, len(clip) - 1))
    late = np.abs(clip.timestamps[after % len(clip)] - beat) < np.abs(clip.timestamps[after - 1] - beat)
    kept = np.unique(np.where(late, after % len(clip), after - 1))
    times = clip.timestamps[kept] - clip.timestamps[kept[0]]
    rate = (len(kept) - 1) / float(times[-1]) if len(kept) > 1 else fps
    return replace(clip, frames=np.ascontiguousarray(clip.frames[kept]), timestamps=times, fps=rate)


def _mapped(frames: Frames, values: NDArray[np.floating]) -> Frames:
    return np.asarray(np.clip(values + 0.5, 0, 255).astype(np.uint8)[frames])


def _shown(clip: Clip, frames: Frames) -> Clip:
    size = (int(frames.shape[2]), int(frames.shape[1]))
    return replace(clip, frames=np.ascontiguousarray(frames), size=size)
