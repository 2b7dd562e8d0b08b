"""What is known of a rendered clip, and how the figures that the metrics must reach follow from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.scenes.paths import project
from benchmarks.scenes.spec import Owner, SceneSpec

MIN_AREA = 16  # pixels; with less an object is nothing any more
MIN_SHARE = 0.1  # of its area; with less in sight an object counts as gone


@dataclass(frozen=True)
class ObjectTruth:
    """One object of a rendered clip.

    Attributes:
        id: 1-based, its value in :attr:`SyntheticClip.labels`.
        subject: A moving thing, not a prop.
        points: (T, N, 2) float64 pixels, an even grid over the object followed exactly, also out of sight.
        inside: (T, N) bool, within the frame.
        visible: (T, N) bool, within the frame, there, and not hidden.
        centre: (T, 2) float64 pixels, where its origin is.
        area: (T,) pixels in sight.
        whole: (T,) pixels that it would cover, were all of it in sight.
        present: (T,) bool, there to be seen.
    """

    id: int
    subject: bool
    points: NDArray[np.float64]
    inside: NDArray[np.bool_]
    visible: NDArray[np.bool_]
    centre: NDArray[np.float64]
    area: NDArray[np.int64]
    whole: NDArray[np.float64]
    present: NDArray[np.bool_]


@dataclass(frozen=True)
class EventTruth:
    """An object's coming or going.

    Attributes:
        kind: ``"vanish"`` or ``"appear"``.
        object_id: Whose.
        frames: Where an answer is right: first and last frame of the change (equal for a pop).
        cause: ``"edge"``, ``"small"``, ``"occlusion"``, or the unexplained ``"pop"``, ``"fade"``, ``"dissolve"``.
        box: Where it was seen last (is seen first), x0, y0, x1, y1 pixels.
    """

    kind: str
    object_id: int
    frames: tuple[int, int]
    cause: str
    box: tuple[float, float, float, float]

    @property
    def excused(self) -> bool:
        """Whether the world explains it."""
        return self.cause in {"edge", "small", "occlusion"}


@dataclass(frozen=True)
class SyntheticClip:
    """A rendered clip with its truth.

    Attributes:
        frames: (T, H, W, 3) uint8 RGB.
        fps: Frames per second.
        spec: What was asked for.
        seed: With it.
        homographies: (T-1, 3, 3) float64, pixels of frame t to pixels of frame t+1 on the background, exact.
        labels: (T, H, W) uint8: the id of the object seen there, 0 for the background.
        objects: The objects, props included.
        events: Comings and goings, excused ones included.
        glitch_frames: Spoilt frames.
        repeated_frames: Frames that repeat the one before.
    """

    frames: NDArray[np.uint8]
    fps: float
    spec: SceneSpec
    seed: int
    homographies: NDArray[np.float64]
    labels: NDArray[np.uint8]
    objects: tuple[ObjectTruth, ...]
    events: tuple[EventTruth, ...]
    glitch_frames: tuple[int, ...]
    repeated_frames: tuple[int, ...]

    @property
    def name(self) -> str:
        """Kind of clip."""
        return self.spec.name

    @property
    def owner(self) -> Owner | None:
        """Which metric owns the defect."""
        return self.spec.owner

    @property
    def amplitude(self) -> float:
        """Camera-free amplitude of the subjects, diagonals per second; 0.0 where none is in sight.

        As PAS defines it: mean over the points visible in both frames of |x(t+1) − H_t x(t)| · fps / diagonal,
        then mean over the pairs that have such points.
        """
        subjects = [thing for thing in self.objects if thing.subject]
        means = []
        for t, matrix in enumerate(self.homographies):
            steps = [
                np.linalg.norm(thing.points[t + 1] - project(matrix, thing.points[t]), axis=1)[
                    thing.visible[t] & thing.visible[t + 1]
                ]
                for thing in subjects
            ]
            moved = np.concatenate(steps) if steps else np.zeros(0)
            if len(moved):
                means.append(moved.mean())
        return float(np.mean(means)) * self.fps / self.spec.diagonal if means else 0.0

    def mask(self, object_id: int) -> NDArray[np.bool_]:
        """Return where an object is seen, (T, H, W) bool."""
        return np.asarray(self.labels == object_id)


def events_of(thing: ObjectTruth, labels: NDArray[np.uint8], spec: SceneSpec) -> list[EventTruth]:
    """Read an object's comings and goings off its presence, each with its cause."""
    events = []
    for t in np.flatnonzero(np.diff(thing.present.astype(int))) + 1:
        kind = "appear" if thing.present[t] else "vanish"
        seen, unseen = (t, t - 1) if thing.present[t] else (t - 1, t)
        cause, first, last = _cause(thing, spec, kind, int(t), int(unseen))
        rows, columns = np.nonzero(labels[seen] == thing.id)
        box = (float(columns.min()), float(rows.min()), float(columns.max()) + 1, float(rows.max()) + 1)
        events.append(EventTruth(kind, thing.id, (first, last), cause, box))
    return events


def _cause(thing: ObjectTruth, spec: SceneSpec, kind: str, frame: int, unseen: int) -> tuple[str, int, int]:
    for presence in spec.objects[thing.id - 1].presence:
        if presence.kind == kind and presence.frame <= frame <= presence.frame + presence.length:
            return presence.style, presence.frame, presence.frame + presence.length
    if thing.whole[unseen] < 2 * MIN_AREA:
        return "small", frame, frame
    if thing.inside[unseen].mean() < 0.5:
        return "edge", frame, frame
    return "occlusion", frame, frame
