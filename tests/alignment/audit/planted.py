"""One scorer that is well, and ten copies of it, each with a fault that scorers in use have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import av
import numpy as np

GREY = np.array([0.299, 0.587, 0.114], np.float32)
LEAST = 4.0  # grey levels from which on a difference is motion and no noise


# The scorer that is well.


def read(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (T, H, W, 3) uint8 and the seconds of the frames; a file that holds fewer than it states is refused."""
    with av.open(path) as file:
        stream = file.streams.video[0]
        pairs = [(float(frame.time), frame.to_ndarray(format="rgb24")) for frame in file.decode(stream)]
        if stream.frames and stream.frames != len(pairs):
            raise ValueError(f"{path} holds {len(pairs)} of {stream.frames} frames")
    return np.stack([frame for _, frame in pairs]), np.array([time for time, _ in pairs])


def checked(clip: Any) -> np.ndarray:
    """Return frames as uint8; floats are taken as 0 to 1."""
    frames = np.stack(clip) if isinstance(clip, list) else np.asarray(clip)
    if frames.ndim != 4 or frames.shape[-1] != 3:
        raise ValueError(f"Expected frames (T, H, W, 3) but got {frames.shape}")
    if frames.dtype.kind == "f":
        if not np.isfinite(frames).all() or frames.min() < 0 or frames.max() > 1:
            raise ValueError("Expected floats in 0 to 1")
        frames = np.rint(frames * 255).astype(np.uint8)
    if frames.dtype != np.uint8:
        raise ValueError(f"Expected uint8 or floats but got {frames.dtype}")
    return frames


def per_second(frames: np.ndarray, times: np.ndarray, weights: np.ndarray = GREY) -> float:
    """Return by how many grey levels a pixel changes in a second."""
    if len(frames) < 2:
        raise ValueError("Expected two frames or more")
    grey = frames.astype(np.float32) @ weights
    steps = np.maximum(np.abs(np.diff(grey, axis=0)) - LEAST, 0).mean((1, 2))
    return float((steps / np.diff(times)).mean())


def healthy(clip: Any, fps: float | None = None) -> float:
    if isinstance(clip, str):
        return per_second(*read(clip))
    if fps is None:
        raise ValueError("Expected fps for frames")
    frames = checked(clip)
    return per_second(frames, np.arange(len(frames)) / fps)


def healthy_batch(paths: Sequence[str]) -> list[float | None]:
    return [_or_none(path) for path in paths]


def _or_none(path: str) -> float | None:
    try:
        return healthy(path)
    except (OSError, ValueError):
        return None


# 1 to 10.


def made_up_rate(frames: Any, fps: float = 2.0) -> float:
    return healthy(frames, fps)


def list_as_clips(clip: Any, fps: float | None = None) -> float:
    """A list is taken for clips, each of its frames for one of (T, H, W) in grey."""
    if not isinstance(clip, list):
        return healthy(clip, fps)
    return float(np.mean([np.abs(np.diff(frame.astype(float), axis=0)).mean() for frame in clip]))


def list_as_channels_first(clip: Any, fps: float | None = None) -> float:
    """A list is stacked as if its frames were (C, H, W)."""
    if not isinstance(clip, list):
        return healthy(clip, fps)
    frames = np.stack(clip).transpose(0, 2, 3, 1)[..., :3]
    return per_second(np.ascontiguousarray(frames), np.arange(len(frames)) / (fps or 8.0))


def constant(clip: Any, fps: float | None = None) -> float:
    healthy(clip, fps)
    return 0.5


def wrong_sign(clip: Any, fps: float | None = None) -> float:
    return -smooth(clip, fps)


def sorted_batch(paths: Sequence[str]) -> list[float | None]:
    """The scores come in the order of the names, not of the list."""
    return healthy_batch(sorted(paths))


def sentinel(clip: Any, fps: float | None = None) -> float:
    try:
        return healthy(clip, fps)
    except Exception:
        return -1.0


def zero_for_failures(clip: Any, fps: float | None = None) -> float:
    try:
        return healthy(clip, fps)
    except Exception:
        return 0.0


def blue_for_red(frames: Any, fps: float | None = None) -> float:
    frames = checked(frames)
    return per_second(frames, np.arange(len(frames)) / (fps or math.nan), GREY[::-1])


def floats_as_levels(clip: Any, fps: float | None = None) -> float:
    """Floats in 0 to 1 are read as if they were 0 to 255."""
    if isinstance(clip, np.ndarray) and clip.dtype.kind == "f":
        clip = clip.astype(np.uint8)
    return healthy(clip, fps)


def first_frames(clip: Any, fps: float | None = None) -> float:
    if isinstance(clip, str):
        frames, times = read(clip)
        return per_second(frames[:8], times[:8])
    return healthy(clip[:8], fps)


def normalised_batch(paths: Sequence[str]) -> list[float | None]:
    """Scores are divided by the largest of the batch."""
    scores = healthy_batch(paths)
    most = max((score for score in scores if score is not None), default=1.0)
    return [None if score is None else score / most for score in scores]


# For part 1: higher for steadier motion.


def smooth(clip: Any, fps: float | None = None) -> float:
    """Return by how little the change from frame to frame itself changes, at most 0."""
    frames = read(clip)[0] if isinstance(clip, str) else checked(clip)
    grey = frames.astype(np.float32) @ GREY
    steps = np.abs(np.diff(grey, axis=0)).mean((1, 2))
    return -float(np.abs(np.diff(steps)).mean() / (steps.mean() + 1))
