"""The two BlazePose networks: people detector and landmark regressor.

The files come from mediapipe 0.10.21 (Apache-2.0); the constants below (anchors, ranges, region of interest) are those
that the networks were trained with, as stated in MediaPipe's public graph configurations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.litert import open_network
from vmmetrics.types import FloatArray, UInt8Array

Image = NDArray[Any]
"""(H, W, 3) uint8 RGB; OpenCV's stubs do not say so."""

DETECTOR_SIDE = 224
"""Input side of the detector, pixels."""
LANDMARK_SIDE = 256
"""Input side of the landmark network, pixels."""
MASK_SIDE = 128
"""Side of stored masks, half the network's: enough for limbs, and a long clip stores many."""
ANCHOR_LAYOUT = ((8, 2), (16, 2), (32, 6))
"""(stride, anchors per cell): the five SSD layers, the three of stride 32 interleaved; 2254 anchors."""
SCORE_CLIP = 100.0
"""Bound on the detector's logits."""
NMS_IOU = 0.3
"""IoU from which detections are merged."""
REGION_SCALE = 1.25
"""Side of the region of interest relative to the circle that the two alignment points span."""
HEATMAP_WINDOW = 4
"""Half width of the heatmap window around a regressed landmark (9 × 9 cells of 64 × 64)."""
HEATMAP_TRUST = 0.5
"""Least peak of a heatmap for it to refine its landmark."""


@dataclass(frozen=True, slots=True)
class Region:
    """A rotated square in an image: centre and side in pixels, rotation in radians (0: upright)."""

    x: float
    y: float
    side: float
    rotation: float

    @classmethod
    def from_alignment(cls, centre: FloatArray, top: FloatArray) -> Region:
        """Return the region around the mid-hip ``centre`` whose circle passes through the alignment point ``top``."""
        dx, dy = top - centre
        radius = float(np.hypot(dx, dy))
        rotation = np.pi / 2 - np.arctan2(-dy, dx)
        rotation = float(rotation - 2 * np.pi * np.floor((rotation + np.pi) / (2 * np.pi)))
        return cls(float(centre[0]), float(centre[1]), 2 * radius * REGION_SCALE, rotation)

    def to_image(self, size: int) -> FloatArray:
        """Return the (2, 3) affine map from pixel centres of a ``size`` × ``size`` crop to those of the image."""
        scale = self.side / size
        cos, sin = scale * np.cos(self.rotation), scale * np.sin(self.rotation)
        linear = np.array([[cos, -sin], [sin, cos]])
        middle = np.full(2, (size - 1) / 2)
        return np.column_stack([linear, np.array([self.x, self.y]) - linear @ middle])

    def to_pixels(self, xy: FloatArray, size: int) -> FloatArray:
        """Return ``xy`` (..., 2) in 0..1 of a ``size`` × ``size`` crop as pixels of the image."""
        affine = self.to_image(size)
        return np.asarray((xy * size - 0.5) @ affine[:, :2].T + affine[:, 2])


@dataclass(frozen=True, slots=True)
class Detections:
    """People found in one image, most confident first.

    Attributes:
        scores: (N,) in 0..1.
        points: (N, 4, 2) pixels: mid-hip, full-body alignment, mid-shoulder, upper-body alignment.
    """

    scores: FloatArray
    points: FloatArray


