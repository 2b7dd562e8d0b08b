"""People and their keypoints as the released OIS finds them: RTMDet-m person, then RTMPose-m body7 on each box.

The model zoo's own checkpoints serve as sources: ``rtmdet_m_8xb32-100e_coco-obj365-person-235e8209.pth`` and
``rtmpose-m_simcc-body7_pt-body7_420e-256x192-e48f03d0_20230504.pth``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vmmetrics.perception.vmbench.ported import rtm_networks
from vmmetrics.perception.vmbench.ported.rtm_networks import POSE_INPUT, STRIDES, RTMDet, RTMPose, load_rtm
from vmmetrics.perception.vmbench.runtime import CachedModel, DeviceCache, in_batches, normalised, on_device
from vmmetrics.types import FloatArray, UInt8Array

# What stands before and after RTMDet and RTMPose, number for number as mmdet 3.3 and mmpose 1.3 do it.
#
# Single precision is kept wherever they have it: boxes decide by comparing.

Float32Array = NDArray[np.float32]

DETECTOR_SIDE = 640
"""Pixels: frames are fitted into a square of this side."""
PADDING = 114
"""Grey level of what is left of the square, at the right or below."""
DETECTOR_MEAN, DETECTOR_STD = (103.53, 116.28, 123.675), (57.375, 57.12, 58.395)
"""Of blue, green and red, in grey levels."""

CANDIDATE_SCORE, CANDIDATES = 0.05, 1000
"""Places of a grid count above this score, the best so many of each grid."""
DETECTOR_OVERLAP, MOST = 0.6, 100
"""Of two boxes that overlap more, the better is kept; of all, the best so many."""
PERSON_SCORE, PERSON_OVERLAP = 0.3, 0.3
"""The same afterwards, in VMBench's own call; areas then count pixels with both their ends."""

POSE_MEAN, POSE_STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
"""Of red, green and blue, in grey levels."""
BOX_PADDING = 1.25
"""A person's box is made larger by this factor, about its centre."""
MIRRORED = (0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15)
"""COCO keypoint that each becomes in a mirror."""


def letterboxed(frame: UInt8Array) -> tuple[UInt8Array, tuple[float, float]]:
    """Fit a frame into the detector's square.

    Args:
        frame: (H, W, 3) uint8.

    Returns:
        (640, 640, 3) uint8, the frame at the upper left; and the factors that x and y were multiplied by.
    """
    height, width = frame.shape[:2]
    factor = min(DETECTOR_SIDE / max(height, width), DETECTOR_SIDE / min(height, width))
    new_width, new_height = int(width * factor + 0.5), int(height * factor + 0.5)
    square = np.full((DETECTOR_SIDE, DETECTOR_SIDE, 3), PADDING, np.uint8)
    square[:new_height, :new_width] = cv2.resize(frame, (new_width, new_height), interpolation=cv2.INTER_LINEAR)
    return square, (new_width / width, new_height / height)


