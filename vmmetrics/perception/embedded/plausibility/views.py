"""Views of a clip for the embedded classifier, and deep features of their frames (EfficientNet-lite0, LiteRT)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any

import cv2
import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.functional.tcs import runs
from vmmetrics.perception.embedded.litert import open_network
from vmmetrics.types import FloatArray, IntArray, UInt8Array
from vmmetrics.utils.weights.manifest import weight_path

# Views: about two seconds each, at one size for every clip.
#
# A clip of 720p and a GIF of 160 pixels are converted to the same :data:`SIDE` before anything is measured, so that
# size does not influence the score. Frame rates up to :data:`MOST_PACE` are kept, as jumps show best between
# neighbouring frames, and the numbers are compared with what is usual at that rate; a clip of k times that rate is
# split into k interleaved subsequences. Frames that a conversion of the rate repeats are left out.

SIDE = 160
"""Side, pixels, of the squares that frames are resized to: that of small generated clips."""
MOST_PACE = 30.0
"""Usual highest frame rate of views, frames per second; a clip of about k times it is split into k subsequences."""
SECONDS = 2.0
"""Length of a view, up to a quarter more in a single one: the shortest generated clips."""
LEAST = 4
"""Least frames of a view: two changes of motion."""
MOST_FRAMES = 480
"""Most frames in the views of a clip, spread over it: 8 views at 30 frames per second."""
REPEATED_SHARE = 0.2
"""Least share of repeated frames that a conversion of the frame rate leaves: 24 to 30 per second."""
LONGEST_REPEAT = 3
"""Longest run of equal frames that one leaves; longer ones are freezes."""
SAME, SAME_BLOCK = 0.4, 3.0
"""Mean difference of two frames, and of their most different 256th, grey levels, up to which they are equal."""


@dataclass(frozen=True, slots=True)
class Subsequence:
    """An evenly spaced subsequence of a clip's frames, and the views cut from it.

    Attributes:
        frames: Frame indices in the clip, ascending.
        views: First and last + 1 position in ``frames`` of each view, ascending.
        pace: Frames per second.
    """

    frames: tuple[int, ...]
    views: tuple[tuple[int, int], ...]
    pace: float


def subsequences_of(clip: Clip) -> list[Subsequence]:
    """Return the interleaved subsequences of ``clip``; none where it has fewer than :data:`LEAST` frames.

    Overlapping views share a subsequence, so that no frame is measured twice.
    """
    shown = _shown(clip)
    pace = clip.fps * len(shown) / max(len(clip), 1)
    stride = max(1, round(pace / MOST_PACE))
    while stride > 1 and len(shown) // stride < LEAST:
        stride -= 1
    frames = max(LEAST, round(SECONDS * pace / stride))
    views: list[tuple[int, int, int]] = []  # offset of the subsequence, first, last + 1
    for offset in range(stride):
        length = len(range(offset, len(shown), stride))
        if length < LEAST:
            continue
        count = max(1, round(2 * length / frames) - 1)  # half overlapping
        reach = frames if count > 1 else length  # a single view takes the few remaining frames
        starts = np.linspace(0, length - reach, count).round().astype(int).tolist()
        views += [(offset, start, start + reach) for start in starts]
    most = max(1, MOST_FRAMES // frames)
    if len(views) > most:
        views.sort(key=lambda view: (view[1], view[0]))
        views = [views[int((i + 0.5) * len(views) / most)] for i in range(most)]
    return _joined(sorted(views), stride, shown, pace)


def _shown(clip: Clip) -> list[int]:
    """Return the indices of the frames of ``clip`` without those that a conversion of the frame rate repeats."""
    everything = list(range(len(clip)))
    if len(clip) < 2 * LEAST:
        return everything
    small = (cv2.resize(frame, (64, 64), interpolation=cv2.INTER_AREA).astype(np.int16) for frame in clip.frames)
    same = np.array([False, *(_is_same(a, b) for a, b in pairwise(small))])
    longest = max((stop - start for start, stop in runs(same)), default=0)
    if same.mean() < REPEATED_SHARE or longest >= LONGEST_REPEAT:
        return everything
    return np.flatnonzero(~same).tolist()


def _is_same(first: IntArray, second: IntArray) -> bool:
    """Return True if two frames (64, 64, 3) are equal but for coding, also where only something small moves."""
    change = np.abs(first - second).mean(-1)
    blocks = change.reshape(16, 4, 16, 4).mean((1, 3))
    return bool(change.mean() < SAME and blocks.max() < SAME_BLOCK)


def _joined(views: Sequence[tuple[int, int, int]], stride: int, shown: list[int], pace: float) -> list[Subsequence]:
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
        frames = tuple(shown[run[0][0] :: stride][first:last])
        spans = tuple((start - first, stop - first) for _, start, stop in run)
        subsequences.append(Subsequence(frames, spans, pace / stride))
    return subsequences


def pictures(frames: UInt8Array, indices: Sequence[int]) -> UInt8Array:
    """Return the frames of those ``indices`` as (n, SIDE, SIDE, 3) uint8, area-averaged."""
    small = np.empty((len(indices), SIDE, SIDE, 3), np.uint8)
    shrinking = min(frames.shape[1:3]) >= SIDE
    for image, index in zip(small, indices, strict=True):
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
