"""A strength per item from pairwise comparisons: Bradley-Terry with ties, by maximum likelihood.

log L(β, τ) = Σ_pairs Σ_outcomes n · log P(outcome | β_first − β_second, τ), with one tie model of :mod:`.ties` and,
where a prior is used, minus Σ β² / (2 s²). It is concave; Newton steps with a line search find its one maximum.
Standard errors come from the inverse of the observed information there.

Only differences within a component of the win graph are known: strengths are centred per component (mean 0), and their
errors are those of the centred strengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.utils.statistics.preferences import Preference
from vmmetrics.utils.statistics.ties import (
    LOSS,
    TIE,
    TIE_MODELS,
    WIN,
    Davidson,
    Derivatives,
    TieModel,
    WinGraph,
    build_win_graph,
)  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DEFAULT_PRIOR_SD = 1.5
"""Standard deviation of the normal prior where one is needed: 95 % of pairs then differ by less than 1.96 · √2 · 1.5 =
4.2, that is, the weaker item wins at least 1.5 % of their comparisons."""
INTERVAL_Z = 1.959964
"""Half width of a 95 % interval in standard errors."""
TIE_BINS = 3
"""Bins by fitted strength difference in which predicted and observed ties are compared."""
_DECREMENT = 1e-18  # squared Newton step in standard errors: far below rounding of what is printed
_MAX_STEPS = 200  # a damped Newton method on such a function needs some ten


class PairCounts(NamedTuple):
    """Comparisons summed per pair.

    Attributes:
        first: (P,) index of the item that comes first.
        second: (P,) index of the other, above ``first``.
        counts: (P, 3) weights of first won, tie, second won.
    """

    first: Ints
    second: Ints
    counts: Floats


@dataclass(frozen=True, slots=True)
class Strengths:
    """The fit.

    Attributes:
        items: Names, N of them.
        strength: (N,) centred per component, in log odds; NaN for an item without comparisons.
        error: (N,) standard errors; NaN for an item without comparisons.
        graph: Graph of the comparisons.
        covariance: Per component of at least two items, the covariance of its centred strengths, in order of items.
        pairs: Comparisons that were fitted.
        model: The tie model; Davidson's at τ = −∞ where there are no ties.
        tau: The tie parameter.
        tau_error: Its standard error, NaN where there are no ties.
        prior_sd: Standard deviation of the prior on strengths, or None for plain maximum likelihood.
        log_likelihood: log L at the maximum, without the prior.
    """

    items: tuple[str, ...]
    strength: Floats
    error: Floats
    graph: WinGraph
    covariance: Mapping[int, Floats]
    pairs: PairCounts
    model: TieModel
    tau: float
    tau_error: float
    prior_sd: float | None
    log_likelihood: float

    @property
    def has_ties(self) -> bool:
        """True if any comparison ended in a tie."""
        return math.isfinite(self.tau)

    def differences(self) -> Floats:
        """Return (P,) fitted strength differences of the pairs."""
        return self.strength[self.pairs.first] - self.strength[self.pairs.second]


def count_pairs(comparisons: Sequence[Preference], items: Sequence[str]) -> PairCounts:
    """Sum comparisons per pair of ``items``."""
    index = {item: number for number, item in enumerate(items)}
    sums: dict[tuple[int, int], list[float]] = {}
    for row in comparisons:
        left, right = index[row.left], index[row.right]
        key, outcome = ((left, right), row.outcome) if left < right else ((right, left), -row.outcome)
        sums.setdefault(key, [0.0, 0.0, 0.0])[1 - outcome] += row.weight
    keys = sorted(sums)
    pairs = np.array(keys, np.int64).reshape(-1, 2)
    return PairCounts(pairs[:, 0], pairs[:, 1], np.array([sums[key] for key in keys], np.float64).reshape(-1, 3))


def fit_strengths(
    comparisons: Sequence[Preference],
    items: Sequence[str] | None = None,
    *,
    ties: str = "davidson",
    prior_sd: float | None = None,
    prior_if_needed: float | None = DEFAULT_PRIOR_SD,
) -> Strengths:
    """Fit strengths and the tie parameter.

    Args:
        comparisons: At least one, not all of them ties.
        items: Names, which must hold every item compared. Default: those compared, sorted.
        ties: ``"davidson"`` or ``"rao-kupper"``.
        prior_sd: Use a normal prior with this standard deviation, whatever the data.
        prior_if_needed: Prior to use only where the likelihood has no maximum; None makes that an error.

    Returns:
        Strengths with their errors. Time and memory grow with the cube and the square of the largest component.

    Raises:
        SetupError: There is nothing to fit, or no maximum and no prior.
    """
    if ties not in TIE_MODELS:
        raise SetupError(f"Expected a tie model out of {', '.join(TIE_MODELS)} but got {ties!r}")
    if items is None:
        items = sorted({item for row in comparisons for item in (row.left, row.right)})
    pairs = count_pairs(comparisons, items)
    total = pairs.counts.sum()
    if total == 0:
        raise SetupError("There are no comparisons to fit strengths to")
    tie_share = float(pairs.counts[:, TIE].sum() / total)
    if tie_share == 1:
        raise SetupError(
            "Every comparison is a tie: items cannot be ranked, and the tie parameter has no finite estimate"
        )
    graph = build_win_graph(len(items), *pairs)
    if prior_sd is None and not graph.has_maximum:
        prior_sd = prior_if_needed
        if prior_sd is None:
            raise SetupError(explain_no_maximum(graph, items))
    return _Fit(pairs, graph, TIE_MODELS[ties] if tie_share > 0 else Davidson(), prior_sd).run(tuple(items), tie_share)


def explain_no_maximum(graph: WinGraph, items: Sequence[str]) -> str:
    """Return the reason why the likelihood has no maximum."""
    if not graph.loose_components:
        return (
            "The likelihood has no maximum: no cycle of comparisons has more wins than ties, so strengths and tie "
            "parameter can grow together without end. Compare more pairs, or state a prior"
        )
    loose = graph.loose_components
    inside = np.flatnonzero(graph.component == loose[0])
    blocks = [inside[graph.block[inside] == block] for block in np.unique(graph.block[inside])]
    smallest = min(blocks, key=len)
    names = ", ".join(items[number] for number in smallest[:5]) + (", ..." if len(smallest) > 5 else "")
    return (
        f"The likelihood has no maximum: {len(loose)} of {graph.components} groups of compared items fall into parts "
        f"that always won or always lost against each other (such as {names}). Compare more pairs, or state a prior"
    )


class _Fit:
    """Newton's method on (β, τ), component by component, since they share τ alone; it is held at −∞ without ties."""

    def __init__(self, pairs: PairCounts, graph: WinGraph, model: TieModel, prior_sd: float | None) -> None:
        self.pairs, self.graph, self.model = pairs, graph, model
        self.prior_sd = prior_sd
        self.precision = 0.0 if prior_sd is None else prior_sd**-2
        self.size = len(graph.component)
        self.free_tau = bool(pairs.counts[:, TIE].any())
        self.members = _by_number(graph.component, graph.components)
        self.of_members = _by_number(graph.component[pairs.first], graph.components)

    def run(self, items: tuple[str, ...], tie_share: float) -> Strengths:
        beta = np.zeros(self.size)
        tau = self.model.start(tie_share) if self.free_tau else -math.inf
        value = self._objective(beta, tau)
        for _ in range(_MAX_STEPS):
            step, tau_step, decrement = self._newton(beta, tau)
            if decrement < _DECREMENT:
                break
            beta, tau, new = self._line_search(beta, tau, step, tau_step, value, decrement)
            if new <= value:
                break  # no better number can be represented
            value = new
        else:
            raise SetupError(f"The fit of {self.model.name} did not converge in {_MAX_STEPS} steps")
        return self._result(items, beta, tau)

    def log_likelihood(self, beta: Floats, tau: float) -> float:
        """Return the logarithm of the likelihood, without the prior."""
        log_p = self.model.log_probabilities(self._differences(beta), tau)
        counts = self.pairs.counts
        return float(np.sum(np.where(counts > 0, counts * np.where(counts > 0, log_p, 0), 0)))

    def _objective(self, beta: Floats, tau: float) -> float:
        return self.log_likelihood(beta, tau) - self.precision / 2 * float(beta @ beta)

    def _differences(self, beta: Floats) -> Floats:
        return np.asarray(beta[self.pairs.first] - beta[self.pairs.second])

    def _spread(self, values: Floats) -> Floats:
        """Sum per-pair derivatives in d to the items: + for the first, − for the second."""
        first, second = self.pairs.first, self.pairs.second
        return np.asarray(np.bincount(first, values, self.size) - np.bincount(second, values, self.size))

    def _covariances(self, weights: Floats) -> list[Floats]:
        """Return the covariance of each component's centred strengths from the information of each pair about d."""
        position = np.empty(self.size, np.int64)
        covariances = []
        for inside, compared in zip(self.members, self.of_members, strict=True):
            position[inside] = np.arange(len(inside))
            first, second = position[self.pairs.first[compared]], position[self.pairs.second[compared]]
            laplacian = np.zeros((len(inside), len(inside)))
            laplacian[first, second] = laplacian[second, first] = -weights[compared]
            np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
            covariances.append(centred_inverse(laplacian, self.precision))
        return covariances

    def _product(self, covariances: Sequence[Floats], values: Floats) -> Floats:
        """Return covariance times values, component by component."""
        product = np.empty(self.size)
        for inside, covariance in zip(self.members, covariances, strict=True):
            product[inside] = covariance @ values[inside]
        return product

    def _newton(self, beta: Floats, tau: float) -> tuple[Floats, float, float]:
        """Return Newton's step in β and τ, and its squared length in standard errors."""
        slopes = self._derivatives(beta, tau)
        gradient = self._spread(slopes.d) - self.precision * beta
        covariances = self._covariances(-slopes.d_d)
        step = self._product(covariances, gradient)
        if not self.free_tau:
            return step, 0.0, float(gradient @ step)
        coupling = -self._spread(slopes.d_tau)
        answer = self._product(covariances, coupling)
        left = float(slopes.tau.sum() - coupling @ step)
        tau_step = left / float(-slopes.tau_tau.sum() - coupling @ answer)
        step = step - answer * tau_step
        return step, tau_step, float(gradient @ step + slopes.tau.sum() * tau_step)

    def _derivatives(self, beta: Floats, tau: float) -> Derivatives:
        return self.model.derivatives(self.pairs.counts, self._differences(beta), tau)

    def _line_search(
        self, beta: Floats, tau: float, step: Floats, tau_step: float, value: float, decrement: float
    ) -> tuple[Floats, float, float]:
        """Halve the step until the objective gains a tenth of what its slope promises (Armijo)."""
        share = 1.0
        while share > 1e-12:
            new_beta, new_tau = beta + share * step, tau + share * tau_step
            if not self.free_tau or self.model.allows(new_tau):
                new = self._objective(new_beta, new_tau)
                if new >= value + 0.1 * share * decrement:
                    return new_beta, new_tau, new
            share /= 2
        return beta, tau, value

    def _result(self, items: tuple[str, ...], beta: Floats, tau: float) -> Strengths:
        slopes = self._derivatives(beta, tau)
        covariances = self._covariances(-slopes.d_d)
        coupling = -self._spread(slopes.d_tau) if self.free_tau else np.zeros(self.size)
        pull = self._product(covariances, coupling)
        left = -float(slopes.tau_tau.sum() + coupling @ pull) if self.free_tau else math.nan
        error = np.full(self.size, math.nan)
        covariance: dict[int, Floats] = {}
        for component, (inside, matrix) in enumerate(zip(self.members, covariances, strict=True)):
            if len(inside) > 1:
                # what not knowing τ adds
                covariance[component] = (
                    matrix + np.outer(pull[inside], pull[inside]) / left if self.free_tau else matrix
                )
                error[inside] = np.sqrt(np.diag(covariance[component]))
        strength = np.where(np.isnan(error), math.nan, beta)
        tau_error = left**-0.5 if self.free_tau else math.nan
        fitted = (self.pairs, self.model, tau, tau_error, self.prior_sd, self.log_likelihood(beta, tau))
        return Strengths(items, strength, error, self.graph, covariance, *fitted)


