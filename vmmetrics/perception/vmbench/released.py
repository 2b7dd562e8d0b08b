"""The released scripts' control flow for PAS, TCS and OIS, decision for decision, on whichever models it is given.

What the scores make of the answers is in :mod:`vmmetrics.functional`; each quirk **Qn** is told in docs/protocols.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from vmmetrics.errors import ClipError
from vmmetrics.perception.points import released_key_frames, released_step
from vmmetrics.perception.scene import PointTracks, ReleasedObject, ReleasedObjects, Scene
from vmmetrics.perception.vmbench.adapters.cotracker import CoTracker
from vmmetrics.perception.vmbench.adapters.grounding import GroundingDINO, resized
from vmmetrics.perception.vmbench.adapters.rtm import RTMDetPersons, RTMPoseKeypoints
from vmmetrics.perception.vmbench.adapters.sam import Sam, fitted
from vmmetrics.perception.vmbench.adapters.sam2 import MaskSession, Sam2
from vmmetrics.types import BoolArray, FloatArray, UInt8Array

# The released TCS's bookkeeping: objects found in key frames, followed to the next, and told from each other.

SAME_OBJECT = 0.75
"""Intersection over union above which a new mask takes the identity of a tracked one; the released code's value."""
JPEG_QUALITY = 95
"""At which the released code recompresses the frames that it detects on."""

Masks = dict[int, BoolArray]
"""(H, W) bool by identity, in the order that the models were given them; a tracked object's may be empty."""


def follow(grounder: GroundingDINO, sam2: Sam2, text: str, frames: UInt8Array, step: int) -> tuple[list[Masks], int]:
    """Follow what a text names from key frame to key frame.

    Args:
        grounder: Finds boxes in a key frame.
        sam2: Turns them into masks and follows these to the next key frame.
        text: What is looked for.
        frames: (T, H, W, 3) uint8 RGB.
        step: Frames from one key frame to the next.

    Returns:
        Per key frame the masks as the video model hands them back for it, by identity from 1 on, and how many
        identities were given out.
    """
    tracked: Masks = {}  # as of the last frame that was propagated to, which lags where chunks were skipped
    starts: list[Masks] = []
    count = 0
    session: MaskSession | None = None
    masks_of = _detected(grounder, sam2, text, [recompressed(frame) for frame in frames[::step]])
    for start, masks in zip(range(0, len(frames), step), masks_of, strict=True):
        masks_to_follow = tracked
        if masks is not None:
            masks_to_follow, count = identify(list(masks), tracked, count)
        if not masks_to_follow:
            starts.append({})
            continue
        session = sam2.open(frames) if session is None else session
        for index, seen in session.propagate(start, masks_to_follow, step):
            if index == start:
                starts.append(seen)
            tracked = seen
    return starts, count


def _detected(
    grounder: GroundingDINO, sam2: Sam2, text: str, images: Sequence[UInt8Array]
) -> Iterator[BoolArray | None]:
    """Yield per key frame (N, H, W) masks of what the text names; None where nothing is found.

    The released code asks key frame by key frame. As no answer depends on what was tracked, all are asked together.
    """
    height, width = images[0].shape[:2]
    boxes = [pixel_boxes(frame_boxes, width, height) for frame_boxes in grounder.boxes_in(images, text)]
    which = [number for number, frame_boxes in enumerate(boxes) if len(frame_boxes)]
    masks = iter(sam2.masks_in([images[n] for n in which], [boxes[n] for n in which]) if which else ())
    yield from (next(masks) if len(frame_boxes) else None for frame_boxes in boxes)


def identify(new_masks: Sequence[BoolArray], tracked: Mapping[int, BoolArray], count: int) -> tuple[Masks, int]:
    """Give each mask found the identity of the first tracked one that it overlaps enough, else a new one.

    Empty masks are passed over. Two that overlap the same tracked mask share its identity, and the later one stays.
    What is tracked and not found again is dropped.

    Args:
        new_masks: (H, W) bool masks.
        tracked: Masks by identity.
        count: Identities given out so far.

    Returns:
        The masks by identity, and the new count.
    """
    masks: Masks = {}
    for mask in new_masks:
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


AMPLITUDE_GRID = 30
"""Points along each side of PAS's grid."""
COHERENCE_GRID = 50
"""The same for TCS."""

SAM_SIZE = 1024
"""What SAM resizes the longer side of a frame to."""


