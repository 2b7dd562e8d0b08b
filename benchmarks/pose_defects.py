"""Limbs stretched, snapped and removed in the pixels of real people: clips with known faults for OIS.

The limb is cut out along the bone that the pose model saw in the untouched clip, within its silhouette; the hole is
painted in from around it; the limb is put back stretched or turned about its joint, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from vmmetrics.functional.limbs import PARTS
from vmmetrics.perception.embedded.pose.blazepose import MASK_SIDE, Landmarks
from vmmetrics.types import FloatArray

BEYOND = {"forearm": 0.75, "calf": 0.4}
"""How far hand or foot reach past the end of the bone, in bone lengths."""
HALF_WIDTH = {"forearm": 0.17, "calf": 0.2}
"""Half width of the cut in torso lengths; the silhouette narrows it further."""
LIMBS = ("left forearm", "right forearm", "left calf", "right calf")


@dataclass(frozen=True)
class Defect:
    """One injected fault: ``kind`` is ``"stretch"`` (strength: factor), ``"snap"`` (degrees) or ``"remove"``."""

    kind: str
    strength: float
    part: str
    first: int
    last: int


def inject(
    frames: NDArray[np.uint8], poses: Sequence[Landmarks], keypoints: FloatArray, torso: float, defect: Defect
) -> NDArray[np.uint8]:
    """Return a copy of ``frames`` (T, H, W, 3) with the defect; ``keypoints`` (T, 17, 2) of the untouched clip."""
    start, end = PARTS[defect.part]
    bones = median_filter(keypoints[:, [start, end]], size=(5, 1, 1), mode="nearest")
    out = frames.copy()
    for frame in range(defect.first, defect.last + 1):
        out[frame] = _edit(frames[frame], poses[frame], bones[frame], torso, defect)
    return out


def _edit(
    image: NDArray[np.uint8], pose: Landmarks, bone: FloatArray, torso: float, defect: Defect
) -> NDArray[np.uint8]:
    limb = _limb_mask(image.shape[:2], pose, bone, torso, defect.part.split()[1])
    # paint at a size where the hole is small: exact texture does not matter, a clean edge does
    hole = cv2.dilate(limb, np.ones((3, 3), np.uint8), iterations=max(1, round(0.03 * torso)))
    x, y, w, h = cv2.boundingRect(hole)
    if w == 0:
        return image
    pad = round(0.3 * torso)
    rows, columns = slice(max(0, y - pad), y + h + pad), slice(max(0, x - pad), x + w + pad)
    out = image.copy()
    out[rows, columns] = cv2.inpaint(image[rows, columns], hole[rows, columns], 5, cv2.INPAINT_TELEA)
    if defect.kind == "remove":
        return out
    linear = _stretching(bone, defect.strength) if defect.kind == "stretch" else _turning(defect.strength)
    affine = np.column_stack([linear, bone[0] - linear @ bone[0]])
    size = (image.shape[1], image.shape[0])
    moved = cv2.warpAffine(image, affine, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    soft = cv2.GaussianBlur(limb.astype(np.float32) / 255, (0, 0), max(0.6, 0.01 * torso))
    alpha = cv2.warpAffine(soft, affine, size, flags=cv2.INTER_LINEAR)[..., None]
    return np.rint(alpha * moved + (1 - alpha) * out).astype(np.uint8)


def _limb_mask(shape: tuple[int, int], pose: Landmarks, bone: FloatArray, torso: float, kind: str) -> NDArray[np.uint8]:
    tip = bone[1] + BEYOND[kind] * (bone[1] - bone[0])
    capsule = np.zeros(shape, np.uint8)
    ends = [tuple(np.rint(p).astype(int).tolist()) for p in (bone[0], tip)]
    cv2.line(capsule, ends[0], ends[1], 255, max(3, round(2 * HALF_WIDTH[kind] * torso)))
    person = cv2.warpAffine(pose.mask, pose.region.to_image(MASK_SIDE), (shape[1], shape[0]))
    person = cv2.dilate(person, np.ones((3, 3), np.uint8), iterations=max(1, round(0.03 * torso)))
    direction = (bone[1] - bone[0]) / max(np.hypot(*(bone[1] - bone[0])), 1e-6)
    ys, xs = np.indices(shape)
    past_joint = (xs - bone[0, 0]) * direction[0] + (ys - bone[0, 1]) * direction[1] > 0
    return np.where((capsule > 0) & (person > 100) & past_joint, 255, 0).astype(np.uint8)


def _stretching(bone: FloatArray, factor: float) -> FloatArray:
    direction = (bone[1] - bone[0]) / max(np.hypot(*(bone[1] - bone[0])), 1e-6)
    return np.eye(2) + (factor - 1) * np.outer(direction, direction)


def _turning(degrees: float) -> FloatArray:
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    return np.array([[cos, -sin], [sin, cos]])
