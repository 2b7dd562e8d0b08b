"""The fit against closed forms, a brute-force fit on raw probabilities, and simulation."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from vmmetrics.errors import SetupError
from vmmetrics.utils.statistics.bradley_terry import Strengths, count_pairs, fit_strengths
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT, TIE, Outcome, Preference
from vmmetrics.utils.statistics.ties import TIE_MODELS, build_win_graph, information

MODELS = sorted(TIE_MODELS)
OUTCOMES: tuple[Outcome, ...] = (LEFT, TIE, RIGHT)


def davidson(d: float, nu: float) -> tuple[float, float, float]:
    """The paper's form, on strengths: p_i, ν √(p_i p_j), p_j."""
    i, j = math.exp(d), 1.0
    parts = i, nu * math.sqrt(i * j), j
    return parts[0] / sum(parts), parts[1] / sum(parts), parts[2] / sum(parts)


def rao_kupper(d: float, theta: float) -> tuple[float, float, float]:
    """The paper's form, on strengths: p_i / (p_i + θ p_j)."""
    i, j = math.exp(d), 1.0
    win, loss = i / (i + theta * j), j / (theta * i + j)
    return win, (theta**2 - 1) * i * j / ((i + theta * j) * (theta * i + j)), loss


PAPER = {"davidson": davidson, "rao-kupper": rao_kupper}


def wins(a: str, b: str, won: int, tied: int, lost: int) -> list[Preference]:
    return [Preference(a, b, o) for o, n in zip(OUTCOMES, (won, tied, lost), strict=True) for _ in range(n)]


def simulate(rng: np.random.Generator, model: str, beta: np.ndarray, tau: float, number: int) -> list[Preference]:
    rows = []
    for _ in range(number):
        i, j = rng.choice(len(beta), 2, replace=False)
        p = PAPER[model](beta[i] - beta[j], math.exp(tau))
        rows.append(Preference(f"{i:02d}", f"{j:02d}", OUTCOMES[rng.choice(3, p=p)]))
    return rows


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("d", [-3.0, -0.4, 0.0, 2.0])
def test_probabilities_are_those_of_the_papers(model: str, d: float) -> None:
    for tau in (0.1, 0.7):
        found = np.exp(TIE_MODELS[model].log_probabilities(np.array([d]), tau))[0]
        np.testing.assert_allclose(found, PAPER[model](d, math.exp(tau)), rtol=1e-12)
        assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("model", MODELS)
