"""Batches of training views: which clip stands where is a function of seed, epoch and place alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from vmmetrics.cas.labelled_clips import LabelledClip
from vmmetrics.cas.train_settings import TrainSettings
from vmmetrics.cas.training.augment import training_view
from vmmetrics.errors import ClipError
from vmmetrics.functional.commonsense_adherence import LEVELS
from vmmetrics.perception.views import ViewPlan
from vmmetrics.types import FloatArray
from vmmetrics.video import read_clip

READERS = 4
"""Threads that try the clips before training; FFmpeg decodes outside Python's lock."""

_ORDER, _VIEW = 1, 2  # keep the draws of order and views apart


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A clip that is left out, and why."""

    clip: str
    reason: str


def try_clips(clips: Sequence[LabelledClip], progress: Callable[[int, int], None]) -> list[Unreadable]:
    """Decode every clip once, so that none fails in the middle of training."""
    failed = []
    with ThreadPoolExecutor(READERS) as pool:
        for done, (clip, reason) in enumerate(zip(clips, pool.map(_reason, clips), strict=True), 1):
            if reason is not None:
                failed.append(Unreadable(clip.clip, reason))
            progress(done, len(clips))
    return failed


def _reason(clip: LabelledClip) -> str | None:
    try:
        read_clip(clip.path)
    except ClipError as error:
        return str(error)
    return None


def level_weights(clips: Sequence[LabelledClip], power: float) -> FloatArray:
    """(5,) weights of the levels' losses: 1 / count ** power, scaled so that the mean over clips is 1.

    A level without clips has weight 0.
    """
    counts = np.bincount([clip.level for clip in clips], minlength=len(LEVELS)).astype(np.float64)
    weights = np.divide(1.0, counts**power, out=np.zeros(len(LEVELS)), where=counts > 0)
    return np.asarray(weights * counts.sum() / (weights * counts).sum())


@dataclass(frozen=True, slots=True)
class Order:
    """Which clips make up which step.

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
        """(epoch, clip) pairs of one process for the steps from ``first`` on.

        The processes share out one global batch, so that it is the same for any number of them.
        """
        places = np.random.default_rng([self.seed, _ORDER, epoch]).permutation(self.clips)
        whole = self.batch * self.processes
        places = np.resize(places, self.steps * whole)
        for step in range(first, self.steps):
            yield [(epoch, int(place)) for place in places[step * whole : (step + 1) * whole][rank :: self.processes]]


class TrainingViews(Dataset):  # type: ignore[misc]
    """Views by (epoch, clip): the same pair gives the same view in any process."""

    def __init__(self, clips: Sequence[LabelledClip], plan: ViewPlan, settings: TrainSettings) -> None:
        self._clips = clips
        self._plan = plan
        self._settings = settings

    def __getitem__(self, place: tuple[int, int]) -> tuple[torch.Tensor, int]:
        """(3, T, size, size) float32 and the level."""
        epoch, number = place
        clip = self._clips[number]
        draw = np.random.default_rng([self._settings.seed, _VIEW, epoch, number])
        frames = read_clip(clip.path).frames
        view = training_view(frames, self._plan, self._settings.augmentation, draw)
        return torch.from_numpy(view), clip.level


def load_batches(
    views: TrainingViews, batches: Iterator[list[tuple[int, int]]], workers: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Batches in order, made ahead by ``workers`` processes (0: in this one)."""
    loader = DataLoader(views, batch_sampler=list(batches), num_workers=workers, pin_memory=torch.cuda.is_available())
    yield from loader
