"""From sources to numbers: every group of the ladder measured once, in parallel, and kept in a file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.cas_recipe.harmless import FINER, Beside
from benchmarks.cas_recipe.ladder import DEFECTS, LOOKS, Look, cut_window, draw_look, members
from benchmarks.cas_recipe.sources import Source
from vmmetrics.alignment.perturbations.frames import Frames
from vmmetrics.clip import Clip
from vmmetrics.perception.embedded.plausibility.evidence import PlausibilityEvidence, gather
from vmmetrics.perception.embedded.plausibility.plausibility import summarise
from vmmetrics.perception.embedded.plausibility.views import Backbone, pictures, subsequences_of
from vmmetrics.types import FloatArray

SEED = 7
SAMPLES_FROM = 10
"""Number, within its source, that the first sampled group comes after."""
LEVELS_DRAWN = 9
"""Rungs in a sampled group, beside the clean clips."""
FLUID_DEFECTS = ("interleave", "flicker", "freeze_jump", "shuffle")
"""What is a defect even of fire and water: what is done to all of the picture, or to its order."""
FLUID_LEVELS_DRAWN = 4
"""Rungs in the one group that a fluid has: it is there for its clean clips."""
QUICKER = (2.0, 6.0)
"""How many times as fast the quick clip of a group is, at least and at most: half a minute in a few seconds."""
_STEP_OF_LOOKS = 3  # prime to the number of looks: the sources go through all of them
_STEP_OF_STARTS = 0.37  # of the source; windows of a source lie far apart


@dataclass(frozen=True, slots=True)
class Table:
    """Measured clips of the ladder, one row each.

    Attributes:
        numbers: (N, F) what the summary gave.
        groups: (N,) number of the group.
        sources: (N,) name of the source.
        kinds: (N,) defect or kind of clean clip.
        rungs: (N,) 0 for clean, else 1..4.
    """

    numbers: FloatArray
    groups: NDArray[np.int64]
    sources: NDArray[np.str_]
    kinds: NDArray[np.str_]
    rungs: NDArray[np.int64]

    def take(self, chosen: NDArray[np.bool_]) -> Table:
        """Return the rows that are ``chosen``."""
        return Table(*(getattr(self, name)[chosen] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Group:
    """One group to measure.

    Attributes:
        number: Of the group; decides everything random.
        source: Where it comes from.
        look: Size, rate, speed, palette, compression.
        start: Where in the source its window lies, 0..1.
        drawn: How many rungs it has; None for all of every defect.
    """

    number: int
    source: Source
    look: Look
    start: float
    drawn: int | None

    @property
    def file(self) -> str:
        """Name of the file that keeps its numbers."""
        return f"group-{self.number:04d}.npz"


def plan(sources: Sequence[Source], samples: int) -> list[Group]:
    """Return the groups of each source: a whole ladder first, then ``samples`` groups with some rungs of it.

    The whole ones show how well the order is kept; the others show the classifier more places, looks and speeds. A
    fluid has one group, with a few rungs.
    """
    groups = []
    for window in range(samples + 1):
        for index, source in enumerate(sources):
            number = 100 * index + (window + SAMPLES_FROM if window else 0)
            rng = np.random.default_rng([SEED, number])
            jitter = float(rng.uniform(0, 0.2))
            look = draw_look(rng) if window else LOOKS[_STEP_OF_LOOKS * index % len(LOOKS)]
            start = 0.8 * (_STEP_OF_STARTS * window % 1) + jitter
            if not source.fluid:
                groups.append(Group(number, source, look, start, LEVELS_DRAWN if window else None))
            elif not window:
                groups.append(Group(number, source, look, start, FLUID_LEVELS_DRAWN))
    return groups


def measure_groups(groups: Sequence[Group], backbone: Path | None, folder: Path, processes: int) -> Table:
    """Measure every group that is not in the folder ``folder`` yet, and return all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [group for group in groups if not (folder / group.file).is_file()]
    with ProcessPoolExecutor(max_workers=processes) as pool:
        for done in [pool.submit(measure_group, group, backbone, folder) for group in missing]:
            done.result()
    return read_groups([folder / group.file for group in groups])


def read_groups(files: Sequence[Path]) -> Table:
    """Return the rows of all ``files``."""
    parts = []
    for file in files:
        with np.load(file) as stored:
            parts.append({name: stored[name] for name in Table.__slots__})
    return Table(*(np.concatenate([part[name] for part in parts]) for name in Table.__slots__))


def measure_group(group: Group, backbone: Path | None, folder: Path) -> None:
    """Make a group of the ladder and write its numbers."""
    network = _network(backbone)
    frames, fps = _loaded(group.source)
    look = group.look
    clean = cut_window(frames, fps, look, group.start)
    beside = _beside(group, frames, fps)
    defects = FLUID_DEFECTS if group.source.fluid else DEFECTS
    made = members(group.number, group.source.name, clean, look, beside, group.number, group.drawn, defects)
    rows = [(measure_clip(member.frames, member.fps, network), member.kind, member.severity) for member in made]
    numbers, kinds, severities = zip(*rows, strict=True)
    table = Table(
        np.stack(numbers),
        np.full(len(rows), group.number),
        np.full(len(rows), group.source.name),
        np.array(kinds),
        np.array(severities),
    )
    partial = folder / f"{group.file}.part.npz"
    np.savez_compressed(partial, **{name: getattr(table, name) for name in Table.__slots__})
    partial.replace(folder / group.file)


def _beside(group: Group, frames: Frames, fps: float) -> Beside:
    look = group.look
    # Another part of the same footage, upside down and its colours exchanged, stands in for another shot.
    other = cut_window(frames, fps, look, (group.start + 0.5) % 1)[:, ::-1, :, ::-1]
    low, high = np.log(QUICKER)
    factor = float(np.exp(np.random.default_rng([SEED, group.number, 1]).uniform(low, high)))
    quick = cut_window(frames, fps, replace(look, speed=factor * look.speed), group.start)
    fine = cut_window(frames, fps, replace(look, fps=FINER * look.fps), group.start)
    return Beside(other, quick, fine)


def measure_clip(frames: Frames, fps: float, network: Backbone) -> FloatArray:
    """Return the numbers of the first view of a ladder clip; its others show the same between its frames."""
    clip = Clip(np.ascontiguousarray(frames), np.arange(len(frames)) / fps, fps)
    subsequence = subsequences_of(clip)[0]
    return summarise(gathered(clip, network), *subsequence.views[0])


def gathered(clip: Clip, network: Backbone) -> PlausibilityEvidence:
    """Return the evidence in the first strand of ``clip``."""
    images = pictures(clip.frames, subsequences_of(clip)[0])
    return gather(images, network.features(images))


@lru_cache(maxsize=1)
def _network(path: Path | None) -> Backbone:
    return Backbone(threads=1, path=path)


@lru_cache(maxsize=3)
def _loaded(source: Source) -> tuple[Frames, float]:
    return source.load()
