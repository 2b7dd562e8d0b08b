"""Perturbations of one object: it disappears or appears without cause, or a limb is stretched or snapped.

What they are done to must be known beforehand (:class:`ClipObjects`); only the intruder brings a thing of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from vmmetrics.alignment.perturbations.frames import Frames, Rng
from vmmetrics.alignment.perturbations.motion import displace, grid, noise_field, short_side
from vmmetrics.errors import VMMetricsError
from vmmetrics.types import FloatArray

LEAST_AREA = 0.003
"""Minimum area of an object, as a share of the frame: a square of 13 pixels at 320×180."""
LEAST_TIME = 0.6
"""Minimum share of the clip in which an object must be visible."""
LEAST_BONE = 0.08
"""Minimum length of a forearm or calf, as a share of the short side."""
LIMBS = {"left forearm": (7, 9), "right forearm": (8, 10), "left calf": (13, 15), "right calf": (14, 16)}
"""COCO keypoints of joint and end."""
STRETCH = 1.0
"""Relative elongation of a limb at strength 1."""
SNAP = 100.0
"""Rotation of a limb at strength 1, in degrees."""
_BEYOND = 0.6  # of the bone: hand or foot reach that far past its end
_WIDTH = 0.5  # of the bone: width of what moves with it
_OVERLAP = 0.2  # of the smaller: from then on a thing counts as part of a person
_PEN = ((5, 6), (11, 12), (5, 11), (6, 12), (5, 7), (7, 9), (6, 8), (8, 10), (11, 13), (13, 15), (12, 14), (14, 16))
_ROUND = {0: 0.4, 9: 0.22, 10: 0.22, 15: 0.25, 16: 0.25}  # head, hands, feet: radius, in torso lengths
_RIM = 0.012  # of the short side: the rim of a thing, and the error of its mask
_FILL_SIDE = 90  # pixels; at this short side a hole is painted in


class NotApplicableError(VMMetricsError):
    """A perturbation is not applicable to this clip; the text says why."""


@dataclass(frozen=True, slots=True)
class ClipObjects:
    """Objects of a clip: masks, tracks and poses.

    Attributes:
        labels: (T, H, W) uint8, 0 background, else the number of the thing that is seen; clip pixels.
        people: (T, P, 17, 2) pixels x, y in COCO order, NaN where not seen.
    """

    labels: NDArray[np.uint8]
    people: FloatArray


def vanish(frames: Frames, strength: float, _fps: float, objects: ClipObjects) -> Frames:
    """Remove the largest object from the middle of the clip on; below strength 1 it shows through."""
    return _painted_out(frames, objects, strength, np.arange(len(frames)) >= len(frames) // 2)


def appear(frames: Frames, strength: float, _fps: float, objects: ClipObjects) -> Frames:
    """Hide the largest object up to the middle of the clip."""
    return _painted_out(frames, objects, strength, np.arange(len(frames)) < len(frames) // 2)


def _whole(objects: ClipObjects) -> NDArray[np.bool_]:
    """Return the (T, H, W) mask of the largest thing, and of who it is part of: often only a part of a person moves."""
    mask = _largest(objects)
    whole = mask.copy()
    for person in range(objects.people.shape[1]):
        figure = np.stack([_figure(joints, mask.shape[1:]) for joints in objects.people[:, person]])
        if (figure & mask).sum() > _OVERLAP * min(figure.sum(), mask.sum()):
            whole |= figure
    return whole


def _figure(joints: FloatArray, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return the (H, W) mask of somebody with these 17 joints, drawn with a thick pen; empty where not seen."""
    drawn = np.zeros(shape, np.uint8)
    trunk = joints[[5, 6, 12, 11]]
    if not np.isfinite(trunk).all():
        return drawn.astype(bool)
    torso = max(float(np.hypot(*(trunk[:2].mean(0) - trunk[2:].mean(0)))), 1.0)
    cv2.fillPoly(drawn, [np.round(trunk).astype(np.int32)], 1)
    pairs = [(a, b) for a, b in _PEN if np.isfinite(joints[[a, b]]).all()]
    for a, b in pairs:
        ends = [tuple(np.round(joints[i]).astype(int).tolist()) for i in (a, b)]
        cv2.line(drawn, ends[0], ends[1], 1, max(1, round(0.3 * torso)))
    for joint, size in _ROUND.items():
        if np.isfinite(joints[joint]).all():
            cv2.circle(drawn, tuple(np.round(joints[joint]).astype(int).tolist()), round(size * torso), 1, -1)
    return drawn.astype(bool)


