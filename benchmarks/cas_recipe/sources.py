"""What the ladder is made from: the footage listed in ``sources.toml``, and renders of our own."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from benchmarks.cas_recipe.fluids import render_fluid
from benchmarks.cas_recipe.renders import render
from vmmetrics.alignment.perturbations.frames import Frames
from vmmetrics.errors import SetupError
from vmmetrics.video import read_clip

LIST = Path(__file__).with_name("sources.toml")
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


def listed_sources(footage: Path, renders: int, fluids: int = 0) -> list[Source]:
    """Return the listed footage in ``footage``, that many renders, and that many renders of fluids.

    Raises:
        SetupError: A file is missing or is not the one that was listed.
    """
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["sources"]
    for entry in entries:
        path = footage / entry["file"]
        if not path.is_file():
            raise SetupError(f"{path} is missing; it comes from {entry['url']}")
        if hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
            raise SetupError(f"{path} is not the file that {LIST.name} lists")
    real = [Source(entry["name"], _Footage(footage / entry["file"])) for entry in entries]
    rendered = [Source(f"render-{seed:02d}", _Render(seed)) for seed in range(renders)]
    flowing = [Source(f"fluid-{seed:02d}", _Fluid(seed), fluid=True) for seed in range(fluids)]
    return real + rendered + flowing


@dataclass(frozen=True, slots=True)
class _Footage:
    path: Path

    def __call__(self) -> tuple[Frames, float]:
        clip = read_clip(self.path)
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
