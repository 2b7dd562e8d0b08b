"""Views of a clip for the embedded classifier, and deep features of their frames (EfficientNet-lite0, LiteRT)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import cv2
import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.perception.embedded.litert import open_network
from vmmetrics.types import FloatArray, UInt8Array
from vmmetrics.utils.weights.manifest import weight_path

# Views: about two seconds each, at one size and frame rate for every clip.
#
# A clip of 720p at 30 frames per second and a GIF of 160 pixels at 8 are converted to the same :data:`SIDE` and to
# about :data:`PACE` frames per second before anything is measured, so that format does not influence the score. Up to
# :data:`MOST_VIEWS` no frame is dropped: a clip of k times that rate is split into k interleaved subsequences.

SIDE = 160
"""Side, pixels, of the squares that frames are resized to: that of small generated clips."""
PACE = 8.0
"""Frame rate of views, frames per second: the lowest of generated clips."""
LENGTH = 16
"""Frames per view, up to a quarter more in a single view: 2 s at that rate, the shortest generated clips."""
LEAST = 4
"""Least frames of a view: two changes of motion."""
MOST_VIEWS = 8
"""Most views per clip, spread over it: 9 s without a gap at the lowest frame rate."""


@dataclass(frozen=True, slots=True)
class Subsequence:
    """An evenly spaced subsequence of a clip's frames, and the views cut from it.

    Attributes:
        frames: Frame indices in the clip, ascending.
        views: First and last + 1 position in ``frames`` of each view, ascending.
    """

    frames: tuple[int, ...]
    views: tuple[tuple[int, int], ...]


def subsequences_of(clip: Clip) -> list[Subsequence]:
    """Return the interleaved subsequences of ``clip``; none where it has fewer than :data:`LEAST` frames.

    Overlapping views share a subsequence, so that no frame is measured twice.
    """
    stride = max(1, round(clip.fps / PACE))
    while stride > 1 and len(clip) // stride < LEAST:
        stride -= 1
    views: list[tuple[int, int, int]] = []  # offset of the subsequence, first, last + 1
    for offset in range(stride):
        length = len(range(offset, len(clip), stride))
        if length < LEAST:
            continue
        count = max(1, round(2 * length / LENGTH) - 1)  # half overlapping
        reach = LENGTH if count > 1 else length  # a single view takes the few remaining frames
        starts = np.linspace(0, length - reach, count).round().astype(int).tolist()
        views += [(offset, start, start + reach) for start in starts]
    if len(views) > MOST_VIEWS:
        views.sort(key=lambda view: (view[1], view[0]))
        views = [views[i] for i in np.linspace(0, len(views) - 1, MOST_VIEWS).round().astype(int)]
    return _joined(sorted(views), stride, len(clip))


def _joined(views: Sequence[tuple[int, int, int]], stride: int, num_frames: int) -> list[Subsequence]:
    """Group sorted views (offset, first, last + 1) into subsequences, overlapping views in one."""
    runs: list[list[tuple[int, int, int]]] = []
    for view in views:
        if runs and runs[-1][-1][0] == view[0] and view[1] < runs[-1][-1][2]:
            runs[-1].append(view)
        else:
            runs.append([view])
    subsequences = []
    for run in runs:
        first, last = run[0][1], run[-1][2]
        frames = tuple(range(run[0][0], num_frames, stride)[first:last])
        subsequences.append(Subsequence(frames, tuple((start - first, stop - first) for _, start, stop in run)))
    return subsequences


def pictures(frames: UInt8Array, subsequence: Subsequence) -> UInt8Array:
    """Return the frames of ``subsequence`` as (n, SIDE, SIDE, 3) uint8, area-averaged."""
    small = np.empty((len(subsequence.frames), SIDE, SIDE, 3), np.uint8)
    shrinking = min(frames.shape[1:3]) >= SIDE
    for image, index in zip(small, subsequence.frames, strict=True):
        interpolation = cv2.INTER_AREA if shrinking else cv2.INTER_LINEAR
        image[...] = cv2.resize(frames[index], (SIDE, SIDE), interpolation=interpolation)
    return small


WEIGHTS = "efficientnet-lite0-stages"
STRIDES = (8, 16, 32)
"""Pixels per cell of the three feature maps, 40, 112 and 320 channels deep."""


class Backbone:
    """Feature extractor, one frame at a time, so that no result depends on the other frames of a batch.

    Args:
        threads: Threads to use; None leaves it to LiteRT.
        path: The LiteRT file; None for the one that ships with the package.
    """

    def __init__(self, threads: int | None = None, path: Path | None = None) -> None:
        self._threads, self._path = threads, path
        self._lock = Lock()

    def features(self, images: UInt8Array) -> tuple[FloatArray, ...]:
        """Return a (n, rows, columns, channels) float32 map per stride of :data:`STRIDES`.

        Args:
            images: (n, SIDE, SIDE, 3) uint8 RGB.
        """
        with self._lock:
            network = self._network
            input_index = network.get_input_details()[0]["index"]
            outputs = sorted(network.get_output_details(), key=lambda d: -d["shape"][1])
            maps: list[list[FloatArray]] = [[] for _ in outputs]
            for image in images:
                network.set_tensor(input_index, image[None].astype(np.float32))
                network.invoke()
                for stage_maps, output in zip(maps, outputs, strict=True):
                    stage_maps.append(network.get_tensor(output["index"])[0].copy())
        return tuple(np.stack(stage_maps) for stage_maps in maps)

    @cached_property
    def _network(self) -> Any:
        return open_network(self._path or weight_path(WEIGHTS), self._threads)
