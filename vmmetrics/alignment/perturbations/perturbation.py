"""What a perturbation is: a named, seeded, pure change of a clip in a stated strength, with the truth of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.perturbations.objects import NotApplicableError, Things
from vmmetrics.clip import Clip
from vmmetrics.types import Box

Rng = np.random.Generator
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


def _with_frames(clip: Clip, frames: NDArray[np.uint8]) -> Clip:
    """Return ``clip`` with other frames, shown at its own times."""
    return replace(clip, frames=np.ascontiguousarray(frames), timestamps=clip.timestamps[: len(frames)])


def with_frames(clip: Clip, frames: NDArray[np.uint8]) -> Clip:
    """Return ``clip`` with other frames of its size, at most as many, shown at its own times."""
    return replace(clip, frames=np.ascontiguousarray(frames), timestamps=clip.timestamps[: len(frames)])
