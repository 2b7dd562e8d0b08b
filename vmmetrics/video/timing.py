"""Frame times: stated ones, or assumed ones with a note."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import ClipError

UNSTATED_DELAY_MS = 10.0
"""Delays up to this are taken as "none stated": writers put 0 or 1 hundredth where they know no rate, and no
browser plays them as written."""

MAX_FPS = 1000.0
"""Frame rates above this are taken for damage."""

LONG_STEP = 10.0
"""Median steps above which a step between two frames is noted: the mean rate then describes neither."""

GAP_SECONDS = 10.0
"""Seconds above which such a step is a gap in the times and no hold: longer than generated clips are."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of the frames of a clip.

    Attributes:
        timestamps: (T,) float64 seconds from the first frame, strictly increasing.
        fps: Mean frames per second.
        notes: Assumptions and repairs.
    """

    timestamps: NDArray[np.float64]
    fps: float
    notes: tuple[str, ...] = ()


_RETIMED = re.compile(r"stated rate is used|frames per second assumed|; spread evenly|, closed to the median step")


def is_retimed(notes: Iterable[str]) -> bool:
    """Return True if notes of this module say that frames have other times than a player of the file shows them at.

    >>> is_retimed(regular(3, 8.0).notes), is_retimed(assumed(3, 8.0).notes)
    (False, True)
    """
    return any(_RETIMED.search(note) for note in notes)


def check_fps(fps: float) -> float:
    """Return ``fps`` where it can be a frame rate.

    Raises:
        ClipError: It is not in 0..:data:`MAX_FPS`.
    """
    if not _is_fps(fps):
        raise ClipError(f"Expected a frame rate above 0 and up to {MAX_FPS:g} but got {fps}")
    return float(fps)


def _is_fps(fps: float) -> bool:
    return bool(np.isfinite(fps)) and 0 < fps <= MAX_FPS


def regular(count: int, fps: float, *notes: str) -> Timing:
    """Return times of ``count`` frames at a constant rate."""
    rate = check_fps(fps)
    return Timing(np.arange(count, dtype=np.float64) / rate, rate, notes)


def assumed(count: int, fps: float) -> Timing:
    """Return times where the source states none."""
    return regular(count, fps, f"states no frame rate; {fps:g} frames per second assumed")


def from_times(times: Sequence[float | None], rate: float | None, assume_fps: float) -> Timing:
    """Return times as a container states them.

    Args:
        times: Presentation time per frame in seconds, None where the file has none.
        rate: Frame rate the container states, or None.
        assume_fps: Rate taken where there are neither times nor a rate.
    """
    count = len(times)
    usable_rate = rate if rate is not None and 0 < rate <= MAX_FPS else None
    stated = [time for time in times if time is not None]
    if len(stated) < count or count == 1:
        if usable_rate is None:
            return assumed(count, assume_fps)
        notes = () if count == 1 else (f"{count - len(stated)} frames have no time; the stated rate is used",)
        return regular(count, usable_rate, *notes)
    stamps = np.array(stated, np.float64)
    return _increasing(stamps - stamps[0], usable_rate, assume_fps)


def _increasing(stamps: NDArray[np.float64], rate: float | None, assume_fps: float) -> Timing:
    """Keep times that increase; where some do not, spread those frames between their neighbours."""
    good = np.concatenate([[True], stamps[1:] > np.maximum.accumulate(stamps)[:-1]])
    count = len(stamps)
    if good.all():
        return _with_mean_rate(stamps)
    if good.sum() < 2:
        if rate:
            return regular(count, rate, "all frames have one time; the stated rate is used")
        return assumed(count, assume_fps)
    index = np.arange(count)
    anchors, values = index[good], stamps[good]
    step = float(np.median(np.diff(values) / np.diff(anchors)))
    if anchors[-1] < count - 1:
        anchors = np.append(anchors, count - 1)
        values = np.append(values, values[-1] + step * (count - 1 - anchors[-2]))
    mended = np.interp(index, anchors, values)
    return _with_mean_rate(mended, f"{int((~good).sum())} frames have a time that does not increase; spread evenly")


def _with_mean_rate(stamps: NDArray[np.float64], *notes: str) -> Timing:
    fps = (len(stamps) - 1) / float(stamps[-1])
    return Timing(stamps, check_fps(fps), notes)


def without_gaps(timing: Timing) -> Timing:
    """Close gaps in the times and note single long steps.

    A step of more than :data:`LONG_STEP` median steps is noted. Where it is also longer than :data:`GAP_SECONDS`, it
    is shortened to the median step, and the rate is that of the frames without the gap; where that would be no frame
    rate, the gap stays.
    """
    steps = np.diff(timing.timestamps)
    if len(steps) < 2:
        return timing
    median = float(np.quantile(steps, 0.5, method="lower"))  # of two steps, the shorter
    outlying = steps > LONG_STEP * median
    gaps = outlying & (steps > GAP_SECONDS)
    closed = timing.timestamps - np.concatenate([[0.0], np.cumsum(np.where(gaps, steps - median, 0.0))])
    closes = bool((np.diff(closed) > 0).all()) and _is_fps(len(steps) / float(closed[-1]))
    end = f"closed to the median step of {median:.3g} s" if closes else f"kept; the median step is {median:.3g} s"
    notes = list(timing.notes)
    for kind, meaning in (
        (gaps, f"a gap in the times, {end}"),
        (outlying & ~gaps, f"a hold, included in the mean frame rate; the median step is {median:.3g} s"),
    ):
        steps_at = np.flatnonzero(kind)
        if len(steps_at):
            longest = int(steps_at[np.argmax(steps[steps_at])])
            more = f" (the longest of {len(steps_at)} such steps)" if len(steps_at) > 1 else ""
            notes.append(f"{steps[longest]:.7g} s between frames {longest} and {longest + 1}{more}: {meaning}")
    if gaps.any() and closes:
        return _with_mean_rate(closed, *notes)
    return Timing(timing.timestamps, timing.fps, tuple(notes))


def from_delays(delays_ms: Sequence[float], assume_fps: float) -> Timing:
    """Return times from how long each frame of an animation is shown.

    Delays up to :data:`UNSTATED_DELAY_MS` count as not stated: with none stated ``assume_fps`` is used, else the
    median of those that are.
    """
    delays = np.asarray(delays_ms, np.float64)
    stated = delays > UNSTATED_DELAY_MS
    if not stated.any():
        return assumed(len(delays), assume_fps)
    notes = []
    # The last frame's delay moves nothing, so its absence need not be reported.
    if not stated[:-1].all():
        typical = float(np.median(delays[stated]))
        notes.append(f"{int((~stated[:-1]).sum())} frames state no delay; {typical:g} ms taken for them")
    filled = np.where(stated, delays, np.median(delays[stated])) / 1000.0
    if len(delays) == 1:
        return Timing(np.zeros(1), check_fps(1.0 / float(filled[0])))
    return _with_mean_rate(np.concatenate([[0.0], np.cumsum(filled[:-1])]), *notes)
