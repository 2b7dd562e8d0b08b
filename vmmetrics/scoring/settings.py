"""Settings of a run: one frozen object, written into the run directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any
from typing import Protocol as Interface

from vmmetrics.metrics import METRICS
from vmmetrics.metrics.registry import find, in_order, load_plugins, registered
from vmmetrics.scoring.own_index import register_index
from vmmetrics.types import Protocol
from vmmetrics.utils.storage.provenance import decisive_versions
from vmmetrics.utils.storage.scratch import Scratch
from vmmetrics.video import ASSUME_FPS
from vmmetrics.video.budget import DEFAULT_MAX_MEMORY
from vmmetrics.video.pixels import Sampling

if TYPE_CHECKING:
    from vmmetrics.clip import Clip
    from vmmetrics.perception.scene import Scene
    from vmmetrics.scoring.clip_scores import ClipScores

SUITE = "vmmetrics.scoring.suite:Suite"
"""Class that scores, as ``module:name``, imported by worker processes."""
KEPT_OVERLAYS = 1000
"""Clips of a run up to which overlays are kept unless asked otherwise: about 10 MB; more would be many small files."""


class Scoring(Interface):
    """Interface of the class that scores clips: :class:`vmmetrics.scoring.suite.Suite`, or the baselines."""

    @property
    def reads_ahead(self) -> bool:
        """True if reading the next clip while one is scored saves time."""

    def describe(self) -> dict[str, Any]:
        """Return the settings and versions that every score depends on."""

    def scene(self, clip: Clip) -> Scene:
        """Return the shared perception of a clip."""

    def score_scene(self, scene: Scene) -> ClipScores:
        """Score a clip whose perception is at hand."""

    def score_clip(self, clip: Any, *, fps: float | None = None, layout: str | None = None) -> ClipScores:
        """Score one clip, read or still an array."""


def reading_options(assume_fps: float | None = None, max_memory: int | None = None) -> tuple[tuple[str, Any], ...]:
    """Return the reader's options, by name, with defaults filled in, as they go into the run's configuration."""
    fps = ASSUME_FPS if assume_fps is None else assume_fps
    return ("assume_fps", fps), ("max_memory", DEFAULT_MAX_MEMORY if max_memory is None else max_memory)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings for reading and scoring clips.

    Attributes:
        preset: Name of the set of models.
        protocol: Definition of the metrics, ``"vmmetrics"`` or ``"vmbench"``.
        metrics: Keys of the metrics; more may be added to a run later.
        reading: Options of :func:`vmmetrics.video.read_clip` that were given (``assume_fps``, ``max_memory``).
        cas_model: Checkpoint of a commonsense classifier to use instead of the preset's, or None.
        threads: Threads per process for the neural models; never changes a score.
        suite: Class that scores, as ``module:name``.
        plugins: Python files that register metrics of one's own; every worker runs them.
        tf32: Allow a GPU to round float32 matrix products to TF32.
        scratch: Folder for downloads of clips until they are read; never changes a score.
        keep_overlays: Store masks, tracks and poses for drawing; None does in runs of up to :data:`KEPT_OVERLAYS`
            clips. Never changes a score.
        index: File of ``vmmetrics calibrate``, whose index is among the metrics then; every worker reads it.
        tripwires: Put tripwires (:mod:`vmmetrics.functional.tripwires`) among the events. Never changes a score.

    Raises:
        ValueError: No metric, or an unknown one.
    """

    preset: str = "embedded"
    protocol: Protocol = "vmmetrics"
    metrics: tuple[str, ...] = METRICS
    reading: tuple[tuple[str, Any], ...] = reading_options()
    cas_model: str | None = None
    threads: int | None = None
    suite: str = field(default_factory=lambda: SUITE)
    plugins: tuple[str, ...] = ()
    tf32: bool = False
    scratch: Scratch = Scratch()  # noqa: RUF009 - frozen
    keep_overlays: bool | None = None
    tripwires: bool = False
    index: str | None = None

    def __post_init__(self) -> None:
        load_plugins(self.plugins)
        if self.index is not None:
            object.__setattr__(self, "metrics", (*self.metrics, register_index(self.index).name))
        available = self.available_metrics()
        unknown = sorted(set(self.metrics).difference(available))
        if unknown or not self.metrics:
            got = repr(unknown[0]) if unknown else "none"
            raise ValueError(f"Expected metrics among {', '.join(available)} but got {got}")
        object.__setattr__(self, "metrics", tuple(metric for metric in available if metric in self.metrics))

    @property
    def sampling(self) -> Sampling | None:
        """Frames that are read of a clip, and their size; None for all as they are."""
        return None

    def available_metrics(self) -> tuple[str, ...]:
        """Return the registered metrics, in their order."""
        return in_order(registered())

    def build(self, metrics: tuple[str, ...] | None = None) -> Scoring:
        """Load the models.

        Raises:
            ValueError: Unknown preset, protocol or metric.
            SetupError: Something the preset needs is missing here.
        """
        load_plugins(self.plugins)  # in a worker, too
        module, _, name = self.suite.partition(":")
        make: Callable[..., Scoring] = getattr(import_module(module), name)
        chosen = self.metrics if metrics is None else metrics
        options: dict[str, Any] = {"tf32": True} if self.tf32 else {}  # baselines and others' suites have none
        if self.index is not None and register_index(self.index).name in chosen:
            options["index"] = self.index
        return make(self.preset, self.protocol, chosen, cas_model=self.cas_model, threads=self.threads, **options)

    def configuration(self, suite: Scoring) -> dict[str, Any]:
        """Return everything a score depends on besides the clip: what two sessions of one run must share."""
        described = {name: value for name, value in suite.describe().items() if name != "metrics"}
        return {**described, "reading": dict(self.reading), "versions": decisive_versions()}

    def parts(self, suite: Scoring) -> Mapping[str, Mapping[str, Any]]:  # noqa: ARG002
        """Return what single scores depend on, by metric: plugin metrics, with the plugin that registered them."""
        return {key: metric.describe() for key in self.metrics if key not in METRICS and (metric := find(key))}
