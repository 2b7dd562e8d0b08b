"""Holding what the suite says of a rendered clip against its truth: pure comparisons, no rendering, no scoring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.scenes import EventTruth, SyntheticClip
from vmmetrics.types import Box, Event

COHERENCE_TOLERANCE = 2  # frames either way for a coming or going
SMOOTHNESS_TOLERANCE = 1  # frames either way for a glitch


@dataclass(frozen=True)
class Counts:
    """Detections against truth.

    Attributes:
        hits: Defects found.
        misses: Defects not found.
        false: Alarms without a defect.
        right: Alarms with a defect; differs from ``hits`` where several frames answer for one defect.
    """

    hits: int = 0
    misses: int = 0
    false: int = 0
    right: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.hits + other.hits, self.misses + other.misses, self.false + other.false, self.right + other.right
        )

    @property
    def precision(self) -> float:
        """Share of the alarms that are right; NaN without alarms."""
        alarms = self.right + self.false
        return self.right / alarms if alarms else float("nan")

    @property
    def recall(self) -> float:
        """Share of the defects that are found; NaN without defects."""
        defects = self.hits + self.misses
        return self.hits / defects if defects else float("nan")

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall: 0 where one of them is, NaN without defects and alarms."""
        if self.hits + self.misses + self.right + self.false == 0:
            return float("nan")
        precision, recall = np.nan_to_num([self.precision, self.recall])
        return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def amplitude_error(clip: SyntheticClip, amplitude: float) -> float:
    """Return the signed relative error of an amplitude against the camera-free truth."""
    return amplitude / clip.amplitude - 1.0


def coherence_counts(clip: SyntheticClip, events: Iterable[Event]) -> Counts:
    """Compare the unexcused events of TCS with the unexplained ones of the truth.

    An alarm answers for a truth event of its kind within ±2 frames whose box it touches (any, where it names no
    box); each answers for one at most. Alarms that answer for none are false, also when they name a change that
    truth explains.
    """
    alarms = [event for event in events if event.metric == "tcs" and event.excuse is None]
    truths = [truth for truth in clip.events if not truth.excused]
    hits = 0
    for truth in truths:
        answer = next((alarm for alarm in alarms if _answers(alarm, truth)), None)
        if answer is not None:
            alarms.remove(answer)
            hits += 1
    return Counts(hits=hits, misses=len(truths) - hits, false=len(alarms), right=hits)


def excused_alarms(clip: SyntheticClip, events: Iterable[Event]) -> int:
    """Return how many changes that truth explains were counted against the clip."""
    alarms = [event for event in events if event.metric == "tcs" and event.excuse is None]
    return sum(any(_answers(alarm, truth) for alarm in alarms) for truth in clip.events if truth.excused)


def _answers(alarm: Event, truth: EventTruth) -> bool:
    first, last = truth.frames[0] - COHERENCE_TOLERANCE, truth.frames[1] + COHERENCE_TOLERANCE
    if not any(first <= frame <= last for frame in alarm.frames):
        return False
    if truth.kind not in alarm.reason:
        return False
    return alarm.box is None or _touch(alarm.box, truth.box)


def _touch(a: Box, b: Box) -> bool:
    return min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])


def smoothness_counts(clip: SyntheticClip, events: Iterable[Event]) -> Counts:
    """Compare the frames that MSS flags with the spoilt ones, within ±1 frame.

    Spoilt are glitch frames, repeated frames, and the frame after a freeze, which jumps. A spoilt frame is found
    where a flag lies within a frame of it; a flag is right where a spoilt frame lies within a frame of it.
    """
    spoilt = np.array(sorted(spoilt_frames(clip)), int)
    flagged = np.array(sorted(flagged_frames(events)), int)
    near = np.abs(spoilt[:, None] - flagged[None]) <= SMOOTHNESS_TOLERANCE
    hits, right = int(near.any(axis=1).sum()), int(near.any(axis=0).sum())
    return Counts(hits, len(spoilt) - hits, len(flagged) - right, right)


def burst_counts(clip: SyntheticClip, events: Iterable[Event]) -> Counts:
    """Compare flags with runs of spoilt frames: a run is found where any frame of it (±1) is flagged."""
    flagged = np.array(sorted(flagged_frames(events)), int)
    runs = runs_of(sorted(spoilt_frames(clip)))
    tolerance = SMOOTHNESS_TOLERANCE
    near = [(flagged >= run[0] - tolerance) & (flagged <= run[-1] + tolerance) for run in runs]
    hits = sum(bool(found.any()) for found in near)
    false = int((~np.any(near, axis=0)).sum()) if near else len(flagged)
    return Counts(hits, len(runs) - hits, false, hits)


def spoilt_frames(clip: SyntheticClip) -> set[int]:
    """Return every frame at which MSS should find fault."""
    repeated = set(clip.repeated_frames)
    jumps = {t + 1 for t in repeated if t + 1 < len(clip.frames)}
    return set(clip.glitch_frames) | repeated | jumps


def flagged_frames(events: Iterable[Event]) -> set[int]:
    """Return every frame at which MSS does."""
    return {t for event in events if event.metric == "mss" and event.excuse is None for t in event.frames}


def runs_of(frames: Sequence[int]) -> list[list[int]]:
    """Split ascending frame numbers into runs of consecutive ones."""
    runs: list[list[int]] = []
    for frame in frames:
        if runs and frame == runs[-1][-1] + 1:
            runs[-1].append(frame)
        else:
            runs.append([frame])
    return runs


def in_deviations(clean: Sequence[float], spoilt: Sequence[float], floor: float) -> float:
    """Return by how many standard deviations of the clean scores the scores fall, on average.

    Args:
        clean: Scores of the clean clips.
        spoilt: Scores of the same clips with a defect, in the same order.
        floor: Least deviation assumed, because a metric that gives every clean clip the same score has none.
    """
    deviation = max(float(np.std(clean)), floor)
    return float(np.mean(np.subtract(clean, spoilt))) / deviation
