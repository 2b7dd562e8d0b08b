"""Lowest means that a run has to reach, and whether it does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vmmetrics.metrics.registry import find
from vmmetrics.scoring.leaderboard import INDEX, head
from vmmetrics.scoring.table import Table
from vmmetrics.types import IntArray
from vmmetrics.utils.statistics.paired import Mean


@dataclass(frozen=True, slots=True)
class Threshold:
    """The lowest mean that passes.

    Attributes:
        metric: Key of the metric, or ``"motion_index"``.
        least: In the unit of its scores.
    """

    metric: str
    least: float


@dataclass(frozen=True, slots=True)
class ThresholdCheck:
    """A threshold and the mean of one model, or of all clips where there is but one.

    Attributes:
        threshold: What was asked for.
        model: The model; None for all clips.
        mean: Over the clips with a score; None where none has one.
        clips: All of its clips.
    """

    threshold: Threshold
    model: str | None
    mean: Mean | None
    clips: int

    @property
    def passed(self) -> bool:
        """True if there is a mean and it is not below the threshold."""
        return self.mean is not None and self.mean.mean >= self.threshold.least

    def __str__(self) -> str:
        name = head(self.threshold.metric)
        of = f"{name} of {self.model}" if self.model is not None else name
        if self.mean is None:
            none = "the clip has no score" if self.clips == 1 else f"none of {self.clips} clips has a score"
            return f"failed: {of}: {none}; required: at least {self.threshold.least:g}"
        interval = "" if self.mean.low is None else f" [{self.mean.low:.4f}, {self.mean.high:.4f}]"
        over = f"over {self.mean.clips} of {self.clips} clips"
        gap = self.mean.mean - self.threshold.least
        margin = f"{abs(gap):.4f} {'under' if gap < 0 else 'above'} {self.threshold.least:g}"
        return f"{'passed' if self.passed else 'failed'}: {of} {self.mean.mean:.4f}{interval} {over}, {margin}"


def read_threshold(text: str, metrics: Sequence[str], protocol: str = "vmmetrics") -> Threshold:
    """Read ``METRIC=NUMBER``.

    Args:
        text: The option; ``index`` stands for the motion index.
        metrics: The metrics that are scored.
        protocol: Definition of the metrics; the motion index exists under ``vmmetrics`` only.

    Raises:
        ValueError: It is not of that form, the metric is not scored, or lower values of it are better.

    >>> read_threshold("INDEX=0.5", ("cas", "mss"))
    Threshold(metric='motion_index', least=0.5)
    """
    name, equals, number = text.partition("=")
    metric = {"index": INDEX}.get(name.strip().lower(), name.strip().lower())
    try:
        least = float(number)
    except ValueError:
        least = math.nan
    if not equals or not math.isfinite(least):
        raise ValueError(f"expected METRIC=NUMBER, such as INDEX=0.5, but got {text!r}")
    allowed = (*metrics, INDEX) if {"cas", "mss"} <= set(metrics) else tuple(metrics)
    if metric not in allowed:
        needs = "; INDEX needs cas and mss" if metric == INDEX else ""
        raise ValueError(f"expected one of {', '.join(allowed)}, which are scored, but got {name!r}{needs}")
    if metric == INDEX and protocol != "vmmetrics":
        raise ValueError(f"there is no INDEX under protocol {protocol}")
    registered = find(metric)
    if registered is not None and not registered.higher_is_better:
        raise ValueError(f"less of {metric} is better, so it has no lower threshold")
    return Threshold(metric, least)


def judge(table: Table, thresholds: Sequence[Threshold]) -> list[ThresholdCheck]:
    """Compare the mean of each model, or of all clips where there are not several models, with each threshold."""
    summary = table.summary
    parts: list[tuple[str | None, IntArray]] = [(None, np.arange(len(table)))]
    if len(summary.models) > 1:
        parts = [*summary.models.items()]
        alone = np.setdiff1d(np.arange(len(table)), np.concatenate([*summary.models.values()]))
        parts += [("clips without a model", alone)] if len(alone) else []
    means = [(model, summary.mean(rows), len(rows)) for model, rows in parts]
    return [ThresholdCheck(t, model, mean.get(t.metric), clips) for t in thresholds for model, mean, clips in means]
