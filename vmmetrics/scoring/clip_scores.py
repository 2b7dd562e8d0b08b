"""The scores of one clip, as a suite returns them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vmmetrics.functional.motion_index import INDEX_METRICS, motion_index
from vmmetrics.metrics.registry import find, label, version_of
from vmmetrics.scoring.anchors import INDEX, Place, Scale, rounded
from vmmetrics.scoring.record import WindowScores
from vmmetrics.types import MetricResult, Protocol


def indexes(
    metrics: Iterable[str], results: Mapping[str, MetricResult], own_change: float | None
) -> dict[str, MetricResult]:
    """Return the indexes of one's own among some metrics, from the results of the others."""
    known = ((key, find(key)) for key in metrics)
    return {key: metric.compute(results, own_change) for key, metric in known if metric and metric.is_index}


@dataclass(frozen=True, slots=True, repr=False)
class ClipScores:
    """The scores of one clip.

    Attributes:
        name: The clip's name.
        results: A result per metric that ran, scored or missing.
        errors: Error message of each failed metric, which has no result.
        seconds: Wall time, decoding included.
        notes: Notes on assumptions of the reader and on the models' use of this machine.
        own_change: Share of the frame that changes as no picture moved as a whole would; None where CAS or protocol
            ``vmmetrics`` was not asked for, or there is no motion to judge.
        protocol: Definition of the metrics.
        scale: The table of real footage that the scores have their places in.
        windows: The windows whose scores were combined (:mod:`vmmetrics.scoring.windows`), or the one these scores are
            of; none of a clip that was scored whole.
    """

    name: str
    results: dict[str, MetricResult]
    errors: dict[str, str]
    seconds: float
    notes: tuple[str, ...] = ()
    own_change: float | None = None
    protocol: Protocol = "vmmetrics"
    scale: Scale = field(default_factory=Scale, compare=False)
    windows: tuple[WindowScores, ...] = ()

    @property
    def scores(self) -> dict[str, float]:
        """Scores by metric, without missing ones."""
        return {k: r.score for k, r in self.results.items() if r.score is not None}

    @property
    def missing(self) -> dict[str, str]:
        """Reasons of missing scores by metric; a missing score is no failure."""
        return {k: r.missing for k, r in self.results.items() if r.missing is not None}

    @property
    def amplitude(self) -> float | None:
        """Amplitude of PAS before its threshold, or None where PAS has no score."""
        return next((r.numbers["amplitude"] for r in self.results.values() if "amplitude" in r.numbers), None)

    @property
    def index(self) -> float | None:
        """Overall index (:func:`vmmetrics.functional.motion_index`), or None, as :attr:`index_missing` says."""
        return self._index().score

    @property
    def index_missing(self) -> str | None:
        """Reason why there is no index, or None."""
        return self._index().missing

    @property
    def places(self) -> dict[str, Place]:
        """Place among real footage and uncertainty, by metric, of the index as ``"motion_index"``; PAS has none."""
        return self.scale.places({**self.scores, INDEX: self.index}, {key: version_of(key) for key in self.scores})

    def _index(self) -> MetricResult:
        if self.protocol != "vmmetrics":
            return MetricResult(None, f"protocol {self.protocol} has none")  # the released scores leave 0..1
        parts = {key: score for key, score in self.scores.items() if key in INDEX_METRICS}
        return motion_index(parts, self.own_change)

    def __repr__(self) -> str:
        index = self.index
        scores = self.scores if index is None else {**self.scores, INDEX: index}
        widths = {key: place.half_width for key, place in self.places.items()}
        shown = [f"{label(key)} {rounded(score, widths.get(key))}" for key, score in scores.items()]
        shown += [f"{label(key)} missing" for key in self.missing] + [f"{label(key)} failed" for key in self.errors]
        return f"ClipScores({self.name!r}: {', '.join(shown) or 'no score'})"
