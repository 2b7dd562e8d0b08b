"""Abilities, difficulties and fit of Rasch's model: known truth, an integral by brute force, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm, pointbiserialr

from vmmetrics.utils.statistics.rasch import fit_rasch, rest_correlation


def simulated(seed: int, items: int = 300, samples: int = 4) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    abilities, difficulties = np.array([-1.5, -0.5, 0.2, 1.0]), rng.normal(0, 1.5, items)
    asked = rng.integers(0, samples + 1, (4, items))
    passed = rng.binomial(asked, expit(abilities[:, None] - difficulties))
    return abilities, difficulties, passed, asked


def test_abilities_and_difficulties_are_recovered_and_their_intervals_cover() -> None:
    inside: list[bool] = []
    for seed in range(20):
        abilities, difficulties, passed, asked = simulated(seed)
        found = fit_rasch(passed, asked)
        inside += list(np.abs(found.difficulties - difficulties) <= found.difficulty_errors)
        assert np.abs(found.abilities - abilities).max() < 0.6
        assert found.spread == pytest.approx(1.5, abs=0.4)
        assert np.corrcoef(found.difficulties, difficulties)[0, 1] > 0.8
    assert np.mean(inside) == pytest.approx(0.95, abs=0.01)


def test_the_intervals_of_abilities_cover() -> None:
    """Of 100 studies: the errors of all abilities share that of the mean difficulty."""
    covered = []
    for seed in range(100):
        abilities, _, passed, asked = simulated(seed, items=60)
        found = fit_rasch(passed, asked)
        covered.append(np.abs(found.abilities - abilities) <= found.ability_errors)
    assert 0.92 <= np.mean(covered) <= 0.98


def test_the_likelihood_is_that_of_an_integral() -> None:
    _, _, passed, asked = simulated(1, items=12)

    def loss(parameters: np.ndarray) -> float:
        spread = np.exp(parameters[-1])
        total = 0.0
        for won, of in zip(passed.T, asked.T, strict=True):

            def integrand(b: float, won: np.ndarray = won, of: np.ndarray = of) -> float:
                p = expit(parameters[:-1] - b)
                return float(np.prod(p**won * (1 - p) ** (of - won)) * norm.pdf(b, 0, spread))

            total -= np.log(quad(integrand, -15, 15, limit=100)[0])
        return total

    best = minimize(loss, np.append(np.zeros(4), 0.0), method="BFGS", options={"gtol": 1e-4})
    found = fit_rasch(passed, asked)
    assert found.abilities == pytest.approx(best.x[:-1], abs=0.01)
    assert found.spread == pytest.approx(np.exp(best.x[-1]), abs=0.01)


def test_the_fit_is_1_where_the_model_holds() -> None:
    """Also of three subjects, whose difficulties are fitted to few answers each."""
    fits, of_items = [], []
    for seed in range(10):
        _, _, passed, asked = simulated(seed)
        for subjects in (3, 4):
            found = fit_rasch(passed[:subjects], asked[:subjects])
            fits.append(found.infit.mean())
            of_items.append(np.nanmean(found.item_infit))
    assert np.mean(fits) == pytest.approx(1, abs=0.05)
    assert np.mean(of_items) == pytest.approx(1, abs=0.1)


def test_intervals_cover_where_items_have_many_clips() -> None:
    """Twenty subjects, eight clips an item each: posteriors are far narrower than the spread of the items."""
    rng = np.random.default_rng(9)
    abilities, difficulties = rng.normal(0, 1, 20), rng.normal(0, 1.5, 200)
    asked = np.full((20, 200), 8)
    found = fit_rasch(rng.binomial(asked, expit(abilities[:, None] - difficulties)), asked)
    shift = found.abilities.mean() - abilities.mean()  # as the mean difficulty of 200 is not 0
    assert np.mean(np.abs(found.difficulties - difficulties - shift) <= found.difficulty_errors) >= 0.9
    assert np.mean(np.abs(found.abilities - abilities) <= found.ability_errors) >= 0.8
    assert found.spread == pytest.approx(difficulties.std(), abs=0.1)


def test_who_passes_all_or_nothing_has_no_ability() -> None:
    _, _, passed, asked = simulated(2)
    passed[3], passed[0] = asked[3], 0
    found = fit_rasch(passed, asked)
    assert np.isnan(found.abilities[[0, 3]]).all() and np.isfinite(found.abilities[1:3]).all()
    assert np.isnan(found.infit[[0, 3]]).all()


def test_a_subject_without_other_items_says_nothing_of_discrimination() -> None:
    _, _, passed, asked = simulated(3, items=8)
    alone = np.zeros((1, 8), int)
    alone[0, 0] = 2
    more = rest_correlation(np.vstack([passed, alone // 2]), np.vstack([asked, alone]))
    assert more[1:] == pytest.approx(rest_correlation(passed, asked)[1:], nan_ok=True)
    assert more[0] == pytest.approx(rest_correlation(passed, asked)[0], nan_ok=True)


def test_an_item_that_the_strong_fail_and_the_weak_pass_discriminates_against_them() -> None:
    _, _, passed, asked = simulated(2)
    asked[:, 0], passed[:, 0] = 4, (4, 4, 0, 0)
    found = fit_rasch(passed, asked)
    assert found.item_infit[0] > 3
    assert rest_correlation(passed, asked)[0] < -0.8


def test_discrimination_is_the_point_biserial_of_single_answers() -> None:
    _, _, passed, asked = simulated(3, items=8)
    found = rest_correlation(passed, asked)
    for item in range(8):
        answers, rates = [], []
        for subject in range(4):
            others = [i for i in range(8) if i != item]
            rate = passed[subject, others].sum() / asked[subject, others].sum()
            won = passed[subject, item]
            answers += [1] * won + [0] * (asked[subject, item] - won)
            rates += [rate] * asked[subject, item]
        if 0 < sum(answers) < len(answers):
            assert found[item] == pytest.approx(pointbiserialr(answers, rates)[0])
        else:
            assert np.isnan(found[item])


def test_counts_that_cannot_be_are_refused() -> None:
    for passed, asked in (([[1, 2]], [[2, 2]]), ([[1, 3], [0, 0]], [[2, 2], [2, 2]])):
        with pytest.raises(ValueError, match="no more passed than asked"):
            fit_rasch(np.array(passed), np.array(asked))
