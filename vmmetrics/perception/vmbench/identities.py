"""The released TCS's bookkeeping: objects found in key frames, followed to the next, and told from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from vmmetrics.perception.vmbench.models import Grounder, MaskSession, StillSegmenter, UInt8Array, VideoSegmenter
from vmmetrics.types import BoolArray, FloatArray

SAME_OBJECT = 0.75
"""Intersection over union above which a new mask takes the identity of a tracked one; the released code's value."""
JPEG_QUALITY = 95
"""At which the released code recompresses the frames that it detects on."""

Masks = dict[int, BoolArray]
"""(H, W) bool by identity, in the order that the models were given them; a tracked object's may be empty."""


@dataclass(frozen=True)
class Chunks:
    """Follows what a text names from key frame to key frame.

    Attributes:
        grounder: Finds boxes in a key frame.
        stills: Turns them into masks.
        video: Follows these to the next key frame.
        text: What is looked for.
    """

    grounder: Grounder
    stills: StillSegmenter
    video: VideoSegmenter
    text: str

    def follow(self, frames: UInt8Array, step: int) -> tuple[list[Masks], int]:
        """Return the masks that each chunk starts with, and how many identities were given out.

        Args:
            frames: (T, H, W, 3) uint8 RGB.
            step: Frames from one key frame to the next.

        Returns:
            Per key frame the masks as the video model hands them back for it, by identity from 1 on, and the count.
        """
        tracked: Masks = {}  # as of the last frame that was propagated to, which lags where chunks were skipped
        starts: list[Masks] = []
        count = 0
        session: MaskSession | None = None
        for start in range(0, len(frames), step):
            found = self._found(frames[start])
            if len(found):
                wanted, count = identify(found, tracked, count)
            else:
                wanted = tracked
            if not wanted:
                starts.append({})
                continue
            session = self.video.open(frames) if session is None else session
            for index, masks in session.propagate(start, wanted, step):
                if index == start:
                    starts.append(masks)
                tracked = masks
        return starts, count

    def _found(self, frame: UInt8Array) -> Sequence[BoolArray]:
        """Masks of what is found in a key frame, which is recompressed for that, in the order of the boxes."""
        image = recompressed(frame)
        height, width = image.shape[:2]
        boxes = pixel_boxes(self.grounder.boxes(image, self.text), width, height)
        return list(self.stills.masks(image, boxes)) if len(boxes) else []


def identify(found: Sequence[BoolArray], tracked: Mapping[int, BoolArray], count: int) -> tuple[Masks, int]:
    """Give each mask found the identity of the first tracked one that it overlaps enough, else a new one.

    Empty masks are passed over. Two that overlap the same tracked mask share its identity, and the later one stays.
    What is tracked and not found again is dropped.

    Args:
        found: (H, W) bool masks.
        tracked: Masks by identity.
        count: Identities given out so far.

    Returns:
        The masks by identity, and the new count.
    """
    masks: Masks = {}
    for mask in found:
        if not mask.any():
            continue
        same = next((i for i, other in tracked.items() if overlap(mask, other) > SAME_OBJECT), None)
        if same is None:
            count += 1
            same = count
        masks[same] = mask
    return masks, count


def overlap(first: BoolArray, second: BoolArray) -> np.float32:
    """Intersection over union of two masks, not both empty, in the released code's float32."""
    both = np.count_nonzero(first & second)
    either = np.count_nonzero(first) + np.count_nonzero(second) - both
    return np.float32(both) / np.float32(either)


def first_masks(starts: Sequence[Masks], identity: int) -> tuple[int, BoolArray]:
    """Return the first place in ``starts`` that has the identity, and its mask there."""
    return next((ordinal, masks[identity]) for ordinal, masks in enumerate(starts) if identity in masks)


def recompressed(frame: UInt8Array) -> UInt8Array:
    """(H, W, 3) RGB as it comes back from a JPEG, which OpenCV writes and reads in BGR."""
    bgr = cv2.cvtColor(frame, cv2.COLOR_RGB2BGR)
    _, written = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    again: UInt8Array = np.asarray(cv2.imdecode(written, cv2.IMREAD_COLOR), np.uint8)
    return np.asarray(cv2.cvtColor(again, cv2.COLOR_BGR2RGB), np.uint8)


def pixel_boxes(boxes: FloatArray, width: int, height: int) -> FloatArray:
    """(N, 4) centre and size as shares of the frame to float32 x0, y0, x1, y1 in pixels, as torch computes it."""
    scaled = boxes.astype(np.float32) * np.array([width, height, width, height], np.float32)
    corner = scaled[:, :2] - scaled[:, 2:] / np.float32(2)
    return np.concatenate([corner, scaled[:, 2:] + corner], axis=1)
