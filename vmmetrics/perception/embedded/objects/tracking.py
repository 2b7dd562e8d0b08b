"""Mask tracking: masks follow the flow, are corrected by moving regions, and are searched for when lost.

The same code runs forwards, where it also starts new objects, and backwards on the reversed evidence, where it only
extends existing objects to the frames before they first moved.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np

from vmmetrics.perception.embedded.objects.evidence import Evidence, Labels, disc, mapped, middle, warp
from vmmetrics.perception.embedded.objects.matching import find_again, remainder, survival
from vmmetrics.types import BoolArray, FloatArray

Mask = BoolArray

NEW_SHARE = 0.004
"""Least share of the frame that a moving region must cover to become an object."""
GONE_SHARE = 0.0008
"""Share of the frame below which an object's mask ends ..."""
GONE_FRACTION = 0.06
"""... or share of its largest area."""
SURVIVES = 0.5
"""Share of a mask with consistent flow below which the object is searched for."""
LOOK_AHEAD = 3
"""Frames searched for a lost object: a corrupted frame or two do not end it."""
LASTING_SHARE = 0.3
"""Least share of a moving region that must also move in the next frame for it to become an object."""
CLOSING = 7
"""Width, pixels, of the gaps that are closed between the parts of a moving object."""


@dataclass
class Track:
    """State of one object while it is tracked.

    Attributes:
        id: Its value in the labels.
        soft: (h, w) float32 membership in the current frame; sub-pixel, so that slow drift is not rounded away.
        velocity: (2,) motion relative to the camera, grid pixels per frame.
        areas: Pixels by frame.
        moved: Number of frames with independent motion.
        blind_until: Frame in which it reappears after corrupted ones ...
        reacquired: ... and its membership there.
        lost: True once it is no longer tracked.
    """

    id: int
    soft: FloatArray
    velocity: FloatArray
    areas: dict[int, int] = field(default_factory=dict)
    moved: int = 0
    blind_until: int = -1
    reacquired: FloatArray = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    lost: bool = False


def moving_map(evidence: Evidence, t: int) -> Mask:
    """Return (h, w) bool: independently moving regions of frame ``t``, holes filled, specks removed."""
    moving = ((evidence.strength[t] > 1.0) & evidence.support[t]).astype(np.uint8)
    moving = cv2.morphologyEx(moving, cv2.MORPH_OPEN, disc(2))
    padded = cv2.morphologyEx(np.pad(moving, CLOSING), cv2.MORPH_CLOSE, disc(CLOSING))
    moving = filled(padded[CLOSING:-CLOSING, CLOSING:-CLOSING] > 0).astype(np.uint8)
    moving = cv2.morphologyEx(moving, cv2.MORPH_OPEN, disc(3))
    return filled(moving > 0)


def filled(mask: Mask) -> Mask:
    """Return the mask with its holes filled."""
    padded = np.pad(mask.astype(np.uint8), 1)
    cv2.floodFill(padded, None, (0, 0), (2,))
    return np.asarray(padded[1:-1, 1:-1] != 2)


def components(mask: Mask, least: float) -> list[Mask]:
    """Return the connected parts of at least ``least`` pixels, largest first."""
    count, parts, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    order = sorted(range(1, count), key=lambda i: -int(stats[i, cv2.CC_STAT_AREA]))
    return [parts == i for i in order if stats[i, cv2.CC_STAT_AREA] >= least]


def _counted(labels: Labels) -> dict[int, int]:
    """Return the pixel count of each label in ``labels``, by ascending label."""
    counts = np.bincount(labels.ravel())
    return {i: int(counts[i]) for i in np.flatnonzero(counts).tolist()}


