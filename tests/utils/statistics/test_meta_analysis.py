"""Random-effects meta-analysis: published figures, a second implementation, formulas by hand, and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from vmmetrics.utils.statistics.meta_analysis import random_effects

# Thirteen trials of BCG vaccine (Colditz et al., JAMA 1994): cases and others with vaccine, cases and others without.
BCG = np.array([
    (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619), (33, 5036, 47, 5761),
    (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232),
    (17, 1699, 65, 1600), (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825),
], float)  # fmt: skip


def log_odds_ratios() -> tuple[np.ndarray, np.ndarray]:
    a, b, c, d = BCG.T
    return np.log(a * d / (b * c)), np.sqrt((1 / BCG).sum(axis=1))


def log_risk_ratios() -> tuple[np.ndarray, np.ndarray]:
    a, b, c, d = BCG.T
    return np.log(a / (a + b) / (c / (c + d))), np.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))


def test_published_figures() -> None:
    """Of metafor's pages: Q of log risk ratios; Q-profile of τ² of log odds ratios (van Houwelingen et al. 2002)."""
    assert random_effects(*log_risk_ratios()).q == pytest.approx(152.2330, abs=5e-5)
    pooled = random_effects(*log_odds_ratios())
    assert pooled.tau_low**2 == pytest.approx(0.1302, abs=1e-4)
    assert pooled.tau_high**2 == pytest.approx(1.1812, abs=1e-4)


@pytest.mark.parametrize("figures", [log_odds_ratios(), log_risk_ratios()])
def test_as_statsmodels(figures: tuple[np.ndarray, np.ndarray]) -> None:
    """Paule and Mandel's τ² and Hartung and Knapp's interval, which is the modified one here, by another program."""
    meta = pytest.importorskip("statsmodels.stats.meta_analysis")
    values, errors = figures
    other = meta.combine_effects(values, errors**2, method_re="iterated", use_t=True)
    low, high = other.conf_int()[3]
    ours = random_effects(values, errors)
    assert ours.tau**2 == pytest.approx(other.tau2, rel=1e-6)
    assert (ours.mean, ours.low, ours.high) == pytest.approx((other.mean_effect_re, low, high), rel=1e-6)


def test_equal_errors_are_the_mean_and_its_t_interval() -> None:
    """With equal errors Hartung and Knapp's interval is Student's of the k figures, and τ² their variance less s²."""
    values, error = np.array([0.1, 0.35, 0.5, 0.2]), 0.1
    pooled = random_effects(values, np.full(4, error))
    low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert (pooled.mean, pooled.low, pooled.high) == pytest.approx((values.mean(), low, high))
    assert pooled.tau**2 == pytest.approx(values.var(ddof=1) - error**2)
    assert pooled.i2 == pytest.approx(1 - error**2 / values.var(ddof=1))  # by Q: (Q − 3) / Q is the same
    assert pooled.q == pytest.approx(3 * values.var(ddof=1) / error**2)
    apart = stats.t.ppf(0.975, 2) * np.sqrt(pooled.tau**2 + values.var(ddof=1) / 4)
    assert pooled.predicted == pytest.approx((values.mean() - apart, values.mean() + apart))
    assert pooled.weights == pytest.approx(np.full(4, 0.25))


def test_studies_that_agree_have_no_heterogeneity() -> None:
    values, errors = np.array([0.3, 0.4, 0.2]), np.array([0.1, 0.2, 0.1])
    pooled = random_effects(values, errors)
    assert (pooled.tau, pooled.tau_low, pooled.i2, pooled.i2_low) == (0, 0, 0, 0)
    assert pooled.tau_high > 0
    assert pooled.mean == pytest.approx(np.average(values, weights=errors**-2.0))  # as with fixed effects
    reach = stats.t.ppf(0.975, 2) / np.sqrt((errors**-2.0).sum())  # no narrower than by the errors alone
    assert (pooled.low, pooled.high) == pytest.approx((pooled.mean - reach, pooled.mean + reach))
    same = random_effects(np.array([0.3, 0.3]), np.array([0.1, 0.1]))
    assert same.high - same.mean == pytest.approx(12.7062 * 0.1 / np.sqrt(2), rel=1e-5)


@pytest.mark.parametrize("errors", [[0.1], [0.1, 0.0], [0.1, np.nan]])
def test_refused(errors: list[float]) -> None:
    with pytest.raises(ValueError, match="errors above 0"):
        random_effects(np.array([0.1, 0.2])[: len(errors)], np.array(errors))


@pytest.mark.parametrize(("labs", "tau"), [(5, 0.0), (5, 0.1), (30, 0.1)])
def test_coverage(labs: int, tau: float) -> None:
    """1,000 meta-analyses of figures with errors of 0.05 to 0.15 that are known: the interval holds the truth."""
    rng = np.random.default_rng(1)
    errors = np.resize(np.linspace(0.05, 0.15, 5), labs)
    values = 0.4 + np.hypot(tau, errors) * rng.normal(size=(1000, labs))
    held = [one.low <= 0.4 <= one.high for one in (random_effects(row, errors) for row in values)]
    assert 0.93 <= np.mean(held) <= (0.97 if tau else 1)
