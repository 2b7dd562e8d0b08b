"""A subset that covers much and keeps the whole's proportions: greedy maximisation of a submodular objective.

    F(S) = Σ_g w_g · Σ_v min(|S_{g,v}|, quota_{g,v}) / full_g   +   w_r · Σ_i max_{j ∈ S} max(0, cos(i, j)) / N

The first sum runs over facets g of a prompt and their values v; S_{g,v} are the chosen prompts that have the value,
k is the size asked for. What is to be *covered* (action, subject, place, subject class, category, and each of the first
three within its pattern) has a quota of one, so that a second prompt with the same verb adds nothing. What is to be
*kept in proportion* (tags) has the whole's share of k for a quota, so that the term is full exactly at the whole's
proportions. full_g is the most that a choice of k can reach, min(k, Σ_v quota), so that every term runs from 0 to 1.
The second sum, optional, is facility location: how near the chosen come to every prompt of the list.

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

from vmmetrics.prompts.entry import PromptEntry

TAGS = ("skeleton", "camera", "amplitude", "speed", "subjects", "interaction")
"""Tags whose proportions a subset keeps."""

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
"""What is covered; an empty value is one not known and counts for nothing."""

_TAG_WEIGHT = 2.0
"""Of a tag against 1 for what is covered. Measured on 1,488 prompts and three seeds: with 1, one of three choices of 60
leaves a tag's proportions short, with 4 each leaves something uncovered; with 2 two of three have all of both."""

MOST_EXCHANGES = 1_000_000
"""Prompts looked at in one round of :func:`exchange`: a few seconds."""
_ROUNDING = 1e-9  # of F: below it, two sums of the same terms in another order


def _within(entry: PromptEntry, value: str) -> Hashable:
    return (entry.pattern, value) if entry.pattern and value else ""


@dataclass(frozen=True, slots=True)
class Facet:
    """One term of the objective.

    Attributes:
        name: Of what ("place").
        weight: w_g.
        labels: (N,) number of each prompt's value; -1 where it is not known.
        quotas: (V,) how many prompts of each value count.
        full: The most that :meth:`filled` can be.
    """

    name: str
    weight: float
    labels: NDArray[np.int64]
    quotas: NDArray[np.int64]
    full: int

    def filled(self, chosen: NDArray[np.int64]) -> int:
        """Σ_v min(|S_v|, quota_v) of a choice, (k,) places in the list."""
        labels = self.labels[chosen]
        counts = np.bincount(labels[labels >= 0], minlength=self.quotas.size)
        return int(np.minimum(counts, self.quotas).sum())


@dataclass(frozen=True, slots=True)
class Objective:
    """F, for a list and a size.

    Attributes:
        facets: The terms over facets.
        weight: w_r of the facility location.
        cosines: (R, N) of the represented prompts with all, negative ones as 0; None without that term.
    """

    facets: tuple[Facet, ...]
    weight: float = 0.0
    cosines: NDArray[np.float32] | None = field(default=None, repr=False)

    def parts(self, chosen: Sequence[int] | NDArray[np.int64]) -> dict[str, float]:
        """Each term of F(S) before its weight, within [0, 1]."""
        places = np.asarray(chosen, np.int64)
        found = {facet.name: facet.filled(places) / facet.full for facet in self.facets}
        if self.cosines is not None:
            nearest = self.cosines[:, places].max(axis=1, initial=0)
            found["likeness"] = float(nearest.mean(dtype=np.float64))
        return found

    def value(self, chosen: Sequence[int]) -> float:
        """F(S)."""
        weights = {facet.name: facet.weight for facet in self.facets} | {"likeness": self.weight}
        return sum(weights[name] * part for name, part in self.parts(chosen).items())


def objective_for(
    entries: Sequence[PromptEntry],
    size: int,
    *,
    vectors: NDArray[np.float32] | None = None,
    represented: NDArray[np.int64] | None = None,
    weight: float = 1.0,
) -> Objective:
    """The objective for a list: facets that no prompt of it has are left out.

    Args:
        entries: The list.
        size: Prompts to choose.
        vectors: (N, D) unit embeddings of the prompts, for the facility location; None leaves it out.
        represented: (R,) places of the prompts that the chosen must come near; None for all.
        weight: Of the facility location.
    """
    facets = [_facet(name, [of(entry) for entry in entries], size, 1.0) for name, of in COVERED.items()]
    for name in TAGS:
        values = [getattr(entry.tags, name) if entry.tags is not None else "" for entry in entries]
        facets.append(_facet(name, values, size, _TAG_WEIGHT, in_proportion=True))
    known = tuple(facet for facet in facets if facet.quotas.size)
    if vectors is None:
        return Objective(known)
    rows = vectors if represented is None else vectors[represented]
    return Objective(known, weight, np.maximum(rows @ vectors.T, 0))