class MaskTracker:
    """Tracker of masks over one clip's evidence in one direction of time.

    Attributes:
        labels: (T, h, w) uint16, objects so far; read and written.
        tracks: Tracks by id.
    """

    def __init__(self, evidence: Evidence, labels: Labels, moving: BoolArray) -> None:
        self.evidence, self.labels, self.moving = evidence, labels, moving
        self.tracks: dict[int, Track] = {}
        self.frame_area = labels.shape[1] * labels.shape[2]
        self.merged: dict[int, int] = {}

    def discover(self) -> None:
        """Track objects through the clip and start new ones where an unlabelled region moves."""
        for t in range(len(self.evidence)):
            self._advance(t)
            self._renew(t, start_new=True)

    def extend(self, starts: dict[int, int]) -> None:
        """Track existing objects, ``starts`` id to first frame, through the frames in which they have no label yet."""
        for t in range(len(self.evidence)):
            self._advance(t)
            self._meet(t)
            self._renew(t, start_new=False)
            for identity, start in starts.items():
                if start == t:
                    mask = self.labels[t] == identity
                    self._begin(identity, mask, t, moved=0)

    def active(self) -> list[Track]:
        """Return the tracks that are not lost."""
        return [track for track in self.tracks.values() if not track.lost]

    def _advance(self, t: int) -> None:
        """Propagate every mask from frame t−1 to t and write the result to the labels."""
        if t == 0:
            return
        evidence = self.evidence
        position = evidence.grid + evidence.backward[t - 1]
        arrived = evidence.backward_ok[t - 1]
        for track in self.active():
            if t < track.blind_until:
                continue
            if t == track.blind_until:
                track.soft = track.reacquired
                continue
            if survival(evidence, track.soft > 0.5, t - 1) >= SURVIVES:
                soft = warp(track.soft, position) * np.where(arrived, 1.0, 0.0).astype(np.float32)
                # OpenCV's default border value is the largest float, which must not enter the mask.
                soft = cv2.morphologyEx(soft, cv2.MORPH_CLOSE, disc(3), borderType=cv2.BORDER_REPLICATE)
                track.soft = np.clip((soft - 0.5) * 1.5 + 0.5, 0.0, 1.0)
            else:
                self._look_for(track, t)
        self._write(t)

    def _look_for(self, track: Track, t: int) -> None:
        """Search frame t and the next few for an object without consistent flow; mark it lost without a match."""
        mask = track.soft > 0.5
        if not mask.any():
            track.lost = True
            return
        going_on = remainder(self.evidence, mask, t - 1, track.velocity)
        if going_on is not None:
            matrix, part = going_on
            there = mapped(np.linalg.inv(matrix), self.evidence.grid)
            track.soft = np.asarray(warp(part.astype(np.float32), there))
            return
        for ahead in range(t, min(t + LOOK_AHEAD, len(self.evidence))):
            again = find_again(self.evidence, mask, t - 1, ahead, track.velocity)
            if again is None:
                continue
            grid = mapped(np.linalg.inv(again), self.evidence.grid)
            moved = np.asarray(warp(track.soft, grid), np.float32)
            if ahead == t:
                track.soft = moved
            else:
                track.blind_until, track.reacquired = ahead, moved
            return
        track.lost = True

    def _write(self, t: int) -> None:
        """Label the free pixels of every active track; the largest membership wins."""
        best = np.full(self.labels.shape[1:], 0.5, np.float32)
        label = self.labels[t]
        free = label == 0
        for track in self.active():
            if t < track.blind_until:
                continue
            wins = (track.soft > best) & free
            label[wins] = track.id
            best[wins] = track.soft[wins]

    def _meet(self, t: int) -> None:
        """Merge a tracked object into a labelled one at its position."""
        label = self.labels[t]
        for track in self.active():
            mask = track.soft > 0.5
            area = int(mask.sum())
            if area == 0 or t < track.blind_until:
                continue
            for other, count in _counted(label[mask]).items():
                unknown = other != 0 and other not in self.tracks
                if unknown and count >= 0.6 * area and count >= 0.4 * int((label == other).sum()):
                    self.merged[track.id] = other
                    track.lost = True

    def _renew(self, t: int, *, start_new: bool) -> None:
        """Correct the masks by the moving regions of frame ``t``, and start objects."""
        label, moving = self.labels[t], self.moving[t]
        least = NEW_SHARE * self.frame_area
        current = [track for track in self.active() if t >= track.blind_until]
        for track in current:
            mask = label == track.id
            if not mask.any():
                continue
            share = float(moving[mask].mean())
            if share >= 0.5:  # it moves: static pixels beside it are not part of it
                near = cv2.dilate(moving.astype(np.uint8), disc(3)) > 0
                label[mask & ~near] = 0
                track.moved += 1
        current_ids = {track.id for track in current}
        for part in components(moving, 0.25 * least):
            claims = {i: c for i, c in _counted(label[part]).items() if i != 0}
            rest = part & (label == 0)
            mine = [i for i, c in claims.items() if i in current_ids and c >= 0.1 * min(part.sum(), (label == i).sum())]
            claimed = sum(claims.values())
            lasting = start_new and self._lasts(part, t)
            if lasting and claimed < min(least, 0.35 * rest.sum()) and rest.sum() >= least:
                self._start(part & np.isin(label, [0, *mine]), t)  # a small part of it had been taken for an object
            elif mine:
                self._share_out(rest, mine, t)
            elif lasting and not claims and rest.sum() >= least:
                self._start(rest, t)
        for track in current:
            self._settle(track, t)

    def _lasts(self, part: Mask, t: int) -> bool:
        """Return True if a moving region also moves in the next frame: a sudden change gives random flow only once."""
        if t + 1 == len(self.evidence):
            return False
        x, y = (self.evidence.grid[part] + self.evidence.forward[t][part]).round().astype(int).T
        height, width = part.shape
        there = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        return bool(there.any() and self.moving[t + 1][y[there], x[there]].mean() >= LASTING_SHARE)

    def _share_out(self, rest: Mask, ids: list[int], t: int) -> None:
        """Assign the pixels of a moving region to the nearest of its objects with the same motion."""
        label, velocity = self.labels[t], self.evidence.velocity[t]
        pixels = np.nonzero(rest)
        moves = velocity[pixels]
        nearest = np.full(len(moves), np.inf, np.float32)
        owner = np.zeros(len(moves), np.uint16)
        for identity in ids if len(moves) else ():
            mask = label == identity
            own = middle(velocity[mask])
            alike = np.abs(moves - own).sum(-1) < 0.6 * np.abs(own).sum() + 0.4
            distance = cv2.distanceTransform((~mask).view(np.uint8), cv2.DIST_L2, 3)[pixels]
            closer = alike & (distance < nearest)
            owner[closer], nearest[closer] = identity, distance[closer]
        label[pixels] = owner  # the pixels were free, and stay so where nothing moves alike

    def _start(self, mask: Mask, t: int) -> None:
        identity = max(self.tracks, default=0) + 1
        self.labels[t][mask] = identity
        self._begin(identity, mask, t, moved=1)

    def _begin(self, identity: int, mask: Mask, t: int, moved: int) -> None:
        areas = {t: int(mask.sum())}
        self.tracks[identity] = Track(identity, mask.astype(np.float32), self._velocity(mask, t), areas, moved)

    def _settle(self, track: Track, t: int) -> None:
        """Update the track from its labels, or end it where too little is left."""
        mask = self.labels[t] == track.id
        area = int(mask.sum())
        largest = max(track.areas.values(), default=area)
        if area < max(GONE_SHARE * self.frame_area, GONE_FRACTION * largest):
            self.labels[t][mask] = 0
            track.lost = True
            return
        track.areas[t] = area
        track.soft = np.where(mask, np.maximum(track.soft, 0.75), np.minimum(track.soft, 0.25)).astype(np.float32)
        track.velocity = 0.5 * track.velocity + 0.5 * self._velocity(mask, t)

    def _velocity(self, mask: Mask, t: int) -> FloatArray:
        return middle(self.evidence.velocity[t][mask]) if mask.any() else np.zeros(2)
