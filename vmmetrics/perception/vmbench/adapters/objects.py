"""The subject's objects over a whole clip, for ``protocol="vmmetrics"``: found by name, followed both ways.

Next to the released bookkeeping (:mod:`~vmmetrics.perception.vmbench.released`): an object keeps its identity however
much its outline changes, it is followed through the whole clip and not from key frame to key frame, what a key frame
newly finds is followed back to where it came from, and what that shows to be an earlier object come back is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from vmmetrics.perception.scene import Objects, Scene, SceneObject
from vmmetrics.perception.vmbench.adapters.grounding import GroundingDINO
from vmmetrics.perception.vmbench.adapters.sam2 import MaskSession, Sam2
from vmmetrics.perception.vmbench.released import pixel_boxes, subject_text
from vmmetrics.types import BoolArray

KEY_SECONDS = 1.0
"""Time between the frames in which the subject is looked for; about the released code's."""

SAME = 0.5
"""Intersection over union from which two masks are of one object, the usual measure in tracking benchmarks."""

PART = 0.8
"""Share of a mask inside of another from which it is a part of that object, and not one of its own."""

MOST_OBJECTS = 16
"""Objects newly followed from one key frame, the largest; each costs a pass of the video model over the clip."""

MAP_SIDE = 480
"""Pixels of the longer side of the maps that are handed on; the network's own masks are 256."""

LEAST_PIXELS = 4
"""Pixels of the map below which an object is not seen."""


@dataclass(frozen=True)
class GroundedObjects:
    """A :class:`~vmmetrics.perception.scene.Segmenter`.

    Attributes:
        grounder: Finds the subject's boxes in key frames.
        sam2: Turns them into masks and follows these.
    """

    grounder: GroundingDINO
    sam2: Sam2

    def segment(self, scene: Scene) -> Objects:
        """Return the objects that the clip's subject names; none where it has no subject."""
        if scene.clip.subject is None:
            return _as_objects([], scene)
        frames, text = scene.clip.frames, subject_text(scene)
        followed: list[BoolArray] = []  # (T, h, w) each
        keys = key_frames(len(frames), scene.clip.fps)
        boxes = dict(zip(keys, self.grounder.boxes_in([frames[key] for key in keys], text), strict=True))
        session, shown = self.sam2.open(frames), [key for key in keys if len(boxes[key])]
        for number, key in enumerate(shown):
            box_prompts = pixel_boxes(boxes[key], scene.clip.width, scene.clip.height)
            masks = _largest(session.masks(key, box_prompts, shown[number + 1 :]))
            fresh = [mask for mask in masks if not _is_duplicate(_small(mask), [seen[key] for seen in followed])]
            if fresh:
                for seen in follow(session, len(frames), key, fresh[:MOST_OBJECTS]):
                    _join(followed, seen, key)
        return _as_objects(followed, scene)


def _largest(masks: BoolArray) -> list[BoolArray]:
    """Return the (H, W) masks that are not empty, the largest first, each once and without its parts."""
    distinct: list[BoolArray] = []
    for mask in sorted(masks, key=np.count_nonzero, reverse=True):
        if mask.any() and not _is_duplicate(mask, distinct):
            distinct.append(mask)
    return distinct


def key_frames(num_frames: int, fps: float) -> list[int]:
    """Return frames about :data:`KEY_SECONDS` apart, the first and the last among them; each once.

    Example:
        >>> key_frames(49, 8.0)
        [0, 8, 16, 24, 32, 40, 48]
    """
    count = 1 + round(min(num_frames - 1, (num_frames - 1) / fps / KEY_SECONDS))
    return list(map(round, np.linspace(0, num_frames - 1, max(count, min(num_frames, 2))).tolist()))


def follow(session: MaskSession, num_frames: int, key: int, masks: Sequence[BoolArray]) -> list[BoolArray]:
    """Follow the masks of one frame to both ends of the clip.

    Returns:
        Per mask (T, h, w) bool at the maps' resolution.
    """
    prompts = dict(enumerate(masks))
    seen = [np.zeros((num_frames, *_small(mask).shape), np.bool_) for mask in masks]
    ways = [(num_frames - 1 - key, False), *([(key, True)] if key else [])]
    for steps, reverse in ways:
        for frame, answer in session.propagate(key, prompts, steps, reverse=reverse):
            for index, mask in answer.items():
                seen[index][frame] = _small(mask)
    return seen


def _is_duplicate(mask: BoolArray, others: Sequence[BoolArray]) -> bool:
    """Return True if a mask is empty, or matches or is part of one of the others."""
    size = int(np.count_nonzero(mask))
    for other in others:
        both = int(np.count_nonzero(mask & other))
        if both >= PART * size or both >= SAME * (size + np.count_nonzero(other) - both):
            return True
    return size == 0


def _join(followed: list[BoolArray], seen: BoolArray, key: int) -> None:
    """Add an object found in frame ``key``, or add it to the earlier one that it turns out to be."""
    for index, other in enumerate(followed):
        together = np.flatnonzero(np.any(seen[:key] & other[:key], axis=(1, 2)))
        both = np.count_nonzero(seen[together] & other[together])
        either = np.count_nonzero(seen[together] | other[together])
        if len(together) and both >= SAME * either:
            followed[index] = other | seen
            return
    followed.append(seen)


def _as_objects(followed: Sequence[BoolArray], scene: Scene) -> Objects:
    """One map of all objects, the smaller in front; what is never in front is no object."""
    clip = scene.clip
    height, width = _map_size(clip.height, clip.width)
    labels = np.zeros((len(clip), height, width), np.uint8)
    for index in sorted(range(len(followed)), key=lambda i: -np.count_nonzero(followed[i])):
        labels[followed[index]] = index + 1
    areas = {index: np.count_nonzero(labels == index, axis=(1, 2)) for index in range(1, len(followed) + 1)}
    shown = [index for index, area in areas.items() if (area >= LEAST_PIXELS).any()]
    renumbered = np.zeros(256, np.uint8)
    renumbered[shown] = np.arange(1, len(shown) + 1)
    name = clip.subject.noun if clip.subject else "object"
    never = np.zeros(len(clip), np.bool_)
    items = tuple(SceneObject(i, name, areas[old] >= LEAST_PIXELS, never) for i, old in enumerate(shown, 1))
    return Objects(renumbered[labels], items, (clip.width / width, clip.height / height))


def _map_size(height: int, width: int) -> tuple[int, int]:
    shrink = max(1.0, max(height, width) / MAP_SIDE)
    return max(1, round(height / shrink)), max(1, round(width / shrink))


def _small(mask: BoolArray) -> BoolArray:
    """A mask of the frame at the maps' resolution: pixels that it covers at least half of."""
    height, width = _map_size(*mask.shape)
    share = cv2.resize(mask.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(share >= 0.5)