def test_derivatives_are_those_of_finite_differences(model: str) -> None:
    law, counts = TIE_MODELS[model], np.array([[3.0, 2.0, 1.0]])

    def value(d: float, tau: float) -> float:
        return float((counts * law.log_probabilities(np.array([d]), tau)).sum())

    d, tau, h = 0.8, 0.5, 1e-4
    found = law.derivatives(counts, np.array([d]), tau)
    up_d, down_d, up_t, down_t = value(d + h, tau), value(d - h, tau), value(d, tau + h), value(d, tau - h)
    mid = value(d, tau)
    mixed = value(d + h, tau + h) - value(d + h, tau - h) - value(d - h, tau + h) + value(d - h, tau - h)
    expected = [(up_d - down_d) / 2 / h, (up_t - down_t) / 2 / h]
    expected += [(up_d - 2 * mid + down_d) / h**2, mixed / 4 / h**2, (up_t - 2 * mid + down_t) / h**2]
    np.testing.assert_allclose(np.ravel(found), expected, atol=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_information_is_what_a_comparison_tells_on_average(model: str) -> None:
    law, tau, h = TIE_MODELS[model], 0.6, 1e-5
    for d in (0.0, 1.7):
        p, up, down = (np.exp(law.log_probabilities(np.array([x]), tau))[0] for x in (d, d + h, d - h))
        slope = (np.log(up) - np.log(down)) / (2 * h)
        assert information(law, np.array([d]), tau)[0] == pytest.approx(float(p @ slope**2), rel=1e-6)


def test_two_clips_without_ties_in_closed_form() -> None:
    fit = fit_strengths(wins("x", "y", 7, 0, 3))
    d, error = math.log(7 / 3), math.sqrt(1 / 7 + 1 / 3)
    np.testing.assert_allclose(fit.strength, [d / 2, -d / 2], atol=1e-9)
    np.testing.assert_allclose(fit.error, [error / 2, error / 2], atol=1e-9)
    assert not fit.has_ties
    assert fit.log_likelihood == pytest.approx(7 * math.log(0.7) + 3 * math.log(0.3))


def test_two_clips_with_ties_in_closed_form() -> None:
    """Two free parameters fit two free shares exactly."""
    n, (won, tied, lost) = 20, (9, 6, 5)
    fit = fit_strengths(wins("x", "y", won, tied, lost))
    assert fit.strength[0] - fit.strength[1] == pytest.approx(math.log(won / lost))
    assert fit.tau == pytest.approx(math.log(tied / math.sqrt(won * lost)))
    # delta method on the multinomial
    assert 2 * fit.error[0] == pytest.approx(math.sqrt(1 / won + 1 / lost))
    assert fit.tau_error == pytest.approx(math.sqrt(1 / tied + 1 / won / 4 + 1 / lost / 4))
    fit = fit_strengths(wins("x", "y", won, tied, lost), ties="rao-kupper")
    up, down = math.log((n - won) / won), math.log((n - lost) / lost)
    assert fit.strength[0] - fit.strength[1] == pytest.approx((down - up) / 2)
    assert fit.tau == pytest.approx((down + up) / 2)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", [None, 0.7])
def test_equals_a_brute_force_fit(model: str, prior: float | None) -> None:
    rng = np.random.default_rng(3)
    rows = simulate(rng, model, rng.normal(0, 1, 5), 0.5, 150)
    fit = fit_strengths(rows, ties=model, prior_sd=prior)

    def loss(x: np.ndarray) -> float:
        beta = np.concatenate([x[:-1], [-x[:-1].sum()]]) if prior is None else x[:-1]
        chances = [PAPER[model](beta[int(r.left)] - beta[int(r.right)], math.exp(x[-1])) for r in rows]
        total = -sum(math.log(p[OUTCOMES.index(r.outcome)]) for p, r in zip(chances, rows, strict=True))
        return total + (0 if prior is None else float(beta @ beta) / 2 / prior**2)

    start = np.zeros(5 if prior is None else 6)
    start[-1] = 0.3
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(fit.strength[:4], found.x[:4], atol=2e-5)
    assert fit.tau == pytest.approx(found.x[-1], abs=2e-5)
    if prior is None:
        assert fit.log_likelihood == pytest.approx(-found.fun)
        # the inverse of a numerical Hessian, in other coordinates
        h = 1e-3
        steps = np.eye(5) * h
        hessian = np.array(
            [[loss(found.x + s + t) - loss(found.x + s - t) - loss(found.x - s + t) + loss(found.x - s - t)
              for t in steps] for s in steps]
        ) / (4 * h * h)  # fmt: skip
        covariance = np.linalg.inv(hessian)
        np.testing.assert_allclose(fit.error[:4], np.sqrt(np.diag(covariance))[:4], rtol=1e-3)
        assert fit.error[4] == pytest.approx(math.sqrt(covariance[:4, :4].sum()), rel=1e-3)
        assert fit.tau_error == pytest.approx(math.sqrt(covariance[4, 4]), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_intervals_hold_the_truth_as_often_as_they_say(model: str) -> None:
    rng = np.random.default_rng(11)
    beta = rng.normal(0, 1, 8)
    beta -= beta.mean()
    inside = total = 0
    for _ in range(60):
        fit = fit_strengths(simulate(rng, model, beta, 0.4, 160), ties=model)
        inside += int((np.abs(fit.strength - beta) < 1.96 * fit.error).sum())
        inside += abs(fit.tau - 0.4) < 1.96 * fit.tau_error
        total += 9
    assert 0.92 <= inside / total <= 0.98  # 540 draws, partly dependent: s.e. about 0.01


SOME_ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from(OUTCOMES)).filter(lambda r: r[0] != r[1]),
    min_size=1,
    max_size=25,
)


def fit_some(rows: list[tuple[int, int, Outcome]], model: str, name: str = "012345") -> Strengths | None:
    if all(outcome == TIE for *_, outcome in rows):
        return None
    return fit_strengths([Preference(name[a], name[b], o) for a, b, o in rows], sorted(name), ties=model, prior_sd=1.0)


@settings(max_examples=40)
@given(SOME_ROWS, st.permutations("012345"), st.sampled_from(MODELS), st.randoms())
def test_names_and_order_do_not_matter(
    rows: list[tuple[int, int, Outcome]], names: list[str], model: str, random: object
) -> None:
    fit = fit_some(rows, model)
    if fit is None:
        return
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    other = fit_some(shuffled, model, "".join(names))
    assert other is not None
    order = [other.items.index(name) for name in names]
    np.testing.assert_allclose(other.strength[order], fit.strength, atol=1e-7)
    np.testing.assert_allclose(other.error[order], fit.error, atol=1e-7)


@settings(max_examples=40)
@given(SOME_ROWS, st.sampled_from(MODELS))
def test_turning_every_result_round_turns_the_strengths_round(rows: list[tuple[int, int, Outcome]], model: str) -> None:
    fit = fit_some(rows, model)
    if fit is None:
        return
    turned: dict[Outcome, Outcome] = {LEFT: RIGHT, RIGHT: LEFT, TIE: TIE}
    other = fit_some([(a, b, turned[o]) for a, b, o in rows], model)
    swapped = fit_some([(b, a, turned[o]) for a, b, o in rows], model)
    assert other is not None
    assert swapped is not None
    np.testing.assert_allclose(other.strength, -fit.strength, atol=1e-7)
    np.testing.assert_allclose(swapped.strength, fit.strength, atol=1e-7)
    for component in range(fit.graph.components):
        inside = (fit.graph.component == component) & np.isfinite(fit.strength)
        if inside.any():
            assert abs(fit.strength[inside].mean()) < 1e-9


