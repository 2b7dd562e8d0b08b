"""A choice of models, definition and metrics, and the scores of one clip after another."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from vmmetrics.clip import Clip, Subject
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.functional.motion_index import VERSION as INDEX_VERSION
from vmmetrics.metrics import cas, mss, ois, pas, tcs
from vmmetrics.perception.presets import Wanted, load_preset, with_cas_model
from vmmetrics.perception.scene import Scene
from vmmetrics.types import METRICS, AmplitudeResult, MetricResult, Protocol, Tags
from vmmetrics.video import read_clip

Measure = Callable[[Scene, Protocol, Mapping[str, MetricResult]], MetricResult]


def _measure_mss(scene: Scene, protocol: Protocol, earlier: Mapping[str, MetricResult]) -> MetricResult:
    amplitude = earlier.get("pas")
    return mss.measure(scene, protocol, amplitude.amplitude if isinstance(amplitude, AmplitudeResult) else None)


# PAS stands first because MSS chooses its threshold by it; the rest are independent of one another.
_MEASURES: dict[str, Measure] = {
    "pas": lambda scene, protocol, _: pas.measure(scene, protocol),
    "mss": _measure_mss,
    "ois": lambda scene, protocol, _: ois.measure(scene, protocol),
    "tcs": lambda scene, protocol, _: tcs.measure(scene, protocol),
    "cas": lambda scene, _, __: cas.measure(scene),
}


# What these metrics look at needs little of the others' perception and can run beside it.
_INDEPENDENT = {"ois": ("poses",), "mss": ("unsteadiness", "quality")}


def attempt(
    key: str, measure: Callable[[], MetricResult], results: dict[str, MetricResult], errors: dict[str, str]
) -> None:
    """Put what ``measure`` gives under ``key``; its fault, whatever it is, must not cost the clip its other scores."""
    try:
        results[key] = measure()
    except (ClipError, SetupError) as error:
        errors[key] = str(error)
    except Exception as error:
        errors[key] = f"{type(error).__name__}: {error}"


def _ask(scene: Scene, names: Sequence[str]) -> None:
    """Have the scene compute abilities; where one fails, the metric that needs it is told."""
    for name in names:
        with suppress(Exception):
            getattr(scene, name)


def _too_short(clip: Clip) -> list[str]:
    """What to note where a clip ends before its motion can have been seen to succeed."""
    needed, lasts = clip.tags.get("seconds"), float(clip.timestamps[-1]) + 1 / clip.fps
    if not isinstance(needed, int | float) or lasts >= needed - 0.5 / clip.fps:
        return []
    return [f"the clip lasts {lasts:.1f} s, and its prompt's motion is expected to take {needed:g} s"]


@dataclass(frozen=True, slots=True)
class ClipScores:
    """What one clip got.

    Attributes:
        name: The clip's name.
        results: A result per metric that ran, scored or missing.
        errors: Why a metric failed, by metric; such a metric has no result.
        seconds: Wall time, decoding included.
        notes: What the reader had to assume or change, and what the models had to do to fit this machine.
    """

    name: str
    results: dict[str, MetricResult]
    errors: dict[str, str]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def scores(self) -> dict[str, float]:
        """The scores that are there, by metric."""
        return {k: r.score for k, r in self.results.items() if r.score is not None}

    @property
    def missing(self) -> dict[str, str]:
        """Why there is no score, by metric; a missing score is no failure, and :attr:`results` tells what applies."""
        return {k: r.missing for k, r in self.results.items() if r.missing is not None}

    @property
    def amplitude(self) -> float | None:
        """PAS's amplitude before its threshold, where PAS was scored."""
        result = self.results.get("pas")
        return result.amplitude if isinstance(result, AmplitudeResult) else None


