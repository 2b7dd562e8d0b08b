"""Versions of metrics: scores of two versions are two quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from vmmetrics.metrics.registry import in_order, label
from vmmetrics.scoring.index import Kind
from vmmetrics.scoring.record import FIRST_VERSION, Record

T = TypeVar("T")
Versions = Mapping[str, tuple[int, ...]]
"""Versions of the scores by metric, ascending; usually one."""


def versions_of(records: Iterable[Record | Kind]) -> Versions:
    """Return the versions of the scores in some records, by metric."""
    by_metric: dict[str, set[int]] = {}
    for record in records:
        stated = record.versions if isinstance(record, Kind) else record.score_version
        metrics = record.settled if isinstance(record, Kind) else record.scores
        for metric in metrics:
            by_metric.setdefault(metric, set()).add(stated.get(metric, FIRST_VERSION))
    return {metric: tuple(sorted(by_metric[metric])) for metric in in_order(by_metric)}


def differing(sources: Sequence[tuple[str, Versions]]) -> dict[str, str]:
    """Return a text for every metric whose scores have several versions: the versions and their owners.

    Args:
        sources: Names of the sources of scores, and their versions.

    >>> differing([("a", {"pas": (1,), "tcs": (1,)}), ("b", {"pas": (2,)}), ("c", {"pas": (1,)})])
    {'pas': 'PAS: version 1 (a, c), 2 (b)'}
    """
    mixed = {}
    for metric in in_order(metric for _, versions in sources for metric in versions):
        owners: dict[int, list[str]] = {}
        for name, versions in sources:
            for version in versions.get(metric, ()):
                owners.setdefault(version, []).append(name)
        if len(owners) > 1:
            texts = (f"{version} ({', '.join(dict.fromkeys(names))})" for version, names in sorted(owners.items()))
            mixed[metric] = f"{label(metric)}: version {', '.join(texts)}"
    return mixed


def of_one_meaning(items: Iterable[T], meaning: Callable[[T], tuple[str, Versions]]) -> list[list[T]]:
    """Return items in groups within which every metric has one version."""
    groups: list[list[T]] = []
    for item in items:
        fits = (group for group in groups if not differing([meaning(other) for other in (*group, item)]))
        group = next(fits, None)
        if group is None:
            groups.append([item])
        else:
            group.append(item)
    return groups
