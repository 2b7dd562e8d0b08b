"""Measures of footage by which training data are filtered: cuts, fades, borders, text cards, kinds of camera motion.

All but the camera's take grey levels (T, h, w) uint8 of a small picture, which averages grain away; 256 pixels a side
is what the limits were set at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from vmmetrics.types import BoolArray, FloatArray, IntArray, UInt8Array

CameraKind = Literal["still", "pan", "tilt", "zoom", "roll", "shake"]
CAMERA_KINDS: tuple[CameraKind, ...] = get_args(CameraKind)
STILL_SPEED = 0.01
"""Speed of the background, frame diagonals per second, below which the camera is still."""
TREND_SECONDS = 0.6
"""Window of the running mean that parts steady motion of the camera from shake."""

CUT_LEVELS, CUT_RATIO, CUT_AGREEMENT = 9.0, 2.5, 0.55
"""A cut: blocks change by so many grey levels at least, so many times as much as in any step around it, and their
pattern correlates less than this with the one before."""
_AROUND = 3  # steps on either side that a cut stands out from
_BLOCK = 8  # pixels a side

PLAIN_SHARE = 0.1
"""Contrast of a frame, as a share of the clip's, below which it is plain; a fade leads to or from plain frames."""
FADE_SECONDS = 0.2
"""Shortest fade; shorter ones are cuts to black."""
_WHOLE = 0.7  # share of the clip's contrast that a fade leads from or to

BORDER_RANGE, BORDER_DRIFT = 14.0, 8.0
"""Largest range of grey levels along a border's row, and of its mean over time."""
_EDGE_LEVELS, _EDGE_SHARE = 10.0, 0.6  # difference behind a straight edge, and the share of the edge that has it

CARD_PLAIN, CARD_INK = 0.7, (0.004, 0.25)
"""Share of a text card that its background takes at least, and the range of the share that its letters take."""
_CARD_LEVELS, _INK_LEVELS = 8, 40  # within which a pixel is background, and from which it is ink
_STROKE = 0.03  # longest run of ink along a row in letters, as a share of the width
_RUNS = 6  # runs of ink along a row of text, at least
_TEXT_SHARE = 0.7  # of the runs that are short and in such rows


def find_cuts(grey: UInt8Array) -> IntArray:
    """Return the frames that begin a new shot by a hard cut, (n,) int64; fades and flashes of a frame are none."""
    if len(grey) < 2:
        return np.zeros(0, np.int64)
    blocks = _blocks(grey)
    change = np.abs(np.diff(blocks, axis=0)).mean(1)
    centred = blocks - blocks.mean(1, keepdims=True)
    spread = np.sqrt(np.square(centred).mean(1))
    found = []
    for step in np.flatnonzero(change >= CUT_LEVELS).tolist():
        around = np.r_[change[max(0, step - _AROUND) : step], change[step + 1 : step + 1 + _AROUND]]
        stands_out = change[step] >= CUT_RATIO * max(around, default=0.0)
        if stands_out and _agreement(centred, spread, step, step + 1) < CUT_AGREEMENT:
            found.append(step + 1)
    return np.array(found, np.int64)


def _agreement(centred: FloatArray, spread: FloatArray, first: int, second: int) -> float:
    """Return the correlation of two frames' blocks; plain frames agree with plain frames alone."""
    low = min(spread[first], spread[second])
    if low < 1.0:
        return float(max(spread[first], spread[second]) < 1.0)
    return float((centred[first] * centred[second]).mean() / (spread[first] * spread[second]))


def find_fades(grey: UInt8Array, timestamps: FloatArray) -> IntArray:
    """Return the plain frames, (n,) int64, at the ends of fades from or to a picture.

    Over the frames of a fade contrast grows or falls without a turn, for :data:`FADE_SECONDS` or more.
    """
    contrast = _blocks(grey).std(1)
    plain = contrast < PLAIN_SHARE * contrast.max()
    whole = _WHOLE * float(np.median(contrast[~plain])) if not plain.all() else np.inf
    found = []
    for frame in np.flatnonzero(plain).tolist():
        for way in (-1, 1):
            beside = frame + way
            if not 0 <= beside < len(grey) or plain[beside]:
                continue
            end = frame
            while contrast[end] < whole and 0 <= end + way < len(grey) and contrast[end + way] > contrast[end]:
                end += way
            lasts = abs(timestamps[end] - timestamps[frame])
            if contrast[end] >= whole and lasts >= FADE_SECONDS and abs(end - frame) > 2:
                found.append(frame)
    return np.array(found, np.int64)


def border_share(grey: UInt8Array) -> float | None:
    """Return the share of the frame, 0..1, that straight plain bars along its edges take; None where all is plain.

    A bar has one level, in space and time, in all frames but plain ones, and ends at a straight edge: neither sky nor
    night is one.
    """
    contrast = _blocks(grey).std(1)
    seen = np.flatnonzero(contrast >= max(PLAIN_SHARE * contrast.max(), 2.0))
    if not len(seen):
        return None
    few = grey[seen[np.linspace(0, len(seen) - 1, min(len(seen), 12)).astype(int)]].astype(np.int16)
    rows, columns = few, few.swapaxes(1, 2)
    high = few.shape[1] - _bar(rows) - _bar(rows[:, ::-1])
    wide = few.shape[2] - _bar(columns) - _bar(columns[:, ::-1])
    return float(1 - max(high, 0) * max(wide, 0) / (few.shape[1] * few.shape[2]))


