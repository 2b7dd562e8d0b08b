"""TCS: the share of objects that neither vanish nor appear without a cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from vmmetrics.functional import excuses
from vmmetrics.functional._checks import FrameSize, as_bools, as_floats, as_frame_size, as_integer, check_protocol
from vmmetrics.functional.event_costs import Loss
from vmmetrics.functional.excuses import is_outside, relative_extent
from vmmetrics.types import BoolArray, Event, FloatArray, MetricResult, Protocol

# Input: presence and point tracks of one object.


@dataclass(frozen=True, slots=True)
class ObjectHistory:
    """Presence of one object over time, and its point tracks.

    Attributes:
        present: (C,) bool, visible at that key frame.
        key_frames: (C,) int, ascending frame indices of ``present``: every frame under ``vmmetrics`` where possible,
            every (int(fps) − 1)-th under ``vmbench``.
        tracks: (T, N, 2) float, x and y in pixels, of points on the object at ``query_frame``, tracked forwards and
            backwards; an estimate also where invisible.
        visibility: (T, N) bool.
        query_frame: The frame of the first appearance (``vmbench``: the ordinal of that key frame, as released).
        occluded: (T,) bool, hidden behind something; None where unknown.
        certain: True if it counts as an object however briefly it is visible, since no detector was involved.
    """

    present: BoolArray
    key_frames: NDArray[np.integer]
    tracks: FloatArray
    visibility: BoolArray
    query_frame: int
    occluded: BoolArray | None = None
    certain: bool = False


def check_history(history: ObjectHistory, name: str, num_frames: int) -> ObjectHistory:
    """Return ``history`` as float64, bool and int64 arrays of matching shapes, or raise ValueError."""
    if not isinstance(history, ObjectHistory):
        raise ValueError(f"Expected {name} to be an ObjectHistory but got {type(history).__name__}")
    present = as_bools(f"{name}.present", history.present, "C")
    key_frames = np.asarray(history.key_frames)
    if key_frames.dtype.kind not in "iu" or key_frames.shape != present.shape or len(present) == 0:
        raise ValueError(
            f"Expected {name}.key_frames to be integers, one per entry of present {present.shape} and at least one, "
            f"but got dtype {key_frames.dtype} of shape {key_frames.shape}"
        )
    key_frames = key_frames.astype(np.int64)
    if key_frames[0] < 0 or key_frames[-1] >= num_frames or (np.diff(key_frames) <= 0).any():
        raise ValueError(
            f"Expected {name}.key_frames to ascend within 0..{num_frames - 1} but got {key_frames.tolist()}"
        )
    tracks = as_floats(f"{name}.tracks", history.tracks, f"{num_frames}, N, 2")
    return ObjectHistory(
        present=present,
        key_frames=key_frames,
        tracks=tracks,
        visibility=as_bools(f"{name}.visibility", history.visibility, f"{num_frames}, {tracks.shape[1]}"),
        query_frame=as_integer(f"{name}.query_frame", history.query_frame, at_least=0),
        occluded=None if history.occluded is None else as_bools(f"{name}.occluded", history.occluded, f"{num_frames}"),
        certain=history.certain,
    )


# Disappearances without a cause: the rules of TCS under ``protocol="vmmetrics"``.
#
# A run of frames in which an object is neither present nor occluded is an absence: its first frame is a vanishing
# (unless the clip begins with it), the frame after it an appearance (unless the clip ends with it). Each is excused
# where the tracks around it show a cause; an appearance is judged as a vanishing on the reversed tracks.

FLICKER_FRAMES = 3
"""Frames below which absences and presences are detector errors: two frames at 24 fps are 1/12 s."""
RECENT_FRAMES = 12
"""Frames after which a point's last visible position is obsolete."""
VELOCITY_FRAMES = 4
"""Frames over which a point's velocity is measured for extrapolation."""
EDGE_OUTSIDE = 0.5
"""Share of the points beyond the edge from which the object has left; the released code's value."""
ALWAYS_SMALL = 0.03
"""Extent, relative to the frame, below which an object may vanish; the released code's value for appearances."""
SHRUNK_SMALL = 0.07
"""The same for an object that has shrunk; the released code's value for vanishings, here used for both."""
SHRUNK_RATIO = 0.5
"""Extent, relative to its largest, up to which an object has shrunk."""
STILL_VISIBLE = 0.5
"""Share of the points tracked through the absence from which the object is still there."""

