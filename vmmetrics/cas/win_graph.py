"""Whether comparisons pin the strengths down: what is connected, and whether a maximum of the likelihood exists.

Draw an edge from the winner to the loser of every comparison, and one both ways for every tie. Clips in different
*components* (edges taken without direction) were never compared, not even through others. For wins alone a finite,
unique maximum exists where each component is strongly connected (Ford, American Mathematical Monthly 64, 1957):
otherwise some clips never lost to the rest, and raising all of them never stops paying.

With ties that is necessary and not enough. Both tie models can run away in one more direction: strengths apart by s·u
while the tie parameter grows by s (Rao-Kupper; s/2 for Davidson), s → ∞. No comparison gets less likely on that way if
every winner is ahead by at least 1 in u and tied clips differ by at most 1; one win and one tie of the same two clips
are the smallest example. Such a u exists unless some cycle of edges has more wins than ties, because these are
difference constraints: win u(loser) ≤ u(winner) − 1, tie u ≤ u' + 1, whose only obstacle is a cycle of negative sum.
So: ties count as edges both ways, and where there are ties one cycle with more wins than ties must exist besides (the
tie parameter is shared, so one in any component is enough).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WinGraph:
    """What the comparisons connect.

    Attributes:
        component: (N,) number of each clip's component, numbered by first clip.
        block: (N,) number of each clip's strongly connected part.
        ties_pinned: Whether some cycle has more wins than ties; true where there are no ties.
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
        """Whether the likelihood has a finite maximum, unique up to a constant per component."""
        return self.ties_pinned and not self.loose_components


def build_win_graph(clips: int, first: Ints, second: Ints, counts: NDArray[np.float64]) -> WinGraph:
    """Study the graph of comparisons.

    Args:
        clips: Number of clips N.
        first: (P,) index of the first clip of each pair.
        second: (P,) index of the second.
        counts: (P, 3) weights of first won, tie, second won.

    Returns:
        The components and whether a maximum of the likelihood exists.
    """
    won, tied, lost = (counts[:, column] > 0 for column in range(3))
    winners, losers = np.concatenate([first[won], second[lost]]), np.concatenate([second[won], first[lost]])
    one, other = np.concatenate([first[tied], second[tied]]), np.concatenate([second[tied], first[tied]])
    wins = _graph(clips, winners, losers)
    both = _graph(clips, np.concatenate([winners, one]), np.concatenate([losers, other]))
    component = _number(connected_components(both, directed=False)[1])
    pinned = not tied.any() or _has_cycle(wins) or _more_wins_than_ties(clips, (winners, losers), (one, other))
    return WinGraph(component, _number(connected_components(both, connection="strong")[1]), pinned)


def _graph(clips: int, tails: Ints, heads: Ints) -> csr_array:
    return coo_array((np.ones(len(tails)), (tails, heads)), shape=(clips, clips)).tocsr()


def _number(labels: NDArray[np.int32]) -> Ints:
    """Labels renumbered by first appearance, so that they do not depend on the search order."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[inverse], np.int64)


def _has_cycle(wins: csr_array) -> bool:
    """A cycle of wins alone has no ties, so it is enough, and it is quick to find."""
    parts, _ = connected_components(wins, connection="strong")
    return bool(parts < wins.shape[0])


def _more_wins_than_ties(clips: int, wins: tuple[Ints, Ints], ties: tuple[Ints, Ints]) -> bool:
    """Bellman-Ford with −1 for wins and +1 for ties: whether distances never settle."""
    tails, heads = np.concatenate([wins[0], ties[0]]), np.concatenate([wins[1], ties[1]])
    lengths = np.concatenate([np.full(len(wins[0]), -1), np.full(len(ties[0]), 1)])
    distance = np.zeros(clips, np.int64)  # as from an extra clip with an edge of length 0 to every other
    for _ in range(clips + 1):
        shorter = distance.copy()
        np.minimum.at(shorter, heads, distance[tails] + lengths)
        if np.array_equal(shorter, distance):
            return False
        distance = shorter
    return True