def _largest(objects: ClipObjects) -> NDArray[np.bool_]:
    """Return the (T, H, W) mask of the largest thing that is there most of the time.

    Raises:
        NotApplicableError: There is none.
    """
    numbers = [n for n in np.unique(objects.labels) if n]
    areas = {n: (objects.labels == n).mean((1, 2)) for n in numbers}
    lasting = [n for n in numbers if (areas[n] >= LEAST_AREA).mean() >= LEAST_TIME]
    middle = objects.labels.shape[0] // 2
    lasting = [n for n in lasting if min(areas[n][middle - 1 : middle + 1], default=0.0) >= LEAST_AREA]
    if not lasting:
        raise NotApplicableError(
            f"no moving object of at least {LEAST_AREA:.1%} of the frame is seen in {LEAST_TIME:.0%} of the clip "
            "and in its middle"
        )
    return np.asarray(objects.labels == max(lasting, key=lambda n: float(areas[n].mean())))


def _painted_out(frames: Frames, objects: ClipObjects, share: float, when: NDArray[np.bool_]) -> Frames:
    mask = _whole(objects)
    reach = max(1, round(_RIM * short_side(frames)))
    painted = frames.copy()
    for t in np.flatnonzero(when & mask.any((1, 2))):
        hole = cv2.dilate(mask[t].astype(np.uint8), np.ones((2 * reach + 1, 2 * reach + 1), np.uint8))
        soft = cv2.GaussianBlur(hole.astype(np.float32), (0, 0), reach / 2)
        weight = (share * soft)[..., None]
        painted[t] = frames[t] * (1 - weight) + _filled(frames[t], hole > 0) * weight + 0.5
    return painted


