"""Agreement with planted truth, and shares against formulas by hand."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from vmmetrics.alignment.audit.calls import Limits
from vmmetrics.alignment.audit.lines import Line, PartResult
from vmmetrics.alignment.audit.people import people
from vmmetrics.alignment.audit.target import Target
from vmmetrics.alignment.audit.truth import Truth, read_truth, scored
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.utils.statistics.shares import winning_share

UP = Target("function", "m:f", ("path",), higher_is_better={"": True})
DOWN = replace(UP, higher_is_better={"": False})
AMOUNT = replace(UP, amount=("",))
MODELS, PROMPTS = 4, 15
CLIPS = [f"model{m}/{p:03d}.mp4" for m, p in product(range(MODELS), range(PROMPTS))]


def table(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


@pytest.fixture
def quality() -> np.ndarray:
    return np.random.default_rng(1).permutation(len(CLIPS)).astype(float)


@pytest.fixture
def rated(tmp_path: Path, quality: np.ndarray) -> Truth:
    rows = list(zip(CLIPS, 1 + quality / 20, strict=True))
    return Truth(ratings=(table(tmp_path / "ratings.csv", ("clip", "smoothness"), rows),))


def named(values: Sequence[float] | np.ndarray, clips: Sequence[str] = CLIPS) -> dict[str, dict[str, float]]:
    return {"s": {clip: float(value) for clip, value in zip(clips, values, strict=True)}}


def lines(result: PartResult) -> Mapping[str, Line]:
    assert all(line.part == "people" for line in result.lines)
    return {line.check.partition(":")[0]: line for line in result.lines}


# Ratings.


def test_score_in_the_order_of_the_ratings_agrees(rated: Truth, quality: np.ndarray) -> None:
    found = lines(people(named(quality**3), UP, rated, tests=50))
    for level in ("agreement", "within models"):
        assert (found[level].grade, found[level].verdict) == ("good", "agrees")
        assert found[level].effect == pytest.approx(1.0)
        assert found[level].clips == len(CLIPS)
    assert found["amplitude constant"].grade == "open"
    assert "amplitude" in found["amplitude constant"].text


def test_direction_of_the_target_turns_the_score(rated: Truth, quality: np.ndarray) -> None:
    noisy = quality + np.random.default_rng(2).normal(0, 8, len(quality))
    for scores, target, grade, sign in ((-noisy, UP, "bad", -1), (-noisy, DOWN, "good", 1), (noisy, DOWN, "bad", -1)):
        line = lines(people(named(scores), target, rated, tests=20))["agreement"]
        assert (line.grade, np.sign(line.effect)) == (grade, sign)
        assert line.effect == pytest.approx(sign * abs(stats.spearmanr(noisy, quality).statistic))


def test_unrelated_score_is_not_told_apart(rated: Truth, quality: np.ndarray) -> None:
    scores = np.random.default_rng(4).normal(size=len(quality))
    found = lines(people(named(scores), UP, rated, tests=20))
    assert {line.grade for line in found.values()} == {"open"}
    assert found["agreement"].low < 0 < found["agreement"].high


def test_interval_is_students_on_fishers_scale_at_the_level_of_the_card(rated: Truth, quality: np.ndarray) -> None:
    scores = named(quality + np.random.default_rng(5).normal(0, 25, len(quality)))
    one, many = (lines(people(scores, UP, rated, tests=tests))["agreement"] for tests in (1, 40))
    degrees = PROMPTS - 2
    wider = stats.t.ppf(1 - 0.05 / 40 / 2, degrees) / stats.t.ppf(0.975, degrees)
    reach = (math.atanh(one.high) - math.atanh(one.low)) / 2
    assert math.atanh(many.high) - math.atanh(many.effect) == pytest.approx(reach * wider)
    assert math.atanh(many.effect) - math.atanh(many.low) == pytest.approx(reach * wider)


def test_preferring_calm_clips_agrees_only_until_amplitude_is_constant(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    amplitude = rng.uniform(0, 10, len(CLIPS))
    ratings = -amplitude + rng.normal(0, 1.5, len(CLIPS))
    truth = Truth(ratings=(table(tmp_path / "r.csv", ("clip", "smoothness"), list(zip(CLIPS, ratings, strict=True))),))
    moves = dict(zip(CLIPS, amplitude, strict=True))
    calm, sharp = named(-amplitude + rng.normal(0, 1.5, len(CLIPS))), named(ratings + rng.normal(0, 0.3, len(CLIPS)))
    found = lines(people(calm, UP, truth, amplitude=moves, tests=20))
    assert (found["agreement"].grade, found["within models"].grade) == ("good", "good")
    assert found["amplitude constant"].grade == "open"
    alone = stats.spearmanr(-amplitude, ratings).statistic
    assert f"less motion alone: {alone:+.2f}" in found["agreement"].text
    assert lines(people(sharp, UP, truth, amplitude=moves, tests=20))["amplitude constant"].grade == "good"
    exact = lines(people(named(-amplitude), UP, truth, amplitude=moves, tests=20))
    assert (exact["agreement"].grade, exact["amplitude constant"].grade) == ("good", "open")


def test_amplitude_is_constant_over_all_clips_where_models_are_unknown(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    clips = [f"{letter}{n}" for n, letter in enumerate("abcdefghijklmnopqrstuvwxyz")]
    amplitude, good = rng.normal(size=(2, len(clips)))
    truth = Truth(ratings=(table(tmp_path / "r.csv", ("clip", "smoothness"), list(zip(clips, good, strict=True))),))
    moves = dict(zip(clips, amplitude, strict=True))
    found = lines(people(named(good + rng.normal(0, 0.2, len(clips)), clips), UP, truth, amplitude=moves))
    assert found["within models"].grade == "open"
    assert "models of the clips are not known" in found["within models"].text
    assert found["amplitude constant"].grade == "good"
    assert "of one model" in found["amplitude constant"].text


def test_perfect_order_of_five_clips_is_not_enough_for_a_whole_card(tmp_path: Path) -> None:
    clips, order = list("abcdefgh"), range(1, 9)
    for count, tests, grade in ((5, 1, "good"), (5, 20, "open"), (8, 20, "good")):
        rows = list(zip(clips[:count], order, strict=False))
        truth = Truth(ratings=(table(tmp_path / "r.csv", ("clip", "smoothness"), rows),))
        assert lines(people(named(range(count), clips[:count]), UP, truth, tests=tests))["agreement"].grade == grade


def test_amounts_and_scores_without_direction_are_notes(rated: Truth, quality: np.ndarray, tmp_path: Path) -> None:
    undirected = replace(UP, higher_is_better={})
    for target in (undirected, AMOUNT):
        line = lines(people(named(-quality), target, rated))["agreement"]
        assert (line.grade, line.verdict.partition(":")[0], line.expected) == ("note", "lower", None)
    rows = list(zip(CLIPS, 1 + quality / 20, strict=True))
    dynamics = Truth(ratings=(table(tmp_path / "d.csv", ("clip", "dynamic_degree"), rows),))
    assert lines(people(named(quality), AMOUNT, dynamics))["agreement"].grade == "good"
    assert lines(people(named(quality), UP, dynamics))["agreement"].grade == "note"


def test_several_sources_and_judged_pairs(tmp_path: Path, rated: Truth, quality: np.ndarray) -> None:
    rng = np.random.default_rng(8)
    order = [rng.permutation(len(CLIPS))[:2] for _ in range(60)]
    rows = [(CLIPS[a], CLIPS[b], "left" if quality[a] > quality[b] else "right") for a, b in order]
    votes = table(tmp_path / "votes.csv", ("left", "right", "preference"), rows)
    truth = replace(rated, ratings=(*rated.ratings, votes))
    result = people(named(quality), UP, truth, tests=10)
    assert {line.check for line in result.lines if line.check.startswith("agreement")} == {
        "agreement: ratings: smoothness"
    }
    line = lines(result)["preferences"]
    assert (line.grade, line.effect) == ("good", 0.5)
    assert lines(people(named(-quality), UP, truth, tests=10))["preferences"].grade == "bad"


def test_what_has_no_correlation_is_open_and_says_why(rated: Truth, quality: np.ndarray) -> None:
    constant = lines(people(named(np.ones(len(CLIPS))), UP, rated))["agreement"]
    assert (constant.grade, constant.effect) == ("open", None)
    assert "all the same" in constant.text
    few = lines(people(named(quality[:4], CLIPS[:4]), UP, rated))["agreement"]
    assert few.grade == "open"
    assert "4 clips have a score and a rating" in few.text
    assert not {"pairs", "footage", "worse"} & {line.check for line in people(named(quality), UP, rated).lines}


def test_names_are_text(tmp_path: Path, quality: np.ndarray) -> None:
    rows = list(zip(CLIPS, 1 + quality / 20, strict=True))
    truth = Truth(ratings=(table(tmp_path / "r.csv", ("clip", "smooth\x1b[31mness"), rows),))
    assert all(
        of.isprintable()
        for line in people(named(quality), UP, truth).lines
        for of in (line.check, line.title, line.text)
    )


# Pairs of known order.


def test_pairs_by_hand(tmp_path: Path) -> None:
    clips = [f"c{n}" for n in range(24)]
    rows = [(f"c{2 * n}.mp4", f"c{2 * n + 1}.mp4") for n in range(12)]
    truth = Truth(pairs=table(tmp_path / "pairs.csv", ("better", "worse"), rows))
    values = [value for n in range(12) for value in ((1, 0) if n < 9 else (1, 1) if n < 10 else (0, 1))]
    line = lines(people(named(values, clips), UP, truth, tests=4))["pairs"]
    wins, tail = 9.5, 0.025 / 4
    assert line.effect == pytest.approx(wins / 12 - 0.5)
    assert line.low == pytest.approx(stats.beta.ppf(tail, wins, 12 - wins + 1) - 0.5)
    assert line.high == pytest.approx(stats.beta.ppf(1 - tail, wins + 1, 12 - wins) - 0.5)
    assert (line.clips, line.grade) == (24, "open")
    assert "1 ties as half" in line.text
    exact = stats.binomtest(10, 12).proportion_ci(method="exact")
    won = lines(people(named([1, 0] * 10 + [0, 1] * 2, clips), UP, truth))["pairs"]
    assert (won.low + 0.5, won.high + 0.5) == pytest.approx((exact.low, exact.high))
    assert (won.grade, won.verdict) == ("good", "better clip wins")
    turned = lines(people(named([1, 0] * 12, clips), DOWN, truth))["pairs"]
    assert (turned.grade, turned.verdict, turned.low) == ("bad", "worse clip wins", -0.5)


def test_a_truth_of_other_clips_is_refused(tmp_path: Path) -> None:
    """By its name, and with names of both sides: agreement over no clip would pass for a result."""
    pairs = table(tmp_path / "pairs.csv", ("better", "worse"), [("x", "y")])
    ratings = table(tmp_path / "ratings.csv", ("clip", "rating"), [("x", "3"), ("y", "4")])
    for truth in (Truth(pairs=pairs), Truth((ratings,))):
        with pytest.raises(SetupError, match=r"s.csv names none of the clips: it has x, y.*; the clips are a, b"):
            read_truth(truth, ["a", "b"])
    some = table(tmp_path / "some.csv", ("clip", "rating"), [("a.mp4", "3"), ("y", "4")])
    assert read_truth(Truth((some,)), ["a", "b"]).ratings


def test_pairs_count_what_is_left_out(tmp_path: Path) -> None:
    clips = [f"c{n}" for n in range(8)]
    rows = [
        ("c0", "c1"),
        ("c0", "c1"),
        ("c0", "c2"),
        ("c0", "c3"),
        ("c0", "c4"),
        ("c0", "c5"),
        ("c0", "gone"),
        ("", "c1"),
    ]
    truth = Truth(pairs=table(tmp_path / "pairs.csv", ("better", "worse"), rows))
    line = lines(people(named([9, *range(7)], clips), UP, truth))["pairs"]
    assert "of 5 pairs" in line.text
    assert "3 rows left out" in line.text
    assert "share a clip" in line.text
    few = lines(people(named([1, 0], clips[:2]), UP, truth))["pairs"]
    assert few.grade == "open"
    assert "1 pairs have two scores" in few.text


def test_tables_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="expected columns better and worse"):
        read_truth(Truth(pairs=table(tmp_path / "p.csv", ("left", "right"), [("a", "b")])), ["a", "b"])
    with pytest.raises(SetupError, match="gone"):
        read_truth(Truth(ratings=(tmp_path / "gone.csv",)), ["a"])
    with pytest.raises(SetupError):
        people(named([1.0], ["a"]), UP, Truth(ratings=(table(tmp_path / "r.csv", ("clip", "notes"), [("a", "fine")]),)))


# Footage, and clips known to be worse.


def test_share_of_comparisons_by_brute_force() -> None:
    rng = np.random.default_rng(9)
    one, other = rng.integers(0, 6, 13).tolist(), rng.integers(0, 5, 9).tolist()
    value, low, high = winning_share(one, other)
    brute = sum((a > b) + 0.5 * (a == b) for a, b in product(one, other)) / (13 * 9)
    assert value == pytest.approx(brute)
    assert value == pytest.approx(stats.mannwhitneyu(one, other).statistic / (13 * 9))
    assert low < value < high
    turned = winning_share(other, one)
    assert turned[0] == pytest.approx(1 - value)
    wide = winning_share(one, other, tests=50)
    assert wide[1] < low
    assert wide[2] > high


def test_interval_of_groups_holds_the_truth_and_needs_clips() -> None:
    rng = np.random.default_rng(10)
    truth = stats.norm.cdf(1 / math.sqrt(2))
    held = [
        low <= truth <= high
        for _ in range(40)
        for _, low, high in [winning_share(rng.normal(1, 1, 10), rng.normal(0, 1, 12))]
    ]
    assert np.mean(held) >= 0.875
    apart = winning_share([6, 7, 8, 9, 10], [1, 2, 3, 4, 5])  # one order of 252
    assert apart[0] == 1.0
    assert apart[1] > 0.5
    assert winning_share([6, 7, 8, 9, 10], [1, 2, 3, 4, 5], tests=50)[1] < 0.5


def test_footage_and_worse_clips() -> None:
    rng = np.random.default_rng(11)
    clips, real, bad = (
        named(rng.normal(mean, 1, 30), [f"{name}{n}" for n in range(30)])
        for mean, name in ((0, "c"), (2, "r"), (-2, "w"))
    )
    truth = Truth(footage=True)
    found = lines(people(clips, UP, truth, footage=real, worse=bad, tests=20))
    assert (found["footage"].grade, found["footage"].verdict) == ("good", "real footage wins")
    assert (found["worse"].grade, found["worse"].verdict) == ("good", "better than worse clips")
    turned = lines(people(clips, DOWN, truth, footage=real, worse=bad, tests=20))
    assert (turned["footage"].verdict, turned["worse"].grade) == ("real footage does not win", "bad")
    assert turned["footage"].effect == pytest.approx(-found["footage"].effect)
    assert lines(people(clips, UP, truth, footage=clips))["footage"].grade == "open"
    assert lines(people(clips, AMOUNT, truth, footage=real))["footage"].grade == "note"
    same = named(np.ones(6), list("abcdef"))
    assert "all the same" in lines(people(same, UP, truth, footage=same))["footage"].text
    assert "0 on" not in lines(people(clips, UP, truth, footage={}))["footage"].verdict
    assert lines(people(clips, UP, truth, footage={}))["footage"].grade == "open"


def test_what_was_not_given_is_not_tried() -> None:
    result = people(named([1.0], ["a"]), UP, Truth(), footage=named([1.0], ["b"]))
    assert not result.lines
    assert {of.check for of in result.not_tried} == {"ratings", "pairs", "footage", "worse"}
    assert [of.why for of in people({}, UP, Truth()).not_tried] == ["no clip has a score"]


# Scores.


def test_scored_names_what_has_no_score(tmp_path: Path) -> None:
    (tmp_path / "people_scorer.py").write_text(
        "def mean(frames):\n"
        "    value = float(frames.mean())\n"
        "    if value > 200:\n        raise ValueError('too bright')\n"
        "    return float('nan') if value < 20 else value\n"
    )
    target = Target("function", "people_scorer:mean", ("frames",), "mean", origin=str(tmp_path))
    levels = {"dark": 0, "mid": 120, "bright": 255}
    clips = [
        Clip(np.full((6, 32, 32, 3), v, np.uint8), np.arange(6) / 12, 12.0, name=name) for name, v in levels.items()
    ]
    scores, reasons = scored(target, Limits(seconds=60), clips)
    assert scores["mean"] == {"mid": pytest.approx(120, abs=3)}
    assert set(reasons) == {"dark", "bright"}
    assert "too bright" in reasons["bright"]
    with pytest.raises(ValueError, match="twice"):
        scored(target, Limits(seconds=60), [clips[1], clips[1]])