@dataclass(frozen=True, slots=True)
class Landmarks:
    """The landmark network's output for one region.

    Attributes:
        xy: (39, 2) pixels of the image; 33 and 34 are the alignment points of the next region.
        visibility: (39,) probability that the landmark is within the frame and not occluded.
        peak: (39,) highest heatmap value around the landmark, in 0..1.
        flag: Probability that there is a person in the region.
        mask: (128, 128) uint8 over the region, 255 × probability of "person".
        region: The region.
    """

    xy: FloatArray
    visibility: FloatArray
    peak: FloatArray
    flag: float
    mask: UInt8Array
    region: Region

    @property
    def next_region(self) -> Region:
        """The region of interest for the next frame."""
        return Region.from_alignment(self.xy[33], self.xy[34])

    def covered(self, points: FloatArray) -> FloatArray:
        """Return (N,) probability of "person" at ``points`` (N, 2), pixels of the image; 0 outside the region."""
        affine = self.region.to_image(MASK_SIDE)
        inverse = np.linalg.inv(affine[:, :2])
        x, y = np.rint((points - affine[:, 2]) @ inverse.T).astype(int).T
        inside = (x >= 0) & (x < MASK_SIDE) & (y >= 0) & (y < MASK_SIDE)
        value: FloatArray = np.zeros(len(points))
        value[inside] = self.mask[y[inside], x[inside]] / 255
        return value


