"""Probabilities of a win, a tie and a loss between two items whose strengths differ by d.

Two models, each with one tie parameter τ; both log-likelihoods are concave in (d, τ), so a fit has one optimum.

- Davidson (JASA 65, 1970): P(win) : P(tie) : P(loss) = e^(d/2) : e^τ : e^(−d/2). τ = log ν; without ties τ = −∞.
- Rao and Kupper (JASA 62, 1967): P(win) = σ(d − τ), P(loss) = σ(−d − τ), P(tie) the rest. τ = log θ > 0: an item must
  be ahead by a threshold to be seen as better.

Without ties both become the model of Bradley and Terry (Biometrika 39, 1952), P(win) = σ(d): Davidson's at τ = −∞.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit

Floats = NDArray[np.float64]
WIN, TIE, LOSS = 0, 1, 2
"""Columns of counts and probabilities, seen from the first item of a pair."""


class Derivatives(NamedTuple):
    """Derivatives of each pair's log-likelihood, each (P,): first in d and τ, then second."""

    d: Floats
    tau: Floats
    d_d: Floats
    d_tau: Floats
    tau_tau: Floats


class Davidson:
    """Davidson's model; τ = log ν is any real number, or −∞ for Bradley and Terry's model without ties."""

    name = "davidson"
    parameter = "log nu"

    def start(self, tie_share: float) -> float:
        """Return the τ at which equal items tie with this probability (0..1, ends excluded), e^τ / (2 + e^τ)."""
        return float(np.log(2 * tie_share / (1 - tie_share)))

    def allows(self, tau: float) -> bool:
        """Return True if the model is defined at τ, that is, for any finite τ."""
        return bool(np.isfinite(tau))

    def log_probabilities(self, d: Floats, tau: float) -> Floats:
        """Return (P, 3) of win, tie, loss for strength differences (P,): a softmax over (d/2, τ, −d/2)."""
        logits = np.stack([d / 2, np.full_like(d, tau), -d / 2], axis=-1)
        return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)

    def derivatives(self, counts: Floats, d: Floats, tau: float) -> Derivatives:
        """Derivatives of Σ counts · log-probabilities per pair; counts (P, 3), d (P,).

        An exponential family: observed minus expected statistics, and minus their covariance.
        """
        p = np.exp(self.log_probabilities(d, tau))
        total = counts.sum(axis=-1)
        mean = (p[..., WIN] - p[..., LOSS]) / 2
        return Derivatives(
            d=(counts[..., WIN] - counts[..., LOSS]) / 2 - total * mean,
            tau=counts[..., TIE] - total * p[..., TIE],
            d_d=-total * ((p[..., WIN] + p[..., LOSS]) / 4 - mean**2),
            d_tau=total * mean * p[..., TIE],
            tau_tau=-total * p[..., TIE] * (1 - p[..., TIE]),
        )


class RaoKupper:
    """Rao and Kupper's model; τ = log θ is above 0."""

    name = "rao-kupper"
    parameter = "log theta"

    def start(self, tie_share: float) -> float:
        """Equal items tie with probability 1 − 2σ(−τ)."""
        return float(np.log1p(tie_share) - np.log1p(-tie_share))

    def allows(self, tau: float) -> bool:
        """At 0 no tie is possible."""
        return bool(np.isfinite(tau)) and tau > 0

    def log_probabilities(self, d: Floats, tau: float) -> Floats:
        """P(tie) = 1 − σ(d−τ) − σ(−d−τ) = (e^(2τ) − 1) σ(d−τ) σ(−d−τ), without cancellation in the last form."""
        win, loss = log_expit(d - tau), log_expit(-d - tau)
        log_gap = 2 * tau + np.log(-np.expm1(-2 * tau))
        return np.stack([win, log_gap + win + loss, loss], axis=-1)

    def derivatives(self, counts: Floats, d: Floats, tau: float) -> Derivatives:
        """A tie is a win and a loss together, times e^(2τ) − 1."""
        wins = counts[..., WIN] + counts[..., TIE]
        losses = counts[..., LOSS] + counts[..., TIE]
        not_won, not_lost = expit(tau - d), expit(tau + d)
        bend_won, bend_lost = wins * not_won * (1 - not_won), losses * not_lost * (1 - not_lost)
        gap = -np.expm1(-2 * tau)
        return Derivatives(
            d=wins * not_won - losses * not_lost,
            tau=counts[..., TIE] * 2 / gap - wins * not_won - losses * not_lost,
            d_d=-bend_won - bend_lost,
            d_tau=bend_won - bend_lost,
            tau_tau=-bend_won - bend_lost - counts[..., TIE] / np.sinh(tau) ** 2,
        )


TieModel = Davidson | RaoKupper
"""One way to model ties: each has the same four methods."""
TIE_MODELS: dict[str, TieModel] = {"davidson": Davidson(), "rao-kupper": RaoKupper()}
"""The models by the name a user gives."""


