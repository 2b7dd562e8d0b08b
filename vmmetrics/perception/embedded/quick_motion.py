"""Motion of the camera and of what moves by itself, from a small picture five times a second: for filters of data.

The flow is DIS on working images of 256 pixels, the camera that of the metrics
(:class:`~vmmetrics.perception.embedded.camera.GlobalMotion`); a pair across a cut is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from vmmetrics.perception.embedded.camera import GlobalMotion, apply
from vmmetrics.perception.embedded.flow import agree, pixel_grid
from vmmetrics.perception.scene import Flow
from vmmetrics.types import BoolArray, FloatArray, UInt8Array

SIDE = 256
"""Longer side of the pictures, pixels."""
STEP_SECONDS = 0.2
"""Time between the moments that are compared."""
TOP_SHARE = 0.05
"""Share of the frame that moves most, whose speed counts."""
TOLERANCE, TOLERANCE_SHARE = 0.35, 0.05
"""What the flow errs by: pixels, and a share of the motion of the camera there."""
LEAST_LEVELS, EXPLAINED = 2.0, 0.6
"""Difference in grey levels that the camera must leave between two pictures, and the share of it that the flow may
leave, for a place to move by itself; else a plain wall, whose flow nobody can know, would move as the camera does."""
_WINDOW = 60  # pairs whose flow is held at a time


@dataclass(frozen=True, slots=True)
class QuickMotion:
    """Motion of a clip.

    Attributes:
        subject: (N,) speed of the fastest :data:`TOP_SHARE` of the frame against the background, frame diagonals per
            second.
        homographies: (N, 3, 3) motion of the background, pixels.
        seconds: (N,) time of each pair.
        pairs: Number of pairs, those without a background that could be followed included.
    """

    subject: FloatArray
    homographies: FloatArray
    seconds: FloatArray
    pairs: int


def quick_motion(grey: UInt8Array, timestamps: FloatArray, cuts: Sequence[int] = ()) -> QuickMotion:
    """Measure motion.

    Args:
        grey: (T, h, w) uint8, :data:`SIDE` pixels at most.
        timestamps: (T,) seconds.
        cuts: Frames that begin a new shot.
    """
    diagonal = float(np.hypot(*grey.shape[1:]))
    some = np.s_[::2, ::2]  # every other pixel tells as much
    grid = pixel_grid(grey.shape[2], grey.shape[1])[some].astype(np.float64)
    subject, models, seconds, pairs = list[float](), [np.zeros((0, 3, 3))], list[float](), 0
    for frames in _runs(timestamps, cuts):
        flow = _flow(grey[frames])
        camera = GlobalMotion().of_flow(flow)
        pairs += len(camera.kinds)
        for t, kind in enumerate(camera.kinds):
            if kind == "unknown":
                continue
            lasts = float(timestamps[frames[t + 1]] - timestamps[frames[t]])
            expected = apply(camera.homographies[t], grid) - grid
            apart = np.hypot(*cv2.split(flow.forward[t][some] - expected.astype(np.float32)))
            apart -= TOLERANCE + TOLERANCE_SHARE * np.hypot(*cv2.split(expected))
            own = flow.forward_valid[t] & _moves_itself(flow, t, camera.homographies[t])
            apart[~own[some]] = 0
            count = max(1, round(TOP_SHARE * apart.size))
            top = np.partition(apart.ravel(), -count)[-count:]
            subject.append(float(np.maximum(top, 0).mean()) / diagonal / lasts)
            models.append(camera.homographies[t][None])
            seconds.append(lasts)
    return QuickMotion(np.array(subject), np.concatenate(models), np.array(seconds), pairs)


def _moves_itself(flow: Flow, t: int, camera: FloatArray) -> BoolArray:
    """Return (h, w) bool, True where flow explains the next picture much better than the camera does."""
    first, second = flow.images[t], flow.images[t + 1]
    height, width = first.shape
    grid = pixel_grid(width, height)
    across, down = cv2.split(grid + flow.forward[t])
    shown = (
        cv2.warpPerspective(second, camera, (width, height), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP),
        cv2.remap(second, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE),
    )
    by_camera, by_flow = (cv2.blur(cv2.absdiff(picture, first).astype(np.float32), (5, 5)) for picture in shown)
    return np.asarray((by_camera > LEAST_LEVELS) & (by_flow < EXPLAINED * by_camera))


def _runs(timestamps: FloatArray, cuts: Sequence[int]) -> Iterator[list[int]]:
    """Yield frames of one shot, :data:`STEP_SECONDS` apart or as near as they come, two or more."""
    ends = {*cuts, len(timestamps)}
    run = [0]
    for frame in range(1, len(timestamps) + 1):
        if frame in ends or len(run) > _WINDOW:
            if len(run) > 1:
                yield run
            run = [frame] if frame in ends else [run[-1]]
        if frame < len(timestamps) and frame not in ends:
            following = timestamps[frame + 1] if frame + 1 < len(timestamps) else np.inf
            due = timestamps[run[-1]] + STEP_SECONDS
            if following - due > abs(due - timestamps[frame]):
                run.append(frame)


def _flow(images: UInt8Array) -> Flow:
    """Return the flow of consecutive images, both ways."""
    count, height, width = images.shape
    forward = np.zeros((count - 1, height, width, 2), np.float32)
    valid = np.ones((count - 1, height, width), np.bool_)
    dis: Any = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
    dis.setFinestScale(1)  # at the preset's 2, a quarter of 256 pixels, small things that move fast are lost
    dis.setVariationalRefinementIterations(0)  # which take half of the time and mend 0.05 pixels
    grid = pixel_grid(width, height)
    for t in range(count - 1):
        if not np.array_equal(images[t], images[t + 1]):
            forward[t] = dis.calc(images[t], images[t + 1], None)
            valid[t] = agree(forward[t], dis.calc(images[t + 1], images[t], None), grid)
    return Flow(images, forward, np.zeros_like(forward), valid, np.ones_like(valid), (1.0, 1.0))
