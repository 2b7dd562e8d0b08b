"""Outcomes of a clip's motion that a tracker decides: direction, a count, a stop, and which of two movers is first.

Every function returns an :class:`Outcome`: a decision, or the reason why there is none; where the evidence is
ambiguous there is none. Lengths are frame diagonals, x right and y down, the camera's motion taken out. The limits were
chosen on rendered clips with seeds below 10000 (``python -m benchmarks.pair_outcomes --first-seed 0``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from vmmetrics.types import BoolArray, FloatArray, IntArray

Axis = Literal["horizontal", "vertical"]
Cycle = Literal["hops", "swings", "turns"]
Event = Literal["start", "arrival"]
CYCLES: tuple[Cycle, ...] = get_args(Cycle)
EVENTS: tuple[Event, ...] = get_args(Event)

LEAST_SHARE, LEAST_SECONDS = 0.5, 0.5
"""Least share of the clip for which a mover is in sight, and least time for one that enters or leaves the frame."""
LEAST_TRAVEL = 0.03
"""Least net displacement with a direction, and least extent of circles and swings, diagonals."""
LEAST_OF_SIZE = 0.2
"""Least net displacement with a direction, as a share of the mover's size: swaying is none."""
LEAST_SPEED = 0.01
"""Usual speed below which nothing moves, diagonals per second."""
ONE_WAY = 0.7
"""Least share of its range that a net displacement or turn is; with less the mover turns back."""
ALONG = 0.5
"""Least displacement along the axis, as a share of the displacement across it."""
LEAST_HOP = 0.02
"""Least height of hops, diagonals."""
TURNING = 0.3
"""Least distance back, as a share of the range, at which a path has reversed."""
WHOLE = 0.25
"""Largest distance of a count from a whole number."""
IN_SIGHT = 0.9
"""Least share of the clip for which a mover whose cycles are counted is in sight."""
SAME = 0.3
"""Largest number of turns by which a surface may exceed those of its path."""
END, BEFORE_END = 0.1, 0.2
"""Shares of the clip at its end over which speed is compared with the usual one."""
STOPPED, GOING = 0.12, 0.35
"""Share of the usual speed up to which a mover has stopped at the end, and from which it goes on."""
REST = 0.005
"""Speed up to which a mover has stopped in any case, diagonals per second: flow is not better at the end."""
STARTED = 0.25
"""Share of the usual speed from which a mover moves."""
LEAST_GAP = 0.25
"""Least time between two starts, or two arrivals, seconds."""
LEAST_APART = 0.1
"""Least distance of a left and a right mover, frame widths."""
RIVAL = 0.3
"""Least motion, as a share of the main mover's, of a second mover that may contradict it."""
MINOR = 0.08
"""Least motion of the smaller of two movers in an order, as a share of the larger's."""
MOST_AREA = 0.5
"""Largest share of the frame of a mover; a larger one may be the background of a thing that the camera follows."""
SQUARE_DIAGONALS = 0.45
"""Area of a frame, squares of its diagonal: 0.43 of 16:9, 0.5 of a square."""
_SMOOTH_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Mover:
    """Path of one moving thing through the T frames of a clip, in sight in one at least.

    Attributes:
        path: (T, 2) float64 diagonals, from where it is first seen; NaN out of sight.
        turned: (T,) float64 degrees since it is first seen, in the plane of the frame, clockwise positive; NaN where
            unknown.
        speed: (T,) float64 diagonals per second, mean over its surface up to the next frame; NaN where unknown.
        across: (T,) float64, x of its centre in the frame, 0 left and 1 right; NaN out of sight.
        area: (T,) float64, share of the frame that it covers.
        at_edge: (T,) bool, it touches the edge of the frame.
    """

    path: FloatArray
    turned: FloatArray
    speed: FloatArray
    across: FloatArray
    area: FloatArray
    at_edge: BoolArray

    @property
    def motion(self) -> float:
        """Mean over the clip of area times speed: which mover is the main one."""
        return float(np.nan_to_num(self.area * self.speed).mean())

    @property
    def seen(self) -> slice:
        """The frames from the first to the last in which it is in sight."""
        frames = np.flatnonzero(self.area > 0)
        return slice(int(frames[0]), int(frames[-1]) + 1)

    def usual_speed(self) -> float:
        """Median speed while it moves at a tenth of its highest or more, diagonals per second; 0 for none."""
        speed = self.speed[np.isfinite(self.speed)]
        moving = speed[speed >= 0.1 * np.quantile(speed, 0.95)] if len(speed) else speed
        return float(np.median(moving)) if len(moving) else 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision, or the reason why there is none.

    Attributes:
        value: ``"left"``, ``2``, ``"stops"``, ...; None for none.
        reason: Why there is none; else empty.
    """

    value: str | int | None
    reason: str = ""


def direction(movers: Sequence[Mover], fps: float, axis: Axis) -> Outcome:
    """Decide where the main mover goes: ``"left"`` or ``"right"``, or ``"up"`` or ``"down"``.

    Args:
        movers: The movers of the clip.
        fps: Frames per second.
        axis: The axis that is asked about.
    """
    vertical = axis == "vertical"

    def of(mover: Mover) -> Outcome:
        path = _in_sight(mover.path)
        net, extent = path[-1] - path[0], np.ptp(path, axis=0)
        along, across = float(net[int(vertical)]), float(net[1 - int(vertical)])
        size = float(np.sqrt(SQUARE_DIAGONALS * mover.area[mover.area > 0].mean()))
        if abs(along) < max(LEAST_TRAVEL, LEAST_OF_SIZE * size):
            return Outcome(None, "it does not get far enough")
        if abs(along) < ONE_WAY * extent[int(vertical)]:
            return Outcome(None, "it turns back")
        if abs(along) < ALONG * abs(across):
            return Outcome(None, "it moves along the other axis")
        return Outcome((("up", "down") if vertical else ("left", "right"))[along > 0])

    return _main(movers, fps, of)


def count(movers: Sequence[Mover], fps: float, of: Cycle) -> Outcome:
    """Decide how many complete cycles the main mover makes.

    Args:
        movers: The movers of the clip.
        fps: Frames per second.
        of: ``"hops"`` up and down; ``"swings"`` there and back along the path's longest axis; ``"turns"``, full circles
            in the plane of the frame, of a surface about itself or of a path about its middle.
    """
    cycles = {"hops": _hops, "swings": _swings, "turns": _turns}[of]

    def whole(mover: Mover) -> Outcome:
        if (mover.area > 0).mean() < IN_SIGHT:
            return Outcome(None, "it is out of sight for a part of the clip")
        number = cycles(mover)
        if number is None:
            return Outcome(None, f"no {of} can be followed")
        if round(number) < 1 or abs(number - round(number)) > WHOLE:
            return Outcome(None, f"{number:.1f} {of} are no whole number")
        return Outcome(round(number))

    return _main(movers, fps, whole)


def stop(movers: Sequence[Mover], fps: float) -> Outcome:
    """Decide if the main mover rests at the end of the clip (``"stops"``) or still moves (``"goes on"``)."""

    def of(mover: Mover) -> Outcome:
        frames, seen = len(mover.area), mover.seen
        usual = mover.usual_speed()
        last = [mover.speed[: seen.stop][-max(2, round(share * frames)) :] for share in (END, BEFORE_END)]
        if any(np.isnan(speed).mean() > 0.5 for speed in last):
            return Outcome(None, "its speed at the end is not known")
        end, before_end = (float(np.nanmean(speed)) for speed in last)
        goes_on = min(end, before_end) >= max(GOING * usual, REST)
        if seen.stop < frames - 1 - END * frames / 2:
            left = goes_on and bool(mover.at_edge[seen][-3:].any())
            return Outcome("goes on") if left else Outcome(None, "it is out of sight at the end")
        if goes_on or end <= max(STOPPED * usual, REST):
            return Outcome("goes on" if goes_on else "stops")
        return Outcome(None, "it is slow at the end")

    return _main(movers, fps, of)


def order(movers: Sequence[Mover], fps: float, of: Event = "start") -> Outcome:
    """Decide which of the two main movers, ``"left first"`` or ``"right first"``, begins to move or comes to rest.

    Args:
        movers: The movers of the clip.
        fps: Frames per second.
        of: ``"start"`` or ``"arrival"``; left and right are as before the first start, or after the first arrival.
    """
    ranked = [mover for mover in _ranked(movers) if _usable(mover, fps)]
    if len(ranked) < 2 or ranked[1].motion < MINOR * ranked[0].motion:
        return Outcome(None, "no two things move")
    if len(ranked) > 2 and ranked[2].motion > RIVAL * ranked[1].motion:
        return Outcome(None, "more than two things move")
    moments = [_moving(mover, fps)[0 if of == "start" else -1] for mover in ranked[:2]]
    if of == "arrival" and min(moments) > len(ranked[0].area) - 1 - LEAST_GAP * fps:
        return Outcome(None, "both move to the end")
    if abs(moments[1] - moments[0]) < LEAST_GAP * fps:
        return Outcome(None, f"no {of} is clearly first")
    when = slice(None, min(moments) + 1) if of == "start" else slice(min(moments), None)
    places = [_in_sight(mover.across[when]) for mover in ranked[:2]]
    if not all(len(place) for place in places):  # the other is not yet in sight, or no more
        places = [_in_sight(mover.across) for mover in ranked[:2]]
    apart = float(places[1].mean() - places[0].mean())
    if abs(apart) < LEAST_APART:
        return Outcome(None, "the two are not left and right of each other")
    return Outcome("left first" if (apart > 0) == (moments[0] < moments[1]) else "right first")


VALUES: Mapping[str, tuple[str, ...]] = {
    "direction": ("left", "right", "up", "down"),
    "stop": ("stops", "goes on"),
    "order": ("left first", "right first"),
}
"""Values of the measures that are no number."""


def decider(measure: Mapping[str, Any]) -> Callable[[Sequence[Mover], float], Outcome]:
    """Return the function that decides a measure, of the movers of a clip and its frames per second.

    Args:
        measure: ``{"kind": "direction" | "count" | "stop" | "order", "yes": value}``; of a count also
            ``"of": "hops" | "swings" | "turns"``, of an order perhaps ``"of": "start" | "arrival"``.

    Raises:
        ValueError: There is no such measure.

    >>> decider({"kind": "direction", "yes": "left"})([], 24.0)
    Outcome(value=None, reason='nothing moves')
    """
    kind, value, of = measure.get("kind"), measure.get("yes"), measure.get("of", "start")
    if kind == "count" and type(value) is int and value > 0 and of in CYCLES:
        return partial(count, of=CYCLES[CYCLES.index(of)])
    if not isinstance(kind, str) or value not in VALUES.get(kind, ()) or (kind == "order" and of not in EVENTS):
        kinds = "; ".join(f"{name}: {' or '.join(values)}" for name, values in VALUES.items())
        raise ValueError(f"Expected a measure ({kinds}; count: a number of {', '.join(CYCLES)}) but got {measure!r}")
    if kind == "direction":
        return partial(direction, axis="horizontal" if value in ("left", "right") else "vertical")
    if kind == "order":
        return partial(order, of=EVENTS[EVENTS.index(of)])
    return stop


def _ranked(movers: Sequence[Mover]) -> list[Mover]:
    return sorted(movers, key=lambda mover: -mover.motion)


def _usable(mover: Mover, fps: float) -> bool:
    """Return True if a mover is fast enough, and in sight long enough: half of the clip, or up to the frame's edge."""
    visible, seen = mover.area > 0, mover.seen
    at_edge = bool(mover.at_edge[[seen.start, seen.stop - 1]].any())
    lasting = visible.mean() >= LEAST_SHARE or (at_edge and visible.sum() >= max(4, LEAST_SECONDS * fps))
    return bool(lasting) and mover.usual_speed() >= LEAST_SPEED


