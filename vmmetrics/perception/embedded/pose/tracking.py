"""Detection and tracking of people: search regions, identities, and rejection of what is no person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vmmetrics.perception.embedded.pose.blazepose import BlazePoseNetworks, Landmarks, Pyramid, Region
from vmmetrics.types import FloatArray

SHOULDERS, HIPS = (11, 12), (23, 24)
BODY = (11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28)
"""Shoulders, elbows, wrists, hips, knees, ankles among the 39 landmarks."""


PROBE_SECONDS = 0.5
"""Seconds between the frames that are searched."""
MIN_PROBES, MAX_PROBES = 4, 10
"""Least (or all frames of a shorter clip) and most frames searched."""
TILE = 0.6
"""Side of the small search tiles, as a share of the frame's short side."""
_NARROWEST = 64  # times as long as wide; narrower frames are searched in squares of that share of their length
SEED_SCORE, SEED_QUALITY = 0.4, 0.5
"""Least detector score for a run of the landmark network, and least :func:`quality` to start a track."""
KEEP_QUALITY = 0.35
"""Quality below which a tracked person counts as lost."""
PERSON_QUALITY = 0.55
"""Least mean quality of a person's track. On real clips people reach 0.57 to 0.92; hands, dogs, cups and clothes 0.54
at most over half a second, 0.59 over nine frames."""
LOST_FRAMES = 3
"""Frames that a lost person is searched for around the last region before the track ends."""
TRIAL_FRAMES = 5
"""Frames after which a new track below :data:`PERSON_QUALITY` is dropped."""
PERSON_FRAMES, PERSON_SECONDS = 8, 0.5
"""Least duration of a person's track, frames (all frames of a shorter clip) and seconds; whichever is longer."""
JOIN_SECONDS = 0.5
"""Longest gap, seconds, over which two tracks are joined into one person."""
MAX_PEOPLE = 4
"""Most people returned, those of the highest quality."""


@dataclass(slots=True)
class PersonTrack:
    """Track of one person: landmarks by frame; missing frames are gaps."""

    poses: dict[int, Landmarks]

    @property
    def quality(self) -> float:
        """Mean :func:`quality` over the frames."""
        return float(np.mean([quality(pose) for pose in self.poses.values()]))


def quality(pose: Landmarks) -> float:
    """Return the confidence that a pose is a person, in 0..1.

    The heatmaps peak high where the network recognises a joint and stay flat where it guesses, even when the regressed
    skeleton claims full visibility. The better half of the body counts, so that half a person is one.
    """
    best = np.sort(pose.peak[list(BODY)])[-6:]
    return float(pose.flag * best.mean())


def torso(pose: Landmarks) -> float:
    """Return the distance from mid-shoulder to mid-hip, pixels, at least the shoulder width (people bend and lie)."""
    shoulders, hips = pose.xy[list(SHOULDERS)], pose.xy[list(HIPS)]
    length = float(np.hypot(*(shoulders.mean(0) - hips.mean(0))))
    return max(length, float(np.hypot(*(shoulders[0] - shoulders[1]))), 1e-6)


def same_person(one: Landmarks, other: Landmarks) -> bool:
    """Return True if two poses of one frame are the same body: mean joint distance under half a torso."""
    body = list(BODY)
    distance = np.hypot(*(one.xy[body] - other.xy[body]).T).mean()
    return bool(distance < 0.5 * max(torso(one), torso(other)))


def probe_frames(count: int, fps: float) -> list[int]:
    """Return the frames to search for people, evenly spread, the first half a step into the clip."""
    count_by_length = round(count / max(fps * PROBE_SECONDS, 1.0))
    number = min(count, max(MIN_PROBES, min(count_by_length, MAX_PROBES)))
    return [int((i + 0.5) * count / number) for i in range(number)]


def search_regions(width: int, height: int) -> list[Region]:
    """Return the search regions: the whole frame, squares along the long side, and overlapping small tiles."""
    long = max(width, height)
    square = max(min(width, height), long / _NARROWEST)
    regions = [Region((width - 1) / 2, (height - 1) / 2, float(long), 0.0)]
    for side in (float(square), TILE * square):
        xs, ys = _spread(width, side), _spread(height, side)
        if len(xs) * len(ys) > 1:
            regions += [Region(x, y, side, 0.0) for y in ys for x in xs]
    return regions


def _spread(length: int, side: float) -> list[float]:
    """Return the centres of windows of ``side`` over ``length`` pixels that overlap by half or more."""
    if length - side < 0.05 * side:
        return [(length - 1) / 2]
    count = int(np.ceil((length - side) / (0.5 * side))) + 1
    return [float(c) for c in np.linspace(side / 2 - 0.5, length - side / 2 - 0.5, count)]


