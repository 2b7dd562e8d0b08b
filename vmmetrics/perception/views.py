"""Views of a clip for a video classifier: temporal segments, square crops, normalised."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from vmmetrics.types import FloatArray, UInt8Array

IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
IMAGENET_STD = np.array([0.229, 0.224, 0.225], np.float32)

VMBENCH_RATE = 4
"""Frame stride of VMBench's views."""


@dataclass(frozen=True, slots=True)
class View:
    """One temporal segment of a clip and one spatial crop.

    Attributes:
        frames: Indices of its frames in the clip, ascending; the last repeated where the clip is too short.
        top: First row of the crop in the resized frames.
        left: First column.
    """

    frames: tuple[int, ...]
    top: int
    left: int


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """Layout of views over a clip. The defaults are VMBench's (reference: VideoMAE V2's test mode).

    Attributes:
        frames: Frames per view.
        rate: Frame stride within a view.
        segments: Temporal segments, from the first to the last that fits; a single one lies in the middle.
        crops: Crops along the longer side, from one end to the other; a single one lies in the middle.
        size: Side of the crops, and of the frames' shorter side, in pixels.
    """

    frames: int = 16
    rate: int = VMBENCH_RATE
    segments: int = 10
    crops: int = 3
    size: int = 224

    def __post_init__(self) -> None:
        if min(self.frames, self.rate, self.segments, self.crops, self.size) < 1:
            raise ValueError(f"Expected positive numbers but got {self}")

    def sampled(self, num_frames: int) -> list[int]:
        """Return the indices of every ``rate``-th frame, the last repeated up to the length of a view."""
        taken = list(range(0, num_frames, self.rate))
        return taken + taken[-1:] * (self.frames - len(taken))

    def resized(self, height: int, width: int) -> tuple[int, int]:
        """Return height and width with the shorter side at ``size``, the longer truncated to whole pixels."""
        if width < height:
            return int(self.size * height / width), self.size
        return self.size, int(self.size * width / height)

    def views(self, num_frames: int, height: int, width: int) -> list[View]:
        """Return the views of a clip; in a short or square clip several are equal.

        Args:
            num_frames: Frames of the clip.
            height: Height of the clip, pixels.
            width: Width of the clip, pixels.

        Returns:
            ``segments`` x ``crops`` views, crops innermost.
        """
        taken = self.sampled(num_frames)
        rows, columns = self.resized(height, width)
        starts = _spread(len(taken) - self.frames, self.segments)
        offsets = _spread(max(rows, columns) - self.size, self.crops)
        stretches = [tuple(taken[start : start + self.frames]) for start in starts]
        corners = [(offset, 0) if rows >= columns else (0, offset) for offset in offsets]
        return [View(stretch, top, left) for stretch in stretches for top, left in corners]


def _spread(room: int, count: int) -> list[int]:
    """Return ``count`` evenly spaced offsets from 0 to ``room``, each truncated.

    >>> _spread(174, 3), _spread(9, 1)
    ([0, 87, 174], [4])
    """
    if count == 1:
        return [room // 2]
    return [int(k * (room / (count - 1))) for k in range(count)]


class Viewer:
    """Extractor of views from a clip; each frame is resized once.

    Args:
        frames: (T, H, W, 3) uint8 RGB.
        plan: Layout of the views.
    """

    def __init__(self, frames: UInt8Array, plan: ViewPlan) -> None:
        self._plan = plan
        rows, columns = plan.resized(*frames.shape[1:3])
        self._frames = frames
        self._size = (columns, rows)
        self._resized: dict[int, UInt8Array] = {}

    def cut(self, view: View) -> FloatArray:
        """Return a view as (3, T, size, size) float32, normalised by ImageNet's mean and deviation."""
        size = self._plan.size
        rows, columns = slice(view.top, view.top + size), slice(view.left, view.left + size)
        for index in view.frames:
            if index not in self._resized:
                self._resized[index] = resize(self._frames[index], self._size)
        return normalised(np.stack([self._resized[index][rows, columns] for index in view.frames]))


def resize(frame: UInt8Array, size: tuple[int, int]) -> UInt8Array:
    """Resize an (H, W, 3) picture to (width, height), bilinearly and without smoothing, as VideoMAE V2 does."""
    if (frame.shape[1], frame.shape[0]) == size:
        return frame
    return np.asarray(cv2.resize(frame, size, interpolation=cv2.INTER_LINEAR), np.uint8)


def normalised(frames: UInt8Array) -> FloatArray:
    """Return (T, H, W, 3) uint8 ``frames`` as (3, T, H, W) float32, normalised by ImageNet's mean and deviation."""
    scaled = (frames.astype(np.float32) / np.float32(255) - IMAGENET_MEAN) / IMAGENET_STD
    return np.ascontiguousarray(scaled.transpose(3, 0, 1, 2))
