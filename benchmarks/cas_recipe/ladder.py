"""The ladder: clean clips and, of each, rungs of implausible motion whose level is known because we made them.

A *group* is one window of one source in one look (size, frame rate, playing speed, palette, compression). It holds the
clean clip (Perfect), harmless changes of it (also Perfect: cuts, a zoom, a fade, a quicker pace, shake, compression),
and defects at one rung each (Good down to Bad). All members of a group show the same content in the same look, so that
only what was done to the motion tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.cas_recipe.harmless import HARMLESS, Beside, recorded
from benchmarks.cas_recipe.sources import Source
from vmmetrics.alignment.perturbations.frames import SEVERITY_LEVELS, TIMINGS, Frames
from vmmetrics.alignment.perturbations.motion import MOTIONS

SECONDS = 2.0
"""Length of a ladder clip: one view."""
CLEAN = "clean"
PERFECT = 4
"""Index of the level of clean clips; rung r has ``PERFECT - r``."""
DEFECTS = (
    "limb_bend", "object_warp", "teleport", "melt", "reversal", "loop", "double", "interleave", "fall_up",
    "upside_down", "flicker", "boil", "wobble", "merge", "freeze_jump", "morph", "shuffle",
)  # fmt: skip
"""The defects of the ladder, of :mod:`vmmetrics.alignment.perturbations`; the place in this list seeds each."""
FLUID_DEFECTS = ("interleave", "flicker", "freeze_jump", "shuffle")
"""What is a defect even of fire and water: what is done to all of the frame, or to its order."""
DRAWN, FLUID_DRAWN = 13, 5
"""Most rungs in a group, each of another defect."""
HARMLESS_DRAWN, FLUID_HARMLESS_DRAWN, RECORDED_DRAWN = 6, 4, 2
"""Harmless changes in a group."""
RUNG_CHANCE = {1: 0.35, 2: 1.0, 3: 0.7, 4: 1.0}
"""Chance of a rung to be taken where it is drawn: the lowest is hardly visible."""
LEAST_MOTION = 3.0
"""Mean grey-level change a frame from which on defects of time alone can be seen at all."""


@dataclass(frozen=True, slots=True)
class Look:
    """The format of a group.

    Attributes:
        short_side: Of the frames, pixels. 720p clips are made at 256, still well above what views are taken at.
        fps: Frames per second.
        speed: Seconds of the source per second of the clip.
        colours: Of a GIF palette, dithered, or None.
        jpeg: Quality of the compression of each frame, or None.
    """

    short_side: int
    fps: float
    speed: float
    colours: int | None = None
    jpeg: int | None = None


def draw_look(rng: np.random.Generator) -> Look:
    """Draw a look: any size, 8 to 30 frames per second, up to 3.5 times as fast, GIF or compressed or neither."""
    short_side = int(rng.integers(112, 300))
    fps = float(rng.choice([8.0, 8.0, 12.0, 16.0, 24.0, 24.0, 30.0, 30.0]))
    speed = float(np.exp(rng.uniform(np.log(0.8), np.log(3.5))))
    kind = rng.random()
    colours = 256 if kind < 0.25 else None
    jpeg = int(rng.integers(35, 91)) if kind > 0.6 else None
    return Look(short_side, fps, speed, colours, jpeg)


@dataclass(frozen=True, slots=True)
class Member:
    """One clip of a group.

    Attributes:
        group: Number of the group.
        source: Name of the source, by which folds are held out.
        kind: Defect, ``"clean"``, or ``"clean: "`` and the harmless change.
        severity: 0 for clean, else 1..:data:`SEVERITY_LEVELS`.
        frames: The clip.
        fps: Frames per second.
    """

    group: int
    source: str
    kind: str
    severity: int
    frames: Frames
    fps: float

    @property
    def level(self) -> int:
        """0 (Bad) to 4 (Perfect)."""
        return PERFECT - self.severity


def cut_window(frames: Frames, fps: float, look: Look, start: float) -> Frames:
    """Return a window of a source in the size, rate and speed of ``look``, ``start`` (0..1) of the way through it."""
    count = round(SECONDS * look.fps)
    step = max(1, round(fps * look.speed / look.fps))
    while step > 1 and (count - 1) * step >= len(frames):
        step -= 1
    count = min(count, (len(frames) - 1) // step + 1)
    first = round(start * (len(frames) - 1 - (count - 1) * step))
    height, width = frames.shape[1:3]
    factor = look.short_side / min(height, width)
    size = round(width * factor), round(height * factor)
    interpolation = cv2.INTER_AREA if factor <= 1 else cv2.INTER_CUBIC
    chosen = frames[first : first + (count - 1) * step + 1 : step]
    return np.stack([np.asarray(cv2.resize(f, size, interpolation=interpolation), np.uint8) for f in chosen])


def members(
    group: int, source: Source, clean: Frames, look: Look, beside: Beside, rng: np.random.Generator
) -> Iterator[Member]:
    """Yield the members of a group.

    Args:
        group: Number of the group.
        source: Its source; of a fluid, fewer defects count.
        clean: Frames (T, H, W, 3) of the window in the size and rate of ``look``.
        look: The look; palette and compression are applied to every member alike, after the defect.
        beside: Other footage in the same look, for harmless changes.
        rng: Draws the rungs and the changes.
    """

    def member(kind: str, severity: int, frames: Frames) -> Member:
        return Member(group, source.name, kind, severity, _store(frames, look), look.fps)

    rungs = _drawn_rungs(clean, source.fluid, rng)
    changes = list(HARMLESS.items())
    count = FLUID_HARMLESS_DRAWN if source.fluid else HARMLESS_DRAWN
    drawn = [changes[i] for i in rng.permutation(len(changes))[:count]]
    recordings = list(recorded(clean, look.fps, rng).items())
    recordings = [recordings[i] for i in rng.permutation(len(recordings))[:RECORDED_DRAWN]]
    yield member(CLEAN, 0, clean)
    for number, (name, change) in enumerate(drawn):
        yield member(f"{CLEAN}: {name}", 0, change(clean, beside, np.random.default_rng([group, 1000 + number])))
    for name, frames in recordings:
        yield member(f"{CLEAN}: {name}", 0, frames)
    for name, severity in rungs:
        seeded = np.random.default_rng([group, DEFECTS.index(name)])
        yield member(name, severity, inject(name, clean, severity, look.fps, seeded))


def _drawn_rungs(clean: Frames, fluid: bool, rng: np.random.Generator) -> list[tuple[str, int]]:
    """Return the defects of a group, each at one rung; those of time alone only where something moves."""
    motion = float(np.abs(np.diff(clean.astype(np.int16), axis=0)).mean())
    visible = [n for n in (FLUID_DEFECTS if fluid else DEFECTS) if n not in TIMINGS or motion >= LEAST_MOTION]
    rungs = [(name, severity) for name in visible for severity in range(1, SEVERITY_LEVELS + 1)]
    drawn: dict[str, int] = {}
    for index in rng.permutation(len(rungs)):
        name, severity = rungs[index]
        if rng.random() < RUNG_CHANCE[severity] and name not in drawn:
            drawn[name] = severity
    return list(drawn.items())[: FLUID_DRAWN if fluid else DRAWN]


def inject(name: str, frames: Frames, severity: int, fps: float, rng: np.random.Generator) -> Frames:
    """Return ``frames`` with the defect ``name`` at ``severity`` (1..:data:`SEVERITY_LEVELS`)."""
    strength = severity / SEVERITY_LEVELS
    if name in TIMINGS:
        return np.asarray(frames[TIMINGS[name](len(frames), strength, fps, rng)])
    return MOTIONS[name](frames, strength, fps, rng)


def _store(frames: Frames, look: Look) -> Frames:
    """Return ``frames`` after the palette and compression of ``look``."""
    stored = frames
    if look.jpeg is not None:
        quality = [cv2.IMWRITE_JPEG_QUALITY, look.jpeg]
        coded = [cv2.imencode(".jpg", f, quality)[1] for f in stored]
        stored = np.stack([np.asarray(cv2.imdecode(c, cv2.IMREAD_COLOR), np.uint8) for c in coded])
    if look.colours is not None:
        stored = np.stack([with_palette(f, look.colours) for f in stored])
    return stored


def with_palette(frame: NDArray[np.uint8], colours: int) -> NDArray[np.uint8]:
    """Return a frame (H, W, 3) in a palette of its own, dithered."""
    image = Image.fromarray(frame).quantize(colours, dither=Image.Dither.FLOYDSTEINBERG)
    return np.asarray(image.convert("RGB"))