LEFT, SHRANK, STAYED = "left through the edge", "became too small to see", "detection error: still visible"
BACKWARDS = {
    LEFT: "came in through the edge",
    SHRANK: "grew from too small to see",
    STAYED: "detection error: visible earlier",
}
HIDDEN = "occluded"
BLINK = "detection error: under 3 frames"


@dataclass(frozen=True, slots=True)
class _Motion:
    """Point tracks of one object in the direction of time in which it vanishes."""

    xy: FloatArray
    visible: BoolArray
    query_frame: int
    frame_size: FrameSize

    def reversed(self) -> _Motion:
        last = len(self.xy) - 1
        return _Motion(self.xy[::-1], self.visible[::-1], last - self.query_frame, self.frame_size)


def _find_changes(history: ObjectHistory, name: str, frame_size: FrameSize) -> tuple[bool, list[Event]]:
    """Return True if it is visible for long enough to count as an object, and its changes of presence, in order."""
    present = _present_in_every_frame(history)
    occluded = np.zeros_like(present) if history.occluded is None else history.occluded & ~present
    longest = max((stop - start for start, stop in runs(present)), default=0)
    if not history.certain and longest < min(FLICKER_FRAMES, len(present)):
        return False, [_event("appeared", start, name, BLINK) for start, _ in runs(present)]

    query = min(history.query_frame, len(present) - 1)
    motion = _Motion(history.tracks, history.visibility, query, frame_size)
    hidden = [start for start, _ in runs(occluded) if start > 0 and present[start - 1]]
    events = [_event("vanished", start, name, HIDDEN) for start in hidden]
    for start, stop in runs(~(present | occluded)):
        events += _judge_absence(motion, present, start, stop, name)
    return True, sorted(events, key=lambda event: event.frames)


def _judge_absence(motion: _Motion, present: BoolArray, start: int, stop: int, name: str) -> Iterator[Event]:
    """Yield the vanishing at ``start`` and the appearance at ``stop``, where within the clip, with their excuses."""
    num_frames = len(present)
    excuse = BLINK if stop - start < FLICKER_FRAMES else None
    if start > 0:
        excuse = excuse or _cause(motion, present, start, stop)
        yield _event("vanished", start, name, excuse)
    if stop < num_frames:
        if excuse is None:
            cause = _cause(motion.reversed(), present[::-1], num_frames - stop, num_frames - start)
            excuse = BACKWARDS[cause] if cause else None
        yield _event("appeared", stop, name, excuse)


def _cause(motion: _Motion, present: BoolArray, start: int, stop: int) -> str | None:
    """Return the cause of the absence in frames start..stop−1, as event text; None without a cause."""
    last = start - 1
    while last > 0 and not present[last]:  # the object may be occluded before an absence
        last -= 1
    if motion.xy.shape[1] == 0:
        return SHRANK  # no grid point lies on it
    if _share_outside(motion, last, start, stop) >= EDGE_OUTSIDE:
        return LEFT
    if _is_small(motion, last):
        return SHRANK
    # Still visible: at every frame of the absence (its first ones) half of the last visible points are still tracked.
    followed = motion.visible[start : min(stop, start + RECENT_FRAMES), motion.visible[last]]
    return STAYED if followed.shape[1] and bool((followed.mean(axis=1) >= STILL_VISIBLE).all()) else None


