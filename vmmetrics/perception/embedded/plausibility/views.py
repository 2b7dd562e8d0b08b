"""What frames show, as deep features: the first stages of EfficientNet-lite0, trained on ImageNet, through LiteRT."""

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

# The views a clip is judged by: about two seconds each, at one size and one pace whatever the clip's own.
#
# A clip of 720p at 30 frames a second and a GIF of 160 pixels at 8 are brought to the same :data:`SIDE` and to about
# :data:`PACE` frames a second before anything is measured, so that format says nothing about the motion. Up to
# :data:`MOST_VIEWS` no frame is lost by it: a clip of k times that pace is read as k interlaced strands.

SIDE = 160
"""Pixels of the square that frames are brought to: what small generated clips have."""
PACE = 8.0
"""Frames per second that views are taken at: the lowest pace at which generated clips come."""
LENGTH = 16
"""Frames per view, up to a quarter more where there is but one: 2 s at that pace, the shortest clips of generators."""
LEAST = 4
"""Frames that a view needs: two changes of motion."""
MOST_VIEWS = 8
"""Views per clip at most, spread over it: enough for 9 s without a gap at the lowest pace."""


@dataclass(frozen=True, slots=True)
class Subsequence:
    """Frames at an even pace, and the views cut from them.

    Attributes:
        frames: Indices of the clip's frames, ascending.
        views: First and last + 1 position in ``frames`` of each view, ascending.
    """

    frames: tuple[int, ...]
    views: tuple[tuple[int, int], ...]


def subsequences_of(clip: Clip) -> list[Subsequence]:
    """Return what ``clip`` is judged by; nothing where it has fewer than :data:`LEAST` frames.

    Views of a strand that overlap share it, so that no frame of it is measured twice.
    """
    stride = max(1, round(clip.fps / PACE))
    while stride > 1 and len(clip) // stride < LEAST:
        stride -= 1
    views: list[tuple[int, int, int]] = []  # offset of the strand, first, last + 1
    for offset in range(stride):
        length = len(range(offset, len(clip), stride))
        if length < LEAST:
            continue
        count = max(1, round(2 * length / LENGTH) - 1)  # half overlapping
        reach = LENGTH if count > 1 else length  # one view takes the few frames that are over
        starts = np.linspace(0, length - reach, count).round().astype(int).tolist()
        views += [(offset, start, start + reach) for start in starts]
    if len(views) > MOST_VIEWS:
        views.sort(key=lambda view: (view[1], view[0]))
        views = [views[i] for i in np.linspace(0, len(views) - 1, MOST_VIEWS).round().astype(int)]
    return _joined(sorted(views), stride, len(clip))


def _joined(views: Sequence[tuple[int, int, int]], stride: int, num_frames: int) -> list[Subsequence]:
    """Return views (offset, first, last + 1), sorted, as strands; those that overlap in one."""
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
    """Frames to feature maps, one frame at a time so that no answer depends on its neighbours in a batch.

    Args:
        threads: Threads to use; None leaves it to LiteRT.
        path: The LiteRT file; None takes the one that ships.
    """

    def __init__(self, threads: int | None = None, path: Path | None = None) -> None:
        self._threads, self._path = threads, path
        self._lock = Lock()

    def features(self, images: UInt8Array) -> tuple[FloatArray, ...]:
        """Return per stride of :data:`STRIDES` a (n, rows, columns, channels) float32 map.

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
