"""Lowest means that a run has to reach, the share of clips that it may leave unjudged, and whether it does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vmmetrics.metrics.registry import find
from vmmetrics.scoring.leaderboard import head
from vmmetrics.scoring.own_index import zeroed
from vmmetrics.scoring.record import Collapsed
from vmmetrics.scoring.summary import INDEX, INDEX_OR_ZERO, Summary
from vmmetrics.scoring.table import Table
from vmmetrics.types import INDEX_NEEDS, IntArray
from vmmetrics.utils.statistics.paired import Mean

MOST_MISSING = 0.1
"""Share of unjudged clips (:meth:`vmmetrics.scoring.record.Record.unjudged_in`) up to which a gate passes."""


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
        mean: Over the clips with a score, and with collapsed ones as 0 where they count; None where there is none.
        clips: All of its clips.
        collapsed: How many count as 0.
        judged: The mean without these.
    """

    threshold: Threshold
    model: str | None
    mean: Mean | None
    clips: int
    collapsed: int = 0
    judged: Mean | None = None

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
        if self.collapsed:
            others = f"{self.judged.mean:.4f} of the {self.judged.clips} judged" if self.judged else "none judged"
            over += f", with {self.collapsed} collapsed as 0 ({others})"
        gap = self.mean.mean - self.threshold.least
        margin = f"{abs(gap):.4f} {'under' if gap < 0 else 'above'} {self.threshold.least:g}"
        return f"{'passed' if self.passed else 'failed'}: {of} {self.mean.mean:.4f}{interval} {over}, {margin}"


@dataclass(frozen=True, slots=True)
class MissingCheck:
    """Clips of a model, or of all, that are unjudged in a metric (:meth:`vmmetrics.scoring.record.Record.unjudged_in`).

    Attributes:
        most: Largest share that passes.
        model: The model; None for all clips.
        missing: How many they are.
        clips: All of its clips.
        metric: The metric, or ``"motion_index"``.
    """

    most: float
    model: str | None
    missing: int
    clips: int
    metric: str = INDEX

    @property
    def passed(self) -> bool:
        """True if their share is not above the largest that passes."""
        return not self.missing or self.missing / self.clips <= self.most  # 0.29 * 100 is below 29, 29 / 100 is 0.29

    @property
    def allowed(self) -> str:
        """The share that passes, and its option."""
        return f"allowed: {100 * self.most:.4g}% (--fail-missing)"

    def __str__(self) -> str:
        of = f" of {self.model}" if self.model is not None else ""
        name = head(self.metric)
        which = f"failed or have no {name} without having collapsed"
        if self.metric not in (INDEX, *INDEX_NEEDS):
            which = f"failed in {name}"
        passed = "passed" if self.passed else "failed"
        return f"{passed}: {self.missing} of {self.clips} clips{of} {which}; {self.allowed}"


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
    allowed = (*metrics, INDEX) if {*INDEX_NEEDS} <= {*metrics} else tuple(metrics)
    if metric not in allowed:
        needs = "; INDEX needs cas and mss" if metric == INDEX else ""
        raise ValueError(f"expected one of {', '.join(allowed)}, which are scored, but got {name!r}{needs}")
    if metric == INDEX and protocol != "vmmetrics":
        raise ValueError(f"there is no INDEX under protocol {protocol}")
    registered = find(metric)
    if registered is not None and not registered.higher_is_better:
        raise ValueError(f"less of {metric} is better, so it has no lower threshold")
    low, high = (0.0, 1.0) if registered is None else registered.range
    if protocol == "vmmetrics" and (metric == INDEX or registered is not None) and not low <= least <= high:
        hint = f"; {least:g} of 100 is {least / 100:g}" if high == 1 and 1 < least <= 100 else ""
        raise ValueError(f"{head(metric)} lies between {low:g} and {high:g}, so {least:g} says nothing{hint}")
    return Threshold(metric, least)


def judge(
    table: Table,
    thresholds: Sequence[Threshold],
    *,
    collapsed: Collapsed = "zero",
    most_missing: float | None = None,
) -> list[ThresholdCheck | MissingCheck]:
    """Compare each model, or all clips where there are not several models, with thresholds.

    Args:
        table: The records.
        thresholds: Lowest means.
        collapsed: ``"zero"`` counts the INDEX of collapsed clips as 0; ``"skip"`` leaves them out.
        most_missing: Largest share of clips unjudged in the metrics of the thresholds, in the index where there are
            none; None for :data:`MOST_MISSING` where there is a threshold, and no check where there is none.

    Returns:
        The checks of means, and of unjudged clips where there are any.
    """
    summary = table.summary
    parts: list[tuple[str | None, IntArray]] = [(None, np.arange(len(table)))]
    if len(summary.models) > 1:
        parts = [*summary.models.items()]
        alone = np.setdiff1d(np.arange(len(table)), np.concatenate([*summary.models.values()]))
        parts += [("clips without a model", alone)] if len(alone) else []
    own = [t.metric for t in thresholds if (known := find(t.metric)) and known.is_index]
    or_zero = Summary(zeroed(record, own) for record in table.records) if own and collapsed == "zero" else summary
    means = [(model, summary.mean(rows), or_zero.mean(rows), len(rows)) for model, rows in parts]
    checks: list[ThresholdCheck | MissingCheck] = []
    for t in thresholds:
        for model, mean, with_zeros, clips in means:
            judged, chosen = mean.get(t.metric), with_zeros.get(t.metric)
            if t.metric == INDEX and collapsed == "zero":
                chosen = mean.get(INDEX_OR_ZERO)
            zeros = (chosen.clips if chosen else 0) - (judged.clips if judged else 0)
            checks.append(ThresholdCheck(t, model, chosen, clips, zeros, judged))
    if thresholds or most_missing is not None:
        most = MOST_MISSING if most_missing is None else most_missing
        for metric in dict.fromkeys(INDEX if t.metric in own else t.metric for t in thresholds) or (INDEX,):
            counts = [(model, summary.unjudged(rows, metric), len(rows)) for model, rows in parts]
            checks += [MissingCheck(most, *count, metric) for count in counts if count[1]]
    return checks