def information(model: TieModel, d: Floats, tau: float) -> Floats:
    """Return the Fisher information about d that one more comparison brings on average, for d of any shape."""
    flat = np.ravel(d)
    expected = np.exp(model.log_probabilities(flat, tau))
    return -model.derivatives(expected, flat, tau).d_d.reshape(d.shape)


# Whether comparisons pin the strengths down: what is connected, and whether a maximum of the likelihood exists.
#
# Draw an edge from the winner to the loser of every comparison, and one both ways for every tie. Items in different
# *components* (edges taken without direction) were never compared, not even through others. For wins alone a finite,
# unique maximum exists where each component is strongly connected (Ford, American Mathematical Monthly 64, 1957):
# otherwise some items never lost to the rest, and raising all of them never stops paying.
#
# With ties that is necessary and not enough. Both tie models can run away in one more direction: strengths apart by s·u
# while the tie parameter grows by s (Rao-Kupper; s/2 for Davidson), s → ∞. No comparison gets less likely on that way
# if every winner is ahead by at least 1 in u and tied items differ by at most 1; one win and one tie of the same two
# items are the smallest example. Such a u exists unless some cycle of edges has more wins than ties, because these are
# difference constraints: win u(loser) ≤ u(winner) − 1, tie u ≤ u' + 1, whose only obstacle is a cycle of negative sum.
# So: ties count as edges both ways, and where there are ties one cycle with more wins than ties must exist besides (the
# tie parameter is shared, so one in any component is enough).

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WinGraph:
    """Connectivity of the comparison graph.

    Attributes:
        component: (N,) number of each item's component, numbered by first item.
        block: (N,) number of each item's strongly connected part.
        ties_pinned: True if some cycle has more wins than ties, or there are no ties.
    """

    component: Ints
    block: Ints
    ties_pinned: bool

    @property
    def components(self) -> int:
        """Number of components."""
        return int(self.component.max(initial=-1)) + 1

    @property
    def loose_components(self) -> tuple[int, ...]:
        """Components that are not strongly connected."""
        component_of_block = self.component[np.unique(self.block, return_index=True)[1]]
        return tuple(int(c) for c in np.flatnonzero(np.bincount(component_of_block) > 1))

    @property
    def has_maximum(self) -> bool:
        """True if the likelihood has a finite maximum, unique up to a constant per component."""
        return self.ties_pinned and not self.loose_components


def build_win_graph(items: int, first: Ints, second: Ints, counts: NDArray[np.float64]) -> WinGraph:
    """Study the graph of comparisons.

    Args:
        items: Number of items N.
        first: (P,) index of the first item of each pair.
        second: (P,) index of the second.
        counts: (P, 3) weights of first won, tie, second won.

    Returns:
        The components and whether a maximum of the likelihood exists.
    """
    won, tied, lost = (counts[:, column] > 0 for column in range(3))
    winners, losers = np.concatenate([first[won], second[lost]]), np.concatenate([second[won], first[lost]])
    one, other = np.concatenate([first[tied], second[tied]]), np.concatenate([second[tied], first[tied]])
    wins = _graph(items, winners, losers)
    both = _graph(items, np.concatenate([winners, one]), np.concatenate([losers, other]))
    component = _number(connected_components(both, directed=False)[1])
    # a cycle of wins alone has no ties, so it is enough, and it is quick to find
    cycle = connected_components(wins, connection="strong")[0] < items
    pinned = bool(not tied.any() or cycle or _more_wins_than_ties(items, (winners, losers), (one, other)))
    return WinGraph(component, _number(connected_components(both, connection="strong")[1]), pinned)


def _graph(items: int, tails: Ints, heads: Ints) -> csr_array:
    return coo_array((np.ones(len(tails)), (tails, heads)), shape=(items, items)).tocsr()


def _number(labels: NDArray[np.int32]) -> Ints:
    """Return the labels renumbered by first appearance, so that they do not depend on the search order."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[inverse], np.int64)


def _more_wins_than_ties(items: int, wins: tuple[Ints, Ints], ties: tuple[Ints, Ints]) -> bool:
    """Bellman-Ford with −1 for wins and +1 for ties: whether distances never settle."""
    tails, heads = np.concatenate([wins[0], ties[0]]), np.concatenate([wins[1], ties[1]])
    lengths = np.concatenate([np.full(len(wins[0]), -1), np.full(len(ties[0]), 1)])
    distance = np.zeros(items, np.int64)  # as from an extra item with an edge of length 0 to every other
    for _ in range(items + 1):
        shorter = distance.copy()
        np.minimum.at(shorter, heads, distance[tails] + lengths)
        if np.array_equal(shorter, distance):
            return False
        distance = shorter
    return True