def _share_outside(motion: _Motion, last: int, start: int, stop: int) -> float:
    """Return the share of the recently visible points, tracked or extrapolated, beyond the edge in the absence."""
    first = max(0, last - RECENT_FRAMES + 1)
    visible = motion.visible[first : last + 1]
    points = np.flatnonzero(visible.any(axis=0))
    if len(points) == 0:
        return 0.0
    ends = last - np.argmax(visible[::-1, points], axis=0)
    begins = np.maximum(ends - VELOCITY_FRAMES, 0)
    velocity = (motion.xy[ends, points] - motion.xy[begins, points]) / np.maximum(ends - begins, 1)[:, None]
    arrival = min(start + FLICKER_FRAMES, stop) - 1  # onset of the absence, within the detector's delay
    carried_on = motion.xy[ends, points] + velocity * (arrival - ends)[:, None]
    tracked = motion.xy[arrival, points]
    outside = is_outside(carried_on, motion.frame_size) | is_outside(tracked, motion.frame_size)
    return float(outside.mean())


def _is_small(motion: _Motion, last: int) -> bool:
    """Return True if the object's extent, from the spread of its visible points, is small relative to the frame."""
    points = np.flatnonzero(motion.visible[last] & motion.visible[motion.query_frame])
    if len(points) < 2:
        points = np.arange(motion.xy.shape[1])
    at_query = relative_extent(motion.xy[motion.query_frame], motion.frame_size)
    spread = np.linalg.norm(motion.xy[:, points].std(axis=1), axis=-1)
    if at_query == 0 or spread[motion.query_frame] == 0:
        return len(points) > 1
    extent = at_query * spread / spread[motion.query_frame]
    shown = motion.visible[:, points].mean(axis=1) >= STILL_VISIBLE
    largest = extent[shown].max(initial=extent[last])
    shrunk = extent[last] <= SHRUNK_RATIO * largest
    return bool(extent[last] < (SHRUNK_SMALL if shrunk else ALWAYS_SMALL))


def _present_in_every_frame(history: ObjectHistory) -> BoolArray:
    """Return presence (T,) from key frames (C,): constant between equal ones, else changing with the points."""
    frames, num_frames = history.key_frames, len(history.tracks)
    state = history.present[np.clip(np.searchsorted(frames, np.arange(num_frames), side="right") - 1, 0, None)]
    points = max(1, history.visibility.shape[1])
    visible = history.visibility.sum(axis=1) / points >= STILL_VISIBLE
    for index in np.flatnonzero(np.diff(history.present.astype(np.int8))).tolist():
        between = slice(frames[index] + 1, frames[index + 1])
        if history.present[index]:  # present until the points are lost
            state[between] = np.logical_and.accumulate(visible[between])
        else:  # present from where the points stay visible
            state[between] = np.logical_and.accumulate(visible[between][::-1])[::-1]
    return state


