"""Intervals against the formula by hand and by simulation; verdicts on made-up lines of a probe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from vmmetrics.alignment.audit.effects import Effect, Effects, effect_of, judged, signed_ranks
from vmmetrics.alignment.audit.lines import Line
from vmmetrics.alignment.audit.target import Target
from vmmetrics.alignment.probe.cases import Plan

UP = Target("function", "m:f", ("path",), "s", higher_is_better={"": True})
DOWN = replace(UP, higher_is_better={"": False})
UNSAID = replace(UP, higher_is_better={})
AMOUNT = replace(UP, amount=("",))


# The interval.


@pytest.mark.parametrize(("count", "tests"), [(6, 1), (9, 1), (9, 10), (14, 1), (14, 60)])
def test_interval_inverts_the_signed_rank_test(count: int, tests: int) -> None:
    """Of all shifts, those in the interval are not rejected by SciPy's exact test."""
    changes = np.random.default_rng(count).normal(0.2, 1, count)
    effect = effect_of(changes.tolist(), 2, tests)
    assert effect is not None
    assert effect.shift == pytest.approx(np.median([(a + b) / 2 for n, a in enumerate(changes) for b in changes[n:]]))
    assert effect[3:] == (count, 2)
    for end, out in ((effect.low, -1e-6), (effect.high, 1e-6)):
        inside, outside = (stats.wilcoxon(changes - end + side, method="exact").pvalue for side in (out, -out))
        assert outside <= 0.05 / tests < inside


@pytest.mark.parametrize(("count", "tests"), [(5, 1), (6, 7), (8, 60), (13, 400)])
def test_interval_of_few_clips_by_hand(count: int, tests: int) -> None:
    """No signed-rank test of so few clips has the level, so that it is Student's."""
    assert 2 * 0.5**count > 0.05 / tests
    changes = np.random.default_rng(count).normal(0.2, 1, count)
    effect = effect_of(changes.tolist(), 0, tests)
    interval = stats.t.interval(1 - 0.05 / tests, count - 1, changes.mean(), stats.sem(changes))
    assert effect is not None
    assert effect[1:3] == pytest.approx(interval)


@pytest.mark.parametrize("count", [1, 5, 9])
def test_signed_ranks_by_enumeration(count: int) -> None:
    sums = [sum(np.flatnonzero(signs) + 1) for signs in product((0, 1), repeat=count)]
    assert signed_ranks(count) == pytest.approx(np.bincount(sums) / 2**count)


def test_clips_that_would_settle_a_line() -> None:
    """Four times as many where the interval reaches twice as far as it may."""
    assert Effect(0.2, -0.2, 0.4, 12, 0).enough(0.2) == "; about 48 clips (--clips) would tell"
    assert Effect(0.2, -0.2, 0.4, 12, 0).enough(0.0) == Effect(0.2, -9.0, 9.0, 12, 0).enough(0.1) == ""
    assert Effect(0.2, -np.inf, np.inf, 4, 0).enough(0.2) == "; 5 clips give an interval"


def test_few_clips_have_no_interval() -> None:
    assert effect_of([], 3, 10) is None
    assert effect_of([1.0] * 4, 0, 10) == (1.0, -np.inf, np.inf, 4, 0)
    assert effect_of([1.0] * 5, 0, 10) == (1.0, -np.inf, np.inf, 5, 0)  # equal changes have no width


@pytest.mark.parametrize("spread", ["normal", "heavy"])
@pytest.mark.parametrize(("count", "tests"), [(5, 1), (14, 1), (6, 20), (14, 20)])
def test_coverage(count: int, tests: int, spread: str) -> None:
    """All lines of a card together hold the truth in 95 % of cards or more."""
    rng = np.random.default_rng(count)
    rounds = 400
    held = 0
    for _ in range(rounds):
        drawn = 0.3 + (rng.normal(0, 1, (tests, count)) if spread == "normal" else rng.standard_t(3, (tests, count)))
        effects = [effect_of(row.tolist(), 0, tests) for row in drawn]
        held += all(effect is not None and effect.low <= 0.3 <= effect.high for effect in effects)
    assert 0.95 - 3 * np.sqrt(0.95 * 0.05 / rounds) < held / rounds


