from __future__ import annotations

import math

import numpy as np
import pytest

from vmmetrics.utils.statistics.bradley_terry import fit_strengths, goodness_of_fit
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT, TIE, Outcome, Preference, rate_raters, settle_repeats
from vmmetrics.utils.statistics.ties import TIE_MODELS


def said(rater: str | None, a: str, b: str, outcome: Outcome, weight: float = 1.0) -> Preference:
    return Preference(a, b, outcome, rater=rater, weight=weight)


ROWS = [
    said("ann", "x", "y", LEFT),
    said("ann", "y", "x", RIGHT),  # says the same again
    said("ben", "x", "y", LEFT),
    said("cat", "y", "x", LEFT),
    said("cat", "x", "z", TIE),
    said("ben", "z", "x", RIGHT),
    said(None, "y", "z", LEFT),
    said("cat", "y", "x", RIGHT, 2.0),  # takes it back
]


def test_repeats_share_one_voice_or_count_each() -> None:
    rows, counts = settle_repeats(ROWS, "share")
    assert [row.weight for row in rows] == [0.5, 0.5, 1, 0.5, 1, 1, 1, 1.0]
    assert (counts.repeated, counts.contradicted) == (2, 1)
    assert settle_repeats(ROWS, "keep")[0] == tuple(ROWS)


def test_rater_summary_by_hand() -> None:
    fit = fit_strengths([*ROWS, said(None, "z", "y", LEFT)], prior_sd=1.0)
    strength = dict(zip(fit.items, fit.strength, strict=True))
    assert strength["x"] > max(strength["y"], strength["z"])
    ann, ben, cat = rate_raters(ROWS, strength)
    # beside ann's two stand ben's one and cat's two: same, other, same, twice
    assert (ann.comparisons, ann.shared, ann.agreed, ann.repeated, ann.steady) == (2, 6, pytest.approx(4 / 6), 1, 1.0)
    # ben on x-y: ann, ann, cat (no), cat (yes); on x-z: cat (tie, no)
    assert (ben.shared, ben.agreed, ben.steady) == (5, pytest.approx(3 / 5), None)
    assert (cat.repeated, cat.steady, cat.with_fit) == (1, 0.0, 0.5)
    assert (ann.with_fit, ben.with_fit) == (1.0, 1.0)


def many(model: str, tau: float, seed: int) -> list[Preference]:
    rng = np.random.default_rng(seed)
    beta = np.linspace(-2, 2, 9)
    rows = []
    for _ in range(2500):
        i, j = rng.choice(9, 2, replace=False)
        p = np.exp(TIE_MODELS[model].log_probabilities(np.array([beta[i] - beta[j]]), tau))[0]
        rows.append(said(None, str(i), str(j), (LEFT, TIE, RIGHT)[rng.choice(3, p=p)]))
    return rows


def test_tie_shares_fit_where_the_model_is_right_and_not_where_it_is_wrong() -> None:
    right = goodness_of_fit(fit_strengths(many("davidson", 0.5, 0)))
    assert [b["pairs"] for b in right["ties"]] == ["all", "near", "middle", "far"]
    assert all(abs(b["observed"] - b["predicted"]) < 0.04 for b in right["ties"])
    assert right["ties"][0]["observed"] == pytest.approx(right["ties"][0]["predicted"], abs=1e-6)
    # people who tie at random, however far apart: no model here has that
    rng = np.random.default_rng(1)
    rows = [
        said(None, r.left, r.right, TIE if rng.random() < 0.3 else r.outcome)
        for r in many("davidson", -9.0, 2)
    ]  # fmt: skip
    wrong = goodness_of_fit(fit_strengths(rows))
    near, _, far = wrong["ties"][1:]
    assert near["predicted"] - near["observed"] > 0.04
    assert far["observed"] - far["predicted"] > 0.04


def test_likelihood_of_equal_strengths_and_share_of_right_decisions() -> None:
    rows = [said(None, "x", "y", o) for o in (LEFT, LEFT, LEFT, RIGHT, TIE)]
    found = goodness_of_fit(fit_strengths(rows))
    assert found["log_likelihood_equal"] == pytest.approx(4 * math.log(0.4) + math.log(0.2))
    assert found["log_likelihood"] == pytest.approx(3 * math.log(0.6) + 2 * math.log(0.2))
    assert found["decided_right"] == 0.75