def _by_number(numbers: Ints, count: int) -> list[Ints]:
    """Return the indices of each number below ``count``, ascending."""
    ends = np.cumsum(np.bincount(numbers, minlength=count))
    return np.split(np.argsort(numbers, kind="stable"), ends[:-1])


def centred_inverse(laplacian: Floats, precision: float) -> Floats:
    """Return the covariance of the centred strengths of one component from its (n, n) information.

    The Laplacian L has the constant vector as its only null direction: (L + 11'/n)⁻¹ = L⁺ + 11'/n, and L⁺ is the
    covariance. A prior adds its precision to L; the inverse is then centred on both sides.
    """
    size = len(laplacian)
    filled = laplacian + (np.eye(size) * precision if precision else np.full((size, size), 1 / size))
    inverse = np.linalg.inv(filled)
    inverse -= inverse.mean(axis=0)
    inverse -= inverse.mean(axis=1, keepdims=True)
    return np.asarray((inverse + inverse.T) / 2)


def goodness_of_fit(fit: Strengths) -> dict[str, Any]:
    """Return how well the model describes the comparisons it was fitted to.

    Returns:
        ``log_likelihood``; ``log_likelihood_equal``, that of equal strengths with the best tie share;
        ``decided_right``, the share of decisions for the item with the higher strength; ``ties``, the tie share
        observed and predicted in all, and by thirds of |strength difference|. (Davidson's model predicts the share
        in all exactly, whatever the data: only the thirds test it.)
    """
    counts, d = fit.pairs.counts, fit.differences()
    total = counts.sum(axis=1)
    predicted = np.exp(fit.model.log_probabilities(d, fit.tau))[:, TIE]
    tied, decided = counts[:, TIE].sum(), counts[:, WIN].sum() + counts[:, LOSS].sum()
    shares = [(tied, tied / total.sum()), (decided, decided / total.sum() / 2)]
    right = counts[d > 0, WIN].sum() + counts[d < 0, LOSS].sum() + (counts[d == 0][:, [WIN, LOSS]].sum()) / 2
    order = np.argsort(np.abs(d), kind="stable")
    bins = [("all", np.arange(len(d))), *zip(("near", "middle", "far"), np.array_split(order, TIE_BINS), strict=True)]
    return {
        "log_likelihood": fit.log_likelihood,
        "log_likelihood_equal": float(sum(n * math.log(share) for n, share in shares if n > 0)),
        "decided_right": float(right / decided),
        "ties": [
            {
                "pairs": name,
                "comparisons": float(total[inside].sum()),
                "observed": float(counts[inside, TIE].sum() / total[inside].sum()),
                "predicted": float(total[inside] @ predicted[inside] / total[inside].sum()),
            }
            for name, inside in bins
            if len(inside)
        ],
    }
