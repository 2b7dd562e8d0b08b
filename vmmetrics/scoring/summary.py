"""Counts, scores and reasons of many records, in columns of numbers: a few bytes a clip."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable

import numpy as np

from vmmetrics.metrics.registry import in_order, registered
from vmmetrics.scoring.record import FIRST_VERSION, Record
from vmmetrics.scoring.versions import differing
from vmmetrics.types import IntArray
from vmmetrics.utils.statistics.paired import MANY, Mean, mean_with_interval

INDEX = "motion_index"
_SOME = 100  # scores of a group of a large run from which on nothing is drawn
_NAMED = 3  # failures that are named
MOST_VALUES = 1000
"""Values of a tag from which on it has no breakdown; such a tag, for instance a seed, identifies clips."""


class Summary:
    """Counts and columns of some records, filled record by record.

    Args:
        records: The first of them.

    Attributes:
        clips: Number of records.
        failed: How many of them failed, as a whole or in one metric.
        failures: The first that failed: name and reason.
        reasons: By metric, how many records have no score for which reason, and whether it does not apply to them.
        telling: Name of the clip on disk with the lowest score of a metric whose low scores are faults, or None.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.clips = self.failed = 0
        self.failures: list[tuple[str, str]] = []
        self.reasons: dict[str, Counter[tuple[bool, str]]] = {}
        self.telling: str | None = None
        self._lowest = math.inf
        self._metrics: set[str] = set()
        self._versions: Counter[tuple[str, int]] = Counter()
        self._scores: dict[str, array[float]] = {}
        self._foreign: dict[str, bytearray] = {}
        self._groups: dict[str, tuple[dict[str | float, int], array[int]]] = {}
        available = registered()
        self._ours = available.keys()
        self._at_fault = {key for key, metric in available.items() if metric.low_is_fault}
        for record in records:
            self.add(record, record.motion_index)

    def add(self, record: Record, index: float | None) -> None:
        """Take in a record and its index."""
        scores = dict(record.scores)
        self._metrics.update(scores, record.missing, record.errors)
        if record.path and not record.error and not self._ours.isdisjoint(scores):
            lowest = min((score for metric, score in scores.items() if metric in self._at_fault), default=1)
            if lowest < self._lowest:
                self.telling, self._lowest = record.clip, lowest
        stated = record.score_version
        self._versions.update((metric, stated.get(metric, FIRST_VERSION)) for metric in record.scores)
        if index is not None:
            scores[INDEX] = index
        for metric, score in scores.items():
            column = self._scores.get(metric)
            if column is None or len(column) < self.clips:
                column = self._scores.setdefault(metric, array("d"))
                _pad(column, self.clips, math.nan)
            column.append(score)
        for metric in record.not_applicable:
            flags = self._foreign.setdefault(metric, bytearray())
            _pad(flags, self.clips, 0)
            flags.append(1)
        for metric, reason in record.missing.items():
            self.reasons.setdefault(metric, Counter())[metric in record.not_applicable, reason] += 1
        for name, value in record.tags.items():
            self._group(f"tag {name}", value)
        if record.model is not None:
            self._group("model", record.model)
        if record.failed:
            self.failed += 1
            if len(self.failures) < _NAMED:
                why = next(filter(None, [record.error, *record.errors.values()]))
                self.failures.append((record.clip, why))
        self.clips += 1

    def _group(self, name: str, value: str | float) -> None:
        codes, column = self._groups.setdefault(name, ({}, array("l")))
        if len(codes) >= MOST_VALUES and name != "model":
            return
        _pad(column, self.clips, -1)
        column.append(codes.setdefault(value, len(codes)))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that any record says anything about."""
        return in_order(self._metrics)

    @property
    def notes(self) -> list[str]:
        """Notes on metrics whose scores have several versions, and on tags with too many values for a breakdown."""
        counts = sorted(self._versions.items())
        sources = [(f"{n} clip{'s' * (n > 1)}", {metric: (version,)}) for (metric, version), n in counts]
        mixed = [f"metric versions differ: {text}" for text in differing(sources).values()]
        many = [tag for tag in self.tags if len(self._groups[f"tag {tag}"][0]) >= MOST_VALUES]
        return mixed + [f"tag {tag} has {MOST_VALUES:,} values or more: not in breakdown.csv" for tag in many]

    @property
    def indexed(self) -> bool:
        """True if any record has a motion index."""
        return INDEX in self._scores

    @property
    def tags(self) -> tuple[str, ...]:
        """Names of the tags that any record has, the pattern first."""
        names = (name.removeprefix("tag ") for name in self._groups if name != "model")
        return tuple(sorted(names, key=lambda name: (name != "pattern", name)))

    @property
    def models(self) -> dict[str, IntArray]:
        """Numbers of the records of each model, ascending, by its name."""
        return {str(model): rows for model, rows in self._rows("model").items()}

    def by_tag(self, name: str) -> dict[str | float, IntArray]:
        """Return numbers of the records with each value of a tag, ascending; none for :data:`MOST_VALUES` or more."""
        rows = self._rows(f"tag {name}")
        return rows if len(rows) < MOST_VALUES else {}

    def _rows(self, group: str) -> dict[str | float, IntArray]:
        codes, column = self._groups.get(group, ({}, array("l")))
        if not codes:
            return {}
        numbers = np.frombuffer(column, np.dtype("l"))
        order = np.argsort(numbers, kind="stable")
        ends = np.searchsorted(numbers[order], np.arange(-1, len(codes)), side="right")
        rows = np.split(order, ends[:-1])[1:]  # those without a value come first
        values = sorted(codes, key=lambda value: (isinstance(value, str), value))
        return {value: rows[codes[value]] for value in values}

    def mean(self, rows: IntArray | None = None, many: int | None = None) -> dict[str, Mean]:
        """Return mean and 95 % interval by metric, of the index too, where there is a score.

        Args:
            rows: Numbers of the records; None for all.
            many: As of :func:`mean_with_interval`; None for 100 in a large run.
        """
        if many is None and self.clips >= MANY:  # or the groups together would take as long as the whole
            many = _SOME
        means = {name: mean_with_interval(self._values(name, rows), many) for name in (*self.metrics, INDEX)}
        return {name: mean for name, mean in means.items() if mean is not None}

    def _values(self, name: str, rows: IntArray | None) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        column = self._scores.get(name, array("d"))
        _pad(column, self.clips, math.nan)
        scores = np.frombuffer(column, np.float64)
        chosen = scores if rows is None else scores[rows]
        return chosen[~np.isnan(chosen)]

    def foreign(self, metric: str, rows: IntArray | None = None) -> int:
        """Return how many of some records a metric does not apply to."""
        flags = self._foreign.get(metric, bytearray())
        _pad(flags, self.clips, 0)
        flagged = np.frombuffer(flags, np.uint8)
        return int(flagged.sum() if rows is None else flagged[rows].sum())


def _pad(column: array[float] | array[int] | bytearray, length: int, value: float) -> None:
    """Lengthen a column that the last records had nothing for."""
    if len(column) < length:
        column.extend([value] * (length - len(column)))  # type: ignore[list-item]
