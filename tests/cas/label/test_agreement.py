from __future__ import annotations

import math

import numpy as np
import pytest

from vmmetrics.cas.label.agreement import goodness_of_fit, rate_raters, settle_repeats
from vmmetrics.cas.label.comparisons import Comparison, Outcome
from vmmetrics.utils.statistics.bradley_terry import fit_strengths
from vmmetrics.utils.statistics.ties import TIE_MODELS


def said(rater: str | None, a: str, b: str, outcome: Outcome, weight: float = 1.0) -> Comparison:
    return Comparison(a, b, outcome, rater=rater, weight=weight)


ROWS = [
    said("ann", "x", "y", "a"),
    said("ann", "y", "x", "b"),  # says the same again
    said("ben", "x", "y", "a"),
    said("cat", "y", "x", "a"),
    said("cat", "x", "z", "tie"),
    said("ben", "z", "x", "b"),
    said(None, "y", "z", "a"),
    said("cat", "y", "x", "b", 2.0),  # takes it back
]


def test_repeats_share_one_voice_or_count_each() -> None:
    rows, counts = settle_repeats(ROWS, "share")
    assert [row.weight for row in rows] == [0.5, 0.5, 1, 0.5, 1, 1, 1, 1.0]
    assert (counts.repeated, counts.contradicted) == (2, 1)
    assert settle_repeats(ROWS, "keep")[0] == tuple(ROWS)


def test_rater_summary_by_hand() -> None:
    fit = fit_strengths([*ROWS, said(None, "z", "y", "a")], prior_sd=1.0)
    strength = dict(zip(fit.items, fit.strength, strict=True))
    assert strength["x"] > max(strength["y"], strength["z"])
    ann, ben, cat = rate_raters(ROWS, fit)
    # beside ann's two stand ben's one and cat's two: same, other, same, twice
    assert (ann.comparisons, ann.shared, ann.agreed, ann.repeated, ann.steady) == (2, 6, pytest.approx(4 / 6), 1, 1.0)
    # ben on x-y: ann, ann, cat (no), cat (yes); on x-z: cat (tie, no)
    assert (ben.shared, ben.agreed, ben.steady) == (5, pytest.approx(3 / 5), None)
    assert (cat.repeated, cat.steady, cat.with_fit) == (1, 0.0, 0.5)
    assert (ann.with_fit, ben.with_fit) == (1.0, 1.0)


def many(model: str, tau: float, seed: int) -> list[Comparison]:
    rng = np.random.default_rng(seed)
    beta = np.linspace(-2, 2, 9)
    rows = []
    for _ in range(2500):
        i, j = rng.choice(9, 2, replace=False)
        p = np.exp(TIE_MODELS[model].log_probabilities(np.array([beta[i] - beta[j]]), tau))[0]
        rows.append(said(None, str(i), str(j), (("a", "tie", "b"))[rng.choice(3, p=p)]))
    return rows


def test_tie_shares_fit_where_the_model_is_right_and_not_where_it_is_wrong() -> None:
    right = goodness_of_fit(fit_strengths(many("davidson", 0.5, 0)))
    assert [b["pairs"] for b in right["ties"]] == ["all", "near", "middle", "far"]
    assert all(abs(b["observed"] - b["predicted"]) < 0.04 for b in right["ties"])
    assert right["ties"][0]["observed"] == pytest.approx(right["ties"][0]["predicted"], abs=1e-6)
    # people who tie at random, however far apart: no model here has that
    rng = np.random.default_rng(1)
    rows = [
        said(None, r.a, r.b, "tie" if rng.random() < 0.3 else r.outcome)
        for r in many("davidson", -9.0, 2)
    ]  # fmt: skip
    wrong = goodness_of_fit(fit_strengths(rows))
    near, _, far = wrong["ties"][1:]
    assert near["predicted"] - near["observed"] > 0.04
    assert far["observed"] - far["predicted"] > 0.04


def test_likelihood_of_equal_strengths_and_share_of_right_decisions() -> None:
    rows = [said(None, "x", "y", o) for o in ("a", "a", "a", "b", "tie")]
    found = goodness_of_fit(fit_strengths(rows))
    assert found["log_likelihood_equal"] == pytest.approx(4 * math.log(0.4) + math.log(0.2))
    assert found["log_likelihood"] == pytest.approx(3 * math.log(0.6) + 2 * math.log(0.2))
    assert found["decided_right"] == 0.75
