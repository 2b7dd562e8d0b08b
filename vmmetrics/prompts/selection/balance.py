"""A balanced subset of a prompt list, and how it compares with random ones of the same size and balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PATTERNS, PromptEntry
from vmmetrics.prompts.selection.selection import TAGS, Objective, exchange, greedy, objective_for

RANDOM_SUBSETS = 1000
_LARGEST_DRAW = 20_000_000
"""Prompts drawn for the random subsets altogether, a few seconds' worth; larger subsets are held against fewer."""

LONGEST_LIST = 20_000
"""Prompts that the facility location takes."""
REPRESENTED = 2_000
"""Prompts that the chosen must come near; of longer lists a seeded sample: 2,000 × 20,000 cosines take 160 MB."""


@dataclass(frozen=True, slots=True)
class AgainstRandom:
    """A figure of the chosen subset beside that of random ones.

    Attributes:
        chosen: Of the subset.
        mean: Mean over the random ones.
        low: Their 2.5th percentile.
        high: Their 97.5th percentile.
        better: Share of the random ones that are strictly better.
    """

    chosen: float
    mean: float
    low: float
    high: float
    better: float


@dataclass(frozen=True, slots=True)
class Selection:
    """A subset and what it is worth.

    Attributes:
        places: Of the chosen in the list, ascending.
        patterns: Prompts chosen of each pattern.
        parts: Term to its value for the subset and for random ones, within [0, 1], higher is better.
        objective: F, likewise.
        distances: Tag to the total variation between its proportions in the subset and in the list, within [0, 1],
            lower is better; empty where the list has no tags.
        mean_distance: Mean of those over tags, or None.
        random: How many random subsets.
    """

    places: tuple[int, ...]
    patterns: Mapping[str, int]
    parts: Mapping[str, AgainstRandom]
    objective: AgainstRandom
    distances: Mapping[str, AgainstRandom]
    mean_distance: AgainstRandom | None
    random: int


def select(
    entries: Sequence[PromptEntry],
    size: int,
    *,
    seed: int,
    balanced: bool = True,
    vectors: NDArray[np.float32] | None = None,
    random_subsets: int = RANDOM_SUBSETS,
) -> Selection:
    """Choose a subset by greedy cover.

    Args:
        entries: The list.
        size: Prompts to choose, at least 1 and at most all.
        seed: Of ties and of the random subsets.
        balanced: Give every pattern as many, up to one where ``size`` is no multiple of their number.
        vectors: (N, D) unit embeddings for the facility location, or None.
        random_subsets: How many to hold it against; fewer where they would be very large.

    Raises:
        SetupError: The list is empty, or the size cannot be had, or not in balance.
    """
    if not entries:
        raise SetupError("The list holds no prompts, so there is nothing to choose from")
    if not 1 <= size <= len(entries):
        raise SetupError(f"Expected a size from 1 to {len(entries)}, the prompts of the list, but got {size}")
    if vectors is not None and len(entries) > LONGEST_LIST:
        raise SetupError(f"The term on embeddings takes lists of up to {LONGEST_LIST} prompts but got {len(entries)}")
    groups, room = _groups(entries, size) if balanced else (np.zeros(len(entries), np.int64), [size])
    generator = np.random.default_rng(seed)
    represented = None
    if vectors is not None and len(entries) > REPRESENTED:
        represented = np.sort(generator.choice(len(entries), REPRESENTED, replace=False))
    objective = objective_for(entries, size, vectors=vectors, represented=represented)
    places = sorted(exchange(objective, groups, greedy(objective, groups, room, generator)))
    number = max(1, min(random_subsets, _LARGEST_DRAW // size))
    return _measured(entries, objective, [np.array(places), *_draws(groups, room, number, generator)])


def total_variation(part: NDArray[np.int64], whole: NDArray[np.int64]) -> float:
    """Half the summed absolute differences of two (V,) sets of counts, each taken as shares of its sum.

    >>> total_variation(np.array([1, 1]), np.array([3, 1]))
    0.25
    """
    return float(np.abs(part / part.sum() - whole / whole.sum()).sum() / 2)


def tag_distances(objective: Objective, places: Sequence[int] | NDArray[np.int64]) -> dict[str, float]:
    """Tag to the total variation between a choice and the list; without those that either does not know."""
    found: dict[str, float] = {}
    for facet in objective.facets:
        known = facet.labels[np.asarray(places, np.int64)]
        part = np.bincount(known[known >= 0], minlength=facet.quotas.size)
        if facet.name in TAGS and part.any():
            whole = np.bincount(facet.labels[facet.labels >= 0], minlength=facet.quotas.size)
            found[facet.name] = total_variation(part, whole)
    return found


def _groups(entries: Sequence[PromptEntry], size: int) -> tuple[NDArray[np.int64], list[int]]:
    counts = Counter(entry.pattern for entry in entries)
    if counts[""]:
        raise SetupError(
            f"{counts['']} of {len(entries)} prompts have no pattern to balance; --no-balance does without"
        )
    patterns = [pattern for pattern in PATTERNS if counts[pattern]]
    whole, left = divmod(size, len(patterns))
    largest = sorted(patterns, key=lambda pattern: -counts[pattern])[:left]
    room = [whole + (pattern in largest) for pattern in patterns]
    short = [f"{p} has {counts[p]} of {n}" for p, n in zip(patterns, room, strict=True) if counts[p] < n]
    if short:
        raise SetupError(f"Too few prompts for a balance over patterns: {'; '.join(short)}; --no-balance does without")
    return np.array([patterns.index(entry.pattern) for entry in entries], np.int64), room


def _draws(
    groups: NDArray[np.int64], room: Sequence[int], number: int, generator: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    members = [np.flatnonzero(groups == group) for group in range(len(room))]
    for _ in range(number):
        parts = [generator.choice(some, many, replace=False) for some, many in zip(members, room, strict=True)]
        yield np.concatenate(parts)


def _measured(entries: Sequence[PromptEntry], objective: Objective, draws: Sequence[NDArray[np.int64]]) -> Selection:
    """``draws``: the choice and after it random ones."""
    parts = [objective.parts(draw) for draw in draws]
    weights = {facet.name: facet.weight for facet in objective.facets} | {"likeness": objective.weight}
    values = [sum(weights[name] * value for name, value in part.items()) for part in parts]
    distances = [tag_distances(objective, draw) for draw in draws]
    names = [name for name in distances[0] if all(name in distance for distance in distances)]
    means = [float(np.mean([distance[name] for name in names])) for distance in distances] if names else []
    patterns = Counter(entries[place].pattern for place in draws[0])
    return Selection(
        places=tuple(draws[0].tolist()),
        patterns={pattern: patterns[pattern] for pattern in PATTERNS if patterns[pattern]},
        parts={name: _against([part[name] for part in parts], higher=True) for name in parts[0]},
        objective=_against(values, higher=True),
        distances={name: _against([distance[name] for distance in distances], higher=False) for name in names},
        mean_distance=_against(means, higher=False) if names else None,
        random=len(draws) - 1,
    )


def _against(values: Sequence[float], *, higher: bool) -> AgainstRandom:
    chosen, others = values[0], np.array(values[1:])
    better = others > chosen if higher else others < chosen
    low, high = np.percentile(others, (2.5, 97.5))
    return AgainstRandom(chosen, float(others.mean()), float(low), float(high), float(better.mean()))