def _main(movers: Sequence[Mover], fps: float, of: Callable[[Mover], Outcome]) -> Outcome:
    """Return the outcome of the main mover; none where another that moves nearly as much has a different one."""
    ranked = _ranked(movers)
    if not ranked or not _usable(ranked[0], fps):
        return Outcome(None, "nothing moves" if not ranked else "nothing moves far or long enough")
    main = of(ranked[0])
    if ranked[0].area[ranked[0].area > 0].mean() > MOST_AREA:
        return Outcome(None, "what moves fills the frame")
    for rival in ranked[1:]:
        if rival.motion < RIVAL * ranked[0].motion:
            break
        if of(rival).value not in (None, main.value):
            return Outcome(None, "several things move, each in its own way")
    return main


def _in_sight(values: FloatArray) -> FloatArray:
    return np.asarray(values[np.isfinite(values).reshape(len(values), -1).all(1)])


def _hops(mover: Mover) -> float | None:
    height = -_in_sight(mover.path)[:, 1]
    return _cycles(height) if np.ptp(height) >= LEAST_HOP else None


def _swings(mover: Mover) -> float | None:
    path = _in_sight(mover.path)
    centred = path - path.mean(0)
    along = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    return _cycles(along) if np.ptp(along) >= LEAST_TRAVEL else None