# Verdicts on traps.


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("expected", "low", "high", "grade", "verdict"),
    [
        ("lower", 0.2, 0.6, "bad", "fooled: better"),
        ("lower", -0.6, -0.2, "good", "worse, as it should"),
        ("lower", -0.05, 0.05, "bad", "no worse"),
        ("lower", -0.5, 0.05, "open", "not told apart"),
        ("lower", -0.05, 0.5, "open", "not told apart"),
        ("not higher", 0.2, 0.6, "bad", "fooled: better"),
        ("not higher", -0.6, -0.2, "good", "no better"),
        ("not higher", -0.05, 0.05, "good", "no better"),
        ("not higher", -0.05, 0.5, "open", "not told apart"),
        ("unchanged", 0.2, 0.6, "bad", "fooled: better"),
        ("unchanged", -0.6, -0.2, "bad", "worse"),
        ("unchanged", -0.05, 0.05, "good", "unchanged"),
        ("unchanged", -0.5, 0.05, "open", "not told apart"),
        ("unchanged", -np.inf, np.inf, "open", "not told apart"),
        ("not higher", -np.inf, np.inf, "open", "not told apart"),
        ("lower", -np.inf, np.inf, "open", "not told apart"),
    ],
)
def test_verdicts_on_traps(expected: str, low: float, high: float, grade: str, verdict: str, sign: int) -> None:
    low, high = sorted((sign * low, sign * high))
    middle = (low + high) / 2 if np.isfinite(low) else 0.0
    assert judged(expected, Effect(middle, low, high, 9, 0), sign, 0.1) == (grade, verdict)


@pytest.mark.parametrize("expected", ["lower", "not higher", "unchanged"])
def test_verdicts_without_a_direction(expected: str) -> None:
    assert judged(expected, Effect(0.4, 0.2, 0.6, 9, 0), 0, 0.1) == ("note", "higher: no direction was stated")
    assert judged(expected, Effect(-0.4, -0.6, -0.2, 9, 0), 0, 0.1) == ("note", "lower: no direction was stated")
    assert judged(expected, Effect(0.05, 0.01, 0.09, 9, 0), 0, 0.1) == ("open", "not told apart")


# Lines of a probe.

CLIPS = 8
PLAN = Plan(
    defects=("blur", "flicker"), strengths=(0.5, 1.0), invariances=("mirror",), harmless_strengths=(1.0,), rates=False,
    traps=("frozen", "repeat"),
)  # fmt: skip
Change = Callable[[int], float | None]


def lines_of(changes: Mapping[tuple[str, float], Change], names: Sequence[str] = ("s",)) -> list[dict[str, Any]]:
    """Return lines in which clip ``n`` scores ``n`` as it was, and other by ``changes``; None loses the score."""
    lines = []
    for kind, strength in PLAN.cases():
        for n in range(CLIPS):
            change = changes.get((kind, strength), lambda _: 0.0)(n)
            given = {} if change is None else dict.fromkeys(names, n + change)
            missing = dict.fromkeys(names, "why") if change is None else {}
            lines.append({"clip": f"{n}", "kind": kind, "strength": strength, "scores": given, "missing": missing})
    return lines


def small(n: int) -> float:
    return 0.01 * (-1) ** n


def card(target: Target, **changes: Change) -> dict[str, Line]:
    at = {(kind, strength): change for kind, change in changes.items() for strength in (0.5, 1.0)}
    result = Effects(lines_of({("mirror", 1.0): small, **at}), target, PLAN, 5).all()
    assert result.not_tried == []
    return {line.check: line for line in result.lines}


def worse(n: int) -> float:
    return -2 - 0.1 * n


def better(n: int) -> float:
    return 2 + 0.1 * n


def unclear(n: int) -> float:
    return 3.0 * (-1) ** n + 0.2


def test_seen_in_the_right_direction() -> None:
    assert (card(UP, blur=worse)["blur"].grade, card(UP, blur=worse)["blur"].verdict) == (
        "good",
        "noticed from strength 0.5",
    )
    assert card(DOWN, blur=better)["blur"].verdict == "noticed from strength 0.5"
    line = card(UP, blur=worse)["blur"]
    assert line.effect == pytest.approx(-2.35)
    assert (line.clips, line.expected, line.part) == (CLIPS, "worse", "sees")
    assert (line.low, line.high) == pytest.approx((-2.7, -2.0))  # all changes: 2 · 2⁻⁸ is below 5 % of 5 checks


def test_contrary() -> None:
    for target, change in ((UP, better), (DOWN, worse)):
        assert (card(target, blur=change)["blur"].grade, card(target, blur=change)["blur"].verdict) == (
            "bad",
            "better from strength 0.5",
        )
    assert card(UNSAID, blur=better)["blur"].grade == "good"  # noticed; which way is better was not said
    assert card(AMOUNT, blur=better)["blur"].grade == "note"  # more motion is no praise
    assert card(AMOUNT, blur=better)["blur"].expected is None


def test_strength_from_which_it_is_noticed() -> None:
    result = Effects(lines_of({("mirror", 1.0): small, ("blur", 1.0): worse}), UP, PLAN, 5).all()
    line = next(line for line in result.lines if line.check == "blur")
    assert line.verdict == "noticed from strength 1"
    assert line.text.startswith("at strength 1: means 3.5 → 1.15, typically -2.35 [")
    assert "order of strengths" not in line.text
    result = Effects(lines_of({("mirror", 1.0): small, ("blur", 0.5): worse}), UP, PLAN, 5).all()
    line = next(line for line in result.lines if line.check == "blur")
    assert "not in the order of strengths" in line.text


