"""From names of metrics to who computes them."""

from __future__ import annotations

from collections.abc import Sequence

from vmmetrics.baselines.catalogue import chosen
from vmmetrics.baselines.settings import BaselineSettings
from vmmetrics.run.settings import Settings
from vmmetrics.types import METRICS

ALL_BASELINES = "baselines"
"""Stands for every baseline that needs nothing of the user's."""


def named_sources(names: Sequence[str], preset: str) -> list[Settings]:
    """Return who computes the metrics of these names: one source for all of ours, one for all baselines.

    Args:
        names: Keys of our metrics, baselines, or ``"baselines"``.
        preset: Models of ours.

    Raises:
        ValueError: An unknown name.
    """
    ours = tuple(name for name in METRICS if name in names)
    others = [name for name in names if name not in METRICS and name != ALL_BASELINES]
    sources = [Settings(preset, metrics=ours)] if ours else []
    try:
        baselines = chosen([*others, *(chosen(None) if ALL_BASELINES in names else ())])
    except ValueError as error:
        raise ValueError(f"No metric of ours ({', '.join(METRICS)}) and: {error}") from error
    return [*sources, *([BaselineSettings(metrics=baselines)] if baselines else [])]