class Pyramid:
    """Image pyramid of a frame, against aliasing in small crops of large regions."""

    def __init__(self, frame: Image) -> None:
        self.levels: list[Image] = [frame]

    def crop(self, region: Region, size: int) -> Image:
        """Return the (size, size, 3) crop of ``region``; black outside the image."""
        # Bilinear sampling skips pixels of regions larger than twice the crop.
        level = max(0, int(np.floor(np.log2(max(region.side, 1.0) / size))))
        while len(self.levels) <= level:
            last = self.levels[-1]
            half = (max(1, last.shape[1] // 2), max(1, last.shape[0] // 2))
            self.levels.append(cv2.resize(last, half, interpolation=cv2.INTER_AREA))
        image = self.levels[level]
        shrink = np.array([image.shape[1], image.shape[0]]) / [self.levels[0].shape[1], self.levels[0].shape[0]]
        affine = region.to_image(size)
        affine[:, 2] += 0.5
        affine *= shrink[:, None]
        affine[:, 2] -= 0.5
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return cv2.warpAffine(image, affine, (size, size), flags=flags, borderMode=cv2.BORDER_CONSTANT)


class BlazePoseNetworks:
    """The two networks, loaded on first use.

    Args:
        detector: Path of the detector's ``.tflite``.
        landmarks: Path of the landmark network's ``.tflite``.
        threads: Threads per network; the results do not depend on it.
    """

    def __init__(self, detector: Path, landmarks: Path, threads: int = 2) -> None:
        self._paths = (detector, landmarks)
        self._threads = threads

    @cached_property
    def _networks(self) -> list[Any]:
        return [open_network(path, self._threads) for path in self._paths]

    def detect(self, frame: Pyramid, region: Region, threshold: float) -> Detections:
        """Find people in the (unrotated or rotated) square ``region`` of ``frame``."""
        crop = frame.crop(region, DETECTOR_SIDE)
        boxes, logits = _infer(self._networks[0], crop.astype(np.float32) / np.float32(127.5) - np.float32(1))
        scores = _sigmoid(np.clip(logits[0, :, 0].astype(np.float64), -SCORE_CLIP, SCORE_CLIP))
        keep = np.flatnonzero(scores >= threshold)
        raw = boxes[0, keep].astype(np.float64) / DETECTOR_SIDE
        centres = anchor_centres()[keep]
        points = raw[:, 4:].reshape(-1, 4, 2) + centres[:, None]
        middle, half = raw[:, :2] + centres, raw[:, 2:4] / 2
        merged = weighted_nms(scores[keep], np.hstack([middle - half, middle + half]), points)
        return Detections(merged.scores, region.to_pixels(merged.points, DETECTOR_SIDE))

    def landmarks(self, frame: Pyramid, region: Region) -> Landmarks:
        """Find the landmarks of the person in ``region`` of ``frame``."""
        crop = frame.crop(region, LANDMARK_SIDE)
        values, flag, mask, heatmap, _ = _infer(self._networks[1], crop.astype(np.float32) / np.float32(255))
        table = values.reshape(39, 5).astype(np.float64)
        xy, peak = refine(table[:, :2] / LANDMARK_SIDE, heatmap[0])
        placed = region.to_pixels(xy, LANDMARK_SIDE)
        small = cv2.resize(mask[0, :, :, 0], (MASK_SIDE, MASK_SIDE), interpolation=cv2.INTER_AREA)
        person = np.rint(255 * _sigmoid(np.asarray(small, np.float64))).astype(np.uint8)
        return Landmarks(placed, _sigmoid(table[:, 3]), peak, float(flag[0, 0]), person, region)


@cache
def anchor_centres() -> FloatArray:
    """Return (2254, 2) anchor centres x, y in 0..1, in the detector's output order."""
    rows = []
    for stride, repeats in ANCHOR_LAYOUT:
        cells = DETECTOR_SIDE // stride
        middle = (np.arange(cells) + 0.5) / cells
        y, x = np.meshgrid(middle, middle, indexing="ij")
        rows.append(np.repeat(np.stack([x, y], -1).reshape(-1, 2), repeats, axis=0))
    return np.concatenate(rows)


def weighted_nms(scores: FloatArray, boxes: FloatArray, points: FloatArray) -> Detections:
    """Merge detections with overlapping boxes (IoU > 0.3): the best score, and the score-weighted mean points."""
    order = np.argsort(-scores, kind="stable")
    best, merged_points = [], []
    while order.size:
        group = box_iou(boxes[order[0]], boxes[order]) > NMS_IOU
        group[0] = True
        members = order[group]
        weight = scores[members] / scores[members].sum()
        best.append(scores[order[0]])
        merged_points.append(np.tensordot(weight, points[members], axes=(0, 0)))
        order = order[~group]
    return Detections(np.array(best), np.array(merged_points).reshape(-1, 4, 2))


def box_iou(box: FloatArray, others: FloatArray) -> FloatArray:
    """Return (N,) intersection over union of one box (4,) with ``others`` (N, 4)."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=1)
    area = np.prod(others[:, 2:] - others[:, :2], axis=1) + np.prod(box[2:] - box[:2])
    union = area - shared
    return np.asarray(np.divide(shared, union, out=np.zeros_like(shared), where=union > 0))


def refine(xy: FloatArray, heatmap: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Move regressed landmarks to the local centre of mass of their heatmaps.

    Args:
        xy: (39, 2) in 0..1 of the crop.
        heatmap: (64, 64, 39) logits.

    Returns:
        Refined (39, 2) in 0..1, and (39,) the highest heatmap value in the window (0 outside the crop).
    """
    cells = heatmap.shape[0]
    reach = np.arange(-HEATMAP_WINDOW, HEATMAP_WINDOW + 1)
    x, y = np.floor(xy * cells).astype(int).T
    columns, rows = x[:, None] + reach, y[:, None] + reach
    seen = (x >= 0) & (x < cells) & (y >= 0) & (y < cells)
    across, down = (seen[:, None] & (at >= 0) & (at < cells) for at in (columns, rows))
    nearest = [np.clip(at, 0, cells - 1) for at in (rows, columns)]
    logits = heatmap[nearest[0][:, :, None], nearest[1][:, None], np.arange(len(xy))[:, None, None]]
    weight = np.where(down[:, :, None] & across[:, None], _sigmoid(logits.astype(np.float64)), 0.0)
    peak = weight.max(axis=(1, 2))
    trusted = peak >= HEATMAP_TRUST
    weight = weight[trusted] / weight[trusted].sum(axis=(1, 2), keepdims=True)
    refined = xy.copy()
    refined[trusted, 0] = (weight.sum(1) * columns[trusted]).sum(1) / cells
    refined[trusted, 1] = (weight.sum(2) * rows[trusted]).sum(1) / cells
    return refined, peak


def _infer(network: Any, crop: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    network.set_tensor(network.get_input_details()[0]["index"], crop[None])
    network.invoke()
    return [network.get_tensor(output["index"]) for output in network.get_output_details()]


def _sigmoid(value: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * value)))
