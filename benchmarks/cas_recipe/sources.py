"""What the ladder is made from: the train split of the footage, and renders of our own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from benchmarks.cas_recipe.fluids import render_fluid
from benchmarks.cas_recipe.renders import render
from benchmarks.footage import FOOTAGE, Recording, recordings
from vmmetrics.alignment.perturbations.frames import Frames
from vmmetrics.errors import SetupError

SHORT_SIDE = 270
"""Footage is kept at this short side: above that of every look, below what memory minds."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source of clean clips.

    Attributes:
        name: What folds are held out by.
        load: Returns its frames (T, H, W, 3) uint8 and their number per second.
        fluid: Whether it shows what keeps no shape: there melting and the like are no defect.
    """

    name: str
    load: Callable[[], tuple[Frames, float]]
    fluid: bool = False


def footage_sources(of_a_source: int) -> list[Source]:
    """Return the footage of the train split, at most ``of_a_source`` files of one source.

    Raises:
        SetupError: The footage is absent, or a file is not the one that was listed.
    """
    if not (FOOTAGE / "index.csv").is_file():
        raise SetupError(f"{FOOTAGE} has no index.csv: the weights are trained on the footage beside the checkout")
    sources: list[Source] = []
    for item in recordings("train"):
        if [source.name for source in sources].count(item.source) < of_a_source:
            if hashlib.sha256(item.path.read_bytes()).hexdigest() != item.sha256:
                raise SetupError(f"{item.file} is not the file that index.csv lists")
            sources.append(Source(item.source, _Footage(item)))
    return sources


def rendered_sources(renders: int, fluids: int) -> list[Source]:
    """Return that many renders of things, and of fluids."""
    things = [Source(f"render-{seed:02d}", _Render(seed)) for seed in range(renders)]
    return things + [Source(f"fluid-{seed:02d}", _Fluid(seed), fluid=True) for seed in range(fluids)]


@dataclass(frozen=True, slots=True)
class _Footage:
    item: Recording

    def __call__(self) -> tuple[Frames, float]:
        clip = self.item.read()
        height, width = clip.frames.shape[1:3]
        factor = min(1.0, SHORT_SIDE / min(height, width))
        size = round(width * factor), round(height * factor)
        small = [cv2.resize(frame, size, interpolation=cv2.INTER_AREA) for frame in clip.frames]
        return np.stack(small).astype(np.uint8), clip.fps


@dataclass(frozen=True, slots=True)
class _Render:
    seed: int

    def __call__(self) -> tuple[Frames, float]:
        return render(self.seed)


@dataclass(frozen=True, slots=True)
class _Fluid:
    seed: int

    def __call__(self) -> tuple[Frames, float]:
        return render_fluid(self.seed)
