"""Measures by which training data are filtered: counterpart of :class:`vmmetrics.Suite`, a hundred times as fast.

A clip is decoded to a small picture of 256 pixels, and no model is loaded.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import cv2
import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.functional.curation import border_share, camera_speeds, card_frames, find_cuts, find_fades
from vmmetrics.functional.tripwires import UNITS as OF_TRIPWIRES
from vmmetrics.functional.tripwires import tripwires
from vmmetrics.perception.embedded.quick_motion import SIDE, quick_motion
from vmmetrics.perception.presets import Preset, embedded_models
from vmmetrics.perception.scene import Scene
from vmmetrics.scoring.clip_scores import ClipScores
from vmmetrics.scoring.settings import Scoring, Settings
from vmmetrics.types import AmplitudeResult, MetricResult, UInt8Array
from vmmetrics.video import read_clip
from vmmetrics.video.pixels import Sampling

PRESET = "filter"
"""Preset name in the records of measures."""
VERSION = 1
"""Version of what the measures mean; a run directory holds those of one."""
KNOWN_SHARE = 0.5
"""Least share of the moments at which a background must be found that moves as one."""
_CARD_STEP = 0.25  # seconds between frames that are looked at for text
_SMALLEST = 48  # shorter side of a working picture, pixels; smaller ones are enlarged

CAMERA: Mapping[str, str] = {
    "pan": "frame widths per second",
    "tilt": "frame heights per second",
    "zoom": "change of size per second, 0.1: a tenth",
    "roll": "degrees per second",
    "shake": "frame diagonals per second",
}
"""Units of the camera's motion."""
MEASURES: Mapping[str, str] = {
    "amplitude": "motion of what moves most, that of the camera taken out, frame diagonals per second",
    **CAMERA,
    "aspect": "width of the upright picture over its height",
    "cuts": "number of hard cuts",
    "fades": "number of fades from or to a plain frame",
    "borders": "share of the frame that plain bars at its edges take, 0..1",
    "card_share": "share of the frames that are text on a plain background, 0..1",
    **OF_TRIPWIRES,
}
"""Unit of every measure."""
ONE_FRAME = "one frame: nothing to compare it with"


class FilterSuite:
    """Suite that measures clips for filters of data; of each the result is a number, or the reason why there is none.

    Args:
        names: Measures, of :data:`MEASURES`; all are computed in any case.
        reference: Decode only frames that other frames refer to, where the codec has others: a third less time.

    Example:
        >>> still = np.full((8, 64, 64, 3), 128, np.uint8)
        >>> scores = FilterSuite().score_clip(still, fps=8).scores
        >>> scores["frozen_share"], scores["cuts"]
        (1.0, 0.0)
    """

    reads_ahead = False

    def __init__(self, names: tuple[str, ...] = tuple(MEASURES), *, reference: bool = False) -> None:
        self.metrics = names
        self._sampling = Sampling(None, SIDE, reference)
        self._preset = Preset(embedded_models(None), {"flow": "DIS optical flow of small pictures (OpenCV)"}, {}, False)

    def describe(self) -> dict[str, Any]:
        """Return what every value depends on, ready for JSON."""
        return {
            "preset": PRESET,
            "protocol": "vmmetrics",
            "models": dict(self._preset.description),
            "weights": {},
            "comparable": False,
            "label": "measures for filters of data, each in its own unit: not VMBench's metrics",
            "measures": VERSION,
            "frames": "reference" if self._sampling.reference else "all",
        }

    def read(self, clip: Any, **reading: Any) -> Clip:
        """Read a clip small; arguments and errors as for :func:`vmmetrics.read_clip`."""
        return read_clip(clip, sampling=self._sampling, **reading)

    def score_clip(self, clip: Any, **reading: Any) -> ClipScores:
        """Measure a clip; a file is decoded small. Arguments and errors as for :meth:`vmmetrics.Suite.score_clip`."""
        start = time.perf_counter()
        small = clip if isinstance(clip, Clip) else self.read(clip, **reading)
        results = measure(small)
        results = {name: results[name] for name in self.metrics}
        return ClipScores(small.name, results, {}, time.perf_counter() - start, small.notes)

    def scene(self, clip: Clip) -> Scene:
        """Return the perception of a clip, in which nothing is computed."""
        return Scene(clip, self._preset.models)

    def score_scene(self, scene: Scene, metrics: Collection[str] | None = None) -> ClipScores:
        """Measure the clip of a scene; ``metrics`` are some of the measures."""
        scores = self.score_clip(scene.clip)
        chosen = scores.results if metrics is None else {name: scores.results[name] for name in metrics}
        return replace(scores, results=chosen)