class PeopleTracker:
    """Tracker of people: detects them at probe frames and tracks each through the clip with the landmark network."""

    def __init__(self, network: BlazePoseNetworks, frames: Sequence[Pyramid], fps: float) -> None:
        self._network = network
        self._frames = frames
        self._probes = probe_frames(len(frames), fps)
        self._longest_gap = max(1, round(JOIN_SECONDS * fps))
        self._rejected: list[tuple[int, Region]] = []
        self._fewest = min(len(frames), max(PERSON_FRAMES, round(PERSON_SECONDS * fps)))

    def run(self) -> list[PersonTrack]:
        """Return the people, by descending quality times duration."""
        tracks: list[PersonTrack] = []
        height, width = self._frames[0].levels[0].shape[:2]
        for region in search_regions(width, height):  # whole frames first
            for frame in self._probes:
                for points in self._network.detect(self._frames[frame], region, SEED_SCORE).points:
                    self._take(tracks, frame, points)
        people = self._join([t for t in tracks if t.quality >= PERSON_QUALITY])
        people = [t for t in people if len(t.poses) >= self._fewest]
        people.sort(key=lambda t: -t.quality * len(t.poses))
        selected: list[PersonTrack] = []
        for track in people:
            if len(selected) < MAX_PEOPLE and not any(_lies_on(track, other) for other in selected):
                selected.append(track)
        return selected

    def _take(self, tracks: list[PersonTrack], frame: int, points: FloatArray) -> None:
        """Start a track from a detection, unless it belongs to an existing one."""
        if any(frame in t.poses and _on_body(points, t.poses[frame]) for t in tracks):
            return
        region = Region.from_alignment(points[0], points[1])
        if any(frame == other and _same_region(region, seen) for other, seen in self._rejected):
            return
        seed = self._network.landmarks(self._frames[frame], region)
        if quality(seed) >= KEEP_QUALITY:
            again = self._network.landmarks(self._frames[frame], seed.next_region)
            seed = max(seed, again, key=quality)
        if quality(seed) < SEED_QUALITY:
            self._rejected.append((frame, region))
            return
        if any(frame in t.poses and same_person(t.poses[frame], seed) for t in tracks):
            return
        tracks.append(self._follow(tracks, frame, seed))

    def _follow(self, tracks: list[PersonTrack], start: int, seed: Landmarks) -> PersonTrack:
        """Track a person from its first detection to both ends of the clip, or until lost."""
        track = PersonTrack({start: seed})
        for step in (1, -1):
            region, lost, frame = seed.next_region, 0, start + step
            while 0 <= frame < len(self._frames) and lost <= LOST_FRAMES:
                pose = self._network.landmarks(self._frames[frame], region)
                if quality(pose) < KEEP_QUALITY:
                    lost += 1
                elif any(frame in t.poses and same_person(t.poses[frame], pose) for t in tracks):
                    break
                else:
                    track.poses[frame] = pose
                    region, lost = steady(region, pose.next_region), 0
                if len(track.poses) >= TRIAL_FRAMES and track.quality < PERSON_QUALITY:
                    return track
                frame += step
        return track

    def _join(self, tracks: list[PersonTrack]) -> list[PersonTrack]:
        """Join tracks of one person across short gaps, nearest in time first."""
        tracks = sorted(tracks, key=lambda t: min(t.poses))
        joined: list[PersonTrack] = []
        for track in tracks:
            start = min(track.poses)
            before = [t for t in joined if 0 < start - max(t.poses) <= self._longest_gap]
            before = [t for t in before if _continues(t.poses[max(t.poses)], track.poses[start])]
            if before:
                max(before, key=lambda t: max(t.poses)).poses.update(track.poses)
            else:
                joined.append(PersonTrack(dict(track.poses)))
        return joined


def steady(old: Region, new: Region) -> Region:
    """Return the old region where the new one is nearly equal, against jitter of the landmarks."""
    moved = np.hypot(new.x - old.x, new.y - old.y) / old.side
    turned = abs((new.rotation - old.rotation + np.pi) % (2 * np.pi) - np.pi)
    return old if moved < 0.03 and turned < 0.06 and abs(new.side / old.side - 1) < 0.05 else new


def _same_region(one: Region, other: Region) -> bool:
    """Return True if two regions are nearly equal."""
    apart = np.hypot(one.x - other.x, one.y - other.y) / max(one.side, other.side)
    return bool(apart < 0.15 and 0.75 < one.side / max(other.side, 1e-6) < 1.33)


def _on_body(points: FloatArray, pose: Landmarks) -> bool:
    """Return True if a detection's mid-hip and mid-shoulder both lie within half a torso of the pose's."""
    hips, shoulders = pose.xy[list(HIPS)].mean(0), pose.xy[list(SHOULDERS)].mean(0)
    far = max(np.hypot(*(points[0] - hips)), np.hypot(*(points[2] - shoulders)))
    return bool(far < 0.5 * torso(pose))


def _lies_on(track: PersonTrack, other: PersonTrack) -> bool:
    """Return True if a track is a body part of another person: its torso lies in the other's mask in most frames."""
    shared = [frame for frame in track.poses if frame in other.poses]
    inside = [bool((other.poses[f].covered(track.poses[f].xy[list(SHOULDERS + HIPS)]) > 0.5).all()) for f in shared]
    return 2 * sum(inside) > len(track.poses)


def _continues(last: Landmarks, first: Landmarks) -> bool:
    """Return True if a person lost with pose ``last`` may be the one detected again with pose ``first``."""
    hips = [pose.xy[list(HIPS)].mean(0) for pose in (last, first)]
    sizes = [torso(pose) for pose in (last, first)]
    return bool(np.hypot(*(hips[1] - hips[0])) < max(sizes) and 0.6 < sizes[1] / sizes[0] < 1.7)