def _cycles(signal: FloatArray) -> float:
    """Return how many times a (T,) signal goes there and back: half its legs, the first and last in proportion.

    A leg lies between two reversals of :data:`TURNING` of the range or more.
    """
    least = TURNING * float(np.ptp(signal))
    ends, way = [float(signal[0])], 0.0
    for value in signal[1:].tolist():
        change = value - ends[-1]
        if change * way > 0:
            ends[-1] = value
        elif abs(change) >= least:
            way = change
            ends.append(value)
    legs = np.abs(np.diff(ends))
    if len(legs) < 2:
        return float(len(legs)) / 2
    first, last = min(1.0, legs[0] / legs[1]), min(1.0, legs[-1] / legs[-2])
    return float(first + last + len(legs) - 2) / 2


def _turns(mover: Mover) -> float | None:
    """Return the full circles of a mover's path, or of its surface where the path is no circle.

    A surface that turns more than the path circles has turns of its own: which are meant is not known.
    """
    path, angle = _in_sight(mover.path), _in_sight(mover.turned) / 360
    spokes = path - (path.max(0) + path.min(0)) / 2
    lengths = np.hypot(*spokes.T)
    own = abs(float(angle[-1] - angle[0])) if len(angle) else 0.0
    if lengths.max() >= LEAST_TRAVEL and lengths.min() >= TURNING * lengths.max():
        around = np.unwrap(np.arctan2(spokes[:, 1], spokes[:, 0])) / (2 * np.pi)
        circled = abs(float(around[-1] - around[0]))
        if circled >= 0.5:
            return circled if own <= circled + SAME else None
    return own if own >= 0.5 and own >= ONE_WAY * np.ptp(angle) else None


def _moving(mover: Mover, fps: float) -> IntArray:
    """Return the frames in which a mover's smoothed speed is :data:`STARTED` of its usual speed, one at least."""
    window = max(1, round(_SMOOTH_SECONDS * fps))
    speed = np.convolve(np.nan_to_num(mover.speed), np.ones(window) / window, "same")
    moving = np.flatnonzero((speed >= STARTED * mover.usual_speed()) & (mover.area > 0))
    return moving if len(moving) else np.array([mover.seen.start])