def test_ignored_and_not_told_apart() -> None:
    lines = card(UP, flicker=unclear)
    assert (lines["blur"].grade, lines["blur"].verdict) == ("note", "ignored")
    assert (lines["flicker"].grade, lines["flicker"].verdict) == ("open", "not told apart")


def test_refused_defects_and_traps() -> None:
    lines = card(UP, blur=lambda _: None, frozen=lambda _: None, repeat=lambda n: None if n < 5 else 0.0)
    assert (lines["blur"].grade, lines["blur"].verdict, lines["blur"].effect) == ("good", "refused", None)
    assert "8 clips" in lines["blur"].text
    assert (lines["frozen"].grade, lines["frozen"].verdict) == ("good", "refused")
    assert (lines["repeat"].verdict, lines["repeat"].text[:7]) == ("refused", "5 clips")  # more than have one
    some = card(UP, blur=lambda n: None if n < 2 else worse(n))["blur"]
    assert (some.verdict, some.clips) == ("noticed from strength 0.5", 6)
    assert "2 lost their score" in some.text


def test_harmless_changes() -> None:
    assert (card(UP)["mirror"].grade, card(UP)["mirror"].verdict) == ("good", "unchanged")
    moved = card(UP, mirror=lambda n: 2.0 * (-1) ** n)["mirror"]  # of a range of 7, though 0 on average
    assert (moved.grade, moved.verdict, moved.effect) == ("bad", "changes", 0)
    assert card(UP, mirror=lambda n: 0.3 * n)["mirror"].grade == "open"


@pytest.mark.parametrize(("target", "sign"), [(UP, 1), (DOWN, -1)])
def test_traps_by_direction(target: Target, sign: int) -> None:
    line = card(target, frozen=lambda n: sign * better(n))["frozen"]
    assert line.verdict == "fooled: better"
    assert "; should be no better: " in line.text
    assert card(target, frozen=lambda n: sign * worse(n))["frozen"].grade == "good"


@pytest.mark.parametrize(
    ("raised", "found"),
    [
        (
            "RuntimeError: AttributeError: no attribute 'ravel' (called.py:66)",
            [("error", "crashes"), ("open", "not told apart")],
        ),
        ("RuntimeError: ValueError: TypeError: too dark (called.py:66)", [("open", "not told apart")]),
        (
            "RuntimeError: its process ended: late (called.py:66)",
            [("error", "hangs or dies"), ("open", "not told apart")],
        ),
    ],
)
def test_a_crash_is_no_answer(raised: str, found: list[tuple[str, str]]) -> None:
    lines = lines_of({("blur", 1.0): lambda n: None if n < 3 else unclear(n)})
    for line in lines:
        if not line["scores"]:
            line |= {"missing": {}, "errors": {"s": raised}}
    shown = [line for line in Effects(lines, UP, PLAN, 5).all().lines if line.check == "blur"]
    assert [(line.grade, line.verdict) for line in shown] == found
    assert ("lost their score" in shown[-1].text) == (len(found) == 1)
    if found[0][1] == "crashes":
        assert shown[0].text == "AttributeError: no attribute 'ravel'"


def test_noise_and_spread() -> None:
    effects = Effects(lines_of({("mirror", 1.0): lambda n: 0.5 * (-1) ** n}), UP, PLAN, 5)
    assert effects.noise["s"] == pytest.approx(0.5)  # the root of the mean square
    assert effects.spread["s"] == 7
    still = Effects(lines_of({}), UP, PLAN, 5)
    assert 0 < still.noise["s"] <= 0.01 * 7


def test_several_scores_and_nothing_scored() -> None:
    effects = Effects(lines_of({("blur", 1.0): worse}, ("a", "b")), UP, PLAN, 5)
    assert list(effects.names) == ["a", "b"]
    counts = [sum(line.score == name for line in effects.all().lines) for name in ("a", "b")]
    assert counts == [5, 5]
    nothing = Effects(lines_of({case: lambda _: None for case in PLAN.cases()}), UP, PLAN, 5)
    assert nothing.all().lines == []


def test_unchanged_clips_without_a_score_are_told() -> None:
    lost = Effects(lines_of({("clean", 0.0): lambda n: None if n == 3 else 0.0}), UP, PLAN, 5).all()
    assert [(entry.part, entry.why) for entry in lost.not_tried] == [("sees", "3 has no score as it is: why")]
    assert {line.clips for line in lost.lines} == {CLIPS - 1}


def test_cases_that_did_not_apply_are_told() -> None:
    lines = [line for line in lines_of({}) if line["kind"] not in ("flicker", "frozen")]
    lines += [
        {"clip": "0", "kind": kind, "strength": 1.0, "inapplicable": "too short"} for kind in ("flicker", "frozen")
    ]
    left = {(entry.part, entry.check): entry.why for entry in Effects(lines, UP, PLAN, 5).all().not_tried}
    assert left == {("sees", "flicker"): "too short", ("fooled", "frozen"): "too short"}
