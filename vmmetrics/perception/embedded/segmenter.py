"""Moving objects with masks and identities over the whole clip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.objects_evidence import Evidence, gather_evidence
from vmmetrics.perception.embedded.objects_fates import fate_after
from vmmetrics.perception.embedded.objects_linking import join_pieces
from vmmetrics.perception.embedded.objects_pops import find_pops
from vmmetrics.perception.embedded.objects_pruning import drop_replaced, drop_unmoved, merge_parts, trim_residue
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
        min_seconds: An object is seen for at least this long, and in three frames; shorter ones are chance ...
        min_moved: ... and moves by itself in this many.
    """

    min_seconds: float = 0.25
    min_moved: int = 3

    def segment(self, scene: Scene) -> Objects:
        """Find the objects of ``scene``."""
        evidence = gather_evidence(scene)
        moving = np.stack([moving_map(evidence, t) for t in range(len(evidence))])
        labels = self._follow(evidence, moving)
        join_pieces(evidence, labels)
        kept: list[SceneObject] = []
        least = min(len(evidence), max(3, round(self.min_seconds * evidence.fps)))
        out = np.zeros(labels.shape, np.uint8)
        for identity in np.unique(labels)[1:].tolist():
            mask = labels == identity
            present = mask.any((1, 2))
            if present.sum() < least or len(kept) == MAX_OBJECTS:
                continue
            occluded = _occluded(evidence, labels, identity, present)
            kept.append(SceneObject(len(kept) + 1, "object", present, occluded))
            out[mask] = len(kept)
        height, width = evidence.shape
        return Objects(out, tuple(kept), (scene.clip.width / width, scene.clip.height / height), moving)

    def _follow(self, evidence: Evidence, moving: BoolArray) -> NDArray[np.uint16]:
        """(T, h, w) labels of what is ``moving`` (T, h, w), followed both ways in time."""
        count = len(evidence)
        labels = np.zeros((count, *evidence.shape), np.uint16)
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
        trim_residue(labels, moving)
        drop_unmoved(evidence, labels)
        drop_replaced(labels, moved)
        merge_parts(labels)
        self._add_pops(evidence, labels, moving)
        return labels

    def _add_pops(self, evidence: Evidence, labels: NDArray[np.uint16], moving: NDArray[np.bool_]) -> None:
        """Label what comes or goes without ever moving, and follow it to the other end of its life."""
        last = len(evidence) - 1
        for pop in find_pops(evidence, labels):
            if (labels[pop.full] > 0)[pop.masks[pop.full]].mean() > 0.5:
                continue
            identity = int(labels.max()) + 1
            for frame, mask in pop.masks.items():
                labels[frame][mask & (labels[frame] == 0)] = identity
            if pop.kind == "appear":
                MaskTracker(evidence, labels, moving).extend({identity: pop.full})
            else:
                MaskTracker(evidence.reversed(), labels[::-1], moving[::-1]).extend({identity: last - pop.full})


def _occluded(evidence: Evidence, labels: NDArray[np.uint16], identity: int, present: BoolArray) -> BoolArray:
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
        inner = start > 0 and stop < count
        if start > 0:
            fates.append(fate_after(evidence, labels, identity, start - 1, inner))
        if stop < count:
            fates.append(fate_after(reversed_evidence, labels[::-1], identity, count - 1 - stop, inner))
        occluded[start:stop] = "left" not in fates and "hidden" in fates
    return occluded
