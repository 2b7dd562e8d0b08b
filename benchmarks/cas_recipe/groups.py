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
from benchmarks.cas_recipe.ladder import Look, cut_window, draw_look, members
from benchmarks.cas_recipe.sources import Source
from vmmetrics.alignment.perturbations.frames import Frames
from vmmetrics.clip import Clip
from vmmetrics.perception.embedded.plausibility.evidence import gather
from vmmetrics.perception.embedded.plausibility.plausibility import summarise
from vmmetrics.perception.embedded.plausibility.views import Backbone, pictures, subsequences_of
from vmmetrics.types import FloatArray

SEED = 11
WINDOWS = 3
"""Windows of each file; of a source with several files, every other window has none of its own."""
FILES = 4
"""Most files of one source."""
SHORT = 24
"""Frames below which a file is not shown faster."""
LEAST_CLIP, LEAST_MEMBER = 8, 6
"""Least frames of a window, and of a member of its group."""
QUICKER = (2.0, 6.0)
"""How many times as fast the quick clip of a group is, at least and at most: half a minute in a few seconds."""
_STEP_OF_STARTS, _JITTER = 0.37, 0.25  # of the source; windows of a source lie far apart
_QUICKER_SEED = 7


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
        window: Number of the window in its source.
    """

    number: int
    source: Source
    window: int

    @property
    def file(self) -> str:
        """Name of the file that keeps its numbers."""
        return f"group-{self.number:05d}.npz"


def plan(files: Sequence[Source], rendered: Sequence[Source]) -> list[Group]:
    """Return the groups: :data:`WINDOWS` of each file, and one of each rendered source."""
    things, fluids = ([source for source in rendered if source.fluid == fluid] for fluid in (False, True))
    groups = [Group(200 + index, source, 0) for index, source in enumerate(things)]
    groups += [Group(300 + index, source, 0) for index, source in enumerate(fluids)]
    several = {source.name for source in files if [other.name for other in files].count(source.name) > 1}
    for window in range(WINDOWS):
        for index, source in enumerate(files):
            if not (window % 2 and source.name in several):
                groups.append(Group(1000 * window + index, source, window))
    return sorted(groups, key=lambda group: group.number)


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
    rng = np.random.default_rng([SEED, group.number])
    look = draw_look(rng)
    start = float((_STEP_OF_STARTS * group.window + rng.uniform(0, _JITTER)) % 1)
    if len(frames) < SHORT:
        look = replace(look, fps=fps, speed=1.0)
    clean = cut_window(frames, fps, look, start)
    if len(clean) < LEAST_CLIP:
        look = replace(look, speed=1.0)
        clean = cut_window(frames, fps, look, start)
    made = members(group.number, group.source, clean, look, _beside(group.number, frames, fps, look, start), rng)
    rows = [
        (measure_clip(member.frames, member.fps, network), member.kind, member.severity)
        for member in made
        if len(member.frames) >= LEAST_MEMBER
    ]
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


def _beside(number: int, frames: Frames, fps: float, look: Look, start: float) -> Beside:
    # Another part of the same footage, upside down and its colours exchanged, stands in for another shot.
    other = cut_window(frames, fps, look, (start + 0.5) % 1)[:, ::-1, :, ::-1]
    low, high = np.log(QUICKER)
    factor = float(np.exp(np.random.default_rng([_QUICKER_SEED, number, 1]).uniform(low, high)))
    quick = cut_window(frames, fps, replace(look, speed=factor * look.speed), start)
    fine = cut_window(frames, fps, replace(look, fps=FINER * look.fps), start)
    return Beside(other, quick, fine)


def measure_clip(frames: Frames, fps: float, network: Backbone) -> FloatArray:
    """Return the numbers of the first view of a ladder clip; its others show the same between its frames."""
    return measure_views(Clip(np.ascontiguousarray(frames), np.arange(len(frames)) / fps, fps), network, most=1)[0]


def measure_views(clip: Clip, network: Backbone, most: int | None = None) -> FloatArray:
    """Return (V, F), the numbers of the views of a clip, or of the first ``most``."""
    rows: list[FloatArray] = []
    for subsequence in subsequences_of(clip):
        images = pictures(clip.frames, subsequence.frames)
        evidence = gather(images, network.features(images), subsequence.pace)
        for view in subsequence.views:
            rows.append(summarise(evidence, *view, subsequence.pace))
            if len(rows) == most:
                return np.stack(rows)
    return np.stack(rows)


@lru_cache(maxsize=1)
def _network(path: Path | None) -> Backbone:
    return Backbone(threads=1, path=path)


@lru_cache(maxsize=3)
def _loaded(source: Source) -> tuple[Frames, float]:
    return source.load()