def measure(clip: Clip) -> dict[str, MetricResult]:
    """Return every measure of a clip of any size."""
    if len(clip) < 2:
        return {name: MetricResult(None, ONE_FRAME) for name in MEASURES}
    frames = _small(clip.frames)
    grey = np.empty(frames.shape[:3], np.uint8)
    for frame, levels in zip(frames, grey, strict=True):
        cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY, dst=levels)
    rate = (len(clip) - 1) / float(np.ptp(clip.timestamps))  # of the frames decoded
    cuts, borders = find_cuts(grey), border_share(grey)
    results: dict[str, MetricResult] = {
        "aspect": MetricResult(clip.width / clip.height),
        "cuts": MetricResult(float(len(cuts))),
        "fades": MetricResult(float(len(find_fades(grey, clip.timestamps)))),
        "borders": MetricResult(borders, None if borders is not None else "all frames are plain"),
        "card_share": MetricResult(float(card_frames(grey[:: max(1, round(_CARD_STEP * rate))]).mean())),
        **{name: MetricResult(value) for name, value in asdict(tripwires(frames, rate)).items()},
        **_motion(grey, clip, cuts.tolist()),
    }
    return {name: results[name] for name in MEASURES}


def _motion(grey: UInt8Array, clip: Clip, cuts: list[int]) -> dict[str, MetricResult]:
    motion = quick_motion(grey, clip.timestamps, cuts)
    if not motion.pairs or len(motion.subject) < KNOWN_SHARE * motion.pairs:
        share = f"{len(motion.subject)} of {motion.pairs} moments"
        reason = f"a background that moves as one was found at {share}"
        return {name: MetricResult(None, reason) for name in ("amplitude", *CAMERA)}
    speeds = camera_speeds(motion.homographies, motion.seconds, (grey.shape[2], grey.shape[1]))
    amplitude = float(np.average(motion.subject, weights=motion.seconds))
    return {
        "amplitude": AmplitudeResult(amplitude, amplitude=amplitude),
        **{name: MetricResult(speed) for name, speed in speeds.items()},
    }


def _small(frames: UInt8Array) -> UInt8Array:
    """Return frames (T, h, w, 3) with sides of :data:`SIDE` at most, and of :data:`_SMALLEST` at least."""
    height, width = frames.shape[1:3]
    factor = min(1.0, SIDE / max(height, width))
    size = max(_SMALLEST, round(width * factor)), max(_SMALLEST, round(height * factor))
    if size == (width, height):
        return frames
    way = cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR
    return np.stack([np.asarray(cv2.resize(frame, size, interpolation=way), np.uint8) for frame in frames])


# The configuration of a run of measures, for the machinery that runs the metrics.


@dataclass(frozen=True, slots=True)
class FilterSettings(Settings):
    """Settings of a run of measures.

    Attributes:
        preset: Always ``"filter"``.
        metrics: Names of measures.
        reference: As :class:`FilterSuite` has it.
    """

    preset: str = PRESET
    metrics: tuple[str, ...] = tuple(MEASURES)
    keep_overlays: bool | None = False
    reference: bool = False

    @property
    def sampling(self) -> Sampling:
        """Frames that are read, and their size."""
        return Sampling(None, SIDE, self.reference)

    def available_metrics(self) -> tuple[str, ...]:
        """Return the measures there are."""
        return tuple(MEASURES)

    def build(self, metrics: tuple[str, ...] | None = None) -> Scoring:
        """Return the suite; there is nothing to load."""
        return FilterSuite(self.metrics if metrics is None else metrics, reference=self.reference)

    def parts(self, suite: Scoring) -> Mapping[str, Mapping[str, Any]]:  # noqa: ARG002
        """Return the unit of each measure."""
        return {name: {"unit": MEASURES[name]} for name in self.metrics}
