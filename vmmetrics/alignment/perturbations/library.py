"""Every perturbation by name: what it does, what strength 1 is, and which metric ought to notice.

The owners were laid down before anything was measured: the metric in whose definition the defect falls. What comes or
goes without cause is TCS's, spoilt or repeated frames are MSS's, a body out of shape is OIS's, motion that ends is
PAS's, and what breaks with common sense without being one of those is CAS's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.perturbations import frames, objects
from vmmetrics.alignment.perturbations.frames import TIMINGS, Rng, breaks_of
from vmmetrics.alignment.perturbations.motion import MOTIONS
from vmmetrics.alignment.perturbations.objects import NotApplicableError, Things
from vmmetrics.clip import Clip
from vmmetrics.types import Box

# What a perturbation is: a named, seeded, pure change of a clip in a stated strength, with the truth of it.

Family = Literal["defect", "invariance"]
Change = Callable[[Clip, float, Rng, Things | None], tuple[Clip, tuple[int, ...]]]

LEAST_FRAMES = 8
"""Frames below which moments in the middle of a clip cannot be told from its ends."""


@dataclass(frozen=True, slots=True)
class Done:
    """The truth of a perturbed clip.

    Attributes:
        frames: Frames of the new clip whose pixels differ from the frame of that number before.
        boxes: For each of them, what holds every pixel that differs, (x0, y0, x1, y1) with the last ones outside.
        breaks: Frames that do not show what comes after the one before, where only the order was changed.
    """

    frames: tuple[int, ...]
    boxes: tuple[Box, ...]
    breaks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A clip and what was done to it."""

    clip: Clip
    done: Done


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One kind of change.

    Attributes:
        name: By which it is asked for, and which seeds it.
        family: ``"defect"``, or ``"invariance"`` for what no metric of motion should mind.
        owner: str that ought to notice; None for invariances. Laid down before anything was measured.
        what: What happens, in words.
        full: What strength 1 is; strength 0 is nothing, and in between the amount grows.
        change: Clip, strength, generator and things to a new clip and its breaks.
        needs_things: Whether it must be known where the things and people in the clip are.
        graded: Whether strength means anything; else only 1 does.
    """

    name: str
    family: Family
    owner: str | None
    what: str
    full: str
    change: Change
    needs_things: bool = False
    graded: bool = True

    def __call__(self, clip: Clip, strength: float, rng: Rng, things: Things | None = None) -> Perturbed:
        """Return the perturbed clip; the one given is left alone.

        Args:
            clip: Any clip.
            strength: In (0, 1].
            rng: Everything random; the same state gives the same places and moments at every strength.
            things: Where things and people are, for those that need it.

        Raises:
            ValueError: The strength is not in (0, 1].
            NotApplicableError: It cannot be done to this clip; the text says why.
        """
        if not 0 < strength <= 1:
            raise ValueError(f"Expected a strength in (0, 1] but got {strength}")
        if self.family == "defect" and len(clip) < LEAST_FRAMES:
            raise NotApplicableError(f"needs {LEAST_FRAMES} frames or more and the clip has {len(clip)}")
        if self.needs_things and things is None:
            raise NotApplicableError("needs to know where the things and people in the clip are, and was not told")
        changed, breaks = self.change(clip, strength if self.graded else 1.0, rng, things)
        noted = replace(changed, notes=(*changed.notes, f"{self.name} at {strength:g}"))
        return Perturbed(noted, _truth(clip, changed, breaks))


def _truth(before: Clip, after: Clip, breaks: tuple[int, ...]) -> Done:
    if before.frames.shape[1:] != after.frames.shape[1:]:
        whole = (0.0, 0.0, float(after.width), float(after.height))
        return Done(tuple(range(len(after))), (whole,) * len(after), breaks)
    found = [(t, _box((a != b).any(-1))) for t, (a, b) in enumerate(zip(before.frames, after.frames, strict=False))]
    changed = [(t, box) for t, box in found if box is not None]
    return Done(tuple(t for t, _ in changed), tuple(box for _, box in changed), breaks)


def _box(mask: NDArray[np.bool_]) -> Box | None:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return None
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)


def with_frames(clip: Clip, shown: NDArray[np.uint8]) -> Clip:
    """Return ``clip`` with other frames of its size, at most as many, shown at its own times."""
    return replace(clip, frames=np.ascontiguousarray(shown), timestamps=clip.timestamps[: len(shown)])


LEAST_CHANGE = 1.5
"""Mean grey-level change in a quarter of a second from which a defect of time alone can be seen."""


def _moving(name: str, owner: str, what: str, full: str) -> Perturbation:
    def change(clip: Clip, strength: float, rng: Rng, _: Things | None) -> tuple[Clip, tuple[int, ...]]:
        return with_frames(clip, MOTIONS[name](clip.frames, strength, clip.fps, rng)), ()

    return Perturbation(name, "defect", owner, what, full, change)


def _timing(name: str, owner: str, what: str, full: str) -> Perturbation:
    def change(clip: Clip, strength: float, rng: Rng, _: Things | None) -> tuple[Clip, tuple[int, ...]]:
        _check_motion(clip)
        order = TIMINGS[name](len(clip), strength, clip.fps, rng)
        return with_frames(clip, clip.frames[order]), breaks_of(order)

    return Perturbation(name, "defect", owner, what, full, change)


def _check_motion(clip: Clip) -> None:
    """Raise :class:`NotApplicableError` where the order of frames cannot be seen."""
    step = max(1, round(clip.fps / 4))
    beat = clip.frames[::step].astype(np.int16)
    motion = float(np.abs(np.diff(beat, axis=0)).mean()) if len(beat) > 1 else 0.0
    if motion < LEAST_CHANGE:
        raise NotApplicableError(
            f"hardly anything moves, so that nobody could see it: grey levels change by {motion:.1f} in a quarter of a "
            f"second, {LEAST_CHANGE} are needed"
        )


def _glitch(name: str, what: str, full: str) -> Perturbation:
    def change(clip: Clip, strength: float, rng: Rng, _: Things | None) -> tuple[Clip, tuple[int, ...]]:
        spoilt = clip.frames.copy()
        frames.spoil(spoilt, name, strength, frames.burst_frames(len(clip), clip.fps, rng), rng)
        return with_frames(clip, spoilt), ()

    return Perturbation(name, "defect", "mss", what, full, change)


def _of_things(
    name: str, owner: str, what: str, full: str, done: Callable[[Clip, float, Things], NDArray[np.uint8]]
) -> Perturbation:
    def change(clip: Clip, strength: float, _: Rng, things: Things | None) -> tuple[Clip, tuple[int, ...]]:
        if things is None:
            raise NotApplicableError("it is not known where the things and people in the clip are")
        return with_frames(clip, done(clip, strength, things)), ()

    return Perturbation(name, "defect", owner, what, full, change, needs_things=True)


def _harmless(
    name: str, what: str, full: str, done: Callable[[Clip, float], Clip], graded: bool = True, signed: bool = False
) -> Perturbation:
    def change(clip: Clip, strength: float, rng: Rng, _: Things | None) -> tuple[Clip, tuple[int, ...]]:
        way = float(rng.choice([-1.0, 1.0])) if signed else 1.0
        return done(clip, way * strength), ()

    return Perturbation(name, "invariance", None, what, full, change, graded=graded)


_LADDER = "as on the top rung of the commonsense ladder; 0.25, 0.5 and 0.75 are its other rungs"

_DEFECTS = (
    _glitch("blur", "two frames a second are blurred", "σ = 4 pixels at 480 lines"),
    _glitch("noise", "two frames a second are noisy", "σ = 32 grey levels"),
    _glitch("blocking", "two frames a second are compressed to blocks", "JPEG quality 3; 14 at 0.25"),
    _glitch("ghost", "two frames a second are doubly exposed", "half of the light is of four frames before"),
    _glitch("warp", "part of two frames a second melts", "waves of 10 pixels at 480 lines"),
    _timing("stutter", "mss", "frames are shown twice, each for the next", "every third frame"),
    _timing("drop", "mss", "the clip jumps ahead, twice", "half a second is missing each time"),
    _timing("freeze_jump", "mss", "the clip stands still and then jumps", f"twice for 1 s, {_LADDER}"),
    _moving("interleave", "mss", "mirrored frames of elsewhere lie between", f"45 % of frames, {_LADDER}"),
    _of_things("limb_stretch", "ois", "a forearm or calf is longer for half a second", "twice as long",
               lambda c, s, t: objects.limb_stretch(c.frames, s, c.fps, t)),
    _of_things("limb_snap", "ois", "a forearm or calf is turned at its joint for half a second", "by 100°",
               lambda c, s, t: objects.limb_snap(c.frames, s, c.fps, t)),
    _timing("standstill", "pas", "all motion ends before the clip does", "nine tenths of the clip stand still"),
    _of_things("vanish", "tcs", "the largest thing is gone from the middle on", "all of it; else it shows through",
               lambda c, s, t: objects.vanish(c.frames, s, t)),
    _of_things("appear", "tcs", "the largest thing is not there up to the middle", "nothing of it shows",
               lambda c, s, t: objects.appear(c.frames, s, t)),
    Perturbation("intruder", "defect", "tcs", "a foreign thing is there from one frame to the next, and stays",
                 "44 % of the short side across",
                 lambda c, s, rng, _: (with_frames(c, objects.intruder(c.frames, s, rng)), ())),
    _moving("double", "tcs", "a copy of a thing comes and goes beside it", f"opaque, {_LADDER}"),
    _moving("limb_bend", "cas", "a long part bends like rubber", f"by 12 % of the short side, {_LADDER}"),
    _moving("object_warp", "cas", "a moving thing changes its shape", f"by 5 % of the short side, {_LADDER}"),
    _moving("teleport", "cas", "a thing is elsewhere from one frame to the next", f"four times, {_LADDER}"),
    _moving("melt", "cas", "a thing runs down the picture", f"by 36 % of the short side, {_LADDER}"),
    _moving("fall_up", "cas", "a thing comes loose and falls upwards", f"by 55 % of the short side, {_LADDER}"),
    _moving("upside_down", "cas", "part of the picture stands on its head for moments", f"four times, {_LADDER}"),
    _moving("flicker", "cas", "light and dark patches change from frame to frame", f"by 20 %, {_LADDER}"),
    _moving("boil", "cas", "everything trembles in small patches", f"by 1.6 % of the short side, {_LADDER}"),
    _moving("wobble", "cas", "the picture sways like jelly", f"by 2.5 % of the short side, {_LADDER}"),
    _moving("merge", "cas", "two things run into one", f"wholly, {_LADDER}"),
    _moving("morph", "cas", "a thing turns into what lies elsewhere, and back", f"wholly, {_LADDER}"),
    _timing("reversal", "cas", "time turns round", f"five times, {_LADDER}"),
    _timing("loop", "cas", "the clip jumps back by half a second", f"four times, {_LADDER}"),
    _timing("shuffle", "cas", "frames stand out of their order", f"by half a second, {_LADDER}"),
)  # fmt: skip

_INVARIANCES = (
    _harmless("reencode", "x264 compression", "CRF 28; 18 at 1/3, 23 at 2/3",
              lambda c, s: frames.reencoded(c, round(13 + 15 * s))),
    _harmless("scale", "smaller", "half of the size", lambda c, s: frames.scaled(c, 1 - 0.5 * s)),
    _harmless("crop", "the rim cut off", "a tenth of width and height", lambda c, s: frames.cropped(c, 0.1 * s)),
    _harmless("mirror", "left and right exchanged", "mirrored; has no degrees",
              lambda c, _: frames.mirrored(c), graded=False),
    _harmless("brightness", "lighter or darker throughout", "by a fifth",
              lambda c, s: frames.brightened(c, 1 + 0.2 * s), signed=True),
    _harmless("contrast", "more or less contrast throughout", "by a fifth",
              lambda c, s: frames.contrasted(c, 1 + 0.2 * s), signed=True),
    _harmless("frame_rate", "fewer frames a second, at their own times", "half of them",
              lambda c, s: frames.at_rate(c, c.fps * (1 - 0.5 * s))),
)  # fmt: skip

PERTURBATIONS: Mapping[str, Perturbation] = MappingProxyType({p.name: p for p in (*_DEFECTS, *_INVARIANCES)})
"""Every perturbation by name."""
DEFECTS: Mapping[str, Perturbation] = MappingProxyType({p.name: p for p in _DEFECTS})
INVARIANCES: Mapping[str, Perturbation] = MappingProxyType({p.name: p for p in _INVARIANCES})


def perturbation(name: str) -> Perturbation:
    """Return the perturbation called ``name``.

    Raises:
        ValueError: There is none.
    """
    if name not in PERTURBATIONS:
        raise ValueError(f"Expected a perturbation among {', '.join(PERTURBATIONS)} but got {name!r}")
    return PERTURBATIONS[name]


def names(chosen: Sequence[str] | None, family: Mapping[str, Perturbation]) -> tuple[str, ...]:
    """Return the chosen names of a family in its own order; None chooses all.

    Raises:
        ValueError: One is not of the family.
    """
    unknown = sorted(set(chosen or ()) - set(family))
    if unknown:
        raise ValueError(f"Expected names among {', '.join(family)} but got {unknown[0]!r}")
    return tuple(name for name in family if chosen is None or name in chosen)