def _facet(name: str, values: Sequence[Hashable], size: int, weight: float, *, in_proportion: bool = False) -> Facet:
    counts = Counter(value for value in values if value)
    numbers = {value: number for number, value in enumerate(counts)}
    labels = np.array([numbers.get(value, -1) for value in values], np.int64)
    quotas = apportion(list(counts.values()), size) if in_proportion else [1] * len(counts)
    return Facet(name, weight, labels, np.array(quotas, np.int64), min(size, sum(quotas)))


def apportion(counts: Sequence[int], size: int) -> list[int]:
    """Whole numbers in proportion to ``counts`` that add up to ``size``: largest remainders, of equals the first.

    >>> apportion([50, 30, 20], 7)
    [4, 2, 1]
    """
    total = sum(counts)
    if not total:
        return [0] * len(counts)
    exact = [divmod(count * size, total) for count in counts]
    left = size - sum(whole for whole, _ in exact)
    first = sorted(range(len(counts)), key=lambda place: -exact[place][1])[:left]
    return [whole + (place in first) for place, (whole, _) in enumerate(exact)]


def greedy(
    objective: Objective, groups: NDArray[np.int64], room: Sequence[int], generator: np.random.Generator
) -> list[int]:
    """Choose prompt after prompt, each time the one that adds most.

    Args:
        objective: F.
        groups: (N,) group of each prompt.
        room: How many each group may have; their sum is chosen, or all there are.
        generator: Decides between prompts that add as much.

    Returns:
        Places in the list, in the order of choice.
    """
    gains = _Gains(objective)
    left = list(room)
    ties = generator.permutation(len(groups))
    # a gain never grows as more is chosen, so that an old one is an upper bound of what it is now
    bounds = [(-gains.of(place), int(ties[place]), place) for place in range(len(groups)) if left[groups[place]]]
    heapq.heapify(bounds)
    chosen: list[int] = []
    while bounds and len(chosen) < sum(room):
        _, tie, place = heapq.heappop(bounds)
        if not left[groups[place]]:
            continue
        now = (-gains.of(place), tie, place)
        if bounds and now > bounds[0]:
            heapq.heappush(bounds, now)
            continue
        chosen.append(place)
        gains.add(place)
        left[groups[place]] -= 1
    return chosen


def exchange(objective: Objective, groups: NDArray[np.int64], chosen: Sequence[int]) -> list[int]:
    """Swap chosen prompts for others of their group as long as that adds anything.

    Greedy choice cannot take back what it chose when little was covered yet; what it reached can only be bettered here.
    Left as it is where a round would take more than :data:`MOST_EXCHANGES` looks.

    Args:
        objective: F.
        groups: (N,) group of each prompt.
        chosen: From :func:`greedy`.

    Returns:
        Places in the list.
    """
    members = [np.flatnonzero(groups == group).tolist() for group in range(int(groups.max()) + 1)]
    if sum(len(members[groups[place]]) for place in chosen) > MOST_EXCHANGES:
        return list(chosen)
    gains, kept = _Gains(objective), list(chosen)
    for place in kept:
        gains.add(place)
    swapped = True
    while swapped:
        swapped = False
        for position, place in enumerate(kept):
            gains.remove(place, kept[:position] + kept[position + 1 :])
            taken = set(kept)
            others = [place, *(other for other in members[groups[place]] if other not in taken)]
            worths = [gains.of(other) for other in others]
            best = int(np.argmax(worths))
            if worths[best] > worths[0] + _ROUNDING:
                kept[position], swapped = others[best], True
            gains.add(kept[position])
    return kept


class _Gains:
    """F(S + j) − F(S), kept up while S changes."""

    def __init__(self, objective: Objective) -> None:
        self._worth = [facet.weight / facet.full for facet in objective.facets]
        self._labels = np.stack([f.labels for f in objective.facets], axis=1).tolist() if objective.facets else None
        self._left = [facet.quotas.tolist() for facet in objective.facets]
        self._weight, self._cosines = objective.weight, objective.cosines
        self._nearest = None if objective.cosines is None else np.zeros(len(objective.cosines), np.float32)

    def of(self, place: int) -> float:
        gain = 0.0
        if self._labels is not None:
            for worth, label, left in zip(self._worth, self._labels[place], self._left, strict=True):
                if label >= 0 and left[label] > 0:
                    gain += worth
        if self._cosines is not None and self._nearest is not None:
            closer = np.maximum(self._cosines[:, place] - self._nearest, 0)
            gain += self._weight * float(closer.mean(dtype=np.float64))
        return gain

    def remove(self, place: int, others: Sequence[int]) -> None:
        """Take a prompt out of S, which leaves ``others``."""
        if self._labels is not None:
            for label, left in zip(self._labels[place], self._left, strict=True):
                if label >= 0:
                    left[label] += 1
        if self._cosines is not None:
            self._nearest = self._cosines[:, np.asarray(others, np.int64)].max(axis=1, initial=0)

    def add(self, place: int) -> None:
        if self._labels is not None:
            for label, left in zip(self._labels[place], self._left, strict=True):
                if label >= 0:
                    left[label] -= 1
        if self._cosines is not None and self._nearest is not None:
            np.maximum(self._nearest, self._cosines[:, place], out=self._nearest)