@dataclass(frozen=True)
class Released:
    """A :class:`~vmmetrics.perception.scene.ReleasedFlow`.

    Attributes:
        grounder: Finds the subject's boxes, for PAS and TCS.
        sam: Masks of PAS (SAM ViT-H).
        sam2: Masks of TCS in key frames and between them (SAM 2.1).
        points: Tracks of PAS and TCS.
        people: Boxes of OIS.
        keypoints: Keypoints of OIS.
    """

    grounder: GroundingDINO
    sam: Sam
    sam2: Sam2
    points: CoTracker
    people: RTMDetPersons
    keypoints: RTMPoseKeypoints

    def amplitude_tracks(self, scene: Scene) -> tuple[PointTracks | None, PointTracks]:
        """Return PAS's points on the subject (None: not found in the first frame) and on the background.

        Both may have no point. The background is what any one mask leaves out: with two or more objects that lie
        apart, the whole frame (Q2).
        """
        frames = scene.clip.frames
        height, width = frames.shape[1:3]
        boxes = pixel_boxes(self.grounder.boxes(frames[0], subject_text(scene)), width, height)
        if len(boxes) == 0:
            return None, self._amplitude_grid(frames, np.ones((height, width), np.bool_))
        masks = self.sam.masks(frames[0], shrunk_boxes(boxes, width, height))
        background = self._amplitude_grid(frames, np.any(~masks, axis=0))
        return self._amplitude_grid(frames, np.any(masks, axis=0)), background

    def _amplitude_grid(self, frames: UInt8Array, mask: BoolArray) -> PointTracks:
        return self.points.grid(frames, AMPLITUDE_GRID, 0, mask.astype(np.uint8) * 255)

    def objects(self, scene: Scene) -> ReleasedObjects:
        """Return TCS's identities over the key frames, those that come or go with their points.

        A point's query frame is the *ordinal* of the key frame in which the identity is first seen (Q13).
        """
        frames = scene.clip.frames
        starts, count = follow(self.grounder, self.sam2, subject_text(scene), frames, released_step(scene.clip.fps))
        objects = []
        for identity in range(1, count + 1):
            present = np.array([identity in masks for masks in starts])
            ordinal, mask = next((n, masks[identity]) for n, masks in enumerate(starts) if identity in masks)
            tracks = None
            if not present.all():
                points = mask.astype(np.uint8) * 255
                tracks = self.points.grid(frames, COHERENCE_GRID, ordinal, points, half=True)
            boxes = np.array([_mask_box(masks.get(identity)) for masks in starts])
            objects.append(ReleasedObject(present, boxes, ordinal, tracks))
        return ReleasedObjects(released_key_frames(len(frames), scene.clip.fps), tuple(objects))

    def person(self, scene: Scene) -> tuple[FloatArray, FloatArray]:
        """Return OIS's (T, 17, 2) keypoints and (T, 17) scores of the first instance of each frame (Q8).

        Where nobody is found, that is what the keypoint model sees in the whole frame (Q9).
        """
        frames = scene.clip.frames
        height, width = frames.shape[1:3]
        whole = np.array([[0.0, 0.0, width, height]])
        # The other instances of a frame are never looked at, and do not change the first one's keypoints.
        first = [boxes[:1, :4] if len(boxes) else whole for boxes in self.people.boxes(frames)]
        answers = self.keypoints.in_frames(frames, first)
        return np.stack([xy[0] for xy, _ in answers]), np.stack([scores[0] for _, scores in answers])


def subject_text(scene: Scene) -> str:
    """Return what Grounding DINO is asked for: the subject's noun, lower case, and a dot.

    Raises:
        ClipError: The clip has no subject.
    """
    if scene.clip.subject is None:
        raise ClipError(scene.no_subject or "no subject")
    return f"{scene.clip.subject.noun}.".lower().strip()


def shrunk_boxes(boxes: FloatArray, width: int, height: int) -> FloatArray:
    """Return the boxes that, scaled for SAM rightly, lie where the released code's lie, scaled wrongly (Q1).

    It scales them as if the frame had 3 rows and as many columns as Grounding DINO's input has rows: the first two
    entries of that tensor's shape.

    Args:
        boxes: (N, 4) x0, y0, x1, y1 in pixels.
        width: Of the frame.
        height: Of the frame.
    """
    rows, _ = resized(height, width)
    wrong_rows, wrong_columns = fitted(3, rows, SAM_SIZE)
    right_rows, right_columns = fitted(height, width, SAM_SIZE)
    x = wrong_columns / rows * width / right_columns
    y = wrong_rows / 3 * height / right_rows
    return np.asarray(boxes * np.array([x, y, x, y]), np.float32)


def _mask_box(mask: BoolArray | None) -> tuple[float, float, float, float]:
    """Pixels x0, y0, x1, y1 around a mask, half a pixel outside of its centres; NaN where there is none."""
    rows, columns = np.nonzero(np.zeros((0, 0)) if mask is None else mask)
    if len(rows) == 0:
        return (np.nan,) * 4
    return columns.min() - 0.5, rows.min() - 0.5, columns.max() + 0.5, rows.max() + 0.5
