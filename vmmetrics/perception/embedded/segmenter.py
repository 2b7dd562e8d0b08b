"""Moving objects with masks and identities over the whole clip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.objects_evidence import Evidence, gather_evidence
from vmmetrics.perception.embedded.objects_fates import fate_after
from vmmetrics.perception.embedded.objects_linking import join_pieces
from vmmetrics.perception.embedded.objects_tracking import MaskTracker, moving_map
from vmmetrics.perception.protocols import Objects, SceneObject
from vmmetrics.types import BoolArray

if TYPE_CHECKING:
    from vmmetrics.perception.scene import Scene

BLINK_FRAMES = 3
"""Out of sight for no longer than this is a spoilt frame or two, not an absence."""
MAX_OBJECTS = 254


@dataclass(frozen=True)
class MotionSegmenter:
    """Objects are what moves by itself, followed through rests and back to before it moved.

    Attributes:
        min_frames: An object is seen in at least this many frames ...
        min_moved: ... and moves by itself in this many.
    """

    min_frames: int = 5
    min_moved: int = 3

    def segment(self, scene: Scene) -> Objects:
        """Find the objects of ``scene``."""
        evidence = gather_evidence(scene)
        labels = self._follow(evidence)
        join_pieces(evidence, labels)
        kept = []
        out = np.zeros(labels.shape, np.uint8)
        for identity in np.unique(labels)[1:].tolist():
            mask = labels == identity
            present = mask.any((1, 2))
            if present.sum() < min(self.min_frames, len(present)) or len(kept) == MAX_OBJECTS:
                continue
            occluded = _occluded(evidence, labels, identity, present)
            kept.append(SceneObject(len(kept) + 1, "object", present, occluded))
            out[mask] = len(kept)
        height, width = evidence.shape
        return Objects(out, tuple(kept), (scene.clip.width / width, scene.clip.height / height))

    def _follow(self, evidence: Evidence) -> NDArray[np.uint16]:
        """(T, h, w) labels of what moves, followed both ways in time."""
        count = len(evidence)
        labels = np.zeros((count, *evidence.shape), np.uint16)
        moving = np.stack([moving_map(evidence, t) for t in range(count)])
        forwards = MaskTracker(evidence, labels, moving)
        forwards.discover()
        for identity, track in list(forwards.tracks.items()):
            if track.moved < self.min_moved:
                labels[labels == identity] = 0
                del forwards.tracks[identity]
        backwards = MaskTracker(evidence.reversed(), labels[::-1], moving[::-1])
        backwards.extend({i: count - 1 - min(track.areas) for i, track in forwards.tracks.items()})
        for old, new in backwards.merged.items():
            while new in backwards.merged:
                new = backwards.merged[new]
            labels[labels == old] = new
        moved = {i: track.moved for i, track in forwards.tracks.items()}
        _drop_replaced(labels, moved)
        return labels


def _drop_replaced(labels: NDArray[np.uint16], moved: dict[int, int]) -> None:
    """Where one label ends as another begins in its place, only the one that moved more was an object, in place."""
    spans = {}
    for identity in np.unique(labels)[1:].tolist():
        frames = np.flatnonzero((labels == identity).any((1, 2)))
        spans[identity] = (int(frames[0]), int(frames[-1]))
    for early, (_, last) in spans.items():
        for late, (first, _) in spans.items():
            if early == late or not -1 <= first - last <= BLINK_FRAMES + 1:
                continue
            before, after = labels[last] == early, labels[first] == late
            if np.count_nonzero(before & after) >= 0.3 * min(np.count_nonzero(before), np.count_nonzero(after)):
                loser = early if moved.get(early, 0) < moved.get(late, 0) else late
                if moved.get(loser, 0) < 0.5 * max(moved.get(early, 0), moved.get(late, 0)):
                    labels[labels == loser] = 0


def _occluded(
    evidence: Evidence, labels: NDArray[np.uint16], identity: int, present: BoolArray
) -> BoolArray:
    """(T,) frames in which an unseen object is hidden rather than gone."""
    count = len(present)
    occluded = np.zeros(count, np.bool_)
    edges = np.flatnonzero(np.diff(np.concatenate([[True], present, [True]]).astype(np.int8)))
    reversed_evidence = evidence.reversed()
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if start > 0 and stop < count and stop - start <= BLINK_FRAMES:
            occluded[start:stop] = True
            continue
        fates = []
        if start > 0:
            fates.append(fate_after(evidence, labels, identity, start - 1))
        if stop < count:
            fates.append(fate_after(reversed_evidence, labels[::-1], identity, count - 1 - stop))
        occluded[start:stop] = "left" not in fates and "hidden" in fates
    return occluded
