"""The configuration of a run: one small frozen object, written into the run directory as it ran."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vmmetrics.run.provenance import decisive_versions
from vmmetrics.types import METRICS, Protocol
from vmmetrics.video import ASSUME_FPS
from vmmetrics.video.budget import DEFAULT_MAX_MEMORY

if TYPE_CHECKING:
    from vmmetrics.suite import Suite

SUITE = "vmmetrics.suite:Suite"
"""Where worker processes find the class that scores, as ``module:name``."""


def reading_options(assume_fps: float | None = None, max_memory: int | None = None) -> dict[str, Any]:
    """Options of the reader, with its defaults where nothing is given: they belong into the run's configuration."""
    return {
        "assume_fps": ASSUME_FPS if assume_fps is None else assume_fps,
        "max_memory": DEFAULT_MAX_MEMORY if max_memory is None else max_memory,
    }


@dataclass(frozen=True, slots=True)
class Settings:
    """How clips are read and scored.

    Attributes:
        preset: Which models.
        protocol: Which definition.
        metrics: Which metrics; more may be added to a run later.
        reading: Options of :func:`vmmetrics.video.read_clip` that were given (``assume_fps``, ``max_memory``).
        cas_model: Checkpoint of a commonsense classifier to use instead of the preset's, or None.
        threads: Threads per process for the neural models; never changes a score.
        suite: Class that scores, as ``module:name``.

    Raises:
        ValueError: No metric, or an unknown one.
    """

    preset: str = "embedded"
    protocol: Protocol = "vmmetrics"
    metrics: tuple[str, ...] = METRICS
    reading: tuple[tuple[str, Any], ...] = tuple(reading_options().items())
    cas_model: str | None = None
    threads: int | None = None
    suite: str = field(default_factory=lambda: SUITE)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.metrics) - set(METRICS))
        if unknown or not self.metrics:
            found = repr(unknown[0]) if unknown else "none"
            raise ValueError(f"Expected metrics among {', '.join(METRICS)} but got {found}")
        object.__setattr__(self, "metrics", tuple(metric for metric in METRICS if metric in self.metrics))

    def build(self, metrics: tuple[str, ...] | None = None) -> Suite:
        """Load the models.

        Raises:
            ValueError: Unknown preset, protocol or metric.
            SetupError: Something the preset needs is missing here.
        """
        module, _, name = self.suite.partition(":")
        make: Callable[..., Suite] = getattr(import_module(module), name)
        chosen = self.metrics if metrics is None else metrics
        return make(self.preset, self.protocol, chosen, cas_model=self.cas_model, threads=self.threads)

    def configuration(self, suite: Suite) -> dict[str, Any]:
        """Everything a score depends on besides the clip: what two sessions of one run must share."""
        described = {name: value for name, value in suite.describe().items() if name != "metrics"}
        return {**described, "reading": dict(self.reading), "versions": decisive_versions()}