def has_direction_of_escape(rows: list[tuple[int, int, Outcome]], clips: int = 4) -> bool:
    """By linear programming: whether some direction (u, v) of the parameters never lowers any probability.

    Both models at once: with v the growth of τ (twice that for Davidson), a win needs u_w − u_l ≥ v, a tie
    |u_i − u_j| ≤ v. Only moves that are more than a shift of all clips of a component count.
    """
    tied = any(o == TIE for *_, o in rows)
    growth = np.eye(clips + 1)[clips]
    limits, goals = [], [growth] if tied else []
    for a, b, o in rows:
        gap = np.eye(clips + 1)[a] - np.eye(clips + 1)[b]
        limits += {LEFT: [growth - gap], RIGHT: [growth + gap], TIE: [gap - growth, -gap - growth]}[o]
        goals += [gap, -gap]
    bounds = [(-1, 1)] * clips + [(0, 1) if tied else (0, 0)]
    return any(linprog(-g, A_ub=np.array(limits), b_ub=np.zeros(len(limits)), bounds=bounds).fun < -1e-7 for g in goals)


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(OUTCOMES)).filter(lambda r: r[0] != r[1]),
        min_size=1,
        max_size=9,
    )
)
def test_the_check_for_a_maximum_equals_a_linear_programme(rows: list[tuple[int, int, Outcome]]) -> None:
    pairs = count_pairs([Preference(str(a), str(b), o) for a, b, o in rows], "0123")
    assert build_win_graph(4, *pairs).has_maximum == (not has_direction_of_escape(rows))


def test_separated_clips_need_a_stated_prior() -> None:
    rows = wins("x", "y", 2, 0, 1) + wins("y", "z", 3, 0, 0)
    with pytest.raises(SetupError, match=r"always won or always lost against each other \(such as z\)"):
        fit_strengths(rows, prior_if_needed=None)
    fit = fit_strengths(rows)
    assert fit.prior_sd == 1.5
    assert fit.strength[0] > fit.strength[1] > fit.strength[2]
    assert fit_strengths(wins("x", "y", 2, 0, 1)).prior_sd is None


def test_one_win_and_one_tie_have_no_maximum_though_connected() -> None:
    """The best fit gives each one half, which only an endless difference and tie parameter do."""
    for model in MODELS:
        with pytest.raises(SetupError, match="no cycle of comparisons has more wins than ties"):
            fit_strengths(wins("x", "y", 1, 1, 0), ties=model, prior_if_needed=None)
        assert fit_strengths(wins("x", "y", 2, 1, 1), ties=model, prior_if_needed=None).prior_sd is None


def test_unlinked_groups_are_centred_each() -> None:
    rows = wins("a", "b", 3, 1, 2) + wins("c", "d", 1, 0, 3)
    fit = fit_strengths(rows, ["a", "b", "c", "d", "unseen"])
    assert fit.graph.component.tolist() == [0, 0, 1, 1, 2]
    assert fit.strength[0] == pytest.approx(-fit.strength[1])
    assert fit.strength[2] == pytest.approx(-fit.strength[3])
    assert math.isnan(fit.strength[4])
    assert math.isnan(fit.error[4])
    alone = fit_strengths(wins("c", "d", 1, 0, 3))
    assert fit.strength[2] < 0
    assert alone.strength[0] == pytest.approx(math.log(1 / 3) / 2)


def test_weights_are_repetitions() -> None:
    rows = wins("a", "b", 3, 2, 1) + wins("b", "c", 2, 1, 2) + wins("a", "c", 1, 1, 1)
    doubled = fit_strengths([*rows, *rows])
    weighted = fit_strengths([Preference(r.left, r.right, r.outcome, weight=2.0) for r in rows])
    np.testing.assert_allclose(weighted.strength, doubled.strength, atol=1e-9)
    np.testing.assert_allclose(weighted.error, doubled.error, atol=1e-9)
    np.testing.assert_allclose(weighted.error * math.sqrt(2), fit_strengths(rows).error, atol=1e-9)


def test_only_ties_or_nothing_is_refused() -> None:
    with pytest.raises(SetupError, match="Every comparison is a tie"):
        fit_strengths(wins("x", "y", 0, 3, 0))
    with pytest.raises(SetupError, match="no comparisons"):
        fit_strengths([])
    with pytest.raises(SetupError, match="tie model"):
        fit_strengths(wins("x", "y", 1, 0, 1), ties="none")


def test_a_rare_tie_and_an_extreme_prior_still_settle() -> None:
    rows = [r for a, b in combinations("abcdef", 2) for r in wins(a, b, 40, 0, 0)] + wins("a", "f", 0, 1, 0)
    for model in MODELS:
        for prior in (0.05, 50.0):
            fit = fit_strengths(rows, ties=model, prior_sd=prior)
            assert np.all(np.diff(fit.strength) < 0)
            assert np.all(fit.error > 0)
