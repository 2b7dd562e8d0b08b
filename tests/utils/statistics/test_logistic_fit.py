from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from vmmetrics.utils.statistics.logistic_fit import MIN_DISTINCT, LogisticFit, fit_logistic


def curve(x: np.ndarray, one: float, other: float, centre: float, width: float) -> np.ndarray:
    """The formula as VQEG prints it."""
    return other + (one - other) / (1 + np.exp(-(x - centre) / np.abs(width)))


@pytest.mark.parametrize("parameters", [(4.5, 1.5, 0.4, 0.1), (1.2, 4.8, 0.6, 0.2), (5.0, 1.0, 0.9, 0.15)])
def test_a_logistic_is_recovered(parameters: tuple[float, float, float, float]) -> None:
    x = np.linspace(0, 1, 40)
    fit = fit_logistic(x, curve(x, *parameters))
    assert fit.plcc == pytest.approx(1)
    assert fit.rmse == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_noisy_data_are_fitted_as_by_the_usual_code(seed: int) -> None:
    """Four parameters by scipy's curve_fit from the usual start, as in the code of papers."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=120)
    y = curve(x, 4.6, 1.3, 0.2, 0.5) + 0.4 * rng.normal(size=120)
    usual, _ = curve_fit(curve, x, y, p0=[y.max(), y.min(), x.mean(), x.std() / 4])
    fit = fit_logistic(x, y)
    fitted = curve(x, *usual)
    assert fit.plcc == pytest.approx(np.corrcoef(fitted, y)[0, 1], abs=1e-5)
    assert fit.rmse == pytest.approx(np.sqrt(np.mean((fitted - y) ** 2)), rel=1e-4)
    assert fit.plcc > np.corrcoef(x, y)[0, 1]


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([12, 40, 150]), st.sampled_from([-0.8, 0.0, 0.3, 0.9]))
def test_never_below_pearson(seed: int, count: int, r: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=count)
    y = np.round(2 * (r * x + np.sqrt(1 - r**2) * rng.normal(size=count))) / 2
    fit = fit_logistic(x, y)
    if fit.plcc is None:
        return
    plain = np.corrcoef(x, y)[0, 1]
    assert abs(plain) - 1e-6 <= fit.plcc <= 1
    # least squares: what the fit explains is r², and the rest is the error
    assert fit.rmse == pytest.approx(y.std() * np.sqrt(1 - fit.plcc**2), abs=1e-6)
    moved = fit_logistic(1000 * x - 5, 20 * y + 3)
    if moved.plcc is not None and r:  # scores that know nothing have several fits that are nearly as good
        assert moved.plcc == pytest.approx(fit.plcc, abs=1e-4)
        assert moved.rmse == pytest.approx(20 * fit.rmse, rel=1e-3, abs=1e-4)


def test_lines_and_bends_are_limits_of_the_curve() -> None:
    x = np.linspace(-2, 2, 30)
    straight = fit_logistic(x, 3 - x)
    assert straight.plcc == pytest.approx(1)
    assert straight.rmse == pytest.approx(0, abs=1e-4)
    assert fit_logistic(x, np.exp(x)).plcc == pytest.approx(1)


def test_what_cannot_be_fitted_has_no_figure() -> None:
    x, none = np.linspace(0, 1, 30), LogisticFit(None, None)
    few = np.repeat(np.arange(MIN_DISTINCT - 1.0), 10)
    assert fit_logistic(few, np.random.default_rng(0).normal(size=50)) == none
    assert fit_logistic(x, np.ones(30)) == none
    assert fit_logistic(x, np.where(x > 0.5, 5.0, 1.0)) == none  # a step
    assert fit_logistic(np.zeros(0), np.zeros(0)) == none