def intruder(frames: Frames, strength: float, _fps: float, rng: Rng) -> Frames:
    """Insert an object cut from elsewhere in the frame; it moves about and stays."""
    count, height, width = frames.shape[:3]
    size = short_side(frames)
    radius = 0.22 * strength * size
    first = int(rng.integers(count // 3, max(count // 2, count // 3 + 1)))
    start = rng.uniform(0.3, 0.7, 2) * (width, height)
    travel = np.sign(np.array([width, height]) / 2 - start) * rng.uniform(0.1, 0.25, 2) * (width, height)
    outline = 1 + 0.12 * noise_field(rng, frames, 0.5 * 0.22 * size)[..., 0]
    coat = np.ascontiguousarray(frames[0, ::-1, ::-1, ::-1])  # upside down and in other colours: of no use as cover
    shown = frames.copy()
    x, y = grid(frames)
    for t in range(first, count):
        gone = travel * (t - first) / max(count - 1 - first, 1)
        centre = start + gone
        worn = displace(coat, np.broadcast_to(-gone, (height, width, 2)).astype(np.float32))
        inside = (np.hypot(x - centre[0], y - centre[1]) < radius * outline).astype(np.float32)
        soft = cv2.GaussianBlur(inside, (0, 0), 0.7)[..., None]
        shown[t] = frames[t] * (1 - soft) + worn * soft + 0.5
    return shown


def limb_stretch(frames: Frames, strength: float, fps: float, objects: ClipObjects) -> Frames:
    """Stretch a forearm or calf to up to twice its length for half a second."""
    factor = 1 + STRETCH * strength

    def longer(bone: FloatArray) -> FloatArray:
        along = (bone[1] - bone[0]) / max(float(np.hypot(*(bone[1] - bone[0]))), 1e-6)
        return np.asarray(np.eye(2) + (factor - 1) * np.outer(along, along))

    return _limb_changed(frames, fps, objects, longer)


def limb_snap(frames: Frames, strength: float, fps: float, objects: ClipObjects) -> Frames:
    """Turn a forearm or calf at its joint, by up to :data:`SNAP` degrees, for half a second."""
    angle = np.deg2rad(SNAP * strength)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return _limb_changed(frames, fps, objects, lambda _: turn)


OBJECT_DEFECTS: dict[str, Callable[[Frames, float, float, ClipObjects], Frames]] = {
    f.__name__: f for f in (vanish, appear, limb_stretch, limb_snap)
}


def _limb_changed(
    frames: Frames, fps: float, objects: ClipObjects, change: Callable[[FloatArray], FloatArray]
) -> Frames:
    """Return the clip with the best seen limb mapped by ``change`` (bone to 2×2 matrix) about its joint."""
    limb, first, last = _limb_in_view(frames, fps, objects)
    changed = frames.copy()
    for t in range(first, last):
        bone = limb[t]
        cut = _limb_mask(frames, bone)
        matrix = change(bone)
        affine = np.column_stack([matrix, bone[0] - matrix @ bone[0]])
        size = (frames.shape[2], frames.shape[1])
        moved = cv2.warpAffine(frames[t], affine, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        alpha = cv2.warpAffine(cut, affine, size, flags=cv2.INTER_LINEAR)[..., None]
        bare = _filled(frames[t], cut > 0.5)
        under = frames[t] * (1 - cut[..., None]) + bare * cut[..., None]
        changed[t] = under * (1 - alpha) + moved * alpha + 0.5
    return changed


def _limb_in_view(frames: Frames, fps: float, objects: ClipObjects) -> tuple[FloatArray, int, int]:
    """Return the (T, 2, 2) joint and end of the limb that is longest over half a second, and that half second.

    Raises:
        NotApplicableError: No person's limb is visible that long.
    """
    length = max(2, round(0.5 * fps))
    best: tuple[float, FloatArray, int] | None = None
    for person in range(objects.people.shape[1]):
        for ends in LIMBS.values():
            bones = objects.people[:, person, list(ends)]
            inside = ((bones >= 0) & (bones < (frames.shape[2], frames.shape[1]))).all((1, 2))
            sizes = np.where(inside, np.hypot(*np.moveaxis(bones[:, 1] - bones[:, 0], -1, 0)), np.nan)
            for start in range(2, len(frames) - length - 1):
                least = float(sizes[start : start + length].min())  # NaN where it is not seen throughout
                if least >= LEAST_BONE * short_side(frames) and (best is None or least > best[0]):
                    best = (least, bones, start)
    if best is None:
        raise NotApplicableError(
            f"no forearm or calf of at least {LEAST_BONE:.0%} of the short side is visible for half a second"
        )
    _, bones, start = best
    smooth = median_filter(bones, size=(5, 1, 1), mode="nearest")  # keypoints tremble
    return np.asarray(smooth, np.float64), start, start + length


def _limb_mask(frames: Frames, bone: FloatArray) -> FloatArray:
    """Return a soft (H, W) mask of what moves with a limb: beyond its joint, hand or foot included."""
    x, y = grid(frames)
    size = max(float(np.hypot(*(bone[1] - bone[0]))), 1e-6)
    along = (bone[1] - bone[0]) / size
    dx, dy = x - bone[0, 0], y - bone[0, 1]
    forward, sideward = dx * along[0] + dy * along[1], np.abs(dy * along[0] - dx * along[1])
    inside = (forward > 0) & (forward < (1 + _BEYOND) * size) & (sideward < _WIDTH / 2 * size)
    return np.asarray(cv2.GaussianBlur(inside.astype(np.float32), (0, 0), max(0.6, 0.03 * size)), np.float32)


def _filled(image: NDArray[np.uint8], mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return ``image`` with ``mask`` and a pixel of a small picture around it painted in from the sides."""
    height, width = mask.shape
    scale = min(1.0, _FILL_SIDE / min(height, width))
    small = round(width * scale), round(height * scale)
    hole = cv2.resize(mask.astype(np.uint8), small, interpolation=cv2.INTER_AREA)
    hole = cv2.dilate(hole, np.ones((3, 3), np.uint8))
    painted = cv2.inpaint(cv2.resize(image, small, interpolation=cv2.INTER_AREA), hole, 3, cv2.INPAINT_TELEA)
    return np.asarray(cv2.resize(painted, (width, height)), np.uint8)
