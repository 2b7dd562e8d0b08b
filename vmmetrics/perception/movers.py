"""Movers of a clip: paths of its moving objects, from the flow in their masks, the camera's motion taken out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import cv2
import numpy as np

from vmmetrics.functional.outcomes import Mover, Outcome, decider
from vmmetrics.perception.embedded.camera import apply, fit_similarity
from vmmetrics.perception.embedded.flow import sample
from vmmetrics.perception.scene import Scene
from vmmetrics.types import BoolArray, FloatArray, IntArray

LEAST_PIXELS = 8
"""Least pixels of a mask with consistent flow for its motion to be known."""
FLOW_ERROR = 0.15
"""Length of flow on things at rest, working pixels."""
NOISE = 0.5
"""Residual of the rotation's fit, working pixels, at which a pixel weighs a quarter."""
DRIFT, DRIFT_OF_EXTENT, DRIFT_SHARE = 0.03, 0.25, 0.9
"""Distance between the sum of the flow and the masks' centres, diagonals, or as a share of the path's extent, up to
which the sum is the path, in so large a share of the frames; beyond, flow lost the thing, and the centres are."""
FAST_TURN = np.radians(3)
"""Turn a frame from which flow shows only a part of it, radians: of 15° it may show 7."""
TURN_FACTORS = (1.0, 1.35, 1.8)
"""Multiples of the turn by flow from which images are aligned."""
LEAST_CORRELATION, ECC_STOP, ECC_BLUR, RIM = 0.85, (3, 20, 1e-3), 3, 12
"""Least correlation of aligned images; end of the search: 20 rounds, or a gain of 0.001; width of the blur and of the
surroundings, working pixels."""
LEAST_TURNS_KNOWN = 0.7
"""Least share of the frames with a known turn."""
MOST_UNKNOWN = 0.1
"""Largest share of frame pairs without a background that could be followed."""


@dataclass(frozen=True, slots=True)
class Movers:
    """Movers of a clip.

    Attributes:
        movers: Their paths.
        fps: Frames per second of the clip.
        reason: Why they cannot be followed, so that there are none; else empty.
    """

    movers: tuple[Mover, ...]
    fps: float
    reason: str = ""

    def decide(self, measure: Mapping[str, Any]) -> Outcome:
        """Return what is decided of a measure; errors as for :func:`vmmetrics.functional.outcomes.decider`."""
        decide = decider(measure)
        return Outcome(None, self.reason) if self.reason else decide(self.movers, self.fps)


def movers_of(scene: Scene) -> Movers:
    """Return the movers of a clip, or the reason why they cannot be followed."""
    reason = ""
    if scene.unjudgeable is not None:
        reason = scene.unjudgeable.reason
    elif len(scene.clip) < 2:
        reason = "the clip is too short"
    elif scene.camera.kinds.count("unknown") > MOST_UNKNOWN * len(scene.camera.kinds):
        reason = "the background cannot be followed"
    objects = () if reason else scene.objects.objects
    paths = tuple(_mover(scene, scene.objects.labels == item.id) for item in objects)
    return Movers(paths, scene.clip.fps, reason)


