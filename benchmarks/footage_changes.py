"""Changes of a window of footage before it is scored: defects, moved stills, and what should not matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import cv2
import numpy as np

from benchmarks.cas_recipe.ladder import CLEAN, inject, with_palette
from benchmarks.cas_recipe.ladder import DEFECTS as OF_MOTION
from benchmarks.footage import clip_of
from vmmetrics.alignment.perturbations import traps
from vmmetrics.alignment.perturbations.frames import at_rate, mirrored, reencoded, scaled
from vmmetrics.alignment.perturbations.library import DEFECTS
from vmmetrics.alignment.perturbations.motion import smooth_walk
from vmmetrics.alignment.perturbations.objects import OBJECT_DEFECTS, ClipObjects
from vmmetrics.clip import Clip
from vmmetrics.types import Box, UInt8Array

Change = Callable[[Clip], Clip]
SEED = 5
SEVERITY_OF = {0.5: 2, 1.0: 4}
"""Strength to severity level."""
OF_OBJECTS = (*OBJECT_DEFECTS, "intruder")
"""Defects at strength 1 of which TCS or OIS should report an event."""
LEAST_HALVED, LEAST_FRAMES = 240, 16
"""Short side in pixels from which a window is halved, and frames from which every second is left out."""


def damaged(clip: Clip, kind: str, strength: float) -> Clip:
    """Return the window with a defect of the CAS ladder; the same each time."""
    rng = np.random.default_rng([SEED, OF_MOTION.index(kind)])
    frames = inject(kind, clip.frames, SEVERITY_OF[strength], clip.fps, rng)
    return replace(clip, frames=frames, timestamps=clip.timestamps[: len(frames)])


def with_object_defect(clip: Clip, kind: str, objects: ClipObjects) -> tuple[Clip, list[tuple[int, Box]]]:
    """Return the window with a defect of an object at strength 1, and frames and boxes of what differs.

    Raises:
        NotApplicableError: It has no object or limb that the defect can be done to.
    """
    made = DEFECTS[kind](clip, 1.0, np.random.default_rng([SEED, OF_OBJECTS.index(kind)]), objects)
    return made.clip, list(zip(made.frames, made.boxes, strict=True))


# The first frame, moved as a whole: nothing in it moves.


def _in_frames(change: Callable[[UInt8Array], UInt8Array]) -> Change:
    return lambda clip: replace(clip, frames=change(clip.frames))


panned, zoomed, in_two_layers = map(_in_frames, (traps.panned, traps.zoomed, traps.in_two_layers))


def grainy(clip: Clip) -> Clip:
    """Return the clip with grey grain of 6 levels, new in each frame."""
    return replace(clip, frames=traps.grainy(clip.frames, 6.0, np.random.default_rng(SEED), channels=1))


STILLS: Mapping[str, Change] = {
    "panned": panned,
    "zoomed": zoomed,
    "panned, grain": lambda clip: grainy(panned(clip)),
    "two layers": in_two_layers,
}


# What should not matter.


def grey(clip: Clip) -> Clip:
    """Return the clip without colour."""
    frames = np.stack([cv2.cvtColor(cv2.cvtColor(f, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB) for f in clip.frames])
    return replace(clip, frames=frames)


def small_and_slow(clip: Clip) -> Clip:
    """Return the clip at 256 × 256 and 8 frames per second, as models of 2023 give it."""
    frames = np.stack([cv2.resize(f, (256, 256), interpolation=cv2.INTER_AREA) for f in clip.frames])
    return at_rate(clip_of(frames.astype(np.uint8), clip.fps, clip.name), min(8.0, clip.fps))


def sharpened(clip: Clip) -> Clip:
    """Return the clip at half size and back, sharpened."""
    way = cv2.INTER_CUBIC
    frames = []
    for frame in clip.frames:
        half = cv2.resize(frame, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        back = cv2.resize(half, (clip.width, clip.height), interpolation=way).astype(np.float32)
        frames.append(np.clip(back + 0.8 * (back - cv2.GaussianBlur(back, (0, 0), 1.5)) + 0.5, 0, 255))
    return replace(clip, frames=np.stack(frames).astype(np.uint8))


def as_gif(clip: Clip) -> Clip:
    """Return the clip with 256 colours a frame, dithered, as in a GIF."""
    return replace(clip, frames=np.stack([with_palette(frame, 256) for frame in clip.frames]))


def shaken(clip: Clip) -> Clip:
    """Return the clip as a hand would hold the camera: up to about 1 % of the frame to and fro."""
    rng, reach = np.random.default_rng(SEED), 0.008 * min(clip.width, clip.height)
    across, down = (reach * smooth_walk(rng, len(clip), 3.0) for _ in range(2))
    frames = []
    for frame, dx, dy in zip(clip.frames, across, down, strict=True):
        view = traps.view(clip.frames, 1 / 1.08, 0.0) + np.array([[0, 0, dx], [0, 0, dy]])
        frames.append(cv2.warpAffine(frame, view, (clip.width, clip.height), borderMode=cv2.BORDER_REFLECT_101))
    return replace(clip, frames=np.stack(frames).astype(np.uint8))


HARMLESS: Mapping[str, Change] = {
    "CRF 18": partial(reencoded, crf=18),
    "half size": partial(scaled, factor=0.5),
    "mirrored": mirrored,
    "CRF 32": partial(reencoded, crf=32),
    "half the rate": lambda clip: at_rate(clip, clip.fps / 2),
    "grey": grey,
}
CONTROLS: Mapping[str, Change] = {"256² at 8": small_and_slow, "sharpened": sharpened, "palette": as_gif}
"""Real footage in the form of generated clips."""
AS_FILMED: Mapping[str, Change] = {"grain": grainy, "shake": shaken, "codec": partial(reencoded, crf=30)}
"""Generated clips in the form of real footage."""
CHANGES: Mapping[str, Change] = {CLEAN: lambda clip: clip, **STILLS, **HARMLESS, **CONTROLS, **AS_FILMED}


def applies(name: str, clip: Clip) -> bool:
    """Return True unless the window is too small or too short for the change."""
    fits = {"half size": min(clip.width, clip.height) >= LEAST_HALVED, "half the rate": len(clip) >= LEAST_FRAMES}
    return fits.get(name, True)
