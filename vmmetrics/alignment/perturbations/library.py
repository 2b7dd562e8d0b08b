"""Library of perturbations: what each does, what strength 1 is, and which metric should detect it.

The owners were laid down before anything was measured: the metric in whose definition the defect falls. What comes or
goes without cause is TCS's, spoilt or repeated frames are MSS's, a body out of shape is OIS's, motion that ends is
PAS's, and what breaks with common sense without being one of those is CAS's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vmmetrics.alignment.perturbations import frames as harmless
from vmmetrics.alignment.perturbations.frames import GLITCHES, TIMINGS, Frames, Rng, breaks_of, burst_frames, spoil
from vmmetrics.alignment.perturbations.motion import MOTIONS
from vmmetrics.alignment.perturbations.objects import OBJECT_DEFECTS, ClipObjects, NotApplicableError, intruder
from vmmetrics.clip import Clip
from vmmetrics.types import Box

# What a perturbation is: a named, seeded, pure change of a clip in a stated strength, with the truth of it.

LEAST_FRAMES = 8
"""Minimum frames of a clip to place a defect away from its ends."""


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A perturbed clip and the truth of what was done to it.

    Attributes:
        clip: The new clip.
        frames: Frames of it whose pixels differ from the frame of that number before.
        boxes: For each of them, what holds every pixel that differs, (x0, y0, x1, y1) with the last ones outside.
        breaks: Frames that do not show what comes after the one before, where only the order was changed.
    """

    clip: Clip
    frames: tuple[int, ...]
    boxes: tuple[Box, ...]
    breaks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One kind of change.

    Attributes:
        name: Identifier, which also seeds it.
        owner: Metric that should respond; None for harmless changes. Fixed before any measurement.
        what: Description.
        full: Amount at strength 1; it grows from nothing at strength 0.
        graded: Whether strength has an effect; else only strength 1 exists.
    """

    name: str
    owner: str | None
    what: str
    full: str
    graded: bool = True

    def __call__(self, clip: Clip, strength: float, rng: Rng, objects: ClipObjects | None = None) -> Perturbed:
        """Return the perturbed clip; the one given is left alone.

        Args:
            clip: Any clip.
            strength: In (0, 1].
            rng: Everything random; the same state gives the same places and moments at every strength.
            objects: Objects and people of the clip, for perturbations that need them.

        Raises:
            ValueError: The strength is not in (0, 1].
            NotApplicableError: It cannot be done to this clip; the text says why.
        """
        if not 0 < strength <= 1:
            raise ValueError(f"Expected a strength in (0, 1] but got {strength}")
        breaks: tuple[int, ...] = ()
        if self.owner is None:
            changed = _unharmed(self.name, clip, strength if self.graded else 1.0, rng)
        else:
            if len(clip) < LEAST_FRAMES:
                raise NotApplicableError(f"needs {LEAST_FRAMES} frames or more and the clip has {len(clip)}")
            shown, breaks = _harmed(self.name, clip, strength, rng, objects)
            changed = replace(clip, frames=np.ascontiguousarray(shown), timestamps=clip.timestamps[: len(shown)])
        noted = replace(changed, notes=(*changed.notes, f"{self.name} at {strength:g}"))
        return Perturbed(noted, *_differing(clip, changed), breaks)


def _differing(before: Clip, after: Clip) -> tuple[tuple[int, ...], tuple[Box, ...]]:
    """Return the frames that differ, and where."""
    if before.frames.shape[1:] != after.frames.shape[1:]:
        whole = (0.0, 0.0, float(after.width), float(after.height))
        return tuple(range(len(after))), (whole,) * len(after)
    boxes = {}
    for t, (a, b) in enumerate(zip(before.frames, after.frames, strict=False)):
        differs = (a != b).any(-1)
        rows, columns = np.flatnonzero(differs.any(1)), np.flatnonzero(differs.any(0))
        if len(rows):
            boxes[t] = float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)
    return tuple(boxes), tuple(boxes.values())


def _harmed(
    name: str, clip: Clip, strength: float, rng: Rng, objects: ClipObjects | None
) -> tuple[Frames, tuple[int, ...]]:
    """Return the frames of a clip with a defect, at most as many as before, and where their order breaks."""
    if name in OBJECT_DEFECTS:
        if objects is None:
            raise NotApplicableError(
                "needs the clip's object masks and poses: pass objects=ClipObjects(labels, people)"
            )
        return OBJECT_DEFECTS[name](clip.frames, strength, clip.fps, objects), ()
    if name in TIMINGS:
        _check_motion(clip)
        order = TIMINGS[name](len(clip), strength, clip.fps, rng)
        return clip.frames[order], breaks_of(order)
    if name in GLITCHES:
        spoilt = clip.frames.copy()
        spoil(spoilt, name, strength, burst_frames(len(clip), clip.fps, rng), rng)
        return spoilt, ()
    change = intruder if name == "intruder" else MOTIONS[name]
    return change(clip.frames, strength, clip.fps, rng), ()


LEAST_CHANGE = 1.5
"""Minimum mean grey-level change in 0.25 s for a temporal defect to be visible."""


def _check_motion(clip: Clip) -> None:
    """Raise :class:`NotApplicableError` where the order of frames cannot be seen."""
    step = max(1, round(clip.fps / 4))
    beat = clip.frames[::step].astype(np.int16)
    motion = float(np.abs(np.diff(beat, axis=0)).mean()) if len(beat) > 1 else 0.0
    if motion < LEAST_CHANGE:
        raise NotApplicableError(
            f"too little motion to see the defect: grey levels change by {motion:.1f} in a quarter of a "
            f"second, {LEAST_CHANGE} are needed"
        )


def _unharmed(name: str, clip: Clip, strength: float, rng: Rng) -> Clip:
    """Return a clip changed in what no metric of motion should mind."""
    match name:
        case "reencode":
            return harmless.reencoded(clip, round(13 + 15 * strength))
        case "scale":
            return harmless.scaled(clip, 1 - 0.5 * strength)
        case "crop":
            return harmless.cropped(clip, 0.1 * strength)
        case "mirror":
            return harmless.mirrored(clip)
        case "frame_rate":
            return harmless.at_rate(clip, clip.fps * (1 - 0.5 * strength))
    factor = 1 + 0.2 * (float(rng.choice([-1.0, 1.0])) * strength)
    return harmless.relit(clip, factor, contrast=name == "contrast")


_AS_CAS = "as at severity 4 of 4 of the CAS training clips; strengths 0.25, 0.5 and 0.75 are severities 1 to 3"

_DEFECTS = (
    Perturbation("blur", "mss", "two frames per second are blurred", "σ = 4 pixels at 480 lines"),
    Perturbation("noise", "mss", "two frames per second are noisy", "σ = 32 grey levels"),
    Perturbation("blocking", "mss", "two frames per second are compressed to blocks", "JPEG quality 3; 14 at 0.25"),
    Perturbation("ghost", "mss", "two frames per second are doubly exposed",
                 "half of the light from four frames before"),
    Perturbation("warp", "mss", "part of two frames per second melts", "waves of 10 pixels at 480 lines"),
    Perturbation("stutter", "mss", "frames are repeated, each in place of the next", "every third frame"),
    Perturbation("drop", "mss", "the clip jumps ahead, twice", "half a second is missing each time"),
    Perturbation("freeze_jump", "mss", "the clip freezes and then jumps", f"twice for 1 s, {_AS_CAS}"),
    Perturbation("interleave", "mss", "mirrored frames of another part are inserted", f"45 % of frames, {_AS_CAS}"),
    Perturbation("limb_stretch", "ois", "a forearm or calf is longer for half a second", "twice as long"),
    Perturbation("limb_snap", "ois", "a forearm or calf is turned at its joint for half a second", "by 100°"),
    Perturbation("standstill", "pas", "all motion ends before the clip does", "nine tenths of the clip stand still"),
    Perturbation("vanish", "tcs", "the largest object vanishes in the middle", "completely; below 1 it shows through"),
    Perturbation("appear", "tcs", "the largest object is hidden up to the middle", "completely"),
    Perturbation("intruder", "tcs", "a foreign object appears between two frames and stays",
                 "diameter 44 % of the short side"),
    Perturbation("double", "tcs", "a copy of an object appears beside it for moments", f"opaque, {_AS_CAS}"),
    Perturbation("limb_bend", "cas", "a long part bends like rubber", f"by 12 % of the short side, {_AS_CAS}"),
    Perturbation("object_warp", "cas", "a moving object changes its shape", f"by 5 % of the short side, {_AS_CAS}"),
    Perturbation("teleport", "cas", "an object jumps elsewhere between two frames", f"four times, {_AS_CAS}"),
    Perturbation("melt", "cas", "an object melts down the frame", f"by 36 % of the short side, {_AS_CAS}"),
    Perturbation("fall_up", "cas", "an object comes loose and falls upwards", f"by 55 % of the short side, {_AS_CAS}"),
    Perturbation("upside_down", "cas", "part of the frame is upside down for moments", f"four times, {_AS_CAS}"),
    Perturbation("flicker", "cas", "light and dark patches change from frame to frame", f"by 20 %, {_AS_CAS}"),
    Perturbation("boil", "cas", "everything trembles in small patches", f"by 1.6 % of the short side, {_AS_CAS}"),
    Perturbation("wobble", "cas", "the frame sways like jelly", f"by 2.5 % of the short side, {_AS_CAS}"),
    Perturbation("merge", "cas", "two objects merge", f"completely, {_AS_CAS}"),
    Perturbation("morph", "cas", "an object morphs into another one and back", f"completely, {_AS_CAS}"),
    Perturbation("reversal", "cas", "time turns back and on again", f"five times, {_AS_CAS}"),
    Perturbation("loop", "cas", "the clip jumps back by half a second", f"four times, {_AS_CAS}"),
    Perturbation("shuffle", "cas", "frames are shuffled", f"by half a second, {_AS_CAS}"),
)  # fmt: skip

_INVARIANCES = (
    Perturbation("reencode", None, "x264 compression", "CRF 28; 18 at 1/3, 23 at 2/3"),
    Perturbation("scale", None, "smaller", "half of the size"),
    Perturbation("crop", None, "cropped at the border", "a tenth of width and height"),
    Perturbation("mirror", None, "mirrored left to right", "mirrored; not graded", graded=False),
    Perturbation("brightness", None, "lighter or darker throughout", "by a fifth"),
    Perturbation("contrast", None, "more or less contrast throughout", "by a fifth"),
    Perturbation("frame_rate", None, "fewer frames per second, at their own times", "half of them"),
)

DEFECTS: Mapping[str, Perturbation] = {p.name: p for p in _DEFECTS}
INVARIANCES: Mapping[str, Perturbation] = {p.name: p for p in _INVARIANCES}
PERTURBATIONS: Mapping[str, Perturbation] = {**DEFECTS, **INVARIANCES}
"""Every perturbation by name."""


def names(chosen: Sequence[str] | None, family: Mapping[str, object]) -> tuple[str, ...]:
    """Return the chosen names of a family in its own order; None chooses all.

    Raises:
        ValueError: One is not of the family.
    """
    if unknown := sorted(set(chosen or ()) - set(family)):
        raise ValueError(f"Expected names among {', '.join(family)} but got {unknown[0]!r}")
    return tuple(name for name in family if chosen is None or name in chosen)
