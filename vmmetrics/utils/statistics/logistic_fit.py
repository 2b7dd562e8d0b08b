"""Pearson's r and the error after a monotone logistic fit, as video quality assessment reports them.

    rating ≈ β2 + (β1 − β2) / (1 + exp(−(score − β3) / |β4|))

Video Quality Experts Group, final reports (2000, 2003); ITU-T P.1401 asks for a monotone mapping before Pearson's r and
the root mean square error. The fit starts from the usual values (β3 the mean score, |β4| a quarter of the standard
deviation), from nearly a straight line and from the best of a grid, and keeps the best: never below |r| of the scores.

Four free parameters flatter weak metrics. Simulated with scores that know nothing, 100 tables each: of 46 clips 36
have a fit, with |r| 0.15 before and 0.26 after it; of 20 clips 36, with 0.24 and 0.41; of 200 clips 53, with 0.08 and
0.13. At a true r of 0.6 and 200 clips all have one, with 0.604 and 0.608. A fit takes 0.05 s, 0.3 s where none is
found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit

from vmmetrics.types import FloatArray

MIN_DISTINCT = 6
"""Distinct scores below which there is no fit: four parameters pass through the mean ratings at four scores whatever
these are, and at five leave a single difference to judge the fit by."""
_STEEP, _STRAIGHT = 0.25, 100.0  # first widths |β4|, in standard deviations of the scores
_WIDEST, _NARROWEST, _FARTHEST = 1e3, 2.5e-3, 10.0  # |β4| in standard deviations; β3 outside, in ranges of the scores
_TRIES = 300  # evaluations of the curve
_CENTRES, _WIDTHS, _STARTS = 25, 10, 3  # of a grid of curves, the best of which searches start from as well
_SAME_DIGITS = 9  # of standardised scores and ratings
_ENDS = 0.01  # of the way between the lowest and the highest fitted rating


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """The fit, or the reason why there is none.

    Attributes:
        plcc: Pearson's r of fitted and given ratings, 0 or above; None without a fit.
        rmse: Root mean square error √(Σ e² / N) in the unit of the ratings, as papers report it; P.1401 divides by
            N − 4.
        rising: True if ratings rise with the score; a metric that runs against people has a high ``plcc`` too.
        parameters: β1 to β4; those of a nearly straight fit are large and mean little by themselves.
        n: Clips with a score and a rating.
        reason: Why there is no fit, or "".
    """

    plcc: float | None
    rmse: float | None
    rising: bool | None
    parameters: tuple[float, float, float, float] | None
    n: int
    reason: str = ""


def logistic(scores: FloatArray, parameters: tuple[float, float, float, float]) -> FloatArray:
    """Return (N,) fitted ratings of (N,) scores."""
    one, other, centre, width = parameters
    return np.asarray(other + (one - other) * expit((scores - centre) / abs(width)))


def fit_logistic(scores: FloatArray, ratings: FloatArray) -> LogisticFit:
    """Fit the logistic curve by least squares.

    Args:
        scores: (N,) scores; clips with NaN or infinity on either side are left out.
        ratings: (N,) mean ratings.

    Raises:
        ValueError: The two are not (N,) each.
    """
    scores, ratings = np.asarray(scores, np.float64), np.asarray(ratings, np.float64)
    if scores.ndim != 1 or scores.shape != ratings.shape:
        raise ValueError(f"Expected a rating per score but got shapes {scores.shape} and {ratings.shape}")
    finite = np.isfinite(scores) & np.isfinite(ratings)
    x, y = scores[finite], ratings[finite]
    distinct = np.unique(x)
    if distinct.size < MIN_DISTINCT:
        reason = f"a logistic fit needs {MIN_DISTINCT} distinct scores, since it has 4 parameters, and there are "
        return LogisticFit(None, None, None, None, x.size, f"{reason}{distinct.size}")
    if np.ptp(y) == 0:
        return LogisticFit(None, None, None, None, x.size, "the ratings are all the same")
    mean, deviation = float(x.mean()), float(x.std())
    best, settled = _least_squares((x - mean) / deviation, y)
    centre, width = mean + deviation * float(best[0]), deviation * float(np.exp(best[1]))
    curve, base = _curve((x - centre) / width)
    slope = float(np.cov(curve, y, bias=True)[0, 1] / curve.var())
    level = float(y.mean() - slope * curve.mean())
    parameters = (level + slope * (1 - base), level - slope * base, centre, width)
    steps, _ = _curve((distinct - centre) / width)
    way = (steps - steps[0]) / (steps[-1] - steps[0])
    if np.count_nonzero((way > _ENDS) & (way < 1 - _ENDS)) < 2:
        reason = "the fit is a step between two scores, which any steeper curve fits as well"
        return LogisticFit(None, None, None, None, x.size, reason)
    if not settled:
        return LogisticFit(None, None, None, None, x.size, f"the fit did not converge in {_TRIES} steps")
    fitted = level + slope * curve
    plcc = min(1.0, abs(float(np.corrcoef(curve, y)[0, 1])))
    return LogisticFit(plcc, float(np.sqrt(np.mean((fitted - y) ** 2))), slope > 0, parameters, x.size)


def _curve(z: FloatArray) -> tuple[FloatArray, int]:
    """Return the logistic curve less 0 or 1, whichever keeps its digits in its far ends, and which."""
    base = int(np.mean(z) > 0)
    return np.asarray(-expit(-z) if base else expit(z)), base


def _least_squares(z: FloatArray, y: FloatArray) -> tuple[FloatArray, bool]:
    """Return centre and log width of the best curve of (N,) standardised scores, and True if the search converged.

    Both ends of the curve follow from these two by linear regression, which leaves two parameters to search.
    """
    y = y - y.mean()
    # what rounding tells apart is the same to the search: scores in another unit have the same fit
    z, y = np.round(z, _SAME_DIGITS), np.round(y / np.sqrt(y @ y), _SAME_DIGITS)

    def residuals(at: FloatArray) -> FloatArray:
        curve = _curve((z - at[0]) / np.exp(at[1]))[0]
        curve = curve - curve.mean()
        return np.asarray(y - curve * ((curve @ y) / max(curve @ curve, np.finfo(float).tiny)))

    reach = _FARTHEST * np.ptp(z)
    bounds = [z.min() - reach, np.log(_NARROWEST)], [z.max() + reach, np.log(_WIDEST)]
    starts = [[0.0, np.log(width)] for width in (_STEEP, _STRAIGHT)]
    grid = [
        [centre, np.log(width)]
        for centre in np.linspace(z.min() - np.ptp(z), z.max() + np.ptp(z), _CENTRES)
        for width in np.geomspace(_STEEP, _STRAIGHT, _WIDTHS)
    ]
    starts += sorted(grid, key=lambda at: float((residuals(np.asarray(at)) ** 2).sum()))[:_STARTS]
    fits = [least_squares(residuals, start, bounds=bounds, ftol=1e-10, xtol=1e-10, max_nfev=_TRIES) for start in starts]
    best = min(fits, key=lambda each: float(each.cost))
    return np.asarray(best.x), best.status > 0
