"""The chosen baselines and their values of one clip after another: counterpart of :class:`vmmetrics.Suite`."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from vmmetrics.alignment.baselines.catalogue import BASELINES, FAMILIES, ONE_FRAME, BaselineMeasure, Loaded, chosen
from vmmetrics.perception.presets import EMBEDDED_FLOW, Preset, embedded_models
from vmmetrics.perception.scene import Scene
from vmmetrics.scoring.clip_scores import ClipScores
from vmmetrics.scoring.run import Run, Start
from vmmetrics.scoring.session import Listener
from vmmetrics.scoring.settings import Scoring, Settings, reading_options
from vmmetrics.scoring.suite import Suite, attempt
from vmmetrics.scoring.table import Table
from vmmetrics.scoring.tasks import Inputs
from vmmetrics.types import MetricResult
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.weights.manifest import load_manifest, weight_path

PRESET = "baselines"
"""Preset name in the records of baselines."""
LABEL = "baselines, each in its own unit: not VMBench's metrics"


class BaselineSuite(Suite):
    """Suite that measures clips by baselines.

    Args:
        names: Baselines and families (see :mod:`vmmetrics.alignment.baselines.catalogue`); None takes all that
            need no download, and those in ``resources``.
        resources: What families need from the user, by name of the family.
        threads: Threads for the neural models; None leaves it to them.

    Raises:
        ValueError: No such baseline.
        SetupError: A package or file is missing; the text says how to install it.

    Example:
        >>> import numpy as np
        >>> still = np.full((8, 64, 64, 3), 128, np.uint8)
        >>> BaselineSuite(["ssim", "frame_difference"]).score_clip(still, fps=8).scores
        {'ssim': 1.0, 'frame_difference': 0.0}
    """

    whole_clips = True

    def __init__(
        self,
        names: Sequence[str] | None = None,
        resources: Mapping[str, Any] | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        resources = resources or {}
        self.metrics = chosen(names, tuple(resources))
        self._preset = Preset(embedded_models(threads), {"flow": EMBEDDED_FLOW}, {}, published_models=False)
        self._measures: dict[str, BaselineMeasure] = {}
        self.parts: dict[str, dict[str, Any]] = {}
        for name in self.metrics:
            baseline = BASELINES[name]
            if baseline.measure is not None:
                self._measures[name] = baseline.measure
            for file in baseline.weights:
                weight_path(file)  # verified now, before the first clip
            part = {field: getattr(baseline, field) for field in ("unit", "lower_is_better", "source")}
            hashes = {file: load_manifest()[file].sha256 for file in baseline.weights}
            self.parts[name] = {**part, "weights": hashes} if hashes else part
        for family in dict.fromkeys(filter(None, (BASELINES[name].family for name in self.metrics))):
            module, _, function = FAMILIES[family].partition(":")
            load = getattr(import_module(f"vmmetrics.alignment.baselines.{module}"), function)
            loaded: Loaded = load(resources.get(family), threads)
            for name in (name for name in self.metrics if BASELINES[name].family == family):
                self._measures[name] = loaded[0][name]
                self.parts[name] |= loaded[1]

    def describe(self) -> dict[str, Any]:
        """Return what every value depends on, ready for JSON; :attr:`parts` has what single ones depend on."""
        return {
            "preset": PRESET,
            "protocol": "vmmetrics",  # whose pictures and flow they share
            "models": dict(self._preset.description),
            "weights": {},
            "comparable": False,
            "label": LABEL,
        }

    def score_scene(self, scene: Scene, metrics: Collection[str] | None = None) -> ClipScores:
        """Measure a clip whose perception is at hand, adding to it only what is still missing."""
        start = time.perf_counter()
        results: dict[str, MetricResult] = {}
        errors: dict[str, str] = {}
        for name in self.metrics if metrics is None else metrics:
            attempt(name, partial(self._result, name, scene), results, errors)
        return ClipScores(scene.clip.name, results, errors, time.perf_counter() - start, scene.clip.notes)

    def _result(self, name: str, scene: Scene) -> MetricResult:
        alone = BASELINES[name].compares and len(scene.clip) < 2
        value = ONE_FRAME if alone else self._measures[name](scene)
        return MetricResult(None, value) if isinstance(value, str) else MetricResult(value)


# The configuration of a run of baselines, for the machinery that runs the metrics.


@dataclass(frozen=True, slots=True)
class BaselineSettings(Settings):
    """Settings of a run of baselines.

    Attributes:
        preset: Always ``"baselines"``.
        metrics: Names of baselines, as :func:`vmmetrics.alignment.baselines.catalogue.chosen` gives them.
        resources: What families need from the user, by name of the family.
    """

    preset: str = PRESET
    metrics: tuple[str, ...] = tuple(BASELINES)
    keep_overlays: bool | None = False
    resources: tuple[tuple[str, Any], ...] = ()

    def available_metrics(self) -> tuple[str, ...]:
        """Return the baselines there are."""
        return tuple(BASELINES)

    def build(self, metrics: tuple[str, ...] | None = None) -> Scoring:
        """Load what the baselines need.

        Raises:
            SetupError: A package or file is missing.
        """
        return BaselineSuite(self.metrics if metrics is None else metrics, dict(self.resources), threads=self.threads)

    def configuration(self, suite: Scoring) -> dict[str, Any]:
        """Return everything every value depends on besides the clip."""
        shared = Settings.configuration(self, suite)
        code = provenance.source_hash(provenance.PACKAGE, ("alignment/baselines",))  # their values have no version
        shared["versions"]["baselines"] = code
        return shared

    def parts(self, suite: Scoring) -> Mapping[str, Mapping[str, Any]]:
        """Return the unit, direction and models of each baseline."""
        assert isinstance(suite, BaselineSuite)  # noqa: S101  (built by this class)
        return suite.parts


# Baselines from Python: one function for a folder, a list of files, or arrays.


def measure(
    clips: Any,
    *,
    only: Sequence[str] | None = None,
    resources: Mapping[str, Any] | None = None,
    prompts: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int = 0,
    shard: tuple[int, int] = (1, 1),
    fps: float | None = None,
    layout: str | None = None,
    assume_fps: float | None = None,
    max_memory: int | None = None,
    follow_links: bool = True,
    listener: Listener | None = None,
) -> Table:
    """Measure clips by baselines; everything else is as :func:`vmmetrics.score` has it.

    Args:
        clips: A file, a folder, an array or tensor, a :class:`~vmmetrics.clip.Clip`, or a list of one kind.
        only: Names of baselines and families; None takes all that need no download, and those in ``resources``.
        resources: What families need from the user, by name of the family (docs/baselines.md).
        prompts: Prompt list for clips on disk; None looks beside them.
        out: Run directory to keep everything in and to resume from; None keeps nothing.
        jobs: Worker processes; 0 measures in this process.
        shard: (i, n) takes the i-th of n parts, i from 1.
        fps: Frames per second of arrays.
        layout: Axes of arrays.
        assume_fps: Frames per second where a source states none.
        max_memory: Bytes that one clip may take.
        follow_links: Whether symlinks may lead out of the folders given; those that do are errors otherwise.
        listener: Called with every clip that is done.

    Raises:
        ValueError: No such baseline, or a shard that does not exist.
        SetupError: A path does not exist, something a baseline needs is missing, or ``out`` holds another run.
        ClipError: An array is no clip.
    """
    settings = BaselineSettings(
        metrics=chosen(only, tuple(resources or ())),
        reading=reading_options(assume_fps, max_memory),
        resources=tuple((resources or {}).items()),
    )
    run = Run(
        Inputs(clips, prompts, follow_links=follow_links, fps=fps, layout=layout),
        settings,
        Start(jobs, shard=None if shard == (1, 1) else shard),
        None if out is None else Path(out),
    )
    run.find()
    return run.score(listener)
