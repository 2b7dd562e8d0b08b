"""Selection of a subset with wide coverage and the list's proportions: greedy submodular maximisation.

    F(S) = Σ_g w_g · Σ_v min(|S_{g,v}|, quota_{g,v}) / full_g   +   w_r · Σ_i max_{j ∈ S} max(0, cos(i, j)) / N

The first sum runs over facets g of a prompt and their values v; S_{g,v} are the chosen prompts that have the value,
k is the requested size. *Covered* facets (action, subject, place, subject class, category, and each of the first three
within its pattern) have a quota of one, so that a second prompt with the same verb adds nothing. *Proportional* facets
(tags) have the list's share of k as quota, so that the term is full exactly at the list's proportions. full_g is the
maximum for k prompts, min(k, Σ_v quota), so that every term is in [0, 1]. The optional second sum is facility location:
how near the selected prompts are to every prompt of the list.

F is monotone and submodular. Greedy choice of k prompts reaches at least 1 − 1/e of the best value (Nemhauser, Wolsey
and Fisher, 1978), and 1/2 of it where each pattern has a quota of prompts of its own, a partition matroid (Fisher,
Nemhauser and Wolsey, 1978). "Lazy" greedy (Minoux, 1978) chooses the same prompts with few gains worked out. An
exchange of single prompts afterwards only adds to that.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PATTERNS, PromptEntry

TAGS = ("skeleton", "camera", "amplitude", "speed", "subjects", "interaction")
"""Tags whose proportions a subset preserves."""

COVERED: Mapping[str, Callable[[PromptEntry], Hashable]] = {
    "action": lambda entry: entry.action_lemma or entry.action,
    "subject": lambda entry: entry.subject_noun,
    "place": lambda entry: entry.place,
    "class": lambda entry: entry.subject_class,
    "category": lambda entry: entry.category if entry.action_lemma and entry.subject_class else "",
    "pattern × action": lambda entry: _within(entry, entry.action_lemma or entry.action),
    "pattern × subject": lambda entry: _within(entry, entry.subject_noun),
    "pattern × place": lambda entry: _within(entry, entry.place),
}
"""Facets to cover; empty values are unknown and do not count."""

_TAG_WEIGHT = 2.0
"""Weight of a tag; covered facets weigh 1. Over three selections of 60 from 1,488 prompts: at 1 one misses a tag's
proportions, at 4 each leaves values uncovered, at 2 two of three have both in full."""

MOST_EXCHANGES = 1_000_000
"""Most evaluations in one round of :func:`exchange`, a few seconds."""
_ROUNDING = 1e-9  # of F: below it, two sums of the same terms in another order


def _within(entry: PromptEntry, value: str) -> Hashable:
    return (entry.pattern, value) if entry.pattern and value else ""


@dataclass(frozen=True, slots=True)
class Facet:
    """One term of the objective: w_g, Σ_v min(|S_v|, quota_v) and the most that it can be."""

    name: str
    weight: float
    labels: NDArray[np.int64]  # (N,) number of each prompt's value; -1 where it is not known
    quotas: NDArray[np.int64]  # (V,) how many prompts of each value count
    full: int

    def counts(self, chosen: NDArray[np.int64] | slice) -> NDArray[np.int64]:
        """Return (V,) the prompts of each value in a selection, given as (k,) indices."""
        labels = self.labels[chosen]
        return np.bincount(labels[labels >= 0], minlength=self.quotas.size)


@dataclass(frozen=True, slots=True)
class Objective:
    """Objective F for a list and a size: facets, and facility location over (R, N) cosines, negatives as 0."""

    facets: tuple[Facet, ...]
    cosines: NDArray[np.float32] | None = field(default=None, repr=False)

    def parts(self, chosen: Sequence[int] | NDArray[np.int64]) -> dict[str, float]:
        """Return each unweighted term of F(S), within [0, 1]."""
        indices = np.asarray(chosen, np.int64)
        terms = ((facet, np.minimum(facet.counts(indices), facet.quotas).sum()) for facet in self.facets)
        fractions = {facet.name: int(term) / facet.full for facet, term in terms}
        if self.cosines is not None:
            nearest = self.cosines[:, indices].max(axis=1, initial=0)
            fractions["likeness"] = float(nearest.mean(dtype=np.float64))
        return fractions

    def value(self, parts: Mapping[str, float]) -> float:
        """Return F(S) from its :meth:`parts`."""
        weights = {facet.name: facet.weight for facet in self.facets} | {"likeness": 1.0}
        return sum(weights[name] * part for name, part in parts.items())


def objective_for(
    entries: Sequence[PromptEntry], size: int, vectors: NDArray[np.float32] | None = None, near: Sequence[int] = ()
) -> Objective:
    """Build the objective for a list; facets without values are left out.

    Args:
        entries: The list.
        size: Prompts to choose.
        vectors: (N, D) unit embeddings of the prompts, for the facility location; None leaves it out.
        near: (R,) places of the prompts that the chosen must come near; none for all.
    """
    facets = [_facet(name, [of(entry) for entry in entries], size) for name, of in COVERED.items()]
    facets += [_facet(name, [getattr(entry.tags, name, "") for entry in entries], size) for name in TAGS]
    nonempty = tuple(facet for facet in facets if facet.quotas.size)
    if vectors is None:
        return Objective(nonempty)
    return Objective(nonempty, np.maximum((vectors[near] if len(near) else vectors) @ vectors.T, 0))


def _facet(name: str, values: Sequence[Hashable], size: int) -> Facet:
    counts = Counter(value for value in values if value)
    numbers = {value: number for number, value in enumerate(counts)}
    labels = np.array([numbers.get(value, -1) for value in values], np.int64)
    quotas = apportion(list(counts.values()), size) if name in TAGS else [1] * len(counts)
    weight = _TAG_WEIGHT if name in TAGS else 1.0
    return Facet(name, weight, labels, np.array(quotas, np.int64), min(size, sum(quotas)))


def apportion(counts: Sequence[int], size: int) -> list[int]:
    """Return integers proportional to ``counts`` that sum to ``size``, by largest remainders, ties to the first.

    >>> apportion([50, 30, 20], 7)
    [4, 2, 1]
    """
    total = sum(counts)
    if not total:
        return [0] * len(counts)
    exact = [divmod(count * size, total) for count in counts]
    left = size - sum(whole for whole, _ in exact)
    first = sorted(range(len(counts)), key=lambda index: -exact[index][1])[:left]
    return [whole + (index in first) for index, (whole, _) in enumerate(exact)]


def greedy(
    objective: Objective, groups: NDArray[np.int64], room: Sequence[int], generator: np.random.Generator
) -> list[int]:
    """Select prompts one by one by largest gain; return their indices in that order.

    Args:
        objective: F.
        groups: (N,) group of each prompt.
        room: How many each group may have; their sum is chosen, or all there are.
        generator: Decides between prompts that add as much.
    """
    gains = _Gains(objective)
    left = list(room)
    ties = generator.permutation(len(groups))
    # a gain never grows as more is chosen, so that an old one is an upper bound of what it is now
    bounds = [(-gains.of(index), int(ties[index]), index) for index in range(len(groups)) if left[groups[index]]]
    heapq.heapify(bounds)
    chosen: list[int] = []
    while bounds and len(chosen) < sum(room):
        _, tie, index = heapq.heappop(bounds)
        if not left[groups[index]]:
            continue
        now = (-gains.of(index), tie, index)
        if bounds and now > bounds[0]:
            heapq.heappush(bounds, now)
            continue
        chosen.append(index)
        gains.add(index)
        left[groups[index]] -= 1
    return chosen


def exchange(objective: Objective, groups: NDArray[np.int64], chosen: Sequence[int]) -> list[int]:
    """Swap selected prompts for others of their group while that increases the objective.

    Greedy selection cannot revise its early choices; an exchange never lowers the objective.
    Left as it is where a round would take more than :data:`MOST_EXCHANGES` looks. Arguments as for :func:`greedy`.
    """
    members = [np.flatnonzero(groups == group).tolist() for group in range(int(groups.max()) + 1)]
    if sum(len(members[groups[index]]) for index in chosen) > MOST_EXCHANGES:
        return list(chosen)
    gains, selected = _Gains(objective), list(chosen)
    for index in selected:
        gains.add(index)
    swapped = True
    while swapped:
        swapped = False
        for position, index in enumerate(selected):
            gains.remove(index, selected[:position] + selected[position + 1 :])
            in_use = set(selected)
            others = [index, *(other for other in members[groups[index]] if other not in in_use)]
            worths = [gains.of(other) for other in others]
            best = int(np.argmax(worths))
            if worths[best] > worths[0] + _ROUNDING:
                selected[position], swapped = others[best], True
            gains.add(selected[position])
    return selected


class _Gains:
    """Marginal gains F(S + j) − F(S), updated as S changes."""

    def __init__(self, objective: Objective) -> None:
        self._facets = [(f.weight / f.full, f.labels.tolist(), f.quotas.tolist()) for f in objective.facets]
        self._cosines = objective.cosines
        self._nearest = np.zeros(0 if objective.cosines is None else len(objective.cosines), np.float32)

    def of(self, index: int) -> float:
        gain = 0.0  # no sum(), whose last digit is another
        for worth, labels, left in self._facets:
            if labels[index] >= 0 and left[labels[index]] > 0:
                gain += worth
        if self._cosines is not None:
            closer = np.maximum(self._cosines[:, index] - self._nearest, 0)
            gain += float(closer.mean(dtype=np.float64))
        return gain

    def remove(self, index: int, others: Sequence[int]) -> None:
        """Remove a prompt from S, which leaves ``others``."""
        self._count(index, 1)
        if self._cosines is not None:
            self._nearest = self._cosines[:, np.asarray(others, np.int64)].max(axis=1, initial=0)

    def add(self, index: int) -> None:
        self._count(index, -1)
        if self._cosines is not None:
            np.maximum(self._nearest, self._cosines[:, index], out=self._nearest)

    def _count(self, index: int, change: int) -> None:
        for _, labels, left in self._facets:
            if labels[index] >= 0:
                left[labels[index]] += change


RANDOM_SUBSETS = 1000
_LARGEST_DRAW = 20_000_000
"""Most prompts drawn for all random subsets, a few seconds; larger subsets are compared with fewer."""
LONGEST_LIST = 20_000
"""Longest list that facility location supports, prompts."""
REPRESENTED = 2_000
"""Prompts to represent; longer lists are sampled by seed: 2,000 × 20,000 cosines take 160 MB."""


@dataclass(frozen=True, slots=True)
class AgainstRandom:
    """A figure of the selected subset and of random ones.

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
    """A selected subset and its figures.

    Attributes:
        places: Of the chosen in the list, ascending.
        patterns: Prompts chosen of each pattern.
        parts: Term to its value for the subset and for random ones, within [0, 1], higher is better.
        objective: F, in the same form.
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
    """Select a subset by greedy coverage.

    Args:
        entries: The list.
        size: Prompts to choose, at least 1 and at most all.
        seed: Of ties and of the random subsets.
        balanced: Give every pattern as many, up to one where ``size`` is no multiple of their number.
        vectors: (N, D) unit embeddings for the facility location, or None.
        random_subsets: To compare with; fewer where they would be very large.

    Raises:
        SetupError: The list is empty, or too short for the size, or for one in balance.
    """
    if not entries:
        raise SetupError("The list holds no prompts, so there is nothing to choose from")
    if not 1 <= size <= len(entries):
        raise SetupError(f"Expected a size from 1 to {len(entries)}, the length of the list, but got {size}")
    if vectors is not None and len(entries) > LONGEST_LIST:
        raise SetupError(f"Selection by embeddings takes lists of up to {LONGEST_LIST} prompts but got {len(entries)}")
    groups, room = _groups(entries, size) if balanced else (np.zeros(len(entries), np.int64), [size])
    generator = np.random.default_rng(seed)
    near: Sequence[int] = ()
    if vectors is not None and len(entries) > REPRESENTED:
        near = sorted(generator.choice(len(entries), REPRESENTED, replace=False))
    objective = objective_for(entries, size, vectors, near)
    indices = sorted(exchange(objective, groups, greedy(objective, groups, room, generator)))
    number = max(1, min(random_subsets, _LARGEST_DRAW // size))
    members = [np.flatnonzero(groups == group) for group in range(len(room))]
    draws = [np.array(indices)]
    for _ in range(number):
        parts = [
            generator.choice(candidates, many, replace=False) for candidates, many in zip(members, room, strict=True)
        ]
        draws.append(np.concatenate(parts))
    return _measured(entries, objective, draws)


def total_variation(part: NDArray[np.int64], whole: NDArray[np.int64]) -> float:
    """Return the total variation of two (V,) count vectors, each normalised to sum 1.

    >>> total_variation(np.array([1, 1]), np.array([3, 1]))
    0.25
    """
    return float(np.abs(part / part.sum() - whole / whole.sum()).sum() / 2)


def tag_distances(objective: Objective, indices: Sequence[int] | NDArray[np.int64]) -> dict[str, float]:
    """Return the total variation between a selection and the list by tag, where both have values."""
    distances: dict[str, float] = {}
    for facet in objective.facets:
        part = facet.counts(np.asarray(indices, np.int64))
        if facet.name in TAGS and part.any():
            distances[facet.name] = total_variation(part, facet.counts(slice(None)))
    return distances


def _groups(entries: Sequence[PromptEntry], size: int) -> tuple[NDArray[np.int64], list[int]]:
    counts = Counter(entry.pattern for entry in entries)
    if counts[""]:
        raise SetupError(f"{counts['']} of {len(entries)} prompts have no pattern to balance; use --no-balance")
    patterns = [pattern for pattern in PATTERNS if counts[pattern]]
    whole, left = divmod(size, len(patterns))
    largest = sorted(patterns, key=lambda pattern: -counts[pattern])[:left]
    room = [whole + (pattern in largest) for pattern in patterns]
    short = [f"{p} has {counts[p]} of {n}" for p, n in zip(patterns, room, strict=True) if counts[p] < n]
    if short:
        raise SetupError(f"Too few prompts to balance the patterns: {'; '.join(short)}; use --no-balance")
    return np.array([patterns.index(entry.pattern) for entry in entries], np.int64), room


def _measured(entries: Sequence[PromptEntry], objective: Objective, draws: Sequence[NDArray[np.int64]]) -> Selection:
    """Compare the selection, the first of ``draws``, with the others, which are random."""
    parts = [objective.parts(draw) for draw in draws]
    values = [objective.value(part) for part in parts]
    distances = [tag_distances(objective, draw) for draw in draws]
    names = [name for name in distances[0] if all(name in distance for distance in distances)]
    means = [float(np.mean([distance[name] for name in names])) for distance in distances] if names else []
    patterns = Counter(entries[index].pattern for index in draws[0])
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
