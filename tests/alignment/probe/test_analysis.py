"""From lines to findings, on lines made by hand."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.alignment.probe.analysis import analyse, monotone_fit, rate_limit
from vmmetrics.alignment.probe.cases import CLEAN, RATE
from vmmetrics.alignment.probe.charts import draw_charts
from vmmetrics.alignment.probe.results import MetricFacts, ProbeReport, Tolerance, curves_csv, probe_tables
from vmmetrics.utils.display.tables import to_markdown

CLIPS = ("a", "b", "c", "d")
BASE = {"cas": 0.7, "mss": 0.9, "tcs": 0.8}


def line(clip: str, kind: str, strength: float, changes: dict[str, float | None]) -> dict[str, object]:
    scores = {m: BASE[m] + c for m, c in changes.items() if c is not None}
    missing = {m: "lost" for m, c in changes.items() if c is None}
    return {
        "clip": clip, "sha256": clip, "kind": kind, "strength": strength, "fps": 24.0, "frames": 48,
        "scores": scores, "missing": missing, "errors": {}, "seconds": 1.0,
    }  # fmt: skip


def report(*cases: tuple[str, float, dict[str, float | None]]) -> ProbeReport:
    """A probe in which every clip answers alike but for a hundredth."""
    lines = [line(clip, CLEAN, 0.0, dict.fromkeys(BASE, 0.0)) for clip in CLIPS]
    for kind, strength, changes in cases:
        for place, clip in enumerate(CLIPS):
            jitter = 0.01 * (place - 1.5)
            lines.append(line(clip, kind, strength, {m: None if c is None else c + jitter * (c != 0)
                                                     for m, c in changes.items()}))  # fmt: skip
    return analyse(lines, Tolerance(), {})


def test_noise_is_the_root_mean_square_under_harmless_changes_with_a_floor():
    found = report(("mirror", 1.0, {"cas": 0.1, "mss": 0.0}), ("scale", 1.0, {"cas": -0.2, "mss": 0.0}))
    noise = {m.name: m.noise for m in found.metrics}
    moved = [0.1 + 0.01 * (i - 1.5) for i in range(4)] + [-0.2 + 0.01 * (i - 1.5) for i in range(4)]
    assert noise["cas"] == pytest.approx(np.sqrt(np.mean(np.square(moved))))
    assert noise["mss"] == 0.01
    assert noise["tcs"] is None


def test_what_is_noticed_must_exceed_the_noise_and_not_only_chance():
    found = report(
        ("mirror", 1.0, {"cas": 0.1, "mss": 0.0}),
        *(("boil", s, {"cas": -s / 4, "mss": -s / 4}) for s in (0.2, 0.3, 0.6, 1.0)),
    )
    assert found.curve("mss", "boil").noticed == 0.2  # −0.05 beyond 0.01
    assert found.curve("cas", "boil").noticed == 0.6  # −0.075 lies within 0.1, and −0.15 beyond it
    assert found.curve("cas", "boil").monotone


def test_a_score_that_is_lost_is_counted_and_not_averaged():
    found = report(("mirror", 1.0, {"tcs": 0.0}), ("boil", 1.0, {"tcs": None}))
    (point,) = found.curve("tcs", "boil").points
    assert (point.change, point.gone) == (None, 4)
    assert found.curve("tcs", "boil").unnoticed == "no clip has a score before and after"
    assert found.specificity[0].effects == {}


def test_the_owner_comes_first_or_it_does_not():
    found = report(
        ("mirror", 1.0, {"cas": 0.05, "mss": 0.05, "tcs": 0.05}),
        ("boil", 1.0, {"cas": -0.5, "mss": -0.1, "tcs": 0.0}),
        ("vanish", 1.0, {"cas": -0.5, "mss": -0.1, "tcs": 0.3}),
        ("standstill", 1.0, {"cas": -0.5, "mss": -0.1, "tcs": 0.3}),
    )
    first = {s.defect: s.owner_first for s in found.specificity}
    assert first == {"boil": True, "vanish": False, "standstill": None}  # PAS was not probed
    effects = next(s for s in found.specificity if s.defect == "boil").effects
    assert list(effects) == ["cas", "mss", "tcs"]
    assert effects["cas"] == pytest.approx(-0.5 / found.metrics[0].noise)


def test_a_curve_that_turns_back_is_not_monotone():
    found = report(
        ("mirror", 1.0, {"mss": 0.0}), *(("boil", s, {"mss": c}) for s, c in ((0.25, -0.4), (0.5, -0.1), (1.0, -0.5)))
    )
    curve = found.curve("mss", "boil")
    assert curve.fitted == pytest.approx([-0.25, -0.25, -0.5])
    assert curve.step_back == pytest.approx(0.15)
    assert curve.monotone is False


@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(1, 5)), min_size=1, max_size=6), st.integers(0, 2**31))
def test_no_monotone_curve_fits_better(points, seed):
    means, weights = np.array([p[0] for p in points]), np.array([p[1] for p in points])
    fitted = monotone_fit(means.tolist(), weights.tolist())
    steps = np.diff([0.0, *fitted])
    assert (steps >= -1e-12).all() or (steps <= 1e-12).all()
    best = (weights * (fitted - means) ** 2).sum()
    rng = np.random.default_rng(seed)
    for _ in range(50):
        other = np.sort(np.abs(rng.normal(0, 0.5, len(means)))) * rng.choice([-1, 1])
        assert best <= (weights * (other - means) ** 2).sum() + 1e-9


def test_harmless_changes_are_held_against_mean_and_single():
    found = report(("mirror", 1.0, {"cas": 0.02, "mss": 0.09, "tcs": 0.0}), ("scale", 1.0, {"cas": None}))
    within = {(i.metric, i.change): i.within for i in found.invariances}
    assert within == {("cas", "mirror"): True, ("mss", "mirror"): False, ("tcs", "mirror"): True}
    worst = next(i for i in found.invariances if i.metric == "mss")
    assert (worst.clip, worst.clips) == ("d", 4)
    assert worst.largest == pytest.approx(0.105)
    assert worst.mean == pytest.approx(0.09)


def test_the_lowest_rate_is_the_last_before_the_first_that_fails():
    facts = MetricFacts("mss", 1.0, 0.01, 1, {})

    def limit(*changes: float | None):
        tried = tuple((24.0 / k, c) for k, c in zip((2, 3, 4, 6), changes, strict=False))
        return rate_limit(facts, "a", 24.0, tried, Tolerance())

    assert (limit(0.0, 0.05, -0.2, 0.0).lowest, limit(0.0, 0.05, -0.2, 0.0).bounded) == (8.0, True)
    assert (limit(0.0, 0.05, 0.1).lowest, limit(0.0, 0.05, 0.1).bounded) == (6.0, False)
    assert limit(0.3).lowest == 24.0
    assert limit(0.0, None).lowest == 12.0


def test_rates_of_a_probe_are_by_clip():
    lines = [line(clip, CLEAN, 0.0, {"mss": 0.0}) for clip in CLIPS]
    lines += [
        {**line(clip, RATE, s, {"mss": -0.05 * s * (clip == "a")}), "fps": 24 / s} for clip in CLIPS for s in (2, 3)
    ]
    found = analyse(lines, Tolerance(), {})
    assert {r.clip: r.lowest for r in found.rates} == {"a": 12.0, "b": 8.0, "c": 8.0, "d": 8.0}
    assert "minfps" in draw_charts(found)


def test_tables_and_pictures_hold_what_was_found():
    found = report(
        ("mirror", 1.0, {"cas": 0.05, "mss": 0.0, "tcs": 0.2}),
        *(("boil", s, {"cas": -0.5 * s, "mss": -0.1 * s, "tcs": None}) for s in (0.5, 1.0)),
    )
    rows = list(csv.DictReader(io.StringIO(curves_csv(found))))
    assert len(rows) == 3 * 2
    row = next(r for r in rows if r["metric"] == "cas" and r["strength"] == "1.0")
    assert float(row["mean_change"]) == pytest.approx(-0.5)
    assert float(row["in_noise"]) == pytest.approx(-0.5 / found.metrics[0].noise)
    text = "\n".join(map(to_markdown, probe_tables(found)))
    assert "Smallest strength detected" in text
    assert "| boil | CAS | " in text
    effects = next(t for t in probe_tables(found) if t.title.startswith("Mean change"))
    assert effects.rows[0].cells[2].text.endswith("*")
    assert effects.rows[0].cells[4].text == "–"
    charts = draw_charts(found)
    assert set(charts) == {"heatmap", "curves"}
    shown = [t.get_text() for t in charts["heatmap"].axes[0].texts]
    assert len(shown) == 2  # TCS has no score left


def test_nothing_probed_is_no_error():
    found = analyse([], Tolerance(), {})
    assert found.metrics == found.curves == ()
    assert draw_charts(found) == {}
    assert probe_tables(found) == []
