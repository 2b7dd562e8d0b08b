"""Rasch's model of subjects that pass items: abilities of a few subjects, difficulties of many items.

    P(subject m passes item i) = 1 / (1 + exp(b_i − θ_m)),    b_i ~ N(0, σ²)

Abilities θ and σ maximise the marginal likelihood (Bock and Aitkin, Psychometrika 1981; here items are the random side,
as there are few subjects and many items); difficulties are posterior means. In logits; difficulties have mean 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp

from vmmetrics.types import BoolArray, FloatArray
from vmmetrics.utils.statistics.bootstrap import ratio
from vmmetrics.utils.statistics.clusters import Z95

_NODES = np.linspace(-6, 6, 601)  # of difficulties, in σ: even, as posteriors are narrow where items have many clips
_LOG_WEIGHTS = -(_NODES**2) / 2 - logsumexp(-(_NODES**2) / 2)
LEAST_SPREAD, _MOST_SPREAD = 0.01, 10.0  # bounds of σ, logits
_MOST_ABILITY = 15.0  # bound of |θ|: a subject that passes all has no finite one
_STEP = 1e-4  # of the differences that the curvature is taken from


@dataclass(frozen=True, slots=True)
class Rasch:
    """A fitted model.

    Attributes:
        abilities: (M,) θ, logits; NaN for a subject that passed all or nothing, which has no finite one.
        ability_errors: (M,) half widths of their 95 % intervals.
        difficulties: (I,) b, posterior means, logits.
        difficulty_errors: (I,) half widths of their 95 % intervals.
        spread: σ, logits; at :data:`LEAST_SPREAD` the answers do not tell items apart.
        infit: (M,) mean square of each subject's residuals against what the others' answers predict, in units of the
            predicted variance: 1 where the model holds, more where a subject is erratic. NaN where it has no ability.
        item_infit: (I,) the same of each item; NaN where fewer than two subjects were asked.
    """

    abilities: FloatArray
    ability_errors: FloatArray
    difficulties: FloatArray
    difficulty_errors: FloatArray
    spread: float
    infit: FloatArray
    item_infit: FloatArray


def fit_rasch(passed: FloatArray, asked: FloatArray) -> Rasch:
    """Fit the model by marginal maximum likelihood.

    Args:
        passed: (M, I) times that a subject passed an item.
        asked: (M, I) times that it was asked, 0 or more.

    Raises:
        ValueError: Fewer than two subjects or items, or more passed than asked.
    """
    passed, asked = np.asarray(passed, float), np.asarray(asked, float)
    if min(passed.shape) < 2 or passed.shape != asked.shape or not ((passed >= 0) & (passed <= asked)).all():
        raise ValueError("Expected counts of two or more subjects and items, and no more passed than asked")
    rate = (passed.sum(1) + 0.5) / (asked.sum(1) + 1)
    start = np.append(np.log(rate / (1 - rate)), 0.0)
    bounds = [(-_MOST_ABILITY, _MOST_ABILITY)] * len(rate) + [(np.log(LEAST_SPREAD), np.log(_MOST_SPREAD))]
    found = minimize(_loss, start, (passed, asked), jac=True, method="L-BFGS-B", bounds=bounds)
    if not found.success and "ABNORMAL" not in found.message:
        raise ValueError(f"The model cannot be fitted: {found.message}")
    best = found.x
    steps = np.eye(best.size) * _STEP
    slopes = [_loss(best + s, passed, asked)[1] - _loss(best - s, passed, asked)[1] for s in steps]
    curvature = np.array(slopes) / (2 * _STEP)
    errors = np.sqrt(np.maximum(np.diag(np.linalg.pinv((curvature + curvature.T) / 2)), 0))
    abilities, spread = best[:-1], float(np.exp(best[-1]))
    logits, _, weights = _posterior(best, passed, asked)
    difficulties = spread * _NODES @ weights
    deviations = np.sqrt(np.maximum((spread * _NODES) ** 2 @ weights - difficulties**2, 0))
    abilities = np.where((passed.sum(1) > 0) & (passed < asked).any(1), abilities, np.nan)
    residuals, variances = _predicted(best, expit(logits), passed, asked, np.isfinite(abilities))
    infits = [ratio(residuals.sum(axis), variances.sum(axis)) for axis in (1, 0)]
    return Rasch(abilities, Z95 * errors[:-1], difficulties, Z95 * deviations, spread, *infits)


def _posterior(
    parameters: FloatArray, passed: FloatArray, asked: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (M, Q) logits of passing at the nodes, (I,) marginal log likelihoods, and (Q, I) weights of the nodes."""
    logits = parameters[:-1, None] - np.exp(parameters[-1]) * _NODES
    joint = log_expit(logits).T @ passed + log_expit(-logits).T @ (asked - passed) + _LOG_WEIGHTS[:, None]
    marginal = logsumexp(joint, axis=0)
    return logits, marginal, np.exp(joint - marginal)


def _loss(parameters: FloatArray, passed: FloatArray, asked: FloatArray) -> tuple[float, FloatArray]:
    """Return the negative marginal log likelihood and its gradient by θ and log σ."""
    logits, marginal, weights = _posterior(parameters, passed, asked)
    residuals = passed @ weights.T - (asked @ weights.T) * expit(logits)  # (M, Q)
    gradient = np.append(residuals.sum(1), -(residuals * np.exp(parameters[-1]) * _NODES).sum())
    return -float(marginal.sum()), -gradient


def _predicted(
    parameters: FloatArray, rates: FloatArray, passed: FloatArray, asked: FloatArray, finite: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return (M, I) squared residuals against the prediction from the other subjects, and the predicted variances.

    ``rates`` (M, Q) are those of passing at the nodes. Zero for subjects without a finite ability, and for items that
    no other subject was asked.
    """
    squares, variances = np.zeros(passed.shape), np.zeros(passed.shape)
    for m in np.flatnonzero(finite):
        others = np.arange(len(passed)) != m
        _, _, weights = _posterior(np.append(parameters[:-1][others], parameters[-1]), passed[others], asked[others])
        mean, second = rates[m] @ weights, rates[m] ** 2 @ weights
        known = asked[others].sum(0) > 0
        squares[m] = known * (passed[m] - asked[m] * mean) ** 2
        variances[m] = known * (asked[m] * (mean - second) + asked[m] ** 2 * (second - mean**2))
    return squares, variances


def rest_correlation(passed: FloatArray, asked: FloatArray) -> FloatArray:
    """Return (I,) discrimination: the point-biserial correlation of passing an item with the rate over all other items.

    Each time a subject was asked counts as one observation; NaN where all of them passed, or none, or subjects do not
    differ on the other items.

    Args:
        passed: (M, I) times that a subject passed an item.
        asked: (M, I) times that it was asked.
    """
    passed, asked = np.asarray(passed, float), np.asarray(asked, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = (passed.sum(1, keepdims=True) - passed) / (asked.sum(1, keepdims=True) - asked)  # (M, I)
        passed, asked = (np.where(np.isnan(rest), 0, counts) for counts in (passed, asked))
        rest, number = np.nan_to_num(rest), asked.sum(0)
        mean, share = (asked * rest).sum(0) / number, passed.sum(0) / number
        covariance = (passed * rest).sum(0) / number - mean * share
        spread = (asked * (rest - mean) ** 2).sum(0) / number
        found = covariance / np.sqrt(spread * share * (1 - share))
    return np.where((share > 0) & (share < 1) & (spread > 1e-12), found, np.nan)
