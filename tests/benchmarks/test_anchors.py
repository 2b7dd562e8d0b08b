"""The recipe's arithmetic, by hand; footage is not opened."""

from __future__ import annotations

import pytest

from benchmarks import anchors
from benchmarks.anchors import BASE, Change, Scored, changes_of, covered, half_widths, held_out, values_of
from benchmarks.footage import Recording
from vmmetrics.functional.motion_index import motion_index


def item(name: str, source: str, split: str = "train") -> Recording:
    return Recording(f"{name}.mp4", split, "A", source, "r", "", "", "", "", "")


def change(score: float, size: float, source: str = "s", split: str = "train") -> Change:
    return Change(source, split, "grey", score, size)


def test_a_source_counts_once() -> None:
    results = [Scored(item(n, s), BASE, {"mss": m}) for n, s, m in (("a", "x", 0.8), ("b", "x", 0.6), ("c", "y", 0.9))]
    assert values_of(results)["mss"] == (0.7, 0.9)
    assert values_of(results)["cas"] == ()


def test_training_files_have_cas_and_index_as_held_out_or_none() -> None:
    scores = {"cas": 0.9, "mss": 1.0, "tcs": 1.0}
    index = motion_index(scores).score
    assert index is not None
    seen = {**scores, "motion_index": 0.5 * index}  # with a factor of the picture
    results = [
        Scored(item("a", "x"), BASE, seen),
        Scored(item("b", "y"), BASE, seen),
        Scored(item("c", "z", "validation"), BASE, seen),
        Scored(item("c", "z", "validation"), "grey", seen),
    ]
    first, second, third = (result.scores for result in held_out(results, {"a": 0.4}))
    assert first["cas"] == 0.4
    assert first["motion_index"] == pytest.approx(0.5 * 0.4 ** (2 / 3))
    assert second == {"mss": 1.0, "tcs": 1.0}
    assert third == seen


def test_changes_are_from_the_same_file_unchanged() -> None:
    results = [
        Scored(item("a", "x"), BASE, {"mss": 0.9, "ois": 1.0}),
        Scored(item("b", "y"), BASE, {"mss": 0.5}),
        Scored(item("a", "x"), "grey", {"mss": 0.7}),
        Scored(item("b", "y"), "grey", {"mss": 0.6, "ois": 0.4}),
    ]
    changes = changes_of(results)
    assert [(c.source, c.score, round(c.size, 9)) for c in changes["mss"]] == [("x", 0.9, 0.2), ("y", 0.5, 0.1)]
    assert changes["ois"] == []


def test_changes_of_a_damaged_window_are_from_the_damaged_one() -> None:
    of = anchors.OF
    results = [Scored(item("a", "x"), name, {"cas": score}) for name, score in (
        (BASE, 0.9), ("boil" + of, 0.3), ("boil" + of + "grey", 0.5), ("grey", 0.8))]  # fmt: skip
    assert [(c.score, round(c.size, 9), c.kind) for c in changes_of(results)["cas"]] == [
        (0.3, 0.2, "grey"),
        (0.9, 0.1, "grey"),
    ]
    assert held_out(results, {"a": 0.7})[0].change == BASE
    assert len(held_out(results, {"a": 0.7})) == 1


def test_low_scores_have_a_width_of_their_own() -> None:
    mostly_one = [change(1.0, 0.0)] * 90 + [change(0.5, 0.2)] * 10
    assert half_widths(mostly_one) == ((0.5, 0.2), (1.0, anchors.LEAST_WIDTH))


def test_widths_are_quantiles_that_never_rise() -> None:
    falling = [change(score, size) for score, size in ((0.2, 0.3), (0.5, 0.2), (0.8, 0.1)) for _ in range(20)]
    assert half_widths(falling) == ((0.2, 0.3), (0.5, 0.2), (0.8, 0.1))
    rising = [change(score, size) for score, size in ((0.2, 0.1), (0.5, 0.1), (0.8, 0.3)) for _ in range(20)]
    assert half_widths(rising) == ((0.2, 0.3), (0.5, 0.3), (0.8, 0.3))
    assert half_widths([change(1.0, 0.0)] * 30) == ((1.0, anchors.LEAST_WIDTH),)
    spread = [change(0.5, k / 100) for k in range(1, 101)]
    ((_, width),) = half_widths(spread)
    assert 0.9 <= width <= 0.92


def test_a_source_does_not_vouch_for_itself() -> None:
    quiet = [change(0.5, 0.01, f"t{k}") for k in range(20)]
    loud = [change(0.5, 0.5, "loud", "validation")] * 5
    calm = [change(0.5, 0.01, "calm", "validation")] * 3
    assert covered([*quiet, *loud, *calm]) == (3, 8)