def _bar(frames: IntArray) -> int:
    """Return how many of the first rows of frames (T, rows, columns) are a bar; 0 for a single one."""
    low, high = np.quantile(frames, (0.02, 0.98), axis=2)
    mean = frames.mean(2)
    plain = (high - low).max(0) <= BORDER_RANGE
    plain &= (np.ptp(mean, axis=0) <= BORDER_DRIFT) & (np.abs(mean - mean[:, :1]).max(0) <= BORDER_DRIFT)
    count = int(np.argmin(plain)) if not plain.all() else 0
    if count < 2:
        return 0
    behind = frames[:, min(count + 1, frames.shape[1] - 1)]
    differs = np.abs(behind - mean[:, :1]).max(0) > _EDGE_LEVELS
    return count if differs.mean() >= _EDGE_SHARE else 0


def card_frames(grey: UInt8Array) -> BoolArray:
    """Return (T,) bool, True for text on a plain background: short strokes, many side by side, and nothing else."""
    return np.array([_is_card(frame) for frame in grey], np.bool_)


def _is_card(frame: UInt8Array) -> bool:
    counts = np.bincount(frame.ravel(), minlength=256)
    near = np.convolve(counts, np.ones(2 * _CARD_LEVELS + 1), "same")
    level = int(np.argmax(near))
    if near[level] < CARD_PLAIN * frame.size:
        return False
    ink = np.abs(frame.astype(np.int16) - level) > _INK_LEVELS
    if not CARD_INK[0] <= ink.mean() <= CARD_INK[1]:
        return False
    starts = np.diff(ink, axis=1, prepend=False) & ink
    runs = starts.sum(1)
    rows, columns = np.nonzero(starts)
    ends = np.nonzero(np.diff(ink, axis=1, append=False) & ink)[1]
    short = ends - columns + 1 <= max(2.0, _STROKE * frame.shape[1])
    return bool((short & (runs[rows] >= _RUNS)).mean() >= _TEXT_SHARE)


def _blocks(grey: UInt8Array) -> FloatArray:
    """Return (T, N) float32 mean levels of blocks; what is left over at the edges is left out."""
    count, height, width = grey.shape
    side = max(1, min(_BLOCK, height, width))
    rows, columns = height // side, width // side
    lines = grey[:, : rows * side, : columns * side].reshape(count, rows, side, -1).sum(2, dtype=np.uint16)
    sums = lines.reshape(count, rows * columns, side).sum(2)
    means: FloatArray = (sums / side**2).astype(np.float32)
    return means


def camera_speeds(homographies: FloatArray, seconds: FloatArray, size: tuple[int, int]) -> Mapping[CameraKind, float]:
    """Return the mean speed of each kind of camera motion, direction aside.

    Args:
        homographies: (N, 3, 3) motion of the background between consecutive moments, pixels.
        seconds: (N,) time between them.
        size: (width, height) of the frame in those pixels.

    Returns:
        ``pan`` in frame widths per second, ``tilt`` in frame heights per second, ``zoom`` as a change of size per
        second (0.1: a tenth), ``roll`` in degrees per second, and ``shake``, the part of pan and tilt that departs from
        their running mean, in frame diagonals per second.
    """
    width, height = size
    centre = np.array([(width - 1) / 2, (height - 1) / 2, 1.0])
    moved = homographies @ centre
    shift = moved[:, :2] / moved[:, 2:] - centre[:2]
    # The linear part at the centre: the derivative of the homography there.
    linear = homographies[:, :2, :2] - (moved[:, :2] / moved[:, 2:])[..., None] * homographies[:, 2:, :2]
    linear /= moved[:, 2, None, None]
    rates = np.stack(
        [
            shift[:, 0] / width,
            shift[:, 1] / height,
            np.log(np.maximum(np.linalg.det(linear), 1e-6)) / 2,
            np.degrees(np.arctan2(linear[:, 1, 0] - linear[:, 0, 1], linear[:, 0, 0] + linear[:, 1, 1])),
        ],
        axis=1,
    ) / seconds[:, None]  # fmt: skip
    reach = max(1, round(TREND_SECONDS / float(np.median(seconds)) / 2))
    trend = np.array([rates[max(0, t - reach) : t + reach + 1].mean(0) for t in range(len(rates))])
    pan, tilt, zoom, roll = np.abs(trend).mean(0).tolist()
    apart = (rates - trend)[:, :2] * (width, height) / np.hypot(width, height)
    shake = float(np.hypot(apart[:, 0], apart[:, 1]).mean())
    return {"pan": pan, "tilt": tilt, "zoom": float(np.expm1(zoom)), "roll": roll, "shake": shake}


def camera_kind(speeds: Mapping[CameraKind, float], size: tuple[float, float]) -> CameraKind:
    """Return the kind of motion that moves the background most, or ``"still"`` below :data:`STILL_SPEED`.

    >>> camera_kind({"pan": 0.1, "tilt": 0.0, "zoom": 0.02, "roll": 0.5, "shake": 0.001}, (1280, 720))
    'pan'
    """
    diagonal = float(np.hypot(*size))
    radius = 12**-0.5  # root mean square distance from the centre, in diagonals
    speed: dict[CameraKind, float] = {
        "pan": speeds["pan"] * size[0] / diagonal,
        "tilt": speeds["tilt"] * size[1] / diagonal,
        "zoom": float(np.log1p(speeds["zoom"])) * radius,
        "roll": float(np.radians(speeds["roll"])) * radius,
        "shake": speeds["shake"],
    }
    kind = max(speed, key=lambda name: speed[name])
    return kind if speed[kind] >= STILL_SPEED else "still"