def _mover(scene: Scene, masks: BoolArray) -> Mover:
    """Return the mover that has the masks (T, h, w)."""
    frames, size = len(masks), np.array([scene.clip.width, scene.clip.height])
    diagonal, unit = float(np.hypot(*size)), float(np.mean(scene.flow.scale))
    still = [np.linalg.inv(scene.camera.between(0, t)) for t in range(frames)]  # clip pixels of frame t to frame 0's
    centres, places, steps = np.full((3, frames, 2), np.nan)
    turns, speed = np.full((2, frames), np.nan)
    for t in np.flatnonzero(masks.any((1, 2))).tolist():
        centres[t] = _pixels(scene, masks[t]).mean(0)
        places[t] = apply(still[t], centres[t])
        if t == frames - 1:
            continue
        core = cv2.erode(masks[t].astype(np.uint8), np.ones((3, 3), np.uint8), borderValue=1) > 0
        points, there = _followed(scene, t, core if core.sum() >= LEAST_PIXELS else masks[t])
        if len(points) < LEAST_PIXELS:
            continue
        rest = apply(scene.camera.homographies[t], points)
        middle, shift = points.mean(0), (there - rest).mean(0)
        steps[t] = apply(still[t + 1], rest.mean(0) + shift) - apply(still[t], middle)
        turn = _angle(fit_similarity(points, points + there - rest, noise=NOISE * unit))
        turns[t] = turn if abs(turn) < FAST_TURN else _refined(scene, t, core, points, there, turn)
        rigid = np.hypot(np.hypot(*shift), turn * np.hypot(*(points - middle).T).mean())
        own = np.maximum(np.hypot(*(there - rest).T) - FLOW_ERROR * unit, 0).mean()
        speed[t] = max(rigid, own) * scene.clip.fps / diagonal
    seen = np.flatnonzero(np.isfinite(places[:, 0]))
    for first, last in pairwise(seen.tolist()):  # where flow is lost, the masks say how far it got
        if np.isnan(steps[first, 0]):
            steps[first] = places[last] - places[first]
    known = np.isfinite(turns)
    if known[seen].mean() >= LEAST_TURNS_KNOWN:
        turns = np.interp(np.arange(frames), np.flatnonzero(known), turns[known])
    else:
        turns[:] = np.nan
    path, places = _summed(steps, seen) / diagonal, (places - places[seen[0]]) / diagonal
    apart = np.hypot(*(path - places - np.nanmedian(path - places, axis=0)).T)
    extent = float(np.ptp(places[seen], axis=0).max())
    lost = np.quantile(apart[seen], DRIFT_SHARE) > max(DRIFT, DRIFT_OF_EXTENT * extent)
    edges = masks[:, [0, -1]].any((1, 2)) | masks[:, :, [0, -1]].any((1, 2))
    return Mover(
        places if lost else path, np.degrees(_summed(turns, seen)), speed, (centres[:, 0] + 0.5) / size[0],
        masks.mean((1, 2)), np.asarray(edges),
    )  # fmt: skip


def _refined(scene: Scene, t: int, mask: BoolArray, points: FloatArray, there: FloatArray, turn: float) -> float:
    """Return a fast turn from frame ``t`` to the next, of which flow shows a part, in radians; NaN where none fits.

    Images are aligned by enhanced correlation (Evangelidis and Psarakis, PAMI 2008), from the turn by flow on.
    """
    first, second = scene.flow.images[t : t + 2]
    inside = cv2.resize(mask.astype(np.uint8), first.shape[::-1], interpolation=cv2.INTER_NEAREST)
    x, y, width, height = cv2.boundingRect(inside)
    corner = np.maximum((x - RIM, y - RIM), 0)
    part = np.s_[corner[1] : y + height + RIM, corner[0] : x + width + RIM]
    before, after = (((p.mean(0) + 0.5) / scene.flow.scale - 0.5 - corner) for p in (points, there))
    best, refined = LEAST_CORRELATION, np.nan
    camera = _angle(scene.camera.homographies[t])
    for factor in TURN_FACTORS:
        cos, sin = np.cos(factor * turn + camera), np.sin(factor * turn + camera)
        start = np.array([[cos, -sin], [sin, cos]])
        start = np.column_stack([start, after - start @ before]).astype(np.float32)
        with suppress(cv2.error):  # it does not converge
            alike, matrix = cv2.findTransformECC(
                first[part], second[part], start, cv2.MOTION_EUCLIDEAN, ECC_STOP, inside[part], ECC_BLUR
            )
            if alike > best:
                best, refined = alike, _angle(np.asarray(matrix, np.float64)) - camera
    return refined


def _angle(matrix: FloatArray) -> float:
    """Return the rotation of a transform (2 or 3, 3), radians."""
    return float(np.arctan2(matrix[1, 0], matrix[0, 0]))


def _pixels(scene: Scene, mask: BoolArray) -> FloatArray:
    """Return (N, 2) x and y of the pixels of a mask (h, w), clip pixels."""
    return np.asarray((np.argwhere(mask)[:, ::-1] + 0.5) * np.array(scene.objects.scale) - 0.5)


def _followed(scene: Scene, t: int, mask: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return where the pixels of a mask (h, w) that consistent flow follows are in frames ``t`` and ``t + 1``."""
    scale, points = np.array(scene.flow.scale), _pixels(scene, mask)
    working = ((points + 0.5) / scale - 0.5)[:, None]
    motion = sample(scene.flow.forward[t], working)[0][:, 0] * scale
    valid = sample(scene.flow.forward_valid[t].astype(np.float32), working)[0][:, 0] > 0.5
    return points[valid], (points + motion)[valid]


def _summed(steps: FloatArray, seen: IntArray) -> FloatArray:
    """Return (T, ...) sums of ``steps`` from the first frame seen to before each, NaN in frames that are not seen."""
    sums = np.full(steps.shape, np.nan)
    before = np.concatenate([np.zeros_like(steps[:1]), np.nancumsum(steps, axis=0)[:-1]])
    sums[seen] = before[seen] - before[seen[0]]
    return sums
