"""Two lists side by side, and how varied they are at equal size.

Counts of distinct things, shared openings, self-BLEU and neighbours all change with the number of prompts alone. So
both lists are cut to one size, many times at random without replacement; a list that has no more than that counts as it
is. The intervals are about which prompts were drawn, not about other lists that might have been written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.prompts.metadata import Metadata
from vmmetrics.prompts.statistics.measures import FIGURES, Figure, Taken, by_words, measure
from vmmetrics.prompts.statistics.report import SEED, ListStatistics, Prepared, describe
from vmmetrics.utils.schema import plain

DRAWS = 200
"""Subsets of each list: the ends of a 95 % interval stand on five of them."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure of a list at the common size.

    Attributes:
        mean: Over subsets.
        low: 2.5th percentile.
        high: 97.5th percentile.
        draws: Subsets; 1 where the list has no more prompts than a subset.
    """

    mean: float
    low: float
    high: float
    draws: int


@dataclass(frozen=True, slots=True)
class Paired:
    """A figure of both lists at the common size.

    Attributes:
        first: Of the first list.
        second: Of the second.
        more_varied: Share of pairs of subsets in which the first list's is the better value, ties counting half.
    """

    first: Spread
    second: Spread
    more_varied: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two lists.

    Attributes:
        first: All of the first list.
        second: All of the second.
        size: Prompts of a subset.
        figures: Key of :data:`~vmmetrics.prompts.statistics.measures.FIGURES` to the figure; those that both
            lists know.
        notes: What must be known to read them.
    """

    first: ListStatistics
    second: ListStatistics
    size: int
    figures: Mapping[str, Paired]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        equal = {"size": self.size, "figures": plain(self.figures), "notes": list(self.notes)}
        return {"first": self.first.to_json(), "second": self.second.to_json(), "at_equal_size": equal}


def compare(
    first: Prepared,
    second: Prepared,
    metadata: Metadata | None,
    *,
    size: int | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Comparison:
    """Hold two lists against each other.

    Args:
        first: One, from :func:`~vmmetrics.prompts.statistics.report.prepare`.
        second: The other.
        metadata: For plausibility; None leaves it out.
        size: Prompts of a subset; None takes the smaller list's, or its sample's.
        draws: Subsets of each list.
        seed: Of the subsets.

    Raises:
        SetupError: A list (or its sample) has fewer prompts than ``size``, or than two.
    """
    most = min(len(first.sampled), len(second.sampled))
    size = most if size is None else size
    if not 2 <= size <= most:
        raise SetupError(f"Expected a size from 2 to {most}, the prompts that both lists have, but got {size}")
    pieces, notes = _alike(first, second)
    generator = np.random.default_rng(seed)
    measured = [_draw(taken, size, draws, generator) for taken in pieces]
    figures = {
        figure.key: _paired(figure, measured[0][figure.key], measured[1][figure.key])
        for figure in FIGURES
        if all(figure.key in found for found in measured)
    }
    return Comparison(describe(first, metadata, seed=seed), describe(second, metadata, seed=seed), size, figures, notes)


def _alike(first: Prepared, second: Prepared) -> tuple[tuple[Taken, Taken], tuple[str, ...]]:
    """Both lists' pieces with their actions told apart in the same way."""
    sources = {first.sample.source, second.sample.source}
    if "words" in sources:
        pieces = by_words(first.sample, first.sampled), by_words(second.sample, second.sampled)
        return pieces, ("actions are told apart by their words, since base forms are not known on both sides",)
    note = "base forms of actions: the parser's where the list has none" if "parsed" in sources else ""
    return (first.sample, second.sample), (note,) if note else ()


def _draw(taken: Taken, size: int, draws: int, generator: np.random.Generator) -> dict[str, list[float]]:
    number = len(taken.words.lengths)
    found: dict[str, list[float]] = {}
    for _ in range(1 if size == number else draws):
        kept = np.zeros(number, bool)
        kept[generator.choice(number, size, replace=False)] = True
        for key, value in measure(taken, kept).items():
            found.setdefault(key, []).append(value)
    return found


def _paired(figure: Figure, first: list[float], second: list[float]) -> Paired:
    difference = np.subtract.outer(first, second) if figure.more else np.subtract.outer(second, first)
    better = np.mean(difference > 0) + np.mean(difference == 0) / 2
    return Paired(_spread(first), _spread(second), float(better))


def _spread(values: list[float]) -> Spread:
    low, high = np.percentile(values, (2.5, 97.5))
    return Spread(float(np.mean(values)), float(low), float(high), len(values))