def runs(mask: BoolArray) -> list[tuple[int, int]]:
    """Return (start, stop) of every run of True in ``mask`` (T,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _event(reason: str, frame: int, name: str, excuse: str | None) -> Event:
    return Event("tcs", (frame,), reason if excuse else f"{reason} without cause", name, excuse=excuse)


def temporal_coherence_score(
    objects: Sequence[ObjectHistory],
    *,
    frame_size: FrameSize,
    num_frames: int,
    protocol: Protocol = "vmmetrics",
) -> MetricResult:
    """Score temporal coherence: the share of objects that neither vanish nor appear without a cause.

    ``vmmetrics`` (the paper): TCS = 1 − (1/N) Σ_i 1(A_i ∧ ¬R_i), each object i once, A_i a change of its presence at
    some frame and R_i a cause of it (:mod:`vmmetrics.functional.tcs`). In 0..1.
    ``vmbench`` (the released code): mean of (N − unexcused disappearances)/N and (N − unexcused appearances)/N, each
    event counted; an object's excuses are tested once, from its query frame on. Can fall below 0.

    Args:
        objects: One history per object.
        frame_size: (width, height) in pixels.
        num_frames: T of the clip.
        protocol: ``"vmmetrics"`` or ``"vmbench"``.

    Returns:
        Score, 1 best; missing under ``vmmetrics`` where there is no object or one frame (``vmbench`` gives 1). One
        event per change of presence, at the frame after it, with an ``excuse`` where there is a cause. Series:
        ``present``, the number of visible objects per frame (NaN between key frames).

    Raises:
        ValueError: If a history's shapes or dtypes do not match each other or ``num_frames``, key frames are not
            ascending within the clip, a track is NaN, or ``protocol`` is unknown.

    References:
        VMBench (arXiv 2503.10076), temporal coherence score; quirks Q13, Q14 in ``docs/protocols.md``.

    Example:
        A still point, seen in frames 0 to 4 of 10 and then neither seen nor tracked:

        >>> seen = np.arange(10) < 5
        >>> ball = ObjectHistory(seen, np.arange(10), np.full((10, 1, 2), 50.0), seen[:, None], query_frame=0)
        >>> result = temporal_coherence_score([ball], frame_size=(100, 100), num_frames=10)
        >>> result.score, result.events[0].frames, result.events[0].reason
        (0.0, (5,), 'vanished without cause')
    """
    check_protocol(protocol)
    size = as_frame_size(frame_size)
    total = as_integer("num_frames", num_frames, at_least=1)
    histories = [check_history(history, f"objects[{index}]", total) for index, history in enumerate(objects)]
    present = np.full(total, np.nan)
    for history in histories:
        present[history.key_frames] = np.nan_to_num(present[history.key_frames]) + history.present
    series = MappingProxyType({"present": present})
    if protocol == "vmbench":
        score, events = _score_vmbench(histories, size)
        return MetricResult(score=score, events=events, series=series)
    if total == 1:
        return MetricResult(score=None, missing="one frame: nothing can vanish or appear", series=series)
    judged = [_find_changes(history, f"object {i}", size) for i, history in enumerate(histories, 1)]
    events = tuple(event for _, changes in judged for event in changes)
    changes_by_object = [changes for is_object, changes in judged if is_object]
    if not changes_by_object:
        return MetricResult(score=None, missing="no object", events=events, series=series)
    at_fault = sum(any(event.excuse is None for event in changes) for changes in changes_by_object)
    return MetricResult(score=1 - at_fault / len(changes_by_object), events=events, series=series)


def _score_vmbench(histories: list[ObjectHistory], size: FrameSize) -> tuple[float, tuple[Event, ...]]:
    count = len(histories)
    if count == 0:
        return 1.0, ()
    events: list[Event] = []
    for index, history in enumerate(histories, 1):
        arguments = (history.tracks, history.visibility, history.query_frame, size)
        change = np.diff(history.present.astype(np.int8))
        for reason, (step, tests) in RELEASED_TESTS.items():
            frames = history.key_frames[1:][change == step].tolist()
            excuse = next((excuse for excuse, test in tests.items() if test(*arguments)), None) if frames else None
            events += [_event(reason, frame, f"object {index}", excuse) for frame in frames]
    unexcused = [event.reason for event in events if event.excuse is None]
    vanish, emerge = ((count - unexcused.count(f"{reason} without cause")) / count for reason in RELEASED_TESTS)
    return (vanish + emerge) / 2, tuple(sorted(events, key=lambda event: event.frames))


_VANISHED = (excuses.is_edge_vanish, excuses.is_small_vanish, excuses.is_vanish_detection_error)
_APPEARED = (excuses.is_edge_emerge, excuses.is_small_emerge, excuses.is_emerge_detection_error)
RELEASED_TESTS = {
    "vanished": (-1, dict(zip(BACKWARDS, _VANISHED, strict=True))),
    "appeared": (1, dict(zip(BACKWARDS.values(), _APPEARED, strict=True))),
}
"""Change of presence to its step (−1 or 1) and its excuses with their tests."""


def divide_loss(loss: Loss) -> list[float | None]:
    """Return the cost of each unexcused event (:mod:`.event_costs`).

    Each object at fault costs 1/N, shared equally by its events; under ``vmbench`` every event costs 1/(2 N).
    """
    if loss.protocol == "vmbench":
        return [loss.lost / len(loss.events)] * len(loss.events)
    changes = Counter(event.target for event in loss.events)
    return [loss.lost / len(changes) / changes[event.target] for event in loss.events]
