"""What the published models are asked, one small protocol each: frames in, arrays out, nothing of a metric.

The released scripts' control flow (:mod:`.released`) and the abilities of :mod:`vmmetrics.perception.scene` are
both built on these, so that a test can put fakes in their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.answers import PointTracks
from vmmetrics.types import BoolArray, FloatArray

UInt8Array = NDArray[np.uint8]


class Grounder(Protocol):
    """Finds what a text names (Grounding DINO)."""

    def boxes(self, frame: UInt8Array, text: str) -> FloatArray:
        """Return (N, 4) float32 boxes in the order of the queries: centre x and y, width, height, shares of the frame.

        Args:
            frame: (H, W, 3) uint8 RGB.
            text: Lower case, ending in a dot (``"horse."``).
        """
        ...


class StillSegmenter(Protocol):
    """Masks of what boxes hold in one frame (SAM, SAM 2.1 image)."""

    def masks(self, frame: UInt8Array, boxes: FloatArray) -> BoolArray:
        """Return (N, H, W) bool, one mask per box.

        Args:
            frame: (H, W, 3) uint8 RGB.
            boxes: (N, 4) float32 x0, y0, x1, y1 in pixels of the frame, N of at least 1.
        """
        ...


class MaskSession(Protocol):
    """One clip in a :class:`VideoSegmenter`; features of frames are kept as long as the session."""

    def propagate(
        self, start: int, masks: Mapping[int, BoolArray], steps: int, *, reverse: bool = False
    ) -> Iterator[tuple[int, dict[int, BoolArray]]]:
        """Forget earlier objects, take ``masks``, and follow them.

        Args:
            start: Frame that the masks are of.
            masks: Object id to (H, W) bool, in the order that the objects are given to the model.
            steps: Frames to follow after the first; fewer where the clip ends.
            reverse: Follow towards the first frame.

        Yields:
            Frame index, ``start`` first, and (H, W) bool by object id (an object may be empty).
        """
        ...


class VideoSegmenter(Protocol):
    """Follows masks through a clip (SAM 2.1 video)."""

    def open(self, frames: UInt8Array) -> MaskSession:
        """Begin a clip (T, H, W, 3) uint8 RGB."""
        ...


class PointTracker(Protocol):
    """Follows points through a clip (CoTracker3 offline)."""

    def grid(
        self, frames: UInt8Array, side: int, frame: int, mask: UInt8Array | None, *, half: bool = False
    ) -> PointTracks:
        """Follow the points of CoTracker's own regular grid that lie on the mask, supported by its own extra points.

        Args:
            frames: (T, H, W, 3) uint8 RGB.
            side: Points along each side of the grid.
            frame: Frame that they are taken in; where it is not the first, they are followed backwards too.
            mask: (H, W) uint8, not 0 where points are wanted; None for everywhere.
            half: In bfloat16, as the released TCS; else in float32, as the released PAS.
        """
        ...

    def points(self, frames: UInt8Array, queries: FloatArray) -> PointTracks:
        """Follow ``queries`` (N, 3), frame index, x, y in pixels, through the whole clip."""
        ...


class PersonFinder(Protocol):
    """Boxes of people (RTMDet-m person)."""

    def boxes(self, frames: UInt8Array) -> list[FloatArray]:
        """Return per frame of (T, H, W, 3) uint8 RGB (N, 5) float64: x0, y0, x1, y1 in pixels and score, best first."""
        ...


class KeypointFinder(Protocol):
    """Keypoints of people in boxes (RTMPose-m body7)."""

    def keypoints(self, frame: UInt8Array, boxes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (N, 17, 2) float64 pixels in COCO order and (N, 17) scores, for boxes (N, 4) of the frame."""
        ...

    def in_frames(self, frames: UInt8Array, boxes: Sequence[FloatArray]) -> list[tuple[FloatArray, FloatArray]]:
        """Do :meth:`keypoints` for every frame of (T, H, W, 3), with T times (N, 4) boxes."""
        ...


class WindowRater(Protocol):
    """Video-quality level of windows of frames (Q-Align)."""

    def rate(self, frames: UInt8Array, windows: NDArray[np.int64]) -> FloatArray:
        """Return (W,) float64 in 0..1, 1 best.

        Args:
            frames: (T, H, W, 3) uint8 RGB.
            windows: (W, 3) int64 indices of the frames of each window, in order.
        """
        ...