def detections(logits: Float32Array, sides: Float32Array, factors: tuple[float, float]) -> Float32Array:
    """Turn what the detector says of each place into boxes.

    Args:
        logits: (P,) float32, grid by grid, row by row.
        sides: (P, 4) float32, distances to the left, upper, right and lower side, in pixels of the square.
        factors: From :func:`letterboxed`.

    Returns:
        (N, 5) float32: x0, y0, x1, y1 in pixels of the frame and score, best first, N at most 100.
    """
    # mmdet clips to the square, not to the frame in it: boxes may lie in the padding, and do not when they matter
    scores = torch.from_numpy(logits).sigmoid().numpy()  # numpy's differs in the last bit, which may swap near ties
    chosen, start = [], 0
    for stride in STRIDES:
        count = (DETECTOR_SIDE // stride) ** 2
        of_grid = start + np.flatnonzero(scores[start : start + count] > CANDIDATE_SCORE)
        chosen.append(of_grid[np.argsort(-scores[of_grid], kind="stable")[:CANDIDATES]])
        start += count
    candidates = np.concatenate(chosen)
    steps = [np.arange(DETECTOR_SIDE // stride, dtype=np.float32) * np.float32(stride) for stride in STRIDES]
    centres = np.concatenate([np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2) for x in steps])[candidates]
    boxes = np.concatenate([centres - sides[candidates, :2], centres + sides[candidates, 2:]], axis=1)
    boxes = np.clip(boxes, np.float32(0), np.float32(DETECTOR_SIDE))
    boxes *= np.array([1 / factors[0], 1 / factors[1]] * 2, np.float32)
    solid = np.all(boxes[:, 2:] > boxes[:, :2], axis=1)
    rows = np.column_stack([boxes, scores[candidates]])[solid]
    order = np.argsort(-rows[:, 4], kind="stable")
    return rows[suppressed(rows, order, DETECTOR_OVERLAP, 0.0)][:MOST]


def persons(rows: Float32Array) -> Float32Array:
    """Keep VMBench's boxes of :func:`detections`, best first."""
    rows = rows[rows[:, 4] > PERSON_SCORE]
    return rows[suppressed(rows, rows[:, 4].argsort()[::-1], PERSON_OVERLAP, 1.0)]


def suppressed(boxes: Float32Array, order: NDArray[np.intp], overlap: float, pixel: float) -> NDArray[np.intp]:
    """Indices of the boxes that overlap none before them in ``order`` by more than ``overlap``.

    Args:
        boxes: (N, 4 or more), x0, y0, x1, y1 first.
        order: Best first.
        overlap: Area shared over area covered.
        pixel: Added to each width and height.
    """
    one = boxes.dtype.type(pixel)
    areas = (boxes[:, 2] - boxes[:, 0] + one) * (boxes[:, 3] - boxes[:, 1] + one)
    selected = []
    while len(order):
        best, rest = order[0], order[1:]
        selected.append(best)
        upper = np.maximum(boxes[best, :2], boxes[rest, :2])
        lower = np.minimum(boxes[best, 2:4], boxes[rest, 2:4])
        shared = np.maximum(lower - upper + one, 0).prod(axis=1)
        order = rest[shared / (areas[best] + areas[rest] - shared) <= overlap]
    return np.array(selected, np.intp)


def cut_out(frame: UInt8Array, box: Sequence[float] | FloatArray) -> tuple[UInt8Array, Float32Array, Float32Array]:
    """Take the picture that keypoints are found in out of a frame.

    Args:
        frame: (H, W, 3) uint8.
        box: x0, y0, x1, y1 in pixels.

    Returns:
        (256, 192, 3) uint8, black outside of the frame; centre (2,) and extent (2,) of it in the frame, float32.
    """
    corners = np.asarray(box, np.float32)
    centre = (corners[2:] + corners[:2]) * np.float32(0.5)
    extent = (corners[2:] - corners[:2]) * np.float32(BOX_PADDING)
    aspect = POSE_INPUT[0] / POSE_INPUT[1]
    width, height = extent[:1], extent[1:]
    extent = np.concatenate(
        [width, width / aspect] if width[0] > (height * aspect)[0] else [height * aspect, height]
    ).astype(np.float32)
    here = _anchors(centre.astype(np.float64), float(extent[0]))
    there = _anchors(np.array(POSE_INPUT) * 0.5, POSE_INPUT[0])
    matrix = cv2.getAffineTransform(here, there)
    picture = cv2.warpAffine(frame, matrix, POSE_INPUT, flags=cv2.INTER_LINEAR)
    return picture.astype(np.uint8, copy=False), centre, extent


def _anchors(centre: FloatArray, width: float) -> Float32Array:
    """(3, 2) float32: the centre, the middle of the left side, and a point a quarter turn from there."""
    points = np.zeros((3, 2), np.float32)
    points[0] = centre
    points[1] = centre + np.array([width * -0.5, 0.0])
    apart = points[0] - points[1]
    points[2] = points[1] + np.array([-apart[1], apart[0]], np.float32)
    return points


def with_mirrored(
    along: tuple[Float32Array, Float32Array], mirrored: tuple[Float32Array, Float32Array]
) -> tuple[Float32Array, Float32Array]:
    """Average scores along x and y with those of the mirrored picture, turned back.

    Args:
        along: (N, 17, 384) and (N, 17, 512) float32.
        mirrored: The same of the mirrored picture.
    """
    other = list(MIRRORED)
    half = np.float32(0.5)
    return (along[0] + mirrored[0][:, other, ::-1]) * half, (along[1] + mirrored[1][:, other]) * half


def peaks(
    along: tuple[Float32Array, Float32Array], centres: Float32Array, extents: Float32Array
) -> tuple[FloatArray, FloatArray]:
    """Keypoints from their scores along x and y.

    Args:
        along: (N, 17, 384) and (N, 17, 512) float32.
        centres: (N, 2) float32, from :func:`cut_out`.
        extents: (N, 2) float32, likewise.

    Returns:
        (N, 17, 2) float64 pixels of the frame, and (N, 17) float64: the smaller of the two highest scores, no
        probability. Where that is not above 0, the point lies half a pixel outside of the upper left corner.
    """
    best = np.stack([scores.argmax(axis=-1) for scores in along], axis=-1).astype(np.float32)
    score = np.minimum(along[0].max(axis=-1), along[1].max(axis=-1))
    best[score <= 0] = -1
    best /= np.float32(rtm_networks.BINS_PER_PIXEL)
    points = best / np.array(POSE_INPUT) * extents[:, None] + centres[:, None] - np.float32(0.5) * extents[:, None]
    return points.astype(np.float32).astype(np.float64), score.astype(np.float64)


DETECTOR_BATCH, POSE_BATCH = 16, 64
"""Frames, and boxes (each with its mirror image), at a time: enough to fill a GPU, below 2 GB of activations."""
_DETECTOR_BYTES, _POSE_BYTES = 24_700_000 * 4, 13_600_000 * 4


class RTMDetPersons:
    """RTMDet-m: boxes of people.

    Args:
        source: Checkpoint (``.pth``).
        cache: The device and the models that share it.
        size: Of the network in it.
    """

    def __init__(self, source: Path, cache: DeviceCache, size: rtm_networks.RTMSize = rtm_networks.MEDIUM) -> None:
        self._model = CachedModel(
            "RTMDet", lambda: load_rtm(source, RTMDet(size)).to(cache.device), _DETECTOR_BYTES, cache
        )

    def boxes(self, frames: UInt8Array) -> list[FloatArray]:
        """Return per frame of (T, H, W, 3) uint8 RGB (N, 5) float64: x0, y0, x1, y1 in pixels and score, best first.

        Raises:
            SetupError: The checkpoint is missing or wrong.
        """
        return in_batches(self._detect, list(frames), DETECTOR_BATCH, self._model)

    def _detect(self, frames: Sequence[UInt8Array]) -> list[FloatArray]:
        squares, factors = zip(*(letterboxed(frame) for frame in frames), strict=True)
        bgr = np.ascontiguousarray(np.stack(squares)[..., ::-1])
        logits, sides = _run(self._model, _normalised(bgr, DETECTOR_MEAN, DETECTOR_STD, self._model))
        answers = zip(logits, sides, factors, strict=True)
        return [persons(detections(*answer)).astype(np.float64) for answer in answers]


class RTMPoseKeypoints:
    """RTMPose-m: keypoints of people in boxes.

    Args:
        source: Checkpoint (``.pth``).
        cache: The device and the models that share it.
        size: Of the network in it.
    """

    def __init__(self, source: Path, cache: DeviceCache, size: rtm_networks.RTMSize = rtm_networks.MEDIUM) -> None:
        self._model = CachedModel(
            "RTMPose", lambda: load_rtm(source, RTMPose(size)).to(cache.device), _POSE_BYTES, cache
        )

    def in_frames(self, frames: UInt8Array, boxes: Sequence[FloatArray]) -> list[tuple[FloatArray, FloatArray]]:
        """Do :meth:`keypoints` for a clip, in larger batches.

        Args:
            frames: (T, H, W, 3) uint8 RGB.
            boxes: T times (N, 4 or more).
        """
        people = [(frame, box[:4]) for frame, of_frame in zip(frames, boxes, strict=True) for box in of_frame]
        estimates = iter(in_batches(self._estimate, people, POSE_BATCH, self._model))
        parts = [np.array(list(islice(estimates, len(of_frame)))).reshape(-1, 17, 3) for of_frame in boxes]
        return [(part[..., :2], part[..., 2]) for part in parts]

    def _estimate(self, people: Sequence[tuple[UInt8Array, FloatArray]]) -> list[FloatArray]:
        pictures, centres, extents = zip(*(cut_out(frame, box) for frame, box in people), strict=True)
        pixels = _normalised(np.stack(pictures), POSE_MEAN, POSE_STD, self._model)
        x, y = _run(self._model, torch.cat([pixels, pixels.flip(-1)]))
        half = len(people)
        along = with_mirrored((x[:half], y[:half]), (x[half:], y[half:]))
        points, scores = peaks(along, np.stack(centres), np.stack(extents))
        return list(np.concatenate([points, scores[..., None]], axis=-1))


def _normalised(pictures: UInt8Array, mean: Sequence[float], std: Sequence[float], model: CachedModel[Any]) -> Tensor:
    """(B, H, W, 3) uint8 to (B, 3, H, W) float32 on the network's device."""
    return normalised(on_device(pictures, model.cache.device).permute(0, 3, 1, 2).float(), mean, std)


def _run(model: CachedModel[Any], pixels: Tensor) -> tuple[Float32Array, Float32Array]:
    """Return the two raw answers of a network."""
    with torch.inference_mode():
        first, second = model.get()(pixels)
    return first.float().cpu().numpy(), second.float().cpu().numpy()