class Suite:
    """Scores clips with one preset, protocol and set of metrics.

    Args:
        preset: Which models: ``"embedded"`` (needs no download) or ``"vmbench"`` (the published ones).
        protocol: Which definition: ``"vmmetrics"``, or ``"vmbench"`` for the released code's.
        metrics: Keys of the metrics wanted.
        cas_model: Checkpoint of a commonsense classifier to use instead of the preset's (see
            :func:`~vmmetrics.perception.presets.with_cas_model`).
        threads: Threads for the neural models; None leaves it to them.

    Raises:
        ValueError: Unknown protocol or metric.
        SetupError: The preset cannot run here; the text says what mends it.

    Example:
        >>> import numpy as np
        >>> still = np.full((8, 64, 64, 3), 128, np.uint8)
        >>> Suite(metrics=("pas",)).score_clip(still, fps=8).scores
        {'pas': 0.0}
    """

    def __init__(
        self,
        preset: str = "embedded",
        protocol: Protocol = "vmmetrics",
        metrics: Sequence[str] = METRICS,
        *,
        cas_model: str | os.PathLike[str] | None = None,
        threads: int | None = None,
    ) -> None:
        if protocol not in get_args(Protocol):
            raise ValueError(f"Expected protocol to be one of {get_args(Protocol)} but got {protocol!r}")
        unknown = [m for m in metrics if m not in METRICS]
        if unknown or not metrics:
            raise ValueError(f"Expected metrics among {METRICS} but got {tuple(metrics)}")
        self.preset = preset
        self.protocol: Protocol = protocol
        self.metrics = tuple(m for m in METRICS if m in metrics)
        wanted = [m for m in self.metrics if m != "cas" or cas_model is None]
        self._preset = load_preset(preset, Wanted(tuple(wanted), protocol, threads))
        if cas_model is not None:
            self._preset = with_cas_model(self._preset, Path(cas_model))

    def describe(self) -> dict[str, Any]:
        """Return what produces these scores, ready for JSON: models, weights, settings, comparability."""
        return {
            "preset": self.preset,
            "protocol": self.protocol,
            "metrics": list(self.metrics),
            "models": dict(self._preset.description),
            "weights": dict(self._preset.weights),
            "motion_index": INDEX_VERSION,
            "comparable": self._preset.published_models and self.protocol == "vmbench",
            "label": self.label,
        }

    @property
    def label(self) -> str:
        """One line to stand beside every score: preset, protocol, and what it may be compared with."""
        text = f"preset {self.preset}, protocol {self.protocol}"
        if self._preset.published_models and self.protocol == "vmbench":
            return text
        return f"{text}: not comparable with published VMBench numbers"

    @property
    def reads_ahead(self) -> bool:
        """Whether it pays to read the next clip while one is scored."""
        return self._preset.reads_ahead

    def scene(self, clip: Clip) -> Scene:
        """Return the shared perception of a clip, for drawing or for metrics of one's own."""
        return Scene(clip, self._preset.models)

    def score_clip(
        self,
        clip: Any,
        *,
        fps: float | None = None,
        prompt: str | None = None,
        subject: Subject | str | None = None,
        tags: Tags | None = None,
        layout: str | None = None,
        name: str | None = None,
    ) -> ClipScores:
        """Score one clip.

        Args:
            clip: A :class:`Clip`, a path, or frames as a numpy array or torch tensor.
            fps: Frames per second of an array.
            prompt: Text the clip was generated from.
            subject: Who or what it is about.
            tags: What is known of the motion asked for (``{"skeleton": "none"}``: no body, so OIS does not apply).
            layout: Axes of an array, ``"THWC"``, ``"TCHW"``, ``"CTHW"``; None guesses where that is safe.
            name: What to call it.

        Returns:
            Scores, missing scores with reasons, and failures with reasons.

        Raises:
            ClipError: The clip cannot be read.
        """
        start = time.perf_counter()
        if not isinstance(clip, Clip):
            clip = read_clip(clip, fps=fps, layout=layout, name=name, prompt=prompt, subject=subject, tags=tags)
        scores = self.score_scene(self.scene(clip))
        return replace(scores, seconds=time.perf_counter() - start)

    def score_scene(self, scene: Scene) -> ClipScores:
        """Score a clip whose perception is at hand, adding to it only what is still missing."""
        start = time.perf_counter()
        results: dict[str, MetricResult] = {}
        errors: dict[str, str] = {}
        with ThreadPoolExecutor(max_workers=1) as pool:
            if self._preset.side_by_side:
                pool.submit(_ask, scene, self._independent(scene.clip))
            for key in self._order():
                attempt(key, partial(_MEASURES[key], scene, self.protocol, results), results, errors)
        return ClipScores(
            name=scene.clip.name,
            results={k: results[k] for k in self.metrics if k in results},
            errors={k: errors[k] for k in self.metrics if k in errors},
            seconds=time.perf_counter() - start,
            notes=(*scene.clip.notes, *scene.models.notes, *_too_short(scene.clip)),
        )

    def _independent(self, clip: Clip) -> list[str]:
        names = [name for key, names in _INDEPENDENT.items() if key in self.metrics for name in names]
        if self.protocol == "vmmetrics":
            return [name for name in names if name != "poses" or ois.expects_body(clip)]
        return [name for name in names if name != "unsteadiness"]

    def _order(self) -> list[str]:
        wanted = set(self.metrics)
        if "mss" in wanted:
            wanted.add("pas")
        return [key for key in _MEASURES if key in wanted]
