"""Active choice of pairs to ask next: those that reduce the uncertainty of the order most.

The covariance C of the centred strengths says how well they are known. One more comparison of items i and j, with
e = e_i − e_j and information λ about their difference, changes it to C − λ (Ce)(Ce)' / (1 + λ e'Ce) (Sherman and
Morrison, 1950). The variances of all pairwise differences count by how likely their sign is wrong as yet,
w = Φ(−|d| / s): their weighted sum is tr(CL) with the Laplacian L of w, and falls by λ e'CLCe / (1 + λ e'Ce). Pairs are
taken greedily by that gain, C updated after each, w once a batch. λ is Fisher's information under the fitted model at
the fitted difference. Equal w would be A-optimal; benchmarks/rating_active.py compares.

Clips that no comparison links come first: a pair for each link that is missing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr

from vmmetrics.errors import SetupError
from vmmetrics.utils.statistics.bradley_terry import DEFAULT_PRIOR_SD, Strengths, centred_inverse
from vmmetrics.utils.statistics.ties import Davidson, TieModel, information

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Reason = Literal["connect", "inform"]

MAX_POOL = 2000
"""Maximum items in one pool, limited by the memory of pair matrices."""
SPARE = 1
"""Maximum questions about an item in one batch beyond the equal share."""


@dataclass(frozen=True, slots=True)
class PairQuestion:
    """A pair to ask about.

    Attributes:
        left: First item; sides are drawn at random, since raters favour one.
        right: Second item.
        reason: ``"connect"`` for items that nothing links yet, ``"inform"`` for the others.
        gain: How much of the weighted variance of strength differences in their pool it is expected to remove, 0..1.
    """

    left: str
    right: str
    reason: Reason
    gain: float


def choose_pairs(
    items: Sequence[str], groups: Sequence[Hashable], fit: Strengths | None, number: int, *, seed: int = 0
) -> list[PairQuestion]:
    """Choose pairs to ask about.

    Args:
        items: Every item that may be asked about; where there is a fit, its items in its order.
        groups: What must be equal for two items to be compared: one value each, or one thing for all.
        fit: Strengths so far, or None before the first comparison.
        number: How many pairs; fewer come back where no pair is left that spares the items asked about most.
        seed: For the sides, and for the order among equals.

    Returns:
        Pairs, each once: first those that connect, then by gain.

    Raises:
        SetupError: A pool, items that may be compared or are linked by comparisons, is too large.
    """
    rng = np.random.default_rng(seed)
    cap = math.ceil(2 * number / max(len(items), 1)) + SPARE
    estimate = _Estimate(len(items), fit)
    group = np.unique([repr(key) for key in groups], return_inverse=True)[1]
    pools = [_Pool(members, group[members], estimate, cap, rng) for members in _pools(group, estimate.component)]
    links = sorted(((size, at, pair) for at, pool in enumerate(pools) for size, pair in pool.links()), reverse=True)
    chosen = [pools[at].take(pair, "connect") for _, at, pair in links[:number]]
    while len(chosen) < number:
        best = max(pools, key=lambda pool: pool.best[0], default=None)
        if best is None or best.best[0] <= 0:
            break
        chosen.append(best.take(best.best[1], "inform"))
    questions = []
    for (one, other), reason, gain in chosen:
        left, right = (one, other) if rng.random() < 0.5 else (other, one)
        questions.append(PairQuestion(items[left], items[right], reason, gain))
    return questions


class _Estimate:
    """Estimates of the fit for every item; before a fit, equal strengths and no ties."""

    def __init__(self, size: int, fit: Strengths | None) -> None:
        self.model: TieModel = Davidson() if fit is None else fit.model
        self.tau = -math.inf if fit is None else fit.tau
        self.strength = np.zeros(size) if fit is None else np.nan_to_num(fit.strength)
        self.component = np.arange(size) if fit is None else fit.graph.component
        self.prior_sd = (fit and fit.prior_sd) or DEFAULT_PRIOR_SD
        self.laplacian = csr_array((size, size))
        self.times: Floats = np.zeros(size)
        if fit is not None:
            first, second, counts = fit.pairs
            weights = -fit.model.derivatives(counts, fit.differences(), fit.tau).d_d
            ends, others = np.concatenate([first, second]), np.concatenate([second, first])
            off = coo_array((np.tile(weights, 2), (ends, others)), shape=(size, size)).tocsr()
            self.laplacian = diags_array(off.sum(axis=1)).tocsr() - off
            self.times += np.bincount(ends, np.tile(counts.sum(axis=1), 2), size)


def _pools(group: Ints, component: Ints) -> list[Ints]:
    """Return items that belong together: of one group, or linked by comparisons, in any number of steps."""
    size = len(group)
    shift = int(group.max(initial=-1)) + 1
    ends = np.concatenate([group, shift + component])  # two-coloured graph: items, and what they belong to
    edges = coo_array((np.ones(2 * size), (np.tile(np.arange(size), 2), size + ends)), shape=(size * 2 + shift,) * 2)
    labels = connected_components(edges, directed=False)[1][:size]
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


class _Pool:
    """Pairs of one pool and the value of asking about them.

    Attributes:
        best: The largest gain in summed variance, and its pair; gain 0 where no pair is left.
    """

    def __init__(self, members: Ints, group: Ints, estimate: _Estimate, cap: int, rng: np.random.Generator) -> None:
        if len(members) > MAX_POOL:
            raise SetupError(f"{len(members)} items may be compared with each other, at most {MAX_POOL} can be handled")
        self.members, self.group, self.cap = members, group, cap
        self.component, self.times = estimate.component[members], estimate.times[members].copy()
        self.asked = np.zeros(len(members), np.int64)
        known = estimate.laplacian[members][:, members].toarray()
        self.covariance = centred_inverse(known, estimate.prior_sd**-2)
        strength = estimate.strength[members]
        differences = strength[:, None] - strength
        self.information = information(estimate.model, differences, estimate.tau)
        error = np.sqrt(_of_differences(self.covariance)) + np.finfo(float).tiny
        weights = ndtr(-np.abs(differences) / error)
        laplacian = np.diag(weights.sum(axis=1)) - weights
        self.start = max(float(np.sum(self.covariance * laplacian)), np.finfo(float).tiny)
        self.spread = self.covariance @ laplacian @ self.covariance
        self.open = np.triu(group[:, None] == group, 1)
        # among equals (at the start all are) chance decides, not the alphabet
        self.jitter = 1 + 1e-9 * rng.random(self.open.shape)
        self.rng = rng
        self.best = self._find_best()

    def links(self) -> list[tuple[int, tuple[int, int]]]:
        """Return pairs (positions in the pool) that would connect components of the comparison graph.

        Each is returned behind the number of pairs of items that it connects.
        """
        _, component_of, sizes = np.unique(self.component, return_inverse=True, return_counts=True)
        merged = np.arange(len(sizes))  # component -> label after the links chosen so far
        used = self.times.copy()
        links = []
        for group in self.rng.permutation(np.unique(self.group)):
            in_group = self.rng.permutation(np.flatnonzero(self.group == group))
            previous = None
            for component in dict.fromkeys(component_of[in_group].tolist()):
                if previous is not None and merged[previous] != merged[component]:
                    ends = [
                        min(in_group[component_of[in_group] == side], key=lambda item: used[item])
                        for side in (previous, component)
                    ]
                    links.append((int(sizes[previous] * sizes[component]), (int(ends[0]), int(ends[1]))))
                    used[ends] += 1
                    merged[merged == merged[component]] = merged[previous]
                previous = component
        return links

    def take(self, pair: tuple[int, int], reason: Reason) -> tuple[tuple[int, int], Reason, float]:
        """Count a pair as asked; return it by item numbers with the share of variance it is expected to remove."""
        i, j = sorted(pair)
        column = self.covariance[:, i] - self.covariance[:, j]
        step = self.information[i, j] / (1 + self.information[i, j] * (column[i] - column[j]))
        pull = self.spread[:, i] - self.spread[:, j]
        removed = step * float(pull[i] - pull[j])
        self.covariance = self.covariance - step * np.outer(column, column)
        mixed = np.outer(pull, column)
        self.spread = self.spread - step * (mixed + mixed.T) + step * removed * np.outer(column, column)
        self.open[i, j] = False
        self.asked[[i, j]] += 1
        for item in np.flatnonzero(self.asked >= self.cap):
            self.open[item, :] = self.open[:, item] = False
        self.best = self._find_best()
        return (int(self.members[i]), int(self.members[j])), reason, float(removed / self.start)

    def _find_best(self) -> tuple[float, tuple[int, int]]:
        gain = self.information * _of_differences(self.spread)
        gain /= 1 + self.information * _of_differences(self.covariance)
        gain *= self.jitter * self.open
        at = int(np.argmax(gain))
        i, j = divmod(at, len(self.members))
        return float(gain[i, j]), (i, j)


def _of_differences(matrix: Floats) -> Floats:
    """Return (e_i − e_j)' M (e_i − e_j) for every pair."""
    diagonal = np.diag(matrix)
    return np.maximum(diagonal[:, None] + diagonal - 2 * matrix, 0)
