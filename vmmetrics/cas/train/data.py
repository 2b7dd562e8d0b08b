"""Batches of training views: the order is a function of seed, epoch and position alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset

from vmmetrics.cas.labelled_clips import LabelledClip
from vmmetrics.cas.train.settings import Augmentation, TrainSettings
from vmmetrics.errors import ClipError
from vmmetrics.functional.cas import LEVELS
from vmmetrics.perception.views import ViewPlan, normalised, resize
from vmmetrics.types import FloatArray
from vmmetrics.video import read_clip

# Training views: a stretch of a clip, changed in space and colour by one draw for all of its frames.

ASPECT = 4 / 3
"""Largest ratio of sides of a crop, either way, before it is resized to a square."""
ERASED = (0.02, 0.2)
"""Share of the frame that is greyed out."""
LUMA = np.array([0.299, 0.587, 0.114], np.float32)
"""ITU-R BT.601."""


def training_view(
    frames: NDArray[np.uint8], plan: ViewPlan, change: Augmentation, draw: np.random.Generator
) -> FloatArray:
    """Cut a random view out of a clip.

    Args:
        frames: (T, H, W, 3) uint8 RGB.
        plan: Frames, rate and size of the view.
        change: What may be changed.
        draw: Where from.

    Returns:
        (3, frames, size, size) float32, normalised.
    """
    taken = frames[draw_stretch(len(frames), plan, draw)]
    top, left, height, width = draw_crop(frames.shape[1], frames.shape[2], (change.least_crop, 1), draw)
    crops = taken[:, top : top + height, left : left + width]
    view = np.stack([resize(np.ascontiguousarray(crop), (plan.size, plan.size)) for crop in crops])
    if draw.random() < change.flip:
        view = view[:, :, ::-1]
    view = change_colour(view, change.colour, draw)
    pixels = normalised(view)
    if draw.random() < change.erase:
        top, left, height, width = draw_crop(plan.size, plan.size, ERASED, draw)
        pixels[:, :, top : top + height, left : left + width] = 0  # ImageNet's mean, in every frame
    return pixels


def draw_stretch(num_frames: int, plan: ViewPlan, draw: np.random.Generator) -> NDArray[np.int64]:
    """Draw the frames of a view: every ``plan.rate``-th from a random one on; a clip too short repeats its last."""
    span = (plan.frames - 1) * plan.rate + 1
    room = num_frames - span
    start = draw.integers(0, room + 1) if room >= 0 else draw.integers(0, min(plan.rate, num_frames))
    taken = np.arange(start, num_frames, plan.rate)[: plan.frames]
    return np.concatenate([taken, np.full(plan.frames - len(taken), taken[-1])])


def draw_crop(
    height: int, width: int, shares: tuple[float, float], draw: np.random.Generator
) -> tuple[int, int, int, int]:
    """Draw a part nearly square, of a share of the largest square's area: top, left, height and width in pixels."""
    side = min(height, width) * np.sqrt(draw.uniform(*shares))
    stretch = np.sqrt(np.exp(draw.uniform(-np.log(ASPECT), np.log(ASPECT))))
    rows = int(np.clip(round(side * stretch), 1, height))
    columns = int(np.clip(round(side / stretch), 1, width))
    return int(draw.integers(0, height - rows + 1)), int(draw.integers(0, width - columns + 1)), rows, columns


def change_colour(view: NDArray[np.uint8], amount: float, draw: np.random.Generator) -> NDArray[np.uint8]:
    """Scale brightness, contrast and saturation of all frames by one factor each."""
    brightness, contrast, saturation = draw.uniform(1 - amount, 1 + amount, 3).astype(np.float32)
    pixels = view.astype(np.float32) * brightness
    grey = (pixels @ LUMA)[..., None]
    pixels = grey + (pixels - grey) * saturation
    middle = grey.mean()  # of the whole view: a mean per frame would hide flicker
    return np.asarray(np.clip(middle + (pixels - middle) * contrast, 0, 255).round(), np.uint8)


READERS = 4
"""Threads that decode clips before training; FFmpeg releases Python's lock."""

_ORDER, _VIEW = 1, 2  # keep the draws of order and views apart


def try_clips(clips: Sequence[LabelledClip], progress: Callable[[int, int], None]) -> dict[str, str]:
    """Decode every clip once, so that none fails in the middle of training; return why those that fail do, by name."""
    failed: dict[str, str] = {}

    def read(clip: LabelledClip) -> None:
        try:
            read_clip(clip.path)
        except ClipError as error:
            failed[clip.clip] = str(error)

    with ThreadPoolExecutor(READERS) as pool:
        for done, _ in enumerate(pool.map(read, clips), 1):
            progress(done, len(clips))
    return failed


def level_weights(clips: Sequence[LabelledClip], power: float) -> FloatArray:
    """Return (5,) weights of the levels' losses: 1 / count ** power, scaled so that the mean over clips is 1.

    A level without clips has weight 0.
    """
    counts = np.bincount([clip.level for clip in clips], minlength=len(LEVELS)).astype(np.float64)
    weights = np.divide(1.0, counts**power, out=np.zeros(len(LEVELS)), where=counts > 0)
    return np.asarray(weights * counts.sum() / (weights * counts).sum())


@dataclass(frozen=True, slots=True)
class Order:
    """Order of clips in training steps.

    Attributes:
        clips: Number of training clips.
        batch: Views per step and process.
        processes: Number of processes.
        seed: Of the order.
    """

    clips: int
    batch: int
    processes: int
    seed: int

    @property
    def steps(self) -> int:
        """Steps per epoch: what does not fill one is left for the next epoch's draw, unless it is all there is."""
        return max(1, self.clips // (self.batch * self.processes))

    def batches(self, epoch: int, first: int, rank: int) -> Iterator[list[tuple[int, int]]]:
        """Yield (epoch, clip) pairs of one process for the steps from ``first`` on.

        The processes share out one global batch, so that it is the same for any number of them.
        """
        whole = self.batch * self.processes
        permutation = np.random.default_rng([self.seed, _ORDER, epoch]).permutation(self.clips)
        permutation = np.resize(permutation, self.steps * whole)
        for step in range(first, self.steps):
            yield [
                (epoch, int(clip)) for clip in permutation[step * whole : (step + 1) * whole][rank :: self.processes]
            ]


class TrainingViews(Dataset):  # type: ignore[misc]
    """Views by (epoch, clip): the same pair gives the same view in any process."""

    def __init__(self, clips: Sequence[LabelledClip], plan: ViewPlan, settings: TrainSettings) -> None:
        self._clips, self._plan, self._settings = clips, plan, settings

    def __getitem__(self, index: tuple[int, int]) -> tuple[torch.Tensor, int]:
        """Return (3, T, size, size) float32 and the level."""
        clip = self._clips[index[1]]
        draw = np.random.default_rng([self._settings.seed, _VIEW, *index])
        view = training_view(read_clip(clip.path).frames, self._plan, self._settings.augmentation, draw)
        return torch.from_numpy(view), clip.level
