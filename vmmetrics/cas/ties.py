"""How likely a win, a tie and a loss are between two clips whose strengths differ by d.

Two models, each with one tie parameter τ; both log-likelihoods are concave in (d, τ), so a fit has one optimum.

- Davidson (JASA 65, 1970): P(win) : P(tie) : P(loss) = e^(d/2) : e^τ : e^(−d/2). τ = log ν; without ties τ = −∞.
- Rao and Kupper (JASA 62, 1967): P(win) = σ(d − τ), P(loss) = σ(−d − τ), P(tie) the rest. τ = log θ > 0: a clip must
  be ahead by a threshold to be seen as better.

Without ties both become the model of Bradley and Terry (Biometrika 39, 1952), P(win) = σ(d): Davidson's at τ = −∞.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

Floats = NDArray[np.float64]
WIN, TIE, LOSS = 0, 1, 2
"""Columns of counts and probabilities, seen from the first clip of a pair."""


class Derivatives(NamedTuple):
    """Derivatives of each pair's log-likelihood, each (P,): first in d and τ, then second."""

    d: Floats
    tau: Floats
    d_d: Floats
    d_tau: Floats
    tau_tau: Floats


class TieModel(Protocol):
    """One way to model ties."""

    name: str
    parameter: str

    def start(self, tie_share: float) -> float:
        """A τ to begin a fit with: the one that gives ``tie_share`` (in 0..1, ends excluded) to equal clips."""

    def allows(self, tau: float) -> bool:
        """Whether τ lies where the model is defined."""

    def log_probabilities(self, d: Floats, tau: float) -> Floats:
        """(P, 3) log-probabilities of win, tie, loss for strength differences (P,)."""

    def derivatives(self, counts: Floats, d: Floats, tau: float) -> Derivatives:
        """Derivatives of Σ counts · log-probabilities per pair; counts (P, 3), d (P,)."""


class Davidson:
    """Davidson's model; τ = log ν is any real number, or −∞ for Bradley and Terry's model without ties."""

    name = "davidson"
    parameter = "log nu"

    def start(self, tie_share: float) -> float:
        """Equal clips tie with probability e^τ / (2 + e^τ)."""
        return float(np.log(2 * tie_share / (1 - tie_share)))

    def allows(self, tau: float) -> bool:
        """Any number will do."""
        return bool(np.isfinite(tau))

    def log_probabilities(self, d: Floats, tau: float) -> Floats:
        """A softmax over (d/2, τ, −d/2)."""
        logits = np.stack([d / 2, np.full_like(d, tau), -d / 2], axis=-1)
        return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)

    def derivatives(self, counts: Floats, d: Floats, tau: float) -> Derivatives:
        """An exponential family: observed minus expected statistics, and minus their covariance."""
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
        """Equal clips tie with probability 1 − 2σ(−τ)."""
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


TIE_MODELS: dict[str, TieModel] = {"davidson": Davidson(), "rao-kupper": RaoKupper()}
"""The models by the name a user gives."""


def information(model: TieModel, d: Floats, tau: float) -> Floats:
    """Fisher information about d that one more comparison brings on average, for d of any shape."""
    flat = np.ravel(d)
    expected = np.exp(model.log_probabilities(flat, tau))
    return -model.derivatives(expected, flat, tau).d_d.reshape(d.shape)
