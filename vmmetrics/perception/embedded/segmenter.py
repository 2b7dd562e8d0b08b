"""Moving objects with masks and identities over the whole clip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.objects_evidence import Evidence, gather_evidence
from vmmetrics.perception.embedded.objects_faint import faint_maps
from vmmetrics.perception.embedded.objects_fates import absences
from vmmetrics.perception.embedded.objects_linking import join_pieces
from vmmetrics.perception.embedded.objects_pops import find_pops
from vmmetrics.perception.embedded.objects_pruning import (
    drop_replaced,
    drop_unmoved,
    merge_parts,
    trim_bare,
    trim_residue,
)
from vmmetrics.perception.embedded.objects_tracking import MaskTracker, moving_map
from vmmetrics.perception.protocols import Objects, SceneObject
from vmmetrics.types import BoolArray

if TYPE_CHECKING:
    from vmmetrics.perception.scene import Scene

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
        kept, out = self._objects(evidence, moving)
        if not kept:
            moving = faint_maps(evidence)
            kept, out = self._objects(evidence, moving)
        height, width = evidence.shape
        return Objects(out, tuple(kept), (scene.clip.width / width, scene.clip.height / height), moving)

    def _objects(self, evidence: Evidence, moving: BoolArray) -> tuple[list[SceneObject], NDArray[np.uint8]]:
        """Objects, and their labels (T, h, w), of what is ``moving`` (T, h, w)."""
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
            occluded, left = absences(evidence, labels, identity)
            kept.append(SceneObject(len(kept) + 1, "object", present, occluded, left))
            out[mask] = len(kept)
        return kept, out

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
        trim_bare(evidence, labels, moving)
        drop_unmoved(evidence, labels)
        drop_replaced(labels, moved)
        merge_parts(labels)
        self._add_pops(evidence, labels, moving)
        return labels

    def _add_pops(self, evidence: Evidence, labels: NDArray[np.uint16], moving: NDArray[np.bool_]) -> None:
        """Label what comes or goes without ever moving, and follow it to the other end of its life."""
        last = len(evidence) - 1
        for pop in find_pops(evidence, labels, moving):
            if (labels[pop.full] > 0)[pop.masks[pop.full]].mean() > 0.5:
                continue
            identity = int(labels.max()) + 1
            for frame, mask in pop.masks.items():
                labels[frame][mask & (labels[frame] == 0)] = identity
            if pop.kind == "appear":
                MaskTracker(evidence, labels, moving).extend({identity: pop.full})
            else:
                MaskTracker(evidence.reversed(), labels[::-1], moving[::-1]).extend({identity: last - pop.full})
